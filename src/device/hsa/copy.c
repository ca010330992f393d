/* Copies, fills, calls of the host and waits for other queues.
 *
 * Memory that GPUs reach is copied by the copy engines.  Pageable host memory goes through two
 * page-locked blocks of the worker, one being filled while the other is on its way.  What is small
 * and has nothing to wait for is done on the calling thread. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bulk.h"
#include "device/common/common.h"
#include "device/hsa/driver.h"

enum {
  SLICE_NS = 50 * 1000 * 1000,
  INLINE_BYTES = 64 * 1024,       /* through staging, on the calling thread */
  INLINE_HOST_BYTES = 256 * 1024, /* between host blocks */
  LONG_BYTES = 4 << 20,           /* keep an engine for some hundred microseconds */
  SEED_BYTES = 64 * 1024,         /* of a fill that doubles its filled part */
};

/* ---- one copy by an engine ----------------------------------------------- */

roc_status roc_hsa_start_copy(void *dst, hsa_agent_t dst_agent, const void *src,
                              hsa_agent_t src_agent, size_t nbytes, roc_hsa_signal *done,
                              roc_error *err) {
  done->ends[0] = dst_agent;
  done->ends[1] = src_agent;
  roc_hsa_signal_expect(done, nbytes);
  hsa_status_t status =
      roc_hsa.hsa_amd_memory_async_copy(dst, dst_agent, src, src_agent, nbytes, 0, NULL, done->hsa);
  if (status == HSA_STATUS_SUCCESS) return ROC_OK;
  return roc_hsa_fail(err, status, "a copy cannot be started");
}

roc_status roc_hsa_finish_copy(roc_hsa_device *device, roc_hsa_signal *signal, roc_error *err) {
  uint64_t lasted_ns = 0;
  while (!roc_hsa_signal_await(signal->hsa, 1, SLICE_NS)) {
    lasted_ns += SLICE_NS;
    if (lasted_ns > roc_hsa_signal_patience(signal)) roc_hsa_lose_by_copy(device, signal);
    if (device->base.is_lost) return roc_hsa_fail_lost(device, err);
    for (int i = 0; i < 2; i++) ROC_TRY(roc_hsa_check_agent(signal->ends[i], err));
  }
  return ROC_OK;
}

static roc_status copy_now(roc_hsa_device *device, void *dst, hsa_agent_t dst_agent,
                           const void *src, hsa_agent_t src_agent, size_t nbytes, roc_error *err) {
  roc_hsa_signal *signal;
  ROC_TRY(roc_hsa_signal_take(&device->signals, &signal, err));
  roc_status status = roc_hsa_start_copy(dst, dst_agent, src, src_agent, nbytes, signal, err);
  if (status == ROC_OK) status = roc_hsa_finish_copy(device, signal, err);
  if (status != ROC_LOST) roc_hsa_signal_release(&device->signals, signal);
  return status;
}

/* ---- through staging, on the worker -------------------------------------- */

roc_status roc_hsa_get_stagings(roc_hsa_queue *queue, roc_error *err) {
  void **staging = queue->worker.staging;
  for (int i = 0; i < ROC_HSA_STAGINGS; i++) {
    if (staging[i]) continue;
    ROC_TRY(roc_hsa_alloc_host(&queue->device->base, ROC_HSA_STAGING_BYTES, &staging[i], err));
  }
  return ROC_OK;
}

/* A copy under way in each of the blocks; `signals` are taken while one is. */
typedef struct pipeline {
  roc_hsa_device *device;
  char **staging;
  roc_hsa_signal *signals[ROC_HSA_STAGINGS];
} pipeline;

static roc_status start_stage(pipeline *p, int which, void *dst, hsa_agent_t dst_agent,
                              const void *src, hsa_agent_t src_agent, size_t nbytes,
                              roc_error *err) {
  roc_hsa_signal *signal;
  ROC_TRY(roc_hsa_signal_take(&p->device->signals, &signal, err));
  roc_status status = roc_hsa_start_copy(dst, dst_agent, src, src_agent, nbytes, signal, err);
  if (status == ROC_OK) {
    p->signals[which] = signal;
  } else {
    roc_hsa_signal_release(&p->device->signals, signal);
  }
  return status;
}

static roc_status finish_stage(pipeline *p, int which, roc_error *err) {
  roc_hsa_signal *signal = p->signals[which];
  if (!signal) return ROC_OK;
  p->signals[which] = NULL;
  ROC_TRY(roc_hsa_finish_copy(p->device, signal, err));
  roc_hsa_signal_release(&p->device->signals, signal);
  return ROC_OK;
}

/* Whatever is under way, so that the blocks can be used again. */
static roc_status finish_stages(pipeline *p, roc_status status, roc_error *err) {
  for (int i = 0; i < ROC_HSA_STAGINGS; i++) {
    roc_status ended = finish_stage(p, i, status == ROC_OK ? err : NULL);
    if (status == ROC_OK) status = ended;
  }
  return status;
}

static size_t chunk_of(size_t nbytes, size_t offset) {
  return nbytes - offset < ROC_HSA_STAGING_BYTES ? nbytes - offset : ROC_HSA_STAGING_BYTES;
}

static roc_status push_chunks(pipeline *p, const roc_hsa_pointer_info *dst, const char *src,
                              size_t nbytes, roc_error *err) {
  int which = 0;
  for (size_t at = 0; at < nbytes; at += ROC_HSA_STAGING_BYTES, which ^= 1) {
    size_t n = chunk_of(nbytes, at);
    ROC_TRY(finish_stage(p, which, err));
    memcpy(p->staging[which], src + at, n);
    ROC_TRY(start_stage(p, which, dst->address + at, dst->agent, p->staging[which], roc_hsa_sys.cpu,
                        n, err));
  }
  return ROC_OK;
}

static roc_status pull_chunks(pipeline *p, char *dst, const roc_hsa_pointer_info *src,
                              size_t nbytes, roc_error *err) {
  int which = 0;
  ROC_TRY(start_stage(p, which, p->staging[which], roc_hsa_sys.cpu, src->address, src->agent,
                      chunk_of(nbytes, 0), err));
  for (size_t at = 0; at < nbytes; at += ROC_HSA_STAGING_BYTES, which ^= 1) {
    size_t next = at + ROC_HSA_STAGING_BYTES;
    if (next < nbytes) {
      ROC_TRY(start_stage(p, which ^ 1, p->staging[which ^ 1], roc_hsa_sys.cpu, src->address + next,
                          src->agent, chunk_of(nbytes, next), err));
    }
    ROC_TRY(finish_stage(p, which, err));
    memcpy(dst + at, p->staging[which], chunk_of(nbytes, at));
  }
  return ROC_OK;
}

/* Between GPUs that do not reach each other's memory. */
static roc_status relay_chunks(pipeline *p, const roc_hsa_pointer_info *dst,
                               const roc_hsa_pointer_info *src, size_t nbytes, roc_error *err) {
  int which = 0;
  for (size_t at = 0; at < nbytes; at += ROC_HSA_STAGING_BYTES, which ^= 1) {
    size_t n = chunk_of(nbytes, at);
    ROC_TRY(finish_stage(p, which, err));
    ROC_TRY(copy_now(p->device, p->staging[which], roc_hsa_sys.cpu, src->address + at, src->agent,
                     n, err));
    ROC_TRY(start_stage(p, which, dst->address + at, dst->agent, p->staging[which], roc_hsa_sys.cpu,
                        n, err));
  }
  return ROC_OK;
}

static roc_status copy_staged(roc_hsa_queue *queue, const roc_hsa_pointer_info *dst,
                              const roc_hsa_pointer_info *src, size_t nbytes, roc_error *err) {
  ROC_TRY(roc_hsa_get_stagings(queue, err));
  pipeline p = {.device = queue->device, .staging = (char **)queue->worker.staging};
  roc_status status;
  if (dst->kind == ROC_HSA_PAGEABLE) {
    status = pull_chunks(&p, dst->address, src, nbytes, err);
  } else if (src->kind == ROC_HSA_PAGEABLE) {
    status = push_chunks(&p, dst, src->address, nbytes, err);
  } else {
    status = relay_chunks(&p, dst, src, nbytes, err);
  }
  return finish_stages(&p, status, err);
}

/* ---- copies: jobs -------------------------------------------------------- */

static bool is_host(const roc_hsa_pointer_info *place) {
  return place->kind != ROC_HSA_DEVICE;
}

/* The GPU at the other end may be lost in the middle of it, so that a thread has to check. */
static bool is_between(const roc_hsa_pointer_info *dst, const roc_hsa_pointer_info *src) {
  return !is_host(dst) && !is_host(src) && dst->agent.handle != src->agent.handle;
}

static bool can_overlap(const char *a, const char *b, size_t nbytes) {
  return a < b + nbytes && b < a + nbytes;
}

/* Whether an engine can go from one to the other: memory of another GPU has to be opened to ours.
 */
static bool is_direct(const roc_hsa_pointer_info *dst, const roc_hsa_pointer_info *src) {
  if (dst->kind == ROC_HSA_PAGEABLE || src->kind == ROC_HSA_PAGEABLE) return false;
  if (is_host(dst) || is_host(src) || dst->agent.handle == src->agent.handle) return true;
  return roc_hsa_open_to_peers(src, dst->agent) && roc_hsa_open_to_peers(dst, src->agent);
}

/* Engines copy forwards in pieces; blocks that overlap go through a third one. */
static roc_status copy_overlapping(roc_hsa_device *device, const roc_hsa_pointer_info *dst,
                                   const roc_hsa_pointer_info *src, size_t nbytes, roc_error *err) {
  roc_devptr block;
  ROC_TRY(roc_hsa_alloc(&device->base, nbytes, &block, err));
  void *middle = (void *)(uintptr_t)block;
  roc_status status =
      copy_now(device, middle, device->agent, src->address, src->agent, nbytes, err);
  if (status == ROC_OK) {
    status = copy_now(device, dst->address, dst->agent, middle, device->agent, nbytes, err);
  }
  if (status != ROC_LOST) roc_hsa_free(&device->base, block);
  return status;
}

static roc_status run_copy(roc_hsa_queue *queue, roc_hsa_job *job, bool *out_opens,
                           roc_error *err) {
  size_t nbytes = job->as.bytes.nbytes;
  roc_hsa_pointer_info dst, src;
  ROC_TRY(roc_hsa_find_pointer_info(job->as.bytes.dst, nbytes, &dst, err));
  ROC_TRY(roc_hsa_find_pointer_info(job->as.bytes.src, nbytes, &src, err));
  if (is_host(&dst) && is_host(&src)) {
    memmove(job->as.bytes.dst, job->as.bytes.src, nbytes);
    return ROC_OK;
  }
  if (!is_direct(&dst, &src)) return copy_staged(queue, &dst, &src, nbytes, err);
  if (is_between(&dst, &src)) {
    return copy_now(queue->device, dst.address, dst.agent, src.address, src.agent, nbytes, err);
  }
  if (can_overlap(dst.address, src.address, nbytes)) {
    return copy_overlapping(queue->device, &dst, &src, nbytes, err);
  }
  ROC_TRY(roc_hsa_start_copy(dst.address, dst.agent, src.address, src.agent, nbytes, job->barrier,
                             err));
  *out_opens = true;
  return ROC_OK;
}

/* ---- fills: jobs --------------------------------------------------------- */

/* The four bytes that the whole block repeats; false when it is eight. */
static bool find_word(const void *pattern, size_t pattern_bytes, uint32_t *out_word) {
  unsigned char bytes[8];
  roc_fill(bytes, pattern, pattern_bytes, sizeof bytes);
  memcpy(out_word, bytes, sizeof *out_word);
  return memcmp(bytes, bytes + 4, 4) == 0;
}

/* A seed from the host, then copies of the filled part, each twice as long. */
static roc_status fill_by_doubling(roc_hsa_queue *queue, const roc_hsa_pointer_info *dst,
                                   const void *pattern, size_t pattern_bytes, size_t nbytes,
                                   roc_error *err) {
  roc_hsa_device *device = queue->device;
  size_t done = nbytes < SEED_BYTES ? nbytes : SEED_BYTES;
  ROC_TRY(roc_hsa_get_stagings(queue, err));
  void *seed = queue->worker.staging[0];
  roc_fill(seed, pattern, pattern_bytes, done);
  ROC_TRY(copy_now(device, dst->address, dst->agent, seed, roc_hsa_sys.cpu, done, err));
  while (done < nbytes) {
    size_t next = done < nbytes - done ? done : nbytes - done;
    ROC_TRY(copy_now(device, dst->address + done, dst->agent, dst->address, dst->agent, next, err));
    done += next;
  }
  return ROC_OK;
}

roc_status roc_hsa_fill_block(roc_hsa_queue *queue, const roc_hsa_pointer_info *dst,
                              const void *pattern, size_t pattern_bytes, size_t nbytes,
                              roc_error *err) {
  uint32_t word;
  bool is_aligned = ((uintptr_t)dst->address | nbytes) % sizeof word == 0;
  if (!is_aligned || !find_word(pattern, pattern_bytes, &word)) {
    return fill_by_doubling(queue, dst, pattern, pattern_bytes, nbytes, err);
  }
  hsa_status_t status =
      roc_hsa.hsa_amd_memory_fill(dst->address, word, nbytes / sizeof word); /* waits for its end */
  if (status == HSA_STATUS_SUCCESS) return ROC_OK;
  return roc_hsa_fail(err, status, "a fill failed");
}

static roc_status run_fill(roc_hsa_queue *queue, roc_hsa_job *job, bool *out_opens,
                           roc_error *err) {
  (void)out_opens;
  size_t nbytes = job->as.bytes.nbytes;
  roc_hsa_pointer_info dst;
  ROC_TRY(roc_hsa_find_pointer_info(job->as.bytes.dst, nbytes, &dst, err));
  const unsigned char *pattern = job->as.bytes.pattern;
  if (is_host(&dst)) {
    roc_fill(job->as.bytes.dst, pattern, job->as.bytes.pattern_bytes, nbytes);
    return ROC_OK;
  }
  roc_hsa_signal_expect(job->barrier, nbytes); /* ROCR waits without end if a completion is lost */
  return roc_hsa_fill_block(queue, &dst, pattern, job->as.bytes.pattern_bytes, nbytes, err);
}

static roc_status run_call(roc_hsa_queue *queue, roc_hsa_job *job, bool *out_opens,
                           roc_error *err) {
  (void)queue, (void)out_opens, (void)err;
  job->as.call.fn(job->as.call.ud);
  return ROC_OK;
}

static roc_status run_wait(roc_hsa_queue *queue, roc_hsa_job *job, bool *out_opens,
                           roc_error *err) {
  (void)out_opens;
  roc_hsa_queue *other = job->as.wait.other;
  while (!roc_hsa_queue_await(other, job->as.wait.ticket, SLICE_NS)) {
    if (queue->device->base.is_lost) return roc_hsa_fail_lost(queue->device, err);
    if (atomic_load(&queue->is_stopped)) break; /* by another stream's kernel: no work waits here */
  }
  return ROC_OK;
}

/* ---- queueing ------------------------------------------------------------ */

static bool is_idle(roc_hsa_stream *stream) {
  return roc_hsa_queue_has_done(stream->queue, stream->last);
}

/* What others have queued on a foreign queue so far has no ticket: a barrier after it stands for it,
 * so that what the host does comes later. */
static roc_status note_foreign(roc_hsa_stream *stream, roc_error *err) {
  roc_hsa_queue *queue = stream->queue;
  if (!queue->ring.is_foreign) return ROC_OK;
  ROC_TRY(roc_hsa_queue_ready(queue, err));
  ROC_TRY(roc_hsa_queue_reserve(queue, 1, err));
  stream->last = roc_hsa_queue_barrier(queue, NULL, false);
  return ROC_OK;
}

/* All that work with a barrier can fail for. */
static roc_status prepare_barrier(roc_hsa_queue *queue, roc_hsa_signal **out_barrier,
                                  roc_error *err) {
  ROC_TRY(roc_hsa_queue_ready(queue, err));
  ROC_TRY(roc_hsa_queue_reserve(queue, 1, err));
  ROC_TRY(roc_hsa_queue_reserve_signal_ref(queue, err));
  return roc_hsa_signal_take(&queue->device->signals, out_barrier, err);
}

/* Queues a copy of `job`. */
roc_status roc_hsa_queue_job(roc_hsa_stream *stream, const roc_hsa_job *job, roc_ticket *out_ticket,
                             roc_error *err) {
  roc_hsa_queue *queue = stream->queue;
  ROC_TRY(roc_hsa_worker_start(queue, err));
  ROC_TRY(note_foreign(stream, err));
  roc_hsa_job *own = roc_alloc(sizeof *own);
  if (!own) return roc_fail(err, ROC_OOM, "out of memory: no room for queued work");
  *own = *job;
  roc_status status = prepare_barrier(queue, &own->barrier, err);
  if (status != ROC_OK) {
    roc_free(own);
    return status;
  }
  own->after = stream->last;
  *out_ticket = stream->last = own->ticket = roc_hsa_queue_barrier(queue, own->barrier, false);
  roc_hsa_worker_add(queue, own);
  return ROC_OK;
}

/* The stream has nothing to wait for, and an engine can do it. */
static roc_status queue_direct(roc_hsa_stream *stream, const roc_hsa_pointer_info *dst,
                               const roc_hsa_pointer_info *src, size_t nbytes,
                               roc_ticket *out_ticket, roc_error *err) {
  roc_hsa_queue *queue = stream->queue;
  roc_hsa_signal *barrier;
  ROC_TRY(prepare_barrier(queue, &barrier, err));
  roc_status status =
      roc_hsa_start_copy(dst->address, dst->agent, src->address, src->agent, nbytes, barrier, err);
  if (status != ROC_OK) {
    roc_hsa_signal_release(&queue->device->signals, barrier);
    return status;
  }
  *out_ticket = stream->last = roc_hsa_queue_barrier(queue, barrier, false);
  return ROC_OK;
}

/* A small copy between the device and pageable memory, at once. */
static roc_status copy_inline(roc_hsa_device *device, const roc_hsa_pointer_info *dst,
                              const roc_hsa_pointer_info *src, size_t nbytes, roc_error *err) {
  if (!device->staging) {
    ROC_TRY(roc_hsa_alloc_host(&device->base, INLINE_BYTES, &device->staging, err));
  }
  if (src->kind == ROC_HSA_PAGEABLE) {
    memcpy(device->staging, src->address, nbytes);
    return copy_now(device, dst->address, dst->agent, device->staging, roc_hsa_sys.cpu, nbytes,
                    err);
  }
  ROC_TRY(
      copy_now(device, device->staging, roc_hsa_sys.cpu, src->address, src->agent, nbytes, err));
  memcpy(dst->address, device->staging, nbytes);
  return ROC_OK;
}

/* A small copy would wait for it in the engine, and all threads for the one that makes the copy.
 */
static bool has_long_copy(const roc_hsa_device *device) {
  return device->long_queue && !roc_hsa_queue_has_done(device->long_queue, device->long_ticket);
}

/* True: done here, or failed.  Only for a stream that has nothing to wait for.  Between host blocks
 * by the host's own addresses: GPUs may know them by others. */
static bool try_inline(roc_hsa_stream *stream, const roc_hsa_job *job,
                       const roc_hsa_pointer_info *dst, const roc_hsa_pointer_info *src,
                       roc_status *out_status, roc_error *err) {
  size_t nbytes = job->as.bytes.nbytes;
  *out_status = ROC_OK;
  if (is_host(dst) && is_host(src)) {
    if (nbytes > INLINE_HOST_BYTES) return false;
    memmove(job->as.bytes.dst, job->as.bytes.src, nbytes);
    return true;
  }
  bool is_staged = dst->kind == ROC_HSA_PAGEABLE || src->kind == ROC_HSA_PAGEABLE;
  if (!is_staged || nbytes > INLINE_BYTES || has_long_copy(stream->queue->device)) return false;
  *out_status = copy_inline(stream->queue->device, dst, src, nbytes, err);
  return true;
}

/* At once, by an engine after what is queued, or by a job. */
static roc_status queue_copy(roc_hsa_stream *stream, const roc_hsa_job *job, roc_ticket *out_ticket,
                             roc_error *err) {
  size_t nbytes = job->as.bytes.nbytes;
  if (stream->queue->ring.is_foreign || !is_idle(stream)) {
    return roc_hsa_queue_job(stream, job, out_ticket, err);
  }
  roc_hsa_pointer_info to, from;
  ROC_TRY(roc_hsa_find_pointer_info(job->as.bytes.dst, nbytes, &to, err));
  ROC_TRY(roc_hsa_find_pointer_info(job->as.bytes.src, nbytes, &from, err));
  roc_status status;
  if (try_inline(stream, job, &to, &from, &status, err)) return status;
  if ((is_host(&to) && is_host(&from)) || is_between(&to, &from) || !is_direct(&to, &from) ||
      can_overlap(to.address, from.address, nbytes)) {
    return roc_hsa_queue_job(stream, job, out_ticket, err);
  }
  return queue_direct(stream, &to, &from, nbytes, out_ticket, err);
}

roc_status roc_hsa_copy(roc_dev_stream *base, roc_devptr dst, roc_devptr src, size_t nbytes,
                        roc_copy_dir dir, roc_ticket *out_ticket, roc_error *err) {
  (void)dir; /* a registered array is host memory that GPUs reach, so addresses say more */
  roc_hsa_stream *stream = roc_hsa_stream_of(base);
  ROC_TRY(roc_hsa_queue_ready(stream->queue, err));
  *out_ticket = stream->last;
  if (nbytes == 0) return ROC_OK;
  roc_hsa_job job = {
      .run = run_copy,
      .as.bytes = {
          .dst = (char *)(uintptr_t)dst, .src = (const char *)(uintptr_t)src, .nbytes = nbytes}};
  ROC_TRY(queue_copy(stream, &job, out_ticket, err));
  if (nbytes >= LONG_BYTES) {
    roc_hsa_device *device = stream->queue->device;
    device->long_queue = stream->queue;
    device->long_ticket = *out_ticket;
  }
  return ROC_OK;
}

roc_status roc_hsa_fill(roc_dev_stream *base, roc_devptr dst, const void *pattern,
                        size_t pattern_bytes, size_t nbytes, roc_ticket *out_ticket,
                        roc_error *err) {
  roc_hsa_stream *stream = roc_hsa_stream_of(base);
  ROC_TRY(roc_hsa_queue_ready(stream->queue, err));
  *out_ticket = stream->last;
  if (nbytes == 0) return ROC_OK;
  roc_hsa_job job = {.run = run_fill,
                     .as.bytes = {.dst = (char *)(uintptr_t)dst,
                                  .nbytes = nbytes,
                                  .pattern_bytes = (uint32_t)pattern_bytes}};
  memcpy(job.as.bytes.pattern, pattern, pattern_bytes);
  return roc_hsa_queue_job(stream, &job, out_ticket, err);
}

roc_status roc_hsa_host_call(roc_dev_stream *base, void (*fn)(void *ud), void *ud,
                             roc_ticket *out_ticket, roc_error *err) {
  roc_hsa_job job = {.run = run_call, .as.call = {fn, ud}};
  return roc_hsa_queue_job(roc_hsa_stream_of(base), &job, out_ticket, err);
}

/* An event's stamp is a signal that a barrier can depend on; for any other ticket the worker waits.
 */
roc_status roc_hsa_stream_wait(roc_dev_stream *base, roc_dev_stream *other_base, roc_ticket ticket,
                               roc_ticket *out_ticket, roc_error *err) {
  roc_hsa_stream *stream = roc_hsa_stream_of(base);
  roc_hsa_queue *other = roc_hsa_stream_of(other_base)->queue;
  *out_ticket = 0;
  if (other == stream->queue || roc_hsa_queue_has_done(other, ticket)) return ROC_OK;
  ROC_TRY(roc_hsa_queue_ready(stream->queue, err));
  ROC_TRY(roc_hsa_queue_reserve(stream->queue, 1, err));
  ROC_TRY(roc_hsa_queue_reserve_signal_ref(stream->queue, err));
  roc_hsa_signal *stamp = roc_hsa_queue_find_stamp(other, ticket);
  if (!stamp) {
    roc_hsa_job job = {.run = run_wait, .as.wait = {other, ticket}};
    return roc_hsa_queue_job(stream, &job, out_ticket, err);
  }
  *out_ticket = stream->last = roc_hsa_queue_barrier(stream->queue, stamp, true);
  return ROC_OK;
}
