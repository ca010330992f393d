/* What the bindings share: opening the module, raising core errors, checking arguments.
 *
 * The only layer that knows both Lua and the core.  Rule: C functions return a status,
 * only this layer raises; no core resource may be held by a C local alone while a Lua call that can
 * throw runs. */
#ifndef ROC_BINDINGS_SUPPORT_BIND_H
#define ROC_BINDINGS_SUPPORT_BIND_H

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "bindings/support/check.h"

/* Replaces Lua's argument checks by those of check.h, whose messages name the public function. */
#define luaL_argerror(L, arg, why) roc_arg_error(L, arg, why)
#define luaL_typeerror(L, arg, expected) roc_type_error(L, arg, expected)
#define luaL_checkany(L, arg) roc_check_any(L, arg)
#define luaL_checktype(L, arg, type) roc_check_type(L, arg, type)
#define luaL_checkinteger(L, arg) roc_check_integer(L, arg)
#define luaL_optinteger(L, arg, absent) roc_opt_integer(L, arg, absent)
#define luaL_checknumber(L, arg) roc_check_number(L, arg)
#define luaL_optnumber(L, arg, absent) roc_opt_number(L, arg, absent)
#define luaL_checklstring(L, arg, len) roc_check_lstring(L, arg, len)
#define luaL_optlstring(L, arg, absent, len) roc_opt_lstring(L, arg, absent, len)
#define luaL_checkudata(L, arg, metatable) roc_check_udata(L, arg, metatable)

/* Makes the table of `roc.core` and pushes it.  May be called again in one state: types are made
 * once. */
int roc_bind_open_core(lua_State *L);
#define ROC_OPENER(name) void roc_open_##name(lua_State *L);
#include "bindings/openers.def"
#undef ROC_OPENER

/* Raises the core's error as an error value: a table with `code` (roc_status_name), `message`, and
 * the driver's `native` code when there is one; tostring gives the message.  Never returns. */
int roc_lua_raise(lua_State *L, const roc_error *err);
/* The same with a message longer than the record holds. */
int roc_lua_raise_text(lua_State *L, const roc_error *err, const char *message);
/* The same, with the running function's name after the message of an error of memory. */
int roc_lua_raise_named(lua_State *L, const roc_error *err);
/* ROC_TRY of this layer: raises unless `status` is ROC_OK. */
#define ROC_LUA_TRY(L, expr, err) \
  do {                            \
    if ((expr) != ROC_OK) {       \
      roc_lua_raise((L), (err));  \
    }                             \
  } while (0)

/* Pushes the globals of roclua's own Lua files: Lua's libraries as Lua made them, which no script
 * can change, and as `_G` the state's own globals. Made once per state. Raises on lack of memory.
 */
void roc_push_library(lua_State *L);
/* Pushes the function that prints the lines of kernels: the global `print`, or Lua's own when that
 * is nil. */
void roc_push_print(lua_State *L);

/* Tells the collector about memory that it does not count (array bytes), so that dropped arrays are
 * collected in time.  Does nothing while the user has stopped the collector.  May run
 * finalizers. */
void roc_gc_account(lua_State *L, size_t nbytes);
/* After an out-of-memory status: runs a full collection, returns the cached blocks of devices to
 * their drivers, and tells whether trying again may help. */
bool roc_gc_reclaim(lua_State *L);

/* Makes the metatable `name` once per state and pushes it; `meta` (may be NULL) goes into it. True
 * when this call made it. */
bool roc_class_new(lua_State *L, const char *name, const luaL_Reg *meta);

#endif
