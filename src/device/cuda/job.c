/* What the host does in a stream's order: calls, and copying between pageable memory and a
 * page-locked block of the stream's own.
 *
 * The library's own copies of pageable memory wait for all that is ahead of them; here a function
 * of the host, queued before or after a copy of the page-locked block, does that part when its turn
 * comes.  It runs on a thread of the library, where the library must not be called. */
#include <string.h>

#include "base/alloc.h"
#include "device/cuda/driver.h"

static void run_job(void *ud) {
  roc_cuda_job *job = ud;
  job->run(job);
}

/* Kept until the stream's next ticket is complete. */
static void keep_job(roc_cuda_stream *stream, roc_cuda_job *job) {
  job->next = NULL;
  job->ticket = atomic_load_explicit(&stream->issued, memory_order_relaxed) + 1;
  pthread_mutex_lock(&stream->lock);
  *stream->last_job = job;
  stream->last_job = &job->next;
  pthread_mutex_unlock(&stream->lock);
}

roc_status roc_cuda_queue_job(roc_cuda_stream *stream, const roc_cuda_job *job, roc_error *err) {
  roc_cuda_job *own = roc_alloc(sizeof *own);
  if (!own) return roc_fail(err, ROC_OOM, "out of memory: no room for queued work");
  *own = *job;
  CUresult result = roc_cuda.cuLaunchHostFunc(stream->handle, run_job, own);
  if (result != CUDA_SUCCESS) {
    roc_free(own);
    return roc_cuda_fail(roc_cuda_owner(stream), result, "the host's part of work is not queued",
                         err);
  }
  keep_job(stream, own);
  return ROC_OK;
}

/* ---- staging ------------------------------------------------------------- */

enum {
  SMALL_BYTES = 4 << 20,
  LARGE_BYTES = 32 << 20,
  LARGE_FROM = 512 << 20, /* copies of so many bytes, so that they do not fill a queue */
};

roc_status roc_cuda_get_staging(roc_cuda_stream *stream, size_t wanted_bytes, char **out_staging,
                                size_t *out_bytes, roc_error *err) {
  int which = wanted_bytes >= LARGE_FROM;
  size_t nbytes = which ? LARGE_BYTES : SMALL_BYTES;
  if (!stream->staging[which]) {
    void *block;
    ROC_TRY(roc_cuda_alloc_host(stream->base.device, nbytes, &block, err));
    stream->staging[which] = block;
  }
  *out_staging = stream->staging[which];
  *out_bytes = nbytes;
  return ROC_OK;
}

/* ---- calls ---------------------------------------------------------------- */

static void run_call(roc_cuda_job *job) {
  job->as.call.fn(job->as.call.ud);
}

roc_status roc_cuda_host_call(roc_dev_stream *base, void (*fn)(void *ud), void *ud,
                              roc_ticket *out_ticket, roc_error *err) {
  roc_cuda_stream *stream = roc_cuda_stream_of(base);
  roc_cuda_device *device = roc_cuda_owner(stream);
  if (base->device->is_lost) return roc_cuda_fail_lost(device, err);
  bool entered = roc_cuda_enter(device);
  roc_cuda_job job = {.run = run_call, .as.call = {fn, ud}};
  device->may_last = true;
  roc_status status = roc_cuda_queue_job(stream, &job, err);
  if (status == ROC_OK) *out_ticket = roc_cuda_issue(stream, NULL);
  roc_cuda_leave(entered);
  return status;
}
