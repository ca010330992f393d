/* Classes, and what the garbage collector is told about the memory of userdata.
 *
 * The collector counts a few hundred bytes for an array of megabytes; roc_gc_account tells it the
 * rest.  Bytes are summed per thread and reported in batches, because each batch may cost a
 * collection cycle.  A batch is half of the live bytes: so garbage stays a fraction of what the
 * script keeps, and a script that keeps much does not run the collector all the time. */
#include "bindings/support/bind.h"

#include <limits.h>

#include "runtime/buffer.h"
#include "runtime/device.h"

enum { GC_BATCH_BYTES = 16 << 20 };

static _Thread_local size_t unreported_bytes;
static _Thread_local size_t batch_bytes = GC_BATCH_BYTES;
static _Thread_local size_t least_live_bytes; /* the smallest value observed */

/* A step accounts for the batch.  In generational mode it visits young objects only, so arrays that
 * became old before they were dropped need a full cycle now and then. */
static void collect_batch(lua_State *L, size_t nbytes) {
  size_t kbytes = nbytes >> 10;
  lua_gc(L, LUA_GCSTEP, kbytes < INT_MAX ? (int)kbytes : INT_MAX);
  size_t live = roc_buffer_live_bytes();
  if (live / 2 > least_live_bytes + GC_BATCH_BYTES) {
    lua_gc(L, LUA_GCCOLLECT);
    live = least_live_bytes = roc_buffer_live_bytes();
  }
  if (live < least_live_bytes) least_live_bytes = live;
  batch_bytes = live / 2 > GC_BATCH_BYTES ? live / 2 : GC_BATCH_BYTES;
}

void roc_gc_account(lua_State *L, size_t nbytes) {
  if (__builtin_add_overflow(unreported_bytes, nbytes, &unreported_bytes)) {
    unreported_bytes = SIZE_MAX;
  }
  if (unreported_bytes < batch_bytes || !lua_gc(L, LUA_GCISRUNNING)) return;
  size_t batch = unreported_bytes;
  unreported_bytes = 0;
  collect_batch(L, batch);
}

bool roc_gc_reclaim(lua_State *L) {
  /* The user has stopped the collector: only cached blocks are returned. */
  bool is_running = lua_gc(L, LUA_GCISRUNNING);
  if (is_running) lua_gc(L, LUA_GCCOLLECT);
  return roc_rt_trim_all() > 0 || is_running;
}

bool roc_class_new(lua_State *L, const char *name, const luaL_Reg *meta) {
  if (!luaL_newmetatable(L, name)) return false;
  if (meta) luaL_setfuncs(L, meta, 0);
  return true;
}
