/* Entry point of the C module: preloaded by roclua, and all there is in roc/core.so, which a stock
 * lua5.4 loads. */
#include "bindings/bind.h"
#include "include/roclua.h"

int luaopen_roc_core(lua_State *L) {
  return roc_bind_open_core(L);
}
