/* Scattering by an array of places on host arrays, which roc/arrays/selection.lua has given three
 * dimensions: core.put_places. */
#include <string.h>

#include "bindings/array/array_bind.h"

typedef struct scatter {
  char *array;
  const char *values; /* the elements at {1, 1, 1} */
  const int64_t *places;
  int64_t count, outer, inner;             /* of places, and of elements before and after each */
  int64_t array_steps[3], values_steps[3]; /* bytes */
} scatter;

static char *first_of(const roc_array *a, int64_t steps[3]) {
  const int64_t origin[ROC_ARRAY_MAX_RANK] = {0};
  for (int d = 0; d < 3; d++) steps[d] = a->strides[d] * (int64_t)roc_dtype_itemsize(a->dtype);
  return roc_array_at(a, origin);
}

/* A constant size lets the compiler make each memcpy one move. */
#define PUT(bytes)                                                                \
  for (int64_t o = 0; o < s->outer; o++) {                                        \
    for (int64_t k = 0; k < s->count; k++) {                                      \
      char *to = s->array + o * s->array_steps[0];                                \
      const char *from = s->values + o * s->values_steps[0];                      \
      to += (s->places[k] - 1) * s->array_steps[1];                               \
      from += k * s->values_steps[1];                                             \
      for (int64_t e = 0; e < s->inner; e++) {                                    \
        memcpy(to + e * s->array_steps[2], from + e * s->values_steps[2], bytes); \
      }                                                                           \
    }                                                                             \
  }

static void put_all(const scatter *s, size_t itemsize) {
  switch (itemsize) {
    case 1: PUT(1); break;
    case 2: PUT(2); break;
    case 4: PUT(4); break;
    default: PUT(8); break;
  }
}

/* put_places(array, places, values): of one dtype, in disjoint memory; the places are int64 without
 * gaps, and as many as the second dimension of `values` has.  Of values for one place the last one
 * stays.  Gives nothing; or a place that the array does not have, and then nothing is written. */
static int put_places(lua_State *L) {
  for (int arg = 1; arg <= 3; arg++) { /* first: what is waited for may close another */
    roc_array_sync(L, roc_check_array(L, arg), arg == 1);
  }
  const roc_array *array = roc_check_array(L, 1), *places = roc_check_array(L, 2);
  const roc_array *values = roc_check_array(L, 3);
  const int64_t origin[ROC_ARRAY_MAX_RANK] = {0};
  scatter s = {.places = roc_array_at(places, origin),
               .count = places->extents[0],
               .outer = values->extents[0],
               .inner = values->extents[2]};
  s.array = first_of(array, s.array_steps);
  s.values = first_of(values, s.values_steps);
  for (int64_t k = 0; k < s.count; k++) {
    if (s.places[k] >= 1 && s.places[k] <= array->extents[1]) continue;
    lua_pushinteger(L, s.places[k]);
    return 1;
  }
  put_all(&s, roc_dtype_itemsize(array->dtype));
  return 0;
}

static const luaL_Reg functions[] = {{"put_places", put_places}, {NULL, NULL}};

void roc_open_places(lua_State *L) {
  luaL_setfuncs(L, functions, 0);
}
