/* Compile-time constants: which initialisers make `local N <const> = …` one, and their value.
 *
 * Must agree with Lua's own compiler (lcode.c: constfolding, luaK_exp2const): a function that uses
 * such a local of an outer function has no upvalue for it, so its value must be known here.
 * Everything else keeps its operations; nothing is folded in the tree itself. */
#include <math.h>

#include "base/dtype.h"
#include "frontend/syntax/parser.h"

/* A folded value: one of the literal kinds. */
typedef struct constant {
  roc_ast_kind kind; /* ROC_AST_COUNT_: none */
  union {
    int64_t i;
    double f;
    roc_ast_string s;
  } as;
} constant;

static const constant none = {.kind = ROC_AST_COUNT_};

static constant fold(const roc_parser *p, const roc_ast_node *expr);

static bool is_number(constant c) {
  return c.kind == ROC_AST_INTEGER || c.kind == ROC_AST_FLOAT;
}
static bool is_false(constant c) {
  return c.kind == ROC_AST_NIL || c.kind == ROC_AST_FALSE;
}

static double to_float(constant c) {
  return c.kind == ROC_AST_INTEGER ? (double)c.as.i : c.as.f;
}

static bool to_integer(constant c, int64_t *out) {
  *out = c.as.i;
  return c.kind == ROC_AST_INTEGER || roc_i64_from_f64_exact(c.as.f, out);
}

static constant make_integer(uint64_t value) {
  constant c = {.kind = ROC_AST_INTEGER};
  c.as.i = (int64_t)value;
  return c;
}

/* Lua does not fold NaN and zeros: its table of constants could not distinguish them. */
static constant make_float(double value) {
  constant c = {.kind = ROC_AST_FLOAT};
  c.as.f = value;
  return isnan(value) || value == 0 ? none : c;
}

static uint64_t shift_left(uint64_t value, int64_t by) {
  if (by <= -64 || by >= 64) return 0;
  return by >= 0 ? value << by : value >> -by;
}

static constant fold_bits(roc_ast_op op, constant left, constant right) {
  int64_t a, b;
  if (!to_integer(left, &a) || !to_integer(right, &b)) return none;
  uint64_t x = (uint64_t)a, y = (uint64_t)b;
  switch (op) {
    case ROC_OP_BAND: return make_integer(x & y);
    case ROC_OP_BOR: return make_integer(x | y);
    case ROC_OP_BXOR: return make_integer(x ^ y);
    case ROC_OP_SHL: return make_integer(shift_left(x, b));
    default: /* ROC_OP_SHR; the smallest integer has no negation, and shifts everything out */
      return make_integer(b == INT64_MIN ? 0 : shift_left(x, -b));
  }
}

/* Neither division is called with a divisor of 0. */
static int64_t floor_divide(int64_t a, int64_t b) {
  if (b == -1) return (int64_t)(0 - (uint64_t)a);
  int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a ^ b) < 0);
}

static double floor_modulo(double a, double b) {
  double m = fmod(a, b);
  return (m > 0 ? b < 0 : m < 0 && b > 0) ? m + b : m;
}

static constant fold_integers(roc_ast_op op, int64_t a, int64_t b) {
  uint64_t x = (uint64_t)a, y = (uint64_t)b;
  switch (op) {
    case ROC_OP_ADD: return make_integer(x + y);
    case ROC_OP_SUB: return make_integer(x - y);
    case ROC_OP_MUL: return make_integer(x * y);
    case ROC_OP_IDIV: return make_integer((uint64_t)floor_divide(a, b));
    default: /* ROC_OP_MOD */ return make_integer(x - (uint64_t)floor_divide(a, b) * y);
  }
}

static constant fold_floats(roc_ast_op op, double a, double b) {
  switch (op) {
    case ROC_OP_ADD: return make_float(a + b);
    case ROC_OP_SUB: return make_float(a - b);
    case ROC_OP_MUL: return make_float(a * b);
    case ROC_OP_DIV: return make_float(a / b);
    case ROC_OP_POW: return make_float(b == 2 ? a * a : pow(a, b));
    case ROC_OP_IDIV: return make_float(floor(a / b));
    default: /* ROC_OP_MOD */ return make_float(floor_modulo(a, b));
  }
}

static constant fold_arithmetic(roc_ast_op op, constant left, constant right) {
  if (!is_number(left) || !is_number(right)) return none;
  if (op >= ROC_OP_BAND && op <= ROC_OP_SHR) return fold_bits(op, left, right);
  bool divides = op == ROC_OP_DIV || op == ROC_OP_IDIV || op == ROC_OP_MOD;
  if (divides && to_float(right) == 0) return none;
  bool integers = left.kind == ROC_AST_INTEGER && right.kind == ROC_AST_INTEGER;
  if (integers && op != ROC_OP_DIV && op != ROC_OP_POW)
    return fold_integers(op, left.as.i, right.as.i);
  return fold_floats(op, to_float(left), to_float(right));
}

static constant fold_binary(const roc_parser *p, const roc_ast_node *expr) {
  roc_ast_op op = (roc_ast_op)expr->op;
  if (op > ROC_OP_SHR && op != ROC_OP_AND && op != ROC_OP_OR) return none;
  constant left = fold(p, expr->a);
  if (left.kind == ROC_AST_COUNT_) return none;
  /* Folded only where no jump is needed: when the left operand selects the right one. */
  if (op == ROC_OP_AND) return is_false(left) ? none : fold(p, expr->b);
  if (op == ROC_OP_OR) return is_false(left) ? fold(p, expr->b) : none;
  return fold_arithmetic(op, left, fold(p, expr->b));
}

static constant fold_unary(const roc_parser *p, const roc_ast_node *expr) {
  constant value = fold(p, expr->a);
  if (value.kind == ROC_AST_COUNT_ || expr->op == ROC_OP_LEN) return none;
  if (expr->op == ROC_OP_NOT)
    return (constant){.kind = is_false(value) ? ROC_AST_TRUE : ROC_AST_FALSE};
  if (!is_number(value)) return none;
  int64_t i;
  if (expr->op == ROC_OP_BNOT) return to_integer(value, &i) ? make_integer(~(uint64_t)i) : none;
  if (value.kind == ROC_AST_INTEGER) return make_integer(0 - (uint64_t)value.as.i);
  return make_float(-value.as.f);
}

static constant from_literal(const roc_ast_node *literal) {
  constant c = {.kind = (roc_ast_kind)literal->kind};
  if (literal->kind == ROC_AST_INTEGER) c.as.i = literal->as.i;
  if (literal->kind == ROC_AST_FLOAT) c.as.f = literal->as.f;
  if (literal->kind == ROC_AST_STRING) c.as.s = literal->as.s;
  return c;
}

static constant fold(const roc_parser *p, const roc_ast_node *expr) {
  switch (expr->kind) {
    case ROC_AST_NIL:
    case ROC_AST_TRUE:
    case ROC_AST_FALSE:
    case ROC_AST_INTEGER:
    case ROC_AST_FLOAT:
    case ROC_AST_STRING: return from_literal(expr);
    case ROC_AST_PAREN: return fold(p, expr->a);
    case ROC_AST_LOCAL_NAME: {
      const roc_ast_node *value = roc_scope_constant(p, expr);
      return value ? from_literal(value) : none;
    }
    case ROC_AST_UNARY: return fold_unary(p, expr);
    case ROC_AST_BINARY: return fold_binary(p, expr);
    default: return none;
  }
}

const roc_ast_node *roc_constant_fold(roc_parser *p, const roc_ast_node *expr) {
  if (roc_parse_failed(p)) return NULL;
  constant value = fold(p, expr);
  if (value.kind == ROC_AST_COUNT_) return NULL;
  roc_ast_node *node = roc_parse_node(p, value.kind, expr->span);
  if (value.kind == ROC_AST_INTEGER) node->as.i = value.as.i;
  if (value.kind == ROC_AST_FLOAT) node->as.f = value.as.f;
  if (value.kind == ROC_AST_STRING) node->as.s = value.as.s;
  return node;
}
