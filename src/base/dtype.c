/* Element types: names, and the exact conversions between numbers and elements.
 *
 * Everything that turns a number into an element and back ends here (see dtype.h), so each
 * narrowing rounds exactly once, from the value's own type.  The small float formats are rounded in
 * integer arithmetic: going through float32 first would round twice. */
#include "base/dtype.h"

#include <math.h>
#include <string.h>

const roc_dtype_info roc_dtype_table[ROC_DT_COUNT_] = {
#define ROC_DTYPE(NAME, name, ctype, bytes, kind, vt) {name, bytes, kind, ROC_VT_##vt},
#include "base/dtype.def"
#undef ROC_DTYPE
};

bool roc_dtype_from_name(const char *name, size_t len, roc_dtype *out) {
  for (int dt = 0; dt < ROC_DT_COUNT_; dt++) {
    const char *candidate = roc_dtype_table[dt].name;
    if (strlen(candidate) == len && memcmp(candidate, name, len) == 0) {
      *out = (roc_dtype)dt;
      return true;
    }
  }
  return false;
}

/* ---- small floats ------------------------------------------------------------------------ */

/* An IEEE-like binary format below 32 bits. */
typedef struct small_format {
  int mantissa_bits, exponent_bits;
} small_format;

static const small_format half_format = {10, 5}, bfloat_format = {7, 8};

static uint16_t infinity_of(small_format f) {
  return (uint16_t)(((1u << f.exponent_bits) - 1) << f.mantissa_bits);
}

/* m >> shift, rounded to nearest even; shift > 0. */
static uint64_t shift_right_even(uint64_t m, int shift) {
  if (shift > 64) return 0;
  uint64_t half = UINT64_C(1) << (shift - 1);
  uint64_t kept = shift == 64 ? 0 : m >> shift;
  uint64_t dropped = shift == 64 ? m : m & ((UINT64_C(1) << shift) - 1);
  return kept + (dropped > half || (dropped == half && (kept & 1)));
}

/* The bits nearest to m * 2^e, without a sign. */
static uint16_t round_magnitude(small_format f, uint64_t m, int e) {
  if (m == 0) return 0;
  int bias = (1 << (f.exponent_bits - 1)) - 1;
  int exponent = e + 63 - __builtin_clzll(m);
  bool subnormal = exponent < 1 - bias;
  /* 2^last is the weight of the result's last bit. */
  int last = (subnormal ? 1 - bias : exponent) - f.mantissa_bits;
  uint64_t q = last <= e ? m << (e - last) : shift_right_even(m, last - e);
  if (exponent > bias) return infinity_of(f);
  /* q holds the implicit bit of a normal number, which adds one to the exponent field; a carry out
   * of the rounding does the same, up to infinity. */
  uint64_t field = subnormal ? 0 : (uint64_t)(exponent + bias - 1);
  return (uint16_t)((field << f.mantissa_bits) + q);
}

static uint16_t small_from_f64(small_format f, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint16_t sign = (uint16_t)(bits >> 63 << 15);
  int exponent = (int)(bits >> 52 & 0x7ff);
  uint64_t mantissa = bits & ((UINT64_C(1) << 52) - 1);
  if (exponent == 0x7ff) {
    uint16_t quiet = mantissa ? (uint16_t)(1u << (f.mantissa_bits - 1)) : 0;
    return (uint16_t)(sign | infinity_of(f) | quiet);
  }
  if (exponent == 0) {
    exponent = 1;
  } else {
    mantissa |= UINT64_C(1) << 52;
  }
  return (uint16_t)(sign | round_magnitude(f, mantissa, exponent - 1075));
}

static uint16_t small_from_i64(small_format f, int64_t i) {
  uint64_t magnitude = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
  uint16_t bits = round_magnitude(f, magnitude, 0);
  return (uint16_t)(bits | (i < 0 ? 0x8000 : 0));
}

float roc_f32_from_i64(int64_t i) {
  return (float)i;
}
uint16_t roc_f16_from_f64(double f) {
  return small_from_f64(half_format, f);
}
uint16_t roc_bf16_from_f64(double f) {
  return small_from_f64(bfloat_format, f);
}
uint16_t roc_f16_from_i64(int64_t i) {
  return small_from_i64(half_format, i);
}
uint16_t roc_bf16_from_i64(int64_t i) {
  return small_from_i64(bfloat_format, i);
}

float roc_f32_from_bf16(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float f;
  memcpy(&f, &wide, sizeof f);
  return f;
}

float roc_f32_from_f16(uint16_t bits) {
  uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
  uint32_t exponent = bits >> 10 & 0x1f, mantissa = bits & 0x3ff;
  if (exponent == 0) {
    float f = (float)mantissa * 0x1p-24f;
    return sign ? -f : f;
  }
  exponent = exponent == 0x1f ? 0xff : exponent + 112;
  uint32_t wide = sign | exponent << 23 | mantissa << 13;
  float f;
  memcpy(&f, &wide, sizeof f);
  return f;
}

/* ---- integers and floats ----------------------------------------------------------------- */

int64_t roc_i64_from_f64_sat(double f) {
  if (isnan(f)) return 0;
  if (f >= 0x1p63) return INT64_MAX;
  if (f < -0x1p63) return INT64_MIN;
  return (int64_t)f;
}

bool roc_i64_from_f64_exact(double f, int64_t *out) {
  if (!(f >= -0x1p63 && f < 0x1p63) || f != floor(f)) return false;
  *out = (int64_t)f;
  return true;
}

static uint64_t u64_from_f64_sat(double f) {
  if (!(f > 0)) return 0;
  return f >= 0x1p64 ? UINT64_MAX : (uint64_t)f;
}

/* A float as an integer of the dtype's width and sign: truncated, saturated, as int64 bits. */
static int64_t saturate_to(roc_dtype dt, double f) {
  int bits = roc_dtype_table[dt].itemsize * 8;
  if (roc_dtype_table[dt].kind == 'u') {
    uint64_t u = u64_from_f64_sat(f), max = UINT64_MAX >> (64 - bits);
    return (int64_t)(u < max ? u : max);
  }
  int64_t i = roc_i64_from_f64_sat(f), max = INT64_MAX >> (64 - bits);
  return i > max ? max : i < -max - 1 ? -max - 1 : i;
}

/* ---- elements ---------------------------------------------------------------------------- */

static roc_scalar scalar_bool(bool b) {
  return (roc_scalar){ROC_VT_BOOL, {.b = b}};
}
static roc_scalar scalar_int(int64_t i) {
  return (roc_scalar){ROC_VT_INT, {.i = i}};
}
static roc_scalar scalar_float(double f) {
  return (roc_scalar){ROC_VT_F64, {.f = f}};
}

/* Reads the element as its C storage type; memcpy because it need not be aligned. */
#define LOAD_AS(ctype, wrap)                 \
  do {                                       \
    ctype value_;                            \
    memcpy(&value_, element, sizeof value_); \
    return wrap(value_);                     \
  } while (0)
#define INT_OF(value) scalar_int((int64_t)(value))
#define BOOL_OF(value) scalar_bool((value) != 0)
#define HALF_OF(value) scalar_float((double)roc_f32_from_f16(value))
#define BFLOAT_OF(value) scalar_float((double)roc_f32_from_bf16(value))
#define FLOAT_OF(value) scalar_float((double)(value))

roc_scalar roc_dtype_load(roc_dtype dt, const void *element) {
  switch (dt) {
    case ROC_DT_BOOL: LOAD_AS(uint8_t, BOOL_OF);
    case ROC_DT_INT8: LOAD_AS(int8_t, INT_OF);
    case ROC_DT_INT16: LOAD_AS(int16_t, INT_OF);
    case ROC_DT_INT32: LOAD_AS(int32_t, INT_OF);
    case ROC_DT_INT64: LOAD_AS(int64_t, INT_OF);
    case ROC_DT_UINT8: LOAD_AS(uint8_t, INT_OF);
    case ROC_DT_UINT16: LOAD_AS(uint16_t, INT_OF);
    case ROC_DT_UINT32: LOAD_AS(uint32_t, INT_OF);
    case ROC_DT_UINT64: LOAD_AS(uint64_t, INT_OF);
    case ROC_DT_FLOAT16: LOAD_AS(uint16_t, HALF_OF);
    case ROC_DT_BFLOAT16: LOAD_AS(uint16_t, BFLOAT_OF);
    case ROC_DT_FLOAT32: LOAD_AS(float, FLOAT_OF);
    case ROC_DT_FLOAT64: LOAD_AS(double, FLOAT_OF);
    case ROC_DT_COUNT_: break;
  }
  return (roc_scalar){ROC_VT_NONE, {.i = 0}};
}

/* The low bytes of an integer: wrapping is cutting (two's complement, little-endian hosts). */
static void store_low_bytes(roc_dtype dt, void *element, int64_t i) {
  memcpy(element, &i, roc_dtype_table[dt].itemsize);
}

static void store_f32(void *element, float f) {
  memcpy(element, &f, sizeof f);
}
static void store_f64(void *element, double f) {
  memcpy(element, &f, sizeof f);
}
static void store_u16(void *element, uint16_t bits) {
  memcpy(element, &bits, sizeof bits);
}

/* Listed, so that the compiler asks about a new dtype. */
#define NOT_FLOATS    \
  case ROC_DT_BOOL:   \
  case ROC_DT_INT8:   \
  case ROC_DT_INT16:  \
  case ROC_DT_INT32:  \
  case ROC_DT_INT64:  \
  case ROC_DT_UINT8:  \
  case ROC_DT_UINT16: \
  case ROC_DT_UINT32: \
  case ROC_DT_UINT64: \
  case ROC_DT_COUNT_

static void store_float(roc_dtype dt, void *element, double f) {
  switch (dt) {
    case ROC_DT_FLOAT64: store_f64(element, f); break;
    case ROC_DT_FLOAT32: store_f32(element, (float)f); break;
    case ROC_DT_FLOAT16: store_u16(element, roc_f16_from_f64(f)); break;
    case ROC_DT_BFLOAT16:
      store_u16(element, roc_bf16_from_f64(f));
      break;
    NOT_FLOATS:
      break;
  }
}

static void store_int_as_float(roc_dtype dt, void *element, int64_t i) {
  switch (dt) {
    case ROC_DT_FLOAT64: store_f64(element, (double)i); break;
    case ROC_DT_FLOAT32: store_f32(element, roc_f32_from_i64(i)); break;
    case ROC_DT_FLOAT16: store_u16(element, roc_f16_from_i64(i)); break;
    case ROC_DT_BFLOAT16:
      store_u16(element, roc_bf16_from_i64(i));
      break;
    NOT_FLOATS:
      break;
  }
}

bool roc_dtype_store(roc_dtype dt, void *element, roc_scalar value) {
  char kind = roc_dtype_table[dt].kind;
  if ((kind == 'b') != (value.type == ROC_VT_BOOL)) return false;
  if (kind == 'b') {
    *(uint8_t *)element = value.as.b;
    return true;
  }
  if (value.type == ROC_VT_INT) {
    if (kind == 'f') {
      store_int_as_float(dt, element, value.as.i);
    } else {
      store_low_bytes(dt, element, value.as.i);
    }
    return true;
  }
  if (kind == 'f') {
    store_float(dt, element, value.as.f);
    return true;
  }
  int64_t exact;
  if (!roc_i64_from_f64_exact(value.as.f, &exact)) return false;
  store_low_bytes(dt, element, exact);
  return true;
}

/* Anything but 0 and false is true. */
static bool is_truthy(roc_scalar value) {
  switch (value.type) {
    case ROC_VT_BOOL: return value.as.b;
    case ROC_VT_INT: return value.as.i != 0;
    default: return value.as.f != 0; /* true for NaN */
  }
}

roc_scalar roc_dtype_convert(roc_dtype dt, roc_scalar value) {
  char kind = roc_dtype_table[dt].kind;
  if (kind == 'b') return scalar_bool(is_truthy(value));
  if (value.type == ROC_VT_BOOL) value = scalar_int(value.as.b);
  if (kind != 'f' && value.type == ROC_VT_F64) return scalar_int(saturate_to(dt, value.as.f));
  unsigned char element[8];
  roc_dtype_store(dt, element, value);
  return roc_dtype_load(dt, element);
}
