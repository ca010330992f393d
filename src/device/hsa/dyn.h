/* ROCR's library: opened at run time, its functions in one table, and why it cannot be used.
 *
 * Nothing is opened before the first probe of the driver, and on a machine without the kernel's
 * GPU device that probe ends after looking for a file. */
#ifndef ROC_DEVICE_HSA_DYN_H
#define ROC_DEVICE_HSA_DYN_H

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include "base/status.h"

typedef struct roc_hsa_api {
#define ROC_HSA_SYMBOL(name) __typeof__(name) *name;
#include "device/hsa/hsa_api.def"
#undef ROC_HSA_SYMBOL
} roc_hsa_api;

/* Filled by roc_hsa_load; constant from then on. */
extern roc_hsa_api roc_hsa;

/* Opens ROCR (or the software GPU and then ROCR, when the environment asks for it) and fills the
 * table; does not call hsa_init.  UNAVAILABLE says what is missing and what to do.  Under the
 * caller's lock; repeated calls are cheap. */
roc_status roc_hsa_load(roc_error *err);

/* "ROCR" and its file; UNAVAILABLE as roc_hsa_load. */
roc_status roc_hsa_describe(char *text, size_t size, roc_error *err);

/* UNAVAILABLE for a failed hsa_init, with what to look at. */
roc_status roc_hsa_fail_init(hsa_status_t status, roc_error *err);

/* Fails with `what`, the runtime's name of its code and its sentence; err->native is the code.  OOM
 * where the device's memory or resources ran out, else INTERNAL. */
roc_status roc_hsa_fail(roc_error *err, hsa_status_t status, const char *what);

/* The runtime's text for a code; never NULL. */
const char *roc_hsa_status_text(hsa_status_t status);

#endif
