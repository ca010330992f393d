/* Streams: the library's own, which do not block the legacy default stream. */
#include <string.h>

#include "base/alloc.h"
#include "base/peek.h"
#include "device/cuda/driver.h"

/* ---- before work is queued ------------------------------------------------ */

/* A block may have been allocated since the stream's last work: it is there for what comes after
 * the allocation in the order of memory_stream. */
roc_status roc_cuda_stream_ready(roc_cuda_stream *stream, roc_error *err) {
  roc_cuda_device *device = roc_cuda_owner(stream);
  if (device->base.is_lost) return roc_cuda_fail_lost(device, err);
  if (stream->alloc_epoch == device->alloc_epoch) return ROC_OK;
  CUresult result = roc_cuda.cuStreamWaitEvent(stream->handle, device->alloc_event, 0);
  if (result != CUDA_SUCCESS) {
    return roc_cuda_fail(device, result, "a stream cannot wait for an allocation", err);
  }
  stream->alloc_epoch = device->alloc_epoch;
  return ROC_OK;
}

/* ---- making and unmaking --------------------------------------------------- */

static void list_stream(roc_cuda_stream *stream, bool is_open) {
  roc_cuda_device *device = roc_cuda_owner(stream);
  pthread_mutex_lock(&device->lock);
  roc_cuda_stream **link = &device->streams;
  while (*link && *link != stream) link = &(*link)->next;
  if (is_open) {
    stream->next = device->streams;
    device->streams = stream;
  } else if (*link) {
    *link = stream->next;
  }
  pthread_mutex_unlock(&device->lock);
}

/* Whether the driver can look at a stream of that handle without a crash: it is a pointer, but for
 * the two that stand for default streams. */
static bool is_readable(CUstream handle) {
  uint64_t seen;
  return (uintptr_t)handle <= (uintptr_t)CU_STREAM_PER_THREAD ||
         ((uintptr_t)handle % sizeof seen == 0 && roc_peek(handle, &seen, sizeof seen));
}

/* Another's stream; INVALID_HANDLE where it is none of the device's context. */
static CUresult adopt_handle(roc_cuda_stream *stream, CUstream foreign) {
  CUcontext context = NULL;
  if (!is_readable(foreign)) return CUDA_ERROR_INVALID_HANDLE;
  CUresult result = roc_cuda.cuStreamQuery(foreign);
  if (result == CUDA_ERROR_NOT_READY) result = CUDA_SUCCESS;
  if (result == CUDA_SUCCESS) result = roc_cuda.cuStreamGetCtx(foreign, &context);
  if (result != CUDA_SUCCESS) return result;
  if (context != roc_cuda_owner(stream)->context) return CUDA_ERROR_INVALID_HANDLE;
  stream->is_foreign = true;
  roc_cuda_owner(stream)->may_last = true;
  stream->handle = foreign;
  return CUDA_SUCCESS;
}

/* `foreign`: the stream to adopt, or NULL. */
static CUresult make_handle(roc_cuda_stream *stream, CUstream foreign) {
  if (foreign) return adopt_handle(stream, foreign);
  return roc_cuda.cuStreamCreate(&stream->handle, CU_STREAM_NON_BLOCKING);
}

static CUresult make_handles(roc_cuda_stream *stream, CUstream foreign) {
  CUresult result = make_handle(stream, foreign);
  if (result != CUDA_SUCCESS) {
    stream->handle = NULL;
    return result;
  }
  result = roc_cuda.cuEventCreate(&stream->events[0], CU_EVENT_DISABLE_TIMING);
  if (result != CUDA_SUCCESS) stream->events[0] = NULL;
  return result;
}

static void free_stream(roc_cuda_stream *stream) {
  roc_device *device = stream->base.device;
  roc_cuda_completion_deinit(stream);
  if (stream->slots.device) roc_cuda_free(device, stream->slots.device);
  if (stream->print) roc_cuda_free(device, stream->print);
  if (stream->counter) roc_cuda_free(device, stream->counter);
  if (stream->slots.host) roc_cuda_free_host(device, stream->slots.host);
  for (int i = 0; i < ROC_CUDA_STAGINGS; i++) {
    if (stream->staging[i]) roc_cuda_free_host(device, stream->staging[i]);
  }
  bool is_own = stream->handle && !stream->is_foreign;
  if (is_own && !device->is_lost) roc_cuda.cuStreamDestroy(stream->handle);
  pthread_mutex_destroy(&stream->lock);
  roc_free(stream->slots.targets);
  roc_free(stream->infos);
  roc_free(stream);
}

static roc_status create_stream(roc_cuda_device *device, CUstream foreign,
                                roc_cuda_stream **out_stream, roc_error *err) {
  roc_cuda_stream *stream = roc_zalloc(sizeof *stream);
  roc_cuda_launch_info *infos = roc_alloc(sizeof *infos * ROC_CUDA_IN_FLIGHT);
  if (!stream || !infos) {
    roc_free(stream);
    roc_free(infos);
    return roc_fail(err, ROC_OOM, "out of memory: no room for a stream");
  }
  infos[0] = (roc_cuda_launch_info){0}; /* of ticket 0 */
  stream->base.device = &device->base;
  stream->infos = infos;
  stream->last_stamp = &stream->stamps;
  stream->last_job = &stream->jobs;
  pthread_mutex_init(&stream->lock, NULL);
  CUresult result = make_handles(stream, foreign);
  if (result != CUDA_SUCCESS) {
    free_stream(stream);
    if (foreign && result == CUDA_ERROR_INVALID_HANDLE) {
      return roc_fail(err, ROC_INVALID, "a CUstream of the device's primary context expected");
    }
    return roc_cuda_fail(device, result, "a stream cannot be made", err);
  }
  *out_stream = stream;
  return ROC_OK;
}

static roc_status open_stream(roc_device *base, CUstream foreign, roc_dev_stream **out_stream,
                              roc_error *err) {
  roc_cuda_device *device = roc_cuda_device_of(base);
  if (base->is_lost) return roc_cuda_fail_lost(device, err);
  roc_cuda_stream *stream = NULL;
  bool entered = roc_cuda_enter(device);
  roc_status status = create_stream(device, foreign, &stream, err);
  roc_cuda_leave(entered);
  ROC_TRY(status);
  list_stream(stream, true);
  *out_stream = &stream->base;
  return ROC_OK;
}

roc_status roc_cuda_stream_create(roc_device *base, roc_dev_stream **out_stream, roc_error *err) {
  return open_stream(base, NULL, out_stream, err);
}

roc_status roc_cuda_stream_adopt(roc_device *base, void *native, roc_dev_stream **out_stream,
                                 roc_error *err) {
  return open_stream(base, native ? native : CU_STREAM_LEGACY, out_stream, err);
}

static void drop_stream(roc_device *device, void *stream) {
  (void)device;
  list_stream(stream, false);
  free_stream(stream);
}

/* All that was queued well is done, or the device is lost.  A wait for another stream may be left,
 * or part of an op that failed; then the stream is given back when that is over. */
void roc_cuda_stream_destroy(roc_dev_stream *base) {
  roc_cuda_stream *stream = roc_cuda_stream_of(base);
  roc_cuda_device *device = roc_cuda_owner(stream);
  bool is_over =
      base->device->is_lost || roc_cuda_look(stream, atomic_load(&stream->issued)) == CUDA_SUCCESS;
  if (!is_over) {
    roc_cuda_reap(device, drop_stream, stream);
    return;
  }
  bool entered = roc_cuda_enter(device);
  drop_stream(base->device, stream);
  roc_cuda_leave(entered);
}

/* ---- waits and times -------------------------------------------------------- */

roc_status roc_cuda_stream_wait(roc_dev_stream *base, roc_dev_stream *other_base, roc_ticket ticket,
                                roc_ticket *out_ticket, roc_error *err) {
  roc_cuda_stream *stream = roc_cuda_stream_of(base), *other = roc_cuda_stream_of(other_base);
  roc_cuda_device *device = roc_cuda_owner(stream);
  *out_ticket = 0;
  if (device->base.is_lost) return roc_cuda_fail_lost(device, err);
  if (other == stream || roc_cuda_known_done(other_base) >= ticket) return ROC_OK;
  bool entered = roc_cuda_enter(device);
  bool is_theirs;
  CUresult result = roc_cuda_queue_wait(stream, other, ticket, &is_theirs);
  if (result == CUDA_SUCCESS) *out_ticket = roc_cuda_issue(stream, NULL);
  roc_cuda_leave(entered);
  if (result == CUDA_SUCCESS) return ROC_OK;
  device = is_theirs ? roc_cuda_owner(other) : device;
  roc_status status = roc_cuda_fail(device, result, "a stream cannot wait for another one", err);
  return status == ROC_LOST && is_theirs ? ROC_FAULT : status; /* LOST would be of `stream` */
}

roc_status roc_cuda_stamp_time(roc_dev_stream *base, uint64_t *out_ns, roc_ticket *out_ticket,
                               roc_error *err) {
  roc_cuda_device *device = roc_cuda_device_of(base->device);
  if (device->base.is_lost) return roc_cuda_fail_lost(device, err);
  bool entered = roc_cuda_enter(device);
  CUresult result = roc_cuda_queue_stamp(roc_cuda_stream_of(base), out_ns, out_ticket);
  roc_cuda_leave(entered);
  if (result == CUDA_SUCCESS) return ROC_OK;
  return roc_cuda_fail(device, result, "an event cannot be recorded", err);
}

void roc_cuda_watch(const roc_device *base) {
  roc_cuda_device *device = (roc_cuda_device *)base;
  if (base->is_lost) return;
  bool entered = roc_cuda_enter(device);
  CUresult result = roc_cuda.cuStreamQuery(device->memory_stream);
  roc_cuda_leave(entered);
  if (roc_cuda_is_loss(result)) roc_cuda_fail(device, result, "the device", NULL);
}
