/* See small_blocks.h. */
#include "base/small_blocks.h"

#include <stdatomic.h>
#include <stdint.h>

#include "base/alloc.h"

enum {
  STEP = 64,           /* sizes are its multiples */
  KEPT_BYTES = 1 << 18 /* of each size, at most */
};

typedef struct block {
  struct block *next;
} block;

/* The kept blocks of one size, the newest first. */
typedef struct shelf {
  atomic_flag is_busy;
  block *first;
  size_t nbytes;
} shelf;

static shelf shelves[ROC_SMALL_BLOCK_MOST / STEP];

/* NULL: the size has none, or another thread is there, or was when this process was forked. */
static shelf *enter(size_t nbytes) {
#if defined(__SANITIZE_ADDRESS__)
  (void)nbytes; /* it is to see blocks that are used after they have been freed */
  return NULL;
#else
  if (nbytes - 1 >= ROC_SMALL_BLOCK_MOST) return NULL;
  shelf *s = &shelves[(nbytes - 1) / STEP];
  return atomic_flag_test_and_set_explicit(&s->is_busy, memory_order_acquire) ? NULL : s;
#endif
}

static void leave(shelf *s) {
  atomic_flag_clear_explicit(&s->is_busy, memory_order_release);
}

static size_t round_up(size_t nbytes) {
  return (nbytes + STEP - 1) / STEP * STEP;
}

void *roc_small_alloc(size_t nbytes) {
  shelf *s = roc_alloc_is_armed() ? NULL : enter(nbytes);
  block *kept = NULL;
  if (s) {
    kept = s->first;
    if (kept) {
      s->first = kept->next;
      s->nbytes -= round_up(nbytes);
    }
    leave(s);
  }
  if (!kept) return roc_alloc(nbytes <= ROC_SMALL_BLOCK_MOST ? round_up(nbytes) : nbytes);
  roc_alloc_count(1);
  return kept;
}

void roc_small_free(void *given, size_t nbytes) {
  if (!given) return;
  shelf *s = enter(nbytes);
  bool is_kept = s && s->nbytes < KEPT_BYTES;
  if (is_kept) {
    block *kept = given;
    kept->next = s->first;
    s->first = kept;
    s->nbytes += round_up(nbytes);
  }
  if (s) leave(s);
  if (is_kept) {
    roc_alloc_count(-1);
  } else {
    roc_free(given);
  }
}

bool roc_small_trim(void) {
  bool has_any = false;
  for (size_t i = 0; i < sizeof shelves / sizeof *shelves; i++) {
    shelf *s = enter((i + 1) * STEP);
    block *first = s ? s->first : NULL;
    if (!s) continue;
    s->first = NULL;
    s->nbytes = 0;
    leave(s);
    while (first) {
      block *next = first->next;
      roc_alloc_count(1);
      roc_free(first);
      first = next;
      has_any = true;
    }
  }
  return has_any;
}
