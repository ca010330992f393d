#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/block_cache.h"

enum {
  HUGE_PAGE = 2 << 20,
  HUGE_PAGE_FROM = 8 << 20 /* bytes; below, the rounding would waste too much */
};

static _Atomic uint64_t fail_countdown; /* 0: disarmed */
static _Atomic int64_t live_blocks;

/* Counts down only while armed, so that the common path is one relaxed load. */
static bool failure_is_due(void) {
  if (atomic_load_explicit(&fail_countdown, memory_order_relaxed) == 0) return false;
  return atomic_fetch_sub(&fail_countdown, 1) == 1;
}

void roc_alloc_count(int change) {
  atomic_fetch_add_explicit(&live_blocks, change, memory_order_relaxed);
}

bool roc_alloc_is_armed(void) {
  return atomic_load_explicit(&fail_countdown, memory_order_relaxed) != 0;
}

static void *count_block(void *block) {
  if (block) roc_alloc_count(1);
  return block;
}

void *roc_alloc(size_t nbytes) {
  if (nbytes > PTRDIFF_MAX || failure_is_due()) return NULL;
  return count_block(malloc(nbytes ? nbytes : 1));
}

void *roc_zalloc(size_t nbytes) {
  if (nbytes > PTRDIFF_MAX || failure_is_due()) return NULL;
  return count_block(calloc(1, nbytes ? nbytes : 1));
}

void *roc_realloc(void *block, size_t nbytes) {
  if (!block) return roc_alloc(nbytes);
  if (nbytes > PTRDIFF_MAX || failure_is_due()) return NULL;
  return realloc(block, nbytes ? nbytes : 1);
}

void *roc_alloc_aligned(size_t nbytes, size_t alignment) {
  if (nbytes > PTRDIFF_MAX || failure_is_due()) return NULL;
  void *block = NULL;
  if (posix_memalign(&block, alignment < sizeof(void *) ? sizeof(void *) : alignment,
                     nbytes ? nbytes : 1) != 0) {
    return NULL;
  }
  return count_block(block);
}

/* The huge pages that lie in the block as a whole. */
static void *advise_huge_pages(void *block, size_t nbytes) {
  if (!block || nbytes < HUGE_PAGE_FROM) return block;
  size_t before = -(uintptr_t)block % HUGE_PAGE;
  madvise((char *)block + before, (nbytes - before) / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
  return block;
}

void *roc_alloc_pages(size_t nbytes, size_t alignment) {
  void *kept = roc_block_cache_take(nbytes, alignment);
  if (kept && failure_is_due()) {
    free(kept);
    return NULL;
  }
  if (kept) return count_block(kept);
  size_t by = nbytes < HUGE_PAGE_FROM ? alignment : HUGE_PAGE;
  return advise_huge_pages(roc_alloc_aligned(nbytes, by), nbytes);
}

void *roc_zalloc_pages(size_t nbytes) {
  return advise_huge_pages(roc_zalloc(nbytes), nbytes);
}

void roc_free(void *block) {
  if (!block) return;
  roc_alloc_count(-1);
  free(block);
}

void roc_free_pages(void *block) {
  if (!block) return;
  roc_alloc_count(-1);
  if (!roc_block_cache_keep(block)) free(block);
}

void roc_alloc_fail_at(uint64_t nth) {
  atomic_store(&fail_countdown, nth);
}

int64_t roc_alloc_live(void) {
  return atomic_load(&live_blocks);
}
