/* Planning the loops of an element-wise operation; see loops.h. */
#include "bindings/expression/loops.h"

#include <string.h>

/* The dimension of `a` that stands for dimension k of a shape of `rank`; -1: it has none. */
static int64_t own_dimension(const roc_array *a, uint32_t k, uint32_t rank) {
  return (int64_t)k - rank + a->rank;
}

bool roc_loops_broadcast(const roc_array *const *arrays, uint32_t narrays, uint32_t *out_rank,
                         int64_t *out_extents) {
  uint32_t rank = 0;
  for (uint32_t i = 0; i < narrays; i++) rank = arrays[i]->rank > rank ? arrays[i]->rank : rank;
  for (uint32_t k = 0; k < rank; k++) {
    out_extents[k] = 1;
    for (uint32_t i = 0; i < narrays; i++) {
      int64_t at = own_dimension(arrays[i], k, rank);
      int64_t extent = at < 0 ? 1 : arrays[i]->extents[at];
      if (extent == 1 || extent == out_extents[k]) continue;
      if (out_extents[k] != 1) return false;
      out_extents[k] = extent;
    }
  }
  *out_rank = rank;
  return true;
}

/* How the arrays cross one dimension of the shape: bit i of `moves`, and the strides of those. */
typedef struct crossing {
  uint32_t moves;
  int64_t strides[ROC_LOOPS_MAX_ARRAYS];
} crossing;

static crossing cross(const roc_loops *loops, uint32_t k) {
  const roc_array *result = loops->arrays[0];
  crossing c = {0};
  for (uint32_t i = 0; i < loops->narrays; i++) {
    const roc_array *a = loops->arrays[i];
    int64_t at = own_dimension(a, k, result->rank);
    if (at < 0 || a->extents[at] != result->extents[k]) continue;
    c.moves |= 1u << i;
    c.strides[i] = a->strides[at];
  }
  return c;
}

/* Whether an outer and an inner dimension are one loop for every array. */
static bool can_join(const crossing *outer, const crossing *inner, int64_t inner_extent) {
  if (outer->moves != inner->moves) return false;
  for (uint32_t i = 0; i < ROC_LOOPS_MAX_ARRAYS; i++) {
    if (outer->strides[i] != inner->strides[i] * inner_extent) return false; /* 0: does not move */
  }
  return true;
}

static void add_dimension(roc_loops *loops, const crossing *c, int64_t extent, bool joins) {
  if (!joins) loops->extents[loops->count++] = 1;
  uint32_t last = loops->count - 1;
  loops->extents[last] *= extent;
  for (uint32_t i = 0; i < loops->narrays; i++) {
    if (!(c->moves & 1u << i)) continue;
    roc_array *view = &loops->views[i];
    if (!joins) view->rank++;
    loops->walks[i] |= (uint8_t)(1u << last);
    view->extents[view->rank - 1] = loops->extents[last];
    view->strides[view->rank - 1] = c->strides[i];
  }
}

/* A view of one element has one dimension. */
static void finish_views(roc_loops *loops) {
  for (uint32_t i = 0; i < loops->narrays; i++) {
    roc_array *view = &loops->views[i];
    if (view->rank > 0) continue;
    view->rank = 1;
    view->extents[0] = view->strides[0] = 1;
  }
}

void roc_loops_plan(roc_loops *loops, bool is_reversed) {
  const roc_array *result = loops->arrays[0];
  crossing previous = {0};
  loops->count = 0;
  memset(loops->walks, 0, sizeof loops->walks);
  for (uint32_t i = 0; i < loops->narrays; i++) {
    const roc_array *a = loops->arrays[i];
    loops->views[i] = (roc_array){.dtype = a->dtype, .offset = a->offset};
  }
  for (uint32_t step = 0; step < result->rank; step++) {
    uint32_t k = is_reversed ? result->rank - 1 - step : step;
    int64_t extent = result->extents[k];
    if (extent == 1) continue;
    crossing c = cross(loops, k);
    add_dimension(loops, &c, extent, loops->count > 0 && can_join(&previous, &c, extent));
    previous = c;
  }
  if (loops->count == 0) { /* one element: the result moves along a loop of one */
    loops->count = 1;
    loops->extents[0] = 1;
    loops->walks[0] = 1;
  }
  finish_views(loops);
}

roc_array roc_loops_arrange(const roc_array *a, uint32_t rank, uint32_t axis) {
  roc_array out = {.buffer = a->buffer, .dtype = a->dtype, .rank = rank, .offset = a->offset};
  for (uint32_t k = 0; k < rank; k++) {
    uint32_t to = k < axis ? k : k == axis ? rank - 1 : k - 1;
    bool is_own = k + a->rank >= rank;
    out.extents[to] = is_own ? a->extents[k + a->rank - rank] : 1;
    out.strides[to] = is_own ? a->strides[k + a->rank - rank] : 1;
  }
  return out;
}

/* Strides of lines one after the other that are no multiples of a line's length. */
void roc_loops_separate_lines(roc_array *shape, bool has_lines) {
  int64_t stride = 1;
  for (uint32_t k = shape->rank; k-- > 0;) {
    shape->strides[k] = stride;
    bool is_line = has_lines && k == shape->rank - 1;
    stride = is_line ? shape->extents[k] + 1 : stride * shape->extents[k];
  }
}

enum {
  MAX_GROUPS = 65535, /* along dimension 2; some devices allow no more */
  ITEMS = 256         /* of a workgroup */
};

bool roc_loops_range(const roc_loops *loops, roc_ndrange *out_range, int64_t *out_rows) {
  int64_t inner = loops->extents[loops->count - 1], rows = 1;
  *out_range = (roc_ndrange){.grid = {(uint64_t)inner, 1, 1}, .local = {0, 1, 1}, .rank = 1};
  for (uint32_t l = 0; l + 1 < loops->count; l++) rows *= loops->extents[l];
  *out_rows = rows;
  if (loops->count == 1) return true;
  uint32_t width = 1;
  while (width < inner && width < ITEMS) width *= 2;
  int64_t most = (int64_t)MAX_GROUPS * (ITEMS / width);
  out_range->rank = 2;
  out_range->grid[1] = (uint64_t)(rows < most ? rows : most);
  out_range->local[0] = width;
  out_range->local[1] = ITEMS / width;
  return rows <= most;
}

bool roc_loops_is_reversed(const roc_array *result) {
  return result->rank > 1 && roc_array_is_f_contiguous(result) &&
         !roc_array_is_c_contiguous(result);
}

roc_kernel_operand roc_loops_operand(const roc_loops *loops, uint32_t i) {
  return (roc_kernel_operand){
      .source = loops->arrays[i], .view = loops->views[i], .is_result = i == 0};
}

static void push_loops(lua_State *L, const roc_loops *loops) {
  lua_createtable(L, (int)loops->count, 0);
  for (uint32_t l = 0; l < loops->count; l++) {
    lua_pushinteger(L, loops->extents[l]);
    lua_rawseti(L, -2, (lua_Integer)l + 1);
  }
}

/* A list for each array, the result's last: whether it moves along each loop. */
static void push_walks(lua_State *L, const roc_loops *loops) {
  lua_createtable(L, (int)loops->narrays, 0);
  for (uint32_t i = 0; i < loops->narrays; i++) {
    uint32_t array = (i + 1) % loops->narrays;
    lua_createtable(L, (int)loops->count, 0);
    for (uint32_t l = 0; l < loops->count; l++) {
      lua_pushboolean(L, loops->walks[array] >> l & 1);
      lua_rawseti(L, -2, (lua_Integer)l + 1);
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

void roc_loops_push(lua_State *L, const roc_loops *loops) {
  push_loops(L, loops);
  push_walks(L, loops);
}
