/* roc.allclose and roc.array_equal; whether two arrays lie in the same memory, and what values an
 * array has. */
#include "bindings/array/array_bind.h"

/* Makes the argument a host array, in place: arrays stay, tables become arrays, and
 * device arrays are fetched. */
static void to_host_operand(lua_State *L, int arg) {
  if (lua_istable(L, arg)) {
    roc_array_from_table(L, arg, false, ROC_DT_FLOAT64);
    lua_replace(L, arg);
  }
  roc_fetch_device_array(L, arg);
  roc_array_sync(L, roc_check_array(L, arg), false);
}

static double opt_tolerance(lua_State *L, int arg, double def) {
  double tolerance = luaL_optnumber(L, arg, def);
  luaL_argcheck(L, tolerance >= 0, arg, "a tolerance is not negative");
  return tolerance;
}

static int compare_allclose(lua_State *L) {
  double rtol = opt_tolerance(L, 3, 1e-5), atol = opt_tolerance(L, 4, 1e-8);
  to_host_operand(L, 1);
  to_host_operand(L, 2);
  const roc_array *a = roc_check_array(L, 1), *b = roc_check_array(L, 2);
  if (!roc_array_same_shape(a, b)) {
    roc_push_shape_text(L, a->rank, a->extents);
    roc_push_shape_text(L, b->rank, b->extents);
    return luaL_argerror(
        L, 2,
        lua_pushfstring(L, "shape %s expected, got %s", lua_tostring(L, -2), lua_tostring(L, -1)));
  }
  lua_pushboolean(L, roc_array_close_host(a, b, rtol, atol));
  return 1;
}

static int compare_array_equal(lua_State *L) {
  to_host_operand(L, 1);
  to_host_operand(L, 2);
  const roc_array *a = roc_check_array(L, 1), *b = roc_check_array(L, 2);
  lua_pushboolean(L, roc_array_equal_host(a, b));
  return 1;
}

static bool same_elements(const roc_array *a, const roc_array *b) {
  bool is_same = a->dtype == b->dtype && a->offset == b->offset && roc_array_same_shape(a, b);
  for (uint32_t d = 0; is_same && d < a->rank; d++) is_same = a->strides[d] == b->strides[d];
  return is_same;
}

/* core.array_overlap(a, b) -> "same" elements in the same order, "some" bytes in common, or nil */
static int compare_overlap(lua_State *L) {
  const roc_array *a = roc_check_any_array(L, 1), *b = roc_check_any_array(L, 2);
  roc_devptr a_begin, a_end, b_begin, b_end;
  roc_array_range(a, &a_begin, &a_end);
  roc_array_range(b, &b_begin, &b_end);
  bool is_apart = a_begin >= b_end || b_begin >= a_end ||
                  roc_buffer_device(a->buffer) != roc_buffer_device(b->buffer);
  if (is_apart) return 0;
  bool is_same = a->buffer == b->buffer && same_elements(a, b);
  lua_pushstring(L, is_same ? "same" : "some");
  return 1;
}

/* core.statistics(host array) -> { nan =, min =, max =, sum = } */
static int compare_statistics(lua_State *L) {
  roc_array_summary summary;
  to_host_operand(L, 1);
  roc_array_summarise(roc_check_array(L, 1), &summary);
  lua_createtable(L, 0, 4);
  lua_pushinteger(L, (lua_Integer)summary.nans);
  lua_setfield(L, -2, "nan");
  roc_push_scalar(L, summary.min);
  lua_setfield(L, -2, "min");
  roc_push_scalar(L, summary.max);
  lua_setfield(L, -2, "max");
  lua_pushnumber(L, summary.sum);
  lua_setfield(L, -2, "sum");
  return 1;
}

static const luaL_Reg compare_functions[] = {{"allclose", compare_allclose},
                                             {"array_equal", compare_array_equal},
                                             {"array_overlap", compare_overlap},
                                             {"statistics", compare_statistics},
                                             {NULL, NULL}};

void roc_open_array_compare(lua_State *L) {
  luaL_setfuncs(L, compare_functions, 0);
}
