/* See fit.h. */
#include "jit/fit.h"

#include "base/target.h"
#include "ir/check_elimination.h"
#include "ir/loop_versioning.h"
#include "ir/narrow_group_ids.h"
#include "ir/optimize.h"
#include "jit/driver.h"

roc_cg_options roc_jit_options_for(const char *target, int opt_level) {
  roc_cg_options options = {
      .target = target, .opt_level = opt_level, .quirks_off = roc_jit_quirks_off()};
  const roc_target_facts *facts = roc_target_facts_of(target);
  if (facts) options.wave_size = facts->default_wavefront;
  return options;
}

/* On a GPU launches are smaller, so more can be proved: (id - 1) * 4 + 4 does not wrap.  A loop
 * that a part of the wavefront leaves early is expensive there; on a CPU checks are masked. */
roc_status roc_jit_fit_target(roc_ir_module *module, const char *target, roc_error *err) {
  const roc_target_facts *facts = roc_target_facts_of(target);
  if (!facts || !facts->is_simt) return ROC_OK;
  if (module->check) {
    ROC_TRY(roc_ir_eliminate_checks_gpu(module, err));
    ROC_TRY(roc_ir_version_launch(module, err));
  }
  ROC_TRY(roc_ir_narrow_group_ids(module, err));
  return roc_ir_dce(module, err);
}
