/* What holds a device open, and the end of streams, kernels and devices.
 *
 * Buffers of the device, streams and kernels hold it. After shutdown the last hold to go closes the
 * driver's device; the default stream, which holds it too, goes when nothing else is left. */
#include "base/alloc.h"
#include "runtime/core/internal.h"
#include "runtime/device.h"

void roc_rt_stream_destroy(roc_rt_stream *stream) {
  roc_rt_device *device = stream->device;
  for (uint32_t i = 0; i < stream->nfaults; i++) roc_rt_fault_release(stream->faults[i]);
  device->driver->ops->stream_destroy(stream->driver);
  roc_free(stream->ring);
  roc_free(stream);
  roc_rt_device_drop(device);
}

static void destroy_default_stream(roc_rt_device *device) {
  roc_rt_stream **link = &device->streams;
  while (*link != device->default_stream) link = &(*link)->next;
  *link = device->default_stream->next;
  roc_rt_stream_destroy(device->default_stream);
}

void roc_rt_device_settle(roc_rt_device *device) {
  if (device->live > 1 || !device->is_closing) return;
  if (atomic_load(&device->default_stream->refs) > 1) return; /* its last release comes here */
  destroy_default_stream(device);                             /* drops the last hold */
}

void roc_rt_device_drop(roc_rt_device *device) {
  device->live--;
  if (device->live > 0) {
    roc_rt_device_settle(device);
    return;
  }
  *device->entry = NULL;
  roc_rt_records_deinit(device);
  device->driver->ops->close(device->driver);
  roc_free(device);
}

void roc_rt_device_retain(roc_rt_device *device) {
  roc_rt_lock();
  device->live++;
  roc_rt_unlock();
}

void roc_rt_device_release(roc_rt_device *device) {
  if (!device || roc_rt_in_child()) return;
  roc_rt_lock();
  roc_rt_device_drop(device);
  roc_rt_unlock();
}

void roc_rt_kernel_release_locked(roc_rt_kernel *kernel) {
  if (--kernel->refs > 0) return;
  roc_rt_device *device = kernel->device;
  device->driver->ops->module_unload(device->driver, kernel->module);
  kernel->object->free(kernel->object);
  roc_free(kernel->name);
  roc_free(kernel);
  roc_rt_device_drop(device);
}

void roc_rt_kernel_release(roc_rt_kernel *kernel) {
  if (!kernel || roc_rt_in_child()) return;
  roc_rt_lock();
  roc_rt_kernel_release_locked(kernel);
  roc_rt_unlock();
}
