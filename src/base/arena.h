/* Bump allocator for the compiler: everything of one compile is freed at once.
 *
 * An arena that ran out of memory stays "failed": allocations return NULL from then on and
 * its `failed` tells, so that a pass may check once at its end.  One thread at a time. */
#ifndef ROC_BASE_ARENA_H
#define ROC_BASE_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct roc_arena_chunk roc_arena_chunk;

typedef struct roc_arena {
  roc_arena_chunk *head;
  size_t total_bytes; /* over all chunks */
  size_t limit_bytes; /* 0: none; passing it counts as out of memory */
  bool failed;
} roc_arena;

void roc_arena_init(roc_arena *arena, size_t limit_bytes);
void roc_arena_deinit(roc_arena *arena);

/* Zeroed, aligned for any type; NULL when memory or the limit is out. */
void *roc_arena_alloc(roc_arena *arena, size_t nbytes);
/* A NUL-terminated copy of `len` bytes. */
char *roc_arena_strndup(roc_arena *arena, const char *s, size_t len);
/* printf into the arena. */
char *roc_arena_printf(roc_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
char *roc_arena_vprintf(roc_arena *arena, const char *format, va_list args);

#define ROC_ARENA_NEW(arena, type) ((type *)roc_arena_alloc((arena), sizeof(type)))
#define ROC_ARENA_ARRAY(arena, type, count) \
  ((type *)roc_arena_alloc((arena), sizeof(type) * (size_t)(count)))

#endif
