/* Views and queries, the same for host and device arrays: none of them touches an element.
 *
 * A finalizer that runs while a view is being made may close the array it is made from, so the
 * source is checked again once the new userdata exists. */
#include <string.h>

#include "bindings/array/array_bind.h"
#include "bindings/device/device_bind.h"
#include "bindings/support/unknown.h"

/* Pushes an empty view of argument 1's class; *source is argument 1, still open. */
static roc_array *push_view(lua_State *L, roc_array **source) {
  roc_array *view = roc_push_array(L, roc_array_class_of(L, 1));
  *source = roc_check_described_array(L, 1);
  return view;
}

/* ---- reshape, ravel ---------------------------------------------------------------------- */

/* The `order` field of the options table at `arg`, or C. */
static roc_order get_order_option(lua_State *L, int arg) {
  lua_getfield(L, arg, "order");
  const char *order = lua_isnil(L, -1) ? "C" : lua_tostring(L, -1);
  bool is_f = order && strcmp(order, "F") == 0;
  if (!is_f && !(order && strcmp(order, "C") == 0)) {
    luaL_argerror(L, arg, "order is \"C\" or \"F\"");
  }
  lua_pop(L, 1);
  return is_f ? ROC_ORDER_F : ROC_ORDER_C;
}

/* The options after the extents: an order, and no other key. */
static roc_order check_options(lua_State *L, int arg) {
  lua_pushnil(L);
  while (lua_next(L, arg)) {
    lua_pop(L, 1);
    if (lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), "order") == 0) continue;
    luaL_argerror(L, arg,
                  lua_pushfstring(L, "unknown option '%s'; known is order", roc_push_shown(L, -1)));
  }
  return get_order_option(L, arg);
}

/* Reads extents or axes given as arguments 2…last, or as one table at 2. */
static uint32_t check_shape_args(lua_State *L, int last, int64_t *extents) {
  if (last <= 2) return roc_check_shape(L, 2, extents, true);
  if (last - 1 > ROC_ARRAY_MAX_RANK) luaL_argerror(L, 2, "too many extents");
  for (int arg = 2; arg <= last; arg++) {
    luaL_checkinteger(L, arg); /* tables are for the single argument only */
    roc_check_shape(L, arg, &extents[arg - 2], true);
  }
  return (uint32_t)last - 1;
}

static int array_m_reshape(lua_State *L) {
  int64_t extents[ROC_ARRAY_MAX_RANK];
  roc_order order = ROC_ORDER_C;
  roc_check_described_array(L, 1);
  int last = lua_gettop(L);
  if (last == 2 && lua_istable(L, 2)) order = get_order_option(L, 2);
  if (last > 2 && lua_istable(L, last)) order = check_options(L, last--);
  uint32_t rank = check_shape_args(L, last, extents);
  roc_array *a, *view = push_view(L, &a);
  roc_error err = ROC_ERROR_INIT;
  if (roc_array_reshape(a, rank, extents, order, view, &err)) luaL_argerror(L, 2, err.message);
  return 1;
}

bool roc_array_push_ravel(lua_State *L, roc_order order) {
  roc_array *a, *view = push_view(L, &a);
  int64_t size = roc_array_size(a);
  if (roc_array_reshape(a, 1, &size, order, view, NULL) == ROC_OK) return true;
  lua_pop(L, 1);
  return false;
}

/* ---- transpose, slice, rows -------------------------------------------------------------- */

/* Reads axes (from 1) given as arguments 2… or one table; false when there are none. */
static bool check_axes(lua_State *L, const roc_array *a, uint32_t *axes) {
  if (lua_isnoneornil(L, 2)) return false;
  int64_t numbers[ROC_ARRAY_MAX_RANK];
  uint32_t count = check_shape_args(L, lua_gettop(L), numbers);
  if (count != a->rank) {
    luaL_argerror(L, 2, lua_pushfstring(L, "%d axes expected, got %d", (int)a->rank, (int)count));
  }
  for (uint32_t k = 0; k < count; k++) {
    if (numbers[k] < 1 || numbers[k] > a->rank) {
      luaL_argerror(
          L, 2,
          lua_pushfstring(L, "axis %I out of range 1..%d", (LUAI_UACINT)numbers[k], (int)a->rank));
    }
    axes[k] = (uint32_t)numbers[k] - 1;
  }
  return true;
}

static int array_m_transpose(lua_State *L) {
  uint32_t axes[ROC_ARRAY_MAX_RANK];
  bool has_axes = check_axes(L, roc_check_described_array(L, 1), axes);
  roc_array *a, *view = push_view(L, &a);
  roc_error err = ROC_ERROR_INIT;
  if (roc_array_transpose(a, has_axes ? axes : NULL, view, &err)) {
    luaL_argerror(L, 2, err.message);
  }
  return 1;
}

/* Elements of `for i = first, last, step`. */
static int64_t count_steps(int64_t first, int64_t last, int64_t step) {
  if (step > 0 ? first > last : first < last) return 0;
  uint64_t distance =
      step > 0 ? (uint64_t)last - (uint64_t)first : (uint64_t)first - (uint64_t)last;
  uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
  return (int64_t)(distance / stride) + 1;
}

static int array_m_slice(lua_State *L) {
  const roc_array *self = roc_check_described_array(L, 1);
  lua_Integer dim = luaL_checkinteger(L, 2);
  if (lua_gettop(L) == 3 && lua_isinteger(L, 3)) {
    luaL_argerror(L, 4,
                  lua_pushfstring(L,
                                  "last index expected, got no value; the dimension comes first: "
                                  "a:slice(1, %I, %I)",
                                  (LUAI_UACINT)dim, (LUAI_UACINT)lua_tointeger(L, 3)));
  }
  luaL_argcheck(L, dim >= 1 && dim <= self->rank, 2,
                lua_pushfstring(L,
                                "dimension %I out of range 1..%d; the dimension comes first: "
                                "a:slice(dim, first, last [, step])",
                                (LUAI_UACINT)dim, (int)self->rank));
  lua_Integer first = luaL_checkinteger(L, 3), last = luaL_checkinteger(L, 4);
  lua_Integer step = luaL_optinteger(L, 5, 1);
  luaL_argcheck(L, step != 0, 5, "step is zero");
  bool is_empty = step > 0 ? first > last : first < last;
  if (!is_empty) {
    int64_t extent = self->extents[dim - 1];
    roc_check_index(L, 3, extent, (uint32_t)dim - 1, self->rank);
    roc_check_index(L, 4, extent, (uint32_t)dim - 1, self->rank);
  }
  roc_array *a, *view = push_view(L, &a);
  roc_error err = ROC_ERROR_INIT;
  int64_t count = count_steps(first, last, step);
  if (roc_array_slice(a, (uint32_t)dim - 1, first - (is_empty ? first : 1), count, step, view,
                      &err)) {
    luaL_argerror(L, 3, err.message);
  }
  return 1;
}

void roc_array_push_row(lua_State *L, int64_t i) {
  roc_array *a, *view = push_view(L, &a);
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, roc_array_row(a, i, view, &err), &err);
}

/* ---- keys and properties ----------------------------------------------------------------- */

/* Its address is the registry key of the iterator that `ipairs` gives. */
static const char ipairs_key;

void roc_array_note_ipairs(lua_State *L) {
  int top = lua_gettop(L);
  roc_push_library(L);
  lua_getfield(L, -1, "ipairs");
  lua_newtable(L);
  bool is_known = lua_iscfunction(L, -2) && lua_pcall(L, 1, 1, 0) == LUA_OK;
  if (is_known && lua_iscfunction(L, -1)) lua_rawsetp(L, LUA_REGISTRYINDEX, &ipairs_key);
  lua_settop(L, top);
}

/* Whether it is `ipairs` that reads the element after the last one, where its loop ends. A script's
 * own a[#a + 1] stays an error: the function that reads the element is one level up. */
static bool is_end_of_ipairs(lua_State *L, const roc_array *a) {
  lua_Debug caller;
  if (!lua_isinteger(L, 2)) return false;
  if ((lua_Unsigned)lua_tointeger(L, 2) - 1 != (lua_Unsigned)a->extents[0]) return false;
  if (!lua_getstack(L, 1, &caller) || !lua_getinfo(L, "f", &caller)) return false;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &ipairs_key);
  bool is_it = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return is_it;
}

bool roc_array_key_selects(lua_State *L) {
  if (lua_isinteger(L, 2)) return false;
  return lua_istable(L, 2) || roc_test_array_box(L, 2);
}

/* Calls a function that roc/arrays/install.lua has put into the metatable. */
static int call_metafield(lua_State *L, const char *name, int nresults) {
  lua_settop(L, nresults == 0 ? 3 : 2);
  luaL_getmetafield(L, 1, name);
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, nresults);
  return nresults;
}

int roc_array_select(lua_State *L) {
  if (roc_array_select_usual(L)) return 1;
  return call_metafield(L, "select", 1);
}

int roc_array_assign(lua_State *L) {
  if (roc_array_assign_usual(L)) return 0;
  return call_metafield(L, "assign", 0);
}

static int64_t check_key(lua_State *L, const roc_array *a) {
  int is_integer;
  lua_Integer i = lua_tointegerx(L, 2, &is_integer);
  if (!is_integer || lua_type(L, 2) == LUA_TSTRING) {
    return luaL_error(L, "index %s is not an integer", roc_push_shown(L, 2));
  }
  if (i < 1 || i > a->extents[0]) {
    return luaL_error(L, "index %I out of range 1..%I", (LUAI_UACINT)i, (LUAI_UACINT)a->extents[0]);
  }
  return i - 1;
}

bool roc_check_key(lua_State *L, const roc_array *a, int64_t *out) {
  int is_integer;
  lua_Integer i = lua_tointegerx(L, 2, &is_integer);
  if (is_integer && i >= 1 && i <= a->extents[0] && lua_type(L, 2) != LUA_TSTRING) {
    *out = i - 1; /* the common case */
    return true;
  }
  if (is_end_of_ipairs(L, a)) return false;
  *out = check_key(L, a);
  return true;
}

/* The next index, and its element or row; nil after the last. */
static int pairs_next(lua_State *L) {
  const roc_array *a = roc_check_described_array(L, 1);
  lua_Integer i = luaL_optinteger(L, 2, 0);
  lua_settop(L, 1);
  if (i < 0 || i >= a->extents[0]) return 0;
  lua_pushinteger(L, i + 1);
  lua_geti(L, 1, i + 1);
  return 2;
}

int roc_array_mm_pairs(lua_State *L) {
  roc_check_described_array(L, 1);
  lua_settop(L, 1);
  lua_pushcfunction(L, pairs_next);
  lua_insert(L, 1);
  lua_pushinteger(L, 0);
  return 3;
}

bool roc_array_assigns_many(lua_State *L, const roc_array *a) {
  return roc_array_key_selects(L) || (a->rank != 1 && lua_isinteger(L, 2));
}

int64_t roc_check_assigned_key(lua_State *L, const roc_array *a) {
  if (lua_type(L, 2) == LUA_TSTRING) {
    luaL_error(L, "cannot set field '%s' of an array", lua_tostring(L, 2));
  }
  return check_key(L, a);
}

void roc_check_indices(lua_State *L, int first, const roc_array *a, int64_t *indices) {
  int count = lua_gettop(L) - first + 1;
  if (count != (int)a->rank) {
    luaL_error(L, "%d ind%s expected for an array of %d dimension%s, got %d", (int)a->rank,
               a->rank == 1 ? "ex" : "ices", (int)a->rank, a->rank == 1 ? "" : "s", count);
  }
  for (uint32_t k = 0; k < a->rank; k++) {
    indices[k] = roc_check_index(L, first + (int)k, a->extents[k], k, a->rank);
  }
}

static void push_integers(lua_State *L, uint32_t count, const int64_t *values) {
  lua_createtable(L, (int)count, 0);
  for (uint32_t k = 0; k < count; k++) {
    lua_pushinteger(L, values[k]);
    lua_rawseti(L, -2, (lua_Integer)k + 1);
  }
}

static void push_shape(lua_State *L, const roc_array *a) {
  push_integers(L, a->rank, a->extents);
}
static void push_strides(lua_State *L, const roc_array *a) {
  push_integers(L, a->rank, a->strides);
}
static void push_dtype(lua_State *L, const roc_array *a) {
  roc_push_dtype(L, a->dtype);
}
static void push_ndim(lua_State *L, const roc_array *a) {
  lua_pushinteger(L, a->rank);
}
static void push_size(lua_State *L, const roc_array *a) {
  lua_pushinteger(L, roc_array_size(a));
}
static void push_nbytes(lua_State *L, const roc_array *a) {
  lua_pushinteger(L, (lua_Integer)roc_array_nbytes(a));
}

/* Of the element with the lowest indices, once it has been computed, where kernels (of a host array:
 * the host) find it. */
static void push_pointer(lua_State *L, const roc_array *a) {
  roc_check_any_array(L, 1);
  int64_t offset = a->offset * (int64_t)roc_dtype_itemsize(a->dtype);
  bool has_readers = roc_buffer_readers(a->buffer) > 0;
  roc_buffer_share(a->buffer);                 /* the script has the address from now on, */
  if (has_readers) roc_array_sync(L, a, true); /* and writes there wait for no copy */
  lua_pushinteger(L, (lua_Integer)roc_buffer_devptr(a->buffer) + offset);
}

static const struct property {
  const char *name;
  void (*push)(lua_State *L, const roc_array *a);
} properties[] = {{"shape", push_shape},    {"dtype", push_dtype},   {"size", push_size},
                  {"ndim", push_ndim},      {"nbytes", push_nbytes}, {"strides", push_strides},
                  {"pointer", push_pointer}};

bool roc_array_push_property(lua_State *L, const roc_array *a, const char *name) {
  if (strcmp(name, "device") == 0) { /* tells host arrays from device arrays */
    roc_rt_device *device = roc_buffer_device(a->buffer);
    if (device) {
      roc_push_device(L, roc_rt_device_index(device));
    } else {
      lua_pushnil(L);
    }
    return true;
  }
  for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
    if (strcmp(properties[i].name, name) == 0) {
      properties[i].push(L, a);
      return true;
    }
  }
  return false;
}

int roc_array_fail_field(lua_State *L, int methods) {
  const roc_array_class *cls = roc_array_class_of(L, 1);
  if (lua_isnumber(L, 2)) {
    return luaL_error(L, "index '%s' is a string; write a[%s]", lua_tostring(L, 2),
                      lua_tostring(L, 2));
  }
  roc_near near = roc_near_to_key(L);
  for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
    roc_near_offer(&near, properties[i].name, properties[i].name);
  }
  roc_near_offer(&near, "device", "device");
  const char *advice = roc_foreign_advice(ROC_FOREIGN_ARRAY, near.name, near.len);
  return roc_fail_field(L, cls->metatable, advice, methods, &near);
}

static int array_m_is_c_contiguous(lua_State *L) {
  lua_pushboolean(L, roc_array_is_c_contiguous(roc_check_described_array(L, 1)));
  return 1;
}

static int array_m_is_f_contiguous(lua_State *L) {
  lua_pushboolean(L, roc_array_is_f_contiguous(roc_check_described_array(L, 1)));
  return 1;
}

/* a:eval([stream]) -> a, whose elements are in memory from now on: of a device array, when what the
 * stream, or else the default one, has been given by now is done */
static int array_m_eval(lua_State *L) {
  const roc_array *a = roc_check_described_array(L, 1);
  roc_rt_device *device = roc_buffer_device(a->buffer);
  roc_rt_stream *stream = roc_opt_stream(L, 2, device);
  luaL_argcheck(L, device || !stream, 2, "a host array is computed on no stream");
  if (device && !stream) stream = roc_default_stream(L, device);
  roc_array_evaluate(L, a, stream);
  lua_settop(L, 1);
  return 1;
}

const luaL_Reg roc_array_view_methods[] = {{"reshape", array_m_reshape},
                                           {"transpose", array_m_transpose},
                                           {"slice", array_m_slice},
                                           {"is_c_contiguous", array_m_is_c_contiguous},
                                           {"is_f_contiguous", array_m_is_f_contiguous},
                                           {"eval", array_m_eval},
                                           {NULL, NULL}};
