/* See check_elimination.h. One walk in execution order that keeps, for each variable, the number of
 * the value it holds, and the facts in force (facts.h). Where paths meet, variables they disagree
 * on get new numbers and facts of one path are dropped. */
#include "ir/check_elimination.h"

#include <math.h>

#include "base/alloc.h"
#include "ir/facts.h"
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
  assign(g, var, roc_ir_facts_unknown(&g->f, g->m->vars.items[var].type));
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

static bool is_same_precondition(const roc_ir_precondition *a, const roc_ir_precondition *b) {
  return a->op == b->op && a->aux == b->aux && a->dim == b->dim && a->k == b->k &&
         a->array == b->array && a->axis == b->axis;
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

static void add_precondition(eliminator *g, const roc_ir_inst *inst) {
  roc_ir_precondition p = {.array = inst->aux, .axis = (uint32_t)inst->k.i};
  uint32_t bound;
  int64_t end;
  if (!roc_ir_facts_launch_bound(&g->f, operand(g, inst, 0), &bound, &p.k)) return;
  const roc_ir_value *v = &g->f.values.items[bound];
  roc_ir_range range = roc_ir_facts_range(&g->f, bound);
  if (__builtin_add_overflow(range.low, p.k, &end)) return;
  if (__builtin_add_overflow(range.high, p.k, &end)) return;
  p.op = v->op;
  p.aux = v->op == ROC_IR_EXTENT ? array_of_extent(g->m, v->aux) : v->aux;
  p.dim = v->op == ROC_IR_EXTENT ? v->k : 0;
  for (uint32_t i = 0; i < g->preconditions->count; i++) {
    if (is_same_precondition(&g->preconditions->items[i], &p)) return;
  }
  if (!roc_vec_push(g->preconditions, p)) g->failed = true;
}

/* True when the check cannot fail; else states what holds after it. */
static bool settle_index(eliminator *g, const roc_ir_inst *inst) {
  uint32_t index = operand(g, inst, 0);
  uint32_t extent = roc_ir_facts_extent(&g->f, inst->aux, (uint32_t)inst->k.i);
  bool is_low = roc_ir_facts_le(&g->f, g->one, index);
  if (is_low && roc_ir_facts_le(&g->f, index, extent)) return true;
  if (is_low && g->preconditions) add_precondition(g, inst);
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
  for (uint32_t n = 0; n < inst->nargs; n++) {
    bool takes_int = g->m->insts.items[roc_ir_arg(g->m, inst, n)].type == ROC_VT_INT;
    if (takes_int && !lies_in(g, operand(g, inst, n), UINT32_MAX)) return 0;
  }
  if (is_int && !lies_in(g, value, UINT32_MAX)) return 0;
  return is_int && lies_in(g, value, INT32_MAX) ? ROC_IR_NARROW | ROC_IR_NARROW_SIGNED
                                                : ROC_IR_NARROW;
}

/* Handles one instruction; true when it is to go. */
static bool walk_inst(eliminator *g, uint32_t id) {
  const roc_ir_inst *inst = &g->m->insts.items[id];
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_GET: g->values[id] = g->vars[inst->aux]; return false;
    case ROC_IR_SET: assign(g, inst->aux, operand(g, inst, 0)); return false;
    case ROC_IR_CHECK_INDEX: return settle_index(g, inst);
    case ROC_IR_CHECK_NONZERO: return settle_nonzero(g, inst);
    case ROC_IR_CHECK_INT: return settle_int(g, inst);
    case ROC_IR_CHECK: return settle_condition(g, inst);
    case ROC_IR_IF: walk_if(g, inst); return false;
    case ROC_IR_BLOCK:
    case ROC_IR_LOOP:
    case ROC_IR_FOR: walk_nested(g, inst); return false;
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
    bool goes = !g->failed && walk_inst(g, ids->items[i]) && !g->narrow && !g->preconditions;
    if (goes) continue;
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

static bool open_eliminator(eliminator *g, roc_ir_module *module,
                            const roc_ir_launch_limits *limits) {
  *g = (eliminator){.m = module};
  uint32_t nvars = module->vars.count;
  g->values = roc_zalloc(sizeof *g->values * module->insts.count);
  g->vars = roc_zalloc(sizeof *g->vars * nvars);
  g->stamps = roc_zalloc(sizeof *g->stamps * nvars);
  g->slots = roc_zalloc(sizeof *g->slots * nvars);
  bool made =
      g->values && g->vars && g->stamps && g->slots && roc_ir_facts_init(&g->f, module, limits);
  for (uint32_t i = 0; made && i < nvars; i++) {
    g->vars[i] = roc_ir_facts_unknown(&g->f, module->vars.items[i].type);
  }
  roc_ir_inst one = {.op = ROC_IR_CONST, .type = ROC_VT_INT, .k.i = 1};
  if (made) g->one = roc_ir_facts_value(&g->f, &one, NULL);
  if (made) state_launch(g);
  return made;
}

/* Walks the eliminator's module, unless `made` is false, and closes the eliminator. */
static roc_status run_eliminator(eliminator *g, bool made, roc_error *err) {
  if (made) walk_region(g, 0);
  bool is_out_of_memory = !made || g->failed || g->f.failed;
  roc_free(g->values);
  roc_free(g->vars);
  roc_free(g->stamps);
  roc_free(g->slots);
  roc_vec_deinit(&g->trail);
  roc_ir_facts_deinit(&g->f);
  return is_out_of_memory ? roc_fail(err, ROC_OOM, "out of memory") : ROC_OK;
}

roc_status roc_ir_eliminate_checks(roc_ir_module *module, roc_error *err) {
  eliminator g;
  bool made = open_eliminator(&g, module, &roc_ir_limits_any);
  return run_eliminator(&g, made, err);
}

roc_status roc_ir_eliminate_checks_gpu(roc_ir_module *module, roc_error *err) {
  eliminator g;
  bool made = open_eliminator(&g, module, &roc_ir_limits_gpu);
  return run_eliminator(&g, made, err);
}

roc_status roc_ir_find_preconditions(const roc_ir_module *module, roc_ir_preconditions *out,
                                     roc_error *err) {
  eliminator g;
  /* Nothing is removed from the module in this mode. */
  bool made = open_eliminator(&g, (roc_ir_module *)(uintptr_t)module, &roc_ir_limits_gpu);
  g.preconditions = out;
  return run_eliminator(&g, made, err);
}

/* ---- what loops change ---- */

typedef struct loop_variance {
  const roc_ir_module *m;
  uint8_t *narrow;
  uint8_t *nsets;    /* per variable, saturated at 2 */
  uint8_t *is_bound; /* per variable: what it is set to changes */
} loop_variance;

static void count_sets(loop_variance *c) {
  for (uint32_t i = 0; i < c->m->insts.count; i++) {
    const roc_ir_inst *inst = &c->m->insts.items[i];
    if (inst->op == ROC_IR_FOR) c->nsets[inst->aux] = 2;
    if (inst->op == ROC_IR_SET && c->nsets[inst->aux] < 2) c->nsets[inst->aux]++;
  }
}

/* A variable with one SET has been set before it is read. */
static void mark_loop_variance(loop_variance *c) {
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, c->m, 0) {
    const roc_ir_inst *inst = w.inst;
    bool moves = inst->op == ROC_IR_GET && (c->nsets[inst->aux] > 1 || c->is_bound[inst->aux]);
    for (uint32_t n = 0; n < inst->nargs && !moves; n++) {
      moves = c->narrow[roc_ir_arg(c->m, inst, n)] & ROC_IR_LOOP_VARIANT;
    }
    if (moves) c->narrow[w.id] |= ROC_IR_LOOP_VARIANT;
    if (moves && inst->op == ROC_IR_SET) c->is_bound[inst->aux] = 1;
  }
}

static bool find_loop_variance(const roc_ir_module *m, uint8_t *narrow) {
  loop_variance c = {.m = m, .narrow = narrow};
  c.nsets = roc_zalloc(m->vars.count + 1);
  c.is_bound = roc_zalloc(m->vars.count + 1);
  bool made = c.nsets && c.is_bound;
  if (made) {
    count_sets(&c);
    mark_loop_variance(&c);
  }
  roc_free(c.nsets);
  roc_free(c.is_bound);
  return made;
}

roc_status roc_ir_find_narrow(const roc_ir_module *module, const roc_ir_launch_limits *limits,
                              uint8_t **out, roc_error *err) {
  eliminator g;
  uint8_t *narrow = roc_zalloc(module->insts.count + 1);
  /* Nothing is removed from the module in this mode. */
  bool made = open_eliminator(&g, (roc_ir_module *)(uintptr_t)module, limits);
  g.narrow = narrow;
  roc_status status = run_eliminator(&g, made && narrow, err);
  if (status == ROC_OK && !find_loop_variance(module, narrow)) {
    status = roc_fail(err, ROC_OOM, "out of memory");
  }
  if (status != ROC_OK) roc_free(narrow);
  if (status == ROC_OK) *out = narrow;
  return status;
}
