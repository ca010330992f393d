/* See call.h. */
#include "runtime/linalg/call.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"

roc_status roc_linalg_library(const char **out_name, roc_error *err) {
  const roc_lapack *lapack;
  ROC_TRY(roc_lapack_open(&lapack, err));
  *out_name = lapack->name;
  return ROC_OK;
}

static roc_status check_size(const roc_linalg_call *call, int64_t size, roc_error *err) {
  if (call->lapack->has_wide_integers || size <= INT32_MAX) return ROC_OK;
  return roc_fail(err, ROC_UNSUPPORTED,
                  "%s has integers of 32 bits, too small for these matrices; install "
                  "libopenblas64-0 and set ROCLUA_LAPACK_LIBRARY=libopenblas64.so.0",
                  call->lapack->name);
}

/* Multiplications from which on several threads are quicker. */
static const double LARGE = 1 << 30;

roc_status roc_linalg_begin(roc_linalg_call *call, roc_linalg *stack, int64_t rows, int64_t columns,
                            int64_t depth, int64_t extent, roc_error *err) {
  *call = (roc_linalg_call){.stack = stack, .itemsize = roc_dtype_itemsize(stack->dtype)};
  ROC_TRY(roc_lapack_open(&call->lapack, err));
  bool is_double = stack->dtype == ROC_DT_FLOAT64;
  call->f = is_double ? &call->lapack->float64 : &call->lapack->float32;
  ROC_TRY(check_size(call, extent, err));
  call->is_large = (double)rows * (double)columns * (double)depth >= LARGE;
  call->is_inside = true;
  roc_lapack_enter(call->is_large);
  return ROC_OK;
}

void roc_linalg_end(roc_linalg_call *call) {
  if (call->is_inside) roc_lapack_leave(call->is_large);
  roc_free(call->work);
  roc_free(call->tau);
  roc_free(call->integers);
}

static roc_status take(size_t size, size_t itemsize, void **out_memory, roc_error *err) {
  *out_memory = size > SIZE_MAX / itemsize ? NULL : roc_alloc((size ? size : 1) * itemsize);
  if (*out_memory) return ROC_OK;
  return roc_fail(err, ROC_OOM, "out of memory for the work of LAPACK");
}

roc_status roc_linalg_take_tau(roc_linalg_call *call, int64_t size, roc_error *err) {
  return take((size_t)size, call->itemsize, &call->tau, err);
}

roc_status roc_linalg_take_integers(roc_linalg_call *call, int64_t nintegers, roc_error *err) {
  void *memory;
  roc_free(call->integers);
  call->integers = NULL;
  ROC_TRY(take((size_t)nintegers, sizeof *call->integers, &memory, err));
  call->integers = memory;
  return ROC_OK;
}

static double element(roc_dtype dtype, const void *at) {
  return dtype == ROC_DT_FLOAT64 ? *(const double *)at : (double)*(const float *)at;
}

roc_status roc_linalg_take_work(roc_linalg_call *call, const void *answer, roc_error *err) {
  double told = element(call->stack->dtype, answer);
  /* an answer in float32 may be rounded down */
  int64_t size = (int64_t)ceil(told * (1 + 0x1p-23)) + 1;
  if (size <= call->work_size) return ROC_OK;
  ROC_TRY(check_size(call, size, err));
  roc_free(call->work);
  call->work = NULL;
  ROC_TRY(take((size_t)size, call->itemsize, &call->work, err));
  call->work_size = size;
  return ROC_OK;
}

int64_t roc_linalg_take_info(roc_linalg_call *call) {
  int64_t info = roc_lapack_value(call->lapack, &call->info, 0);
  call->info = 0;
  return info;
}

roc_status roc_linalg_refuse(roc_linalg_call *call, int64_t i, roc_error *err, const char *format,
                             ...) {
  call->stack->failed = i;
  va_list args;
  va_start(args, format);
  roc_status status = roc_failv(err, ROC_INVALID, format, args);
  va_end(args);
  return status;
}

/* The place of the first element that is not finite; -1: there is none. */
static int64_t find_not_finite(roc_dtype dtype, const void *elements, int64_t n) {
  int64_t i = 0;
  if (dtype == ROC_DT_FLOAT64) {
    for (const double *x = elements; i < n && isfinite(x[i]); i++) {
    }
  } else {
    for (const float *x = elements; i < n && isfinite(x[i]); i++) {
    }
  }
  return i < n ? i : -1;
}

roc_status roc_linalg_check_finite(roc_linalg_call *call, int64_t i, const roc_linalg_part *part,
                                   roc_error *err) {
  for (int64_t row = 0; row < part->rows; row++) {
    int64_t n = part->lower && row + 1 < part->columns ? row + 1 : part->columns;
    const char *begin = (const char *)part->elements + row * part->stride * (int64_t)call->itemsize;
    int64_t column = find_not_finite(call->stack->dtype, begin, n);
    if (column >= 0) {
      double value = element(call->stack->dtype, begin + column * (int64_t)call->itemsize);
      const char *shown = isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
      return roc_linalg_refuse(call, i, err, "has %s at {%" PRId64 ", %" PRId64 "}", shown,
                               (part->transposed ? column : row) + 1,
                               (part->transposed ? row : column) + 1);
    }
  }
  return ROC_OK;
}

void roc_linalg_identity(const roc_linalg_call *call, void *elements, int64_t n) {
  memset(elements, 0, (size_t)(n * n) * call->itemsize);
  for (int64_t i = 0; i < n; i++) {
    if (call->stack->dtype == ROC_DT_FLOAT64) {
      ((double *)elements)[i * (n + 1)] = 1;
    } else {
      ((float *)elements)[i * (n + 1)] = 1;
    }
  }
}
