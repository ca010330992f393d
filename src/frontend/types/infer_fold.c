/* Constant folding during inference: for shapes, dimensions, steps, and integers that may become
 * floats.
 *
 * Only what is the same on every device: wrapping integer arithmetic, and `+ - * /` of plain floats
 * while those are doubles. */
#include "frontend/types/infer.h"

static bool fold_shift(int64_t x, int64_t n, int64_t *out) {
  uint64_t bits = (uint64_t)x;
  if (n <= -64 || n >= 64) {
    *out = 0;
  } else {
    *out = (int64_t)(n >= 0 ? bits << n : bits >> -n);
  }
  return true;
}

static bool fold_divide(int64_t a, int64_t b, int64_t *quotient, int64_t *rest) {
  if (b == 0) return false;
  if (b == -1) {
    *quotient = (int64_t)(0 - (uint64_t)a);
    *rest = 0;
    return true;
  }
  *quotient = a / b;
  *rest = a % b;
  if (*rest != 0 && (*rest ^ b) < 0) {
    *quotient -= 1;
    *rest += b;
  }
  return true;
}

static bool fold_integers(roc_ast_op op, int64_t a, int64_t b, int64_t *out) {
  uint64_t x = (uint64_t)a, y = (uint64_t)b;
  int64_t other;
  switch (op) {
    case ROC_OP_ADD: *out = (int64_t)(x + y); return true;
    case ROC_OP_SUB: *out = (int64_t)(x - y); return true;
    case ROC_OP_MUL: *out = (int64_t)(x * y); return true;
    case ROC_OP_IDIV: return fold_divide(a, b, out, &other);
    case ROC_OP_MOD: return fold_divide(a, b, &other, out);
    case ROC_OP_BAND: *out = a & b; return true;
    case ROC_OP_BOR: *out = a | b; return true;
    case ROC_OP_BXOR: *out = a ^ b; return true;
    case ROC_OP_SHL: return fold_shift(a, b, out);
    case ROC_OP_SHR: return b == INT64_MIN ? fold_shift(a, 64, out) : fold_shift(a, -b, out);
    default: return false;
  }
}

static bool fold_floats(roc_ast_op op, double a, double b, double *out) {
  switch (op) {
    case ROC_OP_ADD: *out = a + b; return true;
    case ROC_OP_SUB: *out = a - b; return true;
    case ROC_OP_MUL: *out = a * b; return true;
    case ROC_OP_DIV: *out = a / b; return true;
    default: return false;
  }
}

static double as_float(roc_scalar v) {
  return v.type == ROC_VT_INT ? (double)v.as.i : v.as.f;
}

void roc_infer_fold_binary(roc_infer *inf, const roc_ast_node *node) {
  const roc_fe_node_info *a = roc_fe_node(inf->inst, node->a);
  const roc_fe_node_info *b = roc_fe_node(inf->inst, node->b);
  roc_fe_node_info *info = roc_infer_info(inf, node);
  if (!a->is_const || !b->is_const) return;
  if (info->type.kind == ROC_TY_INT) {
    info->value.type = ROC_VT_INT;
    info->is_const =
        fold_integers((roc_ast_op)node->op, a->value.as.i, b->value.as.i, &info->value.as.i);
  } else if (info->type.kind == ROC_TY_PLAIN && !inf->typed->options->number_is_f32) {
    info->value.type = ROC_VT_F64;
    info->is_const = fold_floats((roc_ast_op)node->op, as_float(a->value), as_float(b->value),
                                 &info->value.as.f);
  }
}

void roc_infer_fold_unary(roc_infer *inf, const roc_ast_node *node) {
  const roc_fe_node_info *a = roc_fe_node(inf->inst, node->a);
  roc_fe_node_info *info = roc_infer_info(inf, node);
  if (!a->is_const || info->type.kind <= ROC_TY_ERROR || node->op == ROC_OP_LEN) return;
  info->is_const = true;
  info->value = a->value;
  if (node->op == ROC_OP_NOT) {
    info->value.type = ROC_VT_BOOL;
    info->value.as.b = a->value.type == ROC_VT_BOOL && !a->value.as.b;
  } else if (node->op == ROC_OP_BNOT) {
    info->value.as.i = ~a->value.as.i;
  } else if (a->value.type == ROC_VT_INT) {
    info->value.as.i = (int64_t)(0 - (uint64_t)a->value.as.i);
  } else {
    info->value.as.f = -a->value.as.f;
  }
}
