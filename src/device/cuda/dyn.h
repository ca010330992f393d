/* NVIDIA's driver library: opened at run time, its functions in one table, and why it cannot be
 * used.
 *
 * Nothing is opened before the first probe of the driver, and on a machine without NVIDIA's kernel
 * module that probe ends after looking for a file. */
#ifndef ROC_DEVICE_CUDA_DYN_H
#define ROC_DEVICE_CUDA_DYN_H

#include <stdbool.h>

#include "base/status.h"
#include "device/cuda/cuda_driver.h"

typedef struct roc_cuda_api {
#define ROC_CUDA_FUNCTION(field, symbol, parameters) CUresult(*field) parameters;
#include "device/cuda/cuda_api.def"
#undef ROC_CUDA_FUNCTION
} roc_cuda_api;

/* Filled by roc_cuda_load; constant from then on. */
extern roc_cuda_api roc_cuda;

/* Opens the library and fills the table; does not call cuInit.  UNAVAILABLE says what is missing
 * and what to do.  Under the caller's lock; repeated calls are cheap. */
roc_status roc_cuda_load(roc_error *err);

/* "CUDA driver" and its file; UNAVAILABLE as roc_cuda_load. */
roc_status roc_cuda_describe(char *text, size_t size, roc_error *err);

/* UNAVAILABLE for a start of the driver that failed, with what to do. */
roc_status roc_cuda_fail_start(CUresult result, roc_error *err);

/* What a result means, in our words or else the library's; never NULL. */
const char *roc_cuda_text(CUresult result);
/* The context that gave this result is gone for good. */
bool roc_cuda_is_loss(CUresult result);

/* Fails with `what`, the meaning of the result and its number; err->native is the number.  OOM
 * where a resource is out, else INTERNAL.  For results that are no loss: fault.c has those. */
roc_status roc_cuda_fail_plainly(roc_error *err, CUresult result, const char *what);

#endif
