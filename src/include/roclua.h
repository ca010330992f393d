/* roclua.h: the C interface of roclua, all of it.  It is not installed yet.
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

/* The version of the library that was linked, as ROCLUA_VERSION spells it.  Static string.  Any
 * thread. */
ROCLUA_API const char *roclua_version(void);

/* Opens the private C module `roc.core`: a lua_CFunction for package.preload.  Scripts use it
 * through `require "roc"`. May be called again in one state.  Raises on lack of memory. */
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

/* Makes the wait for a device that is in progress, or the next one, raise `interrupted!`, and ends
 * the kernels that it waits for where the device can (cpu, software GPUs). A kernel on sim, which
 * runs in the launch, raises it there: at once when the call comes on its own thread, as in a
 * signal handler, otherwise before the next work-item. Any thread; safe in a signal handler. */
ROCLUA_API void roclua_interrupt(void);

/* Takes back an interrupt that no wait has seen yet.  Returns 1 if there was one, else 0.  Any
 * thread. */
ROCLUA_API int roclua_take_interrupt(void);

/* Writes what devices still work on to `text`, such as "kernel 'saxpy' (launched at a.lua:3)", at
 * most `size` bytes with the NUL. Returns 1, or 0 when all is done, and then writes nothing. Waits
 * for no device. Any thread. */
ROCLUA_API int roclua_pending(char *text, size_t size);

/* To be called once before the process ends: waits for all devices and hands what kernels printed
 * to the global `print` (Lua's own where that is nil). Returns 0; or 1 with a message pushed, when
 * a kernel failed and no wait has reported it or when `print` raised. Later use of a device raises.
 * Raises on lack of memory. */
ROCLUA_API int roclua_shutdown(struct lua_State *L);

#ifdef __cplusplus
}
#endif

#endif
