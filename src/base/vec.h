/* A growable array of any element type, by macro.
 *
 *   roc_vec(int) v = {0};
 *   if (!roc_vec_push(&v, 7)) return roc_fail(err, ROC_OOM, "out of memory");
 *   for (uint32_t i = 0; i < v.count; i++) use(v.items[i]);
 *   roc_vec_deinit(&v);
 *
 * A failed push leaves the vector as it was. */
#ifndef ROC_BASE_VEC_H
#define ROC_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define roc_vec(type)         \
  struct {                    \
    type *items;              \
    uint32_t count, capacity; \
  }

/* Makes room for `extra` more elements; false when memory is out. */
#define roc_vec_reserve(v, extra) \
  roc_vec_grow((void **)&(v)->items, &(v)->capacity, (v)->count, (extra), sizeof *(v)->items)
#define roc_vec_push(v, value) \
  (roc_vec_reserve((v), 1) ? ((v)->items[(v)->count++] = (value), true) : false)
#define roc_vec_pop(v) ((v)->items[--(v)->count])
#define roc_vec_last(v) ((v)->items[(v)->count - 1])
#define roc_vec_clear(v) ((v)->count = 0)
#define roc_vec_deinit(v) roc_vec_release((void **)&(v)->items, &(v)->count, &(v)->capacity)

bool roc_vec_grow(void **items, uint32_t *capacity, uint32_t count, uint32_t extra,
                  size_t item_bytes);
void roc_vec_release(void **items, uint32_t *count, uint32_t *capacity);

#endif
