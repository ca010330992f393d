/* The open devices, under the runtime's lock. */
#include "device/cuda/driver.h"

static roc_cuda_device *devices;

roc_cuda_device *roc_cuda_find_device(int ordinal) {
  roc_cuda_device *device = devices;
  while (device && (int)device->base.ordinal != ordinal) device = device->next;
  return device;
}

void roc_cuda_list_device(roc_cuda_device *device, bool is_open) {
  roc_cuda_device **link = &devices;
  while (*link && *link != device) link = &(*link)->next;
  if (is_open) {
    device->next = devices;
    devices = device;
  } else if (*link) {
    *link = device->next;
  }
}
