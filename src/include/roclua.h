/* roclua.h: the C interface of roclua, all of it.
 *
 * It compiles as C11 and as C++ and names no type of LLVM, HSA or CUDA.  Of Lua it needs the state
 * alone, which it declares itself, so that a program that never includes lua.h can pass one along.
 * A function that takes a lua_State may raise a Lua error only where its comment says so, and must
 * be called by the thread that runs this state. */
#ifndef ROCLUA_H
#define ROCLUA_H

#include <stddef.h>

#if defined(__GNUC__)
#define ROCLUA_API __attribute__((visibility("default")))
#else
#define ROCLUA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct lua_State;

#define ROCLUA_VERSION "0.1.0"

/* What the functions that return a code return.  Negative numbers are not used; later versions may
 * add codes. */
typedef enum roclua_code {
  ROCLUA_OK = 0,
  ROCLUA_INVALID = 1,     /* a wrong argument, which the message names */
  ROCLUA_OOM = 2,         /* memory is lacking, of the host or of the device */
  ROCLUA_UNAVAILABLE = 3, /* there is no such device, or a library of it is missing */
  ROCLUA_CLOSED = 4,  /* the object is closed, roclua has shut down, or this is a forked child */
  ROCLUA_COMPILE = 5, /* a kernel has errors; the message is its diagnostics */
  ROCLUA_FAULT = 6,   /* a kernel failed a check; the device stays usable */
  ROCLUA_LOST = 7,    /* the device is lost: reset it, or start a new process */
  ROCLUA_INTERRUPTED = 8,  /* roclua_interrupt ended the wait */
  ROCLUA_IO = 9,           /* a file, which the message names */
  ROCLUA_UNSUPPORTED = 10, /* this device or program cannot do that; the message says what can */
  ROCLUA_INTERNAL = 11,    /* an error of roclua itself: report it */
  ROCLUA_LUA = 64          /* a Lua function that was called back has raised the message */
} roclua_code;

/* The message of the last function of this header that returned a code other than ROCLUA_OK on the
 * calling thread; "" when none did.  Valid until the next such failure on this thread.  Any
 * thread; never fails. */
ROCLUA_API const char *roclua_error(void);

/* The version of the library that was linked, as ROCLUA_VERSION spells it.  Static string.  Any
 * thread. */
ROCLUA_API const char *roclua_version(void);

/* Names the folder with the compiler and the software GPU, lib/roclua/0 of an installation
 * (`pkg-config --variable=compilerdir roclua`).  Needed only by a program with libroclua.a that is
 * not in the folder bin of that installation: libroclua.so finds it from its own place.  `folder`
 * is copied.  To be called before the first device is used.  Any thread; does not block.
 * INVALID: NULL, no folder, or too late. */
ROCLUA_API int roclua_set_library_dir(const char *folder);

/* Opens the private C module `roc.core`: a lua_CFunction for package.preload.  Scripts use it
 * through `require "roc"`. May be called again in one state.  Raises on lack of memory, when Lua is
 * not 5.4, and when another copy of roclua is open in the process. */
ROCLUA_API int luaopen_roc_core(struct lua_State *L);

/* As the option -E: the variables that load code (docs/trust.md) do not count, and are taken out of
 * the environment, so that libraries which are opened later do not see them.  To be called before
 * anything else of this header, while no other thread runs. */
ROCLUA_API void roclua_ignore_environment(void);

/* Opens Lua's standard libraries and makes `require "roc"` work from what is built into this
 * program: nothing of roc is loaded before a script requires it.  The directory named by
 * ROCLUA_LUA_DIR, if set, stands in for the built-in Lua files (not when the registry's LUA_NOENV
 * is true).  Raises on lack of memory. */
ROCLUA_API void roclua_openlibs(struct lua_State *L);

/* Tells roc the text of a chunk that it could not find through its name, such as a line typed at a
 * prompt, so that kernels in it can be compiled.  `chunkname` is the one given to lua_load, with
 * its '=' or '@'.  Both texts are copied. Does not load roc.  Raises on lack of memory. */
ROCLUA_API void roclua_source(struct lua_State *L, const char *chunkname, const char *text,
                              size_t nbytes);

/* Makes the wait for a device that is in progress in the state, or its next one, raise
 * `interrupted!`, and ends the kernels that the state has launched there, where the device can
 * (cpu; software GPUs, which end those of other states, too).  A kernel on sim, which runs in the
 * launch, raises it there: at once when the call comes on its own thread, as in a signal handler,
 * otherwise before the next work-item.  `L` is the state as it was made, not a coroutine, and stays
 * open until the call returns; NULL: every state, and the wait of roclua_shutdown.  Any thread;
 * does not block; safe in a signal handler, so it leaves no message.  INVALID: roclua was not
 * opened in that state. */
ROCLUA_API int roclua_interrupt(struct lua_State *L);

/* Takes back an interrupt of the state that no wait has seen yet.  Returns 1 if there was one, else
 * 0.  `L` as above, not NULL.  Any thread; safe in a signal handler. */
ROCLUA_API int roclua_take_interrupt(struct lua_State *L);

/* Writes what devices still work on, for any state, to `text`, such as "kernel 'saxpy' (launched at
 * a.lua:3)", at most `size` bytes with the NUL. Returns 1; or 0 when all is done, when `text` is
 * NULL or `size` is 0, and in a forked child, and then writes nothing. Waits for no device. Any
 * thread. */
ROCLUA_API int roclua_pending(char *text, size_t size);

/* Ends the state's use of devices, before lua_close: refuses further work of it (elements that the host reaches can still be read), waits for what is
 * queued, hands what its kernels printed to its global `print` (Lua's own where that is nil), and
 * calls what stream:callback has left.  Other states go on.  Without this call lua_close does not
 * wait: work that is queued is done, and what it prints is lost.  On the thread that runs the
 * state, in a coroutine of it, too; raises nothing.  FAULT: a kernel failed, and no wait has
 * reported it.  INTERRUPTED: roclua_interrupt was called, and a kernel goes on a second later; no
 * later call waits for it.  LUA: `print` or a callback raised the message.  LOST, OOM; CLOSED in a
 * forked child; INVALID: NULL.  OK when roclua was not opened there, and the second time. */
ROCLUA_API int roclua_close(struct lua_State *L);

/* To be called once before the process ends, when no state launches any more: waits for the work of
 * all states, and gives the devices back once what uses them is closed.  Later use of a device
 * fails with CLOSED.  Without this call a handler of exit() does so.  Any thread.  FAULT,
 * INTERRUPTED, LOST as above; INVALID: a tool (--check) has found faults in kernels; IO: a report of
 * a tool cannot be written.  OK, and nothing happens, the second time and in a forked child. */
ROCLUA_API int roclua_shutdown(void);

#ifdef __cplusplus
}
#endif

#endif
