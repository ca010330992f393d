/* See facts.h: value numbers, ranges, and what is stated. */
#include "ir/facts.h"

#include <string.h>

#include "base/alloc.h"
#include "ir/facts_terms.h"
#include "ir/float_range.h"

enum { NCHAINS = 1 << 12, ZERO = ROC_IR_VALUE_ZERO, OFFSET_DEPTH = 8, ASSUME_DEPTH = 32 };

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

static roc_ir_range range_now(const roc_ir_facts *f, uint32_t id, int depth);

/* What is known of a value: wherever it is used, by how it is made; or, where `depth` is not
 * EVERYWHERE, here, by the facts in force about what it is made of, so many operations deep.  What
 * a value has in `everywhere` is made of the former alone. */
enum { EVERYWHERE = -1 };

static roc_ir_range range_in(const roc_ir_facts *f, uint32_t id, int depth) {
  return depth == EVERYWHERE ? f->values.items[id].everywhere : range_now(f, id, depth);
}

static roc_ir_float_operand operand_of(const roc_ir_facts *f, const roc_ir_value *v,
                                       roc_ir_range range, int depth) {
  roc_ir_float_operand x = {interval_of(v, range), interval_of(v, range)};
  bool is_least = v->op == ROC_IR_MIN || v->op == ROC_IR_MAX;
  bool is_known = range.low != INT64_MIN || range.high != INT64_MAX;
  if (!is_least || is_known || !is_float(v->type) || f->m->fastmath) return x;
  const roc_ir_value *a = &f->values.items[v->args[0]], *b = &f->values.items[v->args[1]];
  roc_ir_interval args[2] = {interval_of(a, range_in(f, v->args[0], depth)),
                             interval_of(b, range_in(f, v->args[1], depth))};
  if (args[0].low <= args[0].high && args[1].low <= args[1].high) {
    x.if_number = roc_ir_interval_if_number((roc_ir_op)v->op, args);
  }
  return x;
}

bool roc_ir_facts_is_index_of_32_bits(const roc_ir_facts *f, const roc_ir_array *array,
                                      uint32_t dim, roc_ir_range index) {
  bool is_param = array->kind == ROC_IR_ARRAY_PARAM;
  bool is_small =
      is_param ? f->m->params.items[array->param].type.is_narrow
               : array->kind != ROC_IR_ARRAY_SHARED_DYNAMIC && array->extents[dim] <= INT32_MAX;
  return is_small && index.low >= INT32_MIN && index.high <= UINT32_MAX + (int64_t)1;
}

/* To an integer: of a float that is known to be one of 63 bits as well; others saturate, each dtype
 * in its own way. */
static roc_ir_range apply_convert(const roc_ir_facts *f, const roc_ir_value *v, roc_ir_range arg) {
  bool is_small = arg.low >= 0 && arg.high <= (int64_t)1 << 62;
  if (is_float(f->values.items[v->args[0]].type) && !is_small) arg = roc_ir_range_all;
  return roc_ir_range_apply(ROC_IR_CONVERT, v->aux, &arg);
}

/* Of CLAMP_INDEX and WORST_INDEX. */
static roc_ir_range apply_index(const roc_ir_facts *f, const roc_ir_value *v,
                                const roc_ir_range *args) {
  const roc_ir_array *array = &f->m->arrays.items[v->aux];
  uint32_t dim = (uint32_t)v->k;
  const roc_ir_range narrow = {0, INT32_MAX}, unsigned_32 = {0, UINT32_MAX};
  if (v->op == ROC_IR_CLAMP_INDEX) {
    bool is_small = roc_ir_facts_is_index_of_32_bits(f, array, dim, narrow);
    return is_small ? narrow : (roc_ir_range){0, INT64_MAX};
  }
  bool fits = args[0].low >= 0 && args[0].high <= UINT32_MAX &&
              roc_ir_facts_is_index_of_32_bits(f, array, dim, args[1]);
  return fits ? unsigned_32 : roc_ir_range_all;
}

/* Of n * x - (x & mask), which is (n - 1) * x + (x & ~mask). */
static roc_ir_range apply_difference(const roc_ir_facts *f, const roc_ir_value *v,
                                     const roc_ir_range *args, int depth) {
  roc_ir_range difference = roc_ir_range_apply(ROC_IR_SUB, 0, args);
  const roc_ir_value *masked = &f->values.items[v->args[1]], *from = &f->values.items[v->args[0]];
  if (masked->op != ROC_IR_BAND) return difference;
  uint32_t x = v->args[0];
  int64_t n = 1;
  if (roc_ir_facts_takes_constant(f, from, ROC_IR_MUL, &n)) x = from->args[0];
  int other = masked->args[0] == x ? 1 : 0;
  if (masked->args[1 - other] != x) return difference;
  roc_ir_range of_x = range_in(f, x, depth);
  roc_ir_range mask = range_in(f, masked->args[other], depth);
  if (of_x.low > of_x.high || mask.low > mask.high || n == INT64_MIN) return difference;
  roc_ir_range rest[2] = {of_x, roc_ir_range_apply(ROC_IR_BNOT, 0, &mask)};
  roc_ir_range most[2] = {of_x, {n - 1, n - 1}};
  roc_ir_range sum[2] = {roc_ir_range_apply(ROC_IR_MUL, 0, most),
                         roc_ir_range_apply(ROC_IR_BAND, 0, rest)};
  return roc_ir_range_meet(difference, roc_ir_range_apply(ROC_IR_ADD, 0, sum));
}

/* The range of a value, of those of its operands, none of which is empty. */
static roc_ir_range apply(const roc_ir_facts *f, const roc_ir_value *v, const roc_ir_range *args,
                          int depth) {
  bool rounds = v->op == ROC_IR_FLOOR || v->op == ROC_IR_CEIL;
  bool converts = v->op == ROC_IR_TO_F32 || v->op == ROC_IR_TO_F64;
  if (v->op == ROC_IR_CLAMP_INDEX || v->op == ROC_IR_WORST_INDEX) return apply_index(f, v, args);
  if (v->op == ROC_IR_CONVERT && v->type == ROC_VT_INT) return apply_convert(f, v, args[0]);
  if (v->op == ROC_IR_SUB && v->type == ROC_VT_INT) return apply_difference(f, v, args, depth);
  if (!rounds && !is_float(v->type)) return roc_ir_range_apply((roc_ir_op)v->op, v->aux, args);
  /* Sums in any order are rounded in any way. */
  if (f->m->fastmath && !rounds && !converts) return roc_ir_range_all;
  roc_ir_float_operand operands[ROC_IR_VALUE_ARGS];
  for (uint32_t i = 0; i < ROC_IR_VALUE_ARGS; i++) {
    roc_ir_range range = i < v->nargs ? args[i] : roc_ir_range_all;
    operands[i] = operand_of(f, &f->values.items[v->args[i]], range, depth);
  }
  return roc_ir_float_range_apply((roc_ir_op)v->op, v->aux, (roc_value_type)v->type, operands);
}

static roc_ir_range range_of_making(const roc_ir_facts *f, const roc_ir_value *v) {
  roc_ir_range args[ROC_IR_VALUE_ARGS];
  for (uint32_t i = 0; i < v->nargs; i++) {
    args[i] = f->values.items[v->args[i]].everywhere;
    if (args[i].low > args[i].high) return args[i]; /* code that cannot run */
  }
  const roc_ir_range narrow = {0, ROC_NARROW_INT_MOST};
  switch ((roc_ir_op)v->op) {
    case ROC_IR_CONST: return is_float(v->type) ? roc_ir_range_all : (roc_ir_range){v->k, v->k};
    case ROC_IR_PARAM: return f->m->params.items[v->aux].type.is_narrow ? narrow : roc_ir_range_all;
    default: break;
  }
  if (v->op >= ROC_IR_GLOBAL_ID && v->op <= ROC_IR_LANE_ID) {
    return roc_ir_range_of_query(f->m, f->limits, (roc_ir_op)v->op, v->aux);
  }
  return apply(f, v, args, EVERYWHERE);
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

/* Of operations whose operands may change places: 2 * x is x * 2. */
static void put_constant_last(const roc_ir_facts *f, roc_ir_value *v) {
  static const bool commutes[ROC_IR_OP_COUNT_] = {
      [ROC_IR_ADD] = true, [ROC_IR_MUL] = true,  [ROC_IR_BAND] = true,
      [ROC_IR_BOR] = true, [ROC_IR_BXOR] = true,
  };
  if (v->type != ROC_VT_INT || !commutes[v->op]) return;
  if (f->values.items[v->args[0]].op != ROC_IR_CONST) return;
  uint32_t constant = v->args[0];
  v->args[0] = v->args[1];
  v->args[1] = constant;
}

/* See has_product. */
static bool makes_product(const roc_ir_facts *f, const roc_ir_value *v) {
  bool is_sum = v->op == ROC_IR_ADD || v->op == ROC_IR_SUB;
  if (v->type != ROC_VT_INT || (v->op != ROC_IR_MUL && !is_sum)) return false;
  const roc_ir_value *a = &f->values.items[v->args[0]], *b = &f->values.items[v->args[1]];
  bool multiplies = v->op == ROC_IR_MUL && a->op != ROC_IR_CONST && b->op != ROC_IR_CONST;
  return multiplies || a->has_product || b->has_product;
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
  put_constant_last(f, &v);
  bool is_number = v.type == ROC_VT_INT || is_float(v.type);
  v.everywhere = is_number ? range_of_making(f, &v) : roc_ir_range_all;
  v.has_product = makes_product(f, &v);
  bool is_constant = v.type == ROC_VT_INT && v.everywhere.low == v.everywhere.high;
  return is_constant ? roc_ir_facts_constant(f, v.everywhere.low) : intern(f, v);
}

uint32_t roc_ir_facts_constant(roc_ir_facts *f, int64_t k) {
  return intern(
      f, (roc_ir_value){.op = ROC_IR_CONST, .type = ROC_VT_INT, .k = k, .everywhere = {k, k}});
}

uint32_t roc_ir_facts_operation(roc_ir_facts *f, roc_ir_op op, uint32_t a, int64_t k) {
  roc_ir_inst inst = {.op = (uint8_t)op, .type = ROC_VT_INT, .nargs = 2};
  return roc_ir_facts_value(f, &inst, (uint32_t[]){a, roc_ir_facts_constant(f, k)});
}

uint32_t roc_ir_facts_extent(roc_ir_facts *f, uint32_t index, uint32_t dim) {
  const roc_ir_array *array = &f->m->arrays.items[index];
  /* Entries on one parameter have one extent; numbers of dynamic arrays follow those of
   * parameters. */
  uint32_t owner = f->m->params.count + index;
  roc_ir_range range = {0, INT64_MAX};
  if (array->kind == ROC_IR_ARRAY_PARAM) {
    owner = array->param;
    range.high = roc_arg_most_extent(&f->m->params.items[owner].type);
  } else if (array->kind != ROC_IR_ARRAY_SHARED_DYNAMIC) {
    return roc_ir_facts_constant(f, array->extents[dim]);
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

bool roc_ir_facts_is_argument(const roc_ir_facts *f, uint32_t id) {
  const roc_ir_value *v = &f->values.items[id];
  return v->type == ROC_VT_INT && (v->op == ROC_IR_EXTENT || v->op == ROC_IR_PARAM);
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
  return roc_ir_range_meet(v->now, apply(f, v, args, depth - 1));
}

roc_ir_range roc_ir_facts_range_now(const roc_ir_facts *f, uint32_t id) {
  return range_now(f, id, ROC_IR_RANGE_DEPTH);
}

roc_ir_range roc_ir_facts_range(roc_ir_facts *f, uint32_t a) {
  return f->failed ? roc_ir_range_all : roc_ir_facts_range_now(f, a);
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

bool roc_ir_facts_takes_constant(const roc_ir_facts *f, const roc_ir_value *v, roc_ir_op op,
                                 int64_t *k) {
  if (v->op != op || v->type != ROC_VT_INT || v->nargs != 2) return false;
  const roc_ir_value *b = &f->values.items[v->args[1]];
  if (b->op == ROC_IR_CONST) *k = b->k;
  return b->op == ROC_IR_CONST;
}

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

roc_ir_term roc_ir_facts_term(const roc_ir_facts *f, uint32_t id) {
  roc_ir_term t = {id, 0};
  for (int depth = 0; depth < OFFSET_DEPTH; depth++) {
    const roc_ir_value *v = &f->values.items[t.base];
    uint32_t rest;
    int64_t c, end, offset;
    if (v->op == ROC_IR_CONST && v->type == ROC_VT_INT) {
      if (__builtin_add_overflow(t.offset, v->k, &offset)) return t;
      return (roc_ir_term){ZERO, offset};
    }
    if (!split_sum(f, v, &rest, &c)) return t;
    roc_ir_range range = roc_ir_facts_range_now(f, rest);
    bool wraps = __builtin_add_overflow(c < 0 ? range.low : range.high, c, &end);
    if (wraps || __builtin_add_overflow(t.offset, c, &offset)) return t;
    t = (roc_ir_term){rest, offset};
  }
  return t;
}

/* ---- stating ---- */

/* Whether proofs find this relation, or one that says more of the same two values, as it is. */
static bool is_stated(const roc_ir_facts *f, uint32_t a, uint32_t b, int64_t k) {
  for (uint32_t i = f->relations.count; i-- > roc_ir_facts_oldest(f);) {
    const roc_ir_relation *r = &f->relations.items[i];
    if (r->a == a && r->b == b && r->k <= k) return true;
  }
  return false;
}

/* Whether no sum or difference of the two wraps. */
bool roc_ir_facts_is_exact(const roc_ir_value *v, roc_ir_range x, roc_ir_range y) {
  int64_t end;
  if (v->op == ROC_IR_SUB) {
    return !__builtin_sub_overflow(x.low, y.high, &end) &&
           !__builtin_sub_overflow(x.high, y.low, &end);
  }
  return !__builtin_add_overflow(x.low, y.low, &end) &&
         !__builtin_add_overflow(x.high, y.high, &end);
}

/* Whether the value is x - y, which does not wrap. */
static bool is_difference(const roc_ir_facts *f, uint32_t id, uint32_t *x, uint32_t *y) {
  const roc_ir_value *v = &f->values.items[id];
  if (v->op != ROC_IR_SUB || v->type != ROC_VT_INT) return false;
  roc_ir_range a = roc_ir_facts_range_now(f, v->args[0]);
  roc_ir_range b = roc_ir_facts_range_now(f, v->args[1]);
  *x = v->args[0];
  *y = v->args[1];
  return a.low <= a.high && b.low <= b.high && roc_ir_facts_is_exact(v, a, b);
}

/* Of x - y compared with a constant: x and y. */
static void state_difference(roc_ir_facts *f, uint32_t a, uint32_t b, int64_t k) {
  uint32_t x, y;
  if (b == ZERO && is_difference(f, a, &x, &y)) roc_ir_facts_add(f, x, y, k);
  if (a == ZERO && is_difference(f, b, &x, &y)) roc_ir_facts_add(f, y, x, k);
}

static void add_relation(roc_ir_facts *f, uint32_t a, uint32_t b, int64_t k, int depth);

/* c * a <= u + c * k, where a <= u // c + k. */
static void add_to_quotient(roc_ir_facts *f, uint32_t a, const roc_ir_value *quotient, int64_t k,
                            int depth) {
  int64_t c, high, low;
  roc_ir_inst product = {.op = ROC_IR_MUL, .type = ROC_VT_INT, .nargs = 2};
  if (!roc_ir_facts_takes_constant(f, quotient, ROC_IR_FLOORDIV, &c) || c < 2) return;
  roc_ir_range range = roc_ir_facts_range_now(f, a);
  if (range.low > range.high || __builtin_mul_overflow(range.low, c, &low) ||
      __builtin_mul_overflow(range.high, c, &high) || __builtin_mul_overflow(k, c, &k)) {
    return;
  }
  uint32_t args[2] = {a, quotient->args[1]}, u = quotient->args[0];
  add_relation(f, roc_ir_facts_value(f, &product, args), u, k, depth);
}

/* What is no more than a minimum is no more than either, and so on. */
static void add_to_parts(roc_ir_facts *f, uint32_t a, uint32_t b, int64_t k, int depth) {
  roc_ir_value x = f->values.items[a], y = f->values.items[b];
  for (int n = 0; n < 2; n++) {
    bool is_least = y.op == ROC_IR_MIN && y.type == ROC_VT_INT;
    bool is_most = !is_least && x.op == ROC_IR_MAX && x.type == ROC_VT_INT;
    if (is_least) add_relation(f, a, y.args[n], k, depth);
    if (is_most) add_relation(f, x.args[n], b, k, depth);
  }
  if (a != ZERO) add_to_quotient(f, a, &y, k, depth);
}

static void add_relation(roc_ir_facts *f, uint32_t a, uint32_t b, int64_t k, int depth) {
  if (f->failed) return;
  roc_ir_term x = roc_ir_facts_term(f, a), y = roc_ir_facts_term(f, b);
  int64_t high, low;
  if (__builtin_add_overflow(k, y.offset, &k) || __builtin_sub_overflow(k, x.offset, &k)) return;
  bool is_new = !is_stated(f, x.base, y.base, k);
  if (is_new && !roc_vec_push(&f->relations, ((roc_ir_relation){x.base, y.base, k, false}))) {
    f->failed = true;
    return;
  }
  if (is_new) state_difference(f, x.base, y.base, k);
  roc_ir_range of_x = roc_ir_facts_range_now(f, x.base), of_y = roc_ir_facts_range_now(f, y.base);
  if (!__builtin_add_overflow(of_y.high, k, &high)) {
    narrow(f, x.base, (roc_ir_range){INT64_MIN, high});
  }
  if (!__builtin_sub_overflow(of_x.low, k, &low)) {
    narrow(f, y.base, (roc_ir_range){low, INT64_MAX});
  }
  if (is_new && depth > 0) add_to_parts(f, x.base, y.base, k, depth - 1);
}

/* a <= (u + k) // c, as c * a <= u + k. */
static void add_quotient(roc_ir_facts *f, uint32_t a, uint32_t b, int64_t k) {
  enum { MOST = 1 << 30 };
  int64_t c, end;
  roc_ir_term x = roc_ir_facts_term(f, a), u = roc_ir_facts_term(f, b);
  if (f->failed || !roc_ir_facts_takes_constant(f, &f->values.items[x.base], ROC_IR_MUL, &c))
    return;
  if (c < 2 || c > MOST || !roc_ir_facts_is_argument(f, u.base)) return;
  if (f->values.items[u.base].everywhere.high > INT64_MAX / 2) return; /* the sum would wrap */
  roc_ir_range of_x = f->values.items[x.base].everywhere;
  bool may_wrap = of_x.low == INT64_MIN || of_x.high == INT64_MAX;
  if (may_wrap || __builtin_add_overflow(k, u.offset, &end)) return;
  if (__builtin_sub_overflow(end, x.offset, &end) || end < -MOST || end > MOST) return;
  uint32_t part = f->values.items[x.base].args[0];
  uint32_t sum = end ? roc_ir_facts_operation(f, ROC_IR_ADD, u.base, end) : u.base;
  roc_ir_facts_add(f, part, roc_ir_facts_operation(f, ROC_IR_FLOORDIV, sum, c), 0);
}

void roc_ir_facts_add(roc_ir_facts *f, uint32_t a, uint32_t b, int64_t k) {
  enum { MOST_PARTS = 8 }; /* of a minimum of minima */
  add_relation(f, a, b, k, MOST_PARTS);
  add_quotient(f, a, b, k);
}

void roc_ir_facts_add_checked(roc_ir_facts *f, uint32_t a, uint32_t b) {
  uint32_t first = f->relations.count;
  roc_ir_facts_add(f, a, b, 0);
  for (uint32_t i = first; i < f->relations.count; i++) f->relations.items[i].is_of_check = true;
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

void roc_ir_facts_add_ordered(roc_ir_facts *f, uint32_t a, uint32_t b) {
  roc_ir_interval below = interval_of(&f->values.items[b], roc_ir_facts_range_now(f, b));
  roc_ir_interval above = interval_of(&f->values.items[a], roc_ir_facts_range_now(f, a));
  narrow(f, a, (roc_ir_range){INT64_MIN, roc_ir_range_of_interval(below).high});
  narrow(f, b, (roc_ir_range){roc_ir_range_of_interval(above).low, INT64_MAX});
}

uint32_t roc_ir_facts_base(const roc_ir_facts *f, uint32_t a, int64_t *k) {
  roc_ir_term t = roc_ir_facts_term(f, a);
  *k = t.offset;
  return t.base;
}
