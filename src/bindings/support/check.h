/* Checks of arguments whose messages name the public function.
 *
 * Lua's own checkers name a function by the code that calls it, or by the first loaded module that
 * holds it, or by `?`. The checks below have the same names and messages, but use the public name
 * where the caller's code gives none; bind.h replaces Lua's by them in all of this layer.
 * core.name_functions registers the names. */
#ifndef ROC_BINDINGS_SUPPORT_CHECK_H
#define ROC_BINDINGS_SUPPORT_CHECK_H

#include <lauxlib.h>
#include <lua.h>

/* Raises "bad argument #N to 'zeros' (why)"; for a metamethod "cannot take the length: why". */
int roc_arg_error(lua_State *L, int arg, const char *why);
int roc_type_error(lua_State *L, int arg, const char *expected);
void roc_check_any(lua_State *L, int arg);
void roc_check_type(lua_State *L, int arg, int type);
lua_Integer roc_check_integer(lua_State *L, int arg);
lua_Integer roc_opt_integer(lua_State *L, int arg, lua_Integer absent);
lua_Number roc_check_number(lua_State *L, int arg);
lua_Number roc_opt_number(lua_State *L, int arg, lua_Number absent);
const char *roc_check_lstring(lua_State *L, int arg, size_t *len);
const char *roc_opt_lstring(lua_State *L, int arg, const char *absent, size_t *len);
void *roc_check_udata(lua_State *L, int arg, const char *metatable);

/* The name of the running function that a message about an argument would show; pushed. */
const char *roc_push_function_name(lua_State *L);

/* Pushes the name of the type of the value at `idx`: its metatable's `__name`, else Lua's.  Returns
 * the text. */
const char *roc_push_type_name(lua_State *L, int idx);

/* Pushes how a message shows the value at `idx`: the value when it is short, else its type.  Runs
 * no metamethod.  Returns the text. */
const char *roc_push_shown(lua_State *L, int idx);

/* The index in `names` (which NULL ends) of the string at `arg`, or of `absent` when it is not
 * given. Raises with what was expected: all the names. */
int roc_check_option(lua_State *L, int arg, const char *absent, const char *const *names);

#endif
