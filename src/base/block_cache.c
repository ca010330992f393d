/* See block_cache.h. */
#include "base/block_cache.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  SLOTS = 64,
  LEAST_BYTES = 32 << 10, /* of a block: less comes from memory that malloc has already */
  MEMORY_SHARE = 16       /* of the machine's memory, which is kept at most */
};
static const size_t most_bytes = (size_t)256 << 20;

typedef struct kept {
  void *block;
  size_t nbytes;
} kept;

static atomic_flag is_busy = ATOMIC_FLAG_INIT;
static kept blocks[SLOTS]; /* the oldest one first */
static size_t nblocks, nbytes_kept;

/* False: another thread is in here, or was when this process was forked. */
static bool enter(void) {
#if defined(__SANITIZE_ADDRESS__)
  return false; /* it is to see blocks that are used after they have been freed */
#else
  return !atomic_flag_test_and_set_explicit(&is_busy, memory_order_acquire);
#endif
}

static void leave(void) {
  atomic_flag_clear_explicit(&is_busy, memory_order_release);
}

static size_t limit(void) {
  static _Atomic size_t known;
  size_t bytes = atomic_load_explicit(&known, memory_order_relaxed);
  if (bytes > 0) return bytes;
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
  bytes = pages > 0 && page > 0 ? (size_t)pages / MEMORY_SHARE * (size_t)page : most_bytes;
  if (bytes > most_bytes) bytes = most_bytes;
  atomic_store_explicit(&known, bytes + 1, memory_order_relaxed);
  return bytes + 1;
}

static void *take_out(size_t i) {
  void *block = blocks[i].block;
  nbytes_kept -= blocks[i].nbytes;
  nblocks--;
  memmove(&blocks[i], &blocks[i + 1], (nblocks - i) * sizeof *blocks);
  return block;
}

void *roc_block_cache_take(size_t nbytes, size_t alignment) {
  if (nbytes < LEAST_BYTES || !enter()) return NULL;
  size_t best = SLOTS, most = nbytes + nbytes / 4;
  for (size_t i = nblocks; i-- > 0;) { /* of equal ones the newest: it may be in a cache */
    size_t has = blocks[i].nbytes;
    if (has < nbytes || has > most || (uintptr_t)blocks[i].block % alignment != 0) continue;
    if (best == SLOTS || has < blocks[best].nbytes) best = i;
  }
  void *block = best < SLOTS ? take_out(best) : NULL;
  leave();
  return block;
}

bool roc_block_cache_keep(void *block) {
  size_t nbytes = malloc_usable_size(block);
  if (nbytes < LEAST_BYTES || nbytes > limit() / 2 || !enter()) return false;
  void *given_back[SLOTS];
  size_t n = 0;
  while (nblocks == SLOTS || nbytes_kept + nbytes > limit()) given_back[n++] = take_out(0);
  blocks[nblocks++] = (kept){block, nbytes};
  nbytes_kept += nbytes;
  leave();
  while (n > 0) free(given_back[--n]);
  return true;
}

size_t roc_block_cache_trim(void) {
  void *given_back[SLOTS];
  size_t n = 0;
  if (!enter()) return 0;
  size_t nbytes = nbytes_kept;
  while (nblocks > 0) given_back[n++] = take_out(nblocks - 1);
  leave();
  while (n > 0) free(given_back[--n]);
  if (nbytes > 0) malloc_trim(0); /* a block that malloc has not mapped for itself stays its own */
  return nbytes;
}
