/* roc.core: the private C module under lua/roc.  Opens every part (openers.def); has no functions
 * of its own. */
#include "bindings/device/device_bind.h"

typedef void (*opener)(lua_State *L);

static const opener openers[] = {
#define ROC_OPENER(name) roc_open_##name,
#include "bindings/openers.def"
#undef ROC_OPENER
};

int roc_bind_open_core(lua_State *L) {
  luaL_checkversion(L);
  roc_session(L); /* before all that has a finalizer: they run in the reverse order */
  lua_newtable(L);
  for (size_t i = 0; i < sizeof openers / sizeof *openers; i++) openers[i](L);
  return 1;
}
