/* The header of a .npy file: a Python dict literal with the keys descr, fortran_order and shape. */
#ifndef ROC_RUNTIME_FILE_NPY_HEADER_H
#define ROC_RUNTIME_FILE_NPY_HEADER_H

#include "runtime/array.h"

/* Parses `text` (NUL-terminated at `len`).  Fills dtype, shape and strides of *out, and whether
 * elements are big-endian. INVALID names what is wrong; `path` is for the message. */
roc_status roc_npy_parse_header(const char *path, const char *text, size_t len, roc_array *out,
                                bool *out_is_big_endian, roc_error *err);
/* The dict literal for an array written in the given order, without padding; UNSUPPORTED when NumPy
 * has no such dtype. */
roc_status roc_npy_format_header(const roc_array *a, roc_order order, char *text, size_t nbytes,
                                 roc_error *err);

#endif
