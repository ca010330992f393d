/* roc.core.testing, the part about code objects and their cache: readers fed with any bytes, and
 * counts. */
#include "base/codeobj.h"
#include "base/hash.h"
#include "bindings/kernel/kernel_bind.h"
#include "bindings/support/bind.h"
#include "jit/cache.h"
#include "testing/testing.h"

int roc_testing_push_failure(lua_State *L, const roc_error *err) {
  lua_pushnil(L);
  lua_pushstring(L, err->message);
  lua_pushstring(L, roc_status_name(err->code));
  return 3;
}

/* code_rewrite(bytes) -> a serialised code object, read and written again; nil, message, code */
static int testing_code_rewrite(lua_State *L) {
  size_t nbytes;
  const char *bytes = luaL_checklstring(L, 1, &nbytes);
  roc_codeobj *object;
  roc_error err = ROC_ERROR_INIT;
  if (roc_codeobj_read(bytes, nbytes, &object, &err) != ROC_OK)
    return roc_testing_push_failure(L, &err);
  roc_str text = ROC_STR_INIT;
  roc_codeobj_write(object, &text);
  object->free(object);
  lua_pushlstring(L, roc_str_text(&text), text.len);
  roc_str_deinit(&text);
  return 1;
}

/* code_is_unordered(code object) -> whether its workgroups may start in any order */
static int testing_code_is_unordered(lua_State *L) {
  lua_pushboolean(L, roc_check_code_object(L, 1)->is_unordered);
  return 1;
}

/* sha256(text) -> hexadecimal */
static int testing_sha256(lua_State *L) {
  size_t nbytes;
  const char *bytes = luaL_checklstring(L, 1, &nbytes);
  unsigned char digest[ROC_HASH_BYTES];
  char text[ROC_HASH_TEXT_BYTES];
  roc_hash hash;
  roc_hash_init(&hash);
  roc_hash_add(&hash, bytes, nbytes);
  roc_hash_finish(&hash, digest);
  roc_hash_text(digest, text);
  lua_pushstring(L, text);
  return 1;
}

/* cache_stats() -> hits, misses, stores, evictions of this process */
static int testing_cache_stats(lua_State *L) {
  roc_jit_cache_stats stats = roc_jit_cache_get_stats();
  lua_pushinteger(L, (lua_Integer)stats.hits);
  lua_pushinteger(L, (lua_Integer)stats.misses);
  lua_pushinteger(L, (lua_Integer)stats.stores);
  lua_pushinteger(L, (lua_Integer)stats.evictions);
  return 4;
}

static const luaL_Reg functions[] = {{"code_rewrite", testing_code_rewrite},
                                     {"code_is_unordered", testing_code_is_unordered},
                                     {"sha256", testing_sha256},
                                     {"cache_stats", testing_cache_stats},
                                     {NULL, NULL}};

void roc_testing_add_code(lua_State *L) {
  luaL_setfuncs(L, functions, 0);
}
