/* See facts.h: indices into flat arrays, as (y - 1) * w + x, where y <= h and x <= w.
 *
 * Such a value is taken for a polynomial: a sum of products of up to three values.  To compare it
 * with h * w it is divided by a factor of that, say w.  Where the quotient (y - 1) is less than the
 * other factors, and what remains (x) no more than w, it is no more than h * w.  Both are proved as
 * anything else is, or are such polynomials again: of ((z - 1) * h + y - 1) * w + x.
 *
 * The machine's value is that of the polynomial only as far as this fits 64 bits, which takes a
 * bound on either side. */
#include "ir/facts_terms.h"

enum {
  MOST_FACTORS = ROC_IR_PRODUCT_FACTORS,
  MOST_MONOMIALS = 12,
  MOST_TIMES = 1 << 12, /* of a coefficient */
  MOST_DEPTH = 8,       /* of an expression */
  LEAST_REST = -4,      /* of a bound that is looked for */
  MOST_REST = 4
};

typedef __int128 wide;

/* times * factors[0] * …; of none: a constant. */
typedef struct monomial {
  uint32_t factors[MOST_FACTORS], count; /* in rising order */
  int64_t times;
} monomial;

typedef struct polynomial {
  monomial items[MOST_MONOMIALS];
  uint32_t count;
} polynomial;

/* ---- polynomials ---- */

static bool is_constant(const roc_ir_facts *f, uint32_t id) {
  return f->values.items[id].op == ROC_IR_CONST;
}

/* Of two values, neither of which is constant. */
static bool is_product(const roc_ir_facts *f, uint32_t id) {
  const roc_ir_value *v = &f->values.items[id];
  return v->op == ROC_IR_MUL && v->type == ROC_VT_INT && !is_constant(f, v->args[0]) &&
         !is_constant(f, v->args[1]);
}

static bool is_sum(const roc_ir_value *v) {
  return v->type == ROC_VT_INT && (v->op == ROC_IR_ADD || v->op == ROC_IR_SUB);
}

static bool has_same_factors(const monomial *a, const monomial *b) {
  bool is_same = a->count == b->count;
  for (uint32_t i = 0; i < a->count && is_same; i++) is_same = a->factors[i] == b->factors[i];
  return is_same;
}

static bool is_small(int64_t times) {
  return times >= -MOST_TIMES && times <= MOST_TIMES;
}

/* Constants may be larger than other coefficients. */
static bool add_monomial(polynomial *p, monomial m) {
  enum { MOST_CONSTANT = 1 << 30 };
  for (uint32_t i = 0; i < p->count; i++) {
    monomial *of = &p->items[i];
    if (!has_same_factors(of, &m)) continue;
    of->times += m.times;
    if (of->times == 0) *of = p->items[--p->count];
    return true;
  }
  bool fits = m.count ? is_small(m.times) : m.times >= -MOST_CONSTANT && m.times <= MOST_CONSTANT;
  if (!fits || p->count == MOST_MONOMIALS) return false;
  if (m.times) p->items[p->count++] = m;
  return true;
}

static bool multiply(const polynomial *a, const polynomial *b, polynomial *out) {
  *out = (polynomial){.count = 0};
  for (uint32_t i = 0; i < a->count; i++) {
    for (uint32_t j = 0; j < b->count; j++) {
      monomial m = a->items[i];
      const monomial *by = &b->items[j];
      if (m.count + by->count > MOST_FACTORS || !is_small(m.times) || !is_small(by->times)) {
        return false;
      }
      m.times *= by->times;
      for (uint32_t n = 0; n < by->count; n++) {
        uint32_t at = m.count++;
        for (; at > 0 && m.factors[at - 1] > by->factors[n]; at--) {
          m.factors[at] = m.factors[at - 1];
        }
        m.factors[at] = by->factors[n];
      }
      if (!add_monomial(out, m)) return false;
    }
  }
  return true;
}

static bool add_polynomial(polynomial *p, const polynomial *more, int64_t times) {
  for (uint32_t i = 0; i < more->count; i++) {
    monomial m = more->items[i];
    if (!is_small(m.times) && m.count) return false;
    m.times *= times;
    if (!add_monomial(p, m)) return false;
  }
  return true;
}

/* What has no products in it stays one value, of which conditions may speak. */
static bool describe(const roc_ir_facts *f, uint32_t id, int depth, polynomial *out) {
  const roc_ir_value *v = &f->values.items[id];
  *out = (polynomial){.count = 0};
  polynomial a, b;
  bool is_composed = depth > 0 && v->has_product;
  if (is_composed && is_sum(v)) {
    return describe(f, v->args[0], depth - 1, &a) && describe(f, v->args[1], depth - 1, &b) &&
           add_polynomial(out, &a, 1) && add_polynomial(out, &b, v->op == ROC_IR_SUB ? -1 : 1);
  }
  if (is_composed) {
    return describe(f, v->args[0], depth - 1, &a) && describe(f, v->args[1], depth - 1, &b) &&
           multiply(&a, &b, out);
  }
  roc_ir_term term = roc_ir_facts_term(f, id);
  monomial base = {.factors = {term.base}, .count = 1, .times = 1}, more = {.times = term.offset};
  return (term.base == ROC_IR_VALUE_ZERO || add_monomial(out, base)) && add_monomial(out, more);
}

/* dividend = quotient * by + rest */
static bool divide(const polynomial *dividend, uint32_t by, polynomial *quotient,
                   polynomial *rest) {
  *quotient = *rest = (polynomial){.count = 0};
  for (uint32_t i = 0; i < dividend->count; i++) {
    monomial m = dividend->items[i];
    uint32_t at = 0;
    while (at < m.count && m.factors[at] != by) at++;
    bool is_divided = at < m.count;
    for (; at + 1 < m.count; at++) m.factors[at] = m.factors[at + 1];
    m.count -= is_divided;
    if (!add_monomial(is_divided ? quotient : rest, m)) return false;
  }
  return quotient->count > 0;
}

static bool is_linear(const polynomial *p) {
  for (uint32_t i = 0; i < p->count; i++) {
    if (p->items[i].count > 1) return false;
  }
  return true;
}

/* ---- ranges ---- */

typedef struct wide_range {
  wide low, high;
} wide_range;

/* False when a factor may take more than some 32 bits. */
static bool find_range(const roc_ir_facts *f, const monomial *m, wide_range *out) {
  const int64_t most = (int64_t)1 << 33;
  *out = (wide_range){m->times, m->times};
  for (uint32_t i = 0; i < m->count; i++) {
    roc_ir_range r = roc_ir_facts_range_now(f, m->factors[i]);
    if (r.low > r.high || r.low < -most || r.high > most) return false;
    wide ends[4] = {out->low * r.low, out->low * r.high, out->high * r.low, out->high * r.high};
    *out = (wide_range){ends[0], ends[0]};
    for (int n = 1; n < 4; n++) {
      if (ends[n] < out->low) out->low = ends[n];
      if (ends[n] > out->high) out->high = ends[n];
    }
  }
  return true;
}

/* Of all monomials but number `without`. */
static bool find_range_of_sum(const roc_ir_facts *f, const polynomial *p, uint32_t without,
                              wide_range *out) {
  wide_range of;
  *out = (wide_range){0, 0};
  for (uint32_t i = 0; i < p->count; i++) {
    if (i == without) continue;
    if (!find_range(f, &p->items[i], &of)) return false;
    out->low += of.low;
    out->high += of.high;
  }
  return true;
}

static bool is_of_64_bits(wide value) {
  return value >= INT64_MIN && value <= INT64_MAX;
}

/* Whether the product, and those it is made of, are far from 2^63. */
static bool is_exact_product(const roc_ir_facts *f, uint32_t id) {
  const roc_ir_value *v = &f->values.items[id];
  if (!is_product(f, id)) return true;
  roc_ir_range a = roc_ir_facts_range_now(f, v->args[0]);
  roc_ir_range b = roc_ir_facts_range_now(f, v->args[1]);
  int64_t end;
  return a.low >= 0 && a.low <= a.high && b.low >= 0 && b.low <= b.high &&
         !__builtin_mul_overflow(a.high, b.high, &end) && end <= INT64_MAX / 2 &&
         is_exact_product(f, v->args[0]) && is_exact_product(f, v->args[1]);
}

/* ---- proofs ---- */

typedef struct product {
  uint32_t factors[MOST_FACTORS], count;
} product;

static bool list_factors(const roc_ir_facts *f, uint32_t id, product *out) {
  const roc_ir_value *v = &f->values.items[id];
  if (is_product(f, id)) {
    return list_factors(f, v->args[0], out) && list_factors(f, v->args[1], out);
  }
  if (out->count == MOST_FACTORS) return false;
  out->factors[out->count++] = id;
  return true;
}

static product without_factor(const product *of, uint32_t at) {
  product rest = *of;
  for (rest.count--; at < rest.count; at++) rest.factors[at] = of->factors[at + 1];
  return rest;
}

/* p <= value + k: one of its values by what is stated of that, the others by their ranges. */
static bool is_sum_below(roc_ir_proof *proof, const polynomial *p, uint32_t value, int64_t k,
                         int depth) {
  const roc_ir_facts *f = proof->f;
  polynomial less = *p;
  monomial compared = {.factors = {value}, .count = 1, .times = -1};
  wide_range others;
  bool is_zero = value == ROC_IR_VALUE_ZERO;
  if (!is_zero && !add_monomial(&less, compared)) return false;
  if (find_range_of_sum(f, &less, less.count, &others) && others.high <= k) return true;
  for (uint32_t i = 0; i < p->count; i++) {
    const monomial *m = &p->items[i];
    if (m->count != 1 || m->times != 1) continue;
    if (!find_range_of_sum(f, p, i, &others) || !is_of_64_bits(k - others.high)) continue;
    if (roc_ir_prove_le(proof, m->factors[0], value, (int64_t)(k - others.high), depth - 1)) {
      return true;
    }
  }
  return false;
}

/* p <= product + k */
static bool is_below_product(roc_ir_proof *proof, const polynomial *p, const product *of, int64_t k,
                             int depth) {
  if (of->count == 1) return is_sum_below(proof, p, of->factors[0], k, depth);
  for (uint32_t n = 0; n < of->count; n++) {
    uint32_t by = of->factors[n];
    product others = without_factor(of, n);
    polynomial quotient, rest;
    if (roc_ir_facts_range_now(proof->f, by).low < 0 || !divide(p, by, &quotient, &rest)) continue;
    if (is_sum_below(proof, &rest, by, k, depth) &&
        is_below_product(proof, &quotient, &others, -1, depth)) {
      return true;
    }
    if (is_sum_below(proof, &rest, ROC_IR_VALUE_ZERO, k, depth) &&
        is_below_product(proof, &quotient, &others, 0, depth)) {
      return true;
    }
  }
  return false;
}

/* k <= p */
static bool is_above(roc_ir_proof *proof, const polynomial *p, int64_t k, int depth) {
  const roc_ir_facts *f = proof->f;
  wide_range range;
  if (find_range_of_sum(f, p, p->count, &range) && range.low >= k) return true;
  if (is_linear(p) || depth <= 0) return false;
  for (uint32_t i = 0; i < p->count; i++) {
    for (uint32_t n = 0; n < p->items[i].count && p->items[i].count > 1; n++) {
      uint32_t by = p->items[i].factors[n];
      polynomial quotient, rest, negated = {.count = 0};
      if (roc_ir_facts_range_now(f, by).low < 0 || !divide(p, by, &quotient, &rest)) continue;
      if (is_above(proof, &rest, k, depth - 1) && is_above(proof, &quotient, 0, depth - 1)) {
        return true;
      }
      if (add_polynomial(&negated, &rest, -1) && is_sum_below(proof, &negated, by, -k, depth) &&
          is_above(proof, &quotient, 1, depth - 1)) {
        return true;
      }
    }
  }
  return false;
}

/* Whether what is stated of products keeps the polynomial below 2^63. */
static bool is_bounded(roc_ir_proof *proof, const polynomial *p, int depth) {
  const roc_ir_facts *f = proof->f;
  wide_range range;
  if (find_range_of_sum(f, p, p->count, &range) && range.high <= INT64_MAX) return true;
  for (uint32_t i = f->relations.count; i-- > roc_ir_facts_oldest(f);) {
    const roc_ir_relation *r = &f->relations.items[i];
    product stated = {.count = 0};
    if (!is_product(f, r->a) || !is_exact_product(f, r->a)) continue;
    if (list_factors(f, r->a, &stated) && is_below_product(proof, p, &stated, INT32_MAX, depth)) {
      return true;
    }
  }
  return false;
}

bool roc_ir_prove_above_product(roc_ir_proof *proof, uint32_t b, int64_t k, int depth) {
  polynomial p;
  if (k == INT64_MIN || !describe(proof->f, b, MOST_DEPTH, &p)) return false;
  return is_above(proof, &p, -k, depth) && is_bounded(proof, &p, depth);
}

bool roc_ir_prove_below_product(roc_ir_proof *proof, uint32_t a, uint32_t b, int64_t k, int depth) {
  const roc_ir_facts *f = proof->f;
  polynomial p;
  wide_range range;
  product of = {.count = 0};
  if (!describe(f, a, MOST_DEPTH, &p) || !find_range_of_sum(f, &p, p.count, &range)) return false;
  if (range.low < INT64_MIN || k > INT32_MAX) return false;
  if (is_product(f, b) && is_exact_product(f, b) && list_factors(f, b, &of) &&
      is_below_product(proof, &p, &of, k, depth)) {
    return true;
  }
  for (uint32_t i = f->relations.count; i-- > roc_ir_facts_oldest(f);) {
    const roc_ir_relation *r = &f->relations.items[i];
    int64_t left;
    product stated = {.count = 0};
    if (r->a == a || !is_product(f, r->a) || !is_exact_product(f, r->a)) continue;
    if (__builtin_sub_overflow(k, r->k, &left) || left > INT32_MAX) continue;
    if (!list_factors(f, r->a, &stated)) continue;
    if (is_below_product(proof, &p, &stated, left, depth) &&
        roc_ir_prove_le(proof, r->b, b, 0, depth - 1)) {
      return true;
    }
  }
  return false;
}

/* ---- bounds of the launch ---- */

/* A bound of p that is the same for the whole launch, and *k: p <= bound + *k. */
static bool find_sum_bound(const roc_ir_facts *f, const polynomial *p, uint32_t *bound,
                           int64_t *k) {
  for (uint32_t i = 0; i < p->count; i++) {
    const monomial *m = &p->items[i];
    wide_range others;
    roc_ir_facts_bound of;
    if (m->count != 1 || m->times != 1 || !find_range_of_sum(f, p, i, &others)) continue;
    if (!roc_ir_facts_launch_bound(f, m->factors[0], ROC_IR_NONE, false, &of)) continue;
    bool is_plain = of.factor == 1 && of.plus == ROC_IR_VALUE_ZERO &&
                    roc_ir_facts_is_argument(f, of.value) && is_of_64_bits(others.high + of.k);
    if (!is_plain) continue;
    *bound = of.value;
    *k = (int64_t)(others.high + of.k);
    return true;
  }
  return false;
}

/* p <= product + *k */
static bool find_product_bound(const roc_ir_facts *f, const polynomial *p, product *out, int64_t *k,
                               int depth) {
  uint32_t bound;
  if (is_linear(p) || depth == 0) {
    if (!find_sum_bound(f, p, &bound, k)) return false;
    *out = (product){{bound}, 1};
    return true;
  }
  for (uint32_t i = 0; i < p->count; i++) {
    for (uint32_t n = 0; n < p->items[i].count && p->items[i].count > 1; n++) {
      uint32_t by = p->items[i].factors[n];
      polynomial quotient, rest;
      int64_t less;
      if (!roc_ir_facts_is_argument(f, by) || roc_ir_facts_range_now(f, by).low < 0) continue;
      if (!divide(p, by, &quotient, &rest)) continue;
      if (!find_product_bound(f, &quotient, out, &less, depth - 1)) continue;
      if (less >= 0 || out->count == MOST_FACTORS) continue;
      for (*k = LEAST_REST; *k <= MOST_REST; ++*k) {
        roc_ir_proof proof = {f, ROC_IR_PROOF_STEPS};
        if (!is_sum_below(&proof, &rest, by, *k, ROC_IR_PROOF_DEPTH)) continue;
        out->factors[out->count++] = by;
        return true;
      }
    }
  }
  return false;
}

bool roc_ir_facts_product_bound(const roc_ir_facts *f, uint32_t a, roc_ir_facts_product *out) {
  polynomial p;
  product of = {.count = 0};
  roc_ir_proof proof = {f, ROC_IR_PROOF_STEPS};
  if (f->failed || !f->values.items[a].has_product || !describe(f, a, MOST_DEPTH, &p)) return false;
  if (!is_above(&proof, &p, 1, ROC_IR_PROOF_DEPTH)) return false;
  if (!find_product_bound(f, &p, &of, &out->k, MOST_FACTORS - 1) || of.count < 2) return false;
  for (uint32_t i = 0; i < MOST_FACTORS; i++) {
    out->factors[i] = i < of.count ? of.factors[i] : ROC_IR_NONE;
    if (i < of.count && roc_ir_facts_range_now(f, of.factors[i]).high > INT32_MAX) return false;
  }
  return true;
}
