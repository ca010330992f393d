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
#include <string.h>

#include "bindings/device/device_bind.h"
#include "bindings/expression/expression.h"
#include "bindings/expression/graph.h"
#include "bindings/expression/joint.h"
#include "bindings/expression/rows.h"
#include "bindings/kernel/kernel_bind.h"

/* ---- kernels --------------------------------------------------------------------------------- */

/* A graph, and the loops over its outputs. */
typedef struct plan {
  const roc_graph *graph;
  roc_loops loops;
} plan;

static const roc_array *output_at(const roc_graph *g, uint32_t i) {
  return &g->nodes[g->outputs[i]]->result;
}

/* As roc_loops has arrays: the first output, the leaves, the other outputs. */
static void fill_arrays(plan *p) {
  const roc_graph *g = p->graph;
  p->loops.arrays[p->loops.narrays++] = output_at(g, 0);
  for (uint32_t i = 0; i < g->nleaves; i++) p->loops.arrays[p->loops.narrays++] = g->leaves[i];
  for (uint32_t i = 1; i < g->noutputs; i++) p->loops.arrays[p->loops.narrays++] = output_at(g, i);
}

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
  lua_createtable(L, (int)p->graph->noutputs, 0);
  for (uint32_t i = 0; i < p->graph->noutputs; i++) {
    lua_pushinteger(L, (lua_Integer)p->graph->outputs[i] + 1);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_call(L, 6, 1);
}

/* ---- evaluation ------------------------------------------------------------------------------ */

/* What is to be computed, and where. */
typedef struct evaluation {
  roc_buffer *buffer;
  const roc_array *const *wanted; /* as well, on the stack of the caller */
  uint32_t nwanted;
  roc_rt_stream *stream; /* retained; NULL: host memory */
  bool is_alone;         /* there was no memory for several outputs at once */
  bool is_last_try;      /* memory that is out is an error */
  /* The outputs of a kernel that is not there yet: they are computed operation by operation. */
  const roc_expression *stepwise[ROC_EXPRESSION_MAX_OUTPUTS];
} evaluation;

/* Launches the kernel on top of the stack; false: its code is not there yet. */
static bool launch(lua_State *L, const plan *p, roc_rt_stream *stream, const roc_ndrange *range,
                   int64_t rows) {
  roc_kernel_operand operands[ROC_EXPRESSION_MAX_LEAVES + ROC_EXPRESSION_MAX_SCALARS +
                              ROC_EXPRESSION_MAX_OUTPUTS + 1];
  const roc_graph *g = p->graph;
  uint32_t n = roc_graph_fill(g, &p->loops, operands);
  for (uint32_t i = 1; i <= g->noutputs; i++) { /* the first is the last */
    operands[n] = roc_loops_operand(&p->loops, i < g->noutputs ? g->nleaves + i : 0);
    operands[n++].is_result = true;
  }
  if (p->loops.count > 1) {
    operands[n++] = (roc_kernel_operand){.scalar = {.type = ROC_VT_INT, .as.i = rows}};
  }
  roc_rt_device *device = roc_open_device_at(L, g->nodes[0]->device);
  roc_place place = {0};
  for (uint32_t i = 0; !place.file && i < g->nnodes; i++) place = g->nodes[i]->place;
  roc_graph_note_pass(g);
  return roc_kernel_launch_operands(L, lua_gettop(L), device, stream, range, place, operands, n,
                                    roc_graph_may_be_later());
}

/* What a step has done. */
typedef enum progress { NOTHING, COMPUTED, NO_MEMORY } progress;

/* Memory for what is computed next; false: there is none, and collecting may give some. */
static bool provide(lua_State *L, const evaluation *v, const roc_array *result) {
  roc_error err = ROC_ERROR_INIT;
  roc_status status = roc_buffer_provide(result->buffer, &err);
  if (status == ROC_OOM && !v->is_last_try) return false;
  if (status != ROC_OK) roc_lua_raise_named(L, &err);
  roc_gc_account(L, roc_array_nbytes(result)); /* the collector, which is stopped, hears it later */
  return true;
}

static bool provide_all(lua_State *L, const evaluation *v, const roc_graph *g) {
  for (uint32_t i = 0; i < g->noutputs; i++) {
    if (!provide(L, v, output_at(g, i))) return false;
  }
  return true;
}

/* NOTHING: no kernel is worth it yet, or there, or Lua code has changed what is pending. */
static progress run_fused(lua_State *L, const evaluation *v, const roc_graph *g) {
  plan p;
  p.graph = g;
  p.loops.narrays = 0;
  roc_ndrange range;
  int64_t rows;
  fill_arrays(&p);
  roc_loops_plan(&p.loops, roc_loops_is_reversed(output_at(g, 0)));
  bool has_one_row = roc_loops_range(&p.loops, &range, &rows);
  uint64_t before = roc_expression_changes();
  int64_t work = roc_array_size(output_at(g, 0)) * g->nnodes;
  push_key(L, &p, has_one_row);
  if (!roc_graph_find_kernel(L, work, make_kernel, &p)) return NOTHING;
  if (roc_expression_changes() != before) return NOTHING;
  if (!provide_all(L, v, g)) return NO_MEMORY;
  return launch(L, &p, v->stream, &range, rows) ? COMPUTED : NOTHING;
}

static progress compute_one(lua_State *L, const evaluation *v, roc_expression *e) {
  if (!provide(L, v, &e->result)) return NO_MEMORY;
  return roc_expression_run_one(L, e, v->stream) ? COMPUTED : NOTHING;
}

/* The same of rows. */
static progress run_rows(lua_State *L, const evaluation *v, const roc_expression *e) {
  roc_rows rows;
  if (!roc_rows_plan(e, &rows)) return NOTHING;
  roc_graph_check(L, &rows.graph);
  uint64_t before = roc_expression_changes();
  if (!roc_rows_push_kernel(L, &rows)) return NOTHING;
  if (roc_expression_changes() != before) return NOTHING;
  if (!provide(L, v, &e->result)) return NO_MEMORY;
  return roc_rows_launch(L, &rows, e, v->stream) ? COMPUTED : NOTHING;
}

/* Keeps a buffer while what is pushed is on the stack. */
static void hold(lua_State *L, roc_buffer *buffer) {
  roc_buffer_retain(buffer);
  roc_push_array(L, &roc_host_array_class)->buffer = buffer;
}

/* What has been printed meanwhile may have run Lua code that has looked at it, too. */
static progress end(progress done, const roc_buffer *result) {
  roc_expression *computed = done == COMPUTED ? roc_buffer_pending(result) : NULL;
  if (computed) roc_expression_end(computed);
  return done;
}

static progress compute_rows(lua_State *L, const evaluation *v, roc_expression *e) {
  if (!e->has_reduction) return NOTHING;
  roc_buffer *result = e->result.buffer;
  hold(L, result);
  return end(run_rows(L, v, e), result);
}

/* Adds what is wanted as well and lies as the first output does, and parts that are worth storing. */
static void add_outputs(const evaluation *v, roc_graph *g) {
  for (uint32_t i = 0; i < v->nwanted; i++) {
    roc_buffer *buffer = v->wanted[i]->buffer; /* NULL: it has been closed meanwhile */
    roc_expression *e = buffer ? roc_buffer_pending(buffer) : NULL;
    if (e) roc_graph_add_output(g, e);
  }
  roc_graph_store_parts(g);
}

static bool is_stepwise(const evaluation *v, const roc_expression *e) {
  for (uint32_t i = 0; i < ROC_EXPRESSION_MAX_OUTPUTS; i++) {
    if (v->stepwise[i] == e) return true;
  }
  return false;
}

static void set_stepwise(evaluation *v, const roc_graph *g) {
  for (uint32_t i = 0; i < g->noutputs; i++) v->stepwise[i] = g->nodes[g->outputs[i]];
}

/* One operation, the first: what is left of the graph comes after it. */
static progress compute_first(lua_State *L, const evaluation *v, const roc_graph *g) {
  roc_buffer *result = g->nodes[0]->result.buffer;
  hold(L, result);
  return end(compute_one(L, v, g->nodes[0]), result);
}

/* Of no expression that is below `e`, and is a reduction or worth storing apart. */
static progress compute_plain(lua_State *L, evaluation *v, roc_expression *e) {
  roc_graph g;
  roc_buffer *results[ROC_EXPRESSION_MAX_OUTPUTS];
  roc_graph_begin(&g);
  roc_graph_add_output(&g, e);
  roc_graph_check(L, &g);
  bool steps = is_stepwise(v, e);
  if (!steps && !v->is_alone) add_outputs(v, &g);
  if (steps || g.nnodes == 1) return compute_first(L, v, &g);
  uint32_t noutputs = g.noutputs;
  for (uint32_t i = 0; i < noutputs; i++) hold(L, results[i] = output_at(&g, i)->buffer);
  set_stepwise(v, &g); /* if it is computed now, it is not met again */
  progress done = run_fused(L, v, &g);
  if (done == NO_MEMORY && noutputs > 1) {
    memset(v->stepwise, 0, sizeof v->stepwise);
    v->is_alone = true;
    return NOTHING;
  }
  for (uint32_t i = 0; i < noutputs; i++) end(done, results[i]);
  return done;
}

/* The reductions that are `e` or below it, with no other below, and those of what is wanted as well
 * that one pass computes with the first of them. */
static roc_joint find_joint(const evaluation *v, roc_expression *e) {
  roc_joint joint = {0};
  roc_joint_add(&joint, e);
  if (v->is_alone) joint.count = joint.count > 0;
  for (uint32_t i = 0; i < v->nwanted && joint.count > 0 && !v->is_alone; i++) {
    roc_buffer *buffer = v->wanted[i]->buffer;
    roc_expression *wanted = buffer ? roc_buffer_pending(buffer) : NULL;
    if (wanted) roc_joint_add(&joint, wanted);
  }
  return joint;
}

static progress compute_joint(lua_State *L, evaluation *v, roc_joint *joint) {
  roc_buffer *results[ROC_EXPRESSION_MAX_OUTPUTS];
  roc_joint_check(L, joint);
  for (uint32_t i = 0; i < joint->count; i++) {
    hold(L, results[i] = joint->members[i]->result.buffer);
  }
  for (uint32_t i = 0; i < joint->count; i++) {
    if (provide(L, v, &joint->members[i]->result)) continue;
    if (i == 0) return NO_MEMORY;
    joint->count = i;
  }
  uint32_t stored = roc_joint_run(L, joint);
  for (uint32_t i = 0; i < stored; i++) end(COMPUTED, results[i]);
  return COMPUTED;
}

/* Whether a kernel of rows computes it, if what it reduces is memory. */
static bool is_of_row(const roc_expression *reduction) {
  const roc_array *a = &reduction->operands[0].array;
  uint32_t last = a->rank - 1;
  return reduction->axis == last && roc_rows_fit(a->extents[last], a->strides[last]);
}

/* Reductions with no other below: several in one pass; else the one, with what it reduces, as rows;
 * else what it reduces, which then is rows; else by the tree of reductions. */
static progress compute_reductions(lua_State *L, evaluation *v, roc_expression *target,
                                   roc_joint *joint) {
  uint64_t before = roc_expression_changes();
  roc_expression *reduction = joint->members[0];
  if (joint->count > 1) return compute_joint(L, v, joint);
  if (reduction != target) {
    progress done = compute_rows(L, v, reduction);
    if (done != NOTHING || roc_expression_changes() != before) return done;
  }
  roc_expression *reduced = roc_buffer_pending(reduction->operands[0].array.buffer);
  if (reduced && is_of_row(reduction)) return compute_plain(L, v, reduced);
  return compute_joint(L, v, joint);
}

/* Computes `e`, or something that it needs: parts that are worth storing, but for those that the
 * kernel of `e` stores; `e` with the reductions below it, as rows, unless it is a reduction that one
 * pass computes with others; else the innermost of these. */
static progress advance(lua_State *L, evaluation *v, roc_expression *e) {
  const roc_expression *with = e->has_reduction || v->is_alone ? NULL : e;
  roc_expression *part = roc_graph_find_part(e, with), *target = part ? part : e;
  uint64_t before = roc_expression_changes();
  roc_joint joint = find_joint(v, target);
  bool is_joint = joint.count > 1 && joint.members[0] == target;
  progress done = is_joint ? NOTHING : compute_rows(L, v, target);
  if (done != NOTHING || roc_expression_changes() != before) return done;
  return joint.count > 0 ? compute_reductions(L, v, target, &joint) : compute_plain(L, v, target);
}

/* (light userdata: an evaluation) -> nil, or, where memory is out, what holds the buffer.  The
 * collector is stopped: no finalizer runs. */
static int evaluate_buffer(lua_State *L) {
  evaluation *v = lua_touserdata(L, 1);
  luaL_checkstack(L, 40, NULL);
  hold(L, v->buffer);
  int holder = lua_gettop(L);
  for (roc_expression *e; (e = roc_buffer_pending(v->buffer));) {
    progress done = advance(L, v, e);
    lua_settop(L, holder);
    if (done == NO_MEMORY) return 1;
  }
  lua_pushnil(L);
  return 1;
}

int roc_expression_call_uncollected(lua_State *L, int nargs, int nresults) {
  bool is_running = lua_gc(L, LUA_GCISRUNNING) == 1;
  if (is_running) lua_gc(L, LUA_GCSTOP);
  int status = lua_pcall(L, nargs, nresults, 0);
  if (is_running) lua_gc(L, LUA_GCRESTART);
  return status;
}

/* Leaves nil or a holder, or an error, and gives the status. */
static int try_to_evaluate(lua_State *L, evaluation *v) {
  lua_pushcfunction(L, evaluate_buffer);
  lua_pushlightuserdata(L, v);
  return roc_expression_call_uncollected(L, 1, 1);
}

/* The stream, retained, that computes device memory. */
static roc_rt_stream *choose_stream(lua_State *L, const roc_buffer *buffer, roc_rt_stream *asked) {
  roc_rt_device *device = roc_buffer_device(buffer);
  if (!device) return NULL;
  if (asked && roc_rt_stream_device(asked) == device) {
    roc_rt_stream_retain(asked);
    return asked;
  }
  roc_error err = ROC_ERROR_INIT;
  roc_rt_stream *own;
  ROC_LUA_TRY(L, roc_rt_own_stream(roc_session(L), device, &own, &err), &err);
  return own;
}

static void evaluate(lua_State *L, evaluation *v, roc_buffer *buffer, roc_rt_stream *stream) {
  luaL_checkstack(L, 4, NULL);
  int top = lua_gettop(L);
  v->buffer = buffer;
  v->stream = choose_stream(L, buffer, stream);
  v->is_alone = v->is_last_try = false;
  int status = try_to_evaluate(L, v);
  if (status == LUA_OK && !lua_isnil(L, -1)) { /* the holder stays on the stack */
    roc_gc_reclaim(L);
    v->is_last_try = true;
    status = try_to_evaluate(L, v);
  }
  roc_rt_stream_release(v->stream);
  if (status != LUA_OK) lua_error(L);
  lua_settop(L, top);
}

void roc_expression_evaluate(lua_State *L, roc_buffer *buffer, roc_rt_stream *stream) {
  evaluation v = {0};
  if (roc_buffer_pending(buffer)) evaluate(L, &v, buffer, stream);
}

enum { MAX_WANTED = 16 }; /* at once */

bool roc_expression_evaluate_all(lua_State *L, int first, int count, roc_rt_stream *stream) {
  const roc_array *wanted[MAX_WANTED];
  evaluation v = {.wanted = wanted};
  bool found = false;
  for (int i = 0; i < count && i < MAX_WANTED; i++) {
    const roc_array_box *box = roc_test_array_box(L, first + i);
    if (box && box->array.buffer) wanted[v.nwanted++] = &box->array;
  }
  for (uint32_t i = 0; i < v.nwanted; i++) {
    roc_buffer *buffer = wanted[i]->buffer;
    if (!buffer || !roc_buffer_pending(buffer)) continue;
    evaluate(L, &v, buffer, stream);
    found = true;
  }
  if (count <= MAX_WANTED) return found;
  return roc_expression_evaluate_all(L, first + MAX_WANTED, count - MAX_WANTED, stream) || found;
}

/* (light userdata: a buffer, a stream or NULL) */
static int evaluate_early(lua_State *L) {
  roc_expression_evaluate(L, lua_touserdata(L, 1), lua_touserdata(L, 2));
  return 0;
}

int roc_expression_evaluate_early(lua_State *L, roc_buffer *buffer, roc_rt_stream *stream) {
  luaL_checkstack(L, 4, NULL);
  lua_pushcfunction(L, evaluate_early);
  lua_pushlightuserdata(L, buffer);
  lua_pushlightuserdata(L, stream);
  int status = lua_pcall(L, 2, 0, 0);
  roc_expression *e = roc_buffer_pending(buffer);
  if (e) e->is_skipped = true;
  return status;
}

/* ---- reductions ------------------------------------------------------------------------------ */

bool roc_expression_compute_reductions_of(lua_State *L, roc_buffer *buffer) {
  if (!roc_buffer_device(buffer) || roc_expression_count_reductions() == 0) return false;
  const roc_expression_state *state = roc_expression_state_of(L);
  if (state->nreducing > 0) return false;
  luaL_checkstack(L, 2, NULL);
  int top = lua_gettop(L);
  for (bool found = false;; found = true) {
    roc_array *holder = roc_push_array(L, &roc_host_array_class);
    holder->buffer = roc_expression_find_reduction_of(state, buffer);
    bool is_last = !holder->buffer;
    if (!is_last) roc_expression_evaluate_early(L, holder->buffer, NULL);
    lua_settop(L, top);
    if (is_last) return found;
  }
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

static roc_rt_stream *default_stream_of(lua_State *L, const roc_buffer *buffer) {
  roc_rt_device *device = roc_buffer_device(buffer);
  return device ? roc_default_stream(L, device) : NULL;
}

/* Whether the error on top of the stack is the interrupt of a user. */
static bool is_interrupt(lua_State *L) {
  bool is = strstr(luaL_tolstring(L, -1, NULL), "interrupted!") != NULL;
  lua_pop(L, 1);
  return is;
}

void roc_expression_limit(lua_State *L, const roc_expression_state *state, size_t nbytes) {
  new_bytes += nbytes;
  if (roc_expression_count() <= ROC_EXPRESSION_MAX_PENDING && new_bytes < BATCH_BYTES) return;
  new_bytes = 0;
  uint32_t most = ROC_EXPRESSION_MAX_PENDING;
  for (roc_buffer *buffer;; most = ROC_EXPRESSION_MAX_PENDING / 2) {
    roc_array *holder = roc_push_array(L, &roc_host_array_class);
    buffer = holder->buffer = roc_expression_find_surplus(state, most, most_bytes());
    int top = lua_gettop(L);
    roc_rt_stream *stream = buffer ? default_stream_of(L, buffer) : NULL;
    if (buffer && roc_expression_evaluate_early(L, buffer, stream) != LUA_OK && is_interrupt(L)) {
      lua_error(L);
    }
    lua_settop(L, top - 1);
    if (!buffer) return;
  }
}
