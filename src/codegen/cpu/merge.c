/* Workgroups as one: the rows of neighbours in the first dimension are one long row.
 *
 * In `o[i] = x[i] + y[i]` no item can tell which workgroup it is in.  Group after group, a loop of
 * 256 items begins and ends, which takes as long as its iterations where the arrays are in a near
 * cache; rows of 16 items are hardly worth a vector.  So as many neighbours as the launch says
 * (base/codeobj.h: roc_cpu_launch.merge) are taken for one group with a longer row.
 *
 * Invariant: nothing is kept per item in memory, and the order in which items run shows nowhere. */
#include "codegen/cpu/cpu.h"

static bool tells_groups_apart(const cpu_state *s, const roc_ir_inst *inst) {
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_LOCAL_ID:
    case ROC_IR_GROUP_ID: return inst->aux == 0;
    case ROC_IR_ATOMIC: return !cpu_tallies_keep(s, inst);
    case ROC_IR_LANE_ID:
    case ROC_IR_FENCE:
    case ROC_IR_PRINT: return true;
    default: return false;
  }
}

/* Loops around the rows of items: they would go through one array after the other, which a long row
 * pushes out of the cache. */
static bool has_loop_around_rows(const cpu_state *s) {
  const roc_ir_module *ir = s->cg->ir;
  const roc_ir_ids *body = &ir->regions.items[0];
  uint32_t nrows = 0;
  for (uint32_t id = 0; id < ir->insts.count; id++) {
    nrows += s->plan.home[id] && (s->plan.cuts[id] & CPU_CUT_ROW);
  }
  if (nrows == 1 && s->batch_at != ROC_IR_NONE) {
    return !(s->plan.cuts[body->items[s->batch_at]] & CPU_CUT_ROW);
  }
  return nrows > 0;
}

bool cpu_merge_may(const cpu_state *s) {
  const roc_ir_module *ir = s->cg->ir;
  const cpu_plan *plan = &s->plan;
  for (uint32_t id = 0; id < ir->insts.count; id++) {
    if (!plan->home[id]) continue;
    const roc_ir_inst *inst = &ir->insts.items[id];
    bool is_cut = plan->cuts[id] & (ROC_IRF_CUT_GROUP | ROC_IRF_CUT_WAVE);
    bool ends_item = plan->nruns > 1 && inst->op == ROC_IR_RETURN;
    if (is_cut || ends_item || plan->is_slotted[id] || tells_groups_apart(s, inst)) return false;
  }
  for (uint32_t v = 0; v < ir->vars.count; v++) {
    if (plan->var_slotted[v]) return false;
  }
  for (uint32_t a = 0; a < ir->arrays.count; a++) {
    roc_ir_array_kind kind = ir->arrays.items[a].kind;
    bool is_shared = kind == ROC_IR_ARRAY_SHARED || kind == ROC_IR_ARRAY_SHARED_DYNAMIC;
    if (is_shared || plan->array_slotted[a]) return false;
  }
  return !has_loop_around_rows(s);
}
