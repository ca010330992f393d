/* Unknown names: the suggestions in messages (base/near.h). */
#ifndef ROC_BINDINGS_SUPPORT_UNKNOWN_H
#define ROC_BINDINGS_SUPPORT_UNKNOWN_H

#include "base/near.h"
#include "bindings/support/bind.h"

/* Adds the string keys of the table at `idx` to the search; the table must keep them. */
void roc_near_offer_keys(lua_State *L, int idx, roc_near *near);
/* Pushes "; write X" for a foreign name, "; did you mean 'x'?" for a near one, else "". */
const char *roc_push_suggestion(lua_State *L, const char *advice, const roc_near *near);
/* Raises that a value of the class has no field of the name at stack index 2.  `methods` is the
 * index of a table whose keys are fields, too; `near` was offered the others. */
int roc_fail_field(lua_State *L, const char *cls, const char *advice, int methods, roc_near *near);
/* Makes the methods table on top, which is the class's __index, raise for unknown names. */
void roc_refuse_unknown(lua_State *L, const char *cls);
/* The search for the name at stack index 2. */
roc_near roc_near_to_key(lua_State *L);

#endif
