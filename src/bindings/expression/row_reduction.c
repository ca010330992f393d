/* Making reductions of rows: the operations that rows.c gives kernels, of GPU arrays alone. */
#include <string.h>

#include "bindings/device/device_bind.h"
#include "bindings/expression/expression.h"
#include "bindings/expression/rows.h"

/* Arguments of a reduction's function. */
enum { ARG_ARRAY = 1, ARG_DTYPE, ARG_KEEP, ARG_COUNT = ARG_KEEP };

/* Whether the rows may be reduced later: a GPU's, in memory or an expression. */
static bool takes(lua_State *L, const roc_operation *op, const roc_array *a) {
  roc_rt_device *device = roc_buffer_device(a->buffer);
  if (op->state->is_off || !device || roc_rt_device_driver(device)->props.host_memory) return false;
  if (a->rank == 0 || roc_array_size(a) < roc_expression_least() || !roc_expression_takes(a))
    return false;
  if (device != roc_current_device(L)) return false;
  const roc_expression *e = roc_buffer_pending(a->buffer) ? roc_expression_of(a) : NULL;
  if (roc_buffer_pending(a->buffer) && (!e || e->may_fail)) return false;
  return roc_rows_fit(a->extents[a->rank - 1], a->strides[a->rank - 1]);
}

static roc_array *push_result(lua_State *L, const roc_array *a, roc_dtype dtype, bool keeps) {
  int64_t extents[ROC_ARRAY_MAX_RANK];
  memcpy(extents, a->extents, a->rank * sizeof *extents);
  extents[a->rank - 1] = 1;
  uint32_t rank = keeps ? a->rank : a->rank - 1;
  return roc_new_later_array(L, roc_buffer_device(a->buffer), dtype, rank, extents, ROC_ORDER_C);
}

/* (array, dtype of the result, whether an extent of 1 is kept) -> an array that is pending, or nil:
 * it is to be computed at once */
static int call_reduction(lua_State *L) {
  roc_operation *op = lua_touserdata(L, lua_upvalueindex(1));
  const roc_array_box *box = roc_test_array_box(L, ARG_ARRAY);
  roc_dtype dtype = roc_check_dtype(L, ARG_DTYPE);
  bool keeps = lua_toboolean(L, ARG_KEEP);
  lua_settop(L, ARG_COUNT);
  bool is_device = box && box->array.buffer && box->cls == &roc_device_array_class;
  if (!is_device || !takes(L, op, &box->array) || (!keeps && box->array.rank < 2)) return 0;
  roc_array *result = push_result(L, &box->array, dtype, keeps);
  if (!box->array.buffer) luaL_error(L, "an array was closed while it was computed with");
  roc_expression_operand operand = {.array = box->array, .kind = (uint8_t)box->array.dtype};
  if (!roc_expression_fits(op, &operand)) return 0;
  uint32_t device = roc_rt_device_index(roc_buffer_device(box->array.buffer));
  roc_expression_call call = {.op = op};
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
