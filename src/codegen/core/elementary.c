/* See elementary.h.
 *
 * exp: x = k ln2 + r with |r| <= ln2 / 2, e^r by its series, and 2^k in two factors, so that a
 * denormal result is rounded once. pow: the logarithm as a sum of two numbers, from log m = 2
 * atanh((m - 1) / (m + 1)) with m in [sqrt(1/2), sqrt(2)], so exact that its product with y and the
 * exponential of that lose less than a quarter of the last place before the one rounding at the
 * end: a power that can be represented comes out as it is. */
#include "codegen/core/elementary.h"

#include <math.h>

typedef LLVMValueRef V;

/* What the code for a type is made of. */
typedef struct real {
  roc_cg *cg;
  LLVMBuilderRef b;
  LLVMTypeRef type, bits; /* the float, the integer of its size */
  unsigned digits;        /* of the significand, the first one included */
  int bias;
  double ln2_hi, ln2_lo; /* ln 2 in two parts; the first has so few bits that a product with an
                            exponent is exact */
  double third_lo;       /* 1/3 less its nearest number */
  unsigned exp_terms;    /* of e^r - 1 - r, from r^2 / 2 on */
  unsigned log_terms;    /* of atanh, from s^5 / 5 on */
} real;

static real real_of(roc_cg *cg, roc_value_type type) {
  bool is_wide = type == ROC_VT_F64;
  return (real){
      .cg = cg,
      .b = cg->b,
      .type = is_wide ? cg->t.f64 : cg->t.f32,
      .bits = is_wide ? cg->t.i64 : cg->t.i32,
      .digits = is_wide ? 53 : 24,
      .bias = is_wide ? 1023 : 127,
      .ln2_hi = is_wide ? 0x1.62e42fefa38p-1 : 0x1.62e4p-1,
      .ln2_lo = is_wide ? 0x1.ef35793c7673p-45 : M_LN2 - 0x1.62e4p-1,
      .third_lo = is_wide ? 0x1.5555555555555p-56 : 1.0 / 3 - (double)(float)(1.0 / 3),
      .exp_terms = is_wide ? 13 : 7,
      .log_terms = is_wide ? 12 : 6,
  };
}

/* ---- operations -------------------------------------------------------------------------- */

static V number(const real *m, double value) {
  return LLVMConstReal(m->type, value);
}

static V integer(const real *m, int64_t value) {
  return roc_cg_int(m->bits, value);
}

static V add(const real *m, V a, V b) {
  return LLVMBuildFAdd(m->b, a, b, "");
}

static V sub(const real *m, V a, V b) {
  return LLVMBuildFSub(m->b, a, b, "");
}

static V mul(const real *m, V a, V b) {
  return LLVMBuildFMul(m->b, a, b, "");
}

static V divide(const real *m, V a, V b) {
  return LLVMBuildFDiv(m->b, a, b, "");
}

static V neg(const real *m, V a) {
  return LLVMBuildFNeg(m->b, a, "");
}

static V fma_of(const real *m, V a, V b, V c) {
  LLVMTypeRef type = m->type;
  return roc_cg_intrinsic(m->cg, "llvm.fma", &type, 1, (V[3]){a, b, c}, 3);
}

static V unary(const real *m, const char *name, V a) {
  LLVMTypeRef type = m->type;
  return roc_cg_intrinsic(m->cg, name, &type, 1, &a, 1);
}

static V copysign_of(const real *m, V magnitude, V sign) {
  LLVMTypeRef type = m->type;
  return roc_cg_intrinsic(m->cg, "llvm.copysign", &type, 1, (V[2]){magnitude, sign}, 2);
}

static V choose(const real *m, V condition, V a, V b) {
  return LLVMBuildSelect(m->b, condition, a, b, "");
}

static V compare(const real *m, LLVMRealPredicate how, V a, V b) {
  return LLVMBuildFCmp(m->b, how, a, b, "");
}

static V compare_to(const real *m, LLVMRealPredicate how, V a, double b) {
  return compare(m, how, a, number(m, b));
}

static V both(const real *m, V a, V b) {
  return LLVMBuildAnd(m->b, a, b, "");
}

static V as_bits(const real *m, V a) {
  return LLVMBuildBitCast(m->b, a, m->bits, "");
}

static V as_float(const real *m, V bits) {
  return LLVMBuildBitCast(m->b, bits, m->type, "");
}

/* ---- sums of two numbers ----------------------------------------------------------------- */

typedef struct pair {
  V hi, lo;
} pair;

/* a + b, |a| >= |b| or a = 0. */
static pair fast_sum(const real *m, V a, V b) {
  V hi = add(m, a, b);
  return (pair){hi, add(m, sub(m, a, hi), b)};
}

/* a + b */
static pair any_sum(const real *m, V a, V b) {
  V hi = add(m, a, b), part = sub(m, hi, a);
  return (pair){hi, add(m, sub(m, a, sub(m, hi, part)), sub(m, b, part))};
}

static pair product(const real *m, V a, V b) {
  V hi = mul(m, a, b);
  return (pair){hi, fma_of(m, a, b, neg(m, hi))};
}

/* ---- exponentials ------------------------------------------------------------------------ */

/* Added to a number that is small beside it, it rounds that to a whole one, which is then in the
 * lowest bits.  Some processors are slow at rounding by itself. */
static double rounding(const real *m) {
  return ldexp(1.5, (int)m->digits - 1);
}

static double biased(const real *m) {
  return rounding(m) + m->bias;
}

/* x times a factor, rounded. */
static V nearest(const real *m, V x, double factor) {
  V shift = number(m, rounding(m));
  return sub(m, fma_of(m, x, number(m, factor), shift), shift);
}

/* 2^k of k + biased(m), k a whole number within the normal exponents. */
static V power_of_shifted(const real *m, V shifted) {
  V bits = LLVMBuildShl(m->b, as_bits(m, shifted), integer(m, m->digits - 1), "");
  return as_float(m, bits);
}

static V power_of_two(const real *m, V k) {
  return power_of_shifted(m, add(m, k, number(m, biased(m))));
}

/* value 2^k, where that may be denormal or infinite; |k| is within twice the exponents. */
static V scale(const real *m, V value, V k) {
  V half = fma_of(m, k, number(m, 0.5), number(m, biased(m)));
  V rest = add(m, sub(m, k, half), number(m, 2 * biased(m))); /* exact: all are whole */
  return mul(m, mul(m, value, power_of_shifted(m, half)), power_of_shifted(m, rest));
}

/* (e^r - 1 - r) / r^2 */
static V exp_rest(const real *m, V r) {
  double factorial = 1;
  for (unsigned n = 2; n <= m->exp_terms + 1; n++) factorial *= n;
  V sum = number(m, 1 / factorial);
  for (unsigned n = m->exp_terms + 1; n > 2; n--) {
    factorial /= n;
    sum = fma_of(m, sum, r, number(m, 1 / factorial));
  }
  return sum;
}

/* e^(r + lo) - 1 for a small r, and a lo that is smaller by far. */
static pair small_expm1(const real *m, V r, V lo) {
  V tail = fma_of(m, lo, r, lo);
  tail = fma_of(m, mul(m, r, r), exp_rest(m, r), tail);
  return fast_sum(m, r, tail);
}

static V limit(const real *m, V x, double least, double most) {
  V at_least = choose(m, compare_to(m, LLVMRealOLT, x, least), number(m, least), x);
  return choose(m, compare_to(m, LLVMRealOGT, at_least, most), number(m, most), at_least);
}

/* Beyond these, e^x is 0 and infinite. */
static double least_log(const real *m) {
  return m->digits == 53 ? -746 : -104;
}

static double most_log(const real *m) {
  return m->digits == 53 ? 710 : 89;
}

/* How often ln 2 goes into x, rounded; x less that. */
static V reduce_log(const real *m, V x, V lo, pair *rest) {
  V k = nearest(m, x, 0x1.71547652b82fep+0), minus = neg(m, k);
  *rest = fast_sum(m, fma_of(m, minus, number(m, m->ln2_hi), x),
                   fma_of(m, minus, number(m, m->ln2_lo), lo));
  return k;
}

/* e^(x + lo), x within the limits. */
static V exp_of_pair(const real *m, V x, V lo) {
  pair rest;
  V k = reduce_log(m, x, lo, &rest);
  pair part = small_expm1(m, rest.hi, rest.lo);
  pair sum = fast_sum(m, number(m, 1), part.hi);
  return scale(m, add(m, sum.hi, add(m, sum.lo, part.lo)), k);
}

/* e^r for a small r. */
static V small_exp(const real *m, V r) {
  return add(m, number(m, 1), fma_of(m, mul(m, r, r), exp_rest(m, r), r));
}

/* e^x / 2^k, x within the limits; k is how often ln 2 goes into x, rounded. */
static V exp_part(const real *m, V x, V *out_k) {
  V k = nearest(m, x, 0x1.71547652b82fep+0), minus = neg(m, k);
  V r = fma_of(m, minus, number(m, m->ln2_hi), x);
  *out_k = k;
  return small_exp(m, fma_of(m, minus, number(m, m->ln2_lo), r));
}

LLVMValueRef roc_cg_exp(roc_cg *cg, roc_value_type type, LLVMValueRef x) {
  real m = real_of(cg, type);
  V k, part = exp_part(&m, limit(&m, x, least_log(&m), most_log(&m)), &k);
  return scale(&m, part, k);
}

LLVMValueRef roc_cg_exp2(roc_cg *cg, roc_value_type type, LLVMValueRef x) {
  real m = real_of(cg, type);
  bool is_wide = type == ROC_VT_F64;
  x = limit(&m, x, is_wide ? -1076 : -151, is_wide ? 1025 : 129);
  V k = nearest(&m, x, 1);
  return scale(&m, small_exp(&m, mul(&m, sub(&m, x, k), number(&m, M_LN2))), k);
}

/* e^x - 1.  2^k stands halved until the end: the greatest is no number. */
static pair expm1_pair(const real *m, V x) {
  pair rest;
  V k = reduce_log(m, x, number(m, 0), &rest);
  pair part = small_expm1(m, rest.hi, rest.lo);
  V factor = power_of_two(m, sub(m, k, number(m, 1)));
  V whole = sub(m, factor, number(m, 0.5));
  V lost = sub(m, sub(m, factor, whole), number(m, 0.5));
  pair sum = fast_sum(m, whole, mul(m, part.hi, factor));
  V lo = add(m, fma_of(m, part.lo, factor, lost), sum.lo);
  V is_small = compare_to(m, LLVMRealOEQ, k, 0);
  V two = number(m, 2);
  return (pair){choose(m, is_small, part.hi, mul(m, sum.hi, two)),
                choose(m, is_small, part.lo, mul(m, lo, two))};
}

LLVMValueRef roc_cg_expm1(roc_cg *cg, roc_value_type type, LLVMValueRef x) {
  real m = real_of(cg, type);
  pair result = expm1_pair(&m, limit(&m, x, type == ROC_VT_F64 ? -40 : -20, most_log(&m)));
  return copysign_of(&m, add(&m, result.hi, result.lo), x);
}

/* (e^2x - 1) / (e^2x + 1) */
LLVMValueRef roc_cg_tanh(roc_cg *cg, roc_value_type type, LLVMValueRef x) {
  real m = real_of(cg, type);
  V size = unary(&m, "llvm.fabs", x), two = number(&m, 2);
  pair top = expm1_pair(&m, limit(&m, add(&m, size, size), 0, type == ROC_VT_F64 ? 44 : 22));
  pair a = fast_sum(&m, two, top.hi), b = fast_sum(&m, top.hi, two); /* whichever is larger */
  V is_large = compare_to(&m, LLVMRealOGT, top.hi, 2);
  pair below = {a.hi, add(&m, choose(&m, is_large, b.lo, a.lo), top.lo)};
  V inverse = divide(&m, number(&m, 1), below.hi);
  V quotient = mul(&m, top.hi, inverse), minus = neg(&m, quotient);
  V rest = add(&m, fma_of(&m, minus, below.hi, top.hi), top.lo);
  rest = fma_of(&m, minus, below.lo, rest);
  return copysign_of(&m, fma_of(&m, rest, inverse, quotient), x);
}

/* e^|x| / 2, which is a number where e^|x| is not yet. */
static V half_exp(const real *m, V size) {
  V top = limit(m, size, 0, most_log(m) + 1);
  pair less = any_sum(m, top, number(m, -m->ln2_hi));
  return exp_of_pair(m, less.hi, sub(m, less.lo, number(m, m->ln2_lo)));
}

LLVMValueRef roc_cg_cosh(roc_cg *cg, roc_value_type type, LLVMValueRef x) {
  real m = real_of(cg, type);
  V half = half_exp(&m, unary(&m, "llvm.fabs", x));
  return add(&m, half, divide(&m, number(&m, 0.25), half));
}

/* (e + e / (1 + e)) / 2, e = e^|x| - 1; where that is large, half of e^|x| less 1 / e^|x|. */
LLVMValueRef roc_cg_sinh(roc_cg *cg, roc_value_type type, LLVMValueRef x) {
  real m = real_of(cg, type);
  V size = unary(&m, "llvm.fabs", x), one = number(&m, 1);
  pair e = expm1_pair(&m, limit(&m, size, 0, 2));
  pair below = fast_sum(&m, choose(&m, compare_to(&m, LLVMRealOGT, e.hi, 1), e.hi, one),
                        choose(&m, compare_to(&m, LLVMRealOGT, e.hi, 1), one, e.hi));
  V inverse = divide(&m, one, below.hi), quotient = mul(&m, e.hi, inverse),
    minus = neg(&m, quotient);
  V rest = fma_of(&m, minus, add(&m, below.lo, e.lo), fma_of(&m, minus, below.hi, e.hi));
  pair sum = fast_sum(&m, e.hi, quotient);
  V lo = add(&m, sum.lo, fma_of(&m, add(&m, rest, e.lo), inverse, e.lo));
  V small = mul(&m, add(&m, sum.hi, lo), number(&m, 0.5));
  V half = half_exp(&m, size);
  V large = sub(&m, half, divide(&m, number(&m, 0.25), half));
  V is_small = compare_to(&m, LLVMRealOLT, size, 1);
  return copysign_of(&m, choose(&m, is_small, small, large), x);
}

/* Highest power first. */
static V polynomial(const real *m, V x, const double *coefficients, unsigned count) {
  V sum = number(m, coefficients[0]);
  for (unsigned i = 1; i < count; i++) sum = fma_of(m, sum, x, number(m, coefficients[i]));
  return sum;
}

/* x + x p(x^2) below 0.927, and 1 - e^q(x) above; from 4 on the result is 1.  Fitted at the points
 * of Chebyshev, to 2^-36 of the one, and 2^-25 of q. */
LLVMValueRef roc_cg_erf_f32(roc_cg *cg, LLVMValueRef x) {
  static const double small[] = {-0x1.586d8p-17, 0x1.e01cf6p-14, -0x1.bdeecap-11, 0x1.563f6p-8,
                                 -0x1.b82b5ap-6, 0x1.ce2f18p-4,  -0x1.812746p-2,  0x1.06eba8p-3};
  static const double large[] = {0x1.b92f62p-20, -0x1.835f9p-15, 0x1.3965e6p-11,
                                 -0x1.3831c6p-8, 0x1.b10e22p-6,  -0x1.c2f3e8p-4,
                                 -0x1.437cfp-1,  -0x1.21575ap+0, 0x1.507a32p-12};
  real m = real_of(cg, ROC_VT_F32);
  V size = unary(&m, "llvm.fabs", x), end = number(&m, 4);
  V below = fma_of(&m, polynomial(&m, mul(&m, x, x), small, sizeof small / sizeof *small), x, x);
  V limited = choose(&m, compare(&m, LLVMRealOLT, size, end), size, end);
  V power = polynomial(&m, limited, large, sizeof large / sizeof *large);
  V k, part = exp_part(&m, power, &k);
  V rest = mul(&m, part, power_of_two(&m, k));
  V above = copysign_of(&m, sub(&m, number(&m, 1), rest), x);
  return choose(&m, compare_to(&m, LLVMRealOGE, size, 0.927f), above, below);
}

/* ---- sine and cosine --------------------------------------------------------------------- */

/* x less the nearest multiple of pi/2, |x| <= 2^20; *out_k: which, a whole number.  The parts of
 * pi/2 have so few bits that the first products are exact. */
static pair reduce_angle(const real *m, V x, V *out_k) {
  V k = unary(m, "llvm.rint", mul(m, x, number(m, 0x1.45f306dc9c883p-1))), minus = neg(m, k);
  V first = fma_of(m, minus, number(m, 0x1.921fb544p+0), x);
  V second = mul(m, minus, number(m, 0x1.0b4611a6p-34));
  V hi = add(m, first, second), part = sub(m, hi, first);
  V lost = add(m, sub(m, first, sub(m, hi, part)), sub(m, second, part));
  V lo = fma_of(m, minus, number(m, 0x1.3198a2ep-69), lost);
  lo = fma_of(m, minus, number(m, 0x1.b839a252049c1p-104), lo);
  *out_k = k;
  return fast_sum(m, hi, lo);
}

/* The series with 1 / first!, - 1 / (first + 2)!, … up to 1 / last! in u. */
static V alternating_series(const real *m, V u, unsigned first, unsigned last) {
  double factorial = 1, sign = (last - first) / 2 % 2 ? -1 : 1;
  for (unsigned n = 2; n <= last; n++) factorial *= n;
  V sum = number(m, sign / factorial);
  for (unsigned n = last; n > first; n -= 2) {
    factorial /= (double)n * (n - 1);
    sign = -sign;
    sum = fma_of(m, sum, u, number(m, sign / factorial));
  }
  return sum;
}

/* Sine and cosine of a reduced angle. */
static void small_angle(const real *m, pair r, V *out_sine, V *out_cosine) {
  V u = mul(m, r.hi, r.hi), half = mul(m, u, number(m, 0.5));
  V cubic = mul(m, mul(m, u, r.hi), alternating_series(m, u, 3, 17)); /* of - sin r + r */
  V lo = fma_of(m, neg(m, half), r.lo, r.lo);
  *out_sine = add(m, r.hi, sub(m, lo, cubic));
  V most = sub(m, number(m, 1), half);
  V rest = sub(m, sub(m, number(m, 1), most), half);
  V tail = mul(m, mul(m, u, u), alternating_series(m, u, 4, 18));
  rest = add(m, rest, fma_of(m, neg(m, r.hi), r.lo, tail));
  *out_cosine = add(m, most, rest);
}

/* Whether the whole number k is odd. */
static V is_odd_number(const real *m, V k) {
  V half = mul(m, k, number(m, 0.5));
  return compare(m, LLVMRealONE, unary(m, "llvm.rint", half), half);
}

/* The sine of x + quarters pi/2. */
static V sine_of(const real *m, V x, double quarters) {
  V k, sine, cosine;
  pair r = reduce_angle(m, x, &k);
  small_angle(m, r, &sine, &cosine);
  V turned = add(m, k, number(m, quarters));
  V value = choose(m, is_odd_number(m, turned), cosine, sine);
  V pairs = unary(m, "llvm.floor", mul(m, turned, number(m, 0.5)));
  return choose(m, is_odd_number(m, pairs), neg(m, value), value);
}

LLVMValueRef roc_cg_small_sin(roc_cg *cg, LLVMValueRef x) {
  real m = real_of(cg, ROC_VT_F64);
  return choose(&m, compare_to(&m, LLVMRealOEQ, x, 0), x, sine_of(&m, x, 0));
}

LLVMValueRef roc_cg_small_cos(roc_cg *cg, LLVMValueRef x) {
  real m = real_of(cg, ROC_VT_F64);
  return sine_of(&m, x, 1);
}

LLVMValueRef roc_cg_small_tan(roc_cg *cg, LLVMValueRef x) {
  real m = real_of(cg, ROC_VT_F64);
  V k, sine, cosine;
  pair r = reduce_angle(&m, x, &k);
  small_angle(&m, r, &sine, &cosine);
  V is_odd = is_odd_number(&m, k);
  V top = choose(&m, is_odd, neg(&m, cosine), sine), below = choose(&m, is_odd, sine, cosine);
  return choose(&m, compare_to(&m, LLVMRealOEQ, x, 0), x, divide(&m, top, below));
}

/* ---- powers ------------------------------------------------------------------------------ */

/* A positive finite number as m 2^k with m in [sqrt(1/2), sqrt(2)). */
static V split(const real *m, V x, V *out_k) {
  int digits = (int)m->digits;
  V is_denormal = compare_to(m, LLVMRealOLT, x, ldexp(1, 1 - m->bias));
  x = choose(m, is_denormal, mul(m, x, number(m, ldexp(1, digits))), x);
  uint64_t root = digits == 53 ? 0x3fe6a09e667f3bcd : 0x3f3504f3;
  uint64_t offset = 2 * ((uint64_t)m->bias + 1); /* keeps the exponent positive */
  V shift = integer(m, digits - 1), bits = as_bits(m, x);
  V above = LLVMBuildAdd(m->b, bits, integer(m, (int64_t)((offset << (digits - 1)) - root)), "");
  V field = LLVMBuildLShr(m->b, above, shift, "");
  V exponent = LLVMBuildSub(m->b, field, integer(m, (int64_t)offset), "");
  /* To a float as the lowest digits of one: AVX2 has no conversion of 64 bits. */
  int64_t units = (int64_t)(m->bias + digits - 1) << (digits - 1);
  V raw = as_float(m, LLVMBuildOr(m->b, field, integer(m, units), ""));
  V k = sub(m, raw, number(m, ldexp(1, digits - 1) + (double)offset));
  *out_k = choose(m, is_denormal, sub(m, k, number(m, digits)), k);
  return as_float(m, LLVMBuildSub(m->b, bits, LLVMBuildShl(m->b, exponent, shift, ""), ""));
}

/* (v - 1) / (v + 1) */
static pair log_argument(const real *m, V v) {
  V one = number(m, 1), top = sub(m, v, one);
  pair below = fast_sum(m, choose(m, compare_to(m, LLVMRealOLT, v, 1), one, v),
                        choose(m, compare_to(m, LLVMRealOLT, v, 1), v, one));
  V inverse = divide(m, one, below.hi);
  V quotient = mul(m, top, inverse), minus = neg(m, quotient);
  V rest = fma_of(m, minus, below.lo, fma_of(m, minus, below.hi, top));
  return fast_sum(m, quotient, mul(m, rest, inverse));
}

/* s^4 / 5 + s^6 / 7 + …, u = s^2 */
static V log_rest(const real *m, V u) {
  V sum = number(m, 1.0 / (2 * m->log_terms + 1));
  for (unsigned n = m->log_terms - 1; n >= 2; n--) {
    sum = fma_of(m, sum, u, number(m, 1.0 / (2 * n + 1)));
  }
  return mul(m, mul(m, u, u), sum);
}

/* The logarithm of a positive finite number. */
static pair log_pair(const real *m, V x) {
  V k, v = split(m, x, &k);
  pair s = log_argument(m, v);
  pair u = product(m, s.hi, s.hi);
  u.lo = fma_of(m, add(m, s.hi, s.hi), s.lo, u.lo);
  double third = m->digits == 53 ? 1.0 / 3 : (double)(float)(1.0 / 3);
  pair cubic = product(m, u.hi, number(m, third));
  cubic.lo = fma_of(m, u.lo, number(m, third), cubic.lo);
  cubic.lo = fma_of(m, u.hi, number(m, m->third_lo), cubic.lo);
  pair sum = fast_sum(m, cubic.hi, log_rest(m, u.hi));
  sum.lo = add(m, sum.lo, cubic.lo);
  pair more = product(m, s.hi, sum.hi); /* log v = 2 (s + s sum) */
  more.lo = fma_of(m, s.hi, sum.lo, fma_of(m, s.lo, sum.hi, more.lo));
  pair half = fast_sum(m, s.hi, more.hi);
  half.lo = add(m, half.lo, add(m, more.lo, s.lo));
  V two = number(m, 2);
  pair whole = fast_sum(m, mul(m, k, number(m, m->ln2_hi)), mul(m, half.hi, two));
  V lo = fma_of(m, half.lo, two, mul(m, k, number(m, m->ln2_lo)));
  return fast_sum(m, whole.hi, add(m, whole.lo, lo));
}

/* What a logarithm is of 0, of negative numbers, of infinity and of NaN; `value` elsewhere. */
static V special_logs(const real *m, V x, V value) {
  value = choose(m, compare_to(m, LLVMRealOLT, x, INFINITY), value, x);
  value = choose(m, compare_to(m, LLVMRealOLT, x, 0), number(m, NAN), value);
  return choose(m, compare_to(m, LLVMRealOEQ, x, 0), number(m, -INFINITY), value);
}

LLVMValueRef roc_cg_log1p(roc_cg *cg, roc_value_type type, LLVMValueRef x) {
  real m = real_of(cg, type);
  pair v = any_sum(&m, number(&m, 1), x);
  pair log = log_pair(&m, v.hi);
  V value = add(&m, log.hi, add(&m, log.lo, divide(&m, v.lo, v.hi)));
  value = special_logs(&m, v.hi, value);
  return choose(&m, compare_to(&m, LLVMRealOEQ, x, 0), x, value);
}

/* Above this, 1 + x^2 is x^2, as far as a logarithm of either tells. */
static const double LARGE = 0x1p30;

/* log 2x of a large x. */
static V log_of_double(const real *m, V x) {
  pair log = log_pair(m, x);
  pair sum = fast_sum(m, log.hi, number(m, m->ln2_hi));
  V value = add(m, sum.hi, add(m, sum.lo, add(m, log.lo, number(m, m->ln2_lo))));
  return special_logs(m, x, value);
}

LLVMValueRef roc_cg_asinh(roc_cg *cg, roc_value_type type, LLVMValueRef x) {
  real m = real_of(cg, type);
  V size = unary(&m, "llvm.fabs", x), one = number(&m, 1);
  V small = limit(&m, size, 0, LARGE), square = mul(&m, small, small);
  V below = add(&m, one, unary(&m, "llvm.sqrt", fma_of(&m, small, small, one)));
  V value = roc_cg_log1p(cg, type, add(&m, small, divide(&m, square, below)));
  V is_large = compare_to(&m, LLVMRealOGE, size, LARGE);
  value = choose(&m, is_large, log_of_double(&m, size), value);
  value = choose(&m, compare(&m, LLVMRealUNO, x, x), x, value);
  return copysign_of(&m, value, x);
}

LLVMValueRef roc_cg_acosh(roc_cg *cg, roc_value_type type, LLVMValueRef x) {
  real m = real_of(cg, type);
  V above = sub(&m, limit(&m, x, 1, LARGE), number(&m, 1));
  V root = unary(&m, "llvm.sqrt", fma_of(&m, above, above, add(&m, above, above)));
  V value = roc_cg_log1p(cg, type, add(&m, above, root));
  V is_large = compare_to(&m, LLVMRealOGE, x, LARGE);
  value = choose(&m, is_large, log_of_double(&m, x), value);
  return choose(&m, compare_to(&m, LLVMRealOGE, x, 1), value, number(&m, NAN));
}

/* log1p(2x / (1 - x)) / 2 */
LLVMValueRef roc_cg_atanh(roc_cg *cg, roc_value_type type, LLVMValueRef x) {
  real m = real_of(cg, type);
  V size = unary(&m, "llvm.fabs", x);
  V ratio = divide(&m, add(&m, size, size), sub(&m, number(&m, 1), size));
  V value = mul(&m, roc_cg_log1p(cg, type, ratio), number(&m, 0.5));
  value = choose(&m, compare_to(&m, LLVMRealUGT, size, 1), number(&m, NAN), value);
  return copysign_of(&m, value, x);
}

/* log v = f + f^2 p(f), f = v - 1. Fitted at the points of Chebyshev, to 2^-27 of the logarithm. */
static V narrow_log(const real *m, V f, V k) {
  static const double terms[] = {-0x1.38c9dep-4, 0x1.055ec6p-3,  -0x1.0d8242p-3,
                                 0x1.22d92ep-3,  -0x1.54728ap-3, 0x1.99a01cp-3,
                                 -0x1.000226p-2, 0x1.555554p-2,  -0.5};
  V lo = mul(m, k, number(m, m->ln2_lo));
  V rest = fma_of(m, mul(m, f, f), polynomial(m, f, terms, sizeof terms / sizeof *terms), lo);
  return fma_of(m, k, number(m, m->ln2_hi), add(m, f, rest));
}

/* log v = f - (h - s (h + 2 s^2 / 3 + 2 s^4 / 5 + …)), f = v - 1, h = f^2 / 2, s = f / (f + 2) */
static V wide_log(const real *m, V f, V k) {
  V half = mul(m, mul(m, f, number(m, 0.5)), f), s = divide(m, f, add(m, f, number(m, 2)));
  V u = mul(m, s, s), sum = number(m, 2.0 / (2 * m->log_terms - 1));
  for (unsigned n = m->log_terms - 2; n >= 1; n--) {
    sum = fma_of(m, sum, u, number(m, 2.0 / (2 * n + 1)));
  }
  V lo = mul(m, k, number(m, m->ln2_lo));
  V rest = fma_of(m, s, fma_of(m, sum, u, half), lo);
  return fma_of(m, k, number(m, m->ln2_hi), sub(m, f, sub(m, half, rest)));
}

LLVMValueRef roc_cg_log(roc_cg *cg, roc_value_type type, LLVMValueRef x) {
  real m = real_of(cg, type);
  V k, f = sub(&m, split(&m, x, &k), number(&m, 1));
  return special_logs(&m, x, type == ROC_VT_F64 ? wide_log(&m, f, k) : narrow_log(&m, f, k));
}

/* The logarithm of x for the base whose natural logarithm is 1 / (scale_hi + scale_lo). */
static V log_to(const real *m, V x, double scale_hi, double scale_lo) {
  pair log = log_pair(m, x);
  pair scaled = product(m, log.hi, number(m, scale_hi));
  scaled.lo = fma_of(m, log.lo, number(m, scale_hi), scaled.lo);
  V value = add(m, scaled.hi, fma_of(m, log.hi, number(m, scale_lo), scaled.lo));
  return special_logs(m, x, value);
}

LLVMValueRef roc_cg_log2(roc_cg *cg, roc_value_type type, LLVMValueRef x) {
  real m = real_of(cg, type);
  if (type == ROC_VT_F64) return log_to(&m, x, M_LOG2E, 0x1.777d0ffda0d24p-56);
  return log_to(&m, x, (double)(float)M_LOG2E, M_LOG2E - (double)(float)M_LOG2E);
}

LLVMValueRef roc_cg_log10(roc_cg *cg, roc_value_type type, LLVMValueRef x) {
  real m = real_of(cg, type);
  if (type == ROC_VT_F64) return log_to(&m, x, M_LOG10E, 0x1.95355baaafad3p-57);
  return log_to(&m, x, (double)(float)M_LOG10E, M_LOG10E - (double)(float)M_LOG10E);
}

/* Stirling's series: e^((x - 1/2) log x - x + log(2 pi) / 2 + 1 / 12x - 1 / 360x^3 + …) */
LLVMValueRef roc_cg_large_gamma(roc_cg *cg, LLVMValueRef x) {
  static const double terms[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                 1.0 / 1188, -691.0 / 360360, 1.0 / 156};
  enum { NTERMS = sizeof terms / sizeof *terms };
  real m = real_of(cg, ROC_VT_F64);
  V near = limit(&m, x, 16, 180), inverse = divide(&m, number(&m, 1), near);
  V square = mul(&m, inverse, inverse), series = number(&m, terms[NTERMS - 1]);
  for (int i = NTERMS - 2; i >= 0; i--) series = fma_of(&m, series, square, number(&m, terms[i]));
  pair log = log_pair(&m, near);
  V power = sub(&m, near, number(&m, 0.5));
  pair e = product(&m, power, log.hi), sum = fast_sum(&m, e.hi, neg(&m, near));
  V lo = add(&m, sum.lo, fma_of(&m, power, log.lo, e.lo));
  sum = fast_sum(&m, sum.hi, number(&m, 0x1.d67f1c864beb5p-1));
  lo = add(&m, add(&m, lo, sum.lo), number(&m, -0x1.65b5a1b7ff5dfp-55));
  pair whole = fast_sum(&m, sum.hi, mul(&m, series, inverse));
  lo = add(&m, lo, whole.lo);
  V is_number = compare_to(&m, LLVMRealOLT, whole.hi, most_log(&m));
  lo = choose(&m, is_number, lo, number(&m, 0));
  return exp_of_pair(&m, limit(&m, whole.hi, 0, most_log(&m)), lo);
}

/* x^y, x positive and finite, y finite. */
static V positive_power(const real *m, V x, V y) {
  pair log = log_pair(m, x);
  pair e = product(m, y, log.hi);
  e.lo = fma_of(m, y, log.lo, e.lo);
  double least = least_log(m), most = most_log(m);
  V is_within =
      both(m, compare_to(m, LLVMRealOGT, e.hi, least), compare_to(m, LLVMRealOLT, e.hi, most));
  V lo = choose(m, is_within, e.lo, number(m, 0));
  return exp_of_pair(m, limit(m, e.hi, least, most), lo);
}

/* What C says of zeros, infinities, NaN and signs; `size` is |x|, `value` size^y where it is
 * defined. */
static V special_powers(const real *m, V x, V y, V size, V value) {
  V zero = number(m, 0), one = number(m, 1), infinite = number(m, INFINITY);
  V falls = compare_to(m, LLVMRealOLT, y, 0);
  value = choose(m, compare_to(m, LLVMRealOEQ, size, 0), choose(m, falls, infinite, zero), value);
  value =
      choose(m, compare(m, LLVMRealOEQ, size, infinite), choose(m, falls, zero, infinite), value);
  value = choose(m, compare_to(m, LLVMRealOEQ, size, 1), one, value);
  V whole = compare(m, LLVMRealOEQ, unary(m, "llvm.trunc", y), y);
  V half = mul(m, y, number(m, 0.5));
  V is_odd = both(m, whole, compare(m, LLVMRealONE, unary(m, "llvm.trunc", half), half));
  value = choose(m, is_odd, copysign_of(m, value, x), value);
  V has_none = both(m, compare_to(m, LLVMRealOLT, x, 0), compare_to(m, LLVMRealOGT, x, -INFINITY));
  has_none = both(m, has_none, LLVMBuildNot(m->b, whole, ""));
  V nan = number(m, NAN);
  value = choose(m, has_none, nan, value);
  value = choose(m, compare(m, LLVMRealUNO, x, y), nan, value);
  V is_one =
      LLVMBuildOr(m->b, compare_to(m, LLVMRealOEQ, x, 1), compare_to(m, LLVMRealOEQ, y, 0), "");
  return choose(m, is_one, one, value);
}

/* Exponents with a shorter way, which give the same whether LLVM knows them or not. */
static const double short_exponents[] = {2, 3, 0.5};
enum { NSHORT = sizeof short_exponents / sizeof *short_exponents };

static V short_power(const real *m, V x, double y) {
  V square = mul(m, x, x);
  if (y != 0.5) return y == 2 ? square : mul(m, square, x);
  V root = unary(m, "llvm.sqrt", add(m, x, number(m, 0))); /* of -0: 0 */
  return choose(m, compare_to(m, LLVMRealOEQ, x, -INFINITY), number(m, INFINITY), root);
}

/* x^y by the rules for special numbers and by the shorter ways; `value` is |x|^y. */
static V any_power(const real *m, V x, V y, V size, V value) {
  value = special_powers(m, x, y, size, value);
  for (unsigned i = 0; i < NSHORT; i++) {
    V is_it = compare_to(m, LLVMRealOEQ, y, short_exponents[i]);
    value = choose(m, is_it, short_power(m, x, short_exponents[i]), value);
  }
  return value;
}

/* Whether x^y is more than `positive_power`. */
static V is_rare(const real *m, V x, V y) {
  V is_positive =
      both(m, compare_to(m, LLVMRealOGT, x, 0), compare_to(m, LLVMRealOLT, x, INFINITY));
  V is_finite = compare_to(m, LLVMRealOLT, unary(m, "llvm.fabs", y), INFINITY);
  V rare = LLVMBuildNot(m->b, both(m, is_positive, is_finite), "");
  for (unsigned i = 0; i < NSHORT; i++) {
    rare = LLVMBuildOr(m->b, rare, compare_to(m, LLVMRealOEQ, y, short_exponents[i]), "");
  }
  return rare;
}

/* A value that differs under a rare condition: the builder is where that holds, until end_rare. */
typedef struct rare_value {
  LLVMBasicBlockRef before, done;
  V usual;
} rare_value;

static rare_value begin_rare(const real *m, V condition, V usual) {
  roc_cg *cg = m->cg;
  rare_value r = {LLVMGetInsertBlock(m->b), NULL, usual};
  LLVMBasicBlockRef rare = roc_cg_block(cg, "rare");
  r.done = roc_cg_block(cg, "usual");
  roc_cg_branch_likely(cg, LLVMBuildNot(m->b, condition, ""), r.done, rare);
  roc_cg_at(cg, rare);
  return r;
}

static V end_rare(const real *m, rare_value *r, V value) {
  V values[2] = {r->usual, value};
  LLVMBasicBlockRef blocks[2] = {r->before, LLVMGetInsertBlock(m->b)};
  LLVMBuildBr(m->b, r->done);
  roc_cg_at(m->cg, r->done);
  V result = LLVMBuildPhi(m->b, m->type, "");
  LLVMAddIncoming(result, values, blocks, 2);
  return result;
}

/* What is rare is left out by whole wavefronts. */
static V power_of_wavefront(const real *m, V x, V y, V size, V value) {
  rare_value rare = begin_rare(m, is_rare(m, x, y), value);
  return end_rare(m, &rare, any_power(m, x, y, size, value));
}

LLVMValueRef roc_cg_pow(roc_cg *cg, roc_value_type type, LLVMValueRef x, LLVMValueRef y) {
  real m = real_of(cg, type);
  LLVMBool loses;
  LLVMValueRef constant = roc_cg_constant(y);
  double known = constant ? LLVMConstRealGetDouble(constant, &loses) : NAN;
  for (unsigned i = 0; i < NSHORT; i++) {
    if (known == short_exponents[i]) return short_power(&m, x, known);
  }
  V size = unary(&m, "llvm.fabs", x), value = positive_power(&m, size, y);
  if (constant) return special_powers(&m, x, y, size, value);
  bool has_branches = cg->target->facts->is_simt; /* a loop that branches is no vector loop */
  return (has_branches ? power_of_wavefront : any_power)(&m, x, y, size, value);
}
