/* See facts.h. Proofs are searches of bounded depth and length through the relations in force, most
 * recent first: a check that would need a longer argument stays. */
#include "ir/facts.h"

#include <string.h>

#include "base/alloc.h"
#include "ir/float_range.h"

enum {
  NCHAINS = 1 << 12,
  ZERO = ROC_IR_VALUE_ZERO,
  PROOF_DEPTH = 6,      /* relations and operations chained */
  PROOF_RELATIONS = 64, /* tried at each step */
  BOUND_DEPTH = 6,      /* relations and operations chained to a bound */
  PROOF_STEPS = 512,    /* of one search */
  RANGE_DEPTH = 4,
  OFFSET_DEPTH = 8,
  ASSUME_DEPTH = 32,
  MAX_COMMON = 32 /* relations of one path that are tried on the other */
};

/* base + offset, without wrapping. */
typedef struct term {
  uint32_t base;
  int64_t offset;
} term;

bool roc_ir_facts_init(roc_ir_facts *f, const roc_ir_module *m,
                       const roc_ir_launch_limits *limits) {
  *f = (roc_ir_facts){.m = m, .limits = limits};
  f->chains = roc_alloc(sizeof *f->chains * NCHAINS);
  if (!f->chains) return false;
  memset(f->chains, 0xff, sizeof *f->chains * NCHAINS);
  roc_ir_inst zero = {.op = ROC_IR_CONST, .type = ROC_VT_INT};
  roc_ir_facts_value(f, &zero, NULL);
  return !f->failed;
}

void roc_ir_facts_deinit(roc_ir_facts *f) {
  roc_vec_deinit(&f->values);
  roc_vec_deinit(&f->relations);
  roc_vec_deinit(&f->undo);
  roc_free(f->chains);
}

roc_ir_facts_point roc_ir_facts_mark(const roc_ir_facts *f) {
  return (roc_ir_facts_point){f->relations.count, f->undo.count};
}

void roc_ir_facts_rollback(roc_ir_facts *f, roc_ir_facts_point point) {
  f->relations.count = point.nrelations;
  while (f->undo.count > point.nundo) {
    roc_ir_undo undo = roc_vec_pop(&f->undo);
    f->values.items[undo.value].now = undo.now;
    f->values.items[undo.value].is_nonzero = undo.is_nonzero;
  }
}

/* ---- value numbers ---- */

static uint32_t add_value(roc_ir_facts *f, roc_ir_value value) {
  value.now = value.everywhere;
  value.next = ROC_IR_NONE;
  if (f->failed || !roc_vec_push(&f->values, value)) {
    f->failed = true;
    return ZERO;
  }
  return f->values.count - 1;
}

static uint32_t hash_value(const roc_ir_value *v) {
  uint64_t words[] = {v->op, v->type, v->aux, (uint64_t)v->k, v->args[0], v->args[1], v->args[2]};
  uint64_t h = 0x9e3779b97f4a7c15u;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) h = (h ^ words[i]) * 0x100000001b3u;
  return (uint32_t)(h ^ h >> 32) % NCHAINS;
}

static bool is_same_value(const roc_ir_value *a, const roc_ir_value *b) {
  return a->op == b->op && a->type == b->type && a->aux == b->aux && a->k == b->k &&
         a->nargs == b->nargs && !memcmp(a->args, b->args, sizeof a->args);
}

static bool is_float(uint8_t type) {
  return type == ROC_VT_F32 || type == ROC_VT_F64;
}

/* What a CONST keeps. */
static double float_of(const roc_ir_value *v) {
  double x;
  memcpy(&x, &v->k, sizeof x);
  return x;
}

static roc_ir_interval interval_of(const roc_ir_value *v, roc_ir_range range) {
  bool is_const = v->op == ROC_IR_CONST && is_float(v->type);
  return is_const ? roc_ir_interval_of_constant(float_of(v)) : roc_ir_interval_of_range(range);
}

/* The range of a value, of those of its operands, none of which is empty. */
static roc_ir_range apply(const roc_ir_facts *f, const roc_ir_value *v, const roc_ir_range *args) {
  bool rounds = v->op == ROC_IR_FLOOR || v->op == ROC_IR_CEIL;
  bool converts = v->op == ROC_IR_TO_F32 || v->op == ROC_IR_TO_F64;
  if (!rounds && !is_float(v->type)) return roc_ir_range_apply((roc_ir_op)v->op, v->aux, args);
  /* Sums in any order are rounded in any way. */
  if (f->m->fastmath && !rounds && !converts) return roc_ir_range_all;
  roc_ir_interval intervals[ROC_IR_VALUE_ARGS];
  for (uint32_t i = 0; i < v->nargs; i++) {
    intervals[i] = interval_of(&f->values.items[v->args[i]], args[i]);
  }
  return roc_ir_float_range_apply((roc_ir_op)v->op, v->aux, (roc_value_type)v->type, intervals);
}

static roc_ir_range range_of_making(const roc_ir_facts *f, const roc_ir_value *v) {
  roc_ir_range args[ROC_IR_VALUE_ARGS];
  for (uint32_t i = 0; i < v->nargs; i++) {
    args[i] = f->values.items[v->args[i]].everywhere;
    if (args[i].low > args[i].high) return args[i]; /* code that cannot run */
  }
  const roc_ir_range narrow = {0, INT32_MAX};
  switch ((roc_ir_op)v->op) {
    case ROC_IR_CONST: return is_float(v->type) ? roc_ir_range_all : (roc_ir_range){v->k, v->k};
    case ROC_IR_PARAM: return f->m->params.items[v->aux].type.is_narrow ? narrow : roc_ir_range_all;
    default: break;
  }
  if (v->op >= ROC_IR_GLOBAL_ID && v->op <= ROC_IR_LANE_ID) {
    return roc_ir_range_of_query(f->m, f->limits, (roc_ir_op)v->op, v->aux);
  }
  return apply(f, v, args);
}

/* The number of a value that its description defines; makes one when it is new. */
static uint32_t intern(roc_ir_facts *f, roc_ir_value v) {
  uint32_t *chain = &f->chains[hash_value(&v)];
  for (uint32_t id = *chain; id != ROC_IR_NONE; id = f->values.items[id].next) {
    if (is_same_value(&f->values.items[id], &v)) return id;
  }
  uint32_t id = add_value(f, v);
  if (!f->failed) {
    f->values.items[id].next = *chain;
    *chain = id;
  }
  return id;
}

uint32_t roc_ir_facts_unknown_in(roc_ir_facts *f, roc_value_type type, roc_ir_range range) {
  return add_value(
      f, (roc_ir_value){.op = ROC_IR_OP_COUNT_, .type = (uint8_t)type, .everywhere = range});
}

uint32_t roc_ir_facts_unknown(roc_ir_facts *f, roc_value_type type) {
  return roc_ir_facts_unknown_in(f, type, roc_ir_range_all);
}

uint32_t roc_ir_facts_value(roc_ir_facts *f, const roc_ir_inst *inst, const uint32_t *args) {
  if (inst->op == ROC_IR_LOAD && inst->type == ROC_VT_INT) {
    uint32_t id = roc_ir_facts_unknown(f, ROC_VT_INT);
    if (f->failed) return ZERO;
    roc_ir_range range = roc_ir_range_of_dtype(f->m->arrays.items[inst->aux].dtype);
    f->values.items[id].everywhere = f->values.items[id].now = range;
    return id;
  }
  bool is_pure = roc_ir_op_table[inst->op].flags == ROC_IRF_PURE;
  if (!is_pure || inst->nargs > ROC_IR_VALUE_ARGS) return roc_ir_facts_unknown(f, inst->type);
  if (inst->op == ROC_IR_EXTENT) return roc_ir_facts_extent(f, inst->aux, (uint32_t)inst->k.i);
  roc_ir_value v = {.op = inst->op,
                    .type = inst->type,
                    .nargs = (uint8_t)inst->nargs,
                    .aux = inst->aux,
                    .k = inst->k.i};
  for (uint32_t i = 0; i < inst->nargs; i++) v.args[i] = args[i];
  bool is_number = v.type == ROC_VT_INT || is_float(v.type);
  v.everywhere = is_number ? range_of_making(f, &v) : roc_ir_range_all;
  return intern(f, v);
}

static uint32_t constant(roc_ir_facts *f, int64_t k) {
  return intern(
      f, (roc_ir_value){.op = ROC_IR_CONST, .type = ROC_VT_INT, .k = k, .everywhere = {k, k}});
}

uint32_t roc_ir_facts_extent(roc_ir_facts *f, uint32_t index, uint32_t dim) {
  const roc_ir_array *array = &f->m->arrays.items[index];
  /* Entries on one parameter have one extent; numbers of dynamic arrays follow those of
   * parameters. */
  uint32_t owner = f->m->params.count + index;
  roc_ir_range range = {0, INT64_MAX};
  if (array->kind == ROC_IR_ARRAY_PARAM) {
    owner = array->param;
    if (f->m->params.items[owner].type.is_narrow) range.high = INT32_MAX;
  } else if (array->kind != ROC_IR_ARRAY_SHARED_DYNAMIC) {
    return constant(f, array->extents[dim]);
  }
  return intern(
      f, (roc_ir_value){
             .op = ROC_IR_EXTENT, .type = ROC_VT_INT, .aux = owner, .k = dim, .everywhere = range});
}

uint32_t roc_ir_facts_merge(roc_ir_facts *f, uint32_t test, uint32_t yes, uint32_t no) {
  if (yes == no || f->failed) return yes;
  const roc_ir_value *a = &f->values.items[yes], *b = &f->values.items[no];
  return add_value(f,
                   (roc_ir_value){.op = ROC_IR_OP_COUNT_,
                                  .type = a->type,
                                  .nargs = 3,
                                  .args = {test, yes, no},
                                  .everywhere = roc_ir_range_join(a->everywhere, b->everywhere)});
}

/* ---- ranges ---- */

static roc_ir_range range_now(const roc_ir_facts *f, uint32_t id, int depth) {
  const roc_ir_value *v = &f->values.items[id];
  bool is_number = v->type == ROC_VT_INT || is_float(v->type);
  if (!is_number || v->op >= ROC_IR_OP_COUNT_ || !v->nargs || !depth) return v->now;
  roc_ir_range args[ROC_IR_VALUE_ARGS];
  for (uint32_t i = 0; i < v->nargs; i++) {
    args[i] = range_now(f, v->args[i], depth - 1);
    /* Contradictory facts: code that never runs.  Nothing is concluded by arithmetic on them. */
    if (args[i].low > args[i].high) return v->now;
  }
  return roc_ir_range_meet(v->now, apply(f, v, args));
}

roc_ir_range roc_ir_facts_range(roc_ir_facts *f, uint32_t a) {
  return f->failed ? roc_ir_range_all : range_now(f, a, RANGE_DEPTH);
}

static void narrow(roc_ir_facts *f, uint32_t id, roc_ir_range to) {
  roc_ir_value *v = &f->values.items[id];
  roc_ir_range met = roc_ir_range_meet(v->now, to);
  if (id == ZERO || (met.low == v->now.low && met.high == v->now.high)) return;
  if (!roc_vec_push(&f->undo, ((roc_ir_undo){id, v->is_nonzero, v->now}))) {
    f->failed = true;
    return;
  }
  v->now = met;
}

/* ---- terms ---- */

/* x + c or x - c as x and a constant; false when `v` is neither. */
static bool split_sum(const roc_ir_facts *f, const roc_ir_value *v, uint32_t *rest, int64_t *c) {
  if (v->type != ROC_VT_INT || (v->op != ROC_IR_ADD && v->op != ROC_IR_SUB)) return false;
  const roc_ir_value *a = &f->values.items[v->args[0]], *b = &f->values.items[v->args[1]];
  if (b->op == ROC_IR_CONST) {
    *rest = v->args[0];
    *c = b->k;
    return v->op == ROC_IR_ADD || !__builtin_sub_overflow((int64_t)0, b->k, c);
  }
  *rest = v->args[1];
  *c = a->k;
  return a->op == ROC_IR_CONST && v->op == ROC_IR_ADD;
}

static term term_of(const roc_ir_facts *f, uint32_t id) {
  term t = {id, 0};
  for (int depth = 0; depth < OFFSET_DEPTH; depth++) {
    const roc_ir_value *v = &f->values.items[t.base];
    uint32_t rest;
    int64_t c, end, offset;
    if (v->op == ROC_IR_CONST && v->type == ROC_VT_INT) {
      if (__builtin_add_overflow(t.offset, v->k, &offset)) return t;
      return (term){ZERO, offset};
    }
    if (!split_sum(f, v, &rest, &c)) return t;
    roc_ir_range range = range_now(f, rest, RANGE_DEPTH);
    bool wraps = __builtin_add_overflow(c < 0 ? range.low : range.high, c, &end);
    if (wraps || __builtin_add_overflow(t.offset, c, &offset)) return t;
    t = (term){rest, offset};
  }
  return t;
}

/* ---- stating ---- */

static uint32_t oldest_relation(const roc_ir_facts *f) {
  return f->relations.count > PROOF_RELATIONS ? f->relations.count - PROOF_RELATIONS : 0;
}

/* Whether proofs find this relation, or one that says more of the same two values, as it is. */
static bool is_stated(const roc_ir_facts *f, uint32_t a, uint32_t b, int64_t k) {
  for (uint32_t i = f->relations.count; i-- > oldest_relation(f);) {
    const roc_ir_relation *r = &f->relations.items[i];
    if (r->a == a && r->b == b && r->k <= k) return true;
  }
  return false;
}

void roc_ir_facts_add(roc_ir_facts *f, uint32_t a, uint32_t b, int64_t k) {
  if (f->failed) return;
  term x = term_of(f, a), y = term_of(f, b);
  int64_t high, low;
  if (__builtin_add_overflow(k, y.offset, &k) || __builtin_sub_overflow(k, x.offset, &k)) return;
  bool is_new = !is_stated(f, x.base, y.base, k);
  if (is_new && !roc_vec_push(&f->relations, ((roc_ir_relation){x.base, y.base, k}))) {
    f->failed = true;
    return;
  }
  roc_ir_range of_x = range_now(f, x.base, RANGE_DEPTH), of_y = range_now(f, y.base, RANGE_DEPTH);
  if (!__builtin_add_overflow(of_y.high, k, &high)) {
    narrow(f, x.base, (roc_ir_range){INT64_MIN, high});
  }
  if (!__builtin_sub_overflow(of_x.low, k, &low)) {
    narrow(f, y.base, (roc_ir_range){low, INT64_MAX});
  }
}

void roc_ir_facts_add_nonzero(roc_ir_facts *f, uint32_t a) {
  if (f->failed || f->values.items[a].is_nonzero) return;
  roc_ir_value *v = &f->values.items[a];
  if (!roc_vec_push(&f->undo, ((roc_ir_undo){a, false, v->now}))) {
    f->failed = true;
    return;
  }
  v->is_nonzero = true;
  if (v->now.low == 0) v->now.low = 1;
  if (v->now.high == 0) v->now.high = -1;
}

/* Follows NOT; *truth is turned each time. */
static uint32_t strip_not(const roc_ir_facts *f, uint32_t id, bool *truth) {
  while (f->values.items[id].op == ROC_IR_NOT) {
    id = f->values.items[id].args[0];
    *truth = !*truth;
  }
  return id;
}

/* True when `id` cannot be `truth` while `test` is `outcome`. */
static bool is_excluded(const roc_ir_facts *f, uint32_t id, bool truth, uint32_t test,
                        bool outcome) {
  id = strip_not(f, id, &truth);
  test = strip_not(f, test, &outcome);
  if (f->values.items[id].op == ROC_IR_CONST) return (f->values.items[id].k != 0) != truth;
  return id == test && truth != outcome;
}

static void assume(roc_ir_facts *f, uint32_t test, bool truth, int depth);

/* `and`, `or`: the value is that of the one path which can have given it, so that path was
 * taken. */
static void assume_merged(roc_ir_facts *f, const roc_ir_value *v, bool truth, int depth) {
  uint32_t test = v->args[0], yes = v->args[1], no = v->args[2];
  if (is_excluded(f, no, truth, test, false)) {
    assume(f, test, true, depth - 1);
    assume(f, yes, truth, depth - 1);
  } else if (is_excluded(f, yes, truth, test, true)) {
    assume(f, test, false, depth - 1);
    assume(f, no, truth, depth - 1);
  }
}

static void assume_equal(roc_ir_facts *f, uint32_t a, uint32_t b, bool truth) {
  if (truth) {
    roc_ir_facts_add(f, a, b, 0);
    roc_ir_facts_add(f, b, a, 0);
  } else if (b == ZERO) {
    roc_ir_facts_add_nonzero(f, a);
  } else if (a == ZERO) {
    roc_ir_facts_add_nonzero(f, b);
  }
}

/* Floats: a < b or a <= b, which holds of numbers alone. */
static void assume_ordered(roc_ir_facts *f, uint32_t a, uint32_t b) {
  roc_ir_interval below = interval_of(&f->values.items[b], range_now(f, b, RANGE_DEPTH));
  roc_ir_interval above = interval_of(&f->values.items[a], range_now(f, a, RANGE_DEPTH));
  narrow(f, a, (roc_ir_range){INT64_MIN, roc_ir_range_of_interval(below).high});
  narrow(f, b, (roc_ir_range){roc_ir_range_of_interval(above).low, INT64_MAX});
}

static void assume(roc_ir_facts *f, uint32_t test, bool truth, int depth) {
  if (f->failed || !depth) return;
  test = strip_not(f, test, &truth);
  roc_ir_value v = f->values.items[test]; /* a copy: the table may move */
  bool is_merge = v.op == ROC_IR_OP_COUNT_ && v.nargs == 3;
  if (is_merge || v.op == ROC_IR_SELECT) {
    assume_merged(f, &v, truth, depth);
    return;
  }
  if (v.nargs != 2) return;
  uint32_t a = v.args[0], b = v.args[1];
  uint8_t type = f->values.items[a].type;
  bool is_order = v.op == ROC_IR_LT || v.op == ROC_IR_LE;
  if (is_order && truth && is_float(type) && !f->m->fastmath) assume_ordered(f, a, b);
  if (type != ROC_VT_INT || f->values.items[b].type != ROC_VT_INT) return;
  switch ((roc_ir_op)v.op) {
    case ROC_IR_EQ: assume_equal(f, a, b, truth); break;
    case ROC_IR_NE: assume_equal(f, a, b, !truth); break;
    case ROC_IR_LT: truth ? roc_ir_facts_add(f, a, b, -1) : roc_ir_facts_add(f, b, a, 0); break;
    case ROC_IR_LE: truth ? roc_ir_facts_add(f, a, b, 0) : roc_ir_facts_add(f, b, a, -1); break;
    default: break;
  }
}

void roc_ir_facts_assume(roc_ir_facts *f, uint32_t test, bool truth) {
  assume(f, test, truth, ASSUME_DEPTH);
}

/* ---- proving ---- */

typedef struct proof {
  const roc_ir_facts *f;
  int steps; /* left */
} proof;

static bool prove_le(proof *p, uint32_t a, uint32_t b, int64_t k, int depth);

/* a - by <= b + k - by */
static bool prove_less(proof *p, uint32_t a, uint32_t b, int64_t k, int64_t by, int depth) {
  return !__builtin_sub_overflow(k, by, &k) && prove_le(p, a, b, k, depth - 1);
}

/* Whether no sum or difference of the two wraps. */
static bool is_exact(const roc_ir_value *v, roc_ir_range x, roc_ir_range y) {
  int64_t end;
  if (v->op == ROC_IR_SUB) {
    return !__builtin_sub_overflow(x.low, y.high, &end) &&
           !__builtin_sub_overflow(x.high, y.low, &end);
  }
  return !__builtin_add_overflow(x.low, y.low, &end) &&
         !__builtin_add_overflow(x.high, y.high, &end);
}

/* x + y <= b + k, as x <= b + k - (the most that y is), or the other way round. */
static bool prove_sum(proof *p, const roc_ir_value *v, uint32_t b, int64_t k, int depth) {
  const roc_ir_facts *f = p->f;
  roc_ir_range x = range_now(f, v->args[0], RANGE_DEPTH);
  roc_ir_range y = range_now(f, v->args[1], RANGE_DEPTH);
  if (x.low > x.high || y.low > y.high || !is_exact(v, x, y)) return false;
  if (v->op == ROC_IR_SUB) {
    return y.low != INT64_MIN && prove_less(p, v->args[0], b, k, -y.low, depth);
  }
  return prove_less(p, v->args[0], b, k, y.high, depth) ||
         prove_less(p, v->args[1], b, k, x.high, depth);
}

/* a <= x + y + k, as a - (the least that y is) <= x + k. */
static bool prove_below_sum(proof *p, uint32_t a, uint32_t b, int64_t k, int depth) {
  const roc_ir_facts *f = p->f;
  const roc_ir_value *v = &f->values.items[b];
  if (v->type != ROC_VT_INT || (v->op != ROC_IR_ADD && v->op != ROC_IR_SUB)) return false;
  roc_ir_range x = range_now(f, v->args[0], RANGE_DEPTH);
  roc_ir_range y = range_now(f, v->args[1], RANGE_DEPTH);
  if (x.low > x.high || y.low > y.high || !is_exact(v, x, y)) return false;
  if (v->op == ROC_IR_SUB) {
    if (a == ZERO && prove_le(p, v->args[1], v->args[0], k, depth - 1)) return true;
    return prove_less(p, a, v->args[0], k, y.high, depth);
  }
  if (y.low != INT64_MIN && prove_less(p, a, v->args[0], k, -y.low, depth)) return true;
  return x.low != INT64_MIN && prove_less(p, a, v->args[1], k, -x.low, depth);
}

/* An m with u // n < m, as u < n * m is stated. */
static bool quotient_is_less(const roc_ir_facts *f, const roc_ir_value *v, uint32_t *m) {
  uint32_t n = v->args[1];
  term u = term_of(f, v->args[0]);
  if (range_now(f, n, RANGE_DEPTH).low < 1) return false;
  for (uint32_t i = f->relations.count; i-- > oldest_relation(f);) {
    const roc_ir_relation *r = &f->relations.items[i];
    const roc_ir_value *product = &f->values.items[r->b];
    int64_t over;
    if (r->a != u.base || product->op != ROC_IR_MUL || product->type != ROC_VT_INT) continue;
    if (product->args[0] != n && product->args[1] != n) continue;
    bool may_wrap = product->everywhere.low == INT64_MIN || product->everywhere.high == INT64_MAX;
    if (may_wrap || __builtin_add_overflow(r->k, u.offset, &over) || over >= 0) continue;
    *m = product->args[product->args[0] == n ? 1 : 0];
    return true;
  }
  return false;
}

/* w * c <= b + k, by what is stated of a product u * c, where w <= u - 1 or w <= u. */
static bool prove_product(proof *p, const roc_ir_value *v, uint32_t b, int64_t k, int depth) {
  const roc_ir_facts *f = p->f;
  const roc_ir_value *by = &f->values.items[v->args[1]];
  roc_ir_range w = range_now(f, v->args[0], RANGE_DEPTH);
  if (by->op != ROC_IR_CONST || by->k < 2 || w.low > w.high || w.high > INT64_MAX / by->k ||
      w.low < INT64_MIN / by->k) {
    return false;
  }
  for (uint32_t i = f->relations.count; i-- > oldest_relation(f);) {
    const roc_ir_relation *r = &f->relations.items[i];
    const roc_ir_value *stated = &f->values.items[r->a];
    if (stated->op != ROC_IR_MUL || stated->type != ROC_VT_INT || stated->args[0] == v->args[0]) {
      continue;
    }
    bool may_wrap = stated->everywhere.low == INT64_MIN || stated->everywhere.high == INT64_MAX;
    if (may_wrap || stated->args[1] != v->args[1]) continue;
    for (int less = 1; less >= 0; less--) {
      int64_t left;
      if (__builtin_sub_overflow(k, r->k, &left)) continue;
      if (less && __builtin_add_overflow(left, by->k, &left)) continue;
      if (!prove_le(p, v->args[0], stated->args[0], -less, depth - 1)) continue;
      if (prove_le(p, r->b, b, left, depth - 1)) return true;
    }
  }
  return false;
}

static bool prove_operation(proof *p, const roc_ir_value *v, uint32_t b, int64_t k, int depth) {
  const roc_ir_facts *f = p->f;
  uint32_t m;
  if (v->type != ROC_VT_INT) return false;
  switch ((roc_ir_op)v->op) {
    case ROC_IR_MIN:
      return prove_le(p, v->args[0], b, k, depth - 1) || prove_le(p, v->args[1], b, k, depth - 1);
    case ROC_IR_MAX:
      return prove_le(p, v->args[0], b, k, depth - 1) && prove_le(p, v->args[1], b, k, depth - 1);
    case ROC_IR_ADD:
    case ROC_IR_SUB: return prove_sum(p, v, b, k, depth);
    case ROC_IR_MOD:
      return range_now(f, v->args[1], RANGE_DEPTH).low > 0 &&
             prove_less(p, v->args[1], b, k, -1, depth);
    case ROC_IR_FLOORDIV: return quotient_is_less(f, v, &m) && prove_less(p, m, b, k, -1, depth);
    case ROC_IR_MUL: return prove_product(p, v, b, k, depth);
    default: return false;
  }
}

static bool prove_through(proof *p, uint32_t a, uint32_t b, int64_t k, int depth) {
  const roc_ir_facts *f = p->f;
  roc_ir_value v = f->values.items[a];
  if (prove_operation(p, &v, b, k, depth)) return true;
  for (uint32_t i = f->relations.count; i-- > oldest_relation(f);) {
    const roc_ir_relation *r = &f->relations.items[i];
    int64_t left;
    if (r->a != a || __builtin_sub_overflow(k, r->k, &left)) continue;
    if (prove_le(p, r->b, b, left, depth - 1)) return true;
  }
  return prove_below_sum(p, a, b, k, depth);
}

/* a <= b + k? */
static bool prove_le(proof *p, uint32_t a, uint32_t b, int64_t k, int depth) {
  const roc_ir_facts *f = p->f;
  if (p->steps-- <= 0) return false;
  term x = term_of(f, a), y = term_of(f, b);
  if (__builtin_add_overflow(k, y.offset, &k) || __builtin_sub_overflow(k, x.offset, &k)) {
    return false;
  }
  if (x.base == y.base && k >= 0) return true;
  roc_ir_range of_x = range_now(f, x.base, RANGE_DEPTH), of_y = range_now(f, y.base, RANGE_DEPTH);
  int64_t least;
  if (!__builtin_add_overflow(of_y.low, k, &least) && of_x.high <= least) return true;
  return depth > 0 && prove_through(p, x.base, y.base, k, depth);
}

static bool prove(const roc_ir_facts *f, uint32_t a, uint32_t b, int64_t k) {
  proof p = {f, PROOF_STEPS};
  return prove_le(&p, a, b, k, PROOF_DEPTH);
}

static bool prove_cases(roc_ir_facts *f, uint32_t a, uint32_t b, int64_t k, int depth);

/* One value of a choice, where its condition is `truth`. */
static bool prove_case(roc_ir_facts *f, uint32_t test, bool truth, uint32_t a, uint32_t b,
                       int64_t k, int depth) {
  roc_ir_facts_point point = roc_ir_facts_mark(f);
  roc_ir_facts_assume(f, test, truth);
  bool is_proved = prove_cases(f, a, b, k, depth - 1);
  roc_ir_facts_rollback(f, point);
  return is_proved;
}

/* As prove; what is one of two values is proved for each. */
static bool prove_cases(roc_ir_facts *f, uint32_t a, uint32_t b, int64_t k, int depth) {
  if (prove(f, a, b, k)) return true;
  if (depth == 0 || f->failed) return false;
  term x = term_of(f, a), y = term_of(f, b);
  roc_ir_value of_x = f->values.items[x.base], of_y = f->values.items[y.base];
  if (__builtin_add_overflow(k, y.offset, &k) || __builtin_sub_overflow(k, x.offset, &k)) {
    return false;
  }
  if (roc_ir_facts_is_choice(&of_x)) {
    return prove_case(f, of_x.args[0], true, of_x.args[1], y.base, k, depth) &&
           prove_case(f, of_x.args[0], false, of_x.args[2], y.base, k, depth);
  }
  if (!roc_ir_facts_is_choice(&of_y)) return false;
  return prove_case(f, of_y.args[0], true, x.base, of_y.args[1], k, depth) &&
         prove_case(f, of_y.args[0], false, x.base, of_y.args[2], k, depth);
}

bool roc_ir_facts_le_by(roc_ir_facts *f, uint32_t a, uint32_t b, int64_t k) {
  enum { CHOICES = 4 };
  return !f->failed && prove_cases(f, a, b, k, CHOICES);
}

bool roc_ir_facts_le(roc_ir_facts *f, uint32_t a, uint32_t b) {
  return roc_ir_facts_le_by(f, a, b, 0);
}

bool roc_ir_facts_nonzero(roc_ir_facts *f, uint32_t a) {
  if (f->failed) return false;
  roc_ir_range range = range_now(f, a, RANGE_DEPTH);
  return f->values.items[a].is_nonzero || range.low > 0 || range.high < 0;
}

/* ---- bounds ---- */

static uint32_t make(roc_ir_facts *f, roc_ir_op op, uint32_t a, int64_t k) {
  roc_ir_inst inst = {.op = (uint8_t)op, .type = ROC_VT_INT, .nargs = 2};
  return roc_ir_facts_value(f, &inst, (uint32_t[]){a, constant(f, k)});
}

static bool is_argument(const roc_ir_value *v) {
  return v->type == ROC_VT_INT && (v->op == ROC_IR_EXTENT || v->op == ROC_IR_PARAM);
}

void roc_ir_facts_add_multiple(roc_ir_facts *f, uint32_t a, uint32_t last, int64_t begin,
                               int64_t step) {
  enum { MOST = 1 << 30 };
  term end = term_of(f, last);
  bool is_near = end.offset > -MOST && end.offset < MOST && begin > -MOST && begin < MOST;
  if (f->failed || step > MOST || !is_near || !is_argument(&f->values.items[end.base])) return;
  if (f->values.items[end.base].everywhere.high > INT64_MAX / 2) return; /* sums would wrap */
  uint32_t span = make(f, ROC_IR_ADD, end.base, end.offset - begin);
  uint32_t multiple = make(f, ROC_IR_MUL, make(f, ROC_IR_FLOORDIV, span, step), step);
  roc_ir_facts_add(f, a, multiple, begin);
}

static bool takes_constant(const roc_ir_facts *f, const roc_ir_value *v, roc_ir_op op, int64_t *k) {
  if (v->op != op || v->type != ROC_VT_INT || v->nargs != 2) return false;
  const roc_ir_value *b = &f->values.items[v->args[1]];
  *k = b->k;
  return b->op == ROC_IR_CONST;
}

bool roc_ir_facts_is_multiple(const roc_ir_facts *f, uint32_t a, roc_ir_facts_multiple *out) {
  const roc_ir_value *items = f->values.items, *product = &items[a];
  int64_t step, divisor, begin;
  if (!takes_constant(f, product, ROC_IR_MUL, &step)) return false;
  const roc_ir_value *quotient = &items[product->args[0]];
  if (!takes_constant(f, quotient, ROC_IR_FLOORDIV, &divisor) || divisor != step) return false;
  const roc_ir_value *span = &items[quotient->args[0]];
  if (!takes_constant(f, span, ROC_IR_ADD, &begin)) return false;
  *out = (roc_ir_facts_multiple){span->args[0], begin, step};
  return step > 1 && is_argument(&items[span->args[0]]);
}

uint32_t roc_ir_facts_base(const roc_ir_facts *f, uint32_t a, int64_t *k) {
  term t = term_of(f, a);
  *k = t.offset;
  return t.base;
}

static bool is_size(const roc_ir_value *v) {
  return v->op == ROC_IR_GLOBAL_SIZE || v->op == ROC_IR_LOCAL_SIZE || v->op == ROC_IR_NUM_GROUPS;
}

typedef struct bound_search {
  const roc_ir_facts *f;
  bool takes_sizes;
  uint32_t extent; /* what is asked for is to be less: more than it would never hold */
  int steps;       /* left */
  int64_t factor;  /* of the bound; set once, for a product with a constant on the way to it */
  uint32_t bound;
  int64_t k;
} bound_search;

static bool find_bound(bound_search *s, uint32_t a, int64_t so_far, int depth);

/* x + y, for a y that stays small. */
static bool find_bound_of_sum(bound_search *s, const roc_ir_value *v, int64_t so_far, int depth) {
  enum { SMALL = 4096 };
  const roc_ir_facts *f = s->f;
  for (int n = 0; n < 2; n++) {
    roc_ir_range x = range_now(f, v->args[n], RANGE_DEPTH);
    roc_ir_range y = range_now(f, v->args[1 - n], RANGE_DEPTH);
    int64_t sum;
    bool is_small = y.low <= y.high && y.low >= -SMALL && y.high <= SMALL;
    if (x.low > x.high || !is_small || !is_exact(v, x, y)) continue;
    if (__builtin_add_overflow(so_far, y.high, &sum)) continue;
    if (find_bound(s, v->args[n], sum, depth - 1)) return true;
  }
  return false;
}

/* w * c <= bound * c + k, as w <= bound + k. */
static bool find_bound_of_product(bound_search *s, const roc_ir_value *v, int64_t so_far,
                                  int depth) {
  int64_t c, k;
  bool is_scaled = takes_constant(s->f, v, ROC_IR_MUL, &c) && c > 1 && s->factor == 1;
  roc_ir_range range = range_now(s->f, v->args[0], RANGE_DEPTH);
  if (!is_scaled || range.low > range.high || range.high > INT64_MAX / c ||
      range.low < INT64_MIN / c) {
    return false;
  }
  s->factor = c;
  if (!find_bound(s, v->args[0], 0, depth - 1) || __builtin_mul_overflow(s->k, c, &k) ||
      __builtin_add_overflow(k, so_far, &s->k)) {
    s->factor = 1;
    return false;
  }
  return true;
}

static bool find_bound_of_operation(bound_search *s, const roc_ir_value *v, int64_t so_far,
                                    int depth) {
  uint32_t m;
  switch ((roc_ir_op)v->op) {
    case ROC_IR_ADD: return find_bound_of_sum(s, v, so_far, depth);
    case ROC_IR_MUL: return find_bound_of_product(s, v, so_far, depth);
    case ROC_IR_MOD:
      return range_now(s->f, v->args[1], RANGE_DEPTH).low > 0 &&
             !__builtin_sub_overflow(so_far, 1, &so_far) &&
             find_bound(s, v->args[1], so_far, depth - 1);
    case ROC_IR_FLOORDIV:
      return quotient_is_less(s->f, v, &m) && !__builtin_sub_overflow(so_far, 1, &so_far) &&
             find_bound(s, m, so_far, depth - 1);
    default: return false;
  }
}

/* a <= bound + k for an `a` that counts so_far less than it. Oldest relations first: what
 * conditions say is in force before what the checks after them do. */
static bool find_bound(bound_search *s, uint32_t a, int64_t so_far, int depth) {
  const roc_ir_facts *f = s->f;
  roc_ir_facts_multiple multiple;
  term x = term_of(f, a);
  const roc_ir_value *v = &f->values.items[x.base];
  if (v->type != ROC_VT_INT || __builtin_add_overflow(so_far, x.offset, &so_far)) return false;
  if (x.base == ZERO) return false; /* what is not below 0 bounds no constant */
  if (x.base == s->extent || s->steps-- <= 0) return false;
  bool is_bound = is_argument(v) || roc_ir_facts_is_multiple(f, x.base, &multiple);
  if (is_bound || (s->takes_sizes && is_size(v))) {
    s->bound = x.base;
    s->k = so_far;
    return true;
  }
  for (uint32_t i = oldest_relation(f); i < f->relations.count && depth > 0; i++) {
    const roc_ir_relation *r = &f->relations.items[i];
    int64_t sum;
    if (r->a != x.base || __builtin_add_overflow(so_far, r->k, &sum)) continue;
    if (find_bound(s, r->b, sum, depth - 1)) return true;
  }
  return depth > 0 && find_bound_of_operation(s, v, so_far, depth);
}

bool roc_ir_facts_launch_bound(const roc_ir_facts *f, uint32_t a, uint32_t extent, bool takes_sizes,
                               roc_ir_facts_bound *out) {
  bound_search s = {.f = f, .extent = extent, .steps = PROOF_STEPS, .factor = 1};
  bool found = !f->failed && find_bound(&s, a, 0, BOUND_DEPTH);
  s.takes_sizes = takes_sizes;
  if (!found && takes_sizes) {
    s.steps = PROOF_STEPS;
    found = !f->failed && find_bound(&s, a, 0, BOUND_DEPTH);
  }
  *out = (roc_ir_facts_bound){s.bound, s.factor, s.k};
  return found;
}

/* ---- paths that meet ---- */

void roc_ir_facts_collect(roc_ir_facts *f, roc_ir_facts_point point, roc_ir_relations *out) {
  for (uint32_t i = point.nrelations; i < f->relations.count && out->count < MAX_COMMON; i++) {
    if (!roc_vec_push(out, f->relations.items[i])) f->failed = true;
  }
}

void roc_ir_facts_keep_proved(const roc_ir_facts *f, roc_ir_relations *relations) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < relations->count && !f->failed; i++) {
    roc_ir_relation r = relations->items[i];
    if (prove(f, r.a, r.b, r.k)) relations->items[kept++] = r;
  }
  relations->count = kept;
}
