#include "base/vec.h"

#include "base/alloc.h"

bool roc_vec_grow(void **items, uint32_t *capacity, uint32_t count, uint32_t extra,
                  size_t item_bytes) {
  if (extra <= *capacity - count) return true;
  uint64_t need = (uint64_t)count + extra;
  uint64_t grown = *capacity ? (uint64_t)*capacity * 2 : 8;
  if (grown < need) grown = need;
  if (grown > UINT32_MAX) return false;
  void *block = roc_realloc(*items, (size_t)grown * item_bytes);
  if (!block) return false;
  *items = block;
  *capacity = (uint32_t)grown;
  return true;
}

void roc_vec_release(void **items, uint32_t *count, uint32_t *capacity) {
  roc_free(*items);
  *items = NULL;
  *count = *capacity = 0;
}
