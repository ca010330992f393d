/* NumPy's .npy files: one array each.  Versions 1.0 to 3.0 are read, in both byte orders and both
 * element orders; version 1.0 is written, in the machine's byte order. */
#ifndef ROC_RUNTIME_NPY_H
#define ROC_RUNTIME_NPY_H

#include <stdio.h>

#include "runtime/array.h"
#include "runtime/progress.h"

/* An open file whose header was read: `shape` has dtype, extents and strides (in the file's element
 * order), no buffer. */
typedef struct roc_npy {
  FILE *file;
  const char *path; /* the caller's; used in messages */
  roc_array shape;
  bool is_swapped; /* elements are in the other byte order */
  size_t offset;   /* bytes before the elements */
} roc_npy;

/* Reads the header from a stream, which becomes the npy's (closed with it, or by a failure).  The
 * stream holds `nbytes` from its place on, UINT64_MAX: not known.  `name` is the caller's, for
 * messages. */
roc_status roc_npy_open_stream(FILE *file, const char *name, uint64_t nbytes, roc_npy *out_npy,
                               roc_error *err);
/* Opens and checks everything but the elements: the file is known to hold enough bytes.  `work` says
 * how much has been read, also by roc_npy_read; NULL for a mapping.  IO, or INVALID when it is no
 * .npy file we can read; INTERRUPTED.  On success close with roc_npy_close. */
roc_status roc_npy_open(const char *path, roc_rt_progress *work, roc_npy *out_npy, roc_error *err);
/* Reads the elements into `memory`, roc_array_nbytes(&npy->shape) bytes, in the machine's byte
 * order. */
roc_status roc_npy_read(roc_npy *npy, void *memory, roc_error *err);
/* What may be done with elements that are left in their file: ROC_NPY_COPY keeps what is written in
 * memory, ROC_NPY_WRITE puts it into the file. */
typedef enum roc_npy_access { ROC_NPY_READ, ROC_NPY_COPY, ROC_NPY_WRITE } roc_npy_access;
/* The elements as a buffer over the file's own pages, which are read as they are touched; read-only
 * memory for ROC_NPY_READ.  It outlives the npy.  A file that others cut short meanwhile ends the
 * process (SIGBUS), as for every mapping.  IO; INVALID: they are in the other byte order or not
 * aligned. */
roc_status roc_npy_map(const roc_npy *npy, roc_npy_access access, roc_buffer **out_buffer,
                       roc_error *err);
void roc_npy_close(roc_npy *npy); /* idempotent */

/* Writes a host array as a .npy file to a stream; `name` is for messages. */
roc_status roc_npy_write(FILE *file, const char *name, const roc_array *a, roc_error *err);
/* Writes a host array.  The file appears whole or not at all: it is written beside its place and
 * renamed. */
roc_status roc_npy_save(const char *path, const roc_array *a, roc_rt_progress *work,
                        roc_error *err);

#endif
