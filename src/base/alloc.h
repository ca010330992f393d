/* Heap allocation for the C core: one hook, checked sizes, and a failure that tests can plant.
 *
 * Every block of the core comes from here, so that a spec can make the n-th allocation fail and
 * count what is still live.  Any thread. */
#ifndef ROC_BASE_ALLOC_H
#define ROC_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NULL when memory is out, `nbytes` is over PTRDIFF_MAX, or a planted failure is due.
 * A size of 0 gives a unique pointer.  Contents: roc_alloc undefined, roc_zalloc zero. */
void *roc_alloc(size_t nbytes) __attribute__((malloc));
void *roc_zalloc(size_t nbytes) __attribute__((malloc));
/* Keeps the old block when it returns NULL. */
void *roc_realloc(void *block, size_t nbytes);
void roc_free(void *block);
/* Alignment is a power of two; the block is freed with roc_free. */
void *roc_alloc_aligned(size_t nbytes, size_t alignment);
/* The same for arrays of elements: a large block gets huge pages, where the system has them, or is
 * one that roc_free_pages has kept. */
void *roc_alloc_pages(size_t nbytes, size_t alignment);
/* As roc_zalloc; a large block is zeros that the system makes when a page is touched first. */
void *roc_zalloc_pages(size_t nbytes);
/* Frees a block of either, or keeps it for later ones (base/block_cache.h). */
void roc_free_pages(void *block);

/* *out = a * b (or a + b); false on overflow, *out untouched. */
static inline bool roc_mul_size(size_t a, size_t b, size_t *out) {
  size_t product;
  if (__builtin_mul_overflow(a, b, &product)) return false;
  *out = product;
  return true;
}
static inline bool roc_add_size(size_t a, size_t b, size_t *out) {
  size_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return false;
  *out = sum;
  return true;
}

/* Test hooks.  The n-th allocation from now (1 = the next) fails once; 0 disarms. */
void roc_alloc_fail_at(uint64_t nth);
bool roc_alloc_is_armed(void);
/* Blocks allocated and not yet freed. */
int64_t roc_alloc_live(void);

/* For base/small_blocks.c: what it keeps is freed for everything else. */
void roc_alloc_count(int change);

#endif
