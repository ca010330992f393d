/* Files read and written whole.
 *
 * Writing is atomic: the bytes go to a temporary file in the same folder, which then takes the
 * name, so that readers see the old file or the new one, and a failure leaves nothing. */
#ifndef ROC_BASE_FILE_H
#define ROC_BASE_FILE_H

#include <stddef.h>

#include "base/status.h"

/* IO: the message names the path and says why. */
roc_status roc_file_write(const char *path, const void *bytes, size_t nbytes, roc_error *err);

/* Stores the file's bytes (roc_free).  IO, OOM. */
roc_status roc_file_read(const char *path, unsigned char **out_bytes, size_t *out_nbytes,
                         roc_error *err);

#endif
