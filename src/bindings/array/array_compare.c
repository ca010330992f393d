/* roc.allclose and roc.array_equal; whether two arrays lie in the same memory, and what values an
 * array has. */
#include <string.h>

#include "bindings/array/array_bind.h"
#include "bindings/device/device_bind.h"

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

typedef enum overlap { APART, SAME, SOME } overlap;

static overlap overlap_of(const roc_array *a, const roc_array *b) {
  roc_devptr a_begin, a_end, b_begin, b_end;
  roc_array_range(a, &a_begin, &a_end);
  roc_array_range(b, &b_begin, &b_end);
  bool is_apart = a_begin >= b_end || b_begin >= a_end ||
                  roc_buffer_device(a->buffer) != roc_buffer_device(b->buffer);
  if (is_apart) return APART;
  return a->buffer == b->buffer && same_elements(a, b) ? SAME : SOME;
}

/* core.array_overlap(a, b) -> "same" elements in the same order, "some" bytes in common, or nil */
static int compare_overlap(lua_State *L) {
  overlap found = overlap_of(roc_check_any_array(L, 1), roc_check_any_array(L, 2));
  if (found == APART) return 0;
  lua_pushstring(L, found == SAME ? "same" : "some");
  return 1;
}

typedef struct layouts {
  size_t length;
  char text[2048];
} layouts;

static void add_bytes(layouts *to, const void *bytes, size_t nbytes) {
  memcpy(to->text + to->length, bytes, nbytes);
  to->length += nbytes;
}

/* Adds what the value at `idx` is, an array or a scalar, and how it overlaps with `out`, if there is
 * one; false for other values, closed arrays and arrays that share some bytes with `out`. */
static bool add_layout(lua_State *L, int idx, const roc_array *out, layouts *to) {
  enum { MOST = 2 + 2 * sizeof(void *) + 2 * ROC_ARRAY_MAX_RANK * sizeof(int64_t) };
  if (sizeof to->text - to->length < MOST) return false;
  const roc_array_box *box = roc_test_array_box(L, idx);
  if (!box) {
    bool is_boolean = lua_isboolean(L, idx);
    add_bytes(to, is_boolean ? "b" : lua_isinteger(L, idx) ? "i" : "f", 1);
    return is_boolean || lua_type(L, idx) == LUA_TNUMBER;
  }
  const roc_array *a = &box->array;
  if (!a->buffer) return false;
  overlap found = out ? overlap_of(out, a) : APART;
  const unsigned char facts[2] = {(unsigned char)a->rank, (unsigned char)(a->dtype * 2 + found)};
  const void *pointers[2] = {box->cls, roc_buffer_device(a->buffer)};
  add_bytes(to, facts, sizeof facts);
  add_bytes(to, pointers, sizeof pointers);
  add_bytes(to, a->extents, a->rank * sizeof *a->extents);
  add_bytes(to, a->strides, a->rank * sizeof *a->strides);
  return found != SOME;
}

/* core.array_layouts(list, n [, out]) -> a string that is the same, on one current device, for lists
 * of n values that differ in nothing but where their elements are and the values of their scalars;
 * with `out`, which arrays it is counts, too.  nil: a value is neither array nor scalar, an array is
 * closed, or `out` has bytes, but not all its elements, in common with one; or there are many. */
static int compare_layouts(lua_State *L) {
  lua_Integer n = luaL_checkinteger(L, 2);
  luaL_checktype(L, 1, LUA_TTABLE);
  const roc_array *out = roc_test_any_array(L, 3);
  if (!lua_isnoneornil(L, 3) && !(out && out->buffer)) return 0;
  const void *device = roc_current_device(L);
  layouts to;
  to.length = 0;
  add_bytes(&to, &device, sizeof device);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, 1, i);
    bool is_known = add_layout(L, -1, out, &to);
    lua_pop(L, 1);
    if (!is_known) return 0;
  }
  if (out && !add_layout(L, 3, NULL, &to)) return 0;
  lua_pushlstring(L, to.text, to.length);
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

static const luaL_Reg compare_functions[] = {
    {"allclose", compare_allclose},     {"array_equal", compare_array_equal},
    {"array_layouts", compare_layouts}, {"array_overlap", compare_overlap},
    {"statistics", compare_statistics}, {NULL, NULL}};

void roc_open_array_compare(lua_State *L) {
  luaL_setfuncs(L, compare_functions, 0);
}
