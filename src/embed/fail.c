/* The last failure of each thread; see fail.h. */
#include "embed/fail.h"

#include <lauxlib.h>
#include <string.h>

#include "include/roclua.h"

#define ROC_STATUS(name, value, text, next) \
  _Static_assert((int)ROCLUA_##name == (int)ROC_##name, "roclua.h has the codes of status.def");
#include "base/status.def"
#undef ROC_STATUS

static _Thread_local char message[sizeof((roc_error *)0)->message];

const char *roclua_error(void) {
  return message;
}

int roc_embed_code(roc_status status, const roc_error *err) {
  if (status != ROC_OK) memcpy(message, err->message, sizeof message);
  return (int)status;
}

/* Message handler: errors are tables that know their text. */
static int make_text(lua_State *L) {
  luaL_tolstring(L, 1, NULL);
  return 1;
}

int roc_embed_call(lua_State *L, lua_CFunction function, void *ud, int nresults) {
  return roc_embed_call_with(L, function, ud, 0, nresults);
}

int roc_embed_call_with(lua_State *L, lua_CFunction function, void *ud, int value, int nresults) {
  roc_error err = ROC_ERROR_INIT;
  if (value) value = lua_absindex(L, value);
  if (!lua_checkstack(L, 5)) {
    return roc_embed_code(roc_fail(&err, ROC_OOM, "out of memory: the Lua stack is full"), &err);
  }
  int handler = lua_gettop(L) + 1;
  lua_pushcfunction(L, make_text);
  lua_pushcfunction(L, function);
  lua_pushlightuserdata(L, ud);
  if (value) lua_pushvalue(L, value);
  int status = lua_pcall(L, value ? 2 : 1, nresults, handler);
  lua_remove(L, handler);
  if (status == LUA_OK) return ROCLUA_OK;
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "an error without text";
  roc_fail(&err, ROC_INVALID, "%s", text);
  roc_embed_code(ROC_INVALID, &err);
  lua_pop(L, 1);
  return status == LUA_ERRMEM ? ROCLUA_OOM : ROCLUA_LUA;
}

int roc_embed_refuse(const char *format, ...) {
  roc_error err = ROC_ERROR_INIT;
  va_list args;
  va_start(args, format);
  roc_failv(&err, ROC_INVALID, format, args);
  va_end(args);
  return roc_embed_code(ROC_INVALID, &err);
}
