/* rocluac: the ahead-of-time compiler of kernels, what luac is to lua.
 *
 * A Lua state with roc in it, for which roc.aot (lua/roc/aot.lua) does the work; this file gives it
 * the arguments and reports how it ended.  Needs no device: kernels run only where the script
 * launches them. */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/call.h"
#include "include/roclua.h"

/* {[0] = program, arguments…} */
static void push_args(lua_State *L, int argc, char **argv) {
  lua_createtable(L, argc, 1);
  for (int i = 0; i < argc; i++) {
    lua_pushstring(L, argv[i]);
    lua_rawseti(L, -2, i);
  }
}

static bool compile(lua_State *L, int argc, char **argv) {
  lua_getglobal(L, "require");
  lua_pushliteral(L, "roc.aot");
  if (!cli_report(L, cli_call(L, 1, 1))) return false;
  lua_getfield(L, -1, "main");
  push_args(L, argc, argv);
  lua_pushfstring(L, "rocluac %s  (%s)", roclua_version(), LUA_RELEASE);
  if (!cli_report(L, cli_call(L, 2, 2))) return false;
  bool is_ok = lua_toboolean(L, -2);
  if (!is_ok) cli_message(lua_tostring(L, -1));
  return is_ok;
}

/* Runs in protected mode, so that lack of memory is an error message; (argc, argv) -> success. */
static int protected_main(lua_State *L) {
  int argc = (int)lua_tointeger(L, 1);
  char **argv = lua_touserdata(L, 2);
  luaL_checkversion(L);
  if (roclua_openlibs(L) != ROCLUA_OK) luaL_error(L, "%s", roclua_error());
  cli_track_coroutines(L);
  bool is_ok = compile(L, argc, argv);
  is_ok = cli_finish_devices(L) && is_ok;
  lua_pushboolean(L, is_ok);
  return 1;
}

int main(int argc, char **argv) {
  cli_set_progname(argc > 0 && argv[0][0] != '\0' ? argv[0] : "rocluac");
  return cli_main(argc, argv, protected_main);
}
