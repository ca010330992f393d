/* Fills: by the library's own for patterns of up to four bytes.  It has none for eight: the
 * beginning is set half by half, and then doubled. */
#include <string.h>

#include "base/bulk.h"
#include "device/common/common.h"
#include "device/cuda/driver.h"

enum { SEED_BYTES = 64 * 1024 };

/* ---- the host's memory ---------------------------------------------------- */

static void run_fill(roc_cuda_job *job) {
  roc_fill(job->as.fill.dst, job->as.fill.pattern, job->as.fill.pattern_bytes, job->as.fill.nbytes);
}

static roc_status queue_host_fill(roc_cuda_stream *stream, char *dst, const void *pattern,
                                  size_t pattern_bytes, size_t nbytes, roc_error *err) {
  roc_cuda_job job = {.run = run_fill,
                      .as.fill = {.dst = dst, .pattern_bytes = pattern_bytes, .nbytes = nbytes}};
  memcpy(job.as.fill.pattern, pattern, pattern_bytes);
  return roc_cuda_queue_job(stream, &job, err);
}

/* ---- the device's --------------------------------------------------------- */

/* The shortest pattern that says the same: 1, 2, 4 or 8 bytes. */
static size_t shorten(unsigned char pattern[8], const void *given, size_t pattern_bytes) {
  size_t n = 8;
  roc_fill(pattern, given, pattern_bytes, 8);
  while (n > 1 && memcmp(pattern, pattern + n / 2, n / 2) == 0) n /= 2;
  return n;
}

static CUresult set_short(CUstream stream, CUdeviceptr dst, const unsigned char *pattern, size_t n,
                          size_t nbytes) {
  uint16_t half;
  uint32_t word;
  memcpy(&half, pattern, sizeof half);
  memcpy(&word, pattern, sizeof word);
  if (n == 1) return roc_cuda.cuMemsetD8Async(dst, pattern[0], nbytes, stream);
  if (n == 2) return roc_cuda.cuMemsetD16Async(dst, half, nbytes / 2, stream);
  return roc_cuda.cuMemsetD32Async(dst, word, nbytes / 4, stream);
}

static CUresult set_seed(CUstream stream, CUdeviceptr dst, const unsigned char *pattern,
                         size_t nbytes) {
  uint32_t words[2];
  memcpy(words, pattern, sizeof words);
  for (int i = 0; i < 2; i++) {
    CUresult result =
        roc_cuda.cuMemsetD2D32Async(dst + 4 * (unsigned)i, 8, words[i], 1, nbytes / 8, stream);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

/* What is there, after itself, twice as much each time. */
static CUresult repeat(CUstream stream, CUdeviceptr dst, size_t done, size_t nbytes) {
  while (done < nbytes) {
    size_t next = done < nbytes - done ? done : nbytes - done;
    CUresult result = roc_cuda.cuMemcpyAsync(dst + done, dst, next, stream);
    if (result != CUDA_SUCCESS) return result;
    done += next;
  }
  return CUDA_SUCCESS;
}

/* For what the library's fills do not take: elements that are not aligned, a rest. */
static roc_status fill_from_host(roc_cuda_stream *stream, CUdeviceptr dst, const void *pattern,
                                 size_t pattern_bytes, size_t nbytes, roc_error *err) {
  char *staging;
  size_t most;
  ROC_TRY(roc_cuda_get_staging(stream, 0, &staging, &most, err));
  size_t seed = nbytes < SEED_BYTES ? nbytes : SEED_BYTES;
  ROC_TRY(queue_host_fill(stream, staging, pattern, pattern_bytes, seed, err));
  CUresult result =
      roc_cuda.cuMemcpyAsync(dst, (CUdeviceptr)(uintptr_t)staging, seed, stream->handle);
  if (result == CUDA_SUCCESS) result = repeat(stream->handle, dst, seed, nbytes);
  if (result == CUDA_SUCCESS) return ROC_OK;
  return roc_cuda_fail(roc_cuda_owner(stream), result, "a fill is not queued", err);
}

roc_status roc_cuda_fill_block(roc_cuda_stream *stream, CUdeviceptr dst, const void *given,
                               size_t given_bytes, size_t nbytes, roc_error *err) {
  unsigned char pattern[8];
  size_t n = shorten(pattern, given, given_bytes);
  size_t unit = n < 4 ? n : 4;
  CUresult result;
  if (dst % unit != 0 || nbytes % n != 0) {
    return fill_from_host(stream, dst, given, given_bytes, nbytes, err);
  }
  if (n < 8) {
    result = set_short(stream->handle, dst, pattern, n, nbytes);
  } else {
    size_t seed = nbytes < SEED_BYTES ? nbytes : SEED_BYTES;
    result = set_seed(stream->handle, dst, pattern, seed);
    if (result == CUDA_SUCCESS) result = repeat(stream->handle, dst, seed, nbytes);
  }
  if (result == CUDA_SUCCESS) return ROC_OK;
  return roc_cuda_fail(roc_cuda_owner(stream), result, "a fill is not queued", err);
}

static roc_status fill_current(roc_cuda_stream *stream, roc_devptr dst, const void *pattern,
                               size_t pattern_bytes, size_t nbytes, roc_error *err) {
  roc_cuda_place place;
  int ordinal;
  size_t found = nbytes;
  if (nbytes == 0) return ROC_OK;
  CUresult result = roc_cuda_find_place(dst, &found, &place, &ordinal);
  if (result != CUDA_SUCCESS) {
    return roc_cuda_fail(roc_cuda_owner(stream), result, "a fill is not queued", err);
  }
  if (place == ROC_CUDA_DEVICE) {
    return roc_cuda_fill_block(stream, dst, pattern, pattern_bytes, nbytes, err);
  }
  return queue_host_fill(stream, (char *)(uintptr_t)dst, pattern, pattern_bytes, nbytes, err);
}

roc_status roc_cuda_fill(roc_dev_stream *base, roc_devptr dst, const void *pattern,
                         size_t pattern_bytes, size_t nbytes, roc_ticket *out_ticket,
                         roc_error *err) {
  roc_cuda_stream *stream = roc_cuda_stream_of(base);
  bool entered = roc_cuda_enter(roc_cuda_owner(stream));
  roc_status status = roc_cuda_stream_ready(stream, err);
  if (status == ROC_OK) {
    status = fill_current(stream, dst, pattern, pattern_bytes, nbytes, err);
    *out_ticket = roc_cuda_issue(stream, NULL);
  }
  roc_cuda_leave(entered);
  return status;
}
