/* The last failure of each thread; see fail.h. */
#include "embed/fail.h"

#include <string.h>

#include "include/roclua.h"

#define ROC_STATUS(name, value, text, next) \
  _Static_assert((int)ROCLUA_##name == (int)ROC_##name, "roclua.h has the codes of status.def");
#include "base/status.def"
#undef ROC_STATUS

static _Thread_local char message[sizeof((roc_error *)0)->message];

const char *roclua_error(void) {
  return message;
}

int roc_embed_code(roc_status status, const roc_error *err) {
  if (status != ROC_OK) memcpy(message, err->message, sizeof message);
  return (int)status;
}

int roc_embed_refuse(const char *format, ...) {
  roc_error err = ROC_ERROR_INIT;
  va_list args;
  va_start(args, format);
  roc_failv(&err, ROC_INVALID, format, args);
  va_end(args);
  return roc_embed_code(ROC_INVALID, &err);
}
