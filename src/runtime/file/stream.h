/* Files as C streams: what all formats of arrays have in common. */
#ifndef ROC_RUNTIME_FILE_STREAM_H
#define ROC_RUNTIME_FILE_STREAM_H

#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "runtime/progress.h"

/* "cannot WHAT 'PATH': " and what errno says, which is also the native code.  Returns IO; OOM; after
 * an interrupt of the work, INTERRUPTED. */
roc_status roc_stream_fail(const char *what, const char *path, roc_error *err);

/* Opens a file for reading and stores its size, UINT64_MAX: a pipe or a device, which have none.
 * `work`, which outlives the stream, says how much of it has been read, and an interrupt makes a read
 * fail; NULL: a plain stream.  IO, also for a folder. */
roc_status roc_stream_open(const char *path, roc_rt_progress *work, FILE **out_file,
                           uint64_t *out_nbytes, roc_error *err);

/* Writes a file by `write`, whole or not at all (base/file.h); `work` as above.  A new file is on the
 * disk before it takes its name. */
roc_status roc_stream_save(const char *path,
                           roc_status (*write)(FILE *file, const char *path, void *ud,
                                               roc_error *err),
                           void *ud, roc_rt_progress *work, roc_error *err);

#endif
