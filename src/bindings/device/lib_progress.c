/* Progress of long work done in Lua: `local line <close> = core.progress "tune"`. */
#include "bindings/device/device_bind.h"
#include "runtime/progress.h"

#define META_PROGRESS "roc.Progress"

/* work:step(done, total, what): step `done` + 1 of `total` begins. */
static int progress_m_step(lua_State *L) {
  roc_rt_progress *work = luaL_checkudata(L, 1, META_PROGRESS);
  lua_pushfstring(L, "%I of %I: %s", (LUAI_UACINT)luaL_checkinteger(L, 2) + 1,
                  (LUAI_UACINT)luaL_checkinteger(L, 3), luaL_checkstring(L, 4));
  roc_rt_progress_say(work, lua_tostring(L, -1));
  return 0;
}

static int progress_mm_close(lua_State *L) {
  roc_rt_progress_end(luaL_checkudata(L, 1, META_PROGRESS));
  return 0;
}

static const luaL_Reg progress_methods[] = {{"step", progress_m_step}, {NULL, NULL}};
static const luaL_Reg progress_meta[] = {
    {"__close", progress_mm_close}, {"__gc", progress_mm_close}, {NULL, NULL}};

/* progress(title): to be closed when the work is complete, or has failed. */
static int core_progress(lua_State *L) {
  const char *title = luaL_checkstring(L, 1);
  roc_rt_session *session = roc_session(L);
  roc_rt_progress *work = lua_newuserdatauv(L, sizeof *work, 0);
  *work = (roc_rt_progress){0};
  luaL_setmetatable(L, META_PROGRESS);
  roc_rt_progress_begin(work, session, title);
  return 1;
}

/* core.progress */
void roc_open_progress(lua_State *L) {
  if (roc_class_new(L, META_PROGRESS, progress_meta)) {
    luaL_newlib(L, progress_methods);
    lua_setfield(L, -2, "__index");
  }
  lua_pop(L, 1);
  lua_pushcfunction(L, core_progress);
  lua_setfield(L, -2, "progress");
}
