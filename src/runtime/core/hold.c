/* What holds a device open, and the end of streams, kernels and devices.
 *
 * The table of devices holds a device until the shutdown; its buffers, streams and kernels hold it
 * as well.  The last hold to go closes the driver's device. */
#include "base/alloc.h"
#include "runtime/core/pin.h"
#include "runtime/device.h"

void roc_rt_stream_destroy(roc_rt_stream *stream) {
  roc_rt_device *device = stream->device;
  for (uint32_t i = 0; i < stream->nfaults; i++) roc_rt_fault_release(stream->faults[i]);
  device->driver->ops->stream_destroy(stream->driver);
  roc_rt_session_drop(stream->session);
  roc_free(stream->ring);
  roc_free(stream);
  roc_rt_device_drop(device);
}

void roc_rt_device_drop(roc_rt_device *device) {
  if (--device->live > 0) return;
  *device->entry = NULL;
  roc_rt_records_deinit(device);
  device->driver->ops->close(device->driver);
  roc_free(device);
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
