/* How failures of the core become Lua errors.
 *
 * An error value is a table {code, message, native} with the metatable roc.Error; it prints, and
 * concatenates, as its message.  Errors of the script (INVALID and the like) begin with the
 * script's position, as with luaL_error; messages with a position of their own do not. */
#include "bindings/support/bind.h"

#include <string.h>

static int error_mm_tostring(lua_State *L) {
  lua_settop(L, 1);
  if (lua_istable(L, 1)) {
    lua_getfield(L, 1, "message");
  }
  luaL_tolstring(L, -1, NULL);
  return 1;
}

static int error_mm_concat(lua_State *L) {
  luaL_tolstring(L, 1, NULL);
  luaL_tolstring(L, 2, NULL);
  lua_concat(L, 2);
  return 1;
}

static const luaL_Reg error_meta[] = {
    {"__tostring", error_mm_tostring}, {"__concat", error_mm_concat}, {NULL, NULL}};

/* Diagnostics and faults name the kernel's file and line; an interrupt has no position. */
static bool has_own_place(roc_status code) {
  return code == ROC_COMPILE || code == ROC_FAULT || code == ROC_LOST || code == ROC_INTERRUPTED;
}

int roc_lua_raise(lua_State *L, const roc_error *err) {
  return roc_lua_raise_text(L, err, err->message);
}

int roc_lua_raise_named(lua_State *L, const roc_error *err) {
  if (err->code != ROC_OOM) return roc_lua_raise(L, err);
  const char *text = lua_pushfstring(L, "%s (in '%s')", err->message, roc_push_function_name(L));
  return roc_lua_raise_text(L, err, text);
}

int roc_lua_raise_text(lua_State *L, const roc_error *err, const char *message) {
  luaL_checkstack(L, 6, "too little stack to report an error");
  lua_createtable(L, 0, 3);
  if (has_own_place(err->code)) {
    lua_pushliteral(L, "");
  } else {
    luaL_where(L, 1);
  }
  lua_pushstring(L, message);
  lua_concat(L, 2);
  lua_setfield(L, -2, "message");
  lua_pushstring(L, roc_status_name(err->code));
  lua_setfield(L, -2, "code");
  if (err->native != 0) {
    lua_pushinteger(L, err->native);
    lua_setfield(L, -2, "native");
  }
  roc_class_new(L, "roc.Error", error_meta);
  lua_setmetatable(L, -2);
  return lua_error(L);
}
