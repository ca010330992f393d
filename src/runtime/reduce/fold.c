/* See fold.h.  With AVX2, but without FMA: no product and sum may become one. */
#include "runtime/reduce/fold.h"

#include <string.h>

#include "base/cpu_level.h"

#define PLAIN
#if defined(__x86_64__)
#define WIDE __attribute__((target("avx2")))
#define HAS_WIDE (roc_cpu_level() >= ROC_CPU_AVX2)
#else
#define WIDE
#define HAS_WIDE false
#endif

#define TARGET PLAIN
#define T int64_t
#define PLACE uint64_t
#define IS_NAN(x) false
#define ARE_NAN(x, y) false
#define NAME(name) name##_i64
#include "runtime/reduce/fold.def"
#undef T
#undef PLACE
#undef NAME
#define T uint64_t
#define PLACE uint64_t
#define NAME(name) name##_u64
#include "runtime/reduce/fold.def"
#undef T
#undef PLACE
#undef IS_NAN
#undef ARE_NAN
#undef NAME
#define T float
#define PLACE uint32_t
#define IS_NAN(x) ((x) != (x))
#define ARE_NAN(x, y) __builtin_isunordered(x, y)
#define NAME(name) name##_f32
#include "runtime/reduce/fold.def"
#undef T
#undef PLACE
#undef NAME
#define T double
#define PLACE uint64_t
#define NAME(name) name##_f64
#include "runtime/reduce/fold.def"
#undef TARGET
#undef T
#undef PLACE
#undef IS_NAN
#undef ARE_NAN
#undef NAME

#define TARGET WIDE
#define T int64_t
#define PLACE uint64_t
#define IS_NAN(x) false
#define ARE_NAN(x, y) false
#define NAME(name) name##_i64_wide
#include "runtime/reduce/fold.def"
#undef T
#undef PLACE
#undef NAME
#define T uint64_t
#define PLACE uint64_t
#define NAME(name) name##_u64_wide
#include "runtime/reduce/fold.def"
#undef T
#undef PLACE
#undef IS_NAN
#undef ARE_NAN
#undef NAME
#define T float
#define PLACE uint32_t
#define IS_NAN(x) ((x) != (x))
#define ARE_NAN(x, y) __builtin_isunordered(x, y)
#define NAME(name) name##_f32_wide
#include "runtime/reduce/fold.def"
#undef T
#undef PLACE
#undef NAME
#define T double
#define PLACE uint64_t
#define NAME(name) name##_f64_wide
#include "runtime/reduce/fold.def"

const fold_functions *roc_fold_functions_of(roc_dtype cls) {
  bool is_wide = HAS_WIDE;
  switch (cls) {
    case ROC_DT_INT64: return is_wide ? &functions_i64_wide : &functions_i64;
    case ROC_DT_UINT64: return is_wide ? &functions_u64_wide : &functions_u64;
    case ROC_DT_FLOAT32: return is_wide ? &functions_f32_wide : &functions_f32;
    default: return is_wide ? &functions_f64_wide : &functions_f64;
  }
}

/* ---- conversions --------------------------------------------------------------------------- */

#define AS_IS(x) (x)
#define CONVERT(name, FROM, LOAD, TO)                                                \
  static void convert_##name(const void *from, int64_t stride, size_t n, void *to) { \
    const FROM *x = from;                                                            \
    TO *y = to;                                                                      \
    if (stride == 1) {                                                               \
      for (size_t i = 0; i < n; i++) y[i] = (TO)LOAD(x[i]);                          \
    } else {                                                                         \
      for (size_t i = 0; i < n; i++) y[i] = (TO)LOAD(x[(int64_t)i * stride]);        \
    }                                                                                \
  }

#define INTEGER(name, FROM)                     \
  CONVERT(name##_integer, FROM, AS_IS, int64_t) \
  CONVERT(name##_float, FROM, AS_IS, double)
INTEGER(int8, int8_t)
INTEGER(int16, int16_t)
INTEGER(int32, int32_t)
INTEGER(int64, int64_t)
INTEGER(uint8, uint8_t)
INTEGER(uint16, uint16_t)
INTEGER(uint32, uint32_t)
INTEGER(uint64, uint64_t)

static inline int64_t is_true(uint8_t x) {
  return x != 0;
}

CONVERT(bool, uint8_t, is_true, int64_t)
CONVERT(float16, uint16_t, roc_f32_from_f16, float)
CONVERT(bfloat16, uint16_t, roc_f32_from_bf16, float)
CONVERT(float32, float, AS_IS, float)
CONVERT(float64, double, AS_IS, double)

#define OF_INTEGER(NAME, name) [ROC_DT_##NAME] = {convert_##name##_integer, convert_##name##_float}

roc_fold_convert roc_fold_convert_of(roc_dtype dtype, roc_dtype cls) {
  static const roc_fold_convert conversions[ROC_DT_COUNT_][2] = {
      [ROC_DT_BOOL] = {convert_bool},
      OF_INTEGER(INT8, int8),
      OF_INTEGER(INT16, int16),
      OF_INTEGER(INT32, int32),
      OF_INTEGER(INT64, int64),
      OF_INTEGER(UINT8, uint8),
      OF_INTEGER(UINT16, uint16),
      OF_INTEGER(UINT32, uint32),
      OF_INTEGER(UINT64, uint64),
      [ROC_DT_FLOAT16] = {NULL, convert_float16},
      [ROC_DT_BFLOAT16] = {NULL, convert_bfloat16},
      [ROC_DT_FLOAT32] = {NULL, convert_float32},
      [ROC_DT_FLOAT64] = {NULL, convert_float64},
  };
  return conversions[dtype][roc_dtype_table[cls].kind == 'f'];
}
