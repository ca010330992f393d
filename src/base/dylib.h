/* Shared objects opened at run time: drivers and the compiler's back end.
 *
 * Opened objects are never closed: their threads and destructors may outlive any state of ours. */
#ifndef ROC_BASE_DYLIB_H
#define ROC_BASE_DYLIB_H

#include <stddef.h>

#include "base/status.h"

typedef struct roc_dylib roc_dylib; /* opaque handle of the system's loader */

/* UNAVAILABLE with the loader's own words when it cannot be opened.  Symbols stay local to it. */
roc_status roc_dylib_open(const char *path, roc_dylib **out_library, roc_error *err);
/* Stores the symbol's address; UNAVAILABLE names the symbol that is missing. */
roc_status roc_dylib_symbol(roc_dylib *library, const char *name, void **out_address,
                            roc_error *err);
/* Folder of the shared object (or program) that holds `address`, without a trailing slash; what
 * lies beside us is found so.  INVALID when unknown, or longer than `capacity`. */
roc_status roc_dylib_folder_of(const void *address, char *out_folder, size_t capacity,
                               roc_error *err);

#endif
