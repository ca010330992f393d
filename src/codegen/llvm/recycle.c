/* Lists of blocks by size; see recycle.h. */
#include "codegen/llvm/recycle.h"

#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>

void *__real_malloc(size_t nbytes);
void __real_free(void *block);

enum {
  STEP = 16,            /* bytes from a size to the next: as far apart as glibc's */
  MOST_BYTES = 2 << 20, /* of a thread: more is not free at a time in the compile of most kernels */
};

typedef struct roc_spare roc_spare;
struct roc_spare {
  roc_spare *next;
};

static pthread_key_t at_end;
static bool has_end; /* else no thread keeps anything */

static void free_spares(void *ud) {
  roc_spares *spares = ud;
  for (size_t n = 0; n < ROC_RECYCLE_SIZES; n++) {
    for (roc_spare *next, *block = spares->of_size[n]; block; block = next) {
      next = block->next;
      __real_free(block);
    }
  }
  *spares = (roc_spares){0};
}

__attribute__((constructor)) static void prepare(void) {
  has_end = pthread_key_create(&at_end, free_spares) == 0;
}

/* Of blocks of the nth size at least: what glibc makes of it, to the byte. */
static size_t bytes_of(size_t n) {
  return n * STEP + STEP / 2;
}

void *roc_recycle_take(roc_spares *spares, size_t nbytes) {
  size_t n = (nbytes + STEP / 2 - 1) / STEP;
  if (n >= ROC_RECYCLE_SIZES) return __real_malloc(nbytes);
  roc_spare *block = spares->of_size[n];
  if (!block) return __real_malloc(bytes_of(n));
  spares->of_size[n] = block->next;
  spares->nbytes -= bytes_of(n);
  return block;
}

void roc_recycle_give(roc_spares *spares, void *block) {
  size_t n = (malloc_usable_size(block) - STEP / 2) / STEP;
  bool is_kept = n < ROC_RECYCLE_SIZES && spares->nbytes < MOST_BYTES && has_end;
  bool is_first = spares->nbytes == 0;
  if (!is_kept || (is_first && pthread_setspecific(at_end, spares) != 0)) {
    __real_free(block);
    return;
  }
  *(roc_spare *)block = (roc_spare){spares->of_size[n]};
  spares->of_size[n] = block;
  spares->nbytes += bytes_of(n);
}
