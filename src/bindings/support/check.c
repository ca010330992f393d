/* Argument checks with public names; see check.h.  The words are those of Lua's lauxlib. */
#include "bindings/support/check.h"

#include <stdbool.h>
#include <string.h>

#include "bindings/support/bind.h"

/* Its address is the registry key of the table that gives functions their names: "roc.zeros" for
 * one of the module, "reshape" for a method, "__len" for a metamethod. */
static const char names_key;

static void push_names(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &names_key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &names_key);
}

/* Names the functions of the table at `idx` by their keys, and those of the tables in it. */
static void name_functions(lua_State *L, int idx, const char *prefix, int depth) {
  luaL_checkstack(L, 8, NULL);
  idx = lua_absindex(L, idx);
  push_names(L);
  int names = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, idx)) {
    bool is_named = lua_type(L, -2) == LUA_TSTRING;
    if (is_named && lua_isfunction(L, -1)) {
      lua_pushfstring(L, "%s%s", prefix, lua_tostring(L, -2));
      lua_rawset(L, names);
    } else if (is_named && lua_istable(L, -1) && depth > 0) {
      const char *inner = lua_pushfstring(L, "%s%s.", prefix, lua_tostring(L, -2));
      name_functions(L, -2, inner, depth - 1);
      lua_pop(L, 2);
    } else {
      lua_pop(L, 1);
    }
  }
  lua_pop(L, 1);
}

/* core.name_functions(prefix, table): those of tables in it as well */
static int name_table(lua_State *L) {
  const char *prefix = luaL_checkstring(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  name_functions(L, 2, prefix, 1);
  return 0;
}

/* The class whose metatable is on top: its metamethods, and then its methods, which may be the same
 * functions. */
static void name_class(lua_State *L) {
  name_functions(L, -1, "", 0);
  int kind = lua_getfield(L, -1, "__index");
  if (kind == LUA_TFUNCTION && lua_getupvalue(L, -1, 1)) lua_remove(L, -2); /* the methods */
  if (lua_istable(L, -1)) name_functions(L, -1, "", 0);
  lua_pop(L, 1);
}

void roc_open_check(lua_State *L) {
  push_names(L); /* makes it first: the registry must not grow during the traversal */
  lua_pop(L, 1);
  lua_pushnil(L);
  while (lua_next(L, LUA_REGISTRYINDEX)) {
    bool is_ours = lua_type(L, -2) == LUA_TSTRING && strncmp(lua_tostring(L, -2), "roc.", 4) == 0;
    if (is_ours && lua_istable(L, -1)) name_class(L);
    lua_pop(L, 1);
  }
  lua_pushcfunction(L, name_table);
  lua_setfield(L, -2, "name_functions");
}

/* ---- messages ---------------------------------------------------------------------------- */

/* Pushes the running function's public name, or nil. */
static const char *push_public_name(lua_State *L, lua_Debug *ar) {
  lua_getinfo(L, "nf", ar);
  push_names(L);
  lua_insert(L, -2);
  lua_rawget(L, -2);
  lua_remove(L, -2);
  return lua_tostring(L, -1);
}

static const char *last_part(const char *name) {
  const char *dot = strrchr(name, '.');
  return dot ? dot + 1 : name;
}

/* When the script calls it by the last part of its name, that part, as Lua's own library does. */
static const char *shown_name(const lua_Debug *ar, const char *public_name) {
  if (!public_name) return ar->name ? ar->name : "a function of roc";
  bool is_called_so = ar->name && strcmp(ar->name, last_part(public_name)) == 0;
  return is_called_so ? ar->name : public_name;
}

const char *roc_push_function_name(lua_State *L) {
  lua_Debug ar;
  if (!lua_getstack(L, 0, &ar)) return lua_pushliteral(L, "a function of roc");
  const char *name = shown_name(&ar, push_public_name(L, &ar));
  lua_pushstring(L, name);
  lua_remove(L, -2);
  return lua_tostring(L, -1);
}

const char *roc_push_type_name(lua_State *L, int idx) {
  int field = luaL_getmetafield(L, idx, "__name");
  if (field == LUA_TSTRING) return lua_tostring(L, -1);
  if (field != LUA_TNIL) lua_pop(L, 1);
  bool is_light = lua_type(L, idx) == LUA_TLIGHTUSERDATA;
  return lua_pushstring(L, is_light ? "light userdata" : luaL_typename(L, idx));
}

enum { SHOWN_BYTES = 60 }; /* a longer string is shown as its type */

const char *roc_push_shown(lua_State *L, int idx) {
  idx = lua_absindex(L, idx);
  int type = lua_type(L, idx);
  bool is_short = type == LUA_TNUMBER || type == LUA_TBOOLEAN || type == LUA_TNIL ||
                  (type == LUA_TSTRING && lua_rawlen(L, idx) <= SHOWN_BYTES);
  if (is_short) return luaL_tolstring(L, idx, NULL);
  return roc_push_type_name(L, idx);
}

/* "read field 'shape'", with the key at stack index 2; pushed. */
static const char *push_keyed_deed(lua_State *L, const char *verb) {
  if (lua_type(L, 2) == LUA_TSTRING) {
    return lua_pushfstring(L, "%s field '%s'", verb, lua_tostring(L, 2));
  }
  return lua_pushfstring(L, "%s element %s", verb,
                         lua_isnone(L, 2) ? "(none)" : roc_push_shown(L, 2));
}

/* The operation of the script that runs the metamethod, for messages; may push. */
static const char *deed_of(lua_State *L, const char *metamethod) {
  static const char *const deeds[][2] = {{"__len", "take the length"},
                                         {"__call", "call it"},
                                         {"__pairs", "walk over the elements"},
                                         {"__eq", "compare it"},
                                         {"__tostring", "make text of it"},
                                         {"__close", "close it"},
                                         {"__concat", "join it"},
                                         {"__gc", "collect it"}};
  if (strcmp(metamethod, "__index") == 0) return push_keyed_deed(L, "read");
  if (strcmp(metamethod, "__newindex") == 0) return push_keyed_deed(L, "assign to");
  for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++) {
    if (strcmp(deeds[i][0], metamethod) == 0) return deeds[i][1];
  }
  return NULL;
}

int roc_arg_error(lua_State *L, int arg, const char *why) {
  lua_Debug ar;
  luaL_checkstack(L, 8, NULL);
  if (!lua_getstack(L, 0, &ar)) return luaL_error(L, "bad argument #%d (%s)", arg, why);
  const char *public_name = push_public_name(L, &ar);
  const char *deed = public_name ? deed_of(L, public_name) : NULL;
  if (deed) return luaL_error(L, "cannot %s: %s", deed, why);
  const char *name = shown_name(&ar, public_name);
  if (strcmp(ar.namewhat, "method") == 0 && --arg == 0) { /* the value before the colon */
    return luaL_error(L, "calling '%s' on bad self (%s)", name, why);
  }
  return luaL_error(L, "bad argument #%d to '%s' (%s)", arg, name, why);
}

/* ---- checks ------------------------------------------------------------------------------ */

int roc_type_error(lua_State *L, int arg, const char *expected) {
  const char *got = roc_push_type_name(L, arg);
  return roc_arg_error(L, arg, lua_pushfstring(L, "%s expected, got %s", expected, got));
}

void roc_check_any(lua_State *L, int arg) {
  if (lua_type(L, arg) == LUA_TNONE) roc_arg_error(L, arg, "value expected");
}

void roc_check_type(lua_State *L, int arg, int type) {
  if (lua_type(L, arg) != type) roc_type_error(L, arg, lua_typename(L, type));
}

lua_Integer roc_check_integer(lua_State *L, int arg) {
  int is_integer;
  lua_Integer value = lua_tointegerx(L, arg, &is_integer);
  if (is_integer) return value;
  if (lua_isnumber(L, arg)) roc_arg_error(L, arg, "number has no integer representation");
  roc_type_error(L, arg, "number");
  return 0;
}

lua_Integer roc_opt_integer(lua_State *L, int arg, lua_Integer absent) {
  return lua_isnoneornil(L, arg) ? absent : roc_check_integer(L, arg);
}

lua_Number roc_check_number(lua_State *L, int arg) {
  int is_number;
  lua_Number value = lua_tonumberx(L, arg, &is_number);
  if (!is_number) roc_type_error(L, arg, "number");
  return value;
}

lua_Number roc_opt_number(lua_State *L, int arg, lua_Number absent) {
  return lua_isnoneornil(L, arg) ? absent : roc_check_number(L, arg);
}

const char *roc_check_lstring(lua_State *L, int arg, size_t *len) {
  const char *text = lua_tolstring(L, arg, len);
  if (!text) roc_type_error(L, arg, "string");
  return text;
}

const char *roc_opt_lstring(lua_State *L, int arg, const char *absent, size_t *len) {
  if (!lua_isnoneornil(L, arg)) return roc_check_lstring(L, arg, len);
  if (len) *len = absent ? strlen(absent) : 0;
  return absent;
}

void *roc_check_udata(lua_State *L, int arg, const char *metatable) {
  void *box = luaL_testudata(L, arg, metatable);
  if (!box) roc_type_error(L, arg, metatable);
  return box;
}

/* Pushes '"C" or "F"'. */
static const char *push_options(lua_State *L, const char *const *names) {
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
      lua_pushfstring(L, "%s expected, got %s%s%s", push_options(L, names), quote, got, quote);
  return luaL_argerror(L, arg, why);
}
