/* See launch_versioning.h. */
#include "ir/launch_versioning.h"

#include "ir/check_elimination.h"
#include "ir/combined_checks.h"
#include "ir/loop_versioning.h"

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

roc_status roc_ir_version_launch(roc_ir_module *module, bool combines, roc_error *err) {
  uint32_t region = 0, first = module->insts.count;
  roc_status status = roc_ir_version_body(module, &region, err);
  if (status == ROC_OK) status = roc_ir_eliminate_checks_gpu(module, err);
  if (status == ROC_OK && combines) status = roc_ir_combine_checks(module, region, err);
  if (status == ROC_OK) status = roc_ir_version_loops(module, region, err);
  if (status == ROC_OK) mark_last_loop(module, first);
  return status;
}
