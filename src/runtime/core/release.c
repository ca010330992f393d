/* Holds on devices and kernels from outside: hold.c with the lock around it. */
#include "runtime/core/internal.h"
#include "runtime/device.h"

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

void roc_rt_kernel_release(roc_rt_kernel *kernel) {
  if (!kernel || roc_rt_in_child()) return;
  roc_rt_lock();
  roc_rt_kernel_release_locked(kernel);
  roc_rt_unlock();
}
