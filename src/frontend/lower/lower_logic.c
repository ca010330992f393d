/* Comparison, `and`, `or`.
 *
 * Short circuit becomes an IF around the right side, or a SELECT when evaluating it anyway is cheap
 * and has no effect. `boolean and number` is a pair: the boolean, and a number that counts where it
 * is true. */
#include "frontend/lower/lower.h"

enum { CHEAP_NODES = 8, CHEAP_INSTS = 8 };

/* ---- comparison -------------------------------------------------------------------------- */

/* An integer constant that a float type holds exactly can be compared as that float. */
static bool fits_exactly(roc_operand op, roc_value_type vt) {
  if (!op.is_const || op.value.type != ROC_VT_INT) return false;
  int64_t bound = (int64_t)1 << (vt == ROC_VT_F32 ? 24 : 53);
  return op.value.as.i >= -bound && op.value.as.i <= bound;
}

/* x < y or x <= y (or ==) of an integer and a float, exactly. */
static uint32_t compare_mixed(roc_lower *lx, roc_ir_op op, roc_operand a, roc_operand b) {
  bool is_left_int = a.type.kind == ROC_TY_INT;
  uint32_t x = roc_lower_id(lx, a), y = roc_lower_id(lx, b);
  switch (op) {
    case ROC_IR_LT: return roc_ir_binary(&lx->b, is_left_int ? ROC_IR_LT_IF : ROC_IR_LT_FI, x, y);
    case ROC_IR_LE: return roc_ir_binary(&lx->b, is_left_int ? ROC_IR_LE_IF : ROC_IR_LE_FI, x, y);
    default: return roc_ir_binary(&lx->b, ROC_IR_EQ_IF, is_left_int ? x : y, is_left_int ? y : x);
  }
}

static uint32_t compare(roc_lower *lx, roc_ir_op op, roc_operand a, roc_operand b) {
  roc_value_type vt = roc_lower_vt(lx, roc_ty_join(a.type, b.type));
  bool is_mixed = (a.type.kind == ROC_TY_INT) != (b.type.kind == ROC_TY_INT);
  bool is_exact = fits_exactly(a, vt) || fits_exactly(b, vt);
  if (!is_mixed || is_exact) {
    return roc_ir_binary(&lx->b, op, roc_lower_as(lx, a, vt), roc_lower_as(lx, b, vt));
  }
  if (op == ROC_IR_NE) {
    return roc_ir_unary(&lx->b, ROC_IR_NOT, compare_mixed(lx, ROC_IR_EQ, a, b));
  }
  return compare_mixed(lx, op, a, b);
}

roc_operand roc_lower_comparison(roc_lower *lx, const roc_ast_node *node) {
  roc_operand a = roc_lower_expr(lx, node->a), b = roc_lower_expr(lx, node->b);
  uint32_t id;
  roc_lower_place(lx, node);
  switch (node->op) {
    case ROC_OP_EQ: id = compare(lx, ROC_IR_EQ, a, b); break;
    case ROC_OP_NE: id = compare(lx, ROC_IR_NE, a, b); break;
    case ROC_OP_LT: id = compare(lx, ROC_IR_LT, a, b); break;
    case ROC_OP_LE: id = compare(lx, ROC_IR_LE, a, b); break;
    case ROC_OP_GT: id = compare(lx, ROC_IR_LT, b, a); break;
    default: id = compare(lx, ROC_IR_LE, b, a);
  }
  return roc_operand_of(roc_ty_of(ROC_TY_BOOL), id);
}

/* ---- and, or ----------------------------------------------------------------------------- */

/* Nodes it costs to evaluate, or more than CHEAP_NODES when it may stop, read memory or branch. */
static uint32_t cost(const roc_lower *lx, const roc_ast_node *node) {
  const roc_fe_node_info *info = roc_lower_info(lx, node);
  if (info->is_const) return 1;
  switch (node->kind) {
    case ROC_AST_LOCAL_NAME:
    case ROC_AST_FREE_NAME: return 1;
    case ROC_AST_PAREN: return cost(lx, node->a);
    case ROC_AST_UNARY: return 1 + cost(lx, node->a);
    case ROC_AST_BINARY: {
      bool is_expensive = node->op == ROC_OP_DIV || node->op == ROC_OP_IDIV ||
                          node->op == ROC_OP_MOD || node->op == ROC_OP_POW ||
                          node->op >= ROC_OP_AND;
      if (is_expensive) return CHEAP_NODES + 1;
      uint32_t left = cost(lx, node->a);
      return left > CHEAP_NODES ? left : 1 + left + cost(lx, node->b);
    }
    default: return CHEAP_NODES + 1;
  }
}

static bool is_cheap(const roc_lower *lx, const roc_ast_node *node) {
  return cost(lx, node) <= CHEAP_NODES;
}

/* `test and node` (or, with `on` false, `test or node`) of booleans. */
static uint32_t join_booleans(roc_lower *lx, uint32_t test, const roc_ast_node *node, bool on) {
  uint32_t otherwise = roc_ir_const_bool(&lx->b, !on);
  if (is_cheap(lx, node)) {
    uint32_t right = roc_lower_truth(lx, roc_lower_expr(lx, node));
    return on ? roc_ir_select(&lx->b, test, right, otherwise)
              : roc_ir_select(&lx->b, test, otherwise, right);
  }
  uint32_t var = roc_lower_temp(lx, ROC_VT_BOOL);
  uint32_t unset = roc_ir_set(&lx->b, var, otherwise);
  uint32_t branch = roc_ir_begin_if(&lx->b, on ? test : roc_ir_unary(&lx->b, ROC_IR_NOT, test));
  uint32_t right = roc_lower_truth(lx, roc_lower_expr(lx, node));
  if (roc_ir_dissolve_if(&lx->b, branch, CHEAP_INSTS)) { /* `j < a.shape[2]`, an id */
    roc_ir_drop(&lx->b, unset);
    return on ? roc_ir_select(&lx->b, test, right, otherwise)
              : roc_ir_select(&lx->b, test, otherwise, right);
  }
  roc_ir_set(&lx->b, var, right);
  roc_ir_end(&lx->b, branch);
  return roc_ir_get(&lx->b, var);
}

/* `test and number`: the pair. */
static roc_operand guard_number(roc_lower *lx, uint32_t test, const roc_ast_node *node) {
  roc_ty t = roc_lower_info(lx, node)->type;
  bool has_test = t.maybe_false;
  t.maybe_false = true;
  roc_operand out = roc_operand_of(t, ROC_IR_NONE);
  if (is_cheap(lx, node)) {
    roc_operand right = roc_lower_expr(lx, node);
    out.is_const = right.is_const;
    out.value = right.value;
    out.id = right.id;
    out.test = test;
    return out;
  }
  roc_value_type vt = roc_lower_vt(lx, t);
  uint32_t var = roc_lower_temp(lx, vt), flag = test;
  roc_ir_set(&lx->b, var, roc_lower_zero(lx, vt));
  if (has_test) {
    flag = roc_lower_temp(lx, ROC_VT_BOOL);
    roc_ir_set(&lx->b, flag, roc_ir_const_bool(&lx->b, false));
  }
  uint32_t branch = roc_ir_begin_if(&lx->b, test);
  roc_operand right = roc_lower_expr(lx, node);
  roc_ir_set(&lx->b, var, roc_lower_as(lx, right, vt));
  if (has_test) roc_ir_set(&lx->b, flag, right.test);
  roc_ir_end(&lx->b, branch);
  out.id = roc_ir_get(&lx->b, var);
  out.test = has_test ? roc_ir_get(&lx->b, flag) : test;
  return out;
}

/* `pair or number`. */
static roc_operand choose_number(roc_lower *lx, const roc_ast_node *node, roc_operand left) {
  roc_ty t = roc_lower_info(lx, node)->type;
  roc_value_type vt = roc_lower_vt(lx, t);
  roc_operand out = roc_operand_of(t, ROC_IR_NONE);
  uint32_t value = roc_lower_as(lx, left, vt);
  if (is_cheap(lx, node->b)) {
    roc_operand right = roc_lower_expr(lx, node->b);
    out.id = roc_ir_select(&lx->b, left.test, value, roc_lower_as(lx, right, vt));
    return out;
  }
  uint32_t var = roc_lower_temp(lx, vt), flag = ROC_IR_NONE;
  roc_ir_set(&lx->b, var, value);
  if (t.maybe_false) {
    flag = roc_lower_temp(lx, ROC_VT_BOOL);
    roc_ir_set(&lx->b, flag, left.test);
  }
  uint32_t branch = roc_ir_begin_if(&lx->b, roc_ir_unary(&lx->b, ROC_IR_NOT, left.test));
  roc_operand right = roc_lower_expr(lx, node->b);
  roc_ir_set(&lx->b, var, roc_lower_as(lx, right, vt));
  if (t.maybe_false) roc_ir_set(&lx->b, flag, right.test);
  roc_ir_end(&lx->b, branch);
  out.id = roc_ir_get(&lx->b, var);
  if (t.maybe_false) out.test = roc_ir_get(&lx->b, flag);
  return out;
}

roc_operand roc_lower_logic(roc_lower *lx, const roc_ast_node *node) {
  roc_ty boolean = roc_ty_of(ROC_TY_BOOL);
  roc_operand left = roc_lower_expr(lx, node->a);
  roc_lower_place(lx, node);
  if (roc_ty_is_number(left.type)) { /* a number is true */
    return node->op == ROC_OP_AND ? roc_lower_expr(lx, node->b) : left;
  }
  roc_ty right = roc_lower_info(lx, node->b)->type;
  if (node->op == ROC_OP_OR && left.type.maybe_false) return choose_number(lx, node, left);
  uint32_t test = roc_lower_truth(lx, left);
  if (node->op == ROC_OP_AND && right.kind != ROC_TY_BOOL) return guard_number(lx, test, node->b);
  return roc_operand_of(boolean, join_booleans(lx, test, node->b, node->op == ROC_OP_AND));
}
