/* What the Lua side of arrays has the host do, where it can touch the memory: core.sort_lines,
 * core.count_true, core.take_true, core.fill_from; core.sorting, the methods' own path for an array in
 * memory; and core.array_bits, which touches none. */
#include <string.h>

#include "bindings/array/array_bind.h"
#include "bindings/device/device_bind.h"
#include "runtime/device.h"
#include "runtime/mask.h"
#include "runtime/sort.h"

/* The elements of an array in C order, once no work is in the way; NULL: nil. */
static void *elements_of(lua_State *L, int arg, bool for_write) {
  if (lua_isnoneornil(L, arg)) return NULL;
  const roc_array *a = roc_check_any_array(L, arg);
  const int64_t origin[ROC_ARRAY_MAX_RANK] = {0};
  roc_array_sync(L, a, for_write);
  return roc_array_at(a, origin);
}

static roc_status sort_arguments(lua_State *L, roc_error *err) {
  const void *from = elements_of(L, 1, false);
  const roc_array *lines = roc_check_any_array(L, 1);
  roc_sort sort = {.dtype = lines->dtype,
                   .is_descending = lua_toboolean(L, 2),
                   .from = from,
                   .lines = lines->extents[0],
                   .n = lines->extents[1],
                   .keep = luaL_checkinteger(L, 3),
                   .values = elements_of(L, 4, true),
                   .places = elements_of(L, 5, true),
                   .threads = roc_rt_device_driver(roc_current_device(L))->props.compute_units};
  return roc_sort_lines(&sort, err);
}

/* sort_lines(lines, is_descending, keep, values | nil, places | nil): the first `keep` of each line
 * of n elements; none of the arrays is empty, the last two are new. */
static int sort_lines(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  roc_status status = sort_arguments(L, &err);
  if (status == ROC_OOM && roc_gc_reclaim(L)) status = sort_arguments(L, &err);
  ROC_LUA_TRY(L, status, &err);
  return 0;
}

/* ---- the methods ----------------------------------------------------------------------------- */

/* What a method gives. */
typedef struct sorting {
  const char *name;
  bool has_values, has_places;
  bool keeps; /* as many as its argument says, the largest; else it has options */
} sorting;

static const sorting sortings[] = {{"sort", .has_values = true},
                                   {"argsort", .has_places = true},
                                   {"topk", .has_values = true, .has_places = true, .keeps = true}};

/* Upvalues of a method. */
enum { UP_SORTING = 1, UP_GENERAL, UP_COUNT = UP_GENERAL };

static int call_general(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(UP_GENERAL));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

/* {descending = boolean}, or nothing; false: it is for the general function. */
static bool read_descending(lua_State *L, bool *out) {
  *out = false;
  if (lua_gettop(L) == 1) return true;
  if (lua_gettop(L) != 2 || !lua_istable(L, 2)) return false;
  bool is_plain = true;
  lua_pushnil(L);
  while (lua_next(L, 2)) {
    is_plain &= lua_type(L, -2) == LUA_TSTRING && strcmp(lua_tostring(L, -2), "descending") == 0 &&
                lua_isboolean(L, -1);
    *out = lua_toboolean(L, -1);
    lua_pop(L, 1);
  }
  return is_plain;
}

/* Fills what the arguments after the array say. */
static bool read_wanted(lua_State *L, const sorting *what, roc_sort *sort) {
  if (!what->keeps) return read_descending(L, &sort->is_descending);
  if (lua_gettop(L) != 2 || !lua_isinteger(L, 2)) return false;
  sort->is_descending = true;
  sort->keep = lua_tointeger(L, 2);
  return sort->keep >= 1 && sort->keep <= sort->n;
}

/* Pushes an array of the lines' results; gives its elements. */
static void *push_sorted(lua_State *L, const roc_array *a, int64_t keep, roc_dtype dtype) {
  int64_t extents[ROC_ARRAY_MAX_RANK];
  const int64_t origin[ROC_ARRAY_MAX_RANK] = {0};
  memcpy(extents, a->extents, a->rank * sizeof *extents);
  extents[a->rank - 1] = keep;
  return roc_array_at(roc_new_host_array(L, dtype, a->rank, extents, ROC_ORDER_C, false), origin);
}

static int call_sorting(lua_State *L) {
  const sorting *what = lua_touserdata(L, lua_upvalueindex(UP_SORTING));
  const roc_array *a = lua_gettop(L) > 0 ? roc_test_plain_array(L, 1) : NULL;
  if (!a || !roc_array_is_c_contiguous(a)) return call_general(L);
  roc_sort sort = {.dtype = a->dtype, .n = a->extents[a->rank - 1], .threads = roc_host_threads(L)};
  sort.keep = sort.n;
  sort.lines = roc_array_size(a) / sort.n;
  if (sort.threads == 0 || !read_wanted(L, what, &sort)) return call_general(L);
  int top = lua_gettop(L);
  if (what->has_values) sort.values = push_sorted(L, a, sort.keep, a->dtype);
  a = roc_check_array(L, 1); /* a finalizer may have closed it, or what is waited for */
  if (what->has_places) sort.places = push_sorted(L, a, sort.keep, ROC_DT_INT64);
  roc_error err = ROC_ERROR_INIT;
  roc_status status;
  bool has_reclaimed = false;
  do {
    sort.from = elements_of(L, 1, false);
    status = roc_sort_lines(&sort, &err);
  } while (status == ROC_OOM && !has_reclaimed && (has_reclaimed = roc_gc_reclaim(L)));
  ROC_LUA_TRY(L, status, &err);
  return lua_gettop(L) - top;
}

/* core.sorting(name, general): the method, which calls `general` with its arguments where they are
 * not plain. */
static int sorting_method(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  for (size_t i = 0; i < sizeof sortings / sizeof *sortings; i++) {
    if (strcmp(sortings[i].name, name) != 0) continue;
    lua_pushlightuserdata(L, (void *)&sortings[i]);
    lua_pushvalue(L, 2);
    lua_pushcclosure(L, call_sorting, UP_COUNT);
    return 1;
  }
  return luaL_argerror(L, 1, "sort, argsort or topk expected");
}

/* ---- masks and bits -------------------------------------------------------------------------- */

/* The size of the array at `arg`, which is in C order. */
static size_t size_of(lua_State *L, int arg) {
  return (size_t)roc_array_size(roc_check_any_array(L, arg));
}

/* count_true(mask): how many elements are true */
static int count_true(lua_State *L) {
  const unsigned char *mask = elements_of(L, 1, false);
  lua_pushinteger(L, (lua_Integer)roc_mask_count(mask, size_of(L, 1)));
  return 1;
}

/* take_true(mask, array | nil, out): the array's elements where the mask is true, as many as `out`
 * has; without an array, the places. */
static int take_true(lua_State *L) {
  elements_of(L, 1, false); /* waits, and may run what closes arrays */
  const void *elements = elements_of(L, 2, false);
  const unsigned char *mask = elements_of(L, 1, false);
  void *out = elements_of(L, 3, true);
  size_t n = size_of(L, 1), count = size_of(L, 3);
  if (elements) {
    size_t itemsize = roc_dtype_itemsize(roc_check_any_array(L, 2)->dtype);
    roc_mask_take(mask, n, elements, itemsize, out, count);
  } else {
    roc_mask_places(mask, n, out, count);
  }
  return 0;
}

/* array_bits(array): a view of the elements' bits, as signed integers of their size */
static int array_bits(lua_State *L) {
  static const roc_dtype of_bytes[] = {
      [1] = ROC_DT_INT8, [2] = ROC_DT_INT16, [4] = ROC_DT_INT32, [8] = ROC_DT_INT64};
  roc_check_any_array(L, 1);
  roc_array *view = roc_push_array(L, roc_array_class_of(L, 1));
  const roc_array *a = roc_check_any_array(L, 1);
  roc_buffer_retain(a->buffer);
  *view = *a;
  view->dtype = of_bytes[roc_dtype_itemsize(a->dtype)];
  return 1;
}

/* fill_from(out, a): a's elements, converted, in memory that the two do not share; its leading
 * dimensions are repeated, or missing */
static int fill_from(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  roc_array_sync(L, roc_check_any_array(L, 2), false); /* first: what is waited for may close any */
  roc_array_sync(L, roc_check_any_array(L, 1), true);
  const roc_array *out = roc_check_any_array(L, 1), *a = roc_check_any_array(L, 2);
  roc_array repeated = *a;
  repeated.rank = out->rank;
  for (uint32_t i = 0; i < out->rank; i++) {
    uint32_t missing = out->rank - a->rank;
    bool is_repeated = i < missing || a->extents[i - missing] != out->extents[i];
    repeated.extents[i] = out->extents[i];
    repeated.strides[i] = is_repeated ? 0 : a->strides[i - missing];
  }
  ROC_LUA_TRY(L, roc_array_convert_host(out, &repeated, &err), &err);
  return 0;
}

static const luaL_Reg functions[] = {{"sort_lines", sort_lines},
                                     {"sorting", sorting_method},
                                     {"count_true", count_true},
                                     {"take_true", take_true},
                                     {"array_bits", array_bits},
                                     {"fill_from", fill_from},
                                     {NULL, NULL}};

void roc_open_sort(lua_State *L) {
  luaL_setfuncs(L, functions, 0);
}
