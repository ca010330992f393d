/* Copies: by the library where both ends are memory that GPUs reach, and through a page-locked
 * block of the stream where one is not. */
#include <string.h>

#include "device/cuda/driver.h"

enum { INLINE_BYTES = 64 * 1024 /* of pageable memory, which the library takes in at once */ };

/* One end of a copy. */
typedef struct end {
  roc_devptr ptr;
  roc_cuda_place place;
  int ordinal; /* DEVICE: whose */
} end;

static bool is_host(const end *e) {
  return e->place != ROC_CUDA_DEVICE;
}

static roc_status fail_copy(roc_cuda_stream *stream, CUresult result, roc_error *err) {
  return roc_cuda_fail(roc_cuda_owner(stream), result, "a copy is not queued", err);
}

/* ---- by the host ------------------------------------------------------------ */

static void run_bytes(roc_cuda_job *job) {
  memmove(job->as.bytes.dst, job->as.bytes.src, job->as.bytes.nbytes);
}

static roc_status queue_bytes(roc_cuda_stream *stream, char *dst, const char *src, size_t nbytes,
                              roc_error *err) {
  roc_cuda_job job = {.run = run_bytes, .as.bytes = {dst, src, nbytes}};
  return roc_cuda_queue_job(stream, &job, err);
}

/* The block is used again and again: in the stream's order each piece has left it before the next
 * one comes. */
static roc_status copy_staged(roc_cuda_stream *stream, const end *dst, const end *src,
                              size_t nbytes, roc_error *err) {
  char *staging;
  size_t most;
  bool from_host = src->place == ROC_CUDA_PAGEABLE;
  ROC_TRY(roc_cuda_get_staging(stream, nbytes, &staging, &most, err));
  CUdeviceptr middle = (CUdeviceptr)(uintptr_t)staging;
  for (size_t at = 0; at < nbytes; at += most) {
    size_t n = nbytes - at < most ? nbytes - at : most;
    if (from_host) {
      ROC_TRY(queue_bytes(stream, staging, (const char *)(uintptr_t)(src->ptr + at), n, err));
    }
    CUresult result = roc_cuda.cuMemcpyAsync(from_host ? dst->ptr + at : middle,
                                             from_host ? middle : src->ptr + at, n, stream->handle);
    if (result != CUDA_SUCCESS) return fail_copy(stream, result, err);
    if (!from_host) {
      ROC_TRY(queue_bytes(stream, (char *)(uintptr_t)(dst->ptr + at), staging, n, err));
    }
  }
  return ROC_OK;
}

/* ---- by the library ---------------------------------------------------------- */

/* The ends share bytes: by way of a third block, in the stream's order. */
static CUresult copy_overlapping(roc_cuda_stream *stream, roc_devptr dst, roc_devptr src,
                                 size_t nbytes) {
  CUdeviceptr middle;
  CUresult result = roc_cuda.cuMemAllocFromPoolAsync(&middle, nbytes, roc_cuda_owner(stream)->pool,
                                                     stream->handle);
  if (result != CUDA_SUCCESS) return result;
  result = roc_cuda.cuMemcpyAsync(middle, src, nbytes, stream->handle);
  if (result == CUDA_SUCCESS) {
    result = roc_cuda.cuMemcpyAsync(dst, middle, nbytes, stream->handle);
  }
  CUresult freed = roc_cuda.cuMemFreeAsync(middle, stream->handle);
  return result == CUDA_SUCCESS ? freed : result;
}

/* Opens the memory of one GPU to another, once; where the hardware cannot do that, the
 * library goes through the host. */
static void open_to(roc_cuda_device *owner, roc_cuda_device *peer) {
  int can = 0;
  if (owner->has_access[peer->base.ordinal]) return;
  owner->has_access[peer->base.ordinal] = true;
  if (roc_cuda.cuDeviceCanAccessPeer(&can, peer->handle, owner->handle) != CUDA_SUCCESS || !can) {
    return;
  }
  CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, (int)peer->base.ordinal},
                            CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  roc_cuda.cuMemPoolSetAccess(owner->pool, &access, 1);
}

static roc_status copy_between(roc_cuda_stream *stream, const end *dst, const end *src,
                               size_t nbytes, roc_error *err) {
  roc_cuda_device *to = roc_cuda_find_device(dst->ordinal);
  roc_cuda_device *from = roc_cuda_find_device(src->ordinal);
  if (!to || !from) {
    return roc_fail(err, ROC_INVALID, "a copy from or to the memory of a GPU that is not open");
  }
  open_to(from, to);
  open_to(to, from);
  roc_cuda_device *ends[2] = {to, from};
  for (int i = 0; i < 2; i++) { /* blocks that were allocated just now */
    if (ends[i]->alloc_epoch == 0) continue;
    CUresult result = roc_cuda.cuStreamWaitEvent(stream->handle, ends[i]->alloc_event, 0);
    if (result != CUDA_SUCCESS) return fail_copy(stream, result, err);
  }
  CUresult result = roc_cuda.cuMemcpyPeerAsync(dst->ptr, to->context, src->ptr, from->context,
                                               nbytes, stream->handle);
  return result == CUDA_SUCCESS ? ROC_OK : fail_copy(stream, result, err);
}

static roc_status copy_direct(roc_cuda_stream *stream, const end *dst, const end *src,
                              size_t nbytes, roc_error *err) {
  bool on_devices = !is_host(dst) && !is_host(src);
  if (on_devices && dst->ordinal != src->ordinal) {
    return copy_between(stream, dst, src, nbytes, err);
  }
  bool overlap = on_devices && dst->ptr < src->ptr + nbytes && src->ptr < dst->ptr + nbytes;
  CUresult result = overlap ? copy_overlapping(stream, dst->ptr, src->ptr, nbytes)
                            : roc_cuda.cuMemcpyAsync(dst->ptr, src->ptr, nbytes, stream->handle);
  return result == CUDA_SUCCESS ? ROC_OK : fail_copy(stream, result, err);
}

/* ---- the op ------------------------------------------------------------------ */

/* Pageable memory that is read or written before the call returns: only for a stream that has
 * nothing to wait for, and a little. */
static bool is_inline(roc_cuda_stream *stream, size_t nbytes) {
  return nbytes <= INLINE_BYTES && roc_cuda_has_done(stream, atomic_load(&stream->issued));
}

/* As much as is of one kind at both ends: *nbytes of it. */
static roc_status copy_piece(roc_cuda_stream *stream, roc_devptr dst, roc_devptr src,
                             size_t *nbytes, roc_error *err) {
  end to = {.ptr = dst}, from = {.ptr = src};
  size_t whole = *nbytes;
  CUresult result = roc_cuda_find_place(dst, nbytes, &to.place, &to.ordinal);
  if (result == CUDA_SUCCESS) {
    result = roc_cuda_find_place(src, nbytes, &from.place, &from.ordinal);
  }
  if (result != CUDA_SUCCESS) return fail_copy(stream, result, err);
  if (is_host(&to) && is_host(&from)) {
    *nbytes = whole;
    return queue_bytes(stream, (char *)(uintptr_t)dst, (const char *)(uintptr_t)src, whole, err);
  }
  bool is_pageable = to.place == ROC_CUDA_PAGEABLE || from.place == ROC_CUDA_PAGEABLE;
  if (is_pageable && !is_inline(stream, whole)) {
    return copy_staged(stream, &to, &from, *nbytes, err);
  }
  return copy_direct(stream, &to, &from, *nbytes, err);
}

static roc_status copy_pieces(roc_cuda_stream *stream, roc_devptr dst, roc_devptr src,
                              size_t nbytes, roc_error *err) {
  for (size_t at = 0; at < nbytes;) {
    size_t n = nbytes - at;
    ROC_TRY(copy_piece(stream, dst + at, src + at, &n, err));
    at += n;
  }
  return ROC_OK;
}

roc_status roc_cuda_copy(roc_dev_stream *base, roc_devptr dst, roc_devptr src, size_t nbytes,
                         roc_copy_dir dir, roc_ticket *out_ticket, roc_error *err) {
  (void)dir; /* page-locked memory is host memory that GPUs reach: addresses say more */
  roc_cuda_stream *stream = roc_cuda_stream_of(base);
  bool entered = roc_cuda_enter(roc_cuda_owner(stream));
  roc_status status = roc_cuda_stream_ready(stream, err);
  if (status == ROC_OK) {
    status = copy_pieces(stream, dst, src, nbytes, err);
    *out_ticket = roc_cuda_issue(stream, NULL);
  }
  roc_cuda_leave(entered);
  return status;
}
