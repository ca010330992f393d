/* A simulation in C whose inner loop is a kernel in a Lua file: heat that spreads over a plate.  The
 * file is run again when it has changed, while the simulation goes on.
 *
 *   cc simulation.c -o simulation $(pkg-config --cflags --libs roclua lua5.4)
 *   ./simulation [steps]
 */
#include <lauxlib.h>
#include <lua.h>
#include <roclua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifndef SCRIPT
#define SCRIPT "heat.lua"
#endif

enum { ROWS = 60, COLUMNS = 80, ROUND = 50 };

static float plates[2][ROWS][COLUMNS]; /* the program's own memory */

static void fail(const char *what) {
  fprintf(stderr, "simulation: %s\n", what);
  exit(1);
}

/* Makes a plate the global of that name; Lua holds it from then on. */
static roclua_array *give(lua_State *L, void *plate, const char *name) {
  int64_t shape[] = {ROWS, COLUMNS};
  roclua_memory memory = {
      .size = sizeof memory, .dtype = "float32", .rank = 2, .shape = shape, .data = plate};
  roclua_array *array;
  if (roclua_array_wrap(&memory, &array) != ROCLUA_OK) fail(roclua_error());
  if (roclua_array_push(L, array) != ROCLUA_OK) fail(roclua_error());
  lua_setglobal(L, name);
  return array;
}

/* Runs the file when it is not the one that ran last. */
static void load_if_changed(lua_State *L) {
  static struct stat last;
  struct stat now;
  if (stat(SCRIPT, &now) != 0) fail("cannot find " SCRIPT);
  if (now.st_mtime == last.st_mtime && now.st_ino == last.st_ino) return;
  last = now;
  if (luaL_dofile(L, SCRIPT) != LUA_OK) fail(luaL_tolstring(L, -1, NULL));
}

static void step(lua_State *L, double rate) {
  lua_getglobal(L, "step");
  lua_pushnumber(L, rate);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) fail(luaL_tolstring(L, -1, NULL));
}

/* The heat of the plate that the global `now` is. */
static double measure(lua_State *L, float *out_highest) {
  roclua_array *now;
  roclua_view view = {.size = sizeof view};
  double sum = 0;
  *out_highest = 0;
  lua_getglobal(L, "now");
  if (roclua_array_get(L, -1, &now) != ROCLUA_OK) fail(roclua_error());
  lua_pop(L, 1);
  if (roclua_array_map(now, ROCLUA_READ, NULL, &view) != ROCLUA_OK) fail(roclua_error());
  for (int64_t i = 0; i < view.shape[0]; i++) {
    for (int64_t j = 0; j < view.shape[1]; j++) {
      float heat = ((float *)view.data)[i * view.strides[0] + j * view.strides[1]];
      sum += heat;
      if (heat > *out_highest) *out_highest = heat;
    }
  }
  roclua_array_unmap(&view);
  roclua_array_release(now);
  return sum;
}

int main(int argc, char **argv) {
  int steps = argc > 1 ? atoi(argv[1]) : 200;
  float highest = 0;
  double heat = 0;
  lua_State *L = luaL_newstate();
  if (!L) fail("no memory for a Lua state");
  if (roclua_openlibs(L) != ROCLUA_OK) fail(roclua_error());
  plates[0][ROWS / 2][COLUMNS / 2] = 1000;
  roclua_array *now = give(L, plates[0], "now"), *after = give(L, plates[1], "after");
  for (int i = 0; i < steps; i++) {
    if (i % ROUND == 0) {
      load_if_changed(L);
      heat = measure(L, &highest);
      printf("step %4d: heat %.1f, highest %.2f\n", i, heat, highest);
    }
    step(L, 0.2);
  }
  heat = measure(L, &highest);
  printf("step %4d: heat %.1f, highest %.2f\n", steps, heat, highest);
  roclua_array_release(now);
  roclua_array_release(after);
  if (roclua_close(L) != ROCLUA_OK) fail(roclua_error());
  lua_close(L);
  roclua_shutdown();
  return heat > 999 && heat < 1001 ? 0 : 1;
}
