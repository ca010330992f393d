/* See bulk.h.  Streaming stores take whole lines: what stands before the first and after the last is
 * copied as ever. */
#include "base/bulk.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/thread.h"

#ifdef __x86_64__
#include <emmintrin.h>
#endif

enum {
  PART_LEAST = 8 << 20, /* bytes of a thread, which take it a millisecond */
  PAGE_MOST = 2 << 20,  /* parts end at whole pages, which one thread alone touches */
};

void roc_fill(void *dst, const void *pattern, size_t pattern_bytes, size_t nbytes) {
  const unsigned char *p = pattern;
  bool is_uniform = true;
  for (size_t i = 1; i < pattern_bytes; i++) is_uniform = is_uniform && p[i] == p[0];
  if (is_uniform) {
    memset(dst, p[0], nbytes);
    return;
  }
  unsigned char *out = dst;
  size_t done = pattern_bytes < nbytes ? pattern_bytes : nbytes;
  memcpy(out, pattern, done);
  while (done < nbytes) { /* doubles the filled part, in blocks that fit the L1 cache */
    size_t next = done < nbytes - done ? done : nbytes - done;
    if (next > 16384) next = 16384;
    memcpy(out + done, out, next);
    done += next;
  }
}

#ifdef __x86_64__
enum { LINE_BYTES = 64, VECTOR_BYTES = 16 };

/* Bytes before the first line that begins in the block. */
static size_t count_head(const void *dst, size_t nbytes) {
  size_t head = -(uintptr_t)dst % LINE_BYTES;
  return head < nbytes ? head : nbytes;
}

void roc_copy_past_caches(void *dst, const void *src, size_t nbytes) {
  size_t at = count_head(dst, nbytes);
  char *to = dst;
  const char *from = src;
  memcpy(to, from, at);
  for (; nbytes - at >= LINE_BYTES; at += LINE_BYTES) {
    __m128i line[LINE_BYTES / VECTOR_BYTES];
    memcpy(line, from + at, sizeof line);
    for (size_t i = 0; i < LINE_BYTES / VECTOR_BYTES; i++) {
      _mm_stream_si128((__m128i *)(void *)(to + at) + i, line[i]);
    }
  }
  memcpy(to + at, from + at, nbytes - at);
  _mm_sfence();
}

void roc_fill_past_caches(void *dst, const void *pattern, size_t pattern_bytes, size_t nbytes) {
  size_t at = count_head(dst, nbytes);
  char *to = dst, repeated[2 * VECTOR_BYTES];
  if (VECTOR_BYTES % pattern_bytes != 0) {
    roc_fill(dst, pattern, pattern_bytes, nbytes);
    return;
  }
  roc_fill(to, pattern, pattern_bytes, at);
  roc_fill(repeated, pattern, pattern_bytes, sizeof repeated);
  __m128i vector;
  memcpy(&vector, repeated + at % pattern_bytes, sizeof vector);
  for (; nbytes - at >= LINE_BYTES; at += LINE_BYTES) {
    for (size_t i = 0; i < LINE_BYTES / VECTOR_BYTES; i++) {
      _mm_stream_si128((__m128i *)(void *)(to + at) + i, vector);
    }
  }
  roc_fill(to + at, repeated + at % pattern_bytes, pattern_bytes, nbytes - at);
  _mm_sfence();
}

#else

void roc_copy_past_caches(void *dst, const void *src, size_t nbytes) {
  memcpy(dst, src, nbytes);
}

void roc_fill_past_caches(void *dst, const void *pattern, size_t pattern_bytes, size_t nbytes) {
  roc_fill(dst, pattern, pattern_bytes, nbytes);
}

#endif

/* ---- by threads -------------------------------------------------------------------------- */

typedef struct job {
  char *dst;
  const char *src; /* NULL: a fill */
  const void *pattern;
  size_t pattern_bytes, nbytes, part_bytes;
} job;

static void run_bytes(const job *j, size_t at, size_t nbytes) {
  if (j->src) {
    roc_copy_past_caches(j->dst + at, j->src + at, nbytes);
  } else {
    roc_fill_past_caches(j->dst + at, j->pattern, j->pattern_bytes, nbytes);
  }
}

static void run_part(void *ud, uint32_t part) {
  const job *j = ud;
  size_t at = part * j->part_bytes;
  if (at >= j->nbytes) return;
  run_bytes(j, at, j->nbytes - at < j->part_bytes ? j->nbytes - at : j->part_bytes);
}

static void run_job(job *j, uint32_t threads) {
  size_t parts = j->nbytes / PART_LEAST;
  if (parts > threads) parts = threads;
  if (parts > ROC_THREAD_PARTS) parts = ROC_THREAD_PARTS;
  if (parts < 2) {
    run_bytes(j, 0, j->nbytes);
    return;
  }
  j->part_bytes = (j->nbytes / parts / PAGE_MOST + 1) * PAGE_MOST;
  roc_thread_each((uint32_t)parts, run_part, j);
}

void roc_fill_by_threads(void *dst, const void *pattern, size_t pattern_bytes, size_t nbytes,
                         uint32_t threads) {
  job j = {.dst = dst, .pattern = pattern, .pattern_bytes = pattern_bytes, .nbytes = nbytes};
  run_job(&j, threads);
}

void roc_copy_by_threads(void *dst, const void *src, size_t nbytes, uint32_t threads) {
  job j = {.dst = dst, .src = src, .nbytes = nbytes};
  run_job(&j, threads);
}
