/* Evaluation of expressions: as one kernel, or operation by operation.
 *
 * A structure is computed operation by operation, by the kernels that operations have when they are
 * computed at once, until the work that it has given is worth the compilation of one kernel for all
 * of it.  What is kept is found by the operations, kinds of operands and loops, never by extents or
 * numbers.  Intermediate results are converted to their dtypes, so that the bits are the same.
 *
 * Making a kernel runs Lua code, and a launch that has waited delivers prints and callbacks, which
 * may look at the same expressions, or write their operands.  So after either nothing that was read
 * of an expression before is used again. */
#include "bindings/device/device_bind.h"
#include "bindings/expression/expression.h"
#include "bindings/expression/graph.h"
#include "bindings/kernel/kernel_bind.h"

/* ---- kernels --------------------------------------------------------------------------------- */

/* A graph, and the loops over its result. */
typedef struct plan {
  const roc_graph *graph;
  roc_loops loops;
} plan;

static void push_key(lua_State *L, const plan *p, bool has_one_row) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  roc_graph_add_key(&b, p->graph, &p->loops);
  luaL_addchar(&b, (char)has_one_row);
  luaL_pushresult(&b);
}

static void make_kernel(lua_State *L, const void *ud) {
  const plan *p = ud;
  roc_expression_push_rule(L, "fused");
  roc_graph_push_nodes(L, p->graph);
  lua_pushinteger(L, p->graph->nleaves);
  lua_pushinteger(L, p->graph->nscalars);
  roc_loops_push(L, &p->loops);
  lua_call(L, 5, 1);
}

/* ---- evaluation ------------------------------------------------------------------------------ */

/* Launches the kernel on top of the stack. */
static void launch(lua_State *L, const plan *p, const roc_ndrange *range, int64_t rows) {
  roc_kernel_operand operands[ROC_EXPRESSION_MAX_LEAVES + ROC_EXPRESSION_MAX_SCALARS + 2];
  uint32_t n = roc_graph_fill(p->graph, &p->loops, operands), last = p->graph->nnodes - 1;
  operands[n++] = roc_loops_operand(&p->loops, 0);
  if (p->loops.count > 1) {
    operands[n++] = (roc_kernel_operand){.scalar = {.type = ROC_VT_INT, .as.i = rows}};
  }
  roc_rt_device *device = roc_open_device_at(L, p->graph->nodes[last]->device);
  roc_graph_note_pass(p->graph, last);
  roc_kernel_launch_operands(L, lua_gettop(L), device, range, operands, n);
}

/* False: no kernel is worth it yet, or Lua code has changed what is pending. */
static bool run_fused(lua_State *L, const roc_graph *g, const roc_array *result) {
  plan p = {.graph = g, .loops = {.narrays = g->nleaves + 1, .arrays = {result}}};
  roc_ndrange range;
  int64_t rows;
  for (uint32_t i = 0; i < g->nleaves; i++) p.loops.arrays[i + 1] = g->leaves[i];
  roc_loops_plan(&p.loops, roc_loops_is_reversed(result));
  bool has_one_row = roc_loops_range(&p.loops, &range, &rows);
  uint64_t before = roc_expression_changes();
  int64_t work = (int64_t)roc_array_size(result) * g->nnodes;
  push_key(L, &p, has_one_row);
  if (!roc_graph_find_kernel(L, work, make_kernel, &p)) return false;
  if (roc_expression_changes() != before) return false;
  launch(L, &p, &range, rows);
  return true;
}

/* Computes `e`, or something that it needs; gives what has been computed, NULL: nothing. */
static roc_expression *advance(lua_State *L, roc_expression *e, const roc_expression **stepwise) {
  roc_expression *part = roc_graph_find_part(e), *target = part ? part : e;
  roc_graph g = {0};
  roc_graph_add(&g, &target->result);
  roc_graph_check(L, &g);
  if (g.nnodes > 1 && *stepwise != target) {
    if (run_fused(L, &g, &target->result)) return target;
    *stepwise = target;
    return NULL;
  }
  return roc_expression_run_one(L, g.nodes[0]) ? g.nodes[0] : NULL;
}

/* (light userdata: a buffer that is pending).  The collector is stopped: no finalizer runs. */
static int evaluate_buffer(lua_State *L) {
  roc_buffer *buffer = lua_touserdata(L, 1);
  luaL_checkstack(L, 40, NULL);
  roc_buffer_retain(buffer);
  roc_push_array(L, &roc_host_array_class)->buffer = buffer; /* holds it */
  const roc_expression *stepwise = NULL;
  for (roc_expression *e; (e = roc_buffer_pending(buffer));) {
    uint64_t before = roc_expression_changes();
    int top = lua_gettop(L);
    roc_expression *computed = advance(L, e, &stepwise);
    lua_settop(L, top);
    if (computed && roc_expression_changes() == before) roc_expression_end(computed);
  }
  return 0;
}

void roc_expression_call_uncollected(lua_State *L, int nargs, int nresults) {
  bool is_running = lua_gc(L, LUA_GCISRUNNING) == 1;
  if (is_running) lua_gc(L, LUA_GCSTOP);
  int status = lua_pcall(L, nargs, nresults, 0);
  if (is_running) lua_gc(L, LUA_GCRESTART);
  if (status != LUA_OK) lua_error(L);
}

void roc_expression_evaluate(lua_State *L, roc_buffer *buffer) {
  if (!roc_buffer_pending(buffer)) return;
  luaL_checkstack(L, 4, NULL);
  lua_pushcfunction(L, evaluate_buffer);
  lua_pushlightuserdata(L, buffer);
  roc_expression_call_uncollected(L, 1, 0);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

enum {
  BATCH_BYTES = 32 << 20, /* of operands of new expressions, after which they are looked through */
  LEAST_BYTES = 64 << 20  /* that expressions alone may keep alive in any case */
};

static _Thread_local size_t new_bytes;

static size_t most_bytes(void) {
  size_t quarter = roc_buffer_live_bytes() / 4;
  return quarter > LEAST_BYTES ? quarter : LEAST_BYTES;
}

void roc_expression_limit(lua_State *L, const roc_expression_state *state, size_t nbytes) {
  new_bytes += nbytes;
  if (roc_expression_count() <= ROC_EXPRESSION_MAX_PENDING && new_bytes < BATCH_BYTES) return;
  new_bytes = 0;
  uint32_t most = ROC_EXPRESSION_MAX_PENDING;
  for (roc_buffer *buffer;; most = ROC_EXPRESSION_MAX_PENDING / 2) {
    roc_array *holder = roc_push_array(L, &roc_host_array_class);
    buffer = holder->buffer = roc_expression_find_surplus(state, most, most_bytes());
    if (buffer) roc_expression_evaluate(L, buffer);
    lua_pop(L, 1);
    if (!buffer) return;
  }
}
