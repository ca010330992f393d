/* Runs of elements of one dtype as elements of another, by the rules of a conversion call
 * (roc_dtype_convert); but a uint64 stays positive. */
#ifndef ROC_RUNTIME_ARRAY_CONVERT_H
#define ROC_RUNTIME_ARRAY_CONVERT_H

#include <stdint.h>

#include "base/dtype.h"

/* n elements, so many bytes apart, aligned, in disjoint memory. */
typedef void roc_convert_run(char *dst, int64_t dst_step, const char *src, int64_t src_step,
                             int64_t n);
/* NULL: one of the dtypes has no type in C, as halves have none. */
roc_convert_run *roc_convert_run_of(roc_dtype from, roc_dtype to);

#endif
