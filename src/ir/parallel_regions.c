/* See parallel_regions.h. */
#include "ir/parallel_regions.h"

#include "base/alloc.h"
#include "ir/walk.h"

enum { CUTS = ROC_IRF_CUT_WAVE | ROC_IRF_CUT_GROUP };

roc_status roc_ir_find_cuts(const roc_ir_module *module, uint8_t **out_cuts, roc_error *err) {
  uint8_t *cuts = roc_zalloc(module->insts.count);
  if (!cuts) return roc_fail(err, ROC_OOM, "out of memory");
  roc_ir_walk w;
  ROC_IR_FOR_EACH_INNER_FIRST(w, module, 0) {
    uint32_t around = roc_ir_walk_around(&w);
    cuts[w.id] |= roc_ir_op_table[w.inst->op].flags & CUTS;
    if (around != ROC_IR_NONE) cuts[around] |= cuts[w.id];
  }
  *out_cuts = cuts;
  return ROC_OK;
}
