/* The libraries that a program's Lua state has. */
#ifndef ROC_CLI_LIBRARIES_H
#define ROC_CLI_LIBRARIES_H

#include <lua.h>

/* Opens Lua's libraries and makes `require "roc"` work. Each program links one of two: libraries.c,
 * or src/testing with the hooks of the specs. Raises on lack of memory. */
void roc_open_libraries(lua_State *L);

#endif
