/* See facts.h. Proofs are searches of bounded depth and length through the relations in force, most
 * recent first: a check that would need a longer argument stays. */
#include "ir/facts_terms.h"
#include "ir/range.h"

/* a - by <= b + k - by */
static bool prove_less(roc_ir_proof *p, uint32_t a, uint32_t b, int64_t k, int64_t by, int depth) {
  return !__builtin_sub_overflow(k, by, &k) && roc_ir_prove_le(p, a, b, k, depth - 1);
}

/* Whether the value is 0 - *of, which does not wrap. */
static bool is_negative_of(const roc_ir_facts *f, const roc_ir_value *v, uint32_t *of) {
  bool subtracts = v->op == ROC_IR_SUB && v->args[0] == ROC_IR_VALUE_ZERO;
  if (v->type != ROC_VT_INT || (v->op != ROC_IR_NEG && !subtracts)) return false;
  *of = v->args[subtracts ? 1 : 0];
  roc_ir_range range = roc_ir_facts_range_now(f, *of);
  return range.low <= range.high && range.low > INT64_MIN;
}

/* x + y <= b + k, as y <= c - m + (what is stated) and x <= m: so of a window of the radius m. */
static bool prove_window(roc_ir_proof *p, uint32_t x, uint32_t y, uint32_t b, int64_t k,
                         int depth) {
  const roc_ir_facts *f = p->f;
  roc_ir_term of_y = roc_ir_facts_term(f, y);
  for (uint32_t i = f->relations.count; i-- > roc_ir_facts_oldest(f);) {
    const roc_ir_relation *r = &f->relations.items[i];
    const roc_ir_value *s = &f->values.items[r->b];
    int64_t left;
    if (r->a != of_y.base || s->op != ROC_IR_SUB || s->type != ROC_VT_INT) continue;
    roc_ir_range c = roc_ir_facts_range_now(f, s->args[0]);
    roc_ir_range m = roc_ir_facts_range_now(f, s->args[1]);
    if (c.low > c.high || m.low > m.high || !roc_ir_facts_is_exact(s, c, m)) continue;
    if (__builtin_sub_overflow(k, r->k, &left)) continue;
    if (__builtin_sub_overflow(left, of_y.offset, &left)) continue;
    if (roc_ir_prove_le(p, x, s->args[1], 0, depth - 1) &&
        roc_ir_prove_le(p, s->args[0], b, left, depth - 1)) {
      return true;
    }
  }
  return false;
}

/* 0 <= x + y + k, as -m - (what is stated) <= x, by m <= y. */
static bool prove_below_window(roc_ir_proof *p, uint32_t x, uint32_t y, int64_t k, int depth) {
  const roc_ir_facts *f = p->f;
  roc_ir_term of_x = roc_ir_facts_term(f, x);
  if (__builtin_add_overflow(k, of_x.offset, &k)) return false;
  for (uint32_t i = f->relations.count; i-- > roc_ir_facts_oldest(f);) {
    const roc_ir_relation *r = &f->relations.items[i];
    int64_t left;
    uint32_t m;
    if (r->b != of_x.base || !is_negative_of(f, &f->values.items[r->a], &m)) continue;
    if (__builtin_sub_overflow(k, r->k, &left)) continue;
    if (roc_ir_prove_le(p, m, y, left, depth - 1)) return true;
  }
  return false;
}

/* x + y <= b + k, as p + q <= b + k + (what is left) is stated, and x <= p and y <= q. */
static bool prove_below_stated(roc_ir_proof *p, uint32_t x, uint32_t y, uint32_t b, int64_t k,
                               int depth) {
  const roc_ir_facts *f = p->f;
  for (uint32_t i = f->relations.count; i-- > roc_ir_facts_oldest(f);) {
    const roc_ir_relation *r = &f->relations.items[i];
    const roc_ir_value *s = &f->values.items[r->a];
    int64_t left;
    if (s->op != ROC_IR_ADD || s->type != ROC_VT_INT || __builtin_sub_overflow(k, r->k, &left)) {
      continue;
    }
    roc_ir_range u = roc_ir_facts_range_now(f, s->args[0]);
    roc_ir_range v = roc_ir_facts_range_now(f, s->args[1]);
    if (u.low > u.high || v.low > v.high || !roc_ir_facts_is_exact(s, u, v)) continue;
    if (!roc_ir_prove_le(p, r->b, b, 0, depth - 1)) continue;
    for (int swap = 0; swap < 2; swap++) {
      uint32_t first = s->args[swap], second = s->args[1 - swap];
      if (roc_ir_prove_le(p, x, first, left, depth - 1) &&
          roc_ir_prove_le(p, y, second, 0, depth - 1)) {
        return true;
      }
      if (roc_ir_prove_le(p, x, first, 0, depth - 1) &&
          roc_ir_prove_le(p, y, second, left, depth - 1)) {
        return true;
      }
    }
  }
  return false;
}

/* x + y <= b + k, as x <= b + k - (the most that y is), or the other way round. */
static bool prove_sum(roc_ir_proof *p, const roc_ir_value *v, uint32_t b, int64_t k, int depth) {
  const roc_ir_facts *f = p->f;
  roc_ir_range x = roc_ir_facts_range_now(f, v->args[0]);
  roc_ir_range y = roc_ir_facts_range_now(f, v->args[1]);
  if (x.low > x.high || y.low > y.high || !roc_ir_facts_is_exact(v, x, y)) return false;
  if (v->op == ROC_IR_SUB) {
    return y.low != INT64_MIN && prove_less(p, v->args[0], b, k, -y.low, depth);
  }
  return prove_less(p, v->args[0], b, k, y.high, depth) ||
         prove_less(p, v->args[1], b, k, x.high, depth) ||
         prove_window(p, v->args[0], v->args[1], b, k, depth) ||
         prove_window(p, v->args[1], v->args[0], b, k, depth) ||
         prove_below_stated(p, v->args[0], v->args[1], b, k, depth);
}

/* a <= x + y + k, as a - (the least that y is) <= x + k. */
static bool prove_below_sum(roc_ir_proof *p, uint32_t a, uint32_t b, int64_t k, int depth) {
  const roc_ir_facts *f = p->f;
  const roc_ir_value *v = &f->values.items[b];
  if (v->type != ROC_VT_INT || (v->op != ROC_IR_ADD && v->op != ROC_IR_SUB)) return false;
  roc_ir_range x = roc_ir_facts_range_now(f, v->args[0]);
  roc_ir_range y = roc_ir_facts_range_now(f, v->args[1]);
  if (x.low > x.high || y.low > y.high || !roc_ir_facts_is_exact(v, x, y)) return false;
  if (v->op == ROC_IR_SUB) {
    if (a == ROC_IR_VALUE_ZERO && roc_ir_prove_le(p, v->args[1], v->args[0], k, depth - 1))
      return true;
    return prove_less(p, a, v->args[0], k, y.high, depth);
  }
  if (y.low != INT64_MIN && prove_less(p, a, v->args[0], k, -y.low, depth)) return true;
  if (x.low != INT64_MIN && prove_less(p, a, v->args[1], k, -x.low, depth)) return true;
  return a == ROC_IR_VALUE_ZERO && (prove_below_window(p, v->args[0], v->args[1], k, depth) ||
                                    prove_below_window(p, v->args[1], v->args[0], k, depth));
}

/* What divides: a value, a constant, or both. */
typedef struct divisor {
  uint32_t value; /* NONE: it is a constant alone */
  int64_t k;      /* 0: it is no constant */
} divisor;

/* Of a division, or of a shift of what is not negative; false: it is neither, or may divide by less
 * than 1. */
static bool find_divisor(const roc_ir_facts *f, const roc_ir_value *v, divisor *out) {
  const roc_ir_value *by = &f->values.items[v->args[1]];
  int64_t k = by->op == ROC_IR_CONST ? by->k : 0;
  if (v->op == ROC_IR_SHR) {
    *out = (divisor){ROC_IR_NONE, (int64_t)1 << (k & 63)};
    return k > 0 && k < 63 && roc_ir_facts_range_now(f, v->args[0]).low >= 0;
  }
  *out = (divisor){v->args[1], k};
  return roc_ir_facts_range_now(f, v->args[1]).low >= 1;
}

/* Whether the value is a product by it that does not wrap; *m is the other factor. */
static bool is_multiple_of(const roc_ir_facts *f, uint32_t id, divisor by, uint32_t *m) {
  const roc_ir_value *product = &f->values.items[id];
  if (product->op != ROC_IR_MUL || product->type != ROC_VT_INT) return false;
  if (product->everywhere.low == INT64_MIN || product->everywhere.high == INT64_MAX) return false;
  for (uint32_t n = 0; n < 2; n++) {
    const roc_ir_value *factor = &f->values.items[product->args[n]];
    bool is_it = product->args[n] == by.value;
    if (!is_it && (by.k == 0 || factor->op != ROC_IR_CONST || factor->k != by.k)) continue;
    *m = product->args[1 - n];
    return true;
  }
  return false;
}

/* An m with u // n < m, as u < n * m is stated, or u is a remainder by n * m. */
bool roc_ir_facts_quotient_is_less(const roc_ir_facts *f, const roc_ir_value *v, uint32_t *m) {
  divisor n;
  roc_ir_term u = roc_ir_facts_term(f, v->args[0]);
  if (!find_divisor(f, v, &n)) return false;
  const roc_ir_value *rest = &f->values.items[u.base];
  if (rest->op == ROC_IR_MOD && rest->type == ROC_VT_INT && u.offset <= 0) {
    bool divides = roc_ir_facts_range_now(f, rest->args[1]).low > 0;
    if (divides && is_multiple_of(f, rest->args[1], n, m)) return true;
  }
  for (uint32_t i = f->relations.count; i-- > roc_ir_facts_oldest(f);) {
    const roc_ir_relation *r = &f->relations.items[i];
    int64_t over;
    if (r->a != u.base || !is_multiple_of(f, r->b, n, m)) continue;
    if (!__builtin_add_overflow(r->k, u.offset, &over) && over < 0) return true;
  }
  return false;
}

/* The value of which `id` is *times as much, by a constant. */
static uint32_t multiplied(const roc_ir_facts *f, uint32_t id, int64_t *times) {
  const roc_ir_value *v = &f->values.items[id];
  if (roc_ir_facts_takes_constant(f, v, ROC_IR_MUL, times)) return v->args[0];
  *times = 1;
  return id;
}

/* x * c <= x * d + k, as 0 <= x and c <= d. */
static bool prove_multiple(const roc_ir_facts *f, uint32_t a, uint32_t b, int64_t k) {
  int64_t c, d;
  const roc_ir_value *larger = &f->values.items[b];
  uint32_t x = multiplied(f, a, &c);
  if (k < 0 || x != multiplied(f, b, &d) || c < 0 || c > d) return false;
  bool may_wrap = larger->everywhere.low == INT64_MIN || larger->everywhere.high == INT64_MAX;
  return !may_wrap && roc_ir_facts_range_now(f, x).low >= 0;
}

/* w * c <= b + k, by what is stated of a product u * c, where w <= u - 1 or w <= u. */
static bool prove_product(roc_ir_proof *p, const roc_ir_value *v, uint32_t b, int64_t k,
                          int depth) {
  const roc_ir_facts *f = p->f;
  const roc_ir_value *by = &f->values.items[v->args[1]];
  roc_ir_range w = roc_ir_facts_range_now(f, v->args[0]);
  if (by->op != ROC_IR_CONST || by->k < 2 || w.low > w.high || w.high > INT64_MAX / by->k ||
      w.low < INT64_MIN / by->k) {
    return false;
  }
  for (uint32_t i = f->relations.count; i-- > roc_ir_facts_oldest(f);) {
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
      if (!roc_ir_prove_le(p, v->args[0], stated->args[0], -less, depth - 1)) continue;
      if (roc_ir_prove_le(p, r->b, b, left, depth - 1)) return true;
    }
  }
  return false;
}

/* (x + y + c) // 2, by a division or a shift, or x + (y - x) // 2. */
typedef struct middle {
  uint32_t x, y;
  int64_t c;
} middle;

static bool is_constant(const roc_ir_facts *f, uint32_t id, int64_t k) {
  const roc_ir_value *v = &f->values.items[id];
  return v->op == ROC_IR_CONST && v->type == ROC_VT_INT && v->k == k;
}

/* Half of what does not wrap; *of is what. */
static bool is_half(const roc_ir_facts *f, const roc_ir_value *v, roc_ir_op op, roc_ir_term *of) {
  if (v->nargs != 2 || v->type != ROC_VT_INT) return false;
  bool shifts = v->op == ROC_IR_SHR && is_constant(f, v->args[1], 1) &&
                roc_ir_facts_range_now(f, v->args[0]).low >= 0;
  if (!shifts && !(v->op == ROC_IR_FLOORDIV && is_constant(f, v->args[1], 2))) return false;
  *of = roc_ir_facts_term(f, v->args[0]);
  const roc_ir_value *sum = &f->values.items[of->base];
  if (sum->op != op || sum->type != ROC_VT_INT || of->offset < -1 || of->offset > 1) return false;
  roc_ir_range x = roc_ir_facts_range_now(f, sum->args[0]);
  roc_ir_range y = roc_ir_facts_range_now(f, sum->args[1]);
  return x.low <= x.high && y.low <= y.high && roc_ir_facts_is_exact(sum, x, y);
}

static bool is_middle(const roc_ir_facts *f, const roc_ir_value *v, middle *out) {
  roc_ir_term of;
  if (is_half(f, v, ROC_IR_ADD, &of)) {
    const roc_ir_value *sum = &f->values.items[of.base];
    *out = (middle){sum->args[0], sum->args[1], of.offset};
    return true;
  }
  if (v->op != ROC_IR_ADD || v->type != ROC_VT_INT) return false;
  for (uint32_t n = 0; n < 2; n++) {
    if (!is_half(f, &f->values.items[v->args[1 - n]], ROC_IR_SUB, &of)) continue;
    const roc_ir_value *span = &f->values.items[of.base];
    if (span->args[1] != v->args[n]) continue;
    *out = (middle){span->args[1], span->args[0], of.offset};
    return true;
  }
  return false;
}

/* Where x <= y - less, the middle is no less than x + (c + less) // 2, and no more than
 * y + (c - less) // 2. */
static bool prove_of_middle(roc_ir_proof *p, middle m, bool is_upper, uint32_t other, int64_t k,
                            int depth) {
  for (int64_t less = 1; less >= 0; less--) {
    for (int swap = 0; swap < 2; swap++) {
      uint32_t x = swap ? m.y : m.x, y = swap ? m.x : m.y;
      int64_t by = (is_upper ? m.c - less : m.c + less) >> 1;
      if (!roc_ir_prove_le(p, x, y, -less, depth - 1)) continue;
      if (is_upper && prove_less(p, y, other, k, by, depth)) return true;
      if (!is_upper && prove_less(p, other, x, k, -by, depth)) return true;
    }
  }
  return false;
}

/* The global id, by way of all that workgroups have, where the local id is known to be less than
 * their size. */
static bool prove_global_id(roc_ir_proof *p, const roc_ir_value *v, uint32_t b, int64_t k,
                            int depth) {
  const roc_ir_facts *f = p->f;
  uint32_t items = f->grid_items[v->aux];
  int64_t size;
  if (!items || !roc_ir_facts_takes_constant(f, &f->values.items[items], ROC_IR_MUL, &size)) {
    return false;
  }
  int64_t most = roc_ir_facts_range_now(f, f->local_ids[v->aux]).high;
  return most < size && prove_less(p, items, b, k, most - size, depth);
}

/* x & y is no more than either that is not negative. */
static bool prove_masked(roc_ir_proof *p, const roc_ir_value *v, uint32_t b, int64_t k, int depth) {
  for (int n = 0; n < 2; n++) {
    if (roc_ir_facts_range_now(p->f, v->args[n]).low < 0) continue;
    if (roc_ir_prove_le(p, v->args[n], b, k, depth - 1)) return true;
  }
  return false;
}

static bool prove_operation(roc_ir_proof *p, const roc_ir_value *v, uint32_t b, int64_t k,
                            int depth) {
  const roc_ir_facts *f = p->f;
  uint32_t m;
  if (v->type != ROC_VT_INT) return false;
  switch ((roc_ir_op)v->op) {
    case ROC_IR_MIN:
      return roc_ir_prove_le(p, v->args[0], b, k, depth - 1) ||
             roc_ir_prove_le(p, v->args[1], b, k, depth - 1);
    case ROC_IR_MAX:
      return roc_ir_prove_le(p, v->args[0], b, k, depth - 1) &&
             roc_ir_prove_le(p, v->args[1], b, k, depth - 1);
    case ROC_IR_ADD:
    case ROC_IR_SUB: return prove_sum(p, v, b, k, depth);
    case ROC_IR_MOD:
      return roc_ir_facts_range_now(f, v->args[1]).low > 0 &&
             prove_less(p, v->args[1], b, k, -1, depth);
    case ROC_IR_SHR:
    case ROC_IR_FLOORDIV:
      return roc_ir_facts_quotient_is_less(f, v, &m) && prove_less(p, m, b, k, -1, depth);
    case ROC_IR_BAND: return prove_masked(p, v, b, k, depth);
    case ROC_IR_MUL: return prove_product(p, v, b, k, depth);
    case ROC_IR_GLOBAL_ID: return prove_global_id(p, v, b, k, depth);
    default: return false;
  }
}

/* Whether the relation says that a <= its b + *k: of `a`, or of its sum with what has a least value. */
static bool says_of(const roc_ir_facts *f, const roc_ir_relation *r, uint32_t a, int64_t *k) {
  const roc_ir_value *s = &f->values.items[r->a];
  *k = r->k;
  if (r->a == a) return true;
  if (s->op != ROC_IR_ADD || s->type != ROC_VT_INT) return false;
  if (s->args[0] != a && s->args[1] != a) return false;
  roc_ir_range x = roc_ir_facts_range_now(f, s->args[0]);
  roc_ir_range y = roc_ir_facts_range_now(f, s->args[1]);
  if (x.low > x.high || y.low > y.high || !roc_ir_facts_is_exact(s, x, y)) return false;
  return !__builtin_sub_overflow(*k, s->args[0] == a ? y.low : x.low, k);
}

static bool prove_through(roc_ir_proof *p, uint32_t a, uint32_t b, int64_t k, int depth) {
  const roc_ir_facts *f = p->f;
  roc_ir_value v = f->values.items[a];
  middle m;
  if (prove_multiple(f, a, b, k) || prove_operation(p, &v, b, k, depth)) return true;
  if (is_middle(f, &v, &m) && prove_of_middle(p, m, true, b, k, depth)) return true;
  for (uint32_t i = f->relations.count; i-- > roc_ir_facts_oldest(f);) {
    const roc_ir_relation *r = &f->relations.items[i];
    int64_t left;
    if (!says_of(f, r, a, &left) || __builtin_sub_overflow(k, left, &left)) continue;
    if (roc_ir_prove_le(p, r->b, b, left, depth - 1)) return true;
  }
  if (is_middle(f, &f->values.items[b], &m) && prove_of_middle(p, m, false, a, k, depth)) {
    return true;
  }
  if (prove_below_sum(p, a, b, k, depth)) return true;
  if (!f->values.items[a == ROC_IR_VALUE_ZERO ? b : a].has_product) return false;
  return a == ROC_IR_VALUE_ZERO ? roc_ir_prove_above_product(p, b, k, depth)
                                : roc_ir_prove_below_product(p, a, b, k, depth);
}

bool roc_ir_prove_le(roc_ir_proof *p, uint32_t a, uint32_t b, int64_t k, int depth) {
  const roc_ir_facts *f = p->f;
  if (p->steps-- <= 0) return false;
  roc_ir_term x = roc_ir_facts_term(f, a), y = roc_ir_facts_term(f, b);
  if (__builtin_add_overflow(k, y.offset, &k) || __builtin_sub_overflow(k, x.offset, &k)) {
    return false;
  }
  if (x.base == y.base && k >= 0) return true;
  roc_ir_range of_x = roc_ir_facts_range_now(f, x.base), of_y = roc_ir_facts_range_now(f, y.base);
  int64_t least;
  if (!__builtin_add_overflow(of_y.low, k, &least) && of_x.high <= least) return true;
  return depth > 0 && prove_through(p, x.base, y.base, k, depth);
}

bool roc_ir_facts_follows(const roc_ir_facts *f, uint32_t a, uint32_t b, int64_t k) {
  roc_ir_proof p = {f, ROC_IR_PROOF_STEPS};
  return !f->failed && roc_ir_prove_le(&p, a, b, k, ROC_IR_PROOF_DEPTH);
}

bool roc_ir_facts_nonzero(roc_ir_facts *f, uint32_t a) {
  if (f->failed) return false;
  roc_ir_range range = roc_ir_facts_range_now(f, a);
  return f->values.items[a].is_nonzero || range.low > 0 || range.high < 0;
}

/* ---- paths that meet ---- */

enum { MAX_COMMON = 32 /* relations of one path that are tried on the other */ };

void roc_ir_facts_collect(roc_ir_facts *f, roc_ir_facts_point point, roc_ir_relations *out) {
  for (uint32_t i = point.nrelations; i < f->relations.count && out->count < MAX_COMMON; i++) {
    if (!roc_vec_push(out, f->relations.items[i])) f->failed = true;
  }
}

void roc_ir_facts_keep_proved(const roc_ir_facts *f, roc_ir_relations *relations) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < relations->count && !f->failed; i++) {
    roc_ir_relation r = relations->items[i];
    if (roc_ir_facts_follows(f, r.a, r.b, r.k)) relations->items[kept++] = r;
  }
  relations->count = kept;
}
