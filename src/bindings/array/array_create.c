/* Constructors of host arrays: roc.array, empty, zeros, ones, full, range, linspace, frombytes. */
#include <math.h>
#include <string.h>

#include "bindings/array/array_bind.h"

/* ---- from values ------------------------------------------------------------------------- */

/* roc.array(a [, dtype]) of a host array at 1: a copy, stored into the dtype. */
static int copy_array(lua_State *L, bool has_dtype, roc_dtype dtype) {
  const roc_array *src = roc_check_array(L, 1);
  roc_array_sync(L, src, false);
  if (!has_dtype || dtype == src->dtype) {
    roc_push_host_copy(L, src);
    return 1;
  }
  roc_array *a = roc_new_host_array(L, dtype, src->rank, src->extents, ROC_ORDER_C, false);
  roc_check_array(L, 1);
  roc_error err = ROC_ERROR_INIT;
  roc_status status = roc_array_copy_host(a, src, &err);
  if (status == ROC_INVALID)
    luaL_argerror(L, 1, err.message); /* an element that cannot be stored */
  ROC_LUA_TRY(L, status, &err);
  return 1;
}

static int create_array(lua_State *L) {
  bool has_dtype = !lua_isnoneornil(L, 2);
  roc_dtype dtype = roc_opt_dtype(L, 2, ROC_DT_FLOAT64);
  if (lua_istable(L, 1)) {
    roc_array_from_table(L, 1, has_dtype, dtype);
    return 1;
  }
  roc_fetch_device_array(L, 1);
  if (!roc_test_any_array(L, 1)) luaL_typeerror(L, 1, "table or array");
  return copy_array(L, has_dtype, dtype);
}

/* Pushes a new array by the arguments shape, dtype, order from `arg` on. */
static roc_array *new_by_args(lua_State *L, bool zeroed) {
  roc_array_plan plan = roc_check_plan(L, 1, ROC_DT_FLOAT64, true);
  return roc_new_host_array(L, plan.dtype, plan.rank, plan.extents, plan.order, zeroed);
}

static int create_empty(lua_State *L) {
  new_by_args(L, false);
  return 1;
}

static int create_zeros(lua_State *L) {
  new_by_args(L, true);
  return 1;
}

static int create_ones(lua_State *L) {
  unsigned char element[8];
  roc_array *a = new_by_args(L, false);
  roc_scalar one = {ROC_VT_INT, {.i = 1}};
  roc_dtype_store(a->dtype, element, roc_dtype_convert(a->dtype, one));
  roc_array_fill_host(a, element);
  return 1;
}

static int create_full(lua_State *L) {
  unsigned char element[8];
  int64_t extents[ROC_ARRAY_MAX_RANK];
  uint32_t rank = roc_check_shape(L, 1, extents, false);
  bool has_loose_extents = lua_type(L, 2) == LUA_TNUMBER && lua_type(L, 3) == LUA_TNUMBER;
  luaL_argcheck(L, !has_loose_extents, 3,
                "dtype expected, got number; a shape is one argument: roc.full({3, 4}, v)");
  roc_dtype dtype = roc_opt_dtype(L, 3, ROC_DT_FLOAT64);
  roc_order order = roc_opt_order(L, 4);
  luaL_checkany(L, 2);
  roc_check_size(L, 1, dtype, rank, extents);
  roc_store_arg(L, 2, dtype, element);
  roc_array_fill_host(roc_new_host_array(L, dtype, rank, extents, order, false), element);
  return 1;
}

/* ---- sequences --------------------------------------------------------------------------- */

static void put_scalar(roc_array *a, int64_t i, roc_scalar value) {
  roc_dtype_store(a->dtype, roc_array_at(a, &i), roc_dtype_convert(a->dtype, value));
}

/* As an assignment stores it; argument 4 has named the dtype. */
static void put_float(lua_State *L, roc_array *a, int64_t i, double f) {
  if (roc_dtype_store(a->dtype, roc_array_at(a, &i), (roc_scalar){ROC_VT_F64, {.f = f}})) return;
  luaL_argerror(L, 4,
                lua_pushfstring(L,
                                "%f has no integer representation: name a float dtype, and "
                                "convert the array with :astype(\"%s\")",
                                f, roc_dtype_name(a->dtype)));
}

static void check_number_dtype(lua_State *L, int arg, roc_dtype dtype) {
  luaL_argcheck(L, dtype != ROC_DT_BOOL, arg, "a dtype of numbers expected, got bool");
}

/* range of integers: `for i = first, last, step`, which never overflows. */
static int range_of_integers(lua_State *L, roc_dtype dtype) {
  lua_Integer first = lua_tointeger(L, 1), last = lua_tointeger(L, 2);
  lua_Integer step = luaL_optinteger(L, 3, 1);
  luaL_argcheck(L, step != 0, 3, "step is zero");
  uint64_t count = 0;
  if (step > 0 ? first <= last : first >= last) {
    uint64_t distance =
        step > 0 ? (uint64_t)last - (uint64_t)first : (uint64_t)first - (uint64_t)last;
    count = distance / (step > 0 ? (uint64_t)step : 0 - (uint64_t)step);
    luaL_argcheck(L, count < INT64_MAX, 2, "the range has too many elements");
    count++;
  }
  int64_t extent = (int64_t)count;
  roc_check_size(L, 2, dtype, 1, &extent);
  roc_array *a = roc_new_host_array(L, dtype, 1, &extent, ROC_ORDER_C, false);
  for (int64_t i = 0; i < extent; i++) {
    uint64_t value = (uint64_t)first + (uint64_t)i * (uint64_t)step;
    put_scalar(a, i, (roc_scalar){ROC_VT_INT, {.i = (int64_t)value}});
  }
  return 1;
}

/* A float `for` adds its step again and again, so its count is known only after running it; the
 * division below differs by the rounding errors of these additions, and the spare room is larger
 * than any such error. */
static int64_t range_room(lua_State *L, double first, double last, double step) {
  double steps = floor((last - first) / step);
  if (!(steps >= 0)) return 0;
  luaL_argcheck(L, steps < 0x1p59, 2, "the range has too many elements");
  return (int64_t)steps + (int64_t)(steps / 0x1p20) + 2;
}

static int range_of_floats(lua_State *L, roc_dtype dtype) {
  double first = luaL_checknumber(L, 1), last = luaL_checknumber(L, 2);
  double step = luaL_optnumber(L, 3, 1);
  luaL_argcheck(L, isfinite(first), 1, "a finite number expected");
  luaL_argcheck(L, isfinite(last), 2, "a finite number expected");
  luaL_argcheck(L, isfinite(step) && step != 0, 3, "a finite step other than zero expected");
  int64_t room = range_room(L, first, last, step), count = 0;
  luaL_argcheck(L, room == 0 || first + step != first, 3,
                "step is too small: first + step is first");
  roc_check_size(L, 2, dtype, 1, &room);
  roc_array *a = roc_new_host_array(L, dtype, 1, &room, ROC_ORDER_C, false);
  for (double x = first; count < room && (step > 0 ? x <= last : x >= last); x += step) {
    put_float(L, a, count++, x);
  }
  a->extents[0] = count; /* the few spare elements after the end stay unused */
  return 1;
}

static int create_range(lua_State *L) {
  luaL_checknumber(L, 1);
  luaL_checknumber(L, 2);
  luaL_optnumber(L, 3, 1);
  bool integers =
      lua_isinteger(L, 1) && lua_isinteger(L, 2) && (lua_isnoneornil(L, 3) || lua_isinteger(L, 3));
  roc_dtype dtype = roc_opt_dtype(L, 4, integers ? ROC_DT_INT64 : ROC_DT_FLOAT64);
  check_number_dtype(L, 4, dtype);
  return integers ? range_of_integers(L, dtype) : range_of_floats(L, dtype);
}

static int create_linspace(lua_State *L) {
  double first = luaL_checknumber(L, 1), last = luaL_checknumber(L, 2);
  int64_t count = luaL_checkinteger(L, 3);
  luaL_argcheck(L, count >= 0, 3, "the count is negative");
  roc_dtype dtype = roc_opt_dtype(L, 4, ROC_DT_FLOAT64);
  check_number_dtype(L, 4, dtype);
  roc_check_size(L, 3, dtype, 1, &count);
  roc_array *a = roc_new_host_array(L, dtype, 1, &count, ROC_ORDER_C, false);
  double parts = count > 1 ? (double)(count - 1) : 1;
  double step = (last - first) / parts;
  if (isinf(step)) step = last / parts - first / parts; /* only their distance is infinite */
  for (int64_t i = 0; i < count; i++) {
    bool is_last = i > 0 && i == count - 1; /* exact, whatever the step rounds to */
    put_float(L, a, i, is_last ? last : first + (double)i * step);
  }
  return 1;
}

/* ---- from bytes -------------------------------------------------------------------------- */

/* The shape at `arg`, or the flat one; it must hold exactly `count` elements. */
static uint32_t check_byte_shape(lua_State *L, int arg, int64_t count, int64_t *extents) {
  extents[0] = count;
  if (lua_isnoneornil(L, arg)) return 1;
  uint32_t rank = roc_check_shape(L, arg, extents, false);
  roc_array described;
  roc_error err = ROC_ERROR_INIT;
  if (roc_array_describe(&described, ROC_DT_INT8, rank, extents, ROC_ORDER_C, &err)) {
    luaL_argerror(L, arg, err.message);
  }
  if (roc_array_size(&described) != count) {
    roc_push_shape_text(L, rank, extents);
    luaL_argerror(L, arg,
                  lua_pushfstring(L, "the bytes hold %I elements, not %s", (LUAI_UACINT)count,
                                  lua_tostring(L, -1)));
  }
  return rank;
}

static int create_frombytes(lua_State *L) {
  size_t nbytes;
  luaL_checktype(L, 1, LUA_TSTRING);
  const char *bytes = lua_tolstring(L, 1, &nbytes);
  roc_dtype dtype = roc_check_dtype(L, 2);
  size_t itemsize = roc_dtype_itemsize(dtype);
  if (nbytes % itemsize != 0) {
    luaL_argerror(L, 1,
                  lua_pushfstring(L, "%I bytes are no whole number of %s elements",
                                  (LUAI_UACINT)nbytes, roc_dtype_name(dtype)));
  }
  int64_t extents[ROC_ARRAY_MAX_RANK];
  uint32_t rank = check_byte_shape(L, 3, (int64_t)(nbytes / itemsize), extents);
  roc_array *a = roc_new_host_array(L, dtype, rank, extents, ROC_ORDER_C, false);
  memcpy(roc_buffer_host(a->buffer), bytes, nbytes);
  roc_array_normalize_bools(a);
  return 1;
}

static const luaL_Reg create_functions[] = {
    {"array", create_array},       {"empty", create_empty},         {"zeros", create_zeros},
    {"ones", create_ones},         {"full", create_full},           {"range", create_range},
    {"linspace", create_linspace}, {"frombytes", create_frombytes}, {NULL, NULL}};

void roc_open_array_create(lua_State *L) {
  luaL_setfuncs(L, create_functions, 0);
}
