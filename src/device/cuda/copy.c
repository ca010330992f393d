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

static bool is_abroad(roc_cuda_stream *stream, const end *e) {
  return roc_cuda_is_abroad(stream, e->place, e->ordinal);
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

/* ---- by the library ---------------------------------------------------------- */

/* Between memory of two GPUs, or of one; NULL: the host's, or the stream's GPU's. */
static CUresult copy_part(roc_cuda_stream *stream, roc_devptr dst, const roc_cuda_device *to,
                          roc_devptr src, const roc_cuda_device *from, size_t nbytes) {
  if (!to || !from || to == from) {
    return roc_cuda.cuMemcpyAsync(dst, src, nbytes, stream->handle);
  }
  return roc_cuda.cuMemcpyPeerAsync(dst, to->context, src, from->context, nbytes, stream->handle);
}

/* By way of a block of the stream's GPU, in the stream's order. */
static CUresult copy_by_way(roc_cuda_stream *stream, roc_devptr dst, const roc_cuda_device *to,
                            roc_devptr src, const roc_cuda_device *from, size_t nbytes) {
  CUdeviceptr middle;
  const roc_cuda_device *own = roc_cuda_owner(stream);
  CUresult result = roc_cuda.cuMemAllocFromPoolAsync(&middle, nbytes, own->pool, stream->handle);
  if (result != CUDA_SUCCESS) return result;
  result = copy_part(stream, middle, own, src, from, nbytes);
  if (result == CUDA_SUCCESS) result = copy_part(stream, dst, to, middle, own, nbytes);
  CUresult freed = roc_cuda.cuMemFreeAsync(middle, stream->handle);
  return result == CUDA_SUCCESS ? freed : result;
}

/* A copy of which an end is memory of a GPU that is not the stream's. */
static roc_status copy_abroad(roc_cuda_stream *stream, const end *dst, const end *src,
                              size_t nbytes, roc_error *err) {
  const end *ends[2] = {dst, src};
  roc_cuda_device *owners[2] = {NULL, NULL};
  bool reaches = true;
  for (int i = 0; i < 2; i++) {
    if (is_host(ends[i])) continue;
    owners[i] = roc_cuda_find_device(ends[i]->ordinal);
    if (!owners[i]) {
      return roc_fail(err, ROC_INVALID, "a copy from or to the memory of a GPU that is not open");
    }
    if (!is_abroad(stream, ends[i])) continue;
    CUresult result = roc_cuda_reach(stream, owners[i], &reaches);
    if (result != CUDA_SUCCESS) return fail_copy(stream, result, err);
  }
  bool needs_way = !reaches && (!owners[0] || !owners[1]);
  CUresult result = (needs_way ? copy_by_way : copy_part)(stream, dst->ptr, owners[0], src->ptr,
                                                          owners[1], nbytes);
  return result == CUDA_SUCCESS ? ROC_OK : fail_copy(stream, result, err);
}

static roc_status copy_direct(roc_cuda_stream *stream, const end *dst, const end *src,
                              size_t nbytes, roc_error *err) {
  if (is_abroad(stream, dst) || is_abroad(stream, src)) {
    return copy_abroad(stream, dst, src, nbytes, err);
  }
  bool overlap = !is_host(dst) && !is_host(src) && dst->ptr < src->ptr + nbytes &&
                 src->ptr < dst->ptr + nbytes;
  CUresult result =
      (overlap ? copy_by_way : copy_part)(stream, dst->ptr, NULL, src->ptr, NULL, nbytes);
  return result == CUDA_SUCCESS ? ROC_OK : fail_copy(stream, result, err);
}

/* ---- through the stream's own block ------------------------------------------- */

/* The block is used again and again: in the stream's order each piece has left it before the next
 * one comes. */
static roc_status copy_staged(roc_cuda_stream *stream, const end *dst, const end *src,
                              size_t nbytes, roc_error *err) {
  char *staging;
  size_t most;
  bool from_host = src->place == ROC_CUDA_PAGEABLE;
  ROC_TRY(roc_cuda_get_staging(stream, nbytes, &staging, &most, err));
  const end middle = {.ptr = (CUdeviceptr)(uintptr_t)staging, .place = ROC_CUDA_PINNED};
  for (size_t at = 0; at < nbytes; at += most) {
    size_t n = nbytes - at < most ? nbytes - at : most;
    if (from_host) {
      ROC_TRY(queue_bytes(stream, staging, (const char *)(uintptr_t)(src->ptr + at), n, err));
    }
    end there = from_host ? *dst : *src;
    there.ptr += at;
    ROC_TRY(
        copy_direct(stream, from_host ? &there : &middle, from_host ? &middle : &there, n, err));
    if (!from_host) {
      ROC_TRY(queue_bytes(stream, (char *)(uintptr_t)(dst->ptr + at), staging, n, err));
    }
  }
  return ROC_OK;
}

/* ---- the op ------------------------------------------------------------------ */

/* Pageable memory that is read or written before the call returns: only for a stream that has
 * nothing to wait for, and a little. */
static bool is_inline(roc_cuda_stream *stream, const end *dst, const end *src, size_t nbytes) {
  if (is_abroad(stream, dst) || is_abroad(stream, src)) return false;
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
  if (is_pageable && !is_inline(stream, &to, &from, whole)) {
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
