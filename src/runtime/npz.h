/* NumPy's .npz files: several arrays by name, each as a .npy file in a ZIP archive.  Archives with
 * and without compression are read; those without are written. */
#ifndef ROC_RUNTIME_NPZ_H
#define ROC_RUNTIME_NPZ_H

#include "runtime/npy.h"

typedef struct roc_npz roc_npz;

/* Opens an archive before its first array.  IO; INVALID: it is no archive; UNAVAILABLE: the library
 * that reads archives is not there.  On success close with roc_npz_close. */
roc_status roc_npz_open(const char *path, roc_rt_progress *work, roc_npz **out_npz, roc_error *err);
/* Stores the name of the next array, valid until the next call, and the array open at its elements
 * (close it before the next call); NULL after the last one.  IO; INVALID, also when the checksum of
 * the array before differs. */
roc_status roc_npz_next(roc_npz *npz, const char **out_name, roc_npy *out_npy, roc_error *err);
void roc_npz_close(roc_npz *npz); /* NULL is fine */

typedef struct roc_npz_entry {
  const char *name;
  const roc_array *array; /* of the host */
} roc_npz_entry;

/* Writes an archive of the arrays, whole or not at all.  IO (a pipe, too, since an archive is not
 * written in order), UNAVAILABLE. */
roc_status roc_npz_save(const char *path, const roc_npz_entry *entries, size_t nentries,
                        roc_rt_progress *work, roc_error *err);

#endif
