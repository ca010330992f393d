/* The libraries of a program without the hooks of the specs; see libraries.h. */
#include "cli/libraries.h"

#include "include/roclua.h"

void roc_open_libraries(lua_State *L) {
  roclua_openlibs(L);
}
