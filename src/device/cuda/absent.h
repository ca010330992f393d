/* Why there is no NVIDIA GPU, as far as the system's files tell, and what to do about it. */
#ifndef ROC_DEVICE_CUDA_ABSENT_H
#define ROC_DEVICE_CUDA_ABSENT_H

#include "base/status.h"

/* UNAVAILABLE when this process has no device file of NVIDIA's kernel module.  Looks below `root`,
 * which is "" but in tests; opens no device.  Any thread. */
roc_status roc_cuda_check_nodes(const char *root, roc_error *err);

#endif
