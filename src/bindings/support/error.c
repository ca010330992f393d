/* How failures of the core become Lua errors.
 *
 * An error value is a table {code, message, native} with the metatable roc.Error; it prints, and
 * concatenates, as its message.  A script's own mistakes (INVALID and the like) get the script's
 * position in front, as luaL_error does; messages that carry a place of their own do not. */
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

enum { SHOWN_BYTES = 60 }; /* a longer string is shown as its type */

const char *roc_push_shown(lua_State *L, int idx) {
  idx = lua_absindex(L, idx);
  int type = lua_type(L, idx);
  bool is_short = type == LUA_TNUMBER || type == LUA_TBOOLEAN || type == LUA_TNIL ||
                  (type == LUA_TSTRING && lua_rawlen(L, idx) <= SHOWN_BYTES);
  if (is_short) return luaL_tolstring(L, idx, NULL);
  int field = luaL_getmetafield(L, idx, "__name");
  if (field == LUA_TSTRING) return lua_tostring(L, -1);
  if (field != LUA_TNIL) lua_pop(L, 1);
  return lua_pushstring(L, luaL_typename(L, idx));
}

/* Pushes '"C" or "F"'. */
static const char *push_names(lua_State *L, const char *const *names) {
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  for (int i = 0; names[i]; i++) {
    if (i > 0) luaL_addstring(&text, names[i + 1] ? ", " : " or ");
    luaL_addchar(&text, '"');
    luaL_addstring(&text, names[i]);
    luaL_addchar(&text, '"');
  }
  luaL_pushresult(&text);
  return lua_tostring(L, -1);
}

int roc_check_option(lua_State *L, int arg, const char *absent, const char *const *names) {
  bool is_absent = absent && lua_isnoneornil(L, arg);
  size_t len = is_absent ? strlen(absent) : 0;
  const char *given = is_absent ? absent : NULL;
  if (lua_type(L, arg) == LUA_TSTRING) given = lua_tolstring(L, arg, &len);
  for (int i = 0; given && names[i]; i++) {
    if (strcmp(given, names[i]) == 0 && strlen(names[i]) == len) return i;
  }
  bool is_text = lua_type(L, arg) == LUA_TSTRING;
  const char *got = lua_isnone(L, arg) ? "no value" : roc_push_shown(L, arg);
  const char *quote = is_text && lua_rawequal(L, -1, arg) ? "'" : "";
  const char *why =
      lua_pushfstring(L, "%s expected, got %s%s%s", push_names(L, names), quote, got, quote);
  return luaL_argerror(L, arg, why);
}

static int error_mm_concat(lua_State *L) {
  luaL_tolstring(L, 1, NULL);
  luaL_tolstring(L, 2, NULL);
  lua_concat(L, 2);
  return 1;
}

static const luaL_Reg error_meta[] = {
    {"__tostring", error_mm_tostring}, {"__concat", error_mm_concat}, {NULL, NULL}};

/* Diagnostics and faults name the kernel's file and line; an interrupt has no place. */
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
