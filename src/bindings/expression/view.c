/* Views of what is pending, as expressions of their own.
 *
 * The elements of a view of an element-wise result are computed of views of its operands.  So what
 * computes a view is an expression with the same operation on these, and becomes a part of the kernel
 * that uses it: transpositions and ranges are index arithmetic there.  The whole stays pending; what
 * it computes may be computed twice, so a second view of it has it stored. */
#include <string.h>

#include "bindings/array/array_bind.h"
#include "bindings/expression/expression.h"

/* Where a view's elements are in the result of an expression: `start` in each dimension of the
 * result, and the dimension and the step of each dimension of the view. */
typedef struct mapping {
  const roc_array *view;
  int64_t start[ROC_ARRAY_MAX_RANK];
  int32_t dimension[ROC_ARRAY_MAX_RANK]; /* -1: its extent is 1 */
  int64_t step[ROC_ARRAY_MAX_RANK];
} mapping;

static void find_start(const roc_array *result, mapping *m) {
  int64_t rest = m->view->offset - result->offset;
  bool is_reversed = roc_loops_is_reversed(result);
  for (uint32_t i = 0; i < result->rank; i++) {
    uint32_t k = is_reversed ? result->rank - 1 - i : i;
    m->start[k] = result->extents[k] > 1 ? rest / result->strides[k] : 0;
    rest -= m->start[k] * result->strides[k];
  }
}

/* Whether dimension d of the view walks dimension k of the result, in whose range it stays. */
static bool walks(const roc_array *result, mapping *m, uint32_t d, uint32_t k) {
  int64_t stride = m->view->strides[d];
  if (result->extents[k] < 2 || stride == 0 || stride % result->strides[k] != 0) return false;
  m->step[d] = stride / result->strides[k];
  int64_t last = m->start[k] + m->step[d] * (m->view->extents[d] - 1);
  if (last < 0 || last >= result->extents[k]) return false;
  for (uint32_t other = 0; other < d; other++) {
    if (m->dimension[other] == (int32_t)k) return false;
  }
  m->dimension[d] = (int32_t)k;
  return true;
}

/* False: dimensions of the view are not dimensions of the result, as after a reshape. */
static bool map(const roc_array *result, const roc_array *view, mapping *m) {
  *m = (mapping){.view = view};
  find_start(result, m);
  for (uint32_t d = 0; d < view->rank; d++) {
    m->dimension[d] = -1;
    if (view->extents[d] == 1) continue;
    uint32_t k = 0;
    while (k < result->rank && !walks(result, m, d, k)) k++;
    if (k == result->rank) return false;
  }
  return true;
}

/* The elements of an operand that the view's are computed of, with its rank. */
static roc_array view_operand(const roc_array *result, const roc_array *operand, const mapping *m) {
  uint32_t missing = result->rank - operand->rank;
  roc_array out = {.buffer = operand->buffer, .dtype = operand->dtype, .offset = operand->offset};
  out.rank = m->view->rank;
  for (uint32_t d = 0; d < out.rank; d++) out.extents[d] = out.strides[d] = 1;
  for (uint32_t at = 0; at < operand->rank; at++) {
    if (operand->extents[at] > 1) out.offset += m->start[at + missing] * operand->strides[at];
  }
  for (uint32_t d = 0; d < out.rank; d++) {
    int64_t at = (int64_t)m->dimension[d] - missing;
    if (m->dimension[d] < 0 || at < 0 || operand->extents[at] == 1) continue;
    out.extents[d] = m->view->extents[d];
    out.strides[d] = m->step[d] * operand->strides[at];
  }
  return out;
}

/* Nothing else computes what it needs, or will have it stored. */
static bool is_free(const roc_expression *e) {
  if (e->pass != 0 || e->is_viewed || e->has_failed || e->may_fail) return false;
  for (uint32_t i = 0; i < e->noperands; i++) {
    const roc_expression *inner =
        e->operands[i].array.buffer ? roc_expression_of(&e->operands[i].array) : NULL;
    if (inner && !is_free(inner)) return false;
  }
  return true;
}

static roc_array *push_view(lua_State *L, const roc_array *view);

/* Fills the operands of the view's expression; what is pushed holds those that are pending. */
static bool fill_operands(lua_State *L, const roc_expression *e, const mapping *m,
                          roc_expression_operand *operands) {
  for (uint32_t i = 0; i < e->noperands; i++) {
    operands[i] = e->operands[i];
    if (!operands[i].array.buffer) continue;
    operands[i].array = view_operand(&e->result, &e->operands[i].array, m);
    if (!roc_buffer_pending(operands[i].array.buffer)) continue;
    const roc_array *inner = push_view(L, &operands[i].array);
    if (!inner) return false;
    operands[i].array = *inner;
  }
  return true;
}

/* NULL: memory is out, or it is no such view.  Else it is pushed. */
static roc_array *push_view(lua_State *L, const roc_array *view) {
  const roc_expression *e = roc_buffer_pending(view->buffer);
  roc_rt_device *device = roc_buffer_device(view->buffer);
  roc_expression_operand operands[ROC_EXPRESSION_MAX_OPERANDS];
  roc_array described;
  roc_error err;
  mapping m;
  if (e->op->is_reduction) return NULL;
  if (!map(&e->result, view, &m)) return NULL;
  if (roc_array_describe(&described, view->dtype, view->rank, view->extents, ROC_ORDER_C, &err) !=
      ROC_OK) {
    return NULL;
  }
  luaL_checkstack(L, 2, NULL);
  roc_array *out = roc_push_array(L, device ? &roc_device_array_class : &roc_host_array_class);
  int at = lua_gettop(L);
  size_t nbytes = roc_array_nbytes(&described);
  if (roc_buffer_create_later(device, nbytes, &described.buffer, &err) != ROC_OK) return NULL;
  *out = described;
  if (!fill_operands(L, e, &m, operands)) return NULL;
  roc_expression_call call = {.op = e->op, .is_square = e->is_square};
  if (!roc_expression_begin(&call, e->device, out, operands)) return NULL;
  lua_settop(L, at); /* the new expression holds what is pending of its operands */
  return out;
}

/* (light userdata: a view) -> its expression's array, or nil */
static int make_view(lua_State *L) {
  if (!push_view(L, lua_touserdata(L, 1))) lua_pushnil(L);
  return 1;
}

static void mark(roc_expression *e) {
  e->is_viewed = true;
  for (uint32_t i = 0; i < e->noperands; i++) {
    roc_expression *inner =
        e->operands[i].array.buffer ? roc_expression_of(&e->operands[i].array) : NULL;
    if (inner) mark(inner);
  }
}

const roc_array *roc_expression_push_view(lua_State *L, const roc_array *view) {
  roc_expression *e = roc_buffer_pending(view->buffer);
  if (!e || roc_array_size(view) == 0 || !is_free(e)) return NULL;
  lua_pushcfunction(L, make_view);
  lua_pushlightuserdata(L, (void *)view);
  int status = roc_expression_call_uncollected(L, 1, 1);
  const roc_array_box *box = status == LUA_OK ? roc_test_array_box(L, -1) : NULL;
  if (!box) { /* the view is computed, which says what is wrong */
    lua_pop(L, 1);
    return NULL;
  }
  mark(e);
  return &box->array;
}
