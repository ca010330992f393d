/* What the small programs of this folder share: a failure ends them with its message. */
#ifndef TASK_H
#define TASK_H

#include <lauxlib.h>
#include <lua.h>
#include <roclua.h>
#include <stdio.h>
#include <stdlib.h>

static inline void check(int code) {
  if (code == ROCLUA_OK) return;
  fprintf(stderr, "code %d: %s\n", code, roclua_error());
  exit(1);
}

static inline lua_State *open_state(void) {
  lua_State *L = luaL_newstate();
  check(roclua_openlibs(L));
  return L;
}

static inline void run(lua_State *L, const char *text) {
  if (luaL_dostring(L, text) == LUA_OK) return;
  fprintf(stderr, "%s\n", luaL_tolstring(L, -1, NULL));
  exit(1);
}

static inline int close_state(lua_State *L) {
  check(roclua_close(L));
  lua_close(L);
  check(roclua_shutdown());
  return 0;
}

/* The kernel that the global of that name is. */
static inline roclua_kernel *kernel_of(lua_State *L, const char *name) {
  roclua_kernel *kernel;
  lua_getglobal(L, name);
  check(roclua_kernel_get(L, -1, &kernel));
  lua_pop(L, 1);
  return kernel;
}

/* An array of this memory, whose elements lie one after the other. */
static inline roclua_array *array_of(float *data, int64_t count) {
  roclua_array *array;
  roclua_memory memory = {
      .size = sizeof memory, .dtype = "float32", .rank = 1, .shape = &count, .data = data};
  check(roclua_array_wrap(&memory, &array));
  return array;
}

/* Queues the kernel over `count` work-items. */
static inline int launch(roclua_kernel *kernel, roclua_stream *stream, int64_t count,
                         roclua_array *array, double factor) {
  roclua_launch shape = {.size = sizeof shape, .rank = 1, .grid = {count}};
  roclua_value args[] = {roclua_of_array(array), roclua_number(factor)};
  return roclua_kernel_launch(kernel, stream, &shape, args, 2);
}

static const char scale_kernel[] =
    "roc = require 'roc'\n"
    "scale = roc.kernel(function(a, factor)\n"
    "  local i = roc.get_global_id(1)\n"
    "  a[i] = a[i] * factor\n"
    "end)\n";

#endif
