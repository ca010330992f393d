/* Arrays: bindings, elements, row views, extents, and the checks of indices. */
#include <string.h>

#include "frontend/lower/lower.h"

void roc_lower_mark(roc_lower *lx, uint32_t array, bool is_read, bool is_written) {
  roc_ir_module *m = lx->b.module;
  if (array >= m->arrays.count || m->arrays.items[array].kind != ROC_IR_ARRAY_PARAM) return;
  roc_ir_param *param = &m->params.items[m->arrays.items[array].param];
  param->is_read |= is_read;
  param->is_written |= is_written;
}

/* ---- what names are bound to ------------------------------------------------------------- */

/* roc.const.array may give the captured elements once more. */
static bool is_same_const(const roc_fe_const_array *a, const roc_fe_const_array *b) {
  return a->data == b->data && a->dtype == b->dtype && a->rank == b->rank &&
         memcmp(a->extents, b->extents, a->rank * sizeof *a->extents) == 0;
}

static uint32_t const_array(roc_lower *lx, const roc_ast_node *node,
                            const roc_fe_const_array *data) {
  for (uint32_t i = 0; i < lx->const_data.count; i++) {
    if (is_same_const(lx->const_data.items[i], data)) return lx->const_arrays.items[i];
  }
  roc_ir_array array = {.kind = ROC_IR_ARRAY_CONST,
                        .dtype = data->dtype,
                        .rank = (uint8_t)data->rank,
                        .data = data->data,
                        .name = roc_fe_const_name(node)};
  for (uint32_t d = 0; d < data->rank; d++) array.extents[d] = data->extents[d];
  uint32_t id = roc_ir_add_array(&lx->b, &array);
  if (!roc_vec_push(&lx->const_data, data) || !roc_vec_push(&lx->const_arrays, id)) lx->stop = true;
  return id;
}

roc_operand roc_lower_binding(roc_lower *lx, const roc_ast_node *node,
                              const roc_fe_binding *binding) {
  roc_operand op = roc_operand_of(roc_lower_info(lx, node)->type, ROC_IR_NONE);
  if (!binding) return op;
  switch (binding->kind) {
    case ROC_BIND_HIDDEN:
      op.id = roc_ir_param_value(&lx->b, binding->as.arg);
      op.id = roc_lower_as(lx, op, roc_lower_vt(lx, op.type));
      break;
    case ROC_BIND_ARRAY: op.array.array = lx->arg_arrays[binding->as.arg]; break;
    case ROC_BIND_CONST_ARRAY:
      op.array.array = const_array(lx, node, binding->as.const_array);
      break;
    default: /* constants and functions are in the types */ break;
  }
  return op;
}

uint32_t roc_lower_block_array(roc_lower *lx, const roc_ast_node *node, const roc_ir_array *array) {
  const roc_ir_module *m = lx->b.module;
  for (uint32_t i = 0; i < lx->blocks.count; i++) {
    const roc_block_array *known = &lx->blocks.items[i];
    const roc_ir_array *made = &m->arrays.items[known->array];
    bool is_same = known->node == node && made->dtype == array->dtype &&
                   made->rank == array->rank &&
                   memcmp(made->extents, array->extents, sizeof made->extents) == 0;
    if (is_same) return known->array;
  }
  roc_block_array made = {node, roc_ir_add_array(&lx->b, array)};
  if (made.array == ROC_IR_NONE || !roc_vec_push(&lx->blocks, made)) lx->stop = true;
  return made.array;
}

/* ---- extents ----------------------------------------------------------------------------- */

static bool has_known_extents(const roc_ir_array *array) {
  return array->kind == ROC_IR_ARRAY_SHARED || array->kind == ROC_IR_ARRAY_PRIVATE ||
         array->kind == ROC_IR_ARRAY_CONST;
}

roc_operand roc_lower_extent(roc_lower *lx, const roc_lower_array *ref, uint32_t dim) {
  if (lx->b.failed || ref->array >= lx->b.module->arrays.count) return roc_operand_int(0);
  const roc_ir_array *array = &lx->b.module->arrays.items[ref->array];
  if (has_known_extents(array)) return roc_operand_int(array->extents[dim]);
  return roc_operand_of(roc_ty_of(ROC_TY_INT), roc_ir_extent(&lx->b, ref->array, dim));
}

/* The number of elements of an array or row view. */
static roc_operand lower_size(roc_lower *lx, const roc_operand *base) {
  uint32_t first = base->array.nlead;
  roc_operand size = roc_lower_extent(lx, &base->array, first);
  for (uint32_t d = 1; d < base->type.rank; d++) {
    roc_operand extent = roc_lower_extent(lx, &base->array, first + d);
    size = roc_operand_of(size.type, roc_ir_binary(&lx->b, ROC_IR_MUL, roc_lower_id(lx, size),
                                                   roc_lower_id(lx, extent)));
  }
  return size;
}

/* ---- elements ---------------------------------------------------------------------------- */

/* A constant index into constant extents needs no check. */
static bool is_proved(const roc_ir_array *array, uint32_t dim, roc_operand index) {
  return index.is_const && has_known_extents(array) && index.value.as.i >= 1 &&
         index.value.as.i <= array->extents[dim];
}

void roc_lower_check_index(roc_lower *lx, const roc_ast_node *node, uint32_t array, uint32_t dim,
                           roc_operand index) {
  if (!lx->options->check || lx->b.failed || array >= lx->b.module->arrays.count) return;
  const roc_ir_array *entry = &lx->b.module->arrays.items[array];
  if (is_proved(entry, dim, index)) return;
  roc_site site = {.kind = ROC_SITE_INDEX,
                   .nvalues = 2,
                   .name = entry->name,
                   .dim = (uint8_t)(entry->rank > 1 ? dim + 1 : 0),
                   .file = lx->frame->inst->fn->chunk->name,
                   .line = node->span.line,
                   .column = node->span.column};
  uint32_t id = roc_lower_id(lx, index);
  roc_ir_check_index(&lx->b, array, dim, roc_ir_add_site(&lx->b, &site), id);
}

/* All indices of an element: those of the row view, and the last. */
static uint32_t element_index(roc_lower *lx, const roc_lower_array *base, roc_operand last,
                              uint32_t *index) {
  for (uint32_t d = 0; d < base->nlead; d++) index[d] = base->lead[d];
  index[base->nlead] = roc_lower_id(lx, last);
  return base->nlead + 1;
}

static roc_operand lower_element(roc_lower *lx, const roc_ast_node *node, const roc_operand *base,
                                 roc_operand key) {
  uint32_t index[ROC_MAX_RANK];
  roc_ty t = roc_lower_info(lx, node)->type;
  roc_lower_place(lx, node);
  roc_lower_pin(lx, &key);
  roc_lower_check_index(lx, node, base->array.array, base->array.nlead, key);
  if (t.kind == ROC_TY_ARRAY) {
    roc_operand row = *base;
    row.type = t;
    row.array.lead[row.array.nlead++] = roc_lower_id(lx, key);
    return row;
  }
  uint32_t rank = element_index(lx, &base->array, key, index);
  roc_lower_mark(lx, base->array.array, true, false);
  return roc_operand_of(t, roc_ir_load(&lx->b, base->array.array, index, rank));
}

void roc_lower_store(roc_lower *lx, const roc_ast_node *target, const roc_lower_array *base,
                     roc_operand index, roc_operand value) {
  uint32_t all[ROC_MAX_RANK];
  roc_lower_pin(lx, &index);
  roc_lower_check_index(lx, target, base->array, base->nlead, index);
  uint32_t rank = element_index(lx, base, index, all);
  roc_lower_mark(lx, base->array, false, true);
  roc_ir_store(&lx->b, base->array, roc_lower_id(lx, value), all, rank);
}

/* `a.shape[k]`; `a.shape` itself passes its array along. */
static roc_operand lower_property(roc_lower *lx, const roc_ast_node *node,
                                  const roc_operand *base) {
  roc_ty t = roc_lower_info(lx, node)->type;
  roc_operand op = *base;
  op.type = t;
  if (t.kind != ROC_TY_INT) return op;
  roc_lower_place(lx, node);
  return lower_size(lx, base);
}

roc_operand roc_lower_index(roc_lower *lx, const roc_ast_node *node) {
  const roc_fe_node_info *info = roc_lower_info(lx, node);
  if (info->binding) return roc_lower_binding(lx, node, info->binding);
  roc_operand none = roc_operand_of(info->type, ROC_IR_NONE);
  roc_operand base = roc_lower_expr(lx, node->a);
  if (base.type.kind == ROC_TY_SHAPE) {
    const roc_fe_node_info *key = roc_lower_info(lx, node->b);
    return roc_lower_extent(lx, &base.array, base.array.nlead + (uint32_t)key->value.as.i - 1);
  }
  if (base.type.kind != ROC_TY_ARRAY) return none;
  if (node->b->kind == ROC_AST_STRING) return lower_property(lx, node, &base);
  roc_operand key = roc_lower_expr(lx, node->b);
  return lx->stop ? none : lower_element(lx, node, &base, key);
}
