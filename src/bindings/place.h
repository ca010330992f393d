/* The place of a launch in the script, in memory that lasts as long as the process. */
#ifndef ROC_BINDINGS_PLACE_H
#define ROC_BINDINGS_PLACE_H

#include <lua.h>
#include <stdint.h>

/* The chunk name and line of the Lua function that called the running C function; "?" and 0 when it
 * is not Lua.  Chunk names are interned, a few bytes each, and never freed: a fault may be reported
 * after the state is gone. */
const char *roc_launch_place(lua_State *L, uint32_t *out_line);

#endif
