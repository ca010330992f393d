/* Where the compiler's shared object is, and opening it. */
#ifndef ROC_JIT_LIBRARY_H
#define ROC_JIT_LIBRARY_H

#include <limits.h>
#include <stdbool.h>

#include "base/status.h"
#include "backend/backend.h"

/* Opens libroclua-codegen.so: in $ROCLUA_LIBDIR if that is set, else near the object this code is
 * in (roc/core.so or the program), else where the linker looks.  It is never closed.  UNAVAILABLE:
 * the message lists the places. */
roc_status roc_jit_open_library(const roc_codegen_api **out_api, roc_error *err);

/* Where that is; false when only the linker can tell, or it is not there. */
bool roc_jit_find_library(char path[PATH_MAX]);

#endif
