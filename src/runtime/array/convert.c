/* See convert.h.  One function for each pair of dtypes whose elements C has types for. */
#include "runtime/array/convert.h"

/* Of a number: as in C, wrapping. */
#define AS_IS(TO, x) ((TO)(x))
/* Of a float: truncated, saturated, NaN as 0; the bounds of fewer than 64 bits are exact. */
#define SATURATE(TO, x, LEAST, MOST) \
  ((x) != (x) ? 0 : (x) < (LEAST) ? (TO)(LEAST) : (x) > (MOST) ? (TO)(MOST) : (TO)(x))
#define TO_INT8(TO, x) SATURATE(TO, x, INT8_MIN, INT8_MAX)
#define TO_INT16(TO, x) SATURATE(TO, x, INT16_MIN, INT16_MAX)
#define TO_INT32(TO, x) SATURATE(TO, (double)(x), INT32_MIN, INT32_MAX)
#define TO_UINT8(TO, x) SATURATE(TO, x, 0, UINT8_MAX)
#define TO_UINT16(TO, x) SATURATE(TO, x, 0, UINT16_MAX)
#define TO_UINT32(TO, x) SATURATE(TO, (double)(x), 0, UINT32_MAX)
#define TO_INT64(TO, x) roc_i64_from_f64_sat((double)(x))
#define TO_UINT64(TO, x) (!((x) > 0) ? 0 : (x) >= 0x1p64 ? UINT64_MAX : (TO)(x))
#define IS_TRUE(TO, x) ((x) != 0)

/* A constant step lets the compiler take several elements at once. */
#define CONVERT(from, FROM, to, TO, OF)                                                   \
  static void from##_##to(char *dst, int64_t dst_step, const char *src, int64_t src_step, \
                          int64_t n) {                                                    \
    if (dst_step == sizeof(TO) && src_step == sizeof(FROM)) {                             \
      const FROM *x = (const FROM *)src;                                                  \
      TO *y = (TO *)dst;                                                                  \
      for (int64_t i = 0; i < n; i++) y[i] = OF(TO, x[i]);                                \
    } else {                                                                              \
      for (int64_t i = 0; i < n; i++) {                                                   \
        *(TO *)(dst + i * dst_step) = OF(TO, *(const FROM *)(src + i * src_step));        \
      }                                                                                   \
    }                                                                                     \
  }

/* To every dtype; by which macro an integer of each is made, and a float. */
#define OF_ALL(from, FROM, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, FLOAT) \
  CONVERT(from, FROM, bool, uint8_t, IS_TRUE)                                               \
  CONVERT(from, FROM, int8, int8_t, INT8)                                                   \
  CONVERT(from, FROM, int16, int16_t, INT16)                                                \
  CONVERT(from, FROM, int32, int32_t, INT32)                                                \
  CONVERT(from, FROM, int64, int64_t, INT64)                                                \
  CONVERT(from, FROM, uint8, uint8_t, UINT8)                                                \
  CONVERT(from, FROM, uint16, uint16_t, UINT16)                                             \
  CONVERT(from, FROM, uint32, uint32_t, UINT32)                                             \
  CONVERT(from, FROM, uint64, uint64_t, UINT64)                                             \
  CONVERT(from, FROM, float32, float, FLOAT)                                                \
  CONVERT(from, FROM, float64, double, FLOAT)
#define BY(from, FROM, OF) OF_ALL(from, FROM, OF, OF, OF, OF, OF, OF, OF, OF, OF)
#define SATURATED(from, FROM)                                                               \
  OF_ALL(from, FROM, TO_INT8, TO_INT16, TO_INT32, TO_INT64, TO_UINT8, TO_UINT16, TO_UINT32, \
         TO_UINT64, AS_IS)

BY(truth, uint8_t, IS_TRUE) /* `bool` is a macro */
BY(int8, int8_t, AS_IS)
BY(int16, int16_t, AS_IS)
BY(int32, int32_t, AS_IS)
BY(int64, int64_t, AS_IS)
BY(uint8, uint8_t, AS_IS)
BY(uint16, uint16_t, AS_IS)
BY(uint32, uint32_t, AS_IS)
BY(uint64, uint64_t, AS_IS)
SATURATED(float32, float)
SATURATED(float64, double)

#define ROW(from)                                                                                \
  {                                                                                              \
    [ROC_DT_BOOL] = from##_bool, [ROC_DT_INT8] = from##_int8, [ROC_DT_INT16] = from##_int16,     \
    [ROC_DT_INT32] = from##_int32, [ROC_DT_INT64] = from##_int64, [ROC_DT_UINT8] = from##_uint8, \
    [ROC_DT_UINT16] = from##_uint16, [ROC_DT_UINT32] = from##_uint32,                            \
    [ROC_DT_UINT64] = from##_uint64, [ROC_DT_FLOAT32] = from##_float32,                          \
    [ROC_DT_FLOAT64] = from##_float64                                                            \
  }

roc_convert_run *roc_convert_run_of(roc_dtype from, roc_dtype to) {
  static roc_convert_run *const runs[ROC_DT_COUNT_][ROC_DT_COUNT_] = {
      [ROC_DT_BOOL] = ROW(truth),      [ROC_DT_INT8] = ROW(int8),
      [ROC_DT_INT16] = ROW(int16),     [ROC_DT_INT32] = ROW(int32),
      [ROC_DT_INT64] = ROW(int64),     [ROC_DT_UINT8] = ROW(uint8),
      [ROC_DT_UINT16] = ROW(uint16),   [ROC_DT_UINT32] = ROW(uint32),
      [ROC_DT_UINT64] = ROW(uint64),   [ROC_DT_FLOAT32] = ROW(float32),
      [ROC_DT_FLOAT64] = ROW(float64),
  };
  return runs[from][to];
}
