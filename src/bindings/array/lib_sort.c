/* What roc/arrays/sorting.lua and selection.lua have the host do, on arrays whose memory it can
 * touch: core.sort_lines, core.count_true, core.take_true; and core.array_bits, which touches none. */
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

static const luaL_Reg functions[] = {{"sort_lines", sort_lines},
                                     {"count_true", count_true},
                                     {"take_true", take_true},
                                     {"array_bits", array_bits},
                                     {NULL, NULL}};

void roc_open_sort(lua_State *L) {
  luaL_setfuncs(L, functions, 0);
}
