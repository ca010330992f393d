/* Reductions of host arrays: core.reduce_lines, which lua/roc/arrays/tree.lua calls, and
 * core.reduction, the methods' own path for an array in memory. */
#include <string.h>

#include "bindings/array/array_bind.h"
#include "bindings/device/device_bind.h"
#include "runtime/device.h"
#include "runtime/reduce.h"

static const char *const op_names[] = {
    [ROC_REDUCE_SUM] = "sum",       [ROC_REDUCE_PROD] = "prod",
    [ROC_REDUCE_MEAN] = "mean",     [ROC_REDUCE_SQUARES] = "squares",
    [ROC_REDUCE_NORM] = "norm",     [ROC_REDUCE_VAR] = "var",
    [ROC_REDUCE_STD] = "std",       [ROC_REDUCE_DOT] = "dot",
    [ROC_REDUCE_MIN] = "min",       [ROC_REDUCE_MAX] = "max",
    [ROC_REDUCE_ARGMIN] = "argmin", [ROC_REDUCE_ARGMAX] = "argmax",
    [ROC_REDUCE_ANY] = "any",       [ROC_REDUCE_ALL] = "all",
    [ROC_REDUCE_COUNT] = "count",   [ROC_REDUCE_OP_COUNT_] = NULL};

uint32_t roc_host_threads(lua_State *L) {
  const roc_device *driver = roc_rt_device_driver(roc_current_device(L));
  if (driver->props.runs_in_lua) return 0;
  if (strcmp(driver->kind, "cpu") == 0) return driver->props.compute_units;
  uint32_t index;
  roc_error err;
  if (roc_rt_device_find("cpu", &index, &err) != ROC_OK) return 0;
  return roc_rt_device_driver(roc_open_device_at(L, index))->props.compute_units;
}

/* Elements of a pending array, up to which it is computed and stored for what could compute them as it
 * goes: a kernel for that takes longer to begin. */
static int64_t stored_most = 1 << 18;

void roc_set_stored_most(int64_t size) {
  stored_most = size;
}

const roc_array *roc_test_plain_array(lua_State *L, int arg) {
  const roc_array_box *box = roc_test_array_box(L, arg);
  if (!box || !box->array.buffer || box->cls != &roc_host_array_class) return NULL;
  const roc_array *a = &box->array;
  if (roc_array_size(a) == 0) return NULL;
  if (!roc_buffer_pending(a->buffer)) return a;
  return roc_array_size(a) <= stored_most ? roc_check_array(L, arg) : NULL;
}

/* reduce_lines(op, array, axis | nil, result [, ddof]): of a host array that is not empty, into a new
 * one; without an axis the array is in C order, with one stride. */
static int reduce_lines(lua_State *L) {
  roc_reduction r = {.op = (roc_reduction_op)luaL_checkoption(L, 1, NULL, op_names)};
  r.threads = roc_host_threads(L);
  roc_array_sync(L, roc_check_array(L, 2), false);
  const roc_array *result = roc_check_array(L, 4);
  roc_array_sync(L, result, true);
  r.array = roc_check_array(L, 2);
  r.ddof = luaL_optinteger(L, 5, 0);
  r.axis = lua_isnil(L, 3) ? r.array->rank : (uint32_t)luaL_checkinteger(L, 3) - 1;
  const int64_t origin[ROC_ARRAY_MAX_RANK] = {0};
  r.results = roc_array_at(result, origin);
  roc_reduce(&r);
  return 0;
}

/* is_pending(array): whether its elements are still to be computed */
static int is_pending(lua_State *L) {
  const roc_array *a = roc_check_described_array(L, 1);
  lua_pushboolean(L, roc_buffer_pending(a->buffer) != NULL);
  return 1;
}

/* Upvalues of a reduction's function. */
enum { UP_OP = 1, UP_GENERAL, UP_COUNT = UP_GENERAL };

/* The option `axis`, from 1, at `idx`; 0: it is for the general function. */
static lua_Integer to_axis(lua_State *L, int idx, uint32_t rank) {
  lua_Integer axis = lua_isinteger(L, idx) ? lua_tointeger(L, idx) : 0;
  return axis >= 1 && axis <= (lua_Integer)rank ? axis : 0;
}

static bool has_ddof(roc_reduction_op op) {
  return op == ROC_REDUCE_VAR || op == ROC_REDUCE_STD;
}

/* The options of a call, which may follow the array; false: they are for the general function. */
static bool read_options(lua_State *L, uint32_t rank, roc_reduction *r, bool *out_keep) {
  r->axis = rank;
  *out_keep = false;
  if (lua_gettop(L) == 1) return true;
  if (lua_gettop(L) != 2 || !lua_istable(L, 2)) return false;
  bool is_plain = true;
  lua_pushnil(L);
  while (lua_next(L, 2)) {
    const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
    if (strcmp(name, "axis") == 0 && to_axis(L, -1, rank) > 0) {
      r->axis = (uint32_t)to_axis(L, -1, rank) - 1;
    } else if (strcmp(name, "keep") == 0 && lua_isboolean(L, -1)) {
      *out_keep = lua_toboolean(L, -1);
    } else if (strcmp(name, "ddof") == 0 && has_ddof(r->op) && lua_isinteger(L, -1)) {
      r->ddof = lua_tointeger(L, -1);
      is_plain &= r->ddof >= 0;
    } else {
      is_plain = false;
    }
    lua_pop(L, 1);
  }
  return is_plain && !(*out_keep && r->axis == rank);
}

static int call_general(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(UP_GENERAL));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 1);
  return 1;
}

/* Pushes an array of the lines' results. */
static const roc_array *push_results(lua_State *L, const roc_array *a, uint32_t axis, bool keeps,
                                     roc_dtype dtype) {
  int64_t extents[ROC_ARRAY_MAX_RANK];
  uint32_t rank = 0;
  for (uint32_t k = 0; k < a->rank; k++) {
    if (k != axis) {
      extents[rank++] = a->extents[k];
    } else if (keeps) {
      extents[rank++] = 1;
    }
  }
  return roc_new_host_array(L, dtype, rank, extents, ROC_ORDER_C, false);
}

static int call_reduction(lua_State *L) {
  roc_reduction r = {.op = (roc_reduction_op)lua_tointeger(L, lua_upvalueindex(UP_OP))};
  const roc_array *a = lua_gettop(L) > 0 ? roc_test_plain_array(L, 1) : NULL;
  roc_dtype dtype;
  bool keeps;
  uint64_t number = 0;
  if (!a || !roc_reduction_dtype(r.op, a->dtype, &dtype) || !read_options(L, a->rank, &r, &keeps)) {
    return call_general(L);
  }
  bool is_whole = r.axis == a->rank || (a->rank == 1 && !keeps);
  if ((r.axis == a->rank && !roc_reduction_fits(a)) || (r.threads = roc_host_threads(L)) == 0) {
    return call_general(L);
  }
  const roc_array *results = is_whole ? NULL : push_results(L, a, r.axis, keeps, dtype);
  r.array = roc_check_array(L, 1); /* a finalizer may have closed it, or what is waited for */
  roc_array_sync(L, r.array, false);
  const int64_t origin[ROC_ARRAY_MAX_RANK] = {0};
  r.results = results ? roc_array_at(results, origin) : &number;
  roc_reduce(&r);
  if (is_whole) roc_push_scalar(L, roc_dtype_load(dtype, &number));
  return 1;
}

/* Two arrays of one dimension, dtype and length. */
static bool are_factors(const roc_array *a, const roc_array *b) {
  return a && b && a->rank == 1 && b->rank == 1 && a->extents[0] == b->extents[0] &&
         a->dtype == b->dtype;
}

static int call_dot(lua_State *L) {
  roc_reduction r = {.op = ROC_REDUCE_DOT, .axis = 0};
  roc_dtype dtype;
  uint64_t number = 0;
  if (lua_gettop(L) != 2 || !are_factors(roc_test_plain_array(L, 1), roc_test_plain_array(L, 2)) ||
      !roc_reduction_dtype(r.op, roc_test_plain_array(L, 1)->dtype, &dtype) ||
      (r.threads = roc_host_threads(L)) == 0) {
    return call_general(L);
  }
  roc_array_sync(L, roc_test_plain_array(L, 1), false);
  roc_array_sync(L, roc_check_array(L, 2), false);
  r.array = roc_check_array(L, 1); /* what is waited for may have closed one */
  r.other = roc_check_array(L, 2);
  r.results = &number;
  roc_reduce(&r);
  roc_push_scalar(L, roc_dtype_load(dtype, &number));
  return 1;
}

/* core.reduction(op, general): the method, which calls `general` with its arguments where they are
 * not plain. */
static int reduction(lua_State *L) {
  int op = luaL_checkoption(L, 1, NULL, op_names);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_pushinteger(L, op);
  lua_pushvalue(L, 2);
  lua_pushcclosure(L, op == ROC_REDUCE_DOT ? call_dot : call_reduction, UP_COUNT);
  return 1;
}

static const luaL_Reg functions[] = {{"is_pending", is_pending},
                                     {"reduce_lines", reduce_lines},
                                     {"reduction", reduction},
                                     {NULL, NULL}};

void roc_open_reduce(lua_State *L) {
  luaL_setfuncs(L, functions, 0);
}
