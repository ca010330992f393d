/* Finds roclua's Lua files for `require`: built into the program, or below ROCLUA_LUA_DIR.
 *
 * A searcher beside Lua's own, so that a start of the program loads none of them.  It also tells
 * roc the texts of chunks that no file holds: those of built-in kernels when their module is
 * loaded, those of prompts when roc is. Invariant: with a built-in `roc`, no file of another
 * installation is mixed in: this searcher comes before the path's. */
#include "embed/embed.h"

#include <lauxlib.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "include/roclua.h"

#define KERNELS_PREFIX "roc.kernels."
#define DIR_VARIABLE "ROCLUA_LUA_DIR"

static const char sources_key = 0;

void roc_embed_push_sources(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &sources_key) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &sources_key);
  }
}

static int compare_module(const void *name, const void *entry) {
  return strcmp(name, ((const roc_embedded *)entry)->module);
}

static const roc_embedded *find_embedded(const char *module) {
  return bsearch(module, roc_embedded_files, roc_embedded_count, sizeof *roc_embedded_files,
                 compare_module);
}

/* Calls roc.source(chunkname, text), both on the top of the stack in this order; pops them. */
static void tell_roc(lua_State *L, int roc) {
  lua_getfield(L, roc, "source");
  lua_insert(L, -3);
  lua_call(L, 2, 0);
}

/* Loader of "roc": runs the chunk in the first upvalue, then tells it all texts known by now. */
static int load_roc(lua_State *L) {
  lua_settop(L, 2);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 2, 1);
  roc_embed_push_sources(L);
  lua_pushnil(L);
  while (lua_next(L, 2)) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    tell_roc(L, 1);
  }
  lua_settop(L, 1);
  return 1;
}

/* Loader of a built-in kernel module: tells roc the text (second and third upvalue), then runs the
 * chunk. */
static int load_kernels(lua_State *L) {
  lua_settop(L, 2);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "roc");
  lua_call(L, 1, 1);
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_pushvalue(L, lua_upvalueindex(3));
  tell_roc(L, 3);
  lua_settop(L, 2);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 2, 1);
  return 1;
}

/* Pushes the chunk of a module below the directory in the second upvalue, and its file name. False:
 * there is none. */
static bool load_from_dir(lua_State *L, const char *module) {
  lua_getfield(L, lua_upvalueindex(1), "searchpath");
  lua_pushvalue(L, 1);
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_call(L, 2, 1);
  const char *file = lua_tostring(L, -1);
  if (file == NULL) {
    return false;
  }
  if (luaL_loadfile(L, file) != LUA_OK) {
    luaL_error(L, "error loading module '%s' from file '%s':\n\t%s", module, file,
               lua_tostring(L, -1));
  }
  lua_insert(L, -2);
  return true;
}

static bool load_embedded(lua_State *L, const char *module) {
  const roc_embedded *entry = find_embedded(module);
  if (entry == NULL) {
    return false;
  }
  const char *text = (const char *)entry->text;
  if (luaL_loadbufferx(L, text, entry->nbytes, entry->chunkname, "t") != LUA_OK) {
    luaL_error(L, "error loading built-in module '%s':\n\t%s", module, lua_tostring(L, -1));
  }
  if (strncmp(module, KERNELS_PREFIX, strlen(KERNELS_PREFIX)) == 0) {
    lua_pushstring(L, entry->chunkname);
    lua_pushlstring(L, text, entry->nbytes);
    lua_pushcclosure(L, load_kernels, 3);
  }
  lua_pushstring(L, entry->chunkname + 1);
  return true;
}

/* The searcher: (module name) -> loader, where it was found; or a message for require's error. */
static int search_embedded(lua_State *L) {
  const char *module = luaL_checkstring(L, 1);
  lua_settop(L, 1);
  bool from_dir = lua_toboolean(L, lua_upvalueindex(2));
  if (!(from_dir ? load_from_dir(L, module) : load_embedded(L, module))) {
    if (from_dir) {
      lua_pushfstring(L, "no module '%s' in " DIR_VARIABLE " ('%s')", module, getenv(DIR_VARIABLE));
    } else {
      lua_pushfstring(L, "no built-in module '%s'", module);
    }
    return 1;
  }
  if (strcmp(module, "roc") == 0) {
    lua_insert(L, -2);
    lua_pushcclosure(L, load_roc, 1);
    lua_insert(L, -2);
  }
  return 2;
}

/* Pushes the path template of ROCLUA_LUA_DIR, or false. */
static void push_dir_template(lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
  bool ignores_env = lua_toboolean(L, -1);
  lua_pop(L, 1);
  const char *dir = ignores_env ? NULL : getenv(DIR_VARIABLE);
  if (dir == NULL || dir[0] == '\0') {
    lua_pushboolean(L, 0);
    return;
  }
  lua_pushfstring(L, "%s/?.lua;%s/?/init.lua", dir, dir);
}

void roc_embed_install(lua_State *L) {
  lua_getglobal(L, "table");
  lua_getfield(L, -1, "insert");
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "searchers");
  lua_insert(L, -2);
  push_dir_template(L);
  lua_pushcclosure(L, search_embedded, 2);
  lua_pushinteger(L, 2);
  lua_insert(L, -2);
  lua_call(L, 3, 0);
  lua_pop(L, 1);
}
