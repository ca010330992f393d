/* Finds roclua's Lua files for `require`: built into the program, or below ROCLUA_LUA_DIR; for a
 * stock lua5.4, along package.path.
 *
 * A searcher beside Lua's own, so that a start of the program loads none of them.  It speaks of
 * `roc` and its parts alone.  It also tells roc the texts of chunks that no file holds: those of
 * built-in kernels when their module is loaded, those of prompts when roc is. Invariants: with a
 * built-in `roc`, no file of another installation is mixed in: this searcher comes before the
 * path's.  A file's globals are roc_push_library's, so that what a script does to its own, to
 * `require` or to package changes nothing in roc, also where a file is first loaded afterwards. */
#include "embed/embed.h"

#include <lauxlib.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/support/bind.h"

#define PREFIX "roc."
#define KERNELS_PREFIX "roc.kernels."
#define DOCS_PREFIX "roc.docs" /* and what is below it */
#define DIR_VARIABLE "ROCLUA_LUA_DIR"

/* Upvalues of the searcher. */
enum {
  UV_FILES = lua_upvalueindex(1),      /* const roc_embedded *, or NULL */
  UV_COUNT = lua_upvalueindex(2),      /* how many */
  UV_TEMPLATE = lua_upvalueindex(3),   /* path to search instead, or false */
  UV_SEARCHPATH = lua_upvalueindex(4), /* package.searchpath */
};

static const char searcher_key = 0; /* its address is the registry key of a state's searcher */
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

static const roc_embedded *find_embedded(lua_State *L, const char *module) {
  const roc_embedded *files = lua_touserdata(L, UV_FILES);
  size_t count = (size_t)lua_tointeger(L, UV_COUNT);
  return files ? bsearch(module, files, count, sizeof *files, compare_module) : NULL;
}

/* Pushes what has been loaded under the name; false, and nothing pushed, when nothing was. */
static bool push_loaded(lua_State *L, const char *module) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(L, -1, module);
  lua_remove(L, -2);
  if (lua_toboolean(L, -1)) return true;
  lua_pop(L, 1);
  return false;
}

/* Pushes a module's loader, and where it was found. */
static void push_loader(lua_State *L, const char *module) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  if (lua_getfield(L, -1, module) == LUA_TFUNCTION) {
    lua_remove(L, -2);
    lua_pushliteral(L, ":preload:");
    return;
  }
  lua_pop(L, 2);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &searcher_key) == LUA_TNIL) {
    luaL_error(L, "roclua is not open in this Lua state: call roclua_openlibs first");
  }
  lua_pushstring(L, module);
  lua_call(L, 1, 2);
  if (!lua_isfunction(L, -2)) luaL_error(L, "module '%s' not found", module);
}

/* `require` as roclua's own files call it, of each other.  It goes by none of what a script can
 * replace: neither the global `require` nor package.searchers. */
static int require_own(lua_State *L) {
  const char *module = luaL_checkstring(L, 1);
  if (push_loaded(L, module)) return 1;
  push_loader(L, module);
  lua_pushvalue(L, 1);
  lua_insert(L, -2);
  lua_call(L, 2, 1);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_pushvalue(L, -2);
  lua_setfield(L, -2, module);
  lua_pop(L, 1);
  return 1;
}

void roc_embed_push_globals(lua_State *L) {
  roc_push_library(L);
  if (lua_getfield(L, -1, "require") == LUA_TNIL) {
    lua_pushcfunction(L, require_own);
    lua_setfield(L, -3, "require");
  }
  lua_pop(L, 1);
}

/* Gives the chunk on the top of the stack its globals. */
static void set_globals(lua_State *L) {
  roc_embed_push_globals(L);
  lua_setupvalue(L, -2, 1);
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
  lua_pushcfunction(L, require_own);
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

/* Pushes the chunk of a module that the template leads to, and its file name. False: there is none.
 */
static bool load_file(lua_State *L, const char *module) {
  lua_pushvalue(L, UV_SEARCHPATH);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, UV_TEMPLATE);
  lua_call(L, 2, 1);
  const char *file = lua_tostring(L, -1);
  if (!file) return false;
  if (luaL_loadfile(L, file) != LUA_OK) {
    luaL_error(L, "error loading module '%s' from file '%s':\n\t%s", module, file,
               lua_tostring(L, -1));
  }
  set_globals(L);
  lua_insert(L, -2);
  return true;
}

static bool load_embedded(lua_State *L, const char *module) {
  const roc_embedded *entry = find_embedded(L, module);
  if (!entry) return false;
  const char *text = (const char *)entry->text;
  if (luaL_loadbufferx(L, text, entry->nbytes, entry->chunkname, "t") != LUA_OK) {
    luaL_error(L, "error loading built-in module '%s':\n\t%s", module, lua_tostring(L, -1));
  }
  set_globals(L);
  if (strncmp(module, KERNELS_PREFIX, strlen(KERNELS_PREFIX)) == 0) {
    lua_pushstring(L, entry->chunkname);
    lua_pushlstring(L, text, entry->nbytes);
    lua_pushcclosure(L, load_kernels, 3);
  }
  lua_pushstring(L, entry->chunkname + 1);
  return true;
}

static bool is_ours(const char *module) {
  return strcmp(module, "roc") == 0 || strncmp(module, PREFIX, strlen(PREFIX)) == 0;
}

/* What require's error says of a module of ours that is not there; nothing where the path's own
 * searcher names the files. */
static int push_absent(lua_State *L, const char *module) {
  const char *dir = getenv(DIR_VARIABLE);
  if (lua_tointeger(L, UV_COUNT) == 0) return 0;
  if (lua_toboolean(L, UV_TEMPLATE)) {
    lua_pushfstring(L, "no module '%s' in " DIR_VARIABLE " ('%s')", module, dir ? dir : "");
  } else {
    lua_pushfstring(L, "no built-in module '%s'", module);
  }
  return 1;
}

/* The searcher: (module name) -> loader, where it was found; or a message for require's error. */
static int search(lua_State *L) {
  const char *module = luaL_checkstring(L, 1);
  lua_settop(L, 1);
  if (!is_ours(module)) return 0;
  bool is_text = strncmp(module, DOCS_PREFIX, strlen(DOCS_PREFIX)) == 0; /* no file of Lua's */
  bool is_file = lua_toboolean(L, UV_TEMPLATE) && !is_text;
  if (!(is_file ? load_file : load_embedded)(L, module)) return push_absent(L, module);
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
  if (!dir || dir[0] == '\0') {
    lua_pushboolean(L, 0);
    return;
  }
  lua_pushfstring(L, "%s/?.lua;%s/?/init.lua", dir, dir);
}

/* Pushes the searcher; the table `package` is at this index. */
static void push_searcher(lua_State *L, int package, const roc_embedded *files, size_t count) {
  lua_pushlightuserdata(L, (void *)files);
  lua_pushinteger(L, (lua_Integer)count);
  if (count > 0) {
    push_dir_template(L);
  } else {
    lua_getfield(L, package, "path");
  }
  lua_getfield(L, package, "searchpath");
  lua_pushcclosure(L, search, 4);
}

/* Puts the value on the top of the stack at place 2 of the list below it; pops it. */
static void insert_second(lua_State *L) {
  for (lua_Integer i = (lua_Integer)lua_rawlen(L, -2); i >= 2; i--) {
    lua_rawgeti(L, -2, i);
    lua_rawseti(L, -3, i + 1);
  }
  lua_rawseti(L, -2, 2);
}

void roc_embed_install(lua_State *L, const roc_embedded *files, size_t count,
                       lua_CFunction open_core) {
  luaL_checkstack(L, 8, NULL);
  int top = lua_gettop(L);
  bool is_installed = lua_rawgetp(L, LUA_REGISTRYINDEX, &searcher_key) != LUA_TNIL;
  if (!is_installed && push_loaded(L, "package")) {
    push_searcher(L, top + 2, files, count);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &searcher_key);
    if (lua_getfield(L, top + 2, "searchers") == LUA_TTABLE) {
      lua_insert(L, -2);
      insert_second(L);
    }
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_pushcfunction(L, open_core);
    lua_setfield(L, -2, "roc.core");
  }
  lua_settop(L, top);
}
