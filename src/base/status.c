#include "base/status.h"

#include <stdio.h>
#include <string.h>

const char *roc_status_name(roc_status status) {
  switch (status) {
#define ROC_STATUS(name, value, text, next) \
  case ROC_##name:                          \
    return text;
#include "base/status.def"
#undef ROC_STATUS
  }
  return "unknown";
}

roc_status roc_failv(roc_error *err, roc_status status, const char *format, va_list args) {
  if (err) {
    err->code = status;
    err->native = 0;
    int n = vsnprintf(err->message, sizeof err->message, format, args);
    if (n < 0) {
      strcpy(err->message, "error message could not be formatted");
    } else if ((size_t)n >= sizeof err->message) {
      strcpy(err->message + sizeof err->message - 4, "...");
    }
  }
  return status;
}

roc_status roc_fail(roc_error *err, roc_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  roc_failv(err, status, format, args);
  va_end(args);
  return status;
}
