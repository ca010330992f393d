/* Loads of a loop in lanes that give the same in each iteration.
 *
 * In `for k = 1, #c do local d = p[i][1] - c[k] … end` each iteration gathers p[i][1] again: LLVM
 * moves no load with a mask out of a loop that asks whether it is to go on.  What the loop does
 * first in any iteration, and of what nothing changes, is loaded where the loop begins, by the lanes
 * that begin it. */
#include "codegen/cpu/lanes.h"
#include "ir/walk.h"

static const roc_ir_inst *inst_of(const cpu_state *s, uint32_t id) {
  return &s->cg->ir->insts.items[id];
}

static ROC_IR_WALKS bool is_inside(const cpu_state *s, uint32_t loop, uint32_t id) {
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, s->cg->ir, inst_of(s, loop)->k.region[0]) {
    if (w.id == id) return true;
  }
  return false;
}

static bool is_invariant(const cpu_state *s, uint32_t loop, uint32_t id) {
  const roc_ir_inst *inst = inst_of(s, id);
  if (inst->op != ROC_IR_LOAD || !cpu_is_never_written(s, inst->aux)) return false;
  if (s->shapes->insts[id] == 0)
    return false; /* one element for all lanes: a load without a mask */
  for (uint32_t n = 0; n < inst->nargs; n++) {
    uint32_t arg = roc_ir_arg(s->cg->ir, inst, n);
    bool is_fixed = s->plan.is_remat[arg] && s->plan.is_stable[arg];
    if (!is_fixed && is_inside(s, loop, arg)) return false;
  }
  return true;
}

/* The next load to be moved in the loop's list, from place *at on; NONE: there is none before
 * something that an item may not come past. */
static uint32_t next_invariant(const cpu_state *s, uint32_t loop, uint32_t *at) {
  const roc_ir_module *ir = s->cg->ir;
  const roc_ir_ids *body = &ir->regions.items[inst_of(s, loop)->k.region[0]];
  while (*at < body->count) {
    uint32_t id = body->items[(*at)++];
    const roc_ir_inst *inst = inst_of(s, id);
    bool stops = roc_ir_op_table[inst->op].flags & ROC_IRF_STOP;
    if ((stops && !cpu_is_settled(s, id)) || roc_ir_has_regions(inst)) return ROC_IR_NONE;
    if (is_invariant(s, loop, id)) return id;
  }
  return ROC_IR_NONE;
}

bool cpu_lanes_hoists(const cpu_state *s, uint32_t loop) {
  uint32_t at = 0;
  return next_invariant(s, loop, &at) != ROC_IR_NONE;
}

void cpu_lanes_hoist(cpu_state *s, uint32_t loop) {
  uint32_t at = 0, id;
  while ((id = next_invariant(s, loop, &at)) != ROC_IR_NONE) {
    s->lanes->hoisted[id] = cpu_lanes_load(s, id);
  }
}

void cpu_lanes_end_hoist(cpu_state *s, uint32_t loop) {
  uint32_t at = 0, id;
  while ((id = next_invariant(s, loop, &at)) != ROC_IR_NONE) s->lanes->hoisted[id] = NULL;
}
