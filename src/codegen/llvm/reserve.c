/* See reserve.h.  Free pieces are a list in the order of their addresses; the first that is large
 * enough serves, and neighbours are joined. */
#include "codegen/llvm/reserve.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdint.h>

enum { RESERVE_BYTES = 4 << 20, GRAIN = 16 };

/* In front of a block, and at the begin of a free piece. */
typedef struct piece {
  size_t nbytes;      /* with this */
  struct piece *next; /* while it is free */
} piece;

static alignas(GRAIN) char reserve[RESERVE_BYTES];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static piece *first;
static bool is_begun;
static size_t taken, most;

static void begin(void) {
  if (is_begun) return;
  first = (piece *)reserve;
  *first = (piece){.nbytes = RESERVE_BYTES};
  is_begun = true;
}

/* The first `nbytes` of a piece; the rest stays in the list. */
static void cut(piece **at, size_t nbytes) {
  piece *whole = *at, *rest = (piece *)((char *)whole + nbytes);
  if (whole->nbytes == nbytes) {
    *at = whole->next;
    return;
  }
  *rest = (piece){whole->nbytes - nbytes, whole->next};
  whole->nbytes = nbytes;
  *at = rest;
}

void *roc_reserve_take(size_t nbytes) {
  if (nbytes > RESERVE_BYTES - sizeof(piece)) return NULL;
  nbytes = (nbytes + sizeof(piece) + GRAIN - 1) / GRAIN * GRAIN;
  pthread_mutex_lock(&lock);
  begin();
  piece **at = &first;
  while (*at && (*at)->nbytes < nbytes) at = &(*at)->next;
  piece *found = *at;
  if (found) {
    cut(at, nbytes);
    taken += nbytes;
    if (taken > most) most = taken;
  }
  pthread_mutex_unlock(&lock);
  return found ? found + 1 : NULL;
}

static void join_next(piece *p) {
  if (!p->next || (char *)p + p->nbytes != (char *)p->next) return;
  p->nbytes += p->next->nbytes;
  p->next = p->next->next;
}

void roc_reserve_give(void *block) {
  piece *p = (piece *)block - 1, *before = NULL;
  pthread_mutex_lock(&lock);
  taken -= p->nbytes;
  for (piece *at = first; at && at < p; at = at->next) before = at;
  p->next = before ? before->next : first;
  if (before) {
    before->next = p;
  } else {
    first = p;
  }
  join_next(p);
  if (before) join_next(before);
  pthread_mutex_unlock(&lock);
}

bool roc_reserve_owns(const void *block) {
  return (uintptr_t)block - (uintptr_t)reserve < RESERVE_BYTES;
}

void *roc_reserve_end(void *block) {
  piece *p = (piece *)block - 1;
  return (char *)p + p->nbytes;
}

void roc_reserve_stats(size_t *out_bytes, size_t *out_most) {
  pthread_mutex_lock(&lock);
  *out_bytes = taken;
  *out_most = most;
  pthread_mutex_unlock(&lock);
}
