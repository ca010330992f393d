/* Operations on the types of the kernel language: the lattice, names, adjusted lists. */
#include "frontend/types/infer.h"

#include <stdio.h>
#include <string.h>

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

roc_ty roc_ty_of_arg(const roc_fe_arg *arg) {
  const roc_arg_type *type = &arg->type;
  if (roc_arg_is_array(type)) {
    return (roc_ty){.kind = ROC_TY_ARRAY,
                    .dtype = type->dtype,
                    .rank = type->rank,
                    .space = arg->is_constant ? ROC_IR_ARRAY_CONST : ROC_IR_ARRAY_PARAM};
  }
  if (type->is_plain) return roc_ty_of(ROC_TY_PLAIN);
  return roc_ty_of_value_type((roc_value_type)type->value);
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

/* The expression for the node's value, through parentheses and locals that are never reassigned. */
static const roc_ast_node *origin(const roc_ast_node *node) {
  while (node && (node->kind == ROC_AST_PAREN || node->kind == ROC_AST_LOCAL_NAME)) {
    node = node->kind == ROC_AST_PAREN ? node->a : roc_ast_initializer(node->sym);
  }
  return node;
}

static const roc_fe_binding *captured_binding(const roc_fe_instance *inst, const roc_ast_node *node,
                                              roc_ty_kind kind) {
  if (roc_fe_node(inst, node)->type.kind != kind || !(node = origin(node))) return NULL;
  return roc_fe_node(inst, node)->binding;
}

static roc_fe_shape_fault check_extents(int64_t *extents, uint32_t rank) {
  for (uint32_t k = 0; k < rank; k++) {
    if (extents[k] >= 0 && extents[k] <= INT32_MAX) continue;
    extents[0] = extents[k];
    return ROC_SHAPE_EXTENT;
  }
  return ROC_SHAPE_FINE;
}

/* The current extents of a captured table. */
static roc_fe_shape_fault captured_shape(const roc_fe_shape *shape, int64_t *extents,
                                         uint32_t *rank) {
  for (*rank = 0; *rank <= ROC_MAX_RANK; ++*rank) {
    const roc_fe_binding *extent = &shape->extents[*rank];
    if (extent->kind == ROC_BIND_NIL) break;
    bool is_integer = extent->kind == ROC_BIND_CONSTANT && extent->as.scalar.type == ROC_VT_INT;
    if (!is_integer) return ROC_SHAPE_NOT_CONSTANT;
    if (*rank < ROC_MAX_RANK) extents[*rank] = extent->as.scalar.as.i;
  }
  if (*rank == 0 || *rank > ROC_MAX_RANK) return ROC_SHAPE_RANK;
  return check_extents(extents, *rank);
}

/* Those of the table `shape`, in the text. */
static roc_fe_shape_fault written_shape(const roc_fe_instance *inst, const roc_ast_node *shape,
                                        int64_t *extents, uint32_t *rank) {
  *rank = shape->list.count;
  if (*rank == 0 || *rank > ROC_MAX_RANK) return ROC_SHAPE_RANK;
  for (uint32_t k = 0; k < *rank; k++) {
    roc_fe_shape_fault fault = const_extent(inst, shape->list.items[k], &extents[k]);
    if (fault == ROC_SHAPE_FINE) continue;
    extents[0] = extents[k];
    return fault;
  }
  return ROC_SHAPE_FINE;
}

/* The captured table that the node is; NULL: it is none. */
static const roc_fe_shape *shape_of(const roc_fe_instance *inst, const roc_ast_node *node) {
  const roc_fe_binding *binding = captured_binding(inst, node, ROC_TY_NAMESPACE);
  return binding && binding->kind == ROC_BIND_NAMESPACE ? binding->as.shape : NULL;
}

/* The same for a table that was captured as an array, because the function makes arrays of
 * tables. */
static const roc_fe_const_array *table_of(const roc_fe_instance *inst, const roc_ast_node *node) {
  const roc_fe_binding *binding = captured_binding(inst, node, ROC_TY_ARRAY);
  if (!binding || binding->kind != ROC_BIND_CONST_ARRAY) return NULL;
  const roc_fe_const_array *a = binding->as.const_array;
  return a->is_table && a->rank == 1 && a->dtype == ROC_DT_INT64 ? a : NULL;
}

static roc_fe_shape_fault table_shape(const roc_fe_const_array *a, int64_t *extents,
                                      uint32_t *rank) {
  *rank = (uint32_t)a->extents[0];
  if (a->extents[0] < 1 || a->extents[0] > ROC_MAX_RANK) return ROC_SHAPE_RANK;
  memcpy(extents, a->data, *rank * sizeof *extents);
  return check_extents(extents, *rank);
}

roc_fe_shape_fault roc_fe_const_shape(const roc_fe_instance *inst, const roc_ast_node *shape,
                                      int64_t *extents, uint32_t *rank) {
  int64_t size = 1;
  const roc_fe_shape *captured = shape_of(inst, shape);
  const roc_fe_const_array *table = table_of(inst, shape);
  *rank = 1;
  bool is_list = captured || table || shape->kind == ROC_AST_TABLE;
  if (!is_list) return const_extent(inst, shape, &extents[0]);
  roc_fe_shape_fault fault = captured ? captured_shape(captured, extents, rank)
                             : table  ? table_shape(table, extents, rank)
                                      : written_shape(inst, shape, extents, rank);
  if (fault != ROC_SHAPE_FINE) return fault;
  for (uint32_t k = 0; k < *rank; k++) {
    if (__builtin_mul_overflow(size, extents[k], &size) || size > INT32_MAX) return ROC_SHAPE_SIZE;
  }
  return ROC_SHAPE_FINE;
}

bool roc_fe_const_dtype(const roc_fe_instance *inst, const roc_ast_node *node, roc_dtype *out) {
  roc_ty t = roc_fe_node(inst, node)->type;
  bool is_name = t.kind == ROC_TY_STRING && t.dtype > 0;
  *out = (roc_dtype)(is_name ? t.dtype - 1 : t.dtype);
  return is_name || t.kind == ROC_TY_DTYPE;
}

roc_ty roc_ty_of_text(const char *text, size_t len) {
  roc_dtype dtype;
  roc_ty t = roc_ty_of(ROC_TY_STRING);
  if (roc_dtype_from_name(text, len, &dtype)) t.dtype = (uint8_t)(dtype + 1);
  return t;
}

const char *roc_fe_const_text(const roc_fe_instance *inst, const roc_ast_node *node) {
  node = origin(node);
  if (!node) return NULL;
  if (node->kind == ROC_AST_STRING) return node->as.s.data;
  const roc_fe_binding *binding = roc_fe_node(inst, node)->binding;
  return binding && binding->kind == ROC_BIND_STRING ? binding->as.text : NULL;
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
