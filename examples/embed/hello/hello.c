/* The smallest program with roclua in it: runs a script that launches a kernel.
 *
 *   cc hello.c -o hello $(pkg-config --cflags --libs roclua lua5.4)
 */
#include <lauxlib.h>
#include <lua.h>
#include <roclua.h>
#include <stdio.h>

static const char script[] =
    "roc = require 'roc'\n"
    "local square = roc.kernel [[function(a)\n"
    "  local i = roc.get_global_id(1)\n"
    "  a[i] = a[i] * a[i]\n"
    "end]]\n"
    "local a = roc.range(1, 5)\n"
    "square:forall(#a)(a)\n"
    "print('on ' .. roc.current_device().kind, a[2], a[5])\n";

static int fail(lua_State *L) {
  fprintf(stderr, "hello: %s\n", luaL_tolstring(L, -1, NULL));
  return 1;
}

int main(void) {
  lua_State *L = luaL_newstate();
  if (!L) return 1;
  if (roclua_openlibs(L) != ROCLUA_OK) return 1;
  int status = luaL_dostring(L, script) == LUA_OK ? 0 : fail(L);
  if (roclua_close(L) != ROCLUA_OK) { /* a kernel failed */
    fprintf(stderr, "hello: %s\n", roclua_error());
    status = 1;
  }
  lua_close(L);
  roclua_shutdown();
  return status;
}
