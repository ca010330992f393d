/* roc.core: the private C module under lua/roc.  Opens every class; has no functions of its own. */
#include "bindings/bind.h"

int roc_bind_open_core(lua_State *L) {
  lua_newtable(L);
  return 1;
}
