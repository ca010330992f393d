/* See range.h. */
#include "ir/range.h"

#include "base/target.h"

const roc_ir_range roc_ir_range_all = {INT64_MIN, INT64_MAX};

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

roc_ir_range roc_ir_range_meet(roc_ir_range a, roc_ir_range b) {
  return (roc_ir_range){larger(a.low, b.low), smaller(a.high, b.high)};
}

roc_ir_range roc_ir_range_join(roc_ir_range a, roc_ir_range b) {
  return (roc_ir_range){smaller(a.low, b.low), larger(a.high, b.high)};
}

roc_ir_range roc_ir_range_of_dtype(roc_dtype dtype) {
  const roc_dtype_info *info = &roc_dtype_table[dtype];
  if (info->value_type != ROC_VT_INT || info->itemsize == 8) return roc_ir_range_all;
  int bits = info->itemsize * 8;
  if (info->kind == 'u') return (roc_ir_range){0, ((int64_t)1 << bits) - 1};
  int64_t half = (int64_t)1 << (bits - 1);
  return (roc_ir_range){-half, half - 1};
}

static roc_ir_range add(roc_ir_range a, roc_ir_range b) {
  roc_ir_range sum;
  if (__builtin_add_overflow(a.low, b.low, &sum.low)) return roc_ir_range_all;
  if (__builtin_add_overflow(a.high, b.high, &sum.high)) return roc_ir_range_all;
  return sum;
}

static roc_ir_range subtract(roc_ir_range a, roc_ir_range b) {
  roc_ir_range difference;
  if (__builtin_sub_overflow(a.low, b.high, &difference.low)) return roc_ir_range_all;
  if (__builtin_sub_overflow(a.high, b.low, &difference.high)) return roc_ir_range_all;
  return difference;
}

static roc_ir_range multiply(roc_ir_range a, roc_ir_range b) {
  const int64_t xs[2] = {a.low, a.high}, ys[2] = {b.low, b.high};
  roc_ir_range product = {INT64_MAX, INT64_MIN};
  for (int i = 0; i < 4; i++) {
    int64_t corner;
    if (__builtin_mul_overflow(xs[i & 1], ys[i >> 1], &corner)) return roc_ir_range_all;
    product = roc_ir_range_join(product, (roc_ir_range){corner, corner});
  }
  return product;
}

static int64_t floor_divide(int64_t a, int64_t b) { /* b > 0 */
  return a / b - (a % b < 0);
}

static roc_ir_range divide(roc_ir_range a, roc_ir_range b) {
  if (b.low == 0 && b.high > 0) { /* by 0: 0 */
    return roc_ir_range_join(divide(a, (roc_ir_range){1, b.high}), (roc_ir_range){0, 0});
  }
  if (b.low <= 0 || b.low > b.high) return roc_ir_range_all;
  roc_ir_range by_low = {floor_divide(a.low, b.low), floor_divide(a.high, b.low)};
  roc_ir_range by_high = {floor_divide(a.low, b.high), floor_divide(a.high, b.high)};
  return roc_ir_range_join(by_low, by_high);
}

static roc_ir_range modulo(roc_ir_range a, roc_ir_range b) {
  if (b.low < 0 || b.low > b.high) return roc_ir_range_all;
  int64_t most = larger(b.high - 1, 0); /* by 0: 0 */
  return (roc_ir_range){0, a.low >= 0 ? smaller(a.high, most) : most};
}

/* The number of ones that covers one of these, none of which is negative. */
static int64_t ones_over(int64_t most) {
  return most ? (int64_t)(UINT64_MAX >> __builtin_clzll((uint64_t)most)) : 0;
}

static roc_ir_range bitwise_and(roc_ir_range a, roc_ir_range b) {
  if (a.low == a.high && b.low != b.high) return bitwise_and(b, a);
  if (a.low == a.high && b.low == b.high) return (roc_ir_range){a.low & b.low, a.low & b.low};
  bool is_mask = b.low == b.high && a.low >= 0;
  if (is_mask) return (roc_ir_range){0, smaller(a.high, ones_over(a.high) & b.low)};
  if (a.low >= 0 && b.low >= 0) return (roc_ir_range){0, smaller(a.high, b.high)};
  if (a.low >= 0) return (roc_ir_range){0, a.high};
  if (b.low >= 0) return (roc_ir_range){0, b.high};
  return roc_ir_range_all;
}

/* All ones up to the highest one of either. */
static roc_ir_range bitwise_or(roc_ir_range a, roc_ir_range b, bool is_xor) {
  if (a.low < 0 || b.low < 0) return roc_ir_range_all;
  return (roc_ir_range){is_xor ? 0 : larger(a.low, b.low), ones_over(larger(a.high, b.high))};
}

static roc_ir_range shift_left(roc_ir_range a, roc_ir_range by) {
  if (by.low < 0 || by.high > 62 || by.low > by.high) return roc_ir_range_all;
  return multiply(a, (roc_ir_range){(int64_t)1 << by.low, (int64_t)1 << by.high});
}

/* By 64 and more gives 0. */
static roc_ir_range shift_right(roc_ir_range a, roc_ir_range by) {
  if (by.low < 0 || by.low > by.high) return roc_ir_range_all;
  if (a.low >= 0) {
    int64_t low = by.high > 62 ? 0 : a.low >> by.high;
    return (roc_ir_range){low, by.low > 62 ? 0 : a.high >> by.low};
  }
  if (by.low == 0) return roc_ir_range_all;
  return (roc_ir_range){0, by.low > 63 ? 0 : (int64_t)(UINT64_MAX >> by.low)};
}

static roc_ir_range absolute(roc_ir_range a) {
  if (a.low == INT64_MIN) return roc_ir_range_all;
  if (a.low >= 0) return a;
  return (roc_ir_range){a.high < 0 ? -a.high : 0, larger(-a.low, a.high)};
}

static roc_ir_range convert(roc_dtype dtype, roc_ir_range a) {
  roc_ir_range all = roc_ir_range_of_dtype(dtype);
  return a.low >= all.low && a.high <= all.high ? a : all;
}

roc_ir_range roc_ir_range_apply(roc_ir_op op, uint32_t aux, const roc_ir_range *args) {
  switch (op) {
    case ROC_IR_ADD: return add(args[0], args[1]);
    case ROC_IR_SUB: return subtract(args[0], args[1]);
    case ROC_IR_MUL: return multiply(args[0], args[1]);
    case ROC_IR_NEG: return subtract((roc_ir_range){0, 0}, args[0]);
    case ROC_IR_FLOORDIV: return divide(args[0], args[1]);
    case ROC_IR_MOD: return modulo(args[0], args[1]);
    case ROC_IR_BAND: return bitwise_and(args[0], args[1]);
    case ROC_IR_BOR: return bitwise_or(args[0], args[1], false);
    case ROC_IR_BXOR: return bitwise_or(args[0], args[1], true);
    case ROC_IR_BNOT: return subtract((roc_ir_range){-1, -1}, args[0]);
    case ROC_IR_SHL: return shift_left(args[0], args[1]);
    case ROC_IR_SHR: return shift_right(args[0], args[1]);
    case ROC_IR_ABS: return absolute(args[0]);
    case ROC_IR_CONVERT: return convert((roc_dtype)aux, args[0]);
    case ROC_IR_SELECT: return roc_ir_range_join(args[1], args[2]);
    case ROC_IR_OPAQUE: return args[0];
    case ROC_IR_BITS: return aux == ROC_IR_BITREVERSE ? roc_ir_range_all : (roc_ir_range){0, 64};
    case ROC_IR_MIN:
      return (roc_ir_range){smaller(args[0].low, args[1].low), smaller(args[0].high, args[1].high)};
    case ROC_IR_MAX:
      return (roc_ir_range){larger(args[0].low, args[1].low), larger(args[0].high, args[1].high)};
    default: return roc_ir_range_all;
  }
}

/* No grid is walked to its 2^62nd item; so id + small constant does not wrap. */
const roc_ir_launch_limits roc_ir_limits_any = {(int64_t)1 << 62, INT64_MAX, UINT32_MAX};
const roc_ir_launch_limits roc_ir_limits_gpu = {UINT32_MAX, UINT32_MAX, ROC_SIMT_MAX_WORKGROUP};

/* Of a workgroup in one dimension: of which a promise leaves those out that have one. */
static int64_t most_items(const roc_ir_module *m, const roc_ir_launch_limits *limits,
                          uint32_t dim) {
  if (!m->workgroup[0] || dim >= 3) return limits->workgroup;
  return smaller(m->workgroup[dim] ? m->workgroup[dim] : 1, limits->workgroup);
}

/* Of ids and sizes of the grid, in work-items or, of groups, workgroups. */
static roc_ir_range of_grid(const roc_ir_module *m, int64_t most, uint32_t dim, bool is_of_groups) {
  if (!m->is_workgroup_exact) return (roc_ir_range){1, most};
  int64_t size = is_of_groups ? most_items(m, &roc_ir_limits_gpu, dim) : 1;
  return (roc_ir_range){1, (ROC_IR_EXACT_ITEMS + size - 1) / size};
}

roc_ir_range roc_ir_range_of_query(const roc_ir_module *m, const roc_ir_launch_limits *limits,
                                   roc_ir_op op, uint32_t dim) {
  switch (op) {
    case ROC_IR_GLOBAL_ID: return of_grid(m, limits->ids, dim, false);
    case ROC_IR_GROUP_ID: return of_grid(m, limits->ids, dim, true);
    case ROC_IR_LOCAL_ID: return (roc_ir_range){1, most_items(m, limits, dim)};
    case ROC_IR_LOCAL_SIZE:
      return (roc_ir_range){m->is_workgroup_exact ? most_items(m, limits, dim) : 1,
                            most_items(m, limits, dim)};
    case ROC_IR_GLOBAL_SIZE: return of_grid(m, limits->sizes, dim, false);
    case ROC_IR_NUM_GROUPS: return of_grid(m, limits->sizes, dim, true);
    case ROC_IR_WORK_DIM: return (roc_ir_range){1, 3};
    case ROC_IR_WAVE_SIZE: return (roc_ir_range){32, 64};
    case ROC_IR_LANE_ID: return (roc_ir_range){1, 64};
    default: return roc_ir_range_all;
  }
}
