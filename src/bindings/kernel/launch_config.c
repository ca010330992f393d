/* The configuration of a launch as scripts write it: k[{groups, workgroup, …}], k:launch{…} and
 * k:forall(n, {…}). */
#include "bindings/kernel/launch_config.h"

#include <limits.h>
#include <string.h>

#include "bindings/device/device_bind.h"

/* Reads an integer or a table of up to three at the top of the stack, and pops it; returns how
 * many. */
static uint32_t read_dims(lua_State *L, const char *what, int64_t least, int64_t dims[3]) {
  bool is_table = lua_istable(L, -1);
  lua_Unsigned count = is_table ? lua_rawlen(L, -1) : 1;
  if (count < 1 || count > 3) {
    luaL_error(L, "bad %s (1 to 3 integers expected, got %d)", what, (int)count);
  }
  for (uint32_t d = 0; d < count; d++) {
    if (is_table) {
      lua_rawgeti(L, -1, d + 1);
    } else {
      lua_pushvalue(L, -1);
    }
    int is_integer;
    dims[d] = lua_tointegerx(L, -1, &is_integer);
    if (!is_integer || lua_type(L, -1) != LUA_TNUMBER) {
      luaL_error(L, "bad %s (integer expected, got %s)", what,
                 lua_type(L, -1) == LUA_TNUMBER ? "a float" : luaL_typename(L, -1));
    }
    if (dims[d] < least)
      luaL_error(L, "bad %s (%I is less than %I)", what, (LUAI_UACINT)dims[d], (LUAI_UACINT)least);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return (uint32_t)count;
}

static void init_range(roc_ndrange *range) {
  *range = (roc_ndrange){.grid = {1, 1, 1}, .local = {0, 1, 1}, .rank = 1};
}

static void set_workgroup(lua_State *L, roc_ndrange *range, const int64_t *dims, uint32_t n) {
  for (uint32_t d = 0; d < n; d++) {
    if (dims[d] > INT32_MAX) luaL_error(L, "bad workgroup (%I is too large)", (LUAI_UACINT)dims[d]);
    range->local[d] = (uint32_t)dims[d];
  }
  if (n > range->rank) range->rank = n;
}

static void set_grid(roc_ndrange *range, const int64_t *dims, uint32_t n) {
  for (uint32_t d = 0; d < n; d++) range->grid[d] = (uint64_t)dims[d];
  if (n > range->rank) range->rank = n;
}

static void multiply_grid(lua_State *L, roc_ndrange *range) {
  for (uint32_t d = 0; d < 3; d++) {
    if (__builtin_mul_overflow(range->grid[d], (uint64_t)range->local[d], &range->grid[d]) ||
        range->grid[d] > INT64_MAX) {
      luaL_error(L, "bad groups (groups times workgroup is too large in dimension %d)", (int)d + 1);
    }
  }
}

/* The shared bytes at the top of the stack (nil: none), popped. */
static void read_shared(lua_State *L, roc_ndrange *range) {
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    return;
  }
  int is_integer;
  lua_Integer nbytes = lua_tointegerx(L, -1, &is_integer);
  if (!is_integer || lua_type(L, -1) != LUA_TNUMBER || nbytes < 0 || nbytes > INT32_MAX) {
    luaL_error(L, "bad shared (bytes from 0 to %d expected, got %s)", INT32_MAX,
               roc_push_shown(L, lua_gettop(L)));
  }
  range->dynamic_shared_bytes = (uint32_t)nbytes;
  lua_pop(L, 1);
}

/* Checks the stream at the top of the stack (nil: the default one) and leaves it there. */
static void check_stream(lua_State *L) {
  roc_opt_stream_field(L, -1, NULL);
}

/* A configuration is a list of at most four entries; any other entry is an error. */
static void check_entries(lua_State *L) {
  lua_pushnil(L);
  while (lua_next(L, 2)) {
    lua_pop(L, 1);
    lua_Integer i = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : 0;
    if (i >= 1 && i <= 4) continue;
    bool is_name = lua_type(L, -1) == LUA_TSTRING;
    luaL_error(L,
               "bad launch configuration (k[{groups, workgroup [, stream [, shared]]}] expected, "
               "got an entry %s%s)",
               roc_push_shown(L, -1),
               is_name ? ": k:launch({grid =, workgroup =}, ...) takes names" : "");
  }
}

void roc_config_read_index(lua_State *L, roc_ndrange *range) {
  int64_t dims[3];
  luaL_checktype(L, 2, LUA_TTABLE);
  check_entries(L);
  init_range(range);
  lua_geti(L, 2, 1);
  if (lua_isnil(L, -1))
    luaL_error(L,
               "bad launch configuration (k[{groups, workgroup [, stream [, shared]]}] expected)");
  uint32_t n = read_dims(L, "groups", 0, dims);
  set_grid(range, dims, n);
  lua_geti(L, 2, 2);
  if (lua_isnil(L, -1))
    luaL_error(L, "bad launch configuration (no workgroup: k[{groups, workgroup}] expected)");
  n = read_dims(L, "workgroup", 1, dims);
  set_workgroup(L, range, dims, n);
  multiply_grid(L, range);
  lua_geti(L, 2, 4);
  read_shared(L, range);
  lua_geti(L, 2, 3);
  check_stream(L);
}

static const char *const option_names[] = {"grid", "groups", "workgroup", "stream", "shared", NULL};

static void check_options(lua_State *L, int arg, const char *func, const char *const *known,
                          const char *list) {
  luaL_checktype(L, arg, LUA_TTABLE);
  lua_pushnil(L);
  while (lua_next(L, arg)) {
    lua_pop(L, 1);
    bool found = false;
    for (uint32_t i = 0; known[i] && lua_type(L, -1) == LUA_TSTRING; i++) {
      found |= strcmp(known[i], lua_tostring(L, -1)) == 0;
    }
    if (found) continue;
    luaL_error(L, "bad argument #%d to '%s' (unknown option '%s'; known are %s)", arg - 1, func,
               roc_push_shown(L, -1), list);
  }
}

/* Reads workgroup, stream and shared of the table at `arg`; leaves the stream on the stack. */
static void read_common(lua_State *L, int arg, roc_ndrange *range) {
  int64_t dims[3];
  if (lua_getfield(L, arg, "workgroup") != LUA_TNIL) {
    uint32_t n = read_dims(L, "workgroup", 1, dims);
    set_workgroup(L, range, dims, n);
  } else {
    lua_pop(L, 1);
  }
  lua_getfield(L, arg, "shared");
  read_shared(L, range);
  lua_getfield(L, arg, "stream");
  check_stream(L);
}

void roc_config_read_launch(lua_State *L, int arg, roc_ndrange *range) {
  check_options(L, arg, "launch", option_names, "grid, groups, workgroup, stream, shared");
  init_range(range);
  int64_t dims[3];
  bool has_grid = lua_getfield(L, arg, "grid") != LUA_TNIL;
  lua_pop(L, 1);
  bool has_groups = lua_getfield(L, arg, "groups") != LUA_TNIL;
  lua_pop(L, 1);
  if (has_grid == has_groups)
    luaL_error(L, "bad argument #1 to 'launch' (one of grid and groups expected)");
  read_common(L, arg, range);
  lua_getfield(L, arg, has_grid ? "grid" : "groups");
  uint32_t n = read_dims(L, has_grid ? "grid" : "groups", 0, dims);
  set_grid(range, dims, n);
  if (has_grid) return;
  if (range->local[0] == 0) luaL_error(L, "bad argument #1 to 'launch' (groups needs a workgroup)");
  multiply_grid(L, range);
}

/* The extents of forall, one to three integers or a table of them, at index 2; returns the index
 * after them. */
static int read_extents(lua_State *L, int64_t dims[3], uint32_t *count) {
  int arg = 2;
  *count = 0;
  if (lua_istable(L, arg)) {
    for (; *count < 3 && lua_rawgeti(L, arg, *count + 1) != LUA_TNIL; ++*count) {
      int is_integer;
      dims[*count] = lua_tointegerx(L, -1, &is_integer);
      is_integer = is_integer && lua_type(L, -1) == LUA_TNUMBER;
      luaL_argcheck(L, is_integer, arg, "a table of 1 to 3 integers expected");
      lua_pop(L, 1);
    }
    luaL_argcheck(L, *count > 0 && lua_rawlen(L, arg) == *count, arg,
                  "a table of 1 to 3 integers expected");
    arg++;
  } else {
    do {
      dims[(*count)++] = luaL_checkinteger(L, arg++);
    } while (*count < 3 && lua_type(L, arg) == LUA_TNUMBER);
    luaL_argcheck(L, lua_type(L, arg) != LUA_TNUMBER, arg, "a launch has at most 3 dimensions");
  }
  for (uint32_t d = 0; d < *count; d++) {
    luaL_argcheck(L, dims[d] >= 0, lua_istable(L, 2) ? 2 : 2 + (int)d,
                  "count of work-items is negative");
  }
  return arg;
}

void roc_config_read_forall(lua_State *L, roc_ndrange *range) {
  int64_t dims[3];
  uint32_t count;
  int options = read_extents(L, dims, &count);
  lua_settop(L, options);
  init_range(range);
  set_grid(range, dims, count);
  if (lua_isnil(L, options)) return;
  check_options(L, options, "forall", option_names + 2, "workgroup, stream, shared");
  read_common(L, options, range);
  if (range->rank > count) {
    luaL_error(L, "bad argument #%d to 'forall' (a workgroup of %s expected)", options - 1,
               count == 1 ? "one dimension" : "two dimensions");
  }
}
