/* Shapes, indices and nested tables: between the Lua stack and the core's structs.
 *
 * Everything that reads a caller's table may run metamethods, which may raise: nothing of the core
 * is held by a C local meanwhile.  What is being filled is already on the stack. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bindings/array/array_bind.h"

/* ---- shapes and indices ------------------------------------------------------------------ */

/* The extent on top of the stack, which stays. */
static int64_t check_extent(lua_State *L, int arg, bool wildcard) {
  int is_integer;
  int64_t extent = lua_tointegerx(L, -1, &is_integer);
  if (!is_integer || lua_type(L, -1) != LUA_TNUMBER) {
    luaL_argerror(L, arg,
                  lua_pushfstring(L, "an extent is an integer, got %s", roc_push_shown(L, -1)));
  }
  if (extent < (wildcard ? -1 : 0)) {
    luaL_argerror(L, arg, lua_pushfstring(L, "extent %I is negative", (LUAI_UACINT)extent));
  }
  return extent;
}

uint32_t roc_check_shape(lua_State *L, int arg, int64_t extents[ROC_ARRAY_MAX_RANK],
                         bool wildcard) {
  if (lua_type(L, arg) == LUA_TNUMBER) {
    lua_pushvalue(L, arg);
    extents[0] = check_extent(L, arg, wildcard);
    lua_pop(L, 1);
    return 1;
  }
  if (!lua_istable(L, arg)) luaL_typeerror(L, arg, "shape, an integer or a table of integers");
  lua_Integer rank = luaL_len(L, arg);
  if (rank < 1 || rank > ROC_ARRAY_MAX_RANK) {
    luaL_argerror(L, arg,
                  lua_pushfstring(L, "a shape has 1 to %d extents, got %I", ROC_ARRAY_MAX_RANK,
                                  (LUAI_UACINT)rank));
  }
  for (lua_Integer k = 0; k < rank; k++) {
    lua_geti(L, arg, k + 1);
    extents[k] = check_extent(L, arg, wildcard);
    lua_pop(L, 1);
  }
  return (uint32_t)rank;
}

/* roc.zeros(3, 4): the extents from `arg` on are not in one table. */
static void refuse_loose_extents(lua_State *L, int arg) {
  if (lua_type(L, arg) != LUA_TNUMBER || lua_type(L, arg + 1) != LUA_TNUMBER) return;
  luaL_Buffer text;
  luaL_checkstack(L, 12 + lua_gettop(L), NULL);
  luaL_buffinit(L, &text);
  for (int i = arg; lua_type(L, i) == LUA_TNUMBER && i < arg + ROC_ARRAY_MAX_RANK; i++) {
    luaL_addstring(&text, i > arg ? ", " : "");
    lua_pushvalue(L, i);
    luaL_addvalue(&text);
  }
  luaL_pushresult(&text);
  const char *extents = lua_tostring(L, -1), *name = roc_push_function_name(L);
  const char *prefix = strncmp(name, "roc.", 4) == 0 ? "" : "roc.";
  const char *before = arg > 1 ? "..., " : "";
  luaL_argerror(L, arg + 1,
                lua_pushfstring(L,
                                "dtype expected, got number; a shape is one argument: "
                                "%s%s(%s{%s})",
                                prefix, name, before, extents));
}

void roc_check_size(lua_State *L, int arg, roc_dtype dtype, uint32_t rank, const int64_t *extents) {
  roc_error err = ROC_ERROR_INIT;
  roc_array described;
  roc_status status = roc_array_describe(&described, dtype, rank, extents, ROC_ORDER_C, &err);
  if (status == ROC_INVALID) luaL_argerror(L, arg, err.message);
}

roc_array_plan roc_check_plan(lua_State *L, int arg, roc_dtype absent, bool with_order) {
  roc_array_plan plan = {.order = ROC_ORDER_C};
  plan.rank = roc_check_shape(L, arg, plan.extents, false);
  refuse_loose_extents(L, arg);
  plan.dtype = roc_opt_dtype(L, arg + 1, absent);
  if (with_order) plan.order = roc_opt_order(L, arg + 2);
  roc_check_size(L, arg, plan.dtype, plan.rank, plan.extents);
  return plan;
}

roc_order roc_opt_order(lua_State *L, int arg) {
  static const char *const names[] = {"C", "F", NULL};
  return roc_check_option(L, arg, "C", names) == 0 ? ROC_ORDER_C : ROC_ORDER_F;
}

void roc_push_shape_text(lua_State *L, uint32_t rank, const int64_t *extents) {
  char text[ROC_ARRAY_MAX_RANK * 24 + 8];
  int len = snprintf(text, sizeof text, "{");
  for (uint32_t k = 0; k < rank; k++) {
    len += snprintf(text + len, sizeof text - (size_t)len, "%s%" PRId64, k ? ", " : "", extents[k]);
  }
  lua_pushfstring(L, "%s}", text);
}

int64_t roc_check_index(lua_State *L, int arg, int64_t extent, uint32_t dim, uint32_t rank) {
  lua_Integer i = luaL_checkinteger(L, arg);
  if (i >= 1 && i <= extent) return i - 1;
  if (rank == 1) {
    return luaL_error(L, "index %I out of range 1..%I", (LUAI_UACINT)i, (LUAI_UACINT)extent);
  }
  return luaL_error(L, "index %I out of range 1..%I (dimension %d)", (LUAI_UACINT)i,
                    (LUAI_UACINT)extent, (int)dim + 1);
}

/* ---- nested tables to arrays ------------------------------------------------------------- */

/* The current position in the nested table, for messages. */
typedef struct table_path {
  int arg;
  uint32_t rank;
  int64_t extents[ROC_ARRAY_MAX_RANK];
  int64_t index[ROC_ARRAY_MAX_RANK]; /* from 1 */
} table_path;

/* "element {2, 3}" of the first `depth` indices; pushed. */
static const char *push_place(lua_State *L, const table_path *path, uint32_t depth) {
  roc_push_shape_text(L, depth, path->index);
  return lua_pushfstring(L, "element %s", lua_tostring(L, -1));
}

enum { SHORT_TABLE = 1024 }; /* up to this length all keys are checked */

/* Raises for a key that is not the index of an element, so that no entry of a table is ignored
 * silently.  `n`, the count of table.pack, is allowed. */
static void refuse_key(lua_State *L, int arg, lua_Integer len) {
  int is_integer;
  lua_Integer i = lua_tointegerx(L, -1, &is_integer);
  if (lua_type(L, -1) == LUA_TNUMBER && is_integer && i >= 1 && i <= len) return;
  bool is_count = lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), "n") == 0;
  if (is_count) return;
  bool is_gap = lua_type(L, -1) == LUA_TNUMBER && is_integer && i > len;
  const char *quote = lua_type(L, -1) == LUA_TSTRING ? "'" : "";
  const char *key = roc_push_shown(L, -1);
  luaL_argerror(
      L, arg,
      lua_pushfstring(L, "a table of elements has the keys 1 to %I, this one has %s%s%s%s",
                      (LUAI_UACINT)len, quote, key, quote, is_gap ? " after a gap" : ""));
}

/* Checks the keys of the table on top.  Those of a long table stand in order, with any others
 * after them. */
static void check_keys(lua_State *L, int arg, lua_Integer len) {
  luaL_checkstack(L, 8, NULL);
  bool is_long = len > SHORT_TABLE && lua_rawgeti(L, -1, len) != LUA_TNIL;
  if (len > SHORT_TABLE) lua_pop(L, 1);
  if (is_long) {
    lua_pushinteger(L, len);
  } else {
    lua_pushnil(L);
  }
  while (lua_next(L, -2)) {
    lua_pop(L, 1);
    refuse_key(L, arg, len);
  }
}

/* Finds rank and extents by following first elements; leaves the first scalar (or nil) on the
 * stack. */
static void measure_table(lua_State *L, table_path *path) {
  lua_pushvalue(L, path->arg);
  path->rank = 0;
  while (lua_istable(L, -1)) {
    if (path->rank == ROC_ARRAY_MAX_RANK) {
      luaL_argerror(L, path->arg,
                    lua_pushfstring(L, "tables nested more than %d deep", ROC_ARRAY_MAX_RANK));
    }
    lua_Integer extent = luaL_len(L, -1);
    if (extent < 0) luaL_argerror(L, path->arg, "a table has a negative length");
    path->extents[path->rank++] = extent;
    lua_geti(L, -1, 1);
    lua_remove(L, -2);
  }
}

/* Raises why the value on top of the stack cannot be an element. */
static void refuse_element(lua_State *L, const table_path *path, roc_dtype dtype) {
  if (lua_istable(L, -1)) {
    luaL_argerror(L, path->arg,
                  lua_pushfstring(L, "ragged table: %s is a table where others are numbers",
                                  push_place(L, path, path->rank)));
  }
  const char *why = roc_push_refusal(L, lua_gettop(L), dtype);
  luaL_argerror(L, path->arg, lua_pushfstring(L, "%s: %s", push_place(L, path, path->rank), why));
}

/* Checks that the value on top is a table as long as its siblings at this depth. */
static void check_row(lua_State *L, const table_path *path, uint32_t depth) {
  if (!lua_istable(L, -1)) {
    const char *got = roc_push_type_name(L, -1);
    luaL_argerror(L, path->arg,
                  lua_pushfstring(L, "ragged table: %s is a %s where others are tables",
                                  push_place(L, path, depth), got));
  }
  lua_Integer len = luaL_len(L, -1);
  if (len != path->extents[depth]) {
    luaL_argerror(L, path->arg,
                  lua_pushfstring(L, "ragged table: %s has %I elements where others have %I",
                                  push_place(L, path, depth), (LUAI_UACINT)len,
                                  (LUAI_UACINT)path->extents[depth]));
  }
}

/* Stores the elements of the table on top of the stack into consecutive memory; returns the end. */
static char *fill_from_table(lua_State *L, table_path *path, uint32_t depth, roc_dtype dtype,
                             char *element) {
  luaL_checkstack(L, 4, "nested tables");
  check_keys(L, path->arg, path->extents[depth]);
  for (int64_t i = 1; i <= path->extents[depth]; i++) {
    path->index[depth] = i;
    lua_geti(L, -1, i);
    if (depth + 1 < path->rank) {
      check_row(L, path, depth + 1);
      element = fill_from_table(L, path, depth + 1, dtype, element);
    } else {
      roc_scalar value;
      if (!roc_test_scalar(L, -1, &value) || !roc_dtype_store(dtype, element, value)) {
        refuse_element(L, path, dtype);
      }
      element += roc_dtype_itemsize(dtype);
    }
    lua_pop(L, 1);
  }
  return element;
}

roc_array *roc_array_from_table(lua_State *L, int arg, bool has_dtype, roc_dtype dtype) {
  table_path path = {.arg = arg};
  measure_table(L, &path);
  if (!has_dtype) dtype = lua_isboolean(L, -1) ? ROC_DT_BOOL : ROC_DT_FLOAT64;
  lua_pop(L, 1);
  roc_check_size(L, arg, dtype, path.rank, path.extents);
  roc_array *a = roc_new_host_array(L, dtype, path.rank, path.extents, ROC_ORDER_C, false);
  lua_pushvalue(L, arg);
  check_row(L, &path, 0);
  fill_from_table(L, &path, 0, dtype, roc_buffer_host(a->buffer));
  lua_pop(L, 1);
  return a;
}

/* ---- arrays to nested tables ------------------------------------------------------------- */

static void push_table_of(lua_State *L, const roc_array *a, uint32_t dim, int64_t *index) {
  int64_t extent = a->extents[dim];
  luaL_checkstack(L, 3, "nested tables");
  lua_createtable(L, extent < INT32_MAX ? (int)extent : 0, 0);
  if (!a->buffer) luaL_error(L, "the array was closed while it was copied"); /* by a finalizer */
  for (index[dim] = 0; index[dim] < extent; index[dim]++) {
    if (dim + 1 < a->rank) {
      push_table_of(L, a, dim + 1, index);
    } else {
      roc_push_scalar(L, roc_dtype_load(a->dtype, roc_array_at(a, index)));
    }
    lua_rawseti(L, -2, index[dim] + 1);
  }
}

void roc_push_array_table(lua_State *L, const roc_array *a) {
  int64_t index[ROC_ARRAY_MAX_RANK] = {0};
  push_table_of(L, a, 0, index);
}
