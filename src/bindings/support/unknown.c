/* What messages say of unknown names; see unknown.h. */
#include "bindings/support/unknown.h"

#include <string.h>

void roc_near_offer_keys(lua_State *L, int idx, roc_near *near) {
  idx = lua_absindex(L, idx);
  lua_pushnil(L);
  while (lua_next(L, idx)) {
    lua_pop(L, 1);
    if (lua_type(L, -1) != LUA_TSTRING) continue;
    const char *key = lua_tostring(L, -1);
    roc_near_offer(near, key, key);
  }
}

const char *roc_push_suggestion(lua_State *L, const char *advice, const roc_near *near) {
  if (advice) return lua_pushfstring(L, "; write %s", advice);
  if (near->best) return lua_pushfstring(L, "; did you mean '%s'?", near->best);
  return lua_pushliteral(L, "");
}

roc_near roc_near_to_key(lua_State *L) {
  size_t len;
  const char *name = lua_tolstring(L, 2, &len);
  return roc_near_to(name, len);
}

int roc_fail_field(lua_State *L, const char *cls, const char *advice, int methods, roc_near *near) {
  roc_near_offer_keys(L, methods, near);
  return luaL_error(L, "%s has no field '%s'%s", cls, near->name,
                    roc_push_suggestion(L, advice, near));
}

/* Upvalue 1: the class's name. */
static int missing_method(lua_State *L) {
  if (lua_type(L, 2) != LUA_TSTRING) return 0;
  roc_near near = roc_near_to_key(L);
  return roc_fail_field(L, lua_tostring(L, lua_upvalueindex(1)), NULL, 1, &near);
}

void roc_refuse_unknown(lua_State *L, const char *cls) {
  lua_createtable(L, 0, 1);
  lua_pushstring(L, cls);
  lua_pushcclosure(L, missing_method, 1);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
}

/* core.suggest("roc" | "dtype" | "rng", name, table, prefix) -> "; write …", "; did you mean 'roc.x'?", or
 * "" */
static int suggest(lua_State *L) {
  static const char *const names[] = {"dtype", "roc", "rng", NULL};
  static const roc_foreign_where places[] = {ROC_FOREIGN_DTYPE, ROC_FOREIGN_ROC, ROC_FOREIGN_RNG};
  size_t len;
  int where = roc_check_option(L, 1, NULL, names);
  const char *name = luaL_checklstring(L, 2, &len), *prefix = luaL_optstring(L, 4, "");
  luaL_checktype(L, 3, LUA_TTABLE);
  roc_near near = roc_near_to(name, len);
  roc_near_offer_keys(L, 3, &near);
  if (near.best) near.best = lua_pushfstring(L, "%s%s", prefix, near.best);
  roc_push_suggestion(L, roc_foreign_advice(places[where], name, len), &near);
  return 1;
}

void roc_open_unknown(lua_State *L) {
  lua_pushcfunction(L, suggest);
  lua_setfield(L, -2, "suggest");
}
