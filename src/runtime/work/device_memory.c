/* Allocating device memory: from the pool, from the driver, and from what finished work gives back
 * when the driver has no more. */
#include "base/alloc.h"
#include "runtime/core/internal.h"
#include "runtime/device.h"

static roc_status alloc_block(roc_rt_device *device, size_t block_bytes, roc_devptr *out_ptr,
                              roc_error *err) {
  roc_device *driver = device->driver;
  roc_status status = driver->ops->alloc(driver, block_bytes, out_ptr, err);
  if (status == ROC_LOST) return roc_rt_device_set_lost(device, NULL, err);
  if (status != ROC_OOM) return status;
  roc_rt_device_poll(device); /* finished work gives back what it held */
  roc_rt_pool_trim(device);
  return driver->ops->alloc(driver, block_bytes, out_ptr, err);
}

/* A driver that is not asked in passing may have finished work whose memory is wanted here. */
static roc_buffer *take_freed(roc_rt_device *device, uint32_t class_index, size_t nbytes) {
  roc_buffer *buffer = roc_rt_pool_take(device, class_index, nbytes);
  if (buffer || !device->driver->ops->known_done) return buffer;
  roc_rt_device_poll(device);
  return roc_rt_pool_take(device, class_index, nbytes);
}

static roc_status alloc_locked(roc_rt_device *device, size_t nbytes, roc_buffer **out_buffer,
                               roc_error *err) {
  uint32_t class_index = roc_rt_pool_class(nbytes);
  if (class_index == ROC_RT_POOL_CLASSES) {
    return roc_fail(err, ROC_OOM, "out of memory: %zu bytes are more than any device has", nbytes);
  }
  *out_buffer = take_freed(device, class_index, nbytes);
  if (*out_buffer) return ROC_OK;
  roc_buffer *buffer = roc_zalloc(sizeof *buffer);
  if (!buffer) return roc_fail(err, ROC_OOM, "out of memory: no host memory for an array");
  size_t block_bytes = roc_rt_pool_block_bytes(nbytes, class_index);
  roc_status status = alloc_block(device, block_bytes, &buffer->address, err);
  if (status != ROC_OK) {
    roc_free(buffer);
    return status;
  }
  roc_rt_pool_adopt(buffer, device, nbytes, class_index);
  *out_buffer = buffer;
  return ROC_OK;
}

/* The memory changes from the buffer that was made for it to the one that lacks it; both hold the
 * device. */
static void move_memory(roc_buffer *buffer, roc_buffer *made) {
  buffer->address = made->address;
  buffer->block_bytes = made->block_bytes;
  buffer->pool_class = made->pool_class;
  buffer->lacks_memory = false;
  roc_rt_device_drop(made->device);
  roc_free(made);
}

roc_status roc_buffer_provide(roc_buffer *buffer, roc_error *err) {
  if (!buffer->lacks_memory) return ROC_OK;
  if (!buffer->device) return roc_buffer_alloc_host(buffer, false, err);
  roc_buffer *made;
  ROC_TRY(roc_rt_check_open(err));
  roc_rt_lock();
  roc_status status = roc_rt_device_check(buffer->device, err);
  if (status == ROC_OK) status = alloc_locked(buffer->device, buffer->nbytes, &made, err);
  if (status == ROC_OK) move_memory(buffer, made);
  roc_rt_unlock();
  return status;
}

roc_status roc_buffer_create_device(roc_rt_device *device, size_t nbytes, roc_buffer **out_buffer,
                                    roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  roc_rt_lock();
  roc_status status = roc_rt_device_check(device, err);
  if (status == ROC_OK) status = alloc_locked(device, nbytes, out_buffer, err);
  roc_rt_unlock();
  return status;
}
