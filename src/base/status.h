/* Status codes and the error record of the whole C core.
 *
 * A core function that can fail returns roc_status and takes `roc_error *err` last.  The record is
 * fixed-size and owned by the caller: reporting a failure never allocates.  `err` may be NULL.
 * Invariant: a function that returns something other than ROC_OK has filled *err. */
#ifndef ROC_BASE_STATUS_H
#define ROC_BASE_STATUS_H

#include <stdarg.h>
#include <stdint.h>

typedef enum roc_status {
#define ROC_STATUS(name, value, text, next) ROC_##name = value,
#include "base/status.def"
#undef ROC_STATUS
} roc_status;

typedef struct roc_error {
  roc_status code;
  int native;         /* the driver's own code, or errno, or 0 */
  char message[2048]; /* whole sentence(s), no trailing newline; long texts are cut with "..." */
} roc_error;

#define ROC_ERROR_INIT \
  {                    \
    ROC_OK, 0, {       \
      0                \
    }                  \
  }

/* Returns early with the status of `expr` when it is not ROC_OK. */
#define ROC_TRY(expr)                    \
  do {                                   \
    roc_status roc_try_status_ = (expr); \
    if (roc_try_status_ != ROC_OK) {     \
      return roc_try_status_;            \
    }                                    \
  } while (0)

/* "oom", "invalid", …: the `code` field of a Lua error value.  Static string. */
const char *roc_status_name(roc_status status);

/* Fills *err (when not NULL) and returns `status`, so that failing is one line:
 *   return roc_fail(err, ROC_INVALID, "extent %lld is negative", (long long)n); */
roc_status roc_fail(roc_error *err, roc_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
roc_status roc_failv(roc_error *err, roc_status status, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

#endif
