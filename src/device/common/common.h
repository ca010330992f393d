/* What several drivers share: the launch limits, and host memory in the role of device memory.
 *
 * The roc_host_* functions fit the slots of roc_device_ops, for drivers whose kernels use host
 * pointers as they are. */
#ifndef ROC_DEVICE_COMMON_COMMON_H
#define ROC_DEVICE_COMMON_COMMON_H

#include "device/device.h"

/* INVALID, naming the limit: a workgroup, grid or shared memory this device cannot run.  An empty
 * range passes. */
roc_status roc_device_check_range(const roc_device_props *props, const roc_ndrange *range,
                                  uint32_t static_shared_bytes, roc_error *err);

uint64_t roc_host_memory_total(void);
uint64_t roc_host_memory_free(roc_device *device);
roc_status roc_host_alloc(roc_device *device, size_t nbytes, roc_devptr *out_ptr, roc_error *err);
void roc_host_free(roc_device *device, roc_devptr ptr);
roc_status roc_host_alloc_host(roc_device *device, size_t nbytes, void **out_ptr, roc_error *err);
void roc_host_free_host(roc_device *device, void *ptr);
/* Walks a block of at least one element: *positions (0 at first) steps to the next, the last index
 * fastest; false after the last one. */
bool roc_dev_next_position(uint32_t rank, const uint64_t *extents, uint64_t *positions);
/* What `scatter` asks for, where dst is host memory. */
void roc_host_scatter(const roc_dev_scatter *scatter);

/* Limits of a device that runs on the host: those of usual GPUs, so that kernels stay portable. */
void roc_host_describe(roc_device_props *props, const char *name, const char *arch,
                       uint32_t wavefront);

/* ROCLUA_WAVEFRONT: 32 or 64 (the default).  INVALID for anything else. */
roc_status roc_host_wavefront(uint32_t *out_size, roc_error *err);

#endif
