/* The times of events, on one scale for all streams of a device.
 *
 * The library tells the milliseconds between two events, as a float32: exact to some nanoseconds as
 * long as they are not far apart.  So times are counted from an event that moves along. */
#include "base/clock.h"
#include "device/cuda/driver.h"

#define FAR_MS 64.0f

roc_status roc_cuda_clock_open(roc_cuda_device *device, roc_error *err) {
  CUresult result = roc_cuda.cuEventCreate(&device->clock_event, CU_EVENT_DEFAULT);
  if (result == CUDA_SUCCESS) {
    result = roc_cuda.cuEventRecord(device->clock_event, device->memory_stream);
  }
  if (result == CUDA_SUCCESS) { /* nothing is ahead of it: some microseconds */
    do {
      result = roc_cuda.cuEventQuery(device->clock_event);
    } while (result == CUDA_ERROR_NOT_READY);
  }
  device->clock_ns = (double)roc_clock_ns();
  if (result == CUDA_SUCCESS) return ROC_OK;
  return roc_cuda_fail(device, result, "the GPU's clock cannot be read", err);
}

void roc_cuda_clock_close(roc_cuda_device *device) {
  if (device->clock_event) roc_cuda.cuEventDestroy(device->clock_event);
}

uint64_t roc_cuda_time_of(roc_cuda_device *device, CUevent *event) {
  float ms = 0;
  pthread_mutex_lock(&device->clock_lock);
  CUresult result = roc_cuda.cuEventElapsedTime(&ms, device->clock_event, *event);
  double ns = device->clock_ns + (double)ms * 1e6;
  if (result == CUDA_SUCCESS && ms > FAR_MS) {
    CUevent old = device->clock_event;
    device->clock_event = *event;
    device->clock_ns = ns;
    *event = old;
  }
  pthread_mutex_unlock(&device->clock_lock);
  return result == CUDA_SUCCESS ? (uint64_t)ns : roc_clock_ns();
}
