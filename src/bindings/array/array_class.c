/* Classes of arrays: a metatable with the methods that all arrays have and the class's own. */
#include "bindings/array/array_bind.h"

void roc_open_array_class(lua_State *L, const char *name, const luaL_Reg *meta,
                          const luaL_Reg *methods, lua_CFunction index) {
  if (roc_class_new(L, name, meta)) {
    lua_newtable(L);
    luaL_setfuncs(L, roc_array_view_methods, 0);
    luaL_setfuncs(L, methods, 0);
    lua_pushvalue(L, -1);
    lua_pushcclosure(L, index, 1);
    lua_setfield(L, -3, "__index");
    lua_setfield(L, -2, "methods");
    roc_array_note_ipairs(L);
  }
  lua_getfield(L, -1, "methods");
}
