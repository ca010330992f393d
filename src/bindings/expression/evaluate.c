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
#include "bindings/expression/loops.h"
#include "bindings/kernel/kernel_bind.h"

/* Its address is the registry key of a table: by structure its kernel, or the work so far. */
static const char kernels_key;

enum { MAX_STRUCTURES = 512, COUNT = 1 }; /* the table's own count is at COUNT */

/* A compilation takes some 50 ms; in one a core does about that many operations on elements. */
static int64_t least_work = 1 << 25;

int64_t roc_expression_set_work(int64_t work) {
  int64_t previous = least_work;
  least_work = work;
  return previous;
}

/* What an operand is in a graph. */
typedef enum source { LEAF, SCALAR, NODE } source;

typedef struct graph {
  roc_expression *nodes[ROC_EXPRESSION_MAX_NODES]; /* operands before what uses them */
  const roc_array *leaves[ROC_EXPRESSION_MAX_LEAVES];
  roc_scalar scalars[ROC_EXPRESSION_MAX_SCALARS];
  uint32_t nnodes, nleaves, nscalars;
  struct {
    source source;
    uint32_t index;
  } operands[ROC_EXPRESSION_MAX_NODES][ROC_EXPRESSION_MAX_OPERANDS];
} graph;

/* ---- the graph ------------------------------------------------------------------------------- */

static bool is_same(const roc_array *a, const roc_array *b) {
  return a->buffer == b->buffer && a->dtype == b->dtype && a->offset == b->offset &&
         roc_array_same_shape(a, b) &&
         memcmp(a->strides, b->strides, a->rank * sizeof *a->strides) == 0;
}

static uint32_t add_leaf(graph *g, const roc_array *a) {
  for (uint32_t i = 0; i < g->nleaves; i++) {
    if (is_same(g->leaves[i], a)) return i;
  }
  g->leaves[g->nleaves] = a;
  return g->nleaves++;
}

static uint32_t add_node(graph *g, roc_expression *e) {
  for (uint32_t i = 0; i < g->nnodes; i++) {
    if (g->nodes[i] == e) return i;
  }
  uint32_t indices[ROC_EXPRESSION_MAX_OPERANDS];
  source sources[ROC_EXPRESSION_MAX_OPERANDS];
  for (uint32_t i = 0; i < e->noperands; i++) {
    const roc_expression_operand *o = &e->operands[i];
    roc_expression *inner = o->array.buffer ? roc_expression_of(&o->array) : NULL;
    sources[i] = inner ? NODE : o->array.buffer ? LEAF : SCALAR;
    if (inner) {
      indices[i] = add_node(g, inner);
    } else if (o->array.buffer) {
      indices[i] = add_leaf(g, &o->array);
    } else {
      g->scalars[g->nscalars] = o->scalar;
      indices[i] = g->nscalars++;
    }
  }
  for (uint32_t i = 0; i < e->noperands; i++) {
    g->operands[g->nnodes][i].source = sources[i];
    g->operands[g->nnodes][i].index = indices[i];
  }
  g->nodes[g->nnodes] = e;
  return g->nnodes++;
}

/* What is below e, was computed as a part of another kernel, and is needed again; NULL: nothing. */
static roc_expression *find_part(const roc_expression *e) {
  for (uint32_t i = 0; i < e->noperands; i++) {
    const roc_array *a = &e->operands[i].array;
    roc_expression *inner = a->buffer ? roc_expression_of(a) : NULL;
    roc_expression *part = inner ? find_part(inner) : NULL;
    if (part) return part;
    if (inner && inner->has_been_fused) return inner;
  }
  return NULL;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void push_key(lua_State *L, const graph *g, const roc_loops *loops, bool has_one_row) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (uint32_t n = 0; n < g->nnodes; n++) {
    const roc_expression *e = g->nodes[n];
    luaL_addlstring(&b, (const char *)&e->op, sizeof e->op);
    luaL_addchar(&b, (char)(e->is_square | e->result.dtype << 1));
    for (uint32_t i = 0; i < e->noperands; i++) {
      luaL_addchar(&b, (char)g->operands[n][i].source);
      luaL_addchar(&b, (char)g->operands[n][i].index);
      luaL_addchar(&b, (char)e->operands[i].kind);
    }
  }
  luaL_addlstring(&b, (const char *)loops->walks, loops->narrays);
  luaL_addchar(&b, (char)loops->count);
  luaL_addchar(&b, (char)has_one_row);
  luaL_pushresult(&b);
}

static void push_operands(lua_State *L, const graph *g, uint32_t n) {
  static const char *const letters[] = {[LEAF] = "x", [SCALAR] = "s", [NODE] = "t"};
  lua_createtable(L, ROC_EXPRESSION_MAX_OPERANDS, 0);
  for (uint32_t i = 0; i < g->nodes[n]->noperands; i++) {
    lua_pushfstring(L, "%s%d", letters[g->operands[n][i].source], (int)g->operands[n][i].index + 1);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Pushes a list of {name =, square =, kinds =, dtype =, operands =}. */
static void push_nodes(lua_State *L, const graph *g) {
  lua_createtable(L, (int)g->nnodes, 0);
  for (uint32_t n = 0; n < g->nnodes; n++) {
    const roc_expression *e = g->nodes[n];
    lua_createtable(L, 0, 5);
    lua_pushstring(L, e->op->name);
    lua_setfield(L, -2, "name");
    lua_pushboolean(L, e->is_square);
    lua_setfield(L, -2, "square");
    lua_createtable(L, ROC_EXPRESSION_MAX_OPERANDS, 0);
    for (uint32_t i = 0; i < e->noperands; i++) {
      roc_expression_push_kind(L, e->operands[i].kind);
      lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, "kinds");
    roc_push_dtype(L, e->result.dtype);
    lua_setfield(L, -2, "dtype");
    push_operands(L, g, n);
    lua_setfield(L, -2, "operands");
    lua_rawseti(L, -2, (lua_Integer)n + 1);
  }
}

/* Pushes the table of structures, an empty one when it has become too large. */
static void push_structures(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &kernels_key) == LUA_TTABLE) {
    lua_rawgeti(L, -1, COUNT);
    bool has_room = lua_tointeger(L, -1) < MAX_STRUCTURES;
    lua_pop(L, 1);
    if (has_room) return;
  }
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kernels_key);
}

static void count_structure(lua_State *L, int structures) {
  lua_rawgeti(L, structures, COUNT);
  lua_pushinteger(L, lua_tointeger(L, -1) + 1);
  lua_rawseti(L, structures, COUNT);
  lua_pop(L, 1);
}

static void make_kernel(lua_State *L, const graph *g, const roc_loops *loops) {
  roc_expression_push_rule(L, "fused");
  push_nodes(L, g);
  lua_pushinteger(L, g->nleaves);
  lua_pushinteger(L, g->nscalars);
  roc_loops_push(L, loops);
  lua_call(L, 5, 1);
  roc_expression_guard(L);
}

/* Pushes the kernel; false, and pushes nothing, while the structure's work, this one's included, is
 * not worth one. */
static bool push_kernel(lua_State *L, const graph *g, const roc_loops *loops, bool has_one_row,
                        int64_t work) {
  push_structures(L);
  int structures = lua_gettop(L);
  push_key(L, g, loops, has_one_row);
  lua_pushvalue(L, -1);
  int found = lua_rawget(L, structures);
  if (found == LUA_TNIL) count_structure(L, structures);
  if (found != LUA_TUSERDATA) {
    lua_Integer sum = lua_tointeger(L, -1) + work;
    lua_pop(L, 1);
    if (sum < least_work) {
      lua_pushinteger(L, sum);
      lua_rawset(L, structures);
      lua_pop(L, 1);
      return false;
    }
    make_kernel(L, g, loops);
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -2);
    lua_rawset(L, structures);
  }
  lua_replace(L, structures);
  lua_settop(L, structures);
  return true;
}

/* ---- evaluation ------------------------------------------------------------------------------ */

/* Launches the kernel on top of the stack. */
static void launch(lua_State *L, const graph *g, const roc_loops *loops, const roc_ndrange *range,
                   int64_t rows) {
  roc_kernel_operand operands[ROC_EXPRESSION_MAX_LEAVES + ROC_EXPRESSION_MAX_SCALARS + 2];
  uint32_t n = 0;
  for (uint32_t i = 0; i < g->nleaves; i++) operands[n++] = roc_loops_operand(loops, i + 1);
  for (uint32_t i = 0; i < g->nscalars; i++) {
    operands[n++] = (roc_kernel_operand){.scalar = g->scalars[i]};
  }
  operands[n++] = roc_loops_operand(loops, 0);
  if (loops->count > 1) {
    operands[n++] = (roc_kernel_operand){.scalar = {.type = ROC_VT_INT, .as.i = rows}};
  }
  uint32_t device = g->nodes[g->nnodes - 1]->device;
  for (uint32_t i = 0; i + 1 < g->nnodes; i++) g->nodes[i]->has_been_fused = true;
  roc_kernel_launch_operands(L, lua_gettop(L), roc_open_device_at(L, device), range, operands, n);
}

/* False: no kernel is worth it yet, or Lua code has changed what is pending. */
static bool run_fused(lua_State *L, const graph *g, const roc_array *result) {
  roc_loops loops = {.narrays = g->nleaves + 1, .arrays = {result}};
  roc_ndrange range;
  int64_t rows;
  for (uint32_t i = 0; i < g->nleaves; i++) loops.arrays[i + 1] = g->leaves[i];
  roc_loops_plan(&loops, roc_loops_is_reversed(result));
  bool has_one_row = roc_loops_range(&loops, &range, &rows);
  uint64_t before = roc_expression_changes();
  int64_t work = (int64_t)roc_array_size(result) * g->nnodes;
  if (!push_kernel(L, g, &loops, has_one_row, work)) return false;
  if (roc_expression_changes() != before) return false;
  launch(L, g, &loops, &range, rows);
  return true;
}

static void check_operands(lua_State *L, const graph *g) {
  for (uint32_t i = 0; i < g->nnodes; i++) {
    if (!g->nodes[i]->has_failed) continue;
    luaL_error(L,
               "out of memory: no room to keep an operand of this expression, which was "
               "overwritten since");
  }
}

/* Computes `e`, or something that it needs; gives what has been computed, NULL: nothing. */
static roc_expression *advance(lua_State *L, roc_expression *e, const roc_expression **stepwise) {
  roc_expression *part = find_part(e), *target = part ? part : e;
  graph g = {0};
  add_node(&g, target);
  check_operands(L, &g);
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

void roc_expression_evaluate(lua_State *L, roc_buffer *buffer) {
  if (!roc_buffer_pending(buffer)) return;
  luaL_checkstack(L, 4, NULL);
  bool is_running = lua_gc(L, LUA_GCISRUNNING) == 1;
  if (is_running) lua_gc(L, LUA_GCSTOP);
  lua_pushcfunction(L, evaluate_buffer);
  lua_pushlightuserdata(L, buffer);
  int status = lua_pcall(L, 1, 0, 0);
  if (is_running) lua_gc(L, LUA_GCRESTART);
  if (status != LUA_OK) lua_error(L);
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
