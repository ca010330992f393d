/* The interactive loop: read a chunk, perhaps over several lines, run it, print its values.
 *
 * What a line is, how it is loaded and how values look is roc.repl's, in Lua; here are the calls,
 * the terminal and the streams. */
#include "cli/repl.h"

#include <glob.h>
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/call.h"
#include "cli/edit.h"
#include "include/roclua.h"

/* Places on the stack, below all else: the module; what the hooks gave last. */
enum { MODULE = 1, HOOK_TEXT = 2, HOOK_LIST = 3, BASE = 3 };

/* (name) -> the text of that global, or nil */
static int get_prompt(lua_State *L) {
  if (lua_getglobal(L, lua_tostring(L, 1)) != LUA_TNIL) luaL_tolstring(L, -1, NULL);
  return 1;
}

/* The user's _PROMPT or _PROMPT2; the usual one where that is nil or an error, as with globals that
 * must be declared.  Leaves one value on the stack, which keeps the text. */
static const char *push_prompt(lua_State *L, bool is_first) {
  lua_pushcfunction(L, get_prompt);
  lua_pushstring(L, is_first ? "_PROMPT" : "_PROMPT2");
  if (lua_pcall(L, 1, 1, 0) != LUA_OK || lua_isnil(L, -1)) {
    lua_pop(L, 1);
    lua_pushstring(L, is_first ? "> " : ">> ");
  }
  return lua_tostring(L, -1);
}

/* Calls a function of roc.repl with the `nargs` values on top.  Returns Lua's status. */
static int call_module(lua_State *L, const char *name, int nargs, int nresults) {
  lua_getfield(L, MODULE, name);
  lua_insert(L, -nargs - 1);
  return cli_call(L, nargs, nresults);
}

/* Prints and pops an error's message; on a line of its own after the ^C that the terminal shows. */
static void report(lua_State *L) {
  if (cli_was_interrupted() && isatty(STDERR_FILENO)) fputc('\n', stderr);
  if (lua_type(L, -1) == LUA_TSTRING) {
    lua_pushboolean(L, isatty(STDERR_FILENO));
    call_module(L, "describe_error", 2, 1); /* or why it failed */
  }
  cli_report(L, LUA_ERRRUN);
}

/* Reads lines until roc.repl has a chunk.  EDIT_LINE: the function is on top, or nothing was added,
 * as the chunk is wrong, which has been said. */
static edit_result read_chunk(lua_State *L) {
  for (bool is_first = true;; is_first = false) {
    char *line = NULL;
    edit_result result = edit_read(push_prompt(L, is_first), &line);
    lua_pop(L, 1);
    bool is_end = result == EDIT_EOF;
    if (result == EDIT_INTERRUPTED || (is_end && is_first)) return result;
    if (is_end) {
      lua_pushnil(L); /* the chunk ends here */
    } else {
      lua_pushstring(L, line);
    }
    free(line);
    if (call_module(L, "read", 1, 3) != LUA_OK) {
      report(L);
      return EDIT_INTERRUPTED;
    }
    if (lua_isstring(L, -1)) edit_remember(lua_tostring(L, -1));
    lua_pop(L, 1);
    if (lua_isstring(L, -1)) {
      report(L);
      lua_pop(L, 1);
      return EDIT_LINE;
    }
    lua_pop(L, 1);
    if (lua_isfunction(L, -1)) return EDIT_LINE;
    lua_pop(L, 1);
  }
}

/* Runs the function on top; prints its values, what kernels have printed, and what has failed.
 * Ctrl-C also ends the kernels that the function has launched. */
static void run_chunk(lua_State *L) {
  bool is_ok = cli_call(L, 0, LUA_MULTRET) == LUA_OK;
  bool is_interrupted = !is_ok && cli_was_interrupted();
  if (!is_ok) report(L);
  luaL_checkstack(L, LUA_MINSTACK, "too many results to print");
  lua_pushboolean(L, is_ok);
  lua_insert(L, BASE + 1);
  lua_pushboolean(L, is_interrupted);
  lua_insert(L, BASE + 2);
  if (is_interrupted) roclua_interrupt(L);
  if (call_module(L, "finish", lua_gettop(L) - BASE, 2) != LUA_OK) {
    report(L);
    return;
  }
  size_t nbytes;
  const char *values = lua_tolstring(L, -2, &nbytes);
  if (values) {
    fwrite(values, 1, nbytes, stdout);
    putchar('\n');
  }
  if (lua_isstring(L, -1)) report(L);
}

/* ---- hooks of the editor --------------------------------------------------------------------- */

/* The line in colours.  An error leaves it as it is: Ctrl-C is a key here. */
static const char *paint(void *ud, const char *text) {
  lua_State *L = ud;
  lua_getfield(L, MODULE, "paint");
  lua_pushstring(L, text);
  int status = lua_pcall(L, 1, 1, 0);
  lua_replace(L, HOOK_TEXT);
  return status == LUA_OK ? lua_tostring(L, HOOK_TEXT) : NULL;
}

static void complete(void *ud, const char *before, const char **out_insert, const char **out_list) {
  lua_State *L = ud;
  lua_getfield(L, MODULE, "complete");
  lua_pushstring(L, before);
  if (lua_pcall(L, 1, 2, 0) != LUA_OK) {
    lua_pop(L, 1);
    return;
  }
  lua_replace(L, HOOK_LIST);
  lua_replace(L, HOOK_TEXT);
  *out_insert = lua_tostring(L, HOOK_TEXT);
  *out_list = lua_tostring(L, HOOK_LIST);
}

/* Whether the terminal takes colours, and the user does (no-color.org). */
static bool has_colours(void) {
  const char *terminal = getenv("TERM"), *refusal = getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) && !(refusal && refusal[0] != '\0') && terminal &&
         terminal[0] != '\0' && strcmp(terminal, "dumb") != 0;
}

static int get_columns(lua_State *L) {
  int columns = edit_columns();
  if (columns == 0) return 0;
  lua_pushinteger(L, columns);
  return 1;
}

/* Appends the path to `pattern`, with what glob takes for its own escaped. */
static void add_literal(luaL_Buffer *pattern, const char *path) {
  for (; *path; path++) {
    if (strchr("*?[\\", *path)) luaL_addchar(pattern, '\\');
    luaL_addchar(pattern, *path);
  }
}

/* (prefix) -> the paths that begin so, folders with a slash at the end */
static int list_paths(lua_State *L) {
  luaL_Buffer pattern;
  luaL_buffinit(L, &pattern);
  add_literal(&pattern, luaL_checkstring(L, 1));
  luaL_addchar(&pattern, '*');
  luaL_pushresult(&pattern);
  lua_newtable(L);
  glob_t found;
  if (glob(lua_tostring(L, -2), GLOB_MARK, NULL, &found) != 0) return 1;
  for (size_t i = 0; i < found.gl_pathc; i++) {
    lua_pushstring(L, found.gl_pathv[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  globfree(&found);
  return 1;
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Pushes roc.repl, opened; false when that failed, which has been said. */
static bool push_module(lua_State *L, bool is_coloured) {
  cli_push_require(L);
  lua_pushliteral(L, "roc.repl");
  if (!cli_report(L, cli_call(L, 1, 1))) return false;
  lua_getfield(L, -1, "open");
  lua_getglobal(L, "os");
  lua_getfield(L, -1, "exit");
  lua_remove(L, -2);
  lua_pushboolean(L, is_coloured);
  lua_pushcfunction(L, get_columns);
  lua_pushcfunction(L, list_paths);
  return cli_report(L, cli_call(L, 4, 0));
}

void repl_run(lua_State *L) {
  const char *progname = cli_progname();
  cli_set_progname(NULL);
  lua_settop(L, 0);
  bool is_coloured = has_colours();
  const edit_hooks hooks = {.ud = L, .paint = is_coloured ? paint : NULL, .complete = complete};
  if (push_module(L, is_coloured)) {
    edit_open(&hooks);
    for (;;) {
      lua_settop(L, BASE);
      edit_result result = read_chunk(L);
      if (result == EDIT_EOF) break;
      if (result == EDIT_INTERRUPTED) {
        call_module(L, "drop", 0, 0);
      } else if (lua_gettop(L) > BASE) {
        run_chunk(L);
      }
    }
    edit_close();
    putchar('\n');
    fflush(stdout);
  }
  lua_settop(L, 0);
  cli_set_progname(progname);
}
