/* See launch_versioning.h. */
#include "ir/launch_versioning.h"

#include "ir/check_elimination.h"
#include "ir/combined_checks.h"
#include "ir/deferred_nests.h"
#include "ir/late_exits.h"
#include "ir/loop_versioning.h"
#include "ir/raised_checks.h"
#include "ir/resumed_loops.h"

/* A versioned loop that ends the body, under a condition of the whole launch, is a version of the
 * kernel as well.  `first`: the first instruction that this pass made. */
static void mark_last_loop(roc_ir_module *module, uint32_t first) {
  const roc_ir_ids *body = &module->regions.items[0];
  if (body->count == 0 || roc_vec_last(body) < first) return;
  roc_ir_inst *last = &module->insts.items[roc_vec_last(body)];
  if (last->op != ROC_IR_IF || last->aux == ROC_IR_IF_ALL ||
      !roc_ir_is_shared_by_launch(module, roc_ir_arg(module, last, 0))) {
    return;
  }
  last->aux = ROC_IR_IF_VERSIONS;
}

roc_status roc_ir_version_launch(roc_ir_module *module, bool defers, bool combines,
                                 roc_error *err) {
  uint32_t region = 0, first = module->insts.count;
  if (defers) roc_ir_raise_checks(module);
  roc_status status = roc_ir_version_body(module, defers, &region, err);
  if (status == ROC_OK) status = roc_ir_eliminate_checks_gpu(module, err);
  roc_ir_late_blocks late = {0};
  roc_ir_ids left = {0};
  if (status == ROC_OK && combines) status = roc_ir_delay_exits(module, region, &late, err);
  if (status == ROC_OK && defers) status = roc_ir_defer_nests(module, region, &left, err);
  if (status == ROC_OK && defers) {
    status = roc_ir_version_loops_of(module, region, ROC_IR_LOOP, defers, &left, err);
  }
  if (status == ROC_OK && combines) {
    status = roc_ir_resume_loops(module, region, ROC_IR_LOOP, &left, err);
  }
  if (status == ROC_OK && combines) status = roc_ir_combine_checks(module, region, &left, err);
  if (status == ROC_OK) {
    status = roc_ir_version_loops_of(module, region, ROC_IR_FOR, defers, &left, err);
  }
  if (status == ROC_OK && combines) {
    status = roc_ir_resume_loops(module, region, ROC_IR_FOR, &left, err);
  }
  roc_vec_deinit(&left);
  if (status == ROC_OK) status = roc_ir_lower_late_checks(module, &late, err);
  roc_vec_deinit(&late);
  if (status == ROC_OK) mark_last_loop(module, first);
  return status;
}
