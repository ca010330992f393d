/* Expressions to instructions.  Constants are kept back until an instruction needs them, in its
 * type. */
#include "frontend/lower/lower.h"

static roc_operand lower_local_name(roc_lower *lx, const roc_ast_node *node) {
  const roc_slot *slot = &lx->frame->slots[node->sym->id];
  if (!slot->is_var) return slot->operand;
  roc_lower_place(lx, node);
  return roc_operand_of(roc_fe_sym(lx->frame->inst, node->sym)->type,
                        roc_ir_get(&lx->b, slot->var));
}

static roc_operand lower_free_name(roc_lower *lx, const roc_ast_node *node) {
  return roc_lower_binding(lx, node, roc_lower_info(lx, node)->binding);
}

/* The first value of a call. */
static roc_operand lower_call(roc_lower *lx, const roc_ast_node *node) {
  uint32_t count;
  roc_operand *results = roc_lower_call(lx, node, &count);
  if (!results || count == 0) return roc_operand_of(roc_ty_of(ROC_TY_NONE), ROC_IR_NONE);
  return results[0];
}

static roc_operand lower_length(roc_lower *lx, const roc_ast_node *node) {
  roc_operand a = roc_lower_expr(lx, node->a);
  roc_lower_place(lx, node);
  if (a.type.kind == ROC_TY_SHAPE) return roc_operand_int(a.type.rank);
  return roc_lower_extent(lx, &a.array, a.array.nlead);
}

static roc_operand lower_unary(roc_lower *lx, const roc_ast_node *node) {
  static const uint8_t ops[] = {
      [ROC_OP_NEG] = ROC_IR_NEG, [ROC_OP_NOT] = ROC_IR_NOT, [ROC_OP_BNOT] = ROC_IR_BNOT};
  if (node->op == ROC_OP_LEN) return lower_length(lx, node);
  roc_operand a = roc_lower_expr(lx, node->a);
  uint32_t x = node->op == ROC_OP_NOT ? roc_lower_truth(lx, a) : roc_lower_id(lx, a);
  roc_lower_place(lx, node);
  return roc_operand_of(roc_lower_info(lx, node)->type,
                        roc_ir_unary(&lx->b, (roc_ir_op)ops[node->op], x));
}

void roc_lower_check_divisor(roc_lower *lx, const roc_ast_node *node, roc_operand divisor,
                             roc_site_kind kind) {
  bool is_proved = divisor.is_const && divisor.value.as.i != 0;
  if (!lx->options->check || is_proved) return;
  uint32_t id = roc_lower_id(lx, divisor);
  roc_ir_report(&lx->b, ROC_IR_CHECK_NONZERO, roc_lower_site(lx, node, kind), &id, 1);
}

/* x^2 is x*x, as in the reference implementation. */
static bool is_square(const roc_ast_node *node, roc_operand exponent) {
  if (node->op != ROC_OP_POW || !exponent.is_const) return false;
  return exponent.value.type == ROC_VT_INT ? exponent.value.as.i == 2 : exponent.value.as.f == 2;
}

static roc_operand lower_arithmetic(roc_lower *lx, const roc_ast_node *node) {
  static const uint8_t ops[] = {
      [ROC_OP_ADD] = ROC_IR_ADD,   [ROC_OP_SUB] = ROC_IR_SUB,       [ROC_OP_MUL] = ROC_IR_MUL,
      [ROC_OP_DIV] = ROC_IR_FDIV,  [ROC_OP_IDIV] = ROC_IR_FLOORDIV, [ROC_OP_MOD] = ROC_IR_MOD,
      [ROC_OP_POW] = ROC_IR_POW,   [ROC_OP_BAND] = ROC_IR_BAND,     [ROC_OP_BOR] = ROC_IR_BOR,
      [ROC_OP_BXOR] = ROC_IR_BXOR, [ROC_OP_SHL] = ROC_IR_SHL,       [ROC_OP_SHR] = ROC_IR_SHR};
  roc_ty t = roc_fe_operand_type(lx->frame->inst, node);
  roc_value_type vt = roc_lower_vt(lx, t);
  roc_operand a = roc_lower_expr(lx, node->a), b = roc_lower_expr(lx, node->b);
  roc_lower_place(lx, node);
  if (t.kind == ROC_TY_INT && (node->op == ROC_OP_IDIV || node->op == ROC_OP_MOD)) {
    roc_lower_check_divisor(lx, node, b,
                            node->op == ROC_OP_MOD ? ROC_SITE_MODULO : ROC_SITE_DIVIDE);
  }
  uint32_t x = roc_lower_as(lx, a, vt);
  if (is_square(node, b)) {
    return roc_operand_of(t, roc_ir_binary(&lx->b, ROC_IR_MUL, x, x));
  }
  return roc_operand_of(
      t, roc_ir_binary(&lx->b, (roc_ir_op)ops[node->op], x, roc_lower_as(lx, b, vt)));
}

static roc_operand lower_binary(roc_lower *lx, const roc_ast_node *node) {
  if (node->op >= ROC_OP_AND) return roc_lower_logic(lx, node);
  if (node->op >= ROC_OP_EQ) return roc_lower_comparison(lx, node);
  return lower_arithmetic(lx, node);
}

static roc_operand lower_paren(roc_lower *lx, const roc_ast_node *node) {
  return roc_lower_expr(lx, node->a);
}

static roc_operand lower_table(roc_lower *lx, const roc_ast_node *node) {
  roc_operand table = roc_operand_of(roc_ty_of(ROC_TY_NONE), ROC_IR_NONE);
  roc_operand *items = roc_lower_operands(lx, node->list.count);
  for (uint32_t k = 0; items && k < node->list.count; k++) {
    items[k] = roc_lower_expr(lx, node->list.items[k]);
  }
  table.items = items;
  return table;
}

typedef roc_operand expr_fn(roc_lower *lx, const roc_ast_node *node);

static expr_fn *const expr_table[ROC_AST_COUNT_] = {
    [ROC_AST_LOCAL_NAME] = lower_local_name, [ROC_AST_FREE_NAME] = lower_free_name,
    [ROC_AST_INDEX] = roc_lower_index,       [ROC_AST_CALL] = lower_call,
    [ROC_AST_UNARY] = lower_unary,           [ROC_AST_BINARY] = lower_binary,
    [ROC_AST_PAREN] = lower_paren,           [ROC_AST_TABLE] = lower_table,
};

roc_operand roc_lower_expr(roc_lower *lx, const roc_ast_node *node) {
  const roc_fe_node_info *info = roc_lower_info(lx, node);
  roc_operand op = roc_operand_of(info->type, ROC_IR_NONE);
  if (lx->stop) return op;
  if (info->is_const && !roc_ty_is_static(info->type)) {
    op.is_const = true;
    op.value = info->value;
    return op;
  }
  return expr_table[node->kind] ? expr_table[node->kind](lx, node) : op;
}

roc_operand *roc_lower_list(roc_lower *lx, const roc_ast_list *list, uint32_t *count) {
  *count = roc_fe_list_count(lx->frame->inst, list);
  roc_operand *values = roc_lower_operands(lx, *count > list->count ? *count : list->count);
  const roc_ast_list *locals = lx->locals;
  lx->locals = NULL;
  for (uint32_t k = 0; values && k < list->count; k++) {
    const roc_ast_node *node = list->items[k];
    lx->array_name = locals && k < locals->count ? locals->items[k]->sym->name.data : NULL;
    if (k + 1 < list->count || node->kind != ROC_AST_CALL) {
      values[k] = roc_lower_expr(lx, node);
      continue;
    }
    uint32_t nresults;
    roc_operand *results = roc_lower_call(lx, node, &nresults);
    for (uint32_t r = 0; results && k + r < *count && r < nresults; r++) values[k + r] = results[r];
  }
  lx->array_name = NULL;
  return lx->stop ? NULL : values;
}
