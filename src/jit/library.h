/* Finding and opening the compiler's shared object. */
#ifndef ROC_JIT_LIBRARY_H
#define ROC_JIT_LIBRARY_H

#include <limits.h>
#include <stdbool.h>

#include "base/status.h"
#include "backend/backend.h"

/* Opens libroclua-codegen.so, which is never closed.  UNAVAILABLE: no such file, or another
 * version; the message lists the paths. */
roc_status roc_jit_open_library(const roc_codegen_api **out_api, roc_error *err);

/* Its path; false when there is no such file. */
bool roc_jit_find_library(char path[PATH_MAX]);

#endif
