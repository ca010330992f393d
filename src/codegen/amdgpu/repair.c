/* Rewrites what LLVM would get wrong (amdgpu/repair.h), then conditions of branches, then phis;
 * before these offsets, of which it would make slow code. */
#include "codegen/amdgpu/repair.h"

#include "codegen/amdgpu/shared_conditions.h"

roc_status roc_amdgpu_repair(roc_cg *cg, roc_error *err) {
  static const roc_cg_form *const lists[] = {roc_amdgpu_float_forms, roc_amdgpu_integer_forms,
                                             NULL};
  roc_cg_rewrite_forms(cg, lists);
  uint64_t off = cg->options->quirks_off;
  roc_shared_conditions which = {
      .in_loops = roc_quirk_is_on(off, ROC_QUIRK_SHARED_CONDITION),
      .with_selects = roc_quirk_is_on(off, ROC_QUIRK_SELECT_AND_BRANCH),
  };
  roc_part_shared_conditions(cg->mod, cg->tm, &which);
  roc_amdgpu_place_offsets(cg);
  return roc_amdgpu_repair_phis(cg, err);
}
