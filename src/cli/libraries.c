/* The libraries of a program without the hooks of the specs; see libraries.h. */
#include "cli/libraries.h"

#include <lauxlib.h>

#include "include/roclua.h"

void roc_open_libraries(lua_State *L) {
  if (roclua_openlibs(L) != ROCLUA_OK) luaL_error(L, "%s", roclua_error());
}
