/* The interactive loop: read a chunk, perhaps over several lines, run it, print its values.
 *
 * Each chunk has a name of its own, "=stdin#1" and so on, under which roc is told its text: so
 * kernels typed at the prompt find their source. */
#include "cli/repl.h"

#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/call.h"
#include "cli/edit.h"
#include "include/roclua.h"

#define EOF_MARK "<eof>"

/* The user's _PROMPT or _PROMPT2, else the usual one.  Leaves one value on the stack, which keeps
 * the text. */
static const char *push_prompt(lua_State *L, bool is_first) {
  if (lua_getglobal(L, is_first ? "_PROMPT" : "_PROMPT2") == LUA_TNIL) {
    lua_pop(L, 1);
    return lua_pushstring(L, is_first ? "> " : ">> ");
  }
  const char *prompt = luaL_tolstring(L, -1, NULL);
  lua_remove(L, -2);
  return prompt;
}

/* Reads a line and pushes it; the first of a chunk may be `=expression`, as in lua. */
static edit_result read_line(lua_State *L, bool is_first) {
  char *line = NULL;
  edit_result result = edit_read(push_prompt(L, is_first), &line);
  lua_pop(L, 1);
  if (result == EDIT_LINE) {
    if (is_first && line[0] == '=') {
      lua_pushfstring(L, "return %s", line + 1);
    } else {
      lua_pushstring(L, line);
    }
    free(line);
  }
  return result;
}

/* Loads `text` (at index) and tells roc about it.  Pushes the function or the error. */
static int load_text(lua_State *L, int index, const char *chunkname) {
  size_t nbytes;
  const char *text = lua_tolstring(L, index, &nbytes);
  int status = luaL_loadbufferx(L, text, nbytes, chunkname, "t");
  if (status == LUA_OK) roclua_source(L, chunkname, text, nbytes);
  return status;
}

/* Does the error on the top say that the chunk ended too early? */
static bool is_incomplete(lua_State *L, int status) {
  if (status != LUA_ERRSYNTAX) return false;
  size_t length, mark = strlen(EOF_MARK);
  const char *message = lua_tolstring(L, -1, &length);
  return length >= mark && strcmp(message + length - mark, EOF_MARK) == 0;
}

/* Tries the text on the top as an expression.  Leaves the function above the text, or the text
 * alone. */
static bool load_expression(lua_State *L, const char *chunkname) {
  lua_pushliteral(L, "return ");
  lua_pushvalue(L, -2);
  lua_concat(L, 2);
  if (load_text(L, -1, chunkname) == LUA_OK) {
    lua_remove(L, -2);
    return true;
  }
  lua_pop(L, 2);
  return false;
}

/* Loads the text on the top as statements, reading lines while it is incomplete.  Leaves the whole
 * text and the function or error. */
static edit_result load_statements(lua_State *L, const char *chunkname, int *out_status) {
  for (;;) {
    *out_status = load_text(L, -1, chunkname);
    if (!is_incomplete(L, *out_status)) return EDIT_LINE;
    lua_pushliteral(L, "\n");
    edit_result result = read_line(L, false);
    if (result == EDIT_EOF) {
      lua_pop(L, 1);
      return EDIT_LINE; /* the error stands */
    }
    if (result == EDIT_INTERRUPTED) {
      lua_settop(L, 0);
      return result;
    }
    lua_remove(L, -3);
    lua_concat(L, 3);
  }
}

/* Reads a chunk.  EDIT_LINE: the function or the error is the only value on the stack. */
static edit_result load_chunk(lua_State *L, const char *chunkname, int *out_status) {
  lua_settop(L, 0);
  edit_result result = read_line(L, true);
  if (result != EDIT_LINE) return result;
  if (load_expression(L, chunkname)) {
    *out_status = LUA_OK;
  } else {
    result = load_statements(L, chunkname, out_status);
  }
  if (result == EDIT_LINE) {
    edit_remember(lua_tostring(L, 1));
    lua_remove(L, 1);
  }
  return result;
}

/* Prints all values on the stack through the global `print`. */
static void print_results(lua_State *L) {
  int count = lua_gettop(L);
  if (count == 0) return;
  luaL_checkstack(L, LUA_MINSTACK, "too many results to print");
  lua_getglobal(L, "print");
  lua_insert(L, 1);
  if (cli_call(L, count, 0) != LUA_OK) {
    lua_pushfstring(L, "error calling 'print' (%s)", lua_tostring(L, -1));
    cli_message(lua_tostring(L, -1));
  }
}

static void open_roc(lua_State *L) {
  cli_push_require(L);
  lua_pushliteral(L, "roc");
  int status = cli_call(L, 1, 1);
  if (cli_report(L, status)) lua_setglobal(L, "roc");
}

void repl_run(lua_State *L) {
  const char *progname = cli_progname();
  cli_set_progname(NULL);
  open_roc(L);
  edit_open();
  int status = LUA_OK;
  for (int count = 1;; count++) {
    char chunkname[32];
    snprintf(chunkname, sizeof chunkname, "=stdin#%d", count);
    edit_result result = load_chunk(L, chunkname, &status);
    if (result == EDIT_EOF) break;
    if (result == EDIT_INTERRUPTED) continue;
    if (status == LUA_OK) status = cli_call(L, 0, LUA_MULTRET);
    if (cli_report(L, status)) print_results(L);
  }
  lua_settop(L, 0);
  edit_close();
  putchar('\n');
  fflush(stdout);
  cli_set_progname(progname);
}
