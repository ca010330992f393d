/* Entry point of the C module roc.core: preloaded by roclua_openlibs, and what a stock lua5.4 finds
 * through roc/core.so. */
#include "base/sole.h"
#include "bindings/support/bind.h"
#include "embed/embed.h"
#include "include/roclua.h"

int luaopen_roc_core(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  luaL_checkversion(L);
  ROC_LUA_TRY(L, roc_sole_claim(&err), &err);
  roc_embed_install(L, NULL, 0, luaopen_roc_core); /* in roclua this was done before */
  roc_bind_open_core(L);
  roc_embed_push_globals(L);
  lua_setfield(L, -2, "library");
  return 1;
}
