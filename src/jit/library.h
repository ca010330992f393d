/* Where the compiler's shared object is, and opening it. */
#ifndef ROC_JIT_LIBRARY_H
#define ROC_JIT_LIBRARY_H

#include <limits.h>
#include <stdbool.h>

#include "base/status.h"
#include "backend/backend.h"

/* Opens libroclua-codegen.so, which is never closed.  UNAVAILABLE: it is not there, or of another
 * version; the message says where it was looked for. */
roc_status roc_jit_open_library(const roc_codegen_api **out_api, roc_error *err);

/* Where that is; false when it is not there. */
bool roc_jit_find_library(char path[PATH_MAX]);

#endif
