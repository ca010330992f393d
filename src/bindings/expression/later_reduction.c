/* Making reductions that are computed when they are needed, of GPU arrays alone: rows.c and joint.c
 * give them kernels. */
#include <string.h>

#include "bindings/device/device_bind.h"
#include "bindings/expression/expression.h"

/* Arguments of a reduction's function. */
enum { ARG_ARRAY = 1, ARG_DTYPE, ARG_KEEP, ARG_AXIS, ARG_COUNT = ARG_AXIS };

/* Whether the lines may be reduced later: a GPU's, in memory or an expression. */
static bool takes(lua_State *L, const roc_operation *op, const roc_array *a) {
  roc_rt_device *device = roc_buffer_device(a->buffer);
  if (op->state->is_off || !device || roc_rt_device_driver(device)->props.host_memory) return false;
  if (a->rank == 0 || roc_array_size(a) < roc_expression_least() || !roc_expression_takes(a))
    return false;
  if (device != roc_current_device(L)) return false;
  if (!roc_buffer_pending(a->buffer)) return true;
  const roc_expression *e = roc_expression_of(a);
  return e && !e->may_fail;
}

/* From 0; the rank: there is none, and more than one dimension. */
static uint8_t read_axis(lua_State *L, const roc_array *a) {
  if (lua_isnil(L, ARG_AXIS)) return (uint8_t)(a->rank == 1 ? 0 : a->rank);
  lua_Integer axis = luaL_checkinteger(L, ARG_AXIS);
  luaL_argcheck(L, axis >= 1 && axis <= (lua_Integer)a->rank, ARG_AXIS, "no dimension");
  return (uint8_t)(axis - 1);
}

static roc_array *push_result(lua_State *L, const roc_array *a, uint8_t axis, roc_dtype dtype,
                              bool keeps) {
  int64_t extents[ROC_ARRAY_MAX_RANK];
  uint32_t rank = 0;
  for (uint32_t k = 0; k < a->rank; k++) {
    bool is_reduced = axis == a->rank || k == axis;
    if (!is_reduced || keeps) extents[rank++] = is_reduced ? 1 : a->extents[k];
  }
  return roc_new_later_array(L, roc_buffer_device(a->buffer), dtype, rank, extents, ROC_ORDER_C);
}

/* (array, dtype of the result, whether extents of 1 are kept, axis or nil) -> an array that is
 * pending, or nil: it is to be computed at once */
static int call_reduction(lua_State *L) {
  roc_operation *op = lua_touserdata(L, lua_upvalueindex(1));
  const roc_array_box *box = roc_test_array_box(L, ARG_ARRAY);
  roc_dtype dtype = roc_check_dtype(L, ARG_DTYPE);
  bool keeps = lua_toboolean(L, ARG_KEEP);
  lua_settop(L, ARG_COUNT);
  bool is_device = box && box->array.buffer && box->cls == &roc_device_array_class;
  if (!is_device || !takes(L, op, &box->array)) return 0;
  uint8_t axis = read_axis(L, &box->array);
  if (!keeps && (box->array.rank < 2 || axis == box->array.rank)) return 0; /* a number */
  roc_array *result = push_result(L, &box->array, axis, dtype, keeps);
  if (!box->array.buffer) luaL_error(L, "an array was closed while it was computed with");
  roc_expression_operand operand = {.array = box->array, .kind = (uint8_t)box->array.dtype};
  if (!roc_expression_fits(op, &operand)) return 0;
  uint32_t device = roc_rt_device_index(roc_buffer_device(box->array.buffer));
  roc_expression_call call = {.op = op, .axis = axis};
  if (!roc_expression_begin(&call, device, result, &operand)) return 0;
  roc_expression_guard(L);
  roc_expression_limit(L, op->state, roc_buffer_nbytes(box->array.buffer));
  lua_settop(L, ARG_COUNT + 1);
  return 1;
}

int roc_expression_new_reduction(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  roc_operation *op = lua_newuserdatauv(L, sizeof *op, 0);
  *op = (roc_operation){.noperands = 1, .state = roc_expression_state_of(L), .is_reduction = true};
  luaL_argcheck(L, strlen(name) < sizeof op->name, 1, "the name is too long");
  strcpy(op->name, name);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, op); /* as long as the state: expressions refer to it */
  lua_pushcclosure(L, call_reduction, 1);
  return 1;
}
