/* Kernels whose function takes the fields of the kernarg block (ir/layout.h) one by one, each at its
 * natural alignment, and after them what the target adds. */
#ifndef ROC_CODEGEN_CORE_FIELDS_H
#define ROC_CODEGEN_CORE_FIELDS_H

#include "codegen/core/cg.h"

/* One argument of the function. */
typedef struct roc_cg_arg {
  LLVMTypeRef type;
  uint32_t offset; /* in the kernarg block */
  uint32_t param;  /* the parameter it belongs to; ROC_IR_NONE: the target's own */
} roc_cg_arg;

typedef struct roc_cg_field_list {
  roc_cg_arg *items;  /* in the order of their offsets */
  LLVMTypeRef *types; /* of the items */
  unsigned count;
} roc_cg_field_list;

/* The fields of all parameters, then `nown` of the types `own`. In the arena, which tells of memory
 * that ran out. */
roc_cg_field_list roc_cg_list_fields(roc_cg *cg, const LLVMTypeRef *own, unsigned nown);

/* The argument of cg->fn that lies at the offset. */
LLVMValueRef roc_cg_field_at(const roc_cg *cg, const roc_cg_field_list *fields, uint32_t offset);

/* The kernel's symbol: that of the options, or "roc_" and its name. */
const char *roc_cg_kernel_symbol(roc_cg *cg);

#endif
