/* Files read and written whole.
 *
 * The bytes go to a temporary file in the same folder; when all are there it becomes the file. So a
 * failure (a full disk, a folder that takes no file) leaves the old file whole, and readers see the
 * old one or the new one. Symbolic links are followed; a new file has the mode that the umask
 * gives; one that is there keeps its mode, owner, links and access control list. Where a new file
 * cannot have these (several names, an owner that only root can give, an access control list, a
 * mount point) the old one is written over once all bytes are in the temporary file and room for
 * them is taken: a reader at that moment may see both. Devices, pipes and the process's own
 * descriptors (/dev/stdout, /dev/fd/3) are written to directly. A read-only file is refused. */
#ifndef ROC_BASE_FILE_H
#define ROC_BASE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* IO: the message names the path and says why. */
roc_status roc_file_write(const char *path, const void *bytes, size_t nbytes, roc_error *err);

/* A file that is being written, for callers that write it in pieces. */
typedef struct roc_file_draft {
  const char *path;         /* the caller's */
  int fd;                   /* to write to; -1 once the caller has closed it */
  bool is_old;              /* a regular file is there */
  bool replaces;            /* the temporary file may take the place of the old one */
  char target[PATH_MAX];    /* `path` without links */
  char temporary[PATH_MAX]; /* "": a device, a pipe or a descriptor, which is not replaced */
} roc_file_draft;

/* On success to be ended, whatever happens to the bytes.  IO. */
roc_status roc_file_begin(const char *path, roc_file_draft *out_draft, roc_error *err);
/* Closes the draft.  It becomes the file if `status`, of the writing, is OK; else it is gone.
 * Returns `status`, or IO. */
roc_status roc_file_end(roc_file_draft *draft, roc_status status, roc_error *err);

/* The same for a file that roclua alone keeps: a new file takes the place of whatever has the name
 * (a link, a pipe, a device), which is not opened; a folder is left. IO. */
roc_status roc_file_replace(const char *path, const void *bytes, size_t nbytes, roc_error *err);

/* Stores the bytes (roc_free) of a regular file of at most `most` bytes. Never waits: anything else
 * is refused, where opening or reading a pipe or a device could. IO, OOM. */
roc_status roc_file_read(const char *path, size_t most, unsigned char **out_bytes,
                         size_t *out_nbytes, roc_error *err);

/* Whether there is a regular file, perhaps by way of links. */
bool roc_file_is_regular(const char *path);

enum { ROC_FILE_IDENTITY_BYTES = 128 };

/* A text without spaces that another file under this name would not have: size, time of change,
 * device and inode; "none" when there is no such file. */
void roc_file_identity(const char *path, char out[ROC_FILE_IDENTITY_BYTES]);

#endif
