/* What lua/roc/tune.lua needs of roc.core: texts kept on disk, and kinds of values. */
#include <lauxlib.h>

#include "bindings/array/array_bind.h"
#include "bindings/kernel/kernel_bind.h"
#include "jit/cache.h"

/* core.cache_recall(key) -> text that an earlier process has kept, or nil */
static int cache_recall(lua_State *L) {
  size_t len;
  const char *key = luaL_checklstring(L, 1, &len);
  roc_str *text = roc_kernel_push_text(L);
  if (!roc_jit_cache_recall(key, len, text)) return 0;
  lua_pushlstring(L, roc_str_text(text), text->len);
  return 1;
}

/* core.cache_keep(key, text): where there is a cache */
static int cache_keep(lua_State *L) {
  size_t nkey, len;
  const char *key = luaL_checklstring(L, 1, &nkey), *text = luaL_checklstring(L, 2, &len);
  roc_jit_cache_keep(key, nkey, text, len);
  return 0;
}

static int is_dtype(lua_State *L) {
  roc_dtype dtype;
  luaL_checkany(L, 1);
  lua_pushboolean(L, lua_type(L, 1) == LUA_TUSERDATA && roc_test_dtype(L, 1, &dtype));
  return 1;
}

/* core.is_callable(v): a function, or a value with __call that is no kernel, which needs a
 * configuration */
static int is_callable(lua_State *L) {
  luaL_checkany(L, 1);
  bool is_kernel = luaL_testudata(L, 1, ROC_META_KERNEL) != NULL;
  bool has_call = lua_isfunction(L, 1) || luaL_getmetafield(L, 1, "__call") != LUA_TNIL;
  lua_pushboolean(L, has_call && !is_kernel);
  return 1;
}

static const luaL_Reg functions[] = {{"cache_recall", cache_recall},
                                     {"cache_keep", cache_keep},
                                     {"is_dtype", is_dtype},
                                     {"is_callable", is_callable},
                                     {NULL, NULL}};

void roc_open_tune(lua_State *L) {
  luaL_setfuncs(L, functions, 0);
}
