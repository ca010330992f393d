/* roc.memory_info and roc.trim_memory: the memory of arrays, and cached blocks of freed ones. */
#include "bindings/device/device_bind.h"

static void set_bytes(lua_State *L, const char *name, uint64_t nbytes) {
  lua_pushinteger(L, (lua_Integer)nbytes);
  lua_setfield(L, -2, name);
}

/* roc.memory_info([device]) -> {used=, cached=, free=, total=, live=} in bytes */
static int memory_info(lua_State *L) {
  roc_rt_memory memory;
  roc_rt_device_memory(roc_opt_device(L, 1), &memory);
  lua_createtable(L, 0, 5);
  set_bytes(L, "used", memory.used);
  set_bytes(L, "cached", memory.cached);
  set_bytes(L, "free", memory.free);
  set_bytes(L, "total", memory.total);
  set_bytes(L, "live", roc_buffer_live_bytes());
  return 1;
}

/* roc.trim_memory([device]): returns the cached blocks of one device, or of all open ones, to the
 * drivers. */
static int memory_trim(lua_State *L) {
  if (lua_isnoneornil(L, 1)) {
    roc_rt_trim_all();
  } else {
    roc_rt_device_trim(roc_opt_device(L, 1));
  }
  return 0;
}

static const luaL_Reg memory_functions[] = {
    {"memory_info", memory_info}, {"trim_memory", memory_trim}, {NULL, NULL}};

void roc_open_memory(lua_State *L) {
  luaL_setfuncs(L, memory_functions, 0);
}
