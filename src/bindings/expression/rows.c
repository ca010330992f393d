/* Graphs of rows (rows.h).  The kernels' text is that of lua/roc/arrays/rows.lua. */
#include "bindings/expression/rows.h"

#include <string.h>

#include "bindings/device/device_bind.h"

enum {
  LANES = 64,         /* of a chunk */
  CHUNK = 64 * LANES, /* elements; the tree of sums (roc/arrays/tree.lua) begins with them */
  MAX_CHUNKS = 8      /* of a row: a workgroup of 512, of which each item has 64 elements */
};

bool roc_rows_fit(int64_t n, int64_t stride) {
  return n > LANES && n <= MAX_CHUNKS * CHUNK && stride == 1;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* What an array is to rows of a shape. */
typedef enum place { OTHER, ROWS, KEPT, DROPPED } place;

static bool starts_with(const roc_array *a, const roc_array *shape, uint32_t count) {
  return memcmp(a->extents, shape->extents, count * sizeof *a->extents) == 0;
}

/* One element a row: with an extent of 1 in the last dimension (KEPT), or without it (DROPPED). */
static place place_of(const roc_array *a, const roc_array *shape) {
  uint32_t last = shape->rank - 1;
  if (a->rank == last) return starts_with(a, shape, last) ? DROPPED : OTHER;
  if (a->rank != shape->rank || !starts_with(a, shape, last)) return OTHER;
  if (a->extents[last] == shape->extents[last]) return ROWS;
  return a->extents[last] == 1 ? KEPT : OTHER;
}

static const roc_array *operand_array(const roc_graph *g, roc_graph_operand operand) {
  return operand.source == ROC_GRAPH_NODE ? &g->nodes[operand.index]->result
                                          : g->leaves[operand.index];
}

/* Whether the row's elements of an operand are what the node has in the same row. */
static bool is_in_row(const roc_graph *g, roc_graph_operand operand, place of,
                      const roc_array *shape) {
  if (operand.source == ROC_GRAPH_SCALAR) return true;
  place at = place_of(operand_array(g, operand), shape);
  if (of == DROPPED) return at == DROPPED && operand.source == ROC_GRAPH_NODE;
  return operand.source == ROC_GRAPH_LEAF || at == KEPT || at == of;
}

static bool is_node_in_rows(const roc_graph *g, uint32_t n, const roc_array *shape) {
  const roc_expression *e = g->nodes[n];
  place of = place_of(&e->result, shape);
  if (e->op->is_reduction) {
    const roc_array *reduced = operand_array(g, g->operands[n][0]);
    bool is_of_rows = e->axis + 1u == reduced->rank && place_of(reduced, shape) == ROWS;
    return is_of_rows && of != OTHER && of != ROWS;
  }
  if (of == OTHER) return false;
  for (uint32_t i = 0; i < e->noperands; i++) {
    if (!is_in_row(g, g->operands[n][i], of, shape)) return false;
  }
  return true;
}

/* The shape of what the first reduction reduces; NULL: there is none. */
static const roc_array *find_shape(const roc_graph *g) {
  for (uint32_t n = 0; n < g->nnodes; n++) {
    if (g->nodes[n]->op->is_reduction) return operand_array(g, g->operands[n][0]);
  }
  return NULL;
}

/* ---- the plan -------------------------------------------------------------------------------- */

static bool add_array(roc_rows *r, const roc_array *a) {
  roc_array *arranged = &r->arrays[r->loops.narrays - 1];
  uint32_t last = r->shape.rank - 1;
  *arranged = roc_loops_arrange(a, r->shape.rank, last);
  r->loops.arrays[r->loops.narrays++] = arranged;
  return arranged->extents[last] == 1 || arranged->strides[last] == 1;
}

/* False: the elements of a row are not one loop, or lie apart. */
static bool plan_loops(roc_rows *r, const roc_array *result) {
  roc_loops_separate_lines(&r->shape, true);
  r->loops.narrays = 1;
  r->loops.arrays[0] = &r->shape;
  for (uint32_t i = 0; i < r->graph.nleaves; i++) {
    if (!add_array(r, r->graph.leaves[i])) return false;
  }
  if (r->gives_rows && !add_array(r, result)) return false;
  roc_loops_plan(&r->loops, false);
  return r->loops.extents[r->loops.count - 1] == r->n;
}

/* One element a row, one after the other. */
static roc_array line_up(const roc_array *result, int64_t lines) {
  roc_array out = {.dtype = result->dtype, .offset = result->offset, .rank = 1};
  out.extents[0] = lines;
  out.strides[0] = 1;
  return out;
}

bool roc_rows_plan(const roc_expression *e, roc_rows *r) {
  if (!e->has_reduction || e->may_fail) return false;
  roc_graph *g = &r->graph;
  roc_graph_begin(g);
  r->lines = 1;
  roc_graph_add(g, &e->result);
  const roc_array *shape = find_shape(g);
  if (!shape || shape->rank == 0) return false;
  for (uint32_t n = 0; n < g->nnodes; n++) {
    if (!is_node_in_rows(g, n, shape)) return false;
  }
  r->shape = roc_loops_arrange(shape, shape->rank, shape->rank - 1);
  r->shape.buffer = NULL;
  r->n = shape->extents[shape->rank - 1];
  for (uint32_t k = 0; k + 1 < shape->rank; k++) r->lines *= shape->extents[k];
  r->gives_rows = place_of(&e->result, shape) == ROWS;
  if (!r->gives_rows && !roc_array_is_c_contiguous(&e->result)) return false;
  if (r->gives_rows && g->nleaves == ROC_EXPRESSION_MAX_LEAVES) return false;
  if (!roc_rows_fit(r->n, 1) || !plan_loops(r, &e->result)) return false;
  r->result = r->gives_rows ? r->loops.views[r->loops.narrays - 1] : line_up(&e->result, r->lines);
  return true;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* How a workgroup has a row: powers of two of chunks and of the elements of an item, so that there
 * are few kernels, and whether these are the row exactly. */
typedef struct form {
  uint32_t chunks, each;
  bool is_whole;
} form;

static uint32_t power_from(int64_t least) {
  uint32_t power = 1;
  while (power < least) power *= 2;
  return power;
}

static form form_of(const roc_rows *r) {
  form f = {.chunks = power_from((r->n + CHUNK - 1) / CHUNK), .each = CHUNK / LANES};
  if (f.chunks == 1) f.each = power_from((r->n + LANES - 1) / LANES);
  f.is_whole = r->n == (int64_t)f.chunks * f.each * LANES;
  return f;
}

static void push_key(lua_State *L, const roc_rows *r) {
  form f = form_of(r);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addchar(&b, 'r');
  roc_graph_add_key(&b, &r->graph, &r->loops);
  luaL_addchar(&b, (char)f.chunks);
  luaL_addchar(&b, (char)f.each);
  luaL_addchar(&b, (char)(f.is_whole | r->gives_rows << 1));
  luaL_pushresult(&b);
}

/* rows{nodes =, leaves =, scalars =, extents =, walks =, chunks =, each =, is_whole =, gives_rows =} */
static void make_kernel(lua_State *L, const void *ud) {
  const roc_rows *r = ud;
  form f = form_of(r);
  roc_expression_push_rule(L, "rows");
  lua_createtable(L, 0, 9);
  roc_graph_set_fields(L, &r->graph, &r->loops);
  lua_pushinteger(L, f.chunks);
  lua_setfield(L, -2, "chunks");
  lua_pushinteger(L, f.each);
  lua_setfield(L, -2, "each");
  lua_pushboolean(L, f.is_whole);
  lua_setfield(L, -2, "is_whole");
  lua_pushboolean(L, r->gives_rows);
  lua_setfield(L, -2, "gives_rows");
  lua_call(L, 1, 1);
}

/* That of a reduction alone is always worth it, whatever the least is: no other computes it. */
bool roc_rows_push_kernel(lua_State *L, const roc_rows *r) {
  int64_t work = r->graph.nnodes == 1 ? INT64_MAX : r->lines * r->n * r->graph.nnodes;
  push_key(L, r);
  return roc_graph_find_kernel(L, work, make_kernel, r);
}

bool roc_rows_launch(lua_State *L, const roc_rows *r, const roc_expression *e,
                     roc_rt_stream *stream) {
  roc_kernel_operand operands[ROC_EXPRESSION_MAX_LEAVES + ROC_EXPRESSION_MAX_SCALARS + 2];
  uint32_t n = roc_graph_fill(&r->graph, &r->loops, operands);
  operands[n++] = (roc_kernel_operand){.source = &e->result, .view = r->result, .is_result = true};
  operands[n++] = (roc_kernel_operand){.scalar = {.type = ROC_VT_INT, .as.i = r->lines}};
  uint32_t items = form_of(r).chunks * LANES;
  roc_ndrange range = {
      .grid = {(uint64_t)r->lines * items, 1, 1}, .local = {items, 1, 1}, .rank = 1};
  bool may_be_later = r->graph.nnodes > 1 && roc_graph_may_be_later();
  roc_graph_note_pass(&r->graph);
  roc_rt_device *device = roc_open_device_at(L, e->device);
  return roc_kernel_launch_operands(L, lua_gettop(L), device, stream, &range, (roc_place){0},
                                    operands, n, may_be_later);
}
