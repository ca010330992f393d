/* Element types of arrays, and the four types a value has inside a kernel.
 *
 * The single place that knows how a number becomes an element and back: host stores, dtype calls
 * (`roc.int8(300)`), captured constants and `sim` all go through the functions below, so that
 * every device can be compared with them. */
#ifndef ROC_BASE_DTYPE_H
#define ROC_BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum roc_value_type {
  ROC_VT_NONE, /* no value: the type of a statement */
  ROC_VT_BOOL,
  ROC_VT_INT, /* 64-bit, wraps */
  ROC_VT_F32,
  ROC_VT_F64,
  ROC_VT_COUNT_
} roc_value_type;

typedef enum roc_dtype {
#define ROC_DTYPE(NAME, name, ctype, bytes, kind, vt) ROC_DT_##NAME,
#include "base/dtype.def"
#undef ROC_DTYPE
  ROC_DT_COUNT_
} roc_dtype;

typedef struct roc_dtype_info {
  const char *name;
  uint8_t itemsize; /* bytes; also the alignment */
  char kind;        /* 'b', 'i', 'u', 'f' */
  roc_value_type value_type;
} roc_dtype_info;

extern const roc_dtype_info roc_dtype_table[ROC_DT_COUNT_];

static inline size_t roc_dtype_itemsize(roc_dtype dt) {
  return roc_dtype_table[dt].itemsize;
}
static inline const char *roc_dtype_name(roc_dtype dt) {
  return roc_dtype_table[dt].name;
}
/* False when no dtype has that name. */
bool roc_dtype_from_name(const char *name, size_t len, roc_dtype *out);

/* A number as Lua sees it: an integer, a float, or a boolean. */
typedef struct roc_scalar {
  roc_value_type type; /* BOOL, INT or F64 */
  union {
    bool b;
    int64_t i;
    double f;
  } as;
} roc_scalar;

/* Element -> Lua value.  uint64 keeps its bits as an int64.  `element` need not be aligned. */
roc_scalar roc_dtype_load(roc_dtype dt, const void *element);

/* Lua value -> element by the rules of a *store*: integers wrap; a float into an
 * integer dtype must have an integer representation; one rounding to nearest even into a float
 * dtype, from the value's own type; a boolean only into bool.  False (nothing written) when the
 * rules refuse. */
bool roc_dtype_store(roc_dtype dt, void *element, roc_scalar value);

/* The rules of a *conversion* call such as roc.int8(x): an integer wraps; a float truncates and
 * saturates, NaN gives 0; anything but 0 and false is true for bool.  Total: never refuses.
 * The result is what the converted element loads as. */
roc_scalar roc_dtype_convert(roc_dtype dt, roc_scalar value);

/* Exact, correctly rounded (nearest even) conversions. */
float roc_f32_from_i64(int64_t i);
uint16_t roc_f16_from_f64(double f);
uint16_t roc_bf16_from_f64(double f);
uint16_t roc_f16_from_i64(int64_t i);
uint16_t roc_bf16_from_i64(int64_t i);
float roc_f32_from_f16(uint16_t bits);
float roc_f32_from_bf16(uint16_t bits);
/* Truncates and saturates to int64; NaN gives 0. */
int64_t roc_i64_from_f64_sat(double f);
/* The integer a float represents exactly (Lua's lua_numbertointeger); false when none. */
bool roc_i64_from_f64_exact(double f, int64_t *out);

#endif
