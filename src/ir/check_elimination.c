/* See check_elimination.h. One walk in execution order that keeps, for each variable, the number of
 * the value it holds, and the facts in force (facts.h). Where paths meet, variables they disagree
 * on get new numbers and facts of one path are dropped. */
#include "ir/check_elimination.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ir/facts.h"
#include "ir/motion.h"
#include "ir/range.h"
#include "ir/walk.h"

typedef struct change {
  uint32_t var, before;
} change;

/* What one path of an IF did to a variable. */
typedef struct outcome {
  uint32_t var, before, after;
} outcome;

typedef roc_vec(outcome) outcomes;

typedef struct eliminator {
  roc_ir_module *m;
  roc_ir_facts f;
  uint32_t *values;      /* per instruction: number of its result */
  uint32_t *vars;        /* per variable: number of what it holds */
  roc_vec(change) trail; /* assignments since the beginning, to take back */
  uint32_t *stamps;      /* per variable: the last tick that met it */
  uint32_t *slots;       /* per variable: where, as that tick says */
  uint32_t tick;
  uint32_t one; /* number of the integer 1 */
  roc_ir_preconditions
      *preconditions; /* or NULL: what roc_ir_find_preconditions wants; checks stay then */
  uint8_t *narrow; /* per instruction, or NULL: what roc_ir_find_narrow wants; checks stay then */
  uint8_t *narrow_vars;
  roc_ir_range *held;     /* per variable: what it holds, wherever control comes from */
  roc_ir_range *assigned; /* per variable, while `held` is found: what it is set to; checks stay */
  bool failed;
} eliminator;

static void assign(eliminator *g, uint32_t var, uint32_t value) {
  if (!roc_vec_push(&g->trail, ((change){var, g->vars[var]}))) g->failed = true;
  g->vars[var] = value;
}

static uint32_t operand(const eliminator *g, const roc_ir_inst *inst, uint32_t n) {
  return g->values[roc_ir_arg(g->m, inst, n)];
}

static void forget_var(eliminator *g, uint32_t var) {
  assign(g, var, roc_ir_facts_unknown_in(&g->f, g->m->vars.items[var].type, g->held[var]));
}

/* `held` is found from what every assignment may give.  In code that cannot run the range is
 * empty. */
static void note_assigned(eliminator *g, uint32_t var, roc_ir_range range) {
  if (!g->assigned || range.low > range.high) return;
  g->assigned[var] = roc_ir_range_join(g->assigned[var], range);
}

/* Gives every variable that the region assigns a new number. */
static ROC_IR_WALKS void forget_region(eliminator *g, uint32_t region) {
  roc_ir_walk w;
  g->tick++;
  ROC_IR_FOR_EACH(w, g->m, region) {
    bool assigns = w.inst->op == ROC_IR_SET || w.inst->op == ROC_IR_FOR;
    if (!assigns || g->stamps[w.inst->aux] == g->tick) continue;
    g->stamps[w.inst->aux] = g->tick;
    forget_var(g, w.inst->aux);
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

static void walk_region(eliminator *g, uint32_t region);

/* Takes assignments back to `begin` on the trail and tells what they came to. */
static void take_back(eliminator *g, uint32_t begin, outcomes *out) {
  g->tick++;
  for (uint32_t i = begin; i < g->trail.count; i++) {
    change c = g->trail.items[i];
    if (g->stamps[c.var] == g->tick) continue;
    g->stamps[c.var] = g->tick;
    if (!roc_vec_push(out, ((outcome){c.var, c.before, g->vars[c.var]}))) g->failed = true;
  }
  while (g->trail.count > begin) {
    change c = roc_vec_pop(&g->trail);
    g->vars[c.var] = c.before;
  }
}

static void apply(eliminator *g, const outcomes *path) {
  for (uint32_t i = 0; i < path->count; i++) assign(g, path->items[i].var, path->items[i].after);
}

static void merge_paths(eliminator *g, uint32_t test, const outcomes *yes, const outcomes *no) {
  g->tick++;
  for (uint32_t i = 0; i < no->count; i++) {
    g->stamps[no->items[i].var] = g->tick;
    g->slots[no->items[i].var] = i;
  }
  for (uint32_t i = 0; i < yes->count; i++) {
    const outcome *o = &yes->items[i];
    bool is_in_both = g->stamps[o->var] == g->tick;
    uint32_t other = is_in_both ? no->items[g->slots[o->var]].after : o->before;
    g->stamps[o->var] = 0;
    assign(g, o->var, roc_ir_facts_merge(&g->f, test, o->after, other));
  }
  for (uint32_t i = 0; i < no->count; i++) {
    const outcome *o = &no->items[i];
    if (g->stamps[o->var] != g->tick) continue;
    assign(g, o->var, roc_ir_facts_merge(&g->f, test, o->before, o->after));
  }
}

/* What both paths of an IF know when they meet. */
static void keep_common(eliminator *g, const roc_ir_relations *common) {
  for (uint32_t i = 0; i < common->count; i++) {
    roc_ir_facts_add(&g->f, common->items[i].a, common->items[i].b, common->items[i].k);
  }
}

static void join_paths(eliminator *g, const roc_ir_inst *inst, const outcomes *yes,
                       const outcomes *no, const roc_ir_relations *common) {
  uint32_t test = operand(g, inst, 0);
  if (!falls_through(g->m, inst->k.region[0])) {
    apply(g, no);
    roc_ir_facts_assume(&g->f, test, false);
  } else if (!falls_through(g->m, inst->k.region[1])) {
    apply(g, yes);
    roc_ir_facts_assume(&g->f, test, true);
  } else {
    merge_paths(g, test, yes, no);
    keep_common(g, common);
  }
}

static void walk_if(eliminator *g, const roc_ir_inst *inst) {
  uint32_t test = operand(g, inst, 0);
  uint32_t begin = g->trail.count;
  outcomes yes = {0}, no = {0};
  roc_ir_relations common = {0};
  roc_ir_facts_point point = roc_ir_facts_mark(&g->f);
  roc_ir_facts_assume(&g->f, test, true);
  walk_region(g, inst->k.region[0]);
  roc_ir_facts_collect(&g->f, point, &common);
  roc_ir_facts_rollback(&g->f, point);
  take_back(g, begin, &yes);
  roc_ir_facts_assume(&g->f, test, false);
  walk_region(g, inst->k.region[1]);
  roc_ir_facts_keep_proved(&g->f, &common);
  roc_ir_facts_rollback(&g->f, point);
  take_back(g, begin, &no);
  join_paths(g, inst, &yes, &no, &common);
  roc_vec_deinit(&yes);
  roc_vec_deinit(&no);
  roc_vec_deinit(&common);
}

/* The variable of a FOR lies between first and last, whichever way the step goes. */
static void enter_for(eliminator *g, const roc_ir_inst *inst) {
  uint32_t first = operand(g, inst, 0), last = operand(g, inst, 1);
  roc_ir_range step = roc_ir_facts_range(&g->f, operand(g, inst, 2));
  uint32_t var = g->vars[inst->aux];
  roc_ir_range of_first = roc_ir_facts_range(&g->f, first);
  roc_ir_range of_last = roc_ir_facts_range(&g->f, last);
  roc_ir_range values = roc_ir_range_all;
  if (step.low > 0) values = (roc_ir_range){of_first.low, of_last.high};
  if (step.high < 0) values = (roc_ir_range){of_last.low, of_first.high};
  note_assigned(g, inst->aux, values);
  roc_ir_range begin = roc_ir_facts_range(&g->f, first);
  if (step.low == step.high && step.low > 1 && begin.low == begin.high) {
    roc_ir_facts_add_multiple(&g->f, var, last, begin.low, step.low);
  }
  if (step.low > 0) {
    roc_ir_facts_add(&g->f, first, var, 0);
    roc_ir_facts_add(&g->f, var, last, 0);
  } else if (step.high < 0) {
    roc_ir_facts_add(&g->f, last, var, 0);
    roc_ir_facts_add(&g->f, var, first, 0);
  }
}

static void walk_nested(eliminator *g, const roc_ir_inst *inst) {
  uint32_t region = inst->k.region[0];
  bool is_loop = inst->op != ROC_IR_BLOCK;
  roc_ir_facts_point point = roc_ir_facts_mark(&g->f);
  if (is_loop) forget_region(g, region);
  if (inst->op == ROC_IR_FOR) {
    forget_var(g, inst->aux);
    enter_for(g, inst);
  }
  walk_region(g, region);
  roc_ir_facts_rollback(&g->f, point);
  forget_region(g, region);
  if (inst->op == ROC_IR_FOR) forget_var(g, inst->aux);
}

/* But for k. */
static bool is_like_precondition(const roc_ir_precondition *a, const roc_ir_precondition *b) {
  return a->op == b->op && a->aux == b->aux && a->dim == b->dim && a->step == b->step &&
         a->begin == b->begin && a->factor == b->factor && a->is_lower == b->is_lower &&
         (a->is_lower || (a->array == b->array && a->axis == b->axis));
}

/* Arrays that look at one parameter have its extents; facts number them by parameter. */
static uint32_t array_of_extent(const roc_ir_module *m, uint32_t owner) {
  if (owner >= m->params.count) return owner - m->params.count;
  uint32_t array = 0;
  while (m->arrays.items[array].kind != ROC_IR_ARRAY_PARAM ||
         m->arrays.items[array].param != owner) {
    array++;
  }
  return array;
}

/* Of several that differ in k, one says all. */
static void keep_precondition(eliminator *g, const roc_ir_precondition *p) {
  for (uint32_t i = 0; i < g->preconditions->count; i++) {
    roc_ir_precondition *kept = &g->preconditions->items[i];
    if (!is_like_precondition(kept, p)) continue;
    if (p->is_lower ? p->k < kept->k : p->k > kept->k) kept->k = p->k;
    return;
  }
  if (!roc_vec_push(g->preconditions, *p)) g->failed = true;
}

/* The bound is a value of the launch, or a multiple of a step that roc_ir_facts_last_multiple
 * made. */
static bool describe_bound(eliminator *g, uint32_t bound, roc_ir_precondition *p) {
  roc_ir_facts_multiple m = {.base = bound};
  int64_t end;
  if (roc_ir_facts_is_multiple(&g->f, bound, &m)) {
    p->step = m.step;
    p->begin = m.begin;
  }
  const roc_ir_value *v = &g->f.values.items[m.base];
  roc_ir_range range = roc_ir_facts_range(&g->f, m.base);
  if (__builtin_mul_overflow(range.low, p->factor, &end)) return false;
  if (__builtin_add_overflow(end, p->k, &end)) return false;
  if (__builtin_mul_overflow(range.high, p->factor, &end)) return false;
  if (__builtin_add_overflow(end, p->k, &end)) return false;
  p->op = v->op;
  p->aux = v->op == ROC_IR_EXTENT ? array_of_extent(g->m, v->aux) : v->aux;
  p->dim = v->op == ROC_IR_EXTENT ? v->k : 0;
  return true;
}

static void need_upper(eliminator *g, const roc_ir_inst *inst, uint32_t index, int64_t k,
                       int depth);

static void need_case(eliminator *g, const roc_ir_inst *inst, uint32_t test, bool truth,
                      uint32_t value, int64_t k, int depth) {
  roc_ir_facts_point point = roc_ir_facts_mark(&g->f);
  roc_ir_facts_assume(&g->f, test, truth);
  need_upper(g, inst, value, k, depth - 1);
  roc_ir_facts_rollback(&g->f, point);
}

/* index + k <= extent.  A constant, and what stays small, is compared as such: what is known of it
 * by way of ids and sizes would ask for more than is needed. */
static void need_upper(eliminator *g, const roc_ir_inst *inst, uint32_t index, int64_t k,
                       int depth) {
  enum { SMALL = 4096 };
  roc_ir_precondition p = {.factor = 1, .array = inst->aux, .axis = (uint32_t)inst->k.i};
  roc_ir_range range = roc_ir_facts_range(&g->f, index);
  uint32_t extent = roc_ir_facts_extent(&g->f, inst->aux, (uint32_t)inst->k.i);
  roc_ir_facts_bound bound;
  int64_t over = 0;
  uint32_t choice = roc_ir_facts_base(&g->f, index, &over);
  roc_ir_value v = g->f.values.items[choice];
  if (range.low > range.high) return; /* this case never comes */
  if (depth > 0 && roc_ir_facts_is_choice(&v)) {
    if (__builtin_add_overflow(k, over, &k)) return;
    need_case(g, inst, v.args[0], true, v.args[1], k, depth);
    need_case(g, inst, v.args[0], false, v.args[2], k, depth);
    return;
  }
  bool is_const = range.low == range.high;
  bool is_small = range.high <= SMALL && range.high >= -SMALL;
  bool has_bound = !is_const && roc_ir_facts_launch_bound(&g->f, index, extent, false, &bound);
  if (!has_bound && !is_const) {
    has_bound = roc_ir_facts_launch_bound(&g->f, index, extent, true, &bound) &&
                (!is_small || g->f.values.items[bound.value].op == ROC_IR_LOCAL_SIZE);
  }
  if (has_bound) {
    p.factor = bound.factor;
    if (!__builtin_add_overflow(bound.k, k, &p.k) && describe_bound(g, bound.value, &p)) {
      keep_precondition(g, &p);
    }
  } else if ((is_const || is_small) && g->f.values.items[extent].op != ROC_IR_CONST) {
    p.op = ROC_IR_CONST;
    if (!__builtin_add_overflow(range.high, k, &p.k)) keep_precondition(g, &p);
  }
}

static bool need_lower(eliminator *g, uint32_t index, int64_t k, int depth);

static bool need_lower_case(eliminator *g, uint32_t test, bool truth, uint32_t value, int64_t k,
                            int depth) {
  roc_ir_facts_point point = roc_ir_facts_mark(&g->f);
  roc_ir_facts_assume(&g->f, test, truth);
  bool may_be_low = need_lower(g, value, k, depth - 1);
  roc_ir_facts_rollback(&g->f, point);
  return may_be_low;
}

/* 1 <= index + k, where the index is an argument, more or less a constant. */
static bool need_lower(eliminator *g, uint32_t index, int64_t k, int depth) {
  roc_ir_precondition p = {.factor = 1, .is_lower = true};
  if (roc_ir_facts_le_by(&g->f, g->one, index, k)) return true;
  uint32_t base = roc_ir_facts_base(&g->f, index, &p.k);
  roc_ir_value v = g->f.values.items[base];
  if (__builtin_add_overflow(p.k, k, &p.k)) return false;
  if (depth > 0 && roc_ir_facts_is_choice(&v)) {
    return need_lower_case(g, v.args[0], true, v.args[1], p.k, depth) &&
           need_lower_case(g, v.args[0], false, v.args[2], p.k, depth);
  }
  bool is_argument = v.op == ROC_IR_PARAM || v.op == ROC_IR_EXTENT;
  if (!is_argument || !describe_bound(g, base, &p)) return false;
  keep_precondition(g, &p);
  return true;
}

/* True when the check cannot fail; else states what holds after it. */
static bool settle_index(eliminator *g, const roc_ir_inst *inst) {
  enum { MOST_CHOICES = 3 };
  uint32_t index = operand(g, inst, 0);
  uint32_t extent = roc_ir_facts_extent(&g->f, inst->aux, (uint32_t)inst->k.i);
  bool is_low = !g->assigned && roc_ir_facts_le(&g->f, g->one, index);
  if (is_low && roc_ir_facts_le(&g->f, index, extent)) return true;
  bool may_be_low = is_low || (g->preconditions && need_lower(g, index, 0, MOST_CHOICES));
  if (may_be_low && g->preconditions && !roc_ir_facts_le(&g->f, index, extent)) {
    need_upper(g, inst, index, 0, MOST_CHOICES);
  }
  roc_ir_facts_add(&g->f, g->one, index, 0);
  roc_ir_facts_add(&g->f, index, extent, 0);
  return false;
}

static bool settle_nonzero(eliminator *g, const roc_ir_inst *inst) {
  if (roc_ir_facts_nonzero(&g->f, operand(g, inst, 0))) return true;
  roc_ir_facts_add_nonzero(&g->f, operand(g, inst, 0));
  return false;
}

/* A condition that says `value ~= 0`, as the step of a FOR is checked; others are believed. */
static bool settle_condition(eliminator *g, const roc_ir_inst *inst) {
  uint32_t test = operand(g, inst, 0);
  const roc_ir_value *v = &g->f.values.items[test];
  bool is_nonzero = v->op == ROC_IR_NE && v->args[1] == ROC_IR_VALUE_ZERO;
  if (is_nonzero && roc_ir_facts_nonzero(&g->f, v->args[0])) return true;
  roc_ir_facts_assume(&g->f, test, true);
  return false;
}

/* A constant, or an integer made a float: rounding takes one below 2^62 to at most 2^62, which
 * fits. */
static bool settle_int(eliminator *g, const roc_ir_inst *inst) {
  const double limit = 4611686018427387904.0; /* 2^62 */
  const roc_ir_inst *from = &g->m->insts.items[roc_ir_arg(g->m, inst, 0)];
  if (from->op == ROC_IR_CONST) return fabs(from->k.f) <= limit;
  bool is_conversion = from->op == ROC_IR_TO_F32 || from->op == ROC_IR_TO_F64;
  if (!is_conversion || g->m->insts.items[roc_ir_arg(g->m, from, 0)].type != ROC_VT_INT) {
    return false;
  }
  roc_ir_range range = roc_ir_facts_range(&g->f, operand(g, from, 0));
  return range.low >= -((int64_t)1 << 62) && range.high <= (int64_t)1 << 62;
}

/* ---- how wide values are ---- */

static bool lies_in(eliminator *g, uint32_t value, int64_t most) {
  roc_ir_range range = roc_ir_facts_range(&g->f, value);
  return range.low >= 0 && range.low <= range.high && range.high <= most;
}

static uint8_t narrow_of(eliminator *g, const roc_ir_inst *inst, uint32_t value) {
  bool is_int = inst->type == ROC_VT_INT;
  if (inst->op == ROC_IR_BAND && lies_in(g, value, UINT32_MAX)) {
    bool masks =
        lies_in(g, operand(g, inst, 0), UINT32_MAX) || lies_in(g, operand(g, inst, 1), UINT32_MAX);
    if (masks)
      return lies_in(g, value, INT32_MAX) ? ROC_IR_NARROW | ROC_IR_NARROW_SIGNED : ROC_IR_NARROW;
  }
  for (uint32_t n = 0; n < inst->nargs; n++) {
    bool takes_int = g->m->insts.items[roc_ir_arg(g->m, inst, n)].type == ROC_VT_INT;
    if (takes_int && !lies_in(g, operand(g, inst, n), UINT32_MAX)) return 0;
  }
  if (is_int && !lies_in(g, value, UINT32_MAX)) return 0;
  return is_int && lies_in(g, value, INT32_MAX) ? ROC_IR_NARROW | ROC_IR_NARROW_SIGNED
                                                : ROC_IR_NARROW;
}

static uint8_t narrow_of_var(roc_ir_range held) {
  if (held.low > held.high) return 0;
  if (held.low >= 0 && held.high <= INT32_MAX) return ROC_IR_NARROW | ROC_IR_NARROW_SIGNED;
  if (held.low >= 0 && held.high <= UINT32_MAX) return ROC_IR_NARROW;
  return held.low >= INT32_MIN && held.high <= INT32_MAX ? ROC_IR_NARROW_SIGNED : 0;
}

/* Whether 32 bits count the loop. */
static uint8_t narrow_of_for(eliminator *g, const roc_ir_inst *inst) {
  roc_ir_range step = roc_ir_facts_range(&g->f, operand(g, inst, 2));
  bool is_up = step.low > 0 && step.high <= UINT32_MAX;
  bool is_down = step.high < 0 && step.low >= -INT32_MAX;
  int64_t most = is_up ? UINT32_MAX : INT32_MAX;
  if (!is_up && !is_down) return 0;
  if (!lies_in(g, operand(g, inst, 0), most)) return 0;
  if (!lies_in(g, operand(g, inst, 1), INT32_MAX)) return 0;
  if (is_down) return ROC_IR_NARROW | ROC_IR_NARROW_SIGNED;
  bool may_wrap = step.high > INT32_MAX;
  return may_wrap ? ROC_IR_NARROW | ROC_IR_WRAPS : ROC_IR_NARROW;
}

/* Handles one instruction; true when it is to go. */
static bool walk_inst(eliminator *g, uint32_t id) {
  const roc_ir_inst *inst = &g->m->insts.items[id];
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_GET: g->values[id] = g->vars[inst->aux]; return false;
    case ROC_IR_SET:
      note_assigned(g, inst->aux, roc_ir_facts_range(&g->f, operand(g, inst, 0)));
      assign(g, inst->aux, operand(g, inst, 0));
      return false;
    case ROC_IR_CHECK_INDEX: return settle_index(g, inst);
    case ROC_IR_CHECK_NONZERO: return settle_nonzero(g, inst);
    case ROC_IR_CHECK_INT: return settle_int(g, inst);
    case ROC_IR_CHECK: return settle_condition(g, inst);
    case ROC_IR_IF: walk_if(g, inst); return false;
    case ROC_IR_BLOCK:
    case ROC_IR_LOOP: walk_nested(g, inst); return false;
    case ROC_IR_FOR:
      if (g->narrow) g->narrow[id] |= narrow_of_for(g, inst);
      walk_nested(g, inst);
      return false;
    default: break;
  }
  if (inst->type == ROC_VT_NONE) return false;
  uint32_t args[ROC_IR_VALUE_ARGS] = {0};
  for (uint32_t n = 0; n < inst->nargs && n < ROC_IR_VALUE_ARGS; n++) {
    args[n] = operand(g, inst, n);
  }
  g->values[id] = roc_ir_facts_value(&g->f, inst, args);
  if (g->narrow) g->narrow[id] |= narrow_of(g, inst, g->values[id]);
  return false;
}

static void walk_region(eliminator *g, uint32_t region) {
  roc_ir_ids *ids = &g->m->regions.items[region];
  uint32_t kept = 0;
  for (uint32_t i = 0; i < ids->count; i++) {
    bool goes = !g->failed && walk_inst(g, ids->items[i]);
    if (goes && !g->narrow && !g->preconditions && !g->assigned) continue;
    if (kept != i) ids->items[kept] = ids->items[i];
    kept++;
  }
  if (kept != ids->count) ids->count = kept;
}

static uint32_t query(eliminator *g, roc_ir_op op, uint32_t dim) {
  roc_ir_inst inst = {.op = (uint8_t)op, .type = ROC_VT_INT, .aux = dim};
  return roc_ir_facts_value(&g->f, &inst, NULL);
}

/* No id is over its size. */
static void state_launch(eliminator *g) {
  static const roc_ir_op pairs[][2] = {{ROC_IR_GLOBAL_ID, ROC_IR_GLOBAL_SIZE},
                                       {ROC_IR_LOCAL_ID, ROC_IR_LOCAL_SIZE},
                                       {ROC_IR_GROUP_ID, ROC_IR_NUM_GROUPS}};
  for (uint32_t dim = 0; dim < 3; dim++) {
    for (int i = 0; i < 3; i++) {
      roc_ir_facts_add(&g->f, query(g, pairs[i][0], dim), query(g, pairs[i][1], dim), 0);
    }
  }
}

/* Before the first instruction, by what `held` says. */
static bool begin(eliminator *g, const roc_ir_launch_limits *limits) {
  roc_ir_inst one = {.op = ROC_IR_CONST, .type = ROC_VT_INT, .k.i = 1};
  roc_ir_facts_deinit(&g->f);
  g->trail.count = 0;
  if (!roc_ir_facts_init(&g->f, g->m, limits)) return false;
  for (uint32_t i = 0; i < g->m->vars.count; i++) {
    g->vars[i] = roc_ir_facts_unknown_in(&g->f, g->m->vars.items[i].type, g->held[i]);
  }
  g->one = roc_ir_facts_value(&g->f, &one, NULL);
  state_launch(g);
  return true;
}

/* ---- what variables hold ---- */

/* The next larger of a few ranges, so that this ends: a bound that moves goes to the next of these. */
static roc_ir_range widened(roc_ir_range from, roc_ir_range to) {
  static const int64_t bounds[] = {INT64_MIN, INT32_MIN, 0, 1, INT32_MAX, UINT32_MAX, INT64_MAX};
  const int n = sizeof bounds / sizeof *bounds;
  roc_ir_range wide = from;
  for (int i = 0; i < n && to.low < from.low; i++) {
    if (bounds[i] <= to.low) wide.low = bounds[i];
  }
  for (int i = n; i-- > 0 && to.high > from.high;) {
    if (bounds[i] >= to.high) wide.high = bounds[i];
  }
  return wide;
}

static bool is_in(roc_ir_range a, roc_ir_range b) {
  return a.low > a.high || (a.low >= b.low && a.high <= b.high);
}

/* Walks once with `held`, and fills `assigned`; false: memory is out. */
static bool assign_once(eliminator *g, const roc_ir_launch_limits *limits) {
  for (uint32_t i = 0; i < g->m->vars.count; i++) {
    g->assigned[i] = (roc_ir_range){INT64_MAX, INT64_MIN};
  }
  if (!begin(g, limits)) return false;
  walk_region(g, 0);
  return !g->failed && !g->f.failed;
}

/* True when `held` covers what is assigned where variables hold that: then they never hold more.  The
 * first walks add no more than they must, later ones more and more, so that this ends. */
static bool widen_held(eliminator *g, int walk) {
  enum { EXACT_WALKS = 3, MOST_WALKS = 12 };
  bool is_stable = true;
  for (uint32_t i = 0; i < g->m->vars.count; i++) {
    if (is_in(g->assigned[i], g->held[i])) continue;
    is_stable = false;
    roc_ir_range sum = roc_ir_range_join(g->held[i], g->assigned[i]);
    g->held[i] = walk < EXACT_WALKS ? sum : widened(g->held[i], sum);
  }
  for (uint32_t i = 0; !is_stable && walk >= MOST_WALKS && i < g->m->vars.count; i++) {
    g->held[i] = roc_ir_range_all;
  }
  return is_stable;
}

/* What is assigned under `held` is held, too, and may be less: so for `while d < n do d = d * 2`. */
static bool lessen_held(eliminator *g, const roc_ir_launch_limits *limits) {
  uint32_t nvars = g->m->vars.count;
  roc_ir_range *before = roc_alloc(sizeof *before * (nvars + 1));
  if (!before) return false;
  memcpy(before, g->held, sizeof *before * nvars);
  memcpy(g->held, g->assigned, sizeof *before * nvars);
  bool made = assign_once(g, limits);
  bool is_held = made;
  for (uint32_t i = 0; i < nvars; i++) is_held = is_held && is_in(g->assigned[i], g->held[i]);
  if (!is_held) memcpy(g->held, before, sizeof *before * nvars);
  roc_free(before);
  return made;
}

static bool has_loops(const roc_ir_module *m) {
  for (uint32_t i = 0; i < m->insts.count; i++) {
    roc_ir_op op = (roc_ir_op)m->insts.items[i].op;
    if (op == ROC_IR_LOOP || op == ROC_IR_FOR) return true;
  }
  return false;
}

/* Begins with nothing, and adds what is assigned under that, until there is no more to add.  Without
 * loops the walk itself sees every assignment before the value is used. */
static bool find_held(eliminator *g, const roc_ir_launch_limits *limits) {
  enum { MOST_INSTS = 20000 };
  if (!has_loops(g->m) || g->m->insts.count > MOST_INSTS) return true;
  g->assigned = roc_alloc(sizeof *g->assigned * (g->m->vars.count + 1));
  if (!g->assigned) return false;
  uint8_t *narrow = g->narrow;
  roc_ir_preconditions *preconditions = g->preconditions;
  g->narrow = NULL;
  g->preconditions = NULL;
  for (uint32_t i = 0; i < g->m->vars.count; i++) {
    if (g->m->vars.items[i].type == ROC_VT_INT) g->held[i] = (roc_ir_range){INT64_MAX, INT64_MIN};
  }
  bool made = true, is_stable = false;
  for (int walk = 0; made && !is_stable; walk++) {
    made = assign_once(g, limits);
    is_stable = made && widen_held(g, walk);
  }
  made = made && lessen_held(g, limits);
  roc_free(g->assigned);
  g->assigned = NULL;
  g->narrow = narrow;
  g->preconditions = preconditions;
  return made;
}

static bool open_eliminator(eliminator *g, roc_ir_module *module) {
  *g = (eliminator){.m = module};
  uint32_t nvars = module->vars.count;
  g->values = roc_zalloc(sizeof *g->values * module->insts.count);
  g->vars = roc_zalloc(sizeof *g->vars * nvars);
  g->stamps = roc_zalloc(sizeof *g->stamps * nvars);
  g->slots = roc_zalloc(sizeof *g->slots * nvars);
  g->held = roc_alloc(sizeof *g->held * (nvars + 1));
  bool made = g->values && g->vars && g->stamps && g->slots && g->held;
  for (uint32_t i = 0; made && i < nvars; i++) g->held[i] = roc_ir_range_all;
  return made;
}

/* Walks the eliminator's module, unless `made` is false, and closes the eliminator. */
static roc_status run_eliminator(eliminator *g, bool made, const roc_ir_launch_limits *limits,
                                 roc_error *err) {
  made = made && find_held(g, limits) && begin(g, limits);
  for (uint32_t i = 0; made && g->narrow_vars && i < g->m->vars.count; i++) {
    if (g->m->vars.items[i].type == ROC_VT_INT) g->narrow_vars[i] = narrow_of_var(g->held[i]);
  }
  if (made) walk_region(g, 0);
  bool is_out_of_memory = !made || g->failed || g->f.failed;
  roc_free(g->values);
  roc_free(g->vars);
  roc_free(g->stamps);
  roc_free(g->slots);
  roc_free(g->held);
  roc_vec_deinit(&g->trail);
  roc_ir_facts_deinit(&g->f);
  return is_out_of_memory ? roc_fail(err, ROC_OOM, "out of memory") : ROC_OK;
}

roc_status roc_ir_eliminate_checks(roc_ir_module *module, roc_error *err) {
  eliminator g;
  bool made = open_eliminator(&g, module);
  return run_eliminator(&g, made, &roc_ir_limits_any, err);
}

roc_status roc_ir_eliminate_checks_gpu(roc_ir_module *module, roc_error *err) {
  eliminator g;
  bool made = open_eliminator(&g, module);
  return run_eliminator(&g, made, &roc_ir_limits_gpu, err);
}

roc_status roc_ir_find_preconditions(const roc_ir_module *module, roc_ir_preconditions *out,
                                     roc_error *err) {
  eliminator g;
  /* Nothing is removed from the module in this mode. */
  bool made = open_eliminator(&g, (roc_ir_module *)(uintptr_t)module);
  g.preconditions = out;
  return run_eliminator(&g, made, &roc_ir_limits_gpu, err);
}

roc_status roc_ir_find_narrow(const roc_ir_module *module, const roc_ir_launch_limits *limits,
                              uint8_t **out, uint8_t **out_vars, roc_error *err) {
  eliminator g;
  uint8_t *narrow = roc_zalloc(module->insts.count + 1);
  uint8_t *vars = roc_zalloc(module->vars.count + 1);
  /* Nothing is removed from the module in this mode. */
  bool made = open_eliminator(&g, (roc_ir_module *)(uintptr_t)module) && narrow && vars;
  g.narrow = narrow;
  g.narrow_vars = vars;
  roc_status status = run_eliminator(&g, made, limits, err);
  if (status == ROC_OK) status = roc_ir_find_motion(module, narrow, err);
  if (status != ROC_OK) {
    roc_free(narrow);
    roc_free(vars);
    return status;
  }
  *out = narrow;
  *out_vars = vars;
  return ROC_OK;
}
