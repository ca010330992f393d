/* Why there is no GPU for ROCR, as far as the system's files tell, and what to do about it.
 *
 * Every function looks below `root`, which is "" but in tests; none opens a device.  Any thread. */
#ifndef ROC_DEVICE_HSA_ABSENT_H
#define ROC_DEVICE_HSA_ABSENT_H

#include <stdint.h>

#include "base/status.h"

/* UNAVAILABLE when this process cannot use the kernel's compute device, /dev/kfd. */
roc_status roc_hsa_check_kfd(const char *root, roc_error *err);

/* UNAVAILABLE when there is no /dev/dri/renderD* that this process may use: ROCR opens those to
 * learn of GPUs, and without them says only that something failed, or that there are none. */
roc_status roc_hsa_check_render_nodes(const char *root, roc_error *err);

/* UNAVAILABLE: ROCR works and has told of no GPU we compile for.  `refused` is what one of those is
 * that were passed over. */
roc_status roc_hsa_fail_no_gpu(uint32_t passed_over, const char *refused, roc_error *err);

#endif
