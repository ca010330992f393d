/* Rewrites what LLVM would get wrong (amdgpu/repair.h), then phis. */
#include "codegen/amdgpu/repair.h"

roc_status roc_amdgpu_repair(roc_cg *cg, roc_error *err) {
  static const roc_cg_form *const lists[] = {roc_amdgpu_float_forms, roc_amdgpu_integer_forms,
                                             NULL};
  roc_cg_rewrite_forms(cg, lists);
  return roc_amdgpu_repair_phis(cg, err);
}
