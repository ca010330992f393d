/* The position of a launch in the script, in memory that is never freed. */
#ifndef ROC_BINDINGS_KERNEL_PLACE_H
#define ROC_BINDINGS_KERNEL_PLACE_H

#include <lua.h>
#include <stdint.h>

/* The chunk name and line of the Lua function of the script that called the running C function; "?"
 * and 0 when there is none. Chunk names are interned, a few bytes each, and never freed: a fault
 * may be reported after the state is gone. */
const char *roc_launch_place(lua_State *L, uint32_t *out_line);

typedef struct roc_place {
  const char *file; /* as above; NULL: none */
  uint32_t line;
} roc_place;

/* Marks a chunk, by the name that debug information shows, as a part of roclua: the position of its
 * launches is that of the caller. */
void roc_place_hide(const char *name);

#endif
