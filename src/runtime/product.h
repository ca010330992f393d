/* Products and factors of matrices by libraries of the device's vendor, as work of a session. */
#ifndef ROC_RUNTIME_PRODUCT_H
#define ROC_RUNTIME_PRODUCT_H

#include "runtime/launch.h"

/* The name of the device's library, static, opened at the first call.  UNAVAILABLE: there is none;
 * INVALID: the file that was named is none; OOM, LOST, CLOSED. */
roc_status roc_rt_product_library(roc_rt_device *device, const char **out_name, roc_error *err);

/* Queues the product after all work that it conflicts with, on any stream, and later work that
 * conflicts with it comes after it.  `uses`: the buffers of a, b and c.  UNSUPPORTED: the library
 * has no such product; otherwise as roc_rt_product_library. */
roc_status roc_rt_product_queue(roc_rt_session *session, roc_rt_device *device,
                                const roc_dev_product *product, const roc_rt_use uses[3],
                                roc_error *err);

/* The same for a step of a factorisation, by a library that may be another one; with the size of its
 * work, in elements. */
roc_status roc_rt_solver_library(roc_rt_device *device, const char **out_name, roc_error *err);
roc_status roc_rt_factoring_size(roc_rt_device *device, const roc_dev_factoring *factoring,
                                 int64_t *out_size, roc_error *err);
roc_status roc_rt_factoring_queue(roc_rt_session *session, roc_rt_device *device,
                                  const roc_dev_factoring *factoring, const roc_rt_use *uses,
                                  uint32_t nuses, roc_error *err);

#endif
