/* See fit.h. */
#include "jit/fit.h"

#include "base/env.h"
#include "base/target.h"
#include "ir/check_elimination.h"
#include "ir/counted_loops.h"
#include "ir/early_exits.h"
#include "ir/launch_versioning.h"
#include "ir/narrow_group_ids.h"
#include "ir/optimize.h"
#include "ir/private_scalars.h"
#include "ir/unroll.h"
#include "jit/driver.h"

roc_cg_options roc_jit_options_for(const char *target, int opt_level) {
  roc_cg_options options = {
      .target = target, .opt_level = opt_level, .quirks_off = roc_jit_quirks_off()};
  const roc_target_facts *facts = roc_target_facts_of(target);
  if (facts) options.wave_size = facts->default_wavefront;
  uint64_t lanes = 0;
  roc_env_number("ROCLUA_CPU_LANES", 1, ROC_CG_MOST_LANES, &lanes, NULL);
  if (facts && !facts->is_simt) options.lanes = (uint32_t)lanes;
  return options;
}

/* What runs a workgroup in loops has registers for variables alone, and puts loops around items only
 * where those count.  Indices that have become constants or counters need fewer checks. */
static roc_status fit_loops(roc_ir_module *module, roc_error *err) {
  bool counts, has_scalars;
  ROC_TRY(roc_ir_nest_early_exits(module, err));
  ROC_TRY(roc_ir_count_loops(module, &counts, err));
  ROC_TRY(roc_ir_scalarize_private(module, &has_scalars, err));
  return counts || has_scalars ? roc_ir_optimize(module, err) : ROC_OK;
}

/* On a GPU launches are smaller, so more can be proved: (id - 1) * 4 + 4 does not wrap.  A loop
 * that a part of the wavefront leaves early is expensive there; on a CPU checks are masked. */
roc_status roc_jit_fit_target(roc_ir_module *module, const char *target, roc_error *err) {
  const roc_target_facts *facts = roc_target_facts_of(target);
  if (!facts) return ROC_OK;
  if (!facts->is_simt) return fit_loops(module, err);
  if (module->check) {
    ROC_TRY(roc_ir_eliminate_checks_gpu(module, err));
    ROC_TRY(roc_ir_version_launch(module, facts->defers_checks, facts->combines_checks, err));
  }
  if (facts->unrolls_loops) ROC_TRY(roc_ir_unroll_short_loops(module, err));
  ROC_TRY(roc_ir_narrow_group_ids(module, err));
  return roc_ir_dce(module, err);
}
