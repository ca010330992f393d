/* Entry point of roc/core.so, the module a stock lua5.4 loads. */
#include "bindings/bind.h"

__attribute__((visibility("default"))) int luaopen_roc_core(lua_State *L);

int luaopen_roc_core(lua_State *L) { return roc_bind_open_core(L); }
