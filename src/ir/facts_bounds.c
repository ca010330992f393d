/* See facts.h: what of the launch bounds a value. */
#include "ir/facts_terms.h"

void roc_ir_facts_add_multiple(roc_ir_facts *f, uint32_t a, uint32_t last, int64_t begin,
                               int64_t step) {
  enum { MOST = 1 << 30 };
  roc_ir_term end = roc_ir_facts_term(f, last);
  bool is_near = end.offset > -MOST && end.offset < MOST && begin > -MOST && begin < MOST;
  if (f->failed || step > MOST || !is_near || !roc_ir_facts_is_argument(f, end.base)) return;
  if (f->values.items[end.base].everywhere.high > INT64_MAX / 2) return; /* sums would wrap */
  uint32_t span = roc_ir_facts_operation(f, ROC_IR_ADD, end.base, end.offset - begin);
  uint32_t multiple = roc_ir_facts_operation(
      f, ROC_IR_MUL, roc_ir_facts_operation(f, ROC_IR_FLOORDIV, span, step), step);
  roc_ir_facts_add(f, a, multiple, begin);
}

bool roc_ir_facts_is_multiple(const roc_ir_facts *f, uint32_t a, roc_ir_facts_multiple *out) {
  const roc_ir_value *items = f->values.items, *quotient = &items[a];
  int64_t step, begin = 0, times = 1;
  if (roc_ir_facts_takes_constant(f, quotient, ROC_IR_MUL, &times)) {
    quotient = &items[quotient->args[0]];
  }
  if (!roc_ir_facts_takes_constant(f, quotient, ROC_IR_FLOORDIV, &step)) return false;
  uint32_t base = quotient->args[0];
  bool is_sum = roc_ir_facts_takes_constant(f, &items[base], ROC_IR_ADD, &begin);
  if (is_sum) base = items[base].args[0];
  *out = (roc_ir_facts_multiple){base, begin, step, times};
  bool is_multiple = is_sum && times == step, is_quotient = times == 1 && is_sum == (begin != 0);
  return step > 1 && (is_multiple || is_quotient) && roc_ir_facts_is_argument(f, base);
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
  uint32_t plus;  /* set once, for a sum on the way */
  bool is_of_sum; /* what is bounded is a part of a sum */
  int64_t k;
} bound_search;

static bool find_bound(bound_search *s, uint32_t a, int64_t so_far, int depth);

/* x + y, for a y that stays small. */
static bool find_bound_of_sum(bound_search *s, const roc_ir_value *v, int64_t so_far, int depth) {
  enum { SMALL = 4096 };
  const roc_ir_facts *f = s->f;
  for (int n = 0; n < 2; n++) {
    roc_ir_range x = roc_ir_facts_range_now(f, v->args[n]);
    roc_ir_range y = roc_ir_facts_range_now(f, v->args[1 - n]);
    int64_t sum;
    bool is_small = y.low <= y.high && y.low >= -SMALL && y.high <= SMALL;
    if (x.low > x.high || !is_small || !roc_ir_facts_is_exact(v, x, y)) continue;
    if (__builtin_add_overflow(so_far, y.high, &sum)) continue;
    if (find_bound(s, v->args[n], sum, depth - 1)) return true;
  }
  return false;
}

/* x + y, where conditions bound both by plain values of the launch.  What checks in front say of
 * each is more than both reach together, as for `y[j]` and `y[j + half]`. */
static bool find_sum_of_bounds(bound_search *s, const roc_ir_value *v, int64_t so_far, int depth) {
  const roc_ir_facts *f = s->f;
  roc_ir_facts_multiple multiple;
  roc_ir_range x = roc_ir_facts_range_now(f, v->args[0]);
  roc_ir_range y = roc_ir_facts_range_now(f, v->args[1]);
  if (s->is_of_sum || s->plus != ROC_IR_VALUE_ZERO || s->factor > 1) return false;
  if (x.low > x.high || y.low > y.high || !roc_ir_facts_is_exact(v, x, y)) return false;
  s->is_of_sum = true;
  bool found = find_bound(s, v->args[0], so_far, depth - 1) && s->factor == 1 &&
               s->plus == ROC_IR_VALUE_ZERO && !roc_ir_facts_is_multiple(f, s->bound, &multiple);
  if (found) {
    s->plus = s->bound;
    found = find_bound(s, v->args[1], s->k, depth - 1) &&
            !roc_ir_facts_is_multiple(f, s->bound, &multiple);
  }
  s->is_of_sum = false;
  if (!found) {
    s->plus = ROC_IR_VALUE_ZERO;
    s->factor = 1;
  }
  return found;
}

/* The global id of a work-item whose local id is known to be less than the workgroup's size is that
 * much less than all workgroups have. */
static bool find_bound_of_id(bound_search *s, const roc_ir_value *v, int64_t so_far) {
  const roc_ir_facts *f = s->f;
  uint32_t items = f->grid_items[v->aux];
  int64_t size;
  if (!s->takes_sizes || !items || s->factor > 1 || s->plus != ROC_IR_VALUE_ZERO) return false;
  if (!roc_ir_facts_takes_constant(f, &f->values.items[items], ROC_IR_MUL, &size)) return false;
  int64_t most = roc_ir_facts_range_now(f, f->local_ids[v->aux]).high;
  if (most >= size || __builtin_add_overflow(so_far, most - size, &s->k)) return false;
  s->bound = f->values.items[items].args[0];
  s->factor = size;
  return true;
}

/* w * c <= bound * c + k, as w <= bound + k. */
static bool find_bound_of_product(bound_search *s, const roc_ir_value *v, int64_t so_far,
                                  int depth) {
  int64_t c, k;
  bool is_scaled = roc_ir_facts_takes_constant(s->f, v, ROC_IR_MUL, &c) && c > 1 &&
                   s->factor == 1 && s->plus == ROC_IR_VALUE_ZERO;
  roc_ir_range range = roc_ir_facts_range_now(s->f, v->args[0]);
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

/* By a mask that is an argument, or a constant less: that it is not negative is asked for
 * (roc_ir_precondition_mask). Otherwise by what is known not to be. */
static bool find_bound_of_masked(bound_search *s, const roc_ir_value *v, int64_t so_far,
                                 int depth) {
  const roc_ir_facts *f = s->f;
  for (int n = 0; n < 2; n++) {
    if (!roc_ir_facts_is_argument(f, roc_ir_facts_term(f, v->args[n]).base)) continue;
    return find_bound(s, v->args[n], so_far, depth - 1);
  }
  for (int n = 0; n < 2; n++) {
    if (roc_ir_facts_range_now(f, v->args[n]).low < 0) continue;
    if (find_bound(s, v->args[n], so_far, depth - 1)) return true;
  }
  return false;
}

static bool find_bound_of_operation(bound_search *s, const roc_ir_value *v, int64_t so_far,
                                    int depth) {
  uint32_t m;
  switch ((roc_ir_op)v->op) {
    case ROC_IR_ADD:
      return find_bound_of_sum(s, v, so_far, depth) || find_sum_of_bounds(s, v, so_far, depth);
    case ROC_IR_MUL: return find_bound_of_product(s, v, so_far, depth);
    case ROC_IR_MIN:
      return find_bound(s, v->args[0], so_far, depth - 1) ||
             find_bound(s, v->args[1], so_far, depth - 1);
    case ROC_IR_BAND: return find_bound_of_masked(s, v, so_far, depth);
    case ROC_IR_MOD:
      return roc_ir_facts_range_now(s->f, v->args[1]).low > 0 &&
             !__builtin_sub_overflow(so_far, 1, &so_far) &&
             find_bound(s, v->args[1], so_far, depth - 1);
    case ROC_IR_SHR:
    case ROC_IR_FLOORDIV:
      return roc_ir_facts_quotient_is_less(s->f, v, &m) &&
             !__builtin_sub_overflow(so_far, 1, &so_far) && find_bound(s, m, so_far, depth - 1);
    default: return false;
  }
}

/* The k of the relation, or of a later one between the same values that says more: a check of low + 1
 * after low <= n. */
static int64_t least_distance(const roc_ir_facts *f, uint32_t relation) {
  const roc_ir_relation *first = &f->relations.items[relation];
  int64_t k = first->k;
  for (uint32_t i = relation + 1; i < f->relations.count; i++) {
    const roc_ir_relation *r = &f->relations.items[i];
    if (r->a == first->a && r->b == first->b && r->k < k) k = r->k;
  }
  return k;
}

/* a <= bound + k for an `a` that counts so_far less than it. Oldest relations first: what
 * conditions say is in force before what the checks after them do. */
static bool find_bound(bound_search *s, uint32_t a, int64_t so_far, int depth) {
  const roc_ir_facts *f = s->f;
  roc_ir_facts_multiple multiple;
  roc_ir_term x = roc_ir_facts_term(f, a);
  const roc_ir_value *v = &f->values.items[x.base];
  if (v->type != ROC_VT_INT || __builtin_add_overflow(so_far, x.offset, &so_far)) return false;
  if (x.base == ROC_IR_VALUE_ZERO) return false; /* what is not below 0 bounds no constant */
  if (x.base == s->extent || s->steps-- <= 0) return false;
  bool is_bound =
      roc_ir_facts_is_argument(f, x.base) || roc_ir_facts_is_multiple(f, x.base, &multiple);
  if (is_bound || (s->takes_sizes && is_size(v))) {
    s->bound = x.base;
    s->k = so_far;
    return true;
  }
  if (v->op == ROC_IR_GLOBAL_ID && find_bound_of_id(s, v, so_far)) return true;
  for (uint32_t i = roc_ir_facts_oldest(f); i < f->relations.count && depth > 0; i++) {
    const roc_ir_relation *r = &f->relations.items[i];
    int64_t sum;
    if (r->a != x.base || (s->is_of_sum && r->is_of_check)) continue;
    if (__builtin_add_overflow(so_far, least_distance(f, i), &sum)) continue;
    if (find_bound(s, r->b, sum, depth - 1)) return true;
  }
  return depth > 0 && find_bound_of_operation(s, v, so_far, depth);
}

bool roc_ir_facts_launch_bound(const roc_ir_facts *f, uint32_t a, uint32_t extent, bool takes_sizes,
                               roc_ir_facts_bound *out) {
  bound_search s = {.f = f, .extent = extent, .steps = ROC_IR_PROOF_STEPS, .factor = 1};
  bool found = !f->failed && find_bound(&s, a, 0, ROC_IR_PROOF_DEPTH);
  s.takes_sizes = takes_sizes;
  if (!found && takes_sizes) {
    s.steps = ROC_IR_PROOF_STEPS;
    found = !f->failed && find_bound(&s, a, 0, ROC_IR_PROOF_DEPTH);
  }
  *out = (roc_ir_facts_bound){s.bound, s.plus, s.factor, s.k};
  return found;
}
