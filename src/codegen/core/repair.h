/* Forms of IR for which LLVM's back ends make wrong code (quirks.def), and what they are rewritten
 * to. The optimiser would undo the rewrites, so they are made after it. */
#ifndef ROC_CODEGEN_CORE_REPAIR_H
#define ROC_CODEGEN_CORE_REPAIR_H

#include <string.h>

#include "codegen/core/cg.h"

/* Rewrites an instruction that has the form.  New instructions go before it. */
typedef struct roc_cg_form {
  roc_quirk quirk;
  bool (*matches)(roc_cg *cg, LLVMValueRef inst);
  void (*rewrite)(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst);
} roc_cg_form;

/* Rewrites each instruction of the module that has a form, by the first of them. Each list ends in
 * a form without `matches`, and `lists` in NULL. */
void roc_cg_rewrite_forms(roc_cg *cg, const roc_cg_form *const *lists);

/* A select by a comparison of floats between the two numbers compared, up to the sign of a zero:
 * what a back end may take for a minimum or maximum that orders the zeros. Not with fastmath. */
bool roc_cg_is_min_or_max(roc_cg *cg, LLVMValueRef inst);
/* A select of floats becomes the same choice between their bits. */
void roc_cg_choose_bits(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst);

/* The comparison that a select of floats goes by; NULL: none. */
LLVMValueRef roc_cg_select_comparison(LLVMValueRef inst);
/* Whether the sign of a zero counts in what the instruction gives. */
bool roc_cg_keeps_zero_signs(LLVMValueRef inst);

static inline void roc_cg_replace(LLVMValueRef inst, LLVMValueRef by) {
  LLVMReplaceAllUsesWith(inst, by);
  LLVMInstructionEraseFromParent(inst);
}

/* Whether it is a call of the intrinsic, for any types. */
static inline bool roc_cg_is_call_of(LLVMValueRef inst, const char *name) {
  if (!LLVMIsACallInst(inst) || !LLVMIsAFunction(LLVMGetCalledValue(inst))) return false;
  unsigned id = LLVMGetIntrinsicID(LLVMGetCalledValue(inst));
  return id && id == LLVMLookupIntrinsicID(name, strlen(name));
}

#endif
