/* What the bindings share: opening the module, raising core errors, checking arguments.
 *
 * The only layer that knows both Lua and the core.  Rule (DESIGN §5): C functions return a status, only this layer raises; no
 * core resource may be held by a C local alone while a Lua call that can throw runs. */
#ifndef ROC_BINDINGS_BIND_H
#define ROC_BINDINGS_BIND_H

#include <lauxlib.h>
#include <lua.h>

#include "base/status.h"

/* Makes the table of `roc.core` and pushes it.  May be called again in one state: types are made once. */
int roc_bind_open_core(lua_State *L);

#endif
