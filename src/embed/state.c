/* Opening roclua in a Lua state, and ending it: the functions of roclua.h that take one.
 *
 * The library never prints and never exits: what is left to say when the process ends is handed to
 * the caller. */
#include <lauxlib.h>
#include <lualib.h>

#include "base/env.h"
#include "base/library.h"
#include "bindings/device/device_bind.h"
#include "embed/embed.h"
#include "embed/fail.h"
#include "include/roclua.h"
#include "runtime/device.h"
#include "runtime/stream.h"

const char *roclua_version(void) {
  return ROCLUA_VERSION;
}

void roclua_openlibs(lua_State *L) {
  luaL_checkversion(L);
  luaL_openlibs(L);
  roc_embed_install(L, roc_embedded_files, roc_embedded_count, luaopen_roc_core);
}

void roclua_source(lua_State *L, const char *chunkname, const char *text, size_t nbytes) {
  roc_embed_push_sources(L);
  lua_pushlstring(L, text, nbytes);
  lua_setfield(L, -2, chunkname);
  lua_pop(L, 1);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  if (lua_getfield(L, -1, "roc") == LUA_TTABLE) {
    lua_getfield(L, -1, "source");
    lua_pushstring(L, chunkname);
    lua_pushlstring(L, text, nbytes);
    lua_call(L, 2, 0);
  }
  lua_pop(L, 2);
}

void roclua_ignore_environment(void) {
  roc_env_ignore_code();
}

int roclua_set_library_dir(const char *folder) {
  roc_error err = ROC_ERROR_INIT;
  if (!folder) return roc_embed_refuse("roclua_set_library_dir: folder is NULL");
  return roc_embed_code(roc_library_set_folder(folder, &err), &err);
}

void roclua_interrupt(void) {
  roc_rt_interrupt();
  roc_interrupt_sim();
}

int roclua_take_interrupt(void) {
  return roc_rt_take_interrupt();
}

int roclua_pending(char *text, size_t size) {
  return roc_rt_describe_pending(text, size);
}

static int deliver_prints(lua_State *L) {
  roc_deliver_prints(L);
  return 0;
}

int roclua_shutdown(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  roc_status status = roc_rt_shutdown(&err);
  lua_pushcfunction(L, deliver_prints);
  if (lua_pcall(L, 0, 0, 0) != LUA_OK) return 1;
  if (status == ROC_OK) return 0;
  lua_pushstring(L, err.message);
  return 1;
}
