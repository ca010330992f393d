/* How functions of roclua.h fail: a code is returned, the message is kept for roclua_error. */
#ifndef ROC_EMBED_FAIL_H
#define ROC_EMBED_FAIL_H

#include <lua.h>

#include "base/status.h"

/* Keeps the message of *err for the calling thread unless `status` is ROC_OK; gives the code, which
 * is the status. */
int roc_embed_code(roc_status status, const roc_error *err);

/* Fails with INVALID and such a message. */
int roc_embed_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Calls function(ud) -> nresults values, without raising: OK with the values pushed; or, with
 * nothing pushed, LUA with the message of what was raised, OOM. */
int roc_embed_call(lua_State *L, lua_CFunction function, void *ud, int nresults);
/* The same of function(ud, value), with the value at that index of the stack. */
int roc_embed_call_with(lua_State *L, lua_CFunction function, void *ud, int value, int nresults);

#endif
