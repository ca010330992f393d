/* Forms of IR for which LLVM makes wrong AMDGPU code (quirks.def), and what they are rewritten to.
 */
#ifndef ROC_CODEGEN_AMDGPU_REPAIR_H
#define ROC_CODEGEN_AMDGPU_REPAIR_H

#include <string.h>

#include "codegen/amdgpu/amdgpu.h"

/* Rewrites an instruction that has the form.  New instructions go before it. */
typedef struct roc_amdgpu_form {
  roc_quirk quirk;
  bool (*matches)(roc_cg *cg, LLVMValueRef inst);
  void (*rewrite)(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst);
} roc_amdgpu_form;

/* Each ends in one without `matches`. */
extern const roc_amdgpu_form roc_amdgpu_float_forms[], roc_amdgpu_integer_forms[];

static inline void roc_amdgpu_replace(LLVMValueRef inst, LLVMValueRef by) {
  LLVMReplaceAllUsesWith(inst, by);
  LLVMInstructionEraseFromParent(inst);
}

static inline LLVMTypeRef roc_amdgpu_element(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

/* Whether it is a call of the intrinsic, for any types. */
static inline bool roc_amdgpu_is_call_of(LLVMValueRef inst, const char *name) {
  if (!LLVMIsACallInst(inst) || !LLVMIsAFunction(LLVMGetCalledValue(inst))) return false;
  unsigned id = LLVMGetIntrinsicID(LLVMGetCalledValue(inst));
  return id && id == LLVMLookupIntrinsicID(name, strlen(name));
}

#endif
