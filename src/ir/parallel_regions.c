/* See parallel_regions.h. */
#include "ir/parallel_regions.h"

#include "base/alloc.h"

enum { CUTS = ROC_IRF_CUT_WAVE | ROC_IRF_CUT_GROUP };

static uint8_t cut_region(const roc_ir_module *m, uint32_t region, uint8_t *cuts) {
  uint8_t all = 0;
  const roc_ir_ids *ids = &m->regions.items[region];
  for (uint32_t i = 0; i < ids->count; i++) {
    const roc_ir_inst *inst = &m->insts.items[ids->items[i]];
    uint8_t bits = roc_ir_op_table[inst->op].flags & CUTS;
    for (uint32_t r = 0; r < roc_ir_region_count(inst); r++) {
      bits |= cut_region(m, inst->k.region[r], cuts);
    }
    cuts[ids->items[i]] = bits;
    all |= bits;
  }
  return all;
}

roc_status roc_ir_find_cuts(const roc_ir_module *module, uint8_t **out_cuts, roc_error *err) {
  uint8_t *cuts = roc_zalloc(module->insts.count);
  if (!cuts) return roc_fail(err, ROC_OOM, "out of memory");
  cut_region(module, 0, cuts);
  *out_cuts = cuts;
  return ROC_OK;
}
