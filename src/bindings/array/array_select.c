/* Selections and assignments in their usual forms, without the Lua code that knows all of them
 * (lua/roc/arrays/selection.lua): views, and few elements of host arrays, at places or where a mask
 * is true.  What is not usual, an error too, is left to that. */
#include <string.h>

#include "bindings/array/array_bind.h"
#include "runtime/mask.h"

/* ---- views ----------------------------------------------------------------------------------- */

/* What an entry of a key selects of a dimension. */
typedef struct range {
  int64_t first, last, step;
  bool is_index; /* first alone: the dimension is dropped */
} range;

/* The table on top of the stack: {}, {first, last} or {first, last, step}. */
static bool read_range(lua_State *L, int64_t extent, range *out) {
  int64_t numbers[3] = {1, extent, 1};
  lua_Unsigned count = lua_rawlen(L, -1), nkeys = 0;
  if (count == 1 || count > 3 || lua_getmetatable(L, -1)) return false;
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    if (++nkeys > count) return false;
  }
  for (lua_Unsigned k = 0; k < count; k++) {
    lua_rawgeti(L, -1, (lua_Integer)k + 1);
    if (!lua_isinteger(L, -1)) return false;
    numbers[k] = lua_tointeger(L, -1);
    lua_pop(L, 1);
  }
  *out = (range){numbers[0], numbers[1], numbers[2], false};
  return nkeys == count && out->step != 0;
}

static bool read_entry(lua_State *L, int64_t extent, range *out) {
  if (lua_isinteger(L, -1)) {
    *out = (range){.first = lua_tointeger(L, -1), .is_index = true};
    return out->first >= 1 && out->first <= extent;
  }
  if (lua_isnil(L, -1)) {
    *out = (range){1, extent, 1, false};
    return true;
  }
  return lua_istable(L, -1) && read_range(L, extent, out);
}

/* The key at stack index 2: a table with an entry for each dimension, or fewer. */
static bool read_key(lua_State *L, const roc_array *a, range *ranges) {
  uint32_t nkeys = 0, nentries = 0;
  if (lua_getmetatable(L, 2)) return false;
  for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) nkeys++;
  for (uint32_t d = 0; d < a->rank; d++) {
    nentries += lua_rawgeti(L, 2, (lua_Integer)d + 1) != LUA_TNIL;
    if (!read_entry(L, a->extents[d], &ranges[d])) return false;
    lua_pop(L, 1);
  }
  return nkeys == nentries;
}

/* Elements of `for i = first, last, step`; -1: some are not within the extent. */
static int64_t count_elements(const range *r, int64_t extent) {
  if (r->step > 0 ? r->first > r->last : r->first < r->last) return 0;
  if (r->first < 1 || r->first > extent || r->last < 1 || r->last > extent) return -1;
  return (r->last - r->first) / r->step + 1;
}

/* Shape, strides and offset of the view; false: a range is not within its dimension. */
static bool describe_view(const roc_array *a, const range *ranges, roc_array *out) {
  *out = (roc_array){.dtype = a->dtype, .offset = a->offset};
  for (uint32_t d = 0; d < a->rank; d++) {
    const range *r = &ranges[d];
    int64_t count = r->is_index ? 1 : count_elements(r, a->extents[d]);
    if (count < 0) return false;
    if (count > 0) out->offset += (r->first - 1) * a->strides[d];
    if (r->is_index) continue;
    out->extents[out->rank] = count;
    out->strides[out->rank++] = a->strides[d] * (count > 1 ? r->step : 1);
  }
  return true;
}

static bool select_view(lua_State *L, const roc_array_box *box) {
  range ranges[ROC_ARRAY_MAX_RANK];
  roc_array view;
  if (!read_key(L, &box->array, ranges)) return false;
  if (!describe_view(&box->array, ranges, &view) || view.rank == 0) return false;
  roc_array *result = roc_push_array(L, box->cls);
  view.buffer = roc_check_described_array(L, 1)->buffer; /* a finalizer may have closed it */
  roc_buffer_retain(view.buffer);
  *result = view;
  return true;
}

/* ---- elements -------------------------------------------------------------------------------- */

enum { MOST_ELEMENTS = 1 << 13 }; /* of which kernels on several threads make no less work */

/* A host array of one dimension, in memory that the host may read. */
static const roc_array *read_line(lua_State *L, int arg) {
  const roc_array_box *box = roc_test_array_box(L, arg);
  if (!box || box->cls != &roc_host_array_class || box->array.rank != 1) return NULL;
  const roc_array *a = roc_check_array(L, arg);
  roc_array_sync(L, a, false);
  return a->buffer && a->extents[0] <= MOST_ELEMENTS ? a : NULL;
}

static const char *first_of(const roc_array *a) {
  const int64_t origin[ROC_ARRAY_MAX_RANK] = {0};
  return roc_array_at(a, origin);
}

/* A new array; NULL: a finalizer has closed an operand. */
static char *push_result(lua_State *L, const roc_array *a, const roc_array *key, int64_t count) {
  roc_array *result = roc_new_host_array(L, a->dtype, 1, &count, ROC_ORDER_C, false);
  return a->buffer && key->buffer ? roc_buffer_host(result->buffer) : NULL;
}

static int64_t place_at(const roc_array *key, const char *places, int64_t k) {
  if (key->dtype == ROC_DT_INT64) return ((const int64_t *)(const void *)places)[k];
  return ((const int32_t *)(const void *)places)[k];
}

static void put(char *to, const char *from, size_t itemsize) {
  switch (itemsize) {
    case 1: *to = *from; break;
    case 2: memcpy(to, from, 2); break;
    case 4: memcpy(to, from, 4); break;
    default: memcpy(to, from, 8); break;
  }
}

static bool are_within(const roc_array *key, int64_t extent) {
  for (int64_t k = 0; k < key->extents[0]; k++) {
    int64_t place = place_at(key, first_of(key), k);
    if (place < 1 || place > extent) return false;
  }
  return true;
}

static bool select_places(lua_State *L, const roc_array *a, const roc_array *key) {
  int64_t count = key->extents[0], step = a->strides[0];
  const char *places = first_of(key);
  if (!are_within(key, a->extents[0])) return false;
  size_t itemsize = roc_dtype_itemsize(a->dtype);
  char *to = push_result(L, a, key, count);
  const char *from = first_of(a);
  for (int64_t k = 0; to && k < count; k++) {
    int64_t at = (place_at(key, places, k) - 1) * step * (int64_t)itemsize;
    put(to + k * (int64_t)itemsize, from + at, itemsize);
  }
  return to;
}

static bool select_true(lua_State *L, const roc_array *a, const roc_array *key) {
  if (key->extents[0] != a->extents[0] || a->strides[0] != 1) return false;
  size_t n = (size_t)a->extents[0];
  const unsigned char *mask = (const unsigned char *)first_of(key);
  size_t count = roc_mask_count(mask, n);
  char *to = push_result(L, a, key, (int64_t)count);
  if (to) roc_mask_take(mask, n, first_of(a), roc_dtype_itemsize(a->dtype), to, count);
  return to;
}

static bool select_elements(lua_State *L) {
  if (!read_line(L, 1)) return false;
  const roc_array *key = read_line(L, 2),
                  *a = read_line(L, 1); /* again: the other may be waited for */
  bool is_packed = a && key && key->strides[0] == 1 && a->extents[0] > 0 && key->extents[0] > 0;
  if (!is_packed || roc_host_threads(L) == 0) return false;
  if (key->dtype == ROC_DT_BOOL) return select_true(L, a, key);
  bool are_places = key->dtype == ROC_DT_INT64 || key->dtype == ROC_DT_INT32;
  return are_places && select_places(L, a, key);
}

bool roc_array_select_usual(lua_State *L) {
  luaL_checkstack(L, 8, NULL);
  const roc_array_box *box = roc_test_array_box(L, 1);
  int top = lua_gettop(L);
  bool is_smart = box->cls == &roc_smart_array_class;
  bool is_done = !is_smart && (lua_istable(L, 2) ? select_view(L, box) : select_elements(L));
  if (!is_done) lua_settop(L, top);
  return is_done;
}

/* ---- assignments ----------------------------------------------------------------------------- */

/* What is assigned: an element, or an array of the array's dtype in other memory. */
typedef struct value {
  bool is_number;
  unsigned char element[8];
  const roc_array *array;
} value;

static bool read_value(lua_State *L, const roc_array *a, value *out) {
  roc_scalar number;
  out->is_number = roc_test_scalar(L, 3, &number);
  if (out->is_number) return roc_dtype_store(a->dtype, out->element, number);
  const roc_array_box *box = roc_test_array_box(L, 3);
  if (!box || box->cls != &roc_host_array_class || box->array.dtype != a->dtype) return false;
  out->array = roc_check_array(L, 3);
  roc_array_sync(L, out->array, false);
  return true;
}

/* The array at stack index 1, to be written; NULL: what is assigned is in its memory, or closed. */
static const roc_array *open_target(lua_State *L, const value *v) {
  const roc_array *a = roc_check_array(L, 1);
  roc_array_sync(L, a, true);
  bool is_open = a->buffer && (v->is_number || v->array->buffer);
  return is_open && (v->is_number || v->array->buffer != a->buffer) ? a : NULL;
}

static bool read_ranges(lua_State *L, const roc_array *a, range *ranges) {
  if (lua_istable(L, 2)) return read_key(L, a, ranges);
  int64_t at = lua_tointeger(L, 2);
  ranges[0] = (range){.first = at, .is_index = true};
  for (uint32_t d = 1; d < a->rank; d++) ranges[d] = (range){1, a->extents[d], 1, false};
  return at >= 1 && at <= a->extents[0];
}

static bool assign_view(lua_State *L, const roc_array *a) {
  range ranges[ROC_ARRAY_MAX_RANK];
  roc_array view;
  value v;
  if (!read_ranges(L, a, ranges) || !describe_view(a, ranges, &view)) return false;
  if (view.rank == 0) view.extents[0] = view.strides[0] = view.rank = 1;
  if (roc_array_size(&view) > MOST_ELEMENTS || !read_value(L, a, &v)) return false;
  if (!v.is_number && !roc_array_same_shape(v.array, &view)) return false;
  a = open_target(L, &v);
  if (!a) return false;
  view.buffer = a->buffer;
  if (v.is_number) {
    roc_array_fill_host(&view, v.element);
    return true;
  }
  return roc_array_copy_host(&view, v.array, NULL) == ROC_OK;
}

static bool assign_elements(lua_State *L) {
  value v;
  if (!read_line(L, 1) || !read_line(L, 2) || !read_value(L, roc_check_array(L, 1), &v))
    return false;
  const roc_array *key = read_line(L, 2), *a = open_target(L, &v);
  bool is_packed = a && key && key->strides[0] == 1 && a->extents[0] > 0 && key->extents[0] > 0;
  if (!is_packed || key->buffer == a->buffer || roc_host_threads(L) == 0) return false;
  bool is_mask = key->dtype == ROC_DT_BOOL;
  if (!is_mask && key->dtype != ROC_DT_INT64 && key->dtype != ROC_DT_INT32) return false;
  if (is_mask ? key->extents[0] != a->extents[0] || !v.is_number : !are_within(key, a->extents[0]))
    return false;
  if (!v.is_number && (v.array->rank != 1 || v.array->extents[0] != key->extents[0])) return false;
  const char *places = first_of(key), *from = v.is_number ? (char *)v.element : first_of(v.array);
  int64_t itemsize = (int64_t)roc_dtype_itemsize(a->dtype), step = a->strides[0] * itemsize;
  int64_t next = v.is_number ? 0 : v.array->strides[0] * itemsize;
  char *to = (char *)first_of(a);
  for (int64_t k = 0; k < key->extents[0]; k++) {
    if (is_mask && !places[k]) continue;
    int64_t at = is_mask ? k : place_at(key, places, k) - 1;
    put(to + at * step, from + k * next, (size_t)itemsize);
  }
  return true;
}

bool roc_array_assign_usual(lua_State *L) {
  luaL_checkstack(L, 8, NULL);
  const roc_array_box *box = roc_test_array_box(L, 1);
  int top = lua_gettop(L);
  if (box->cls != &roc_host_array_class) return false;
  bool is_view = lua_istable(L, 2) || lua_isinteger(L, 2);
  bool is_done = is_view ? assign_view(L, &box->array) : assign_elements(L);
  lua_settop(L, top);
  return is_done;
}
