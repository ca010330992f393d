/* Graphs of expressions, and the kernels that are kept by structure; see graph.h. */
#include "bindings/expression/graph.h"

#include <string.h>

/* Its address is the registry key of a table: by structure its kernel, or the work so far. */
static const char kernels_key;

enum { MAX_STRUCTURES = 512, COUNT = 1 }; /* the table's own count is at COUNT */

/* A compilation takes some 50 ms; in one a core does about that many operations on elements.  0: all
 * is compiled at once, before it is computed. */
static int64_t least_work = 1 << 25;

int64_t roc_expression_set_work(int64_t work) {
  int64_t previous = least_work;
  least_work = work;
  return previous;
}

/* ---- nodes and leaves ------------------------------------------------------------------------ */

static bool is_same(const roc_array *a, const roc_array *b) {
  return a->buffer == b->buffer && a->dtype == b->dtype && a->offset == b->offset &&
         roc_array_same_shape(a, b) &&
         memcmp(a->strides, b->strides, a->rank * sizeof *a->strides) == 0;
}

static uint32_t add_leaf(roc_graph *g, const roc_array *a) {
  for (uint32_t i = 0; i < g->nleaves; i++) {
    if (is_same(g->leaves[i], a)) return i;
  }
  g->leaves[g->nleaves] = a;
  return g->nleaves++;
}

static uint32_t add_scalar(roc_graph *g, roc_scalar value) {
  g->scalars[g->nscalars] = value;
  return g->nscalars++;
}

static uint32_t add_node(roc_graph *g, roc_expression *e) {
  for (uint32_t i = 0; i < g->nnodes; i++) {
    if (g->nodes[i] == e) return i;
  }
  roc_graph_operand operands[ROC_EXPRESSION_MAX_OPERANDS];
  for (uint32_t i = 0; i < e->noperands; i++) {
    const roc_expression_operand *o = &e->operands[i];
    operands[i] = o->array.buffer ? roc_graph_add(g, &o->array)
                                  : (roc_graph_operand){ROC_GRAPH_SCALAR, add_scalar(g, o->scalar)};
  }
  memcpy(g->operands[g->nnodes], operands, sizeof operands);
  g->nodes[g->nnodes] = e;
  return g->nnodes++;
}

roc_graph_operand roc_graph_add(roc_graph *g, const roc_array *a) {
  roc_expression *e = roc_expression_of(a);
  if (e) return (roc_graph_operand){ROC_GRAPH_NODE, add_node(g, e)};
  return (roc_graph_operand){ROC_GRAPH_LEAF, add_leaf(g, a)};
}

bool roc_graph_is_worth_storing(const roc_expression *e) {
  return e->passes_left == 0;
}

/* Whether one kernel can store both: where an element of one fails, that of the other is missing. */
static bool can_join(const roc_expression *first, const roc_expression *e) {
  const roc_array *a = &first->result, *b = &e->result;
  bool is_kind = !e->has_reduction && !e->may_fail && !first->may_fail;
  return is_kind && first->device == e->device && roc_array_same_shape(a, b) &&
         memcmp(a->strides, b->strides, a->rank * sizeof *a->strides) == 0;
}

roc_expression *roc_graph_find_part(const roc_expression *e, const roc_expression *with) {
  for (uint32_t i = 0; i < e->noperands; i++) {
    const roc_array *a = &e->operands[i].array;
    roc_expression *inner = a->buffer ? roc_expression_of(a) : NULL;
    roc_expression *part = inner ? roc_graph_find_part(inner, with) : NULL;
    if (part) return part;
    bool is_part = inner && inner->pass != e->pass && roc_graph_is_worth_storing(inner);
    if (is_part && !(with && can_join(with, inner))) return inner;
  }
  return NULL;
}

roc_expression *roc_graph_find_reduction(roc_expression *e) {
  if (!e->has_reduction) return NULL;
  for (uint32_t i = 0; i < e->noperands; i++) {
    const roc_array *a = &e->operands[i].array;
    roc_expression *inner = a->buffer ? roc_expression_of(a) : NULL;
    roc_expression *found = inner ? roc_graph_find_reduction(inner) : NULL;
    if (found) return found;
  }
  return e->op->is_reduction ? e : NULL;
}

static bool is_output(const roc_graph *g, uint32_t node) {
  for (uint32_t i = 0; i < g->noutputs; i++) {
    if (g->outputs[i] == node) return true;
  }
  return false;
}

static bool is_within_bounds(const roc_graph *g) {
  return g->nnodes <= ROC_EXPRESSION_MAX_NODES && g->nleaves <= ROC_EXPRESSION_MAX_LEAVES &&
         g->nscalars <= ROC_EXPRESSION_MAX_SCALARS;
}

/* Whether nodes from the given one on lack an operand, which could not be kept. */
static bool has_failed_from(const roc_graph *g, uint32_t node) {
  for (uint32_t i = node; i < g->nnodes; i++) {
    if (g->nodes[i]->has_failed) return true;
  }
  return false;
}

bool roc_graph_add_output(roc_graph *g, roc_expression *e) {
  if (g->noutputs > 0 && !can_join(g->nodes[g->outputs[0]], e)) return false;
  if (g->noutputs == ROC_EXPRESSION_MAX_OUTPUTS) return false;
  uint32_t nnodes = g->nnodes, nleaves = g->nleaves, nscalars = g->nscalars;
  uint32_t node = add_node(g, e);
  bool is_further = g->noutputs > 0;
  if (is_further && (!is_within_bounds(g) || has_failed_from(g, nnodes) || is_output(g, node))) {
    g->nnodes = nnodes;
    g->nleaves = nleaves;
    g->nscalars = nscalars;
    return false;
  }
  g->outputs[g->noutputs++] = node;
  return true;
}

static void store_part(roc_graph *g, const roc_expression *e, roc_graph_operand operand) {
  if (operand.source != ROC_GRAPH_NODE || is_output(g, operand.index)) return;
  const roc_expression *first = g->nodes[g->outputs[0]], *inner = g->nodes[operand.index];
  bool is_part = inner->pass != e->pass && roc_graph_is_worth_storing(inner);
  bool has_room = g->noutputs < ROC_EXPRESSION_MAX_OUTPUTS;
  if (is_part && has_room && can_join(first, inner)) g->outputs[g->noutputs++] = operand.index;
}

void roc_graph_store_parts(roc_graph *g) {
  for (uint32_t n = 0; n < g->nnodes; n++) {
    const roc_expression *e = g->nodes[n];
    for (uint32_t i = 0; i < e->noperands; i++) store_part(g, e, g->operands[n][i]);
  }
}

void roc_graph_note_pass(const roc_graph *g) {
  static _Thread_local uint64_t passes;
  passes++;
  for (uint32_t i = 0; i < g->nnodes; i++) {
    g->nodes[i]->pass = passes;
    if (g->nodes[i]->passes_left > 0) g->nodes[i]->passes_left--;
  }
}

void roc_graph_check(lua_State *L, const roc_graph *g) {
  for (uint32_t i = 0; i < g->nnodes; i++) {
    if (!g->nodes[i]->has_failed) continue;
    luaL_error(L,
               "out of memory: no room to keep an operand of this expression, which was "
               "overwritten since");
  }
}

/* ---- texts ----------------------------------------------------------------------------------- */

void roc_graph_add_key(luaL_Buffer *b, const roc_graph *g, const roc_loops *loops) {
  for (uint32_t n = 0; n < g->nnodes; n++) {
    const roc_expression *e = g->nodes[n];
    luaL_addlstring(b, (const char *)&e->op, sizeof e->op);
    luaL_addchar(b, (char)(e->is_square | e->result.dtype << 1));
    for (uint32_t i = 0; i < e->noperands; i++) {
      luaL_addchar(b, (char)g->operands[n][i].source);
      luaL_addchar(b, (char)g->operands[n][i].index);
      luaL_addchar(b, (char)e->operands[i].kind);
    }
  }
  for (uint32_t i = 0; i < g->noutputs; i++) luaL_addchar(b, (char)g->outputs[i]);
  luaL_addlstring(b, (const char *)loops->walks, loops->narrays);
  luaL_addchar(b, (char)g->noutputs);
  luaL_addchar(b, (char)loops->count);
}

void roc_graph_push_name(lua_State *L, roc_graph_operand operand) {
  static const char *const letters[] = {
      [ROC_GRAPH_LEAF] = "x", [ROC_GRAPH_SCALAR] = "s", [ROC_GRAPH_NODE] = "t"};
  lua_pushfstring(L, "%s%d", letters[operand.source], (int)operand.index + 1);
}

static void push_operands(lua_State *L, const roc_graph *g, uint32_t n) {
  lua_createtable(L, ROC_EXPRESSION_MAX_OPERANDS, 0);
  for (uint32_t i = 0; i < g->nodes[n]->noperands; i++) {
    roc_graph_push_name(L, g->operands[n][i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

void roc_graph_push_nodes(lua_State *L, const roc_graph *g) {
  lua_createtable(L, (int)g->nnodes, 0);
  for (uint32_t n = 0; n < g->nnodes; n++) {
    const roc_expression *e = g->nodes[n];
    lua_createtable(L, 0, 6);
    lua_pushstring(L, e->op->name);
    lua_setfield(L, -2, "name");
    lua_pushboolean(L, e->is_square);
    lua_setfield(L, -2, "square");
    lua_pushboolean(L, e->op->is_reduction);
    lua_setfield(L, -2, "reduces");
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

void roc_graph_set_fields(lua_State *L, const roc_graph *g, const roc_loops *loops) {
  roc_graph_push_nodes(L, g);
  lua_setfield(L, -2, "nodes");
  lua_pushinteger(L, g->nleaves);
  lua_setfield(L, -2, "leaves");
  lua_pushinteger(L, g->nscalars);
  lua_setfield(L, -2, "scalars");
  roc_loops_push(L, loops);
  lua_setfield(L, -3, "walks");
  lua_setfield(L, -2, "extents");
}

uint32_t roc_graph_fill(const roc_graph *g, const roc_loops *loops, roc_kernel_operand *operands) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < g->nleaves; i++) operands[n++] = roc_loops_operand(loops, i + 1);
  for (uint32_t i = 0; i < g->nscalars; i++) {
    operands[n++] = (roc_kernel_operand){.scalar = g->scalars[i]};
  }
  return n;
}

/* ---- kernels --------------------------------------------------------------------------------- */

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

bool roc_graph_may_be_later(void) {
  return least_work > 0;
}

bool roc_graph_find_kernel(lua_State *L, int64_t work, void (*make)(lua_State *L, const void *ud),
                           const void *ud) {
  int key = lua_gettop(L), structures = key + 1, found = key + 2;
  push_structures(L);
  lua_pushvalue(L, key);
  int type = lua_rawget(L, structures);
  if (type == LUA_TNIL) count_structure(L, structures);
  if (type != LUA_TUSERDATA && type != LUA_TBOOLEAN) {
    lua_Integer sum = lua_tointeger(L, found) + work;
    if (sum < least_work) {
      lua_pushinteger(L, sum);
    } else {
      make(L, ud);
      roc_expression_guard(L);
    }
    lua_replace(L, found);
    lua_pushvalue(L, key);
    lua_pushvalue(L, found);
    lua_rawset(L, structures);
  }
  bool is_kernel = lua_isuserdata(L, found);
  lua_replace(L, key);
  lua_settop(L, is_kernel ? key : key - 1);
  return is_kernel;
}
