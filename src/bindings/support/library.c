/* Lua's libraries for roclua's own Lua files, independent of what a script changes in its own.
 *
 * Scripts replace globals and fields of libraries, to catch output, to forbid calls, or by
 * accident: `type = "disk"`.  So the files have a table of globals of their own.  It is filled from
 * a new Lua state: Lua's functions are C functions without state, so those of one Lua state work in
 * another, and changes that a script made before it required roc cannot affect them.  The few
 * functions with upvalues (math.random) and values that belong to a state (io.stdout) are left
 * out. */
#include <lualib.h>

#include "bindings/support/bind.h"

static const char library_key; /* its address is the registry key of a state's table */

static const luaL_Reg libraries[] = {
    {LUA_GNAME, luaopen_base},       {LUA_COLIBNAME, luaopen_coroutine},
    {LUA_TABLIBNAME, luaopen_table}, {LUA_IOLIBNAME, luaopen_io},
    {LUA_OSLIBNAME, luaopen_os},     {LUA_STRLIBNAME, luaopen_string},
    {LUA_MATHLIBNAME, luaopen_math}, {LUA_UTF8LIBNAME, luaopen_utf8},
    {LUA_DBLIBNAME, luaopen_debug}};

static int open_libraries(lua_State *fresh) {
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
    luaL_requiref(fresh, libraries[i].name, libraries[i].func, 1);
    lua_pop(fresh, 1);
  }
  lua_pushglobaltable(fresh);
  return 1;
}

/* Pushes a copy of the value on top of the other state's stack; false: there is none. */
static bool copy_value(lua_State *L, lua_State *fresh) {
  switch (lua_type(fresh, -1)) {
    case LUA_TNUMBER:
      if (lua_isinteger(fresh, -1)) {
        lua_pushinteger(L, lua_tointeger(fresh, -1));
      } else {
        lua_pushnumber(L, lua_tonumber(fresh, -1));
      }
      return true;
    case LUA_TSTRING: {
      size_t len;
      const char *text = lua_tolstring(fresh, -1, &len);
      lua_pushlstring(L, text, len);
      return true;
    }
    case LUA_TFUNCTION:
      if (lua_getupvalue(fresh, -1, 1)) {
        lua_pop(fresh, 1);
        return false;
      }
      lua_pushcfunction(L, lua_tocfunction(fresh, -1));
      return true;
    default: return false;
  }
}

/* Copies what the table on top of the other state's stack holds into the one on top of this. */
static void copy_fields(lua_State *L, lua_State *fresh) {
  for (lua_pushnil(fresh); lua_next(fresh, -2); lua_pop(fresh, 1)) {
    if (copy_value(L, fresh)) lua_setfield(L, -2, lua_tostring(fresh, -2));
  }
}

/* (light userdata: the fresh state, its globals on its stack) -> the table */
static int fill_library(lua_State *L) {
  lua_State *fresh = lua_touserdata(L, 1);
  lua_newtable(L);
  copy_fields(L, fresh);
  for (size_t i = 1; i < sizeof libraries / sizeof *libraries; i++) {
    lua_getfield(fresh, -1, libraries[i].name);
    lua_newtable(L);
    copy_fields(L, fresh);
    lua_setfield(L, -2, libraries[i].name);
    lua_pop(fresh, 1);
  }
  lua_pushglobaltable(L);
  lua_setfield(L, -2, LUA_GNAME);
  return 1;
}

/* Pushes a new table, or an error. */
static int make_library(lua_State *L) {
  void *allocator_data;
  lua_Alloc allocate = lua_getallocf(L, &allocator_data);
  lua_State *fresh = lua_newstate(allocate, allocator_data);
  int status = LUA_ERRMEM;
  if (fresh) {
    lua_pushcfunction(fresh, open_libraries);
    status = lua_pcall(fresh, 0, 1, 0);
  }
  if (status == LUA_OK) {
    lua_pushcfunction(L, fill_library);
    lua_pushlightuserdata(L, fresh);
    status = lua_pcall(L, 1, 1, 0);
  } else {
    lua_pushliteral(L, "not enough memory for a copy of Lua's libraries");
  }
  if (fresh) lua_close(fresh);
  return status;
}

void roc_push_library(lua_State *L) {
  luaL_checkstack(L, 6, NULL);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &library_key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  if (make_library(L) != LUA_OK) lua_error(L);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &library_key);
}

void roc_push_print(lua_State *L) {
  if (lua_getglobal(L, "print") != LUA_TNIL) return;
  lua_pop(L, 1);
  roc_push_library(L);
  lua_getfield(L, -1, "print");
  lua_remove(L, -2);
}
