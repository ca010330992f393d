/* Files read and written whole.
 *
 * Writing is atomic: the bytes go to a temporary file in the same folder, which then takes the
 * name, so that readers see the old file or the new one, and a failure leaves nothing. */
#ifndef ROC_BASE_FILE_H
#define ROC_BASE_FILE_H

#include <limits.h>
#include <stddef.h>

#include "base/status.h"

/* IO: the message names the path and says why. */
roc_status roc_file_write(const char *path, const void *bytes, size_t nbytes, roc_error *err);

/* A file on its way, for who writes it in pieces. */
typedef struct roc_file_draft {
  const char *path;         /* the caller's */
  int fd;                   /* to write to; -1 once the caller has closed it */
  char temporary[PATH_MAX]; /* its name so far; "": a device or a pipe, which is not replaced */
} roc_file_draft;

/* On success to be ended, whatever happens to the bytes.  IO. */
roc_status roc_file_begin(const char *path, roc_file_draft *out_draft, roc_error *err);
/* Closes the file.  It takes its name if `status`, of the writing, is OK; else it is gone.  Returns
 * `status`, or IO. */
roc_status roc_file_end(roc_file_draft *draft, roc_status status, roc_error *err);

/* Stores the file's bytes (roc_free).  IO, OOM. */
roc_status roc_file_read(const char *path, unsigned char **out_bytes, size_t *out_nbytes,
                         roc_error *err);

enum { ROC_FILE_IDENTITY_BYTES = 128 };

/* A text without spaces that another file under this name would not have: size, time of change,
 * device and inode; "none" when there is no such file. */
void roc_file_identity(const char *path, char out[ROC_FILE_IDENTITY_BYTES]);

#endif
