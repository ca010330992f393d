/* See check_walk.h. */
#include "ir/check_walk.h"

#include <math.h>

#include "ir/range.h"
#include "ir/walk.h"

/* What one path of an IF did to a variable. */
typedef struct outcome {
  uint32_t var, before, after;
} outcome;

typedef roc_vec(outcome) outcomes;

static void assign(roc_ir_check_walk *w, uint32_t var, uint32_t value) {
  if (!roc_vec_push(&w->trail, ((roc_ir_var_change){var, w->vars[var]}))) w->failed = true;
  w->vars[var] = value;
}

static uint32_t operand(const roc_ir_check_walk *w, const roc_ir_inst *inst, uint32_t n) {
  return roc_ir_check_walk_operand(w, inst, n);
}

/* The control instruction `id` may have assigned it, or does. */
static void forget_var(roc_ir_check_walk *w, uint32_t id, uint32_t var) {
  assign(w, var, roc_ir_facts_unknown_in(&w->f, w->m->vars.items[var].type, w->held[var]));
  roc_ir_note_origin(w, w->vars[var], id, var);
}

/* `held` is found from what every assignment may give.  In code that cannot run the range is
 * empty. */
static void note_assigned(roc_ir_check_walk *w, uint32_t var, roc_ir_range range) {
  if (!w->assigned || range.low > range.high) return;
  w->assigned[var] = roc_ir_range_join(w->assigned[var], range);
}

/* Gives every variable that the region of the control instruction `id` assigns a new number. */
static ROC_IR_WALKS void forget_region(roc_ir_check_walk *w, uint32_t id) {
  uint32_t region = w->m->insts.items[id].k.region[0];
  roc_ir_walk walk;
  w->tick++;
  ROC_IR_FOR_EACH(walk, w->m, region) {
    uint32_t var = walk.inst->aux;
    bool assigns = walk.inst->op == ROC_IR_SET || walk.inst->op == ROC_IR_FOR;
    if (!assigns || w->stamps[var] == w->tick) continue;
    w->stamps[var] = w->tick;
    forget_var(w, id, var);
  }
}

static bool falls_through(const roc_ir_module *m, uint32_t region) {
  const roc_ir_ids *ids = &m->regions.items[region];
  if (!ids->count) return true;
  const roc_ir_inst *last = &m->insts.items[roc_vec_last(ids)];
  if (last->op == ROC_IR_IF) {
    return falls_through(m, last->k.region[0]) || falls_through(m, last->k.region[1]);
  }
  return !roc_ir_ends_region(last);
}

static void walk_region(roc_ir_check_walk *w, uint32_t region);

/* Takes assignments back to `begin` on the trail and tells what they came to. */
static void take_back(roc_ir_check_walk *w, uint32_t begin, outcomes *out) {
  w->tick++;
  for (uint32_t i = begin; i < w->trail.count; i++) {
    roc_ir_var_change c = w->trail.items[i];
    if (w->stamps[c.var] == w->tick) continue;
    w->stamps[c.var] = w->tick;
    if (!roc_vec_push(out, ((outcome){c.var, c.before, w->vars[c.var]}))) w->failed = true;
  }
  while (w->trail.count > begin) {
    roc_ir_var_change c = roc_vec_pop(&w->trail);
    w->vars[c.var] = c.before;
  }
}

static void apply(roc_ir_check_walk *w, const outcomes *path) {
  for (uint32_t i = 0; i < path->count; i++) assign(w, path->items[i].var, path->items[i].after);
}

static void merge_paths(roc_ir_check_walk *w, uint32_t test, const outcomes *yes,
                        const outcomes *no) {
  w->tick++;
  for (uint32_t i = 0; i < no->count; i++) {
    w->stamps[no->items[i].var] = w->tick;
    w->slots[no->items[i].var] = i;
  }
  for (uint32_t i = 0; i < yes->count; i++) {
    const outcome *o = &yes->items[i];
    bool is_in_both = w->stamps[o->var] == w->tick;
    uint32_t other = is_in_both ? no->items[w->slots[o->var]].after : o->before;
    w->stamps[o->var] = 0;
    assign(w, o->var, roc_ir_facts_merge(&w->f, test, o->after, other));
    roc_ir_note_origin(w, w->vars[o->var], ROC_IR_NONE, o->var);
  }
  for (uint32_t i = 0; i < no->count; i++) {
    const outcome *o = &no->items[i];
    if (w->stamps[o->var] != w->tick) continue;
    assign(w, o->var, roc_ir_facts_merge(&w->f, test, o->before, o->after));
    roc_ir_note_origin(w, w->vars[o->var], ROC_IR_NONE, o->var);
  }
}

/* What both paths of an IF know when they meet. */
static void keep_common(roc_ir_check_walk *w, const roc_ir_relations *common) {
  for (uint32_t i = 0; i < common->count; i++) {
    roc_ir_facts_add(&w->f, common->items[i].a, common->items[i].b, common->items[i].k);
  }
}

static void join_paths(roc_ir_check_walk *w, const roc_ir_inst *inst, const outcomes *yes,
                       const outcomes *no, const roc_ir_relations *common) {
  uint32_t test = operand(w, inst, 0);
  bool decides = inst->aux != ROC_IR_IF_ALL; /* which region a work-item takes */
  if (!falls_through(w->m, inst->k.region[0])) {
    apply(w, no);
    if (decides) roc_ir_facts_assume(&w->f, test, false);
  } else if (!falls_through(w->m, inst->k.region[1])) {
    apply(w, yes);
    roc_ir_facts_assume(&w->f, test, true);
  } else {
    merge_paths(w, test, yes, no);
    keep_common(w, common);
  }
}

static void walk_if(roc_ir_check_walk *w, const roc_ir_inst *inst) {
  uint32_t test = operand(w, inst, 0);
  uint32_t begin = w->trail.count;
  outcomes yes = {0}, no = {0};
  roc_ir_relations common = {0};
  roc_ir_facts_point point = roc_ir_facts_mark(&w->f);
  roc_ir_facts_assume(&w->f, test, true);
  walk_region(w, inst->k.region[0]);
  roc_ir_facts_collect(&w->f, point, &common);
  roc_ir_facts_rollback(&w->f, point);
  take_back(w, begin, &yes);
  if (inst->aux != ROC_IR_IF_ALL) roc_ir_facts_assume(&w->f, test, false);
  walk_region(w, inst->k.region[1]);
  roc_ir_facts_keep_proved(&w->f, &common);
  roc_ir_facts_rollback(&w->f, point);
  take_back(w, begin, &no);
  join_paths(w, inst, &yes, &no, &common);
  roc_vec_deinit(&yes);
  roc_vec_deinit(&no);
  roc_vec_deinit(&common);
}

/* The variable of a FOR lies between first and last, whichever way the step goes. */
static void enter_for(roc_ir_check_walk *w, const roc_ir_inst *inst) {
  uint32_t first = operand(w, inst, 0), last = operand(w, inst, 1);
  roc_ir_range step = roc_ir_facts_range(&w->f, operand(w, inst, 2));
  uint32_t var = w->vars[inst->aux];
  roc_ir_range of_first = roc_ir_facts_range(&w->f, first);
  roc_ir_range of_last = roc_ir_facts_range(&w->f, last);
  roc_ir_range values = roc_ir_range_all;
  if (step.low > 0) values = (roc_ir_range){of_first.low, of_last.high};
  if (step.high < 0) values = (roc_ir_range){of_last.low, of_first.high};
  note_assigned(w, inst->aux, values);
  roc_ir_range begin = roc_ir_facts_range(&w->f, first);
  if (step.low == step.high && step.low > 1 && begin.low == begin.high) {
    roc_ir_facts_add_multiple(&w->f, var, last, begin.low, step.low);
  }
  if (step.low > 0) {
    roc_ir_facts_add(&w->f, first, var, 0);
    roc_ir_facts_add(&w->f, var, last, 0);
  } else if (step.high < 0) {
    roc_ir_facts_add(&w->f, last, var, 0);
    roc_ir_facts_add(&w->f, var, first, 0);
  }
}

static void walk_nested(roc_ir_check_walk *w, uint32_t id) {
  const roc_ir_inst *inst = &w->m->insts.items[id];
  uint32_t region = inst->k.region[0];
  bool is_loop = inst->op != ROC_IR_BLOCK;
  roc_ir_facts_point point = roc_ir_facts_mark(&w->f);
  if (is_loop) {
    roc_ir_invariants_enter(w, id);
    forget_region(w, id);
    roc_ir_invariants_assume(w, id);
  }
  if (inst->op == ROC_IR_FOR) {
    forget_var(w, id, inst->aux);
    enter_for(w, inst);
  }
  walk_region(w, region);
  if (is_loop && falls_through(w->m, region)) roc_ir_invariants_round(w, id);
  roc_ir_facts_rollback(&w->f, point);
  forget_region(w, id);
  if (inst->op == ROC_IR_FOR) forget_var(w, id, inst->aux);
  if (is_loop) roc_ir_invariants_assume_after(w, id);
}

/* True when the check cannot fail; else states what holds after it. */
static bool settle_index(roc_ir_check_walk *w, uint32_t id) {
  const roc_ir_inst *inst = &w->m->insts.items[id];
  uint32_t index = operand(w, inst, 0);
  uint32_t extent = roc_ir_facts_extent(&w->f, inst->aux, (uint32_t)inst->k.i);
  bool is_low = !w->assigned && roc_ir_facts_le(&w->f, w->one, index);
  if (is_low && roc_ir_facts_le(&w->f, index, extent)) return true;
  if (w->is_last && w->reasons) roc_ir_explain_index(w, id, is_low);
  bool asks = w->is_last && w->preconditions;
  bool may_be_low = is_low || (asks && roc_ir_precondition_lower(w, index));
  if (may_be_low && asks && !roc_ir_facts_le(&w->f, index, extent)) {
    roc_ir_precondition_upper(w, inst, index);
  }
  roc_ir_facts_add(&w->f, w->one, index, 0);
  roc_ir_facts_add(&w->f, index, extent, 0);
  return false;
}

static bool settle_nonzero(roc_ir_check_walk *w, uint32_t id) {
  const roc_ir_inst *inst = &w->m->insts.items[id];
  if (roc_ir_facts_nonzero(&w->f, operand(w, inst, 0))) return true;
  if (w->is_last && w->reasons) roc_ir_explain_nonzero(w, id);
  roc_ir_facts_add_nonzero(&w->f, operand(w, inst, 0));
  return false;
}

/* A condition that says `value ~= 0`, as the step of a FOR is checked; others are believed. */
static bool settle_condition(roc_ir_check_walk *w, const roc_ir_inst *inst) {
  uint32_t test = operand(w, inst, 0);
  const roc_ir_value *v = &w->f.values.items[test];
  bool is_nonzero = v->op == ROC_IR_NE && v->args[1] == ROC_IR_VALUE_ZERO;
  if (is_nonzero && roc_ir_facts_nonzero(&w->f, v->args[0])) return true;
  roc_ir_facts_assume(&w->f, test, true);
  return false;
}

/* A constant, or what is known to be small: rounding takes an integer below 2^62 to at most 2^62,
 * which fits. */
static bool settle_int(roc_ir_check_walk *w, uint32_t id) {
  const int64_t limit = (int64_t)1 << 62;
  const roc_ir_inst *inst = &w->m->insts.items[id];
  const roc_ir_inst *from = &w->m->insts.items[roc_ir_arg(w->m, inst, 0)];
  if (from->op == ROC_IR_CONST) return fabs(from->k.f) <= (double)limit;
  roc_ir_range range = roc_ir_facts_range(&w->f, operand(w, inst, 0));
  bool is_small = range.low >= -limit && range.high <= limit;
  if (!is_small && w->is_last && w->reasons) roc_ir_explain_int(w, id);
  return is_small;
}

static void note_unproved(roc_ir_check_walk *w, uint32_t id) {
  const roc_ir_inst *inst = &w->m->insts.items[id];
  for (uint32_t d = 0; d < inst->nargs; d++) {
    uint32_t index = operand(w, inst, d), extent = roc_ir_facts_extent(&w->f, inst->aux, d);
    bool is_proved = roc_ir_facts_le(&w->f, w->one, index) && roc_ir_facts_le(&w->f, index, extent);
    if (!is_proved) w->unproved[id] |= (uint8_t)(1u << d);
  }
}

/* Handles one instruction; true when it is to go. */
static bool walk_inst(roc_ir_check_walk *w, uint32_t id) {
  const roc_ir_inst *inst = &w->m->insts.items[id];
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_GET: w->values[id] = w->vars[inst->aux]; return false;
    case ROC_IR_SET:
      note_assigned(w, inst->aux, roc_ir_facts_range(&w->f, operand(w, inst, 0)));
      assign(w, inst->aux, operand(w, inst, 0));
      return false;
    case ROC_IR_CHECK_INDEX: return !(w->ignored && w->ignored[id]) && settle_index(w, id);
    case ROC_IR_CHECK_NONZERO: return settle_nonzero(w, id);
    case ROC_IR_CHECK_INT: return settle_int(w, id);
    case ROC_IR_CHECK: return settle_condition(w, inst);
    case ROC_IR_IF: walk_if(w, inst); return false;
    case ROC_IR_BLOCK:
    case ROC_IR_LOOP: walk_nested(w, id); return false;
    case ROC_IR_FOR:
      if (w->is_last && w->narrow) w->narrow[id] |= roc_ir_narrow_of_for(w, inst);
      walk_nested(w, id);
      return false;
    case ROC_IR_NEXT: roc_ir_invariants_round(w, inst->aux); return false;
    case ROC_IR_LEAVE: roc_ir_invariants_leave(w, inst->aux); return false;
    default: break;
  }
  if (inst->type == ROC_VT_NONE) return false;
  uint32_t args[ROC_IR_VALUE_ARGS] = {0};
  for (uint32_t n = 0; n < inst->nargs && n < ROC_IR_VALUE_ARGS; n++) {
    args[n] = operand(w, inst, n);
  }
  w->values[id] = roc_ir_facts_value(&w->f, inst, args);
  roc_ir_note_origin(w, w->values[id], id, ROC_IR_NONE);
  if (w->is_last && w->narrow) w->narrow[id] |= roc_ir_narrow_of(w, inst, w->values[id]);
  if (w->is_last && w->unproved && inst->op == ROC_IR_LOAD) note_unproved(w, id);
  return false;
}

static void walk_region(roc_ir_check_walk *w, uint32_t region) {
  roc_ir_ids *ids = &w->m->regions.items[region];
  uint32_t kept = 0;
  for (uint32_t i = 0; i < ids->count; i++) {
    bool goes = !w->failed && walk_inst(w, ids->items[i]);
    if (goes && w->is_last && w->removes) continue;
    if (kept != i) ids->items[kept] = ids->items[i];
    kept++;
  }
  if (kept != ids->count) ids->count = kept;
}

static uint32_t query(roc_ir_check_walk *w, roc_ir_op op, uint32_t dim) {
  roc_ir_inst inst = {.op = (uint8_t)op, .type = ROC_VT_INT, .aux = dim};
  return roc_ir_facts_value(&w->f, &inst, NULL);
}

/* No id is over its size. */
static void state_launch(roc_ir_check_walk *w) {
  static const roc_ir_op pairs[][2] = {{ROC_IR_GLOBAL_ID, ROC_IR_GLOBAL_SIZE},
                                       {ROC_IR_LOCAL_ID, ROC_IR_LOCAL_SIZE},
                                       {ROC_IR_GROUP_ID, ROC_IR_NUM_GROUPS}};
  for (uint32_t dim = 0; dim < 3; dim++) {
    for (int i = 0; i < 3; i++) {
      roc_ir_facts_add(&w->f, query(w, pairs[i][0], dim), query(w, pairs[i][1], dim), 0);
    }
  }
}

/* Before the first instruction, by what `held` says. */
static bool begin(roc_ir_check_walk *w, const roc_ir_launch_limits *limits) {
  roc_ir_inst one = {.op = ROC_IR_CONST, .type = ROC_VT_INT, .k.i = 1};
  roc_ir_facts_deinit(&w->f);
  w->trail.count = 0;
  if (!roc_ir_facts_init(&w->f, w->m, limits)) return false;
  for (uint32_t i = 0; i < w->m->vars.count; i++) {
    w->vars[i] = roc_ir_facts_unknown_in(&w->f, w->m->vars.items[i].type, w->held[i]);
  }
  w->one = roc_ir_facts_value(&w->f, &one, NULL);
  state_launch(w);
  return true;
}
bool roc_ir_check_walk_run(roc_ir_check_walk *w, const roc_ir_launch_limits *limits) {
  if (!begin(w, limits)) return false;
  walk_region(w, 0);
  return !w->failed && !w->f.failed;
}
