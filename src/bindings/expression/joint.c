/* Reductions that are computed together; see joint.h. */
#include "bindings/expression/joint.h"

#include <string.h>

#include "bindings/array/array_bind.h"
#include "bindings/expression/graph.h"

/* ---- members --------------------------------------------------------------------------------- */

static const roc_array *reduced_by(const roc_expression *e) {
  return &e->operands[0].array;
}

/* Whether an operand of e, or below, could not be kept. */
static bool has_failed(const roc_expression *e) {
  if (e->has_failed) return true;
  for (uint32_t i = 0; i < e->noperands; i++) {
    const roc_array *a = &e->operands[i].array;
    const roc_expression *inner = a->buffer ? roc_expression_of(a) : NULL;
    if (inner && has_failed(inner)) return true;
  }
  return false;
}

static bool can_join(const roc_joint *joint, const roc_expression *e) {
  if (joint->count == 0) return true;
  const roc_expression *first = joint->members[0];
  if (joint->count == ROC_EXPRESSION_MAX_OUTPUTS || first->device != e->device) return false;
  if (first->axis != e->axis || !roc_array_same_shape(reduced_by(first), reduced_by(e))) {
    return false;
  }
  for (uint32_t i = 0; i < joint->count; i++) {
    if (joint->members[i] == e) return false;
  }
  return !has_failed(e);
}

void roc_joint_add(roc_joint *joint, roc_expression *e) {
  if (!e->has_reduction) return;
  bool is_innermost = e->op->is_reduction;
  for (uint32_t i = 0; i < e->noperands; i++) {
    const roc_array *a = &e->operands[i].array;
    roc_expression *inner = a->buffer ? roc_expression_of(a) : NULL;
    if (!inner || !roc_graph_find_reduction(inner)) continue;
    roc_joint_add(joint, inner);
    is_innermost = false;
  }
  if (is_innermost && can_join(joint, e)) joint->members[joint->count++] = e;
}

void roc_joint_check(lua_State *L, const roc_joint *joint) {
  roc_graph g;
  roc_graph_begin(&g);
  roc_graph_add(&g, &joint->members[0]->result);
  roc_graph_check(L, &g);
}

/* ---- the call -------------------------------------------------------------------------------- */

static bool is_same(const roc_array *a, const roc_array *b) {
  return a->buffer == b->buffer && a->dtype == b->dtype && a->offset == b->offset &&
         memcmp(a->strides, b->strides, a->rank * sizeof *a->strides) == 0;
}

/* The first member that reduces the same array. */
static uint32_t find_same(const roc_joint *joint, uint32_t member) {
  uint32_t same = 0;
  while (!is_same(reduced_by(joint->members[same]), reduced_by(joint->members[member]))) same++;
  return same;
}

static void push_names(lua_State *L, const roc_joint *joint) {
  lua_createtable(L, (int)joint->count, 0);
  for (uint32_t i = 0; i < joint->count; i++) {
    lua_pushstring(L, joint->members[i]->op->name);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Pushes of which input each member is, and the inputs. */
static void push_inputs(lua_State *L, const roc_joint *joint) {
  uint32_t places[ROC_EXPRESSION_MAX_OUTPUTS];
  lua_Integer count = 0;
  lua_createtable(L, (int)joint->count, 0);
  lua_createtable(L, (int)joint->count, 0);
  for (uint32_t i = 0; i < joint->count; i++) {
    uint32_t same = find_same(joint, i);
    if (same == i) {
      const roc_array *given = reduced_by(joint->members[i]);
      roc_array *array = roc_push_array(L, &roc_device_array_class);
      roc_buffer_retain(given->buffer);
      *array = *given;
      lua_rawseti(L, -2, ++count);
      places[i] = (uint32_t)count;
    } else {
      places[i] = places[same];
    }
    lua_pushinteger(L, places[i]);
    lua_rawseti(L, -3, (lua_Integer)i + 1);
  }
}

/* As lines have them: one value after the other. */
static void push_results(lua_State *L, const roc_joint *joint) {
  lua_createtable(L, (int)joint->count, 0);
  for (uint32_t i = 0; i < joint->count; i++) {
    const roc_array *given = &joint->members[i]->result;
    roc_array *array = roc_push_array(L, &roc_device_array_class);
    roc_buffer_retain(given->buffer);
    *array = (roc_array){
        .buffer = given->buffer, .dtype = given->dtype, .offset = given->offset, .rank = 1};
    array->extents[0] = roc_array_size(given);
    array->strides[0] = 1;
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* The rule stores the values. */
static void push_call(lua_State *L, const roc_joint *joint) {
  const roc_expression *first = joint->members[0];
  int64_t lines = roc_array_size(&first->result);
  roc_expression_push_rule(L, "reduce");
  push_names(L, joint);
  push_inputs(L, joint);
  push_results(L, joint);
  if (first->axis < reduced_by(first)->rank) {
    lua_pushinteger(L, (lua_Integer)first->axis + 1);
  } else {
    lua_pushnil(L);
  }
  lua_pushinteger(L, lines);
  lua_pushinteger(L, roc_array_size(reduced_by(first)) / lines);
}

enum { ARGS = 7 };

/* Its launches only read what other reductions read, too. */
uint32_t roc_joint_run(lua_State *L, const roc_joint *joint) {
  roc_expression_state *state = roc_expression_state_of(L);
  push_call(L, joint);
  state->nreducing++;
  int status = lua_pcall(L, ARGS, 1, 0);
  state->nreducing--;
  if (status != LUA_OK) lua_error(L);
  uint32_t stored = (uint32_t)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return stored;
}
