/* Expressions that are pending when their Lua state closes.
 *
 * A finalizer may look at them then, when the kernels that they need have been finalized.  A closing
 * state finalizes what is newest first: so an object that is made after each new kernel computes all
 * that is pending before any kernel goes away, and nothing becomes pending from then on. */
#include "bindings/array/array_bind.h"
#include "bindings/expression/expression.h"

void roc_expression_finish(lua_State *L) {
  int top = lua_gettop(L);
  roc_expression_state *state = roc_expression_state_of(L);
  if (!state) return; /* roc was not opened */
  state->is_off = true;
  for (;; lua_settop(L, top)) {
    roc_array *holder = roc_push_array(L, &roc_host_array_class);
    holder->buffer = roc_expression_find_surplus(state, 0, 0);
    if (!holder->buffer) break;
    roc_expression_evaluate_early(L, holder->buffer, NULL);
  }
  lua_settop(L, top);
}

int roc_expression_mm_gc_guard(lua_State *L) {
  if (roc_expression_is_newest_guard(L, 1)) roc_expression_finish(L);
  return 0;
}
