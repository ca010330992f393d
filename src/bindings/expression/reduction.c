/* Kernels that compute elements of arrays that are pending, and use them, without storing them: the
 * first pass of a reduction (lua/roc/arrays/tree.lua), and the selection of elements by a mask
 * (compaction.lua beside it), which have the text for the elements.
 *
 * The arrays stay pending: what is reduced once is mostly needed for that alone.  What is needed
 * more often is computed again and kept, as any part of another kernel. */
#include <string.h>

#include "bindings/device/device_bind.h"
#include "bindings/expression/graph.h"

enum { MAX_INPUTS = ROC_EXPRESSION_MAX_OUTPUTS, MAX_ARRAYS = 13, MAX_NUMBERS = 2 };

/* Arguments of core.run_pending; numbers follow. */
enum {
  ARG_KEY = 1,
  ARG_INPUTS,
  ARG_AXIS,
  ARG_ARRAYS,
  ARG_MAKE,
  ARG_GROUPS,
  ARG_WORKGROUP,
  ARG_COUNT = ARG_WORKGROUP + MAX_NUMBERS,
  ARG_TAKES_MEMORY /* whether the inputs may all be in memory */
};

/* Arrays of one shape, of which at least one is pending. */
typedef struct subject {
  const roc_array *inputs[MAX_INPUTS]; /* in userdata on the stack */
  uint32_t ninputs;
  uint32_t axis; /* from 0; the rank: none, all elements are one line */
  int64_t lines, n;
} subject;

/* The graph of all inputs, and the loops over lines and elements. */
typedef struct plan {
  roc_graph graph;
  roc_graph_operand roots[MAX_INPUTS];
  roc_array shape;                             /* its dimensions in the order of the loops */
  roc_array leaves[ROC_EXPRESSION_MAX_LEAVES]; /* theirs, too */
  roc_loops loops;
} plan;

/* ---- inputs ---------------------------------------------------------------------------------- */

static bool read_inputs(lua_State *L, subject *s) {
  s->ninputs = (uint32_t)lua_rawlen(L, ARG_INPUTS);
  if (s->ninputs < 1 || s->ninputs > MAX_INPUTS) return false;
  for (uint32_t i = 0; i < s->ninputs; i++) {
    lua_rawgeti(L, ARG_INPUTS, (lua_Integer)i + 1);
    const roc_array_box *box = roc_test_array_box(L, -1);
    if (!box || !box->array.buffer || box->cls == &roc_smart_array_class) return false;
    s->inputs[i] = &box->array;
  }
  const roc_array *first = s->inputs[0];
  lua_Integer axis = luaL_optinteger(L, ARG_AXIS, (lua_Integer)first->rank + 1);
  if (axis < 1 || axis > (lua_Integer)first->rank + 1) return false;
  s->axis = (uint32_t)axis - 1;
  s->n = s->axis < first->rank ? first->extents[s->axis] : roc_array_size(first);
  s->lines = s->n > 0 ? roc_array_size(first) / s->n : 0;
  return true;
}

/* Computes what was a part of another kernel before, what may fail, and what is pending only as a
 * view. */
static void settle(lua_State *L, const roc_array *a, roc_rt_stream *stream) {
  for (;;) {
    if (!a->buffer) luaL_error(L, "an array was closed while it was computed with");
    if (!roc_buffer_pending(a->buffer)) return;
    roc_expression *e = roc_expression_of(a);
    bool is_whole = e && !e->may_fail && !roc_graph_is_worth_storing(e);
    roc_expression *part = is_whole ? roc_graph_find_part(e, NULL) : NULL;
    if (is_whole && !part) part = roc_graph_find_reduction(e);
    if (is_whole && !part) return;
    roc_expression_evaluate(L, part ? part->result.buffer : a->buffer, stream);
  }
}

/* Whether one kernel may compute all of it, on the device that reduces; with something to compute. */
static bool fits(lua_State *L, const subject *s) {
  bool takes_memory = lua_toboolean(L, ARG_TAKES_MEMORY);
  uint32_t size = 0, nleaves = 0, nscalars = 0;
  uint32_t device = roc_rt_device_index(roc_current_device(L));
  for (uint32_t i = 0; i < s->ninputs; i++) {
    const roc_expression *e = roc_expression_of(s->inputs[i]);
    if (e && e->device != device) return false;
    size += e ? e->size : 0;
    nleaves += e ? e->nleaves : 1;
    nscalars += e ? e->nscalars : 0;
  }
  return (size > 0 || takes_memory) && size <= ROC_EXPRESSION_MAX_NODES &&
         nleaves <= ROC_EXPRESSION_MAX_LEAVES && nscalars <= ROC_EXPRESSION_MAX_SCALARS;
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* False: the elements of a line are not one loop. */
static bool plan_loops(const subject *s, plan *p) {
  uint32_t rank = s->inputs[0]->rank;
  p->shape = roc_loops_arrange(s->inputs[0], rank, s->axis);
  roc_loops_separate_lines(&p->shape, s->axis < rank);
  p->loops.narrays = p->graph.nleaves + 1;
  p->loops.arrays[0] = &p->shape;
  for (uint32_t i = 0; i < p->graph.nleaves; i++) {
    p->leaves[i] = roc_loops_arrange(p->graph.leaves[i], rank, s->axis);
    p->loops.arrays[i + 1] = &p->leaves[i];
  }
  roc_loops_plan(&p->loops, false);
  return p->loops.extents[p->loops.count - 1] == s->n;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static void push_key(lua_State *L, const subject *s, const plan *p) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  roc_graph_add_key(&b, &p->graph, &p->loops);
  for (uint32_t i = 0; i < s->ninputs; i++) {
    luaL_addchar(&b, (char)p->roots[i].source);
    luaL_addchar(&b, (char)p->roots[i].index);
  }
  lua_pushvalue(L, ARG_KEY);
  luaL_addvalue(&b);
  luaL_pushresult(&b);
}

static void push_roots(lua_State *L, const plan *p) {
  lua_createtable(L, MAX_INPUTS, 0);
  for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, ARG_INPUTS); i++) {
    roc_graph_push_name(L, p->roots[i - 1]);
    lua_rawseti(L, -2, i);
  }
}

/* make({nodes =, roots =, leaves =, scalars =, extents =, walks =}) */
static void make_kernel(lua_State *L, const void *ud) {
  const plan *p = ud;
  lua_pushvalue(L, ARG_MAKE);
  lua_createtable(L, 0, 6);
  roc_graph_set_fields(L, &p->graph, &p->loops);
  push_roots(L, p);
  lua_setfield(L, -2, "roots");
  lua_call(L, 1, 1);
}

/* ---- the launch ------------------------------------------------------------------------------ */

static const roc_array *check_array(lua_State *L, lua_Integer i) {
  lua_rawgeti(L, ARG_ARRAYS, i);
  const roc_array_box *box = roc_test_array_box(L, -1); /* which may be pending: it is written */
  if (!box || !box->array.buffer) luaL_error(L, "array #%I is none", (LUAI_UACINT)i);
  return &box->array;
}

/* A number; of a table, the next of its `launch`, which nothing has taken meanwhile. */
static int64_t take_number(lua_State *L, int idx) {
  if (!lua_istable(L, idx)) return luaL_checkinteger(L, idx);
  lua_getfield(L, idx, "launch");
  lua_Integer number = luaL_checkinteger(L, -1) + 1;
  lua_pop(L, 1);
  lua_pushinteger(L, number);
  lua_setfield(L, idx, "launch");
  return number;
}

/* What the kernel takes beside the graph's leaves and numbers. */
static uint32_t add_others(lua_State *L, roc_kernel_operand *operands, uint32_t n) {
  lua_Integer count = (lua_Integer)lua_rawlen(L, ARG_ARRAYS);
  luaL_argcheck(L, count <= MAX_ARRAYS, ARG_ARRAYS, "too many arrays");
  for (lua_Integer i = 1; i <= count; i++) {
    const roc_array *array = check_array(L, i);
    operands[n] = (roc_kernel_operand){.source = array, .view = *array, .is_result = true};
    operands[n++].view.buffer = NULL;
  }
  for (int i = 1; i <= MAX_NUMBERS && !lua_isnil(L, ARG_WORKGROUP + i); i++) {
    int64_t number = take_number(L, ARG_WORKGROUP + i);
    operands[n++] = (roc_kernel_operand){.scalar = {.type = ROC_VT_INT, .as.i = number}};
  }
  return n;
}

static roc_ndrange check_range(lua_State *L) {
  uint64_t groups = (uint64_t)luaL_checkinteger(L, ARG_GROUPS);
  uint32_t items = (uint32_t)luaL_optinteger(L, ARG_WORKGROUP, 0); /* 0: a group is an item */
  return (roc_ndrange){
      .grid = {groups * (items ? items : 1), 1, 1}, .local = {items, 1, 1}, .rank = 1};
}

/* Launches the kernel on top of the stack.  False: its code is not there yet. */
static bool launch(lua_State *L, const plan *p) {
  roc_kernel_operand
      operands[ROC_EXPRESSION_MAX_LEAVES + ROC_EXPRESSION_MAX_SCALARS + MAX_ARRAYS + MAX_NUMBERS];
  int kernel = lua_gettop(L);
  uint32_t n = add_others(L, operands, roc_graph_fill(&p->graph, &p->loops, operands));
  roc_ndrange range = check_range(L);
  bool may_be_later = p->graph.nnodes > 0 && roc_graph_may_be_later();
  roc_graph_note_pass(&p->graph);
  return roc_kernel_launch_operands(L, kernel, roc_current_device(L), NULL, &range, (roc_place){0},
                                    operands, n, may_be_later);
}

/* Until nothing changes: what runs meanwhile may print, and so run Lua code. */
static void settle_all(lua_State *L, const subject *s) {
  roc_rt_stream *stream = roc_default_stream(L, roc_current_device(L));
  uint64_t before;
  do {
    before = roc_expression_changes();
    for (uint32_t i = 0; i < s->ninputs; i++) settle(L, s->inputs[i], stream);
  } while (roc_expression_changes() != before);
}

static bool run(lua_State *L) {
  subject s;
  plan p;
  roc_graph_begin(&p.graph);
  if (!read_inputs(L, &s) || s.n < 2) return false;
  settle_all(L, &s);
  if (!fits(L, &s)) return false;
  for (uint32_t i = 0; i < s.ninputs; i++) p.roots[i] = roc_graph_add(&p.graph, s.inputs[i]);
  roc_graph_check(L, &p.graph);
  if (!plan_loops(&s, &p)) return false;
  uint64_t before = roc_expression_changes();
  push_key(L, &s, &p);
  int64_t work = p.graph.nnodes > 0 ? s.lines * s.n * (p.graph.nnodes + 1) : INT64_MAX;
  if (!roc_graph_find_kernel(L, work, make_kernel, &p)) return false;
  if (roc_expression_changes() != before) return false;
  return launch(L, &p);
}

/* The same arguments as below.  The collector is stopped. */
static int run_uncollected(lua_State *L) {
  luaL_checkstack(L, 40, NULL);
  lua_pushboolean(L, run(L));
  return 1;
}

static int run_by(lua_State *L, bool takes_memory) {
  luaL_checktype(L, ARG_KEY, LUA_TSTRING);
  luaL_checktype(L, ARG_INPUTS, LUA_TTABLE);
  luaL_checktype(L, ARG_ARRAYS, LUA_TTABLE);
  luaL_checktype(L, ARG_MAKE, LUA_TFUNCTION);
  lua_settop(L, ARG_COUNT);
  lua_pushboolean(L, takes_memory);
  lua_pushcfunction(L, run_uncollected);
  lua_insert(L, 1);
  return roc_expression_call_uncollected(L, ARG_COUNT + 1, 1) == LUA_OK ? 1 : lua_error(L);
}

/* core.run_pending(key, inputs, axis or nil, arrays, make, groups, workgroup or nil, number or
 * {launch = number}, …) -> whether a kernel has been launched that computes the inputs' elements and
 * does with them what its text says.  If not, the inputs are to be used as memory.  `make` gives the
 * kernel of a graph, and `key` tells apart what it depends on beside that.  The kernel takes the
 * graph's leaves and numbers, the arrays, all of which it may write, and the numbers; without a
 * workgroup, `groups` are items. */
int roc_expression_run_pending(lua_State *L) {
  return run_by(L, false);
}

/* core.run_elements: the same of inputs of which none has to be pending. */
int roc_expression_run_elements(lua_State *L) {
  return run_by(L, true);
}
