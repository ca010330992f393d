/* Entry point of the C module: preloaded by roclua, and all there is in roc/core.so, which a stock
 * lua5.4 loads. */
#include "bindings/support/bind.h"
#include "embed/embed.h"
#include "include/roclua.h"

int luaopen_roc_core(lua_State *L) {
  roc_embed_install(L, NULL, 0, luaopen_roc_core); /* in roclua this was done before */
  roc_bind_open_core(L);
  roc_embed_push_globals(L);
  lua_setfield(L, -2, "library");
  return 1;
}
