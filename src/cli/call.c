/* Calling Lua from the command line: traceback, Ctrl-C, messages on stderr.
 *
 * Ctrl-C is one flag in the library, raised by the signal handler, and taken by what comes first: a
 * wait for a device, or the hook that the handler sets for running Lua code.  So one keystroke is
 * one error.  Lua has a hook for each coroutine and does not tell which one runs, so that
 * coroutine.c tells it here; a switch that comes between signal and hook takes the hook along. */
#include "cli/call.h"

#include <errno.h>
#include <lauxlib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "include/roclua.h"

static const char *progname = "roclua";
static const char require_key = 0; /* its address is the registry key of Lua's `require` */
/* For the signal handler: the state or coroutine that runs, and whether its hook is to be set. */
static lua_State *volatile running;
static lua_State *main_state; /* by which the library knows it */
static volatile sig_atomic_t wants_hook;
static volatile sig_atomic_t was_interrupted; /* since the call in progress, or the last, began */

void cli_set_progname(const char *name) {
  progname = name;
}

const char *cli_progname(void) {
  return progname;
}

void cli_message(const char *message) {
  fflush(stdout);
  if (progname) fprintf(stderr, "%s: ", progname);
  fprintf(stderr, "%s\n", message);
  fflush(stderr);
}

bool cli_finish_output(void) {
  static bool has_failed;
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout)) return true;
  if (has_failed) return false;
  has_failed = true;
  char message[256] = "cannot write to stdout";
  if (errno != 0) { /* else it failed before, and nothing is left to write */
    snprintf(message, sizeof message, "cannot write to stdout: %s", strerror(errno));
  }
  cli_message(message);
  return false;
}

static void raise_interrupt(lua_State *L, lua_Debug *activation) {
  (void)activation;
  lua_sethook(L, NULL, 0, 0);
  wants_hook = 0;
  if (!roclua_take_interrupt(main_state)) return;
  luaL_where(L, 0); /* the function that runs, or what has called it where that is C's */
  if (lua_rawlen(L, -1) == 0) luaL_where(L, 1);
  lua_pushfstring(L, "%sinterrupted!", lua_tostring(L, -1));
  lua_error(L);
}

void cli_set_sigint(void (*handler)(int)) {
  struct sigaction action = {.sa_handler = handler};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
}

/* lua_sethook is the one function of Lua that a signal handler may call. */
static void set_hook(lua_State *L) {
  lua_sethook(L, raise_interrupt, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

void cli_set_running(lua_State *L) {
  running = L;
  if (wants_hook) set_hook(L);
}

bool cli_was_interrupted(void) {
  return was_interrupted;
}

/* One that comes before the last was taken ends the process. */
static void handle_sigint(int number) {
  was_interrupted = 1;
  if (roclua_take_interrupt(main_state)) {
    cli_set_sigint(SIG_DFL);
    raise(number);
    return;
  }
  roclua_interrupt(main_state);
  wants_hook = 1;
  set_hook(running);
}

/* Message handler: the error's text with a traceback; values that know how to print themselves are
 * left to it. */
static int add_traceback(lua_State *L) {
  const char *message = lua_tostring(L, 1);
  if (!message) {
    if (luaL_callmeta(L, 1, "__tostring") && lua_type(L, -1) == LUA_TSTRING) return 1;
    message = lua_pushfstring(L, "(error object is a %s value)", luaL_typename(L, 1));
  }
  luaL_traceback(L, L, message, 1);
  return 1;
}

int cli_call(lua_State *L, int nargs, int nresults) {
  int handler = lua_gettop(L) - nargs;
  lua_pushcfunction(L, add_traceback);
  lua_insert(L, handler);
  running = L;
  wants_hook = was_interrupted = 0;
  cli_set_sigint(handle_sigint);
  int status = lua_pcall(L, nargs, nresults, handler);
  cli_set_sigint(SIG_DFL);
  lua_sethook(L, NULL, 0, 0);
  roclua_take_interrupt(main_state);
  lua_remove(L, handler);
  return status;
}

void cli_keep_require(lua_State *L) {
  lua_getglobal(L, "require");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &require_key);
}

void cli_push_require(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &require_key);
}

bool cli_report(lua_State *L, int status) {
  if (status == LUA_OK) return true;
  const char *message = lua_tostring(L, -1);
  cli_message(message ? message : "(error message not a string)");
  lua_pop(L, 1);
  return false;
}

/* Tells the library that long work may say how far it is, on a terminal where the line can be taken
 * away again. */
static void allow_progress(lua_State *L) {
  const char *terminal = getenv("TERM");
  bool is_dumb = !terminal || terminal[0] == '\0' || strcmp(terminal, "dumb") == 0;
  if (!isatty(STDERR_FILENO) || is_dumb) return;
  lua_pushboolean(L, true);
  lua_setfield(L, LUA_REGISTRYINDEX, "roclua.progress");
}

/* (argc, argv, protected_main) -> success */
static int run_main(lua_State *L) {
  lua_CFunction protected_main = lua_tocfunction(L, 3);
  lua_settop(L, 2);
  allow_progress(L);
  return protected_main(L);
}

int cli_main(int argc, char **argv, lua_CFunction protected_main) {
  lua_State *L = luaL_newstate();
  if (!L) {
    cli_message("cannot create state: not enough memory");
    return EXIT_FAILURE;
  }
  main_state = L;
  lua_pushcfunction(L, run_main);
  lua_pushinteger(L, argc);
  lua_pushlightuserdata(L, argv);
  lua_pushcfunction(L, protected_main);
  int status = lua_pcall(L, 3, 1, 0);
  bool is_ok = cli_report(L, status) && lua_toboolean(L, -1);
  lua_close(L);
  is_ok = cli_finish_output() && is_ok;
  return is_ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
