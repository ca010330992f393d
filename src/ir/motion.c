/* See motion.h.  One walk in execution order.
 *
 * Unlike in uniform.h, what counts is only which items take an instruction at the same time: the
 * variable of a FOR is the same for those of one iteration, whichever items take part in it.  So a
 * variable is the same for all up to the end of the region in which it is set; after that items
 * meet that were not together then. */
#include "ir/motion.h"

#include "base/alloc.h"
#include "ir/check_elimination.h"
#include "ir/walk.h"

typedef struct motion {
  const roc_ir_module *m;
  uint8_t *flags;     /* per instruction */
  uint8_t *nsets;     /* per variable, saturated at 2 */
  uint8_t *is_moved;  /* per variable: what it is set to changes */
  uint8_t *is_scalar; /* per variable, here */
} motion;

static void count_sets(motion *c) {
  for (uint32_t i = 0; i < c->m->insts.count; i++) {
    const roc_ir_inst *inst = &c->m->insts.items[i];
    if (inst->op == ROC_IR_FOR) c->nsets[inst->aux] = 2;
    if (inst->op == ROC_IR_SET && c->nsets[inst->aux] < 2) c->nsets[inst->aux]++;
  }
}

/* What all operands have; all flags where there are none. */
static uint8_t common_flags(const motion *c, const roc_ir_inst *inst) {
  uint8_t common = ROC_IR_SCALAR;
  for (uint32_t n = 0; n < inst->nargs; n++) common &= c->flags[roc_ir_arg(c->m, inst, n)];
  return common;
}

static bool is_scalar(const motion *c, const roc_ir_inst *inst) {
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_GLOBAL_ID:
    case ROC_IR_LOCAL_ID:
    case ROC_IR_LANE_ID: return false;
    case ROC_IR_GET: return c->is_scalar[inst->aux];
    case ROC_IR_LOAD: return common_flags(c, inst);
    default: return roc_ir_op_table[inst->op].flags == ROC_IRF_PURE && common_flags(c, inst);
  }
}

/* A variable with one SET has been set before it is read. */
static bool is_moved(const motion *c, const roc_ir_inst *inst) {
  if (inst->op == ROC_IR_GET && (c->nsets[inst->aux] > 1 || c->is_moved[inst->aux])) return true;
  for (uint32_t n = 0; n < inst->nargs; n++) {
    if (c->flags[roc_ir_arg(c->m, inst, n)] & ROC_IR_LOOP_VARIANT) return true;
  }
  return false;
}

static void walk_region(motion *c, uint32_t region) {
  const roc_ir_ids *ids = &c->m->regions.items[region];
  for (uint32_t i = 0; i < ids->count; i++) {
    uint32_t id = ids->items[i];
    const roc_ir_inst *inst = &c->m->insts.items[id];
    bool moves = is_moved(c, inst);
    if (moves) c->flags[id] |= ROC_IR_LOOP_VARIANT;
    if (is_scalar(c, inst)) c->flags[id] |= ROC_IR_SCALAR;
    if (inst->op == ROC_IR_SET) {
      c->is_moved[inst->aux] |= moves;
      c->is_scalar[inst->aux] = c->nsets[inst->aux] == 1 && common_flags(c, inst);
    }
    if (inst->op == ROC_IR_FOR) {
      uint32_t first = roc_ir_arg(c->m, inst, 0), step = roc_ir_arg(c->m, inst, 2);
      c->is_scalar[inst->aux] = (c->flags[first] & c->flags[step] & ROC_IR_SCALAR) != 0;
    }
    for (uint32_t r = 0; r < roc_ir_region_count(inst); r++) walk_region(c, inst->k.region[r]);
  }
  for (uint32_t i = 0; i < ids->count; i++) {
    const roc_ir_inst *inst = &c->m->insts.items[ids->items[i]];
    if (inst->op == ROC_IR_SET) c->is_scalar[inst->aux] = 0;
  }
}

roc_status roc_ir_find_motion(const roc_ir_module *module, uint8_t *flags, roc_error *err) {
  motion c = {.m = module, .flags = flags};
  c.nsets = roc_zalloc(module->vars.count + 1);
  c.is_moved = roc_zalloc(module->vars.count + 1);
  c.is_scalar = roc_zalloc(module->vars.count + 1);
  bool made = c.nsets && c.is_moved && c.is_scalar;
  if (made) {
    count_sets(&c);
    walk_region(&c, 0);
  }
  roc_free(c.nsets);
  roc_free(c.is_moved);
  roc_free(c.is_scalar);
  return made ? ROC_OK : roc_fail(err, ROC_OOM, "out of memory");
}
