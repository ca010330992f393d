/* Opening roclua in a Lua state, interrupting and closing it, and the end of the process.
 *
 * The library never prints and never exits: what is left to say at the end is handed to the
 * caller. */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>

#include "base/env.h"
#include "base/library.h"
#include "bindings/device/device_bind.h"
#include "bindings/expression/expression.h"
#include "embed/embed.h"
#include "embed/fail.h"
#include "embed/handle.h"
#include "include/roclua.h"
#include "runtime/device.h"
#include "runtime/session.h"

const char *roclua_version(void) {
  return ROCLUA_VERSION;
}

int roclua_components(char *text, size_t size) {
  roc_error err = ROC_ERROR_INIT;
  char driver[1024];
  if (!text || size == 0) return roc_embed_refuse("roclua_components: no room for the text");
  if (roc_rt_check_open(&err) != ROC_OK) return roc_embed_code(err.code, &err);
  size_t used = (size_t)snprintf(text, size, "LLVM %s\n", ROCLUA_LLVM_VERSION);
  for (uint32_t i = 0; used < size && roc_rt_describe_driver(i, driver, sizeof driver); i++) {
    used += (size_t)snprintf(text + used, size - used, "%s\n", driver);
  }
  return ROCLUA_OK;
}

static int open_libraries(lua_State *L) {
  luaL_checkversion(L);
  luaL_openlibs(L);
  roc_session(L);
  roc_embed_install(L, roc_embedded_files, roc_embedded_count, luaopen_roc_core);
  return 0;
}

int roclua_openlibs(lua_State *L) {
  if (!L) return roc_embed_refuse("roclua_openlibs: the state is NULL");
  return roc_embed_call(L, open_libraries, NULL, 0);
}

typedef struct source {
  const char *chunkname, *text;
  size_t nbytes;
} source;

static int tell_source(lua_State *L) {
  const source *s = lua_touserdata(L, 1);
  roc_embed_push_sources(L);
  lua_pushlstring(L, s->text, s->nbytes);
  lua_setfield(L, -2, s->chunkname);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  if (lua_getfield(L, -1, "roc") == LUA_TTABLE) {
    lua_getfield(L, -1, "source");
    lua_pushstring(L, s->chunkname);
    lua_pushlstring(L, s->text, s->nbytes);
    lua_call(L, 2, 0);
  }
  return 0;
}

int roclua_source(lua_State *L, const char *chunkname, const char *text, size_t nbytes) {
  if (!L || !chunkname || (!text && nbytes > 0)) {
    return roc_embed_refuse("roclua_source: %s is NULL", !L          ? "the state"
                                                         : chunkname ? "text"
                                                                     : "chunkname");
  }
  return roc_embed_call(L, tell_source, &(source){chunkname, text, nbytes}, 0);
}

void roclua_ignore_environment(void) {
  roc_env_ignore_code();
}

int roclua_set_library_dir(const char *folder) {
  roc_error err = ROC_ERROR_INIT;
  if (!folder) return roc_embed_refuse("roclua_set_library_dir: folder is NULL");
  return roc_embed_code(roc_library_set_folder(folder, &err), &err);
}

int roclua_interrupt(lua_State *L) {
  roc_interrupt_sim(L);
  return roc_rt_interrupt(L) ? ROCLUA_OK : ROCLUA_INVALID;
}

int roclua_take_interrupt(lua_State *L) {
  return roc_rt_take_interrupt_of(L);
}

int roclua_pending(char *text, size_t size) {
  return text && size > 0 && roc_rt_describe_pending(text, size);
}

/* What the state's kernels still had to say, and its callbacks. */
static int deliver_all(lua_State *L) {
  roc_deliver_prints(L);
  roc_deliver_callbacks(L);
  return 0;
}

/* (light userdata: where the session goes): that of the state, NULL when it has none. */
static int find_session(lua_State *L) {
  *(roc_rt_session **)lua_touserdata(L, 1) = roc_get_session(L);
  return 0;
}

/* Finalizers may look at arrays that are still to be computed, when no work is taken any more. */
static int finish_expressions(lua_State *L) {
  if (roc_expression_count() == 0) return 0;
  lua_gc(L, LUA_GCCOLLECT); /* garbage need not be computed */
  roc_expression_finish(L);
  return 0;
}

int roclua_close(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  roc_rt_session *session = NULL;
  if (!L) return roc_embed_refuse("roclua_close: the state is NULL");
  int code = roc_embed_call(L, find_session, &session, 0);
  if (!session) return code; /* OK: nothing of roclua was opened there */
  roc_embed_call(L, finish_expressions, NULL, 0);
  roc_status status = roc_rt_session_finish(session, &err);
  code = roc_embed_call(L, deliver_all, NULL, 0);
  return status == ROC_OK ? code : roc_embed_code(status, &err);
}

int roclua_shutdown(void) {
  roc_error err = ROC_ERROR_INIT;
  roc_status status = roc_rt_shutdown(&err);
  roc_embed_deliver_prints();
  return roc_embed_code(status, &err);
}
