#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

enum { CHUNK_BYTES = 32 * 1024, ALIGNMENT = 16 };

struct roc_arena_chunk {
  roc_arena_chunk *next;
  size_t used, capacity;
  _Alignas(ALIGNMENT) unsigned char data[];
};

void roc_arena_init(roc_arena *arena, size_t limit_bytes) {
  *arena = (roc_arena){.limit_bytes = limit_bytes};
}

void roc_arena_deinit(roc_arena *arena) {
  while (arena->head) {
    roc_arena_chunk *next = arena->head->next;
    roc_free(arena->head);
    arena->head = next;
  }
  arena->total_bytes = 0;
}

static roc_arena_chunk *add_chunk(roc_arena *arena, size_t nbytes) {
  size_t capacity = nbytes > CHUNK_BYTES ? nbytes : CHUNK_BYTES;
  if (arena->limit_bytes && arena->total_bytes + capacity > arena->limit_bytes) return NULL;
  roc_arena_chunk *chunk = roc_zalloc(sizeof(roc_arena_chunk) + capacity);
  if (!chunk) return NULL;
  chunk->capacity = capacity;
  chunk->next = arena->head;
  arena->head = chunk;
  arena->total_bytes += capacity;
  return chunk;
}

void *roc_arena_alloc(roc_arena *arena, size_t nbytes) {
  if (arena->failed || nbytes > PTRDIFF_MAX / 2) {
    arena->failed = true;
    return NULL;
  }
  size_t rounded = (nbytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
  roc_arena_chunk *chunk = arena->head;
  if (!chunk || chunk->capacity - chunk->used < rounded) chunk = add_chunk(arena, rounded);
  if (!chunk) {
    arena->failed = true;
    return NULL;
  }
  void *block = chunk->data + chunk->used;
  chunk->used += rounded;
  return block;
}

char *roc_arena_strndup(roc_arena *arena, const char *s, size_t len) {
  char *copy = roc_arena_alloc(arena, len + 1);
  if (copy) memcpy(copy, s, len);
  return copy;
}

char *roc_arena_vprintf(roc_arena *arena, const char *format, va_list args) {
  va_list again;
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  char *text = n < 0 ? NULL : roc_arena_alloc(arena, (size_t)n + 1);
  if (text) vsnprintf(text, (size_t)n + 1, format, again);
  va_end(again);
  return text;
}

char *roc_arena_printf(roc_arena *arena, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *text = roc_arena_vprintf(arena, format, args);
  va_end(args);
  return text;
}
