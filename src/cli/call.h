/* Calling Lua from the command line: traceback, Ctrl-C, messages on stderr. */
#ifndef ROC_CLI_CALL_H
#define ROC_CLI_CALL_H

#include <lua.h>
#include <stdbool.h>

/* What stands before each message; NULL (as in the REPL): nothing. */
void cli_set_progname(const char *name);
const char *cli_progname(void);

/* Writes "progname: message" and a newline to stderr. */
void cli_message(const char *message);

/* Delivers what stdout still holds.  False, and said on stderr once, when that or something before it
 * could not be written. */
bool cli_finish_output(void);

/* Calls the function below `nargs` arguments with a traceback added to its errors.  While it runs,
 * Ctrl-C raises `interrupted!` in Lua code, in coroutines too, and in waits for devices; one that
 * comes before the last was taken ends the process.  Returns Lua's status. */
int cli_call(lua_State *L, int nargs, int nresults);

/* What Ctrl-C interrupts from now on: the state, or the coroutine, whose code runs. */
void cli_set_running(lua_State *L);
/* Whether Ctrl-C came during the last cli_call. */
bool cli_was_interrupted(void);
void cli_set_sigint(void (*handler)(int));

/* Puts functions that tell cli_set_running in the place of coroutine.resume, wrap and close. */
void cli_track_coroutines(lua_State *L);

/* Waits for the devices and says what they still had to say.  While that takes long, or after
 * Ctrl-C, says for which kernel.  False: a kernel failed and no wait had reported it. */
bool cli_finish_devices(lua_State *L);

/* A program in a state of its own: runs `protected_main` (argc, argv as light userdata -> success)
 * and returns the exit status: a failure also when stdout took not all of the output. */
int cli_main(int argc, char **argv, lua_CFunction protected_main);

/* Keeps Lua's `require` before a script runs, and pushes it: for the program's own modules,
 * whatever the global is by then. */
void cli_keep_require(lua_State *L);
void cli_push_require(lua_State *L);

/* When `status` is an error, prints and pops its value.  Returns whether all was well. */
bool cli_report(lua_State *L, int status);

#endif
