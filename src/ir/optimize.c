/* See optimize.h. Dead code goes in one walk from the end: users come after what they use. */
#include "ir/optimize.h"

#include "base/alloc.h"
#include "ir/check_elimination.h"

static bool must_stay(const roc_ir_inst *inst) {
  const uint16_t effects = ROC_IRF_WRITE | ROC_IRF_EFFECT | ROC_IRF_CUT_WAVE | ROC_IRF_CUT_GROUP |
                           ROC_IRF_STOP | ROC_IRF_CONTROL;
  return roc_ir_op_table[inst->op].flags & effects;
}

static void sweep_region(roc_ir_module *m, uint32_t region, uint8_t *is_used) {
  roc_ir_ids *ids = &m->regions.items[region];
  uint32_t kept = ids->count; /* what stays moves to the end, then to the front */
  for (uint32_t i = ids->count; i-- > 0;) {
    uint32_t id = ids->items[i];
    const roc_ir_inst *inst = &m->insts.items[id];
    if (!must_stay(inst) && !is_used[id]) continue;
    if (roc_ir_has_regions(inst)) {
      if (inst->op == ROC_IR_IF) sweep_region(m, inst->k.region[1], is_used);
      sweep_region(m, inst->k.region[0], is_used);
    }
    for (uint32_t n = 0; n < inst->nargs; n++) is_used[roc_ir_arg(m, inst, n)] = 1;
    ids->items[--kept] = id;
  }
  uint32_t count = ids->count - kept;
  for (uint32_t i = 0; i < count; i++) ids->items[i] = ids->items[kept + i];
  ids->count = count;
}

roc_status roc_ir_dce(roc_ir_module *module, roc_error *err) {
  uint8_t *is_used = roc_zalloc(module->insts.count);
  if (!is_used) return roc_fail(err, ROC_OOM, "out of memory");
  sweep_region(module, 0, is_used);
  roc_free(is_used);
  return ROC_OK;
}

roc_status roc_ir_optimize(roc_ir_module *module, roc_error *err) {
  if (module->check) ROC_TRY(roc_ir_eliminate_checks(module, err));
  return roc_ir_dce(module, err);
}
