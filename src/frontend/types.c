/* Operations on the types of the kernel language: the lattice, names, adjusted lists. */
#include "frontend/types.h"

#include <stdio.h>

bool roc_ty_equal(roc_ty a, roc_ty b) {
  return a.kind == b.kind && a.maybe_false == b.maybe_false && a.dtype == b.dtype &&
         a.rank == b.rank && a.space == b.space && a.id == b.id;
}

roc_ty roc_ty_join(roc_ty a, roc_ty b) {
  return a.kind >= b.kind ? a : b;
}

roc_ty roc_ty_of_value_type(roc_value_type vt) {
  static const uint8_t kinds[ROC_VT_COUNT_] = {[ROC_VT_NONE] = ROC_TY_NONE,
                                               [ROC_VT_BOOL] = ROC_TY_BOOL,
                                               [ROC_VT_INT] = ROC_TY_INT,
                                               [ROC_VT_F32] = ROC_TY_F32,
                                               [ROC_VT_F64] = ROC_TY_F64};
  return (roc_ty){.kind = kinds[vt]};
}

roc_ty roc_ty_of_dtype(roc_dtype dtype) {
  return roc_ty_of_value_type(roc_dtype_table[dtype].value_type);
}

roc_value_type roc_ty_value_type(roc_ty t, const roc_fe_options *options) {
  switch (t.kind) {
    case ROC_TY_BOOL: return ROC_VT_BOOL;
    case ROC_TY_INT: return ROC_VT_INT;
    case ROC_TY_PLAIN: return options->number_is_f32 ? ROC_VT_F32 : ROC_VT_F64;
    case ROC_TY_F32: return ROC_VT_F32;
    case ROC_TY_F64: return ROC_VT_F64;
    default: return ROC_VT_NONE;
  }
}

const char *roc_ty_name(roc_ty t, char *buf, size_t nbytes) {
  static const char *const names[] = {
      [ROC_TY_NONE] = "no value",    [ROC_TY_ERROR] = "erroneous value",
      [ROC_TY_BOOL] = "boolean",     [ROC_TY_INT] = "integer",
      [ROC_TY_PLAIN] = "float",      [ROC_TY_F32] = "float32",
      [ROC_TY_F64] = "float64",      [ROC_TY_ARRAY] = "array",
      [ROC_TY_SHAPE] = "shape",      [ROC_TY_DTYPE] = "dtype",
      [ROC_TY_BUILTIN] = "function", [ROC_TY_FUNCTION] = "function",
      [ROC_TY_NAMESPACE] = "table",  [ROC_TY_STRING] = "string",
      [ROC_TY_NIL] = "nil"};
  if (t.kind == ROC_TY_ARRAY) {
    snprintf(buf, nbytes, "%s[%u] array", roc_dtype_name((roc_dtype)t.dtype), (unsigned)t.rank);
  } else {
    snprintf(buf, nbytes, "%s%s", t.maybe_false ? "false or " : "", names[t.kind]);
  }
  return buf;
}

const char *roc_ty_phrase(roc_ty t, char *buf, size_t nbytes) {
  char name[64];
  roc_ty_name(t, name, sizeof name);
  bool has_none = t.kind == ROC_TY_NONE || t.kind == ROC_TY_NIL || t.maybe_false;
  bool is_vowel = name[0] == 'i' || name[0] == 'e' || name[0] == 'a';
  snprintf(buf, nbytes, "%s%s", has_none ? "" : is_vowel ? "an " : "a ", name);
  return buf;
}

/* The call whose results all count, when the list ends in one. */
static const roc_fe_call *open_call(const roc_fe_instance *inst, const roc_ast_list *list) {
  if (list->count == 0) return NULL;
  const roc_ast_node *last = list->items[list->count - 1];
  return last->kind == ROC_AST_CALL ? roc_fe_node(inst, last)->call : NULL;
}

uint32_t roc_fe_list_count(const roc_fe_instance *inst, const roc_ast_list *list) {
  const roc_fe_call *call = open_call(inst, list);
  return call ? list->count - 1 + call->nresults : list->count;
}

bool roc_fe_list_is_unknown(const roc_fe_instance *inst, const roc_ast_list *list) {
  const roc_fe_call *call = open_call(inst, list);
  return call && call->kind == ROC_CALLEE_NONE;
}

roc_ty roc_fe_list_type(const roc_fe_instance *inst, const roc_ast_list *list, uint32_t k) {
  const roc_fe_call *call = open_call(inst, list);
  if (call && k + 1 >= list->count) {
    uint32_t r = k + 1 - list->count;
    return r < call->nresults ? call->results[r] : roc_ty_of(ROC_TY_NONE);
  }
  return k < list->count ? roc_fe_node(inst, list->items[k])->type : roc_ty_of(ROC_TY_NONE);
}

roc_ty roc_fe_operand_type(const roc_fe_instance *inst, const roc_ast_node *binary) {
  roc_ty t = roc_ty_join(roc_fe_node(inst, binary->a)->type, roc_fe_node(inst, binary->b)->type);
  bool is_float_op = binary->op == ROC_OP_DIV || binary->op == ROC_OP_POW;
  return is_float_op && t.kind == ROC_TY_INT ? roc_ty_of(ROC_TY_PLAIN) : t;
}

static roc_fe_shape_fault const_extent(const roc_fe_instance *inst, const roc_ast_node *node,
                                       int64_t *out) {
  const roc_fe_node_info *info = roc_fe_node(inst, node);
  *out = info->value.as.i;
  if (!info->is_const || info->value.type != ROC_VT_INT) return ROC_SHAPE_NOT_CONSTANT;
  return *out < 0 || *out > INT32_MAX ? ROC_SHAPE_EXTENT : ROC_SHAPE_FINE;
}

roc_fe_shape_fault roc_fe_const_shape(const roc_fe_instance *inst, const roc_ast_node *shape,
                                      int64_t *extents, uint32_t *rank) {
  int64_t size = 1;
  *rank = 1;
  if (shape->kind != ROC_AST_TABLE) return const_extent(inst, shape, &extents[0]);
  *rank = shape->list.count;
  if (*rank == 0 || *rank > ROC_MAX_RANK) return ROC_SHAPE_RANK;
  for (uint32_t k = 0; k < *rank; k++) {
    roc_fe_shape_fault fault = const_extent(inst, shape->list.items[k], &extents[k]);
    if (fault != ROC_SHAPE_FINE) {
      extents[0] = extents[k];
      return fault;
    }
  }
  for (uint32_t k = 0; k < *rank; k++) {
    if (__builtin_mul_overflow(size, extents[k], &size) || size > INT32_MAX) return ROC_SHAPE_SIZE;
  }
  return ROC_SHAPE_FINE;
}

bool roc_fe_const_dtype(const roc_fe_instance *inst, const roc_ast_node *node, roc_dtype *out) {
  if (node->kind == ROC_AST_STRING) {
    return roc_dtype_from_name(node->as.s.data, node->as.s.len, out);
  }
  *out = (roc_dtype)roc_fe_node(inst, node)->type.dtype;
  return roc_fe_node(inst, node)->type.kind == ROC_TY_DTYPE;
}

const char *roc_fe_const_name(const roc_ast_node *node) {
  while (node->kind == ROC_AST_CALL) node = node->list.items[0];
  if (node->kind == ROC_AST_FREE_NAME) return node->as.s.data;
  bool has_key = node->kind == ROC_AST_INDEX && node->b->kind == ROC_AST_STRING;
  return has_key ? node->b->as.s.data : "constant";
}

roc_ast_list roc_fe_atomic_index(roc_ast_node *const *index_argument) {
  const roc_ast_node *node = *index_argument;
  if (node->kind == ROC_AST_TABLE) return node->list;
  return (roc_ast_list){.items = (roc_ast_node **)index_argument, .count = 1};
}
