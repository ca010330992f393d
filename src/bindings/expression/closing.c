/* Expressions that are pending when their Lua state closes.
 *
 * A finalizer may look at them then, when the kernels that they need have been finalized.  A closing
 * state finalizes what is newest first: so an object that is made after each new kernel computes all
 * that is pending before any kernel goes away, and nothing becomes pending from then on. */
#include "bindings/array/array_bind.h"
#include "bindings/expression/expression.h"

/* An error belongs to its expression: each later look tries again, and says why it cannot. */
static int evaluate_holder(lua_State *L) {
  roc_array *holder = lua_touserdata(L, 1);
  roc_expression_evaluate(L, holder->buffer, NULL);
  return 0;
}

void roc_expression_finish(lua_State *L) {
  int top = lua_gettop(L);
  roc_expression_state *state = roc_expression_state_of(L);
  if (!state) return; /* roc was not opened */
  state->is_off = true;
  for (;; lua_settop(L, top)) {
    roc_array *holder = roc_push_array(L, &roc_host_array_class);
    holder->buffer = roc_expression_find_surplus(state, 0, 0);
    if (!holder->buffer) break;
    lua_pushcfunction(L, evaluate_holder);
    lua_pushlightuserdata(L, holder);
    lua_pcall(L, 1, 0, 0);
    roc_expression *e = roc_buffer_pending(holder->buffer);
    if (e) e->is_skipped = true;
  }
  lua_settop(L, top);
}

int roc_expression_mm_gc_guard(lua_State *L) {
  if (roc_expression_is_newest_guard(L, 1)) roc_expression_finish(L);
  return 0;
}
