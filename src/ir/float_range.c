/* See float_range.h.  Bounds are computed in double and moved outwards where that is not exact.
 * Rounding keeps the order of numbers, so a bound that is a number of the type bounds what was
 * rounded as well. */
#include "ir/float_range.h"

#include <math.h>

/* Beyond it bounds are infinite; no float below overflows. */
static const double MOST = 4611686018427387904.0; /* 2^62 */

static double down(double x) {
  return nextafter(x, -INFINITY);
}
static double up(double x) {
  return nextafter(x, INFINITY);
}

static const roc_ir_interval everything = {-INFINITY, INFINITY};

static bool is_finite(roc_ir_interval x) {
  return x.low >= -MOST && x.high <= MOST;
}

/* Not known to be a number. */
static bool is_everything(roc_ir_interval x) {
  return x.low == -INFINITY && x.high == INFINITY;
}

static bool is_exact(double x) {
  return fabs(x) <= 9007199254740992.0; /* 2^53 */
}

roc_ir_interval roc_ir_interval_of_range(roc_ir_range range) {
  roc_ir_interval x = {(double)range.low, (double)range.high};
  if (!is_exact(x.low)) x.low = down(x.low);
  if (!is_exact(x.high)) x.high = up(x.high);
  if (range.low == INT64_MIN) x.low = -INFINITY;
  if (range.high == INT64_MAX) x.high = INFINITY;
  return x;
}

roc_ir_interval roc_ir_interval_of_constant(double value) {
  return isnan(value) ? everything : (roc_ir_interval){value, value};
}

roc_ir_range roc_ir_range_of_interval(roc_ir_interval x) {
  roc_ir_range range = roc_ir_range_all;
  if (x.low >= -MOST && x.low <= MOST) range.low = (int64_t)floor(x.low);
  if (x.high <= MOST && x.high >= -MOST) range.high = (int64_t)ceil(x.high);
  return range;
}

/* To numbers of the type. */
static roc_ir_interval rounded(roc_ir_interval x, roc_value_type type) {
  if (type != ROC_VT_F32 || !is_finite(x)) return x;
  float low = (float)x.low, high = (float)x.high;
  if ((double)low > x.low) low = nextafterf(low, -INFINITY);
  if ((double)high < x.high) high = nextafterf(high, INFINITY);
  return (roc_ir_interval){(double)low, (double)high};
}

static roc_ir_interval add(roc_ir_interval a, roc_ir_interval b) {
  if (!is_finite(a) || !is_finite(b)) return everything;
  roc_ir_interval sum = {a.low + b.low, a.high + b.high};
  bool is_low_exact = sum.low - a.low == b.low && sum.low - b.low == a.low;
  bool is_high_exact = sum.high - a.high == b.high && sum.high - b.high == a.high;
  return (roc_ir_interval){is_low_exact ? sum.low : down(sum.low),
                           is_high_exact ? sum.high : up(sum.high)};
}

static roc_ir_interval negative(roc_ir_interval a) {
  return (roc_ir_interval){-a.high, -a.low};
}

static roc_ir_interval multiply(roc_ir_interval a, roc_ir_interval b) {
  if (!is_finite(a) || !is_finite(b)) return everything;
  const double xs[2] = {a.low, a.high}, ys[2] = {b.low, b.high};
  roc_ir_interval product = {INFINITY, -INFINITY};
  for (int i = 0; i < 4; i++) {
    double x = xs[i & 1], y = ys[i >> 1], corner = x * y, rest = fma(x, y, -corner);
    product.low = fmin(product.low, rest < 0 ? down(corner) : corner);
    product.high = fmax(product.high, rest > 0 ? up(corner) : corner);
  }
  return product;
}

/* By one number, as `x / 2.5`. */
static roc_ir_interval divide(roc_ir_interval a, roc_ir_interval b) {
  if (!is_finite(a) || !is_finite(b) || b.low != b.high || b.low == 0.0) return everything;
  double x = a.low / b.low, y = a.high / b.low;
  roc_ir_interval quotient = {fmin(x, y), fmax(x, y)};
  bool is_whole = fabs(b.low) == 1.0;
  return is_whole ? quotient : (roc_ir_interval){down(quotient.low), up(quotient.high)};
}

/* `b < a and b or a`, which is b only where b is a number. */
static roc_ir_interval least(const roc_ir_float_operand *a, const roc_ir_float_operand *b) {
  if (is_everything(a->value)) return everything;
  double high = is_everything(b->value) ? INFINITY : b->value.high;
  return (roc_ir_interval){fmin(a->value.low, b->if_number.low), fmin(a->value.high, high)};
}

static roc_ir_float_operand negative_operand(const roc_ir_float_operand *a) {
  return (roc_ir_float_operand){negative(a->value), negative(a->if_number)};
}

static roc_ir_interval most(const roc_ir_float_operand *a, const roc_ir_float_operand *b) {
  roc_ir_float_operand x = negative_operand(a), y = negative_operand(b);
  return negative(least(&x, &y));
}

/* When b is a number, the result, if it is one, is bound by both. */
roc_ir_interval roc_ir_interval_if_number(roc_ir_op op, const roc_ir_interval *args) {
  roc_ir_interval a = args[0], b = args[1];
  if (is_everything(b)) return everything;
  if (op == ROC_IR_MIN) return (roc_ir_interval){fmin(a.low, b.low), fmin(a.high, b.high)};
  return (roc_ir_interval){fmax(a.low, b.low), fmax(a.high, b.high)};
}

static roc_ir_interval absolute(roc_ir_interval a) {
  if (is_everything(a) || a.low >= 0.0) return a;
  return (roc_ir_interval){a.high < 0.0 ? -a.high : 0.0, fmax(-a.low, a.high)};
}

static roc_ir_interval apply(roc_ir_op op, uint32_t aux, const roc_ir_float_operand *operands) {
  const roc_ir_interval args[] = {operands[0].value, operands[1].value, operands[2].value};
  switch (op) {
    case ROC_IR_TO_F32:
    case ROC_IR_TO_F64: return is_finite(args[0]) ? args[0] : everything;
    case ROC_IR_ADD: return add(args[0], args[1]);
    case ROC_IR_SUB: return add(args[0], negative(args[1]));
    case ROC_IR_MUL: return multiply(args[0], args[1]);
    case ROC_IR_FDIV: return divide(args[0], args[1]);
    case ROC_IR_NEG: return negative(args[0]);
    case ROC_IR_MIN: return least(&operands[0], &operands[1]);
    case ROC_IR_MAX: return most(&operands[0], &operands[1]);
    case ROC_IR_ABS: return absolute(args[0]);
    default: break;
  }
  bool rounds = op == ROC_IR_FLOOR || op == ROC_IR_CEIL ||
                (op == ROC_IR_MATH && (aux == ROC_IR_MATH_FFLOOR || aux == ROC_IR_MATH_FCEIL));
  if (rounds) { /* to between the integers on both sides; those of 64 bits saturate there */
    return (roc_ir_interval){floor(args[0].low), ceil(args[0].high)};
  }
  if (op == ROC_IR_SELECT) {
    if (is_everything(args[1]) || is_everything(args[2])) return everything;
    return (roc_ir_interval){fmin(args[1].low, args[2].low), fmax(args[1].high, args[2].high)};
  }
  return everything;
}

roc_ir_range roc_ir_float_range_apply(roc_ir_op op, uint32_t aux, roc_value_type type,
                                      const roc_ir_float_operand *args) {
  return roc_ir_range_of_interval(rounded(apply(op, aux, args), type));
}
