/* A plug-in with roclua in it, for spec/c/install_spec.lua: leaves kernels in flight and closes its
 * state.  0: all went well. */
#include <lauxlib.h>
#include <lua.h>
#include <roclua.h>
#include <stdio.h>

static const char script[] =
    "roc = require 'roc'\n"
    "local kernel = roc.kernel [[function(a)\n"
    "  local i = roc.get_global_id(1)\n"
    "  for j = 1, 2000 do a[i] = a[i] * 3 + j end\n"
    "end]]\n"
    "local a = roc.device_array(1024, 'int64')\n"
    "a:fill(1)\n"
    "kernel:forall(1024)(a) kernel:forall(1024)(a)\n";

int plugin_run(void);
int plugin_run(void) {
  lua_State *L = luaL_newstate();
  if (!L) return 1;
  roclua_openlibs(L);
  int status = luaL_dostring(L, script);
  if (status != LUA_OK) fprintf(stderr, "%s\n", luaL_tolstring(L, -1, NULL));
  lua_close(L);
  return status != LUA_OK;
}
