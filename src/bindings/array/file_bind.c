/* What the formats of files share; see file_bind.h. */
#include "bindings/array/file_bind.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "bindings/array/array_bind.h"
#include "bindings/device/device_bind.h"

bool roc_path_ends_with(const char *path, const char *ending) {
  size_t len = strlen(path), size = strlen(ending);
  return len > size && strcasecmp(path + len - size, ending) == 0;
}

const roc_array *roc_check_saved(lua_State *L, int arg) {
  roc_fetch_device_array(L, arg);
  const roc_array *a = roc_check_array(L, arg);
  roc_array_sync(L, a, false);
  roc_array *kept = roc_push_array(L, &roc_host_array_class);
  roc_buffer_retain(a->buffer);
  *kept = *a;
  lua_replace(L, arg);
  return kept;
}

int roc_check_file_progress(lua_State *L, int arg) {
  if (!lua_istable(L, arg)) {
    lua_pushnil(L);
    return 0;
  }
  lua_pushliteral(L, "progress");
  lua_rawget(L, arg);
  luaL_argcheck(L, lua_isnil(L, -1) || lua_isfunction(L, -1), arg, "progress must be a function");
  return lua_isnil(L, -1) ? 0 : lua_gettop(L);
}

static bool tell(void *ud, uint64_t done, uint64_t total) {
  roc_file_work *work = ud;
  lua_State *L = work->L;
  if (work->has_raised) return false; /* a library may go on after a failed write */
  if (!lua_checkstack(L, LUA_MINSTACK)) return true;
  lua_pushvalue(L, work->function);
  lua_pushinteger(L, (lua_Integer)done);
  if (total == UINT64_MAX) {
    lua_pushnil(L);
  } else {
    lua_pushinteger(L, (lua_Integer)total);
  }
  work->has_raised = lua_pcall(L, 2, 0, 0) != LUA_OK;
  return !work->has_raised;
}

void roc_begin_file(lua_State *L, roc_file_work *work, const char *verb, const char *path,
                    int function) {
  char title[ROC_RT_PROGRESS_TITLE_BYTES];
  const char *slash = strrchr(path, '/');
  snprintf(title, sizeof title, "%s %s", verb, slash ? slash + 1 : path);
  *work = (roc_file_work){.L = L, .function = function};
  roc_rt_progress_begin(&work->progress, roc_session(L), title);
  work->progress.tell = function ? tell : NULL;
  work->progress.tell_ud = work;
}

void roc_check_file(lua_State *L, const roc_file_work *work, roc_status status,
                    const roc_error *err) {
  if (work->has_raised) lua_error(L);
  ROC_LUA_TRY(L, status, err);
}

void roc_end_file(lua_State *L, roc_file_work *work, roc_status status, const roc_error *err) {
  roc_rt_progress_end(&work->progress);
  roc_check_file(L, work, status, err);
}
