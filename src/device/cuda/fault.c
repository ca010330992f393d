/* Devices that are lost.
 *
 * After an illegal access, a trap and their like the context stays in error: every call on it gives
 * the same result until the process ends.  The library does not say which kernel did it, so the
 * message names those that were not known to be complete. */
#include <stdio.h>
#include <string.h>

#include "device/cuda/driver.h"

static pthread_mutex_t loss_lock = PTHREAD_MUTEX_INITIALIZER;

roc_status roc_cuda_fail_lost(roc_cuda_device *device, roc_error *err) {
  return roc_fail(err, ROC_LOST, "%s", device->base.lost_why);
}

static void describe_launch(const roc_cuda_launch_info *info, char *out, size_t size) {
  if (info->file) {
    snprintf(out, size, "kernel '%.80s' launched at %.120s:%u", info->name, info->file, info->line);
  } else {
    snprintf(out, size, "kernel '%.80s'", info->name);
  }
}

/* The kernels of one stream that may have run, each once. */
static void add_suspects(const roc_cuda_stream *stream, char *text, size_t size) {
  roc_ticket last = atomic_load_explicit(&stream->issued, memory_order_acquire);
  roc_ticket done = atomic_load_explicit(&stream->completed, memory_order_acquire);
  if (last - done > ROC_CUDA_IN_FLIGHT) done = last - ROC_CUDA_IN_FLIGHT;
  for (roc_ticket t = done + 1; t <= last; t++) {
    const roc_cuda_launch_info *info = &stream->infos[t % ROC_CUDA_IN_FLIGHT];
    char kernel[256];
    if (!info->name) continue;
    describe_launch(info, kernel, sizeof kernel);
    size_t used = strlen(text);
    if (strstr(text, kernel) || used + strlen(kernel) + 32 > size) continue;
    snprintf(text + used, size - used, "%s%s", used ? " or " : "", kernel);
  }
}

/* A thread that adds or removes a stream meanwhile holds the lock for a moment alone. */
static void lose_device(roc_cuda_device *device, CUresult result) {
  pthread_mutex_lock(&loss_lock);
  if (!device->base.is_lost) {
    snprintf(device->base.lost_why, sizeof device->base.lost_why, "%s (CUDA error %d)",
             roc_cuda_text(result), (int)result);
    pthread_mutex_lock(&device->lock);
    for (const roc_cuda_stream *s = device->streams; s; s = s->next) {
      add_suspects(s, device->base.lost_by, sizeof device->base.lost_by);
    }
    pthread_mutex_unlock(&device->lock);
    device->base.is_lost = true;
  }
  pthread_mutex_unlock(&loss_lock);
}

roc_status roc_cuda_fail(roc_cuda_device *device, CUresult result, const char *what,
                         roc_error *err) {
  if (!roc_cuda_is_loss(result)) return roc_cuda_fail_plainly(err, result, what);
  lose_device(device, result);
  roc_cuda_fail_lost(device, err);
  if (err) err->native = (int)result;
  return ROC_LOST;
}
