/* Classes, and what userdata owe the garbage collector.
 *
 * The collector sees a few hundred bytes where an array holds megabytes; roc_gc_account tells it.
 * Bytes are gathered per thread and handed over in batches, because each batch may cost a
 * collection cycle. */
#include "bindings/bind.h"

#include <limits.h>

enum { GC_BATCH_BYTES = 16 << 20 };

static _Thread_local size_t unreported_bytes;

void roc_gc_account(lua_State *L, size_t nbytes) {
  if (__builtin_add_overflow(unreported_bytes, nbytes, &unreported_bytes)) {
    unreported_bytes = SIZE_MAX;
  }
  if (unreported_bytes < GC_BATCH_BYTES || !lua_gc(L, LUA_GCISRUNNING)) return;
  size_t kbytes = unreported_bytes >> 10;
  unreported_bytes = 0;
  lua_gc(L, LUA_GCSTEP, kbytes < INT_MAX ? (int)kbytes : INT_MAX);
}

bool roc_gc_reclaim(lua_State *L) {
  /* A stopped collector is the user's will; the core has trimmed its pools already. */
  if (!lua_gc(L, LUA_GCISRUNNING)) return false;
  lua_gc(L, LUA_GCCOLLECT);
  return true;
}

bool roc_class_new(lua_State *L, const char *name, const luaL_Reg *meta) {
  if (!luaL_newmetatable(L, name)) return false;
  if (meta) luaL_setfuncs(L, meta, 0);
  return true;
}
