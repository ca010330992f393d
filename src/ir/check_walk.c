/* See check_walk.h. */
#include "ir/check_walk.h"

#include <math.h>

#include "ir/range.h"
#include "ir/walk.h"

void roc_ir_check_walk_assign(roc_ir_check_walk *w, uint32_t var, uint32_t value) {
  if (!roc_vec_push(&w->trail, ((roc_ir_var_change){var, w->vars[var]}))) w->failed = true;
  w->vars[var] = value;
}

enum { MOST_STEPS = 8192 /* of walks of rounds */ };

static uint32_t operand(const roc_ir_check_walk *w, const roc_ir_inst *inst, uint32_t n) {
  return roc_ir_check_walk_operand(w, inst, n);
}

/* The control instruction `id` may have assigned it, or does. */
static void forget_var(roc_ir_check_walk *w, uint32_t id, uint32_t var) {
  roc_ir_check_walk_assign(
      w, var, roc_ir_facts_unknown_in(&w->f, w->m->vars.items[var].type, w->held[var]));
  roc_ir_note_origin(w, w->vars[var], id, var);
}

/* `held` is found from what every assignment may give.  In code that cannot run the range is
 * empty. */
static void note_assigned(roc_ir_check_walk *w, uint32_t var, roc_ir_range range) {
  if (!w->assigned || range.low > range.high) return;
  w->assigned[var] = roc_ir_range_join(w->assigned[var], range);
}

static void note_set(roc_ir_check_walk *w, const roc_ir_inst *inst) {
  if (!w->assigned || w->m->vars.items[inst->aux].type != ROC_VT_INT) return;
  if (roc_ir_sums_note(w, inst)) return;
  note_assigned(w, inst->aux, roc_ir_facts_range(&w->f, operand(w, inst, 0)));
}

ROC_IR_WALKS void roc_ir_check_walk_forget(roc_ir_check_walk *w, uint32_t id) {
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

void roc_ir_check_walk_take_back(roc_ir_check_walk *w, uint32_t begin, roc_ir_outcomes *out) {
  w->tick++;
  for (uint32_t i = begin; i < w->trail.count; i++) {
    roc_ir_var_change c = w->trail.items[i];
    if (w->stamps[c.var] == w->tick) continue;
    w->stamps[c.var] = w->tick;
    if (!roc_vec_push(out, ((roc_ir_outcome){c.var, c.before, w->vars[c.var]}))) w->failed = true;
  }
  while (w->trail.count > begin) {
    roc_ir_var_change c = roc_vec_pop(&w->trail);
    w->vars[c.var] = c.before;
  }
}

static void apply(roc_ir_check_walk *w, const roc_ir_outcomes *path) {
  for (uint32_t i = 0; i < path->count; i++)
    roc_ir_check_walk_assign(w, path->items[i].var, path->items[i].after);
}

static void merge_paths(roc_ir_check_walk *w, uint32_t test, const roc_ir_outcomes *yes,
                        const roc_ir_outcomes *no) {
  w->tick++;
  for (uint32_t i = 0; i < no->count; i++) {
    w->stamps[no->items[i].var] = w->tick;
    w->slots[no->items[i].var] = i;
  }
  for (uint32_t i = 0; i < yes->count; i++) {
    const roc_ir_outcome *o = &yes->items[i];
    bool is_in_both = w->stamps[o->var] == w->tick;
    uint32_t other = is_in_both ? no->items[w->slots[o->var]].after : o->before;
    w->stamps[o->var] = 0;
    roc_ir_check_walk_assign(w, o->var, roc_ir_facts_merge(&w->f, test, o->after, other));
    roc_ir_note_origin(w, w->vars[o->var], ROC_IR_NONE, o->var);
  }
  for (uint32_t i = 0; i < no->count; i++) {
    const roc_ir_outcome *o = &no->items[i];
    if (w->stamps[o->var] != w->tick) continue;
    roc_ir_check_walk_assign(w, o->var, roc_ir_facts_merge(&w->f, test, o->before, o->after));
    roc_ir_note_origin(w, w->vars[o->var], ROC_IR_NONE, o->var);
  }
}

/* What both paths of an IF know when they meet. */
static void keep_common(roc_ir_check_walk *w, const roc_ir_relations *common) {
  for (uint32_t i = 0; i < common->count; i++) {
    roc_ir_facts_add(&w->f, common->items[i].a, common->items[i].b, common->items[i].k);
  }
}

/* A path of an IF. */
typedef struct path {
  roc_ir_outcomes outcomes;
  bool ends; /* nothing goes on after it */
} path;

static void join_paths(roc_ir_check_walk *w, const roc_ir_inst *inst, const path *yes,
                       const path *no, const roc_ir_relations *common) {
  uint32_t test = operand(w, inst, 0);
  bool decides = inst->aux != ROC_IR_IF_ALL; /* which region a work-item takes */
  w->is_dead = w->rounds && yes->ends && no->ends;
  if (yes->ends) {
    apply(w, &no->outcomes);
    if (decides) roc_ir_facts_assume(&w->f, test, false);
  } else if (no->ends) {
    apply(w, &yes->outcomes);
    roc_ir_facts_assume(&w->f, test, true);
  } else {
    merge_paths(w, test, &yes->outcomes, &no->outcomes);
    keep_common(w, common);
  }
}

static void walk_path(roc_ir_check_walk *w, uint32_t region) {
  w->is_dead = false;
  w->nundecided++;
  roc_ir_check_walk_region(w, region);
  w->nundecided--;
}

static bool path_ends(const roc_ir_check_walk *w, uint32_t region) {
  return w->is_dead || !falls_through(w->m, region);
}

static void walk_if(roc_ir_check_walk *w, const roc_ir_inst *inst) {
  uint32_t test = operand(w, inst, 0);
  uint32_t begin = w->trail.count, sums = w->sums.count;
  path yes = {0}, no = {0};
  roc_ir_relations common = {0};
  bool truth;
  if (w->rounds && roc_ir_facts_decide(&w->f, test, &truth)) {
    w->rounds->decides = true;
    roc_ir_check_walk_region(w, inst->k.region[truth ? 0 : 1]);
    return;
  }
  roc_ir_facts_point point = roc_ir_facts_mark(&w->f);
  roc_ir_facts_assume(&w->f, test, true);
  walk_path(w, inst->k.region[0]);
  yes.ends = path_ends(w, inst->k.region[0]);
  roc_ir_facts_collect(&w->f, point, &common);
  roc_ir_facts_rollback(&w->f, point);
  roc_ir_check_walk_take_back(w, begin, &yes.outcomes);
  if (inst->aux != ROC_IR_IF_ALL) roc_ir_facts_assume(&w->f, test, false);
  uint32_t sums_of_no = w->sums.count;
  walk_path(w, inst->k.region[1]);
  roc_ir_sums_join(w, sums, sums_of_no);
  no.ends = path_ends(w, inst->k.region[1]);
  roc_ir_facts_keep_proved(&w->f, &common);
  roc_ir_facts_rollback(&w->f, point);
  roc_ir_check_walk_take_back(w, begin, &no.outcomes);
  join_paths(w, inst, &yes, &no, &common);
  roc_vec_deinit(&yes.outcomes);
  roc_vec_deinit(&no.outcomes);
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

static void walk_loop(roc_ir_check_walk *w, uint32_t id) {
  const roc_ir_inst *inst = &w->m->insts.items[id];
  uint32_t region = inst->k.region[0];
  roc_ir_facts_point point = roc_ir_facts_mark(&w->f);
  int64_t times = roc_ir_sums_enter(w, id);
  roc_ir_invariants_enter(w, id);
  roc_ir_check_walk_forget(w, id);
  roc_ir_invariants_assume(w, id);
  if (inst->op == ROC_IR_FOR) {
    forget_var(w, id, inst->aux);
    enter_for(w, inst);
  }
  walk_path(w, region);
  w->times = times;
  w->is_dead = false;
  if (falls_through(w->m, region)) roc_ir_invariants_round(w, id);
  roc_ir_facts_rollback(&w->f, point);
  roc_ir_check_walk_forget(w, id);
  if (inst->op == ROC_IR_FOR) forget_var(w, id, inst->aux);
  roc_ir_invariants_assume_after(w, id);
}

static void walk_outermost_loop(roc_ir_check_walk *w, uint32_t id) {
  roc_ir_outcomes left = {0};
  roc_ir_walk_outermost_rounds(w, id, &left);
  walk_loop(w, id);
  apply(w, &left);
  roc_vec_deinit(&left);
}

/* Control goes on after it from wherever it is left. */
static void walk_block(roc_ir_check_walk *w, uint32_t id) {
  roc_ir_facts_point point = roc_ir_facts_mark(&w->f);
  roc_ir_check_walk_region(w, w->m->insts.items[id].k.region[0]);
  roc_ir_facts_rollback(&w->f, point);
  w->is_dead = w->rounds && w->rounds->ends;
  if (!w->is_dead) roc_ir_check_walk_forget(w, id);
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
  roc_ir_facts_add_checked(&w->f, index, extent);
  return false;
}

static bool settle_nonzero(roc_ir_check_walk *w, uint32_t id) {
  const roc_ir_inst *inst = &w->m->insts.items[id];
  if (roc_ir_facts_nonzero(&w->f, operand(w, inst, 0))) return true;
  if (w->is_last && w->reasons) roc_ir_explain_nonzero(w, id);
  if (w->is_last && w->preconditions) roc_ir_precondition_nonzero(w, operand(w, inst, 0));
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

static void note_ignored(roc_ir_check_walk *w, uint32_t id) {
  uint32_t index = operand(w, &w->m->insts.items[id], 0);
  roc_ir_ignored_check check = {id, index, roc_ir_facts_unknown(&w->f, ROC_VT_INT)};
  roc_ir_facts_add(&w->f, check.mark, index, 0);
  if (!roc_vec_push(&w->ignored_checks, check)) w->failed = true;
}

/* The check that would prove index <= extent, if it were believed. */
static uint32_t find_ignored(roc_ir_check_walk *w, uint32_t index, uint32_t extent) {
  for (uint32_t i = w->ignored_checks.count; i-- > 0;) {
    const roc_ir_ignored_check *c = &w->ignored_checks.items[i];
    const roc_ir_inst *check = &w->m->insts.items[c->check];
    if (c->index != index || !roc_ir_facts_le(&w->f, c->mark, index)) continue;
    uint32_t checked = roc_ir_facts_extent(&w->f, check->aux, (uint32_t)check->k.i);
    if (roc_ir_facts_le(&w->f, checked, extent)) return c->check;
  }
  return ROC_IR_NONE;
}

static void note_unproved(roc_ir_check_walk *w, uint32_t id) {
  const roc_ir_inst *inst = &w->m->insts.items[id];
  for (uint32_t d = 0; d < inst->nargs; d++) {
    uint32_t index = operand(w, inst, d), extent = roc_ir_facts_extent(&w->f, inst->aux, d);
    if (roc_ir_facts_le(&w->f, w->one, index) && roc_ir_facts_le(&w->f, index, extent)) continue;
    w->unproved[id].dims |= (uint8_t)(1u << d);
    w->unproved[id].checks[d] = find_ignored(w, index, extent);
  }
}

/* A check of what the SET assigns, which is not known to have 32 bits. */
static void note_checked(roc_ir_check_walk *w, uint32_t id) {
  uint32_t value = operand(w, &w->m->insts.items[id], 0);
  roc_ir_range range = roc_ir_facts_range(&w->f, value);
  if (w->m->vars.items[w->m->insts.items[id].aux].type != ROC_VT_INT) return;
  if (range.low >= INT32_MIN && range.high <= INT32_MAX) return;
  for (uint32_t i = w->ignored_checks.count; i-- > 0;) {
    const roc_ir_ignored_check *c = &w->ignored_checks.items[i];
    if (c->index != value || !roc_ir_facts_le(&w->f, c->mark, value)) continue;
    w->unproved[id].dims = 1;
    w->unproved[id].checks[0] = c->check;
    return;
  }
}

bool roc_ir_check_walk_inst(roc_ir_check_walk *w, uint32_t id) {
  const roc_ir_inst *inst = &w->m->insts.items[id];
  if (w->is_last && w->wanted) roc_ir_note_uses(w, id);
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_GET:
      w->values[id] = w->vars[inst->aux];
      if (w->is_last && w->widths) w->widths->insts[id] = roc_ir_width_of(w, inst, w->values[id]);
      return false;
    case ROC_IR_SET:
      note_set(w, inst);
      if (w->is_last && w->unproved) note_checked(w, id);
      roc_ir_check_walk_assign(w, inst->aux, operand(w, inst, 0));
      return false;
    case ROC_IR_CHECK_INDEX:
      if (w->is_last && w->narrow) w->narrow[id] |= roc_ir_narrow_of(w, inst, ROC_IR_NONE);
      if (w->is_last && w->widths) {
        w->widths->indices[id] = roc_ir_facts_range(&w->f, operand(w, inst, 0));
      }
      if (!w->ignored || !w->ignored[id]) return settle_index(w, id);
      if (w->is_last && w->unproved) note_ignored(w, id);
      return false;
    case ROC_IR_CHECK_NONZERO: return settle_nonzero(w, id);
    case ROC_IR_CHECK_INT: return settle_int(w, id);
    case ROC_IR_CHECK: return settle_condition(w, inst);
    case ROC_IR_IF: walk_if(w, inst); return false;
    case ROC_IR_BLOCK: walk_block(w, id); return false;
    case ROC_IR_FOR:
    case ROC_IR_LOOP:
      if (w->is_last && w->narrow && inst->op == ROC_IR_FOR) {
        w->narrow[id] |= roc_ir_narrow_of_for(w, inst);
      }
      if (!w->rounds)
        walk_outermost_loop(w, id);
      else if (!roc_ir_walk_inner_rounds(w, id))
        walk_loop(w, id);
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
  if (w->is_last && w->preconditions && inst->op == ROC_IR_BAND) roc_ir_precondition_mask(w, inst);
  w->values[id] = roc_ir_facts_value(&w->f, inst, args);
  roc_ir_note_origin(w, w->values[id], id, ROC_IR_NONE);
  if (w->is_last && w->narrow) w->narrow[id] |= roc_ir_narrow_of(w, inst, w->values[id]);
  if (w->is_last && w->widths) w->widths->insts[id] = roc_ir_width_of(w, inst, w->values[id]);
  if (w->is_last && w->unproved && inst->op == ROC_IR_LOAD) note_unproved(w, id);
  return false;
}

void roc_ir_check_walk_region(roc_ir_check_walk *w, uint32_t region) {
  if (w->rounds) {
    roc_ir_walk_in_rounds(w, region);
    return;
  }
  roc_ir_ids *ids = &w->m->regions.items[region];
  uint32_t kept = 0;
  for (uint32_t i = 0; i < ids->count; i++) {
    bool goes = !w->failed && roc_ir_check_walk_inst(w, ids->items[i]);
    goes |= roc_ir_is_proved_in_rounds(w, ids->items[i]);
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

/* Of a workgroup whose size is promised. */
static void note_grid(roc_ir_check_walk *w, uint32_t dim) {
  roc_ir_inst size = {.op = ROC_IR_CONST, .type = ROC_VT_INT, .k.i = w->m->workgroup[dim]};
  roc_ir_inst product = {.op = ROC_IR_MUL, .type = ROC_VT_INT, .nargs = 2};
  uint32_t args[2] = {query(w, ROC_IR_NUM_GROUPS, dim), roc_ir_facts_value(&w->f, &size, NULL)};
  uint32_t items = roc_ir_facts_value(&w->f, &product, args);
  if (roc_ir_facts_range(&w->f, items).high == INT64_MAX) return; /* it may wrap */
  w->f.local_ids[dim] = query(w, ROC_IR_LOCAL_ID, dim);
  w->f.grid_items[dim] = items;
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
    if (w->m->workgroup[dim] > 1) note_grid(w, dim);
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
  w->nsteps = MOST_STEPS;
  w->times = 1;
  w->counter = ROC_IR_NONE;
  w->sums.count = 0;
  state_launch(w);
  return true;
}
bool roc_ir_check_walk_run(roc_ir_check_walk *w, const roc_ir_launch_limits *limits) {
  if (!begin(w, limits)) return false;
  roc_ir_check_walk_region(w, 0);
  return !w->failed && !w->f.failed;
}
