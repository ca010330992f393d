/* Expressions, one function per rule of Lua's grammar.
 *
 * Operators are climbed by precedence; names are resolved at once.  Invariant: a node's span runs
 * from its first to its last token, so that parts of a message can point at any of them. */
#include "frontend/syntax/parser.h"

enum { UNARY_PRIORITY = 12 };

/* Binding powers to the left and right, indexed by roc_ast_op; right smaller: right-associative. */
static const struct {
  uint8_t left, right;
} priority[] = {
    {10, 10}, {10, 10}, {11, 11}, {11, 11}, {11, 11}, {11, 11}, /* + - * / // % */
    {14, 13},                                                   /* ^ */
    {6, 6},   {4, 4},   {5, 5},   {7, 7},   {7, 7},             /* & | ~ << >> */
    {9, 8},                                                     /* .. */
    {3, 3},   {3, 3},   {3, 3},   {3, 3},   {3, 3},   {3, 3},   /* == ~= < <= > >= */
    {2, 2},   {1, 1},                                           /* and or */
};

/* The operators of a token; NONE: it is not one. */
enum { NONE = 0xFF };

static uint8_t binary_op(roc_token_kind kind) {
  static const uint8_t ops[ROC_TK_COUNT_] = {
      /* one more than the operator, so that 0 is none */
      [ROC_TK_PLUS] = 1 + ROC_OP_ADD,      [ROC_TK_MINUS] = 1 + ROC_OP_SUB,
      [ROC_TK_STAR] = 1 + ROC_OP_MUL,      [ROC_TK_SLASH] = 1 + ROC_OP_DIV,
      [ROC_TK_DSLASH] = 1 + ROC_OP_IDIV,   [ROC_TK_PERCENT] = 1 + ROC_OP_MOD,
      [ROC_TK_CARET] = 1 + ROC_OP_POW,     [ROC_TK_AMP] = 1 + ROC_OP_BAND,
      [ROC_TK_PIPE] = 1 + ROC_OP_BOR,      [ROC_TK_TILDE] = 1 + ROC_OP_BXOR,
      [ROC_TK_SHL] = 1 + ROC_OP_SHL,       [ROC_TK_SHR] = 1 + ROC_OP_SHR,
      [ROC_TK_CONCAT] = 1 + ROC_OP_CONCAT, [ROC_TK_EQ] = 1 + ROC_OP_EQ,
      [ROC_TK_NE] = 1 + ROC_OP_NE,         [ROC_TK_LT] = 1 + ROC_OP_LT,
      [ROC_TK_LE] = 1 + ROC_OP_LE,         [ROC_TK_GT] = 1 + ROC_OP_GT,
      [ROC_TK_GE] = 1 + ROC_OP_GE,         [ROC_TK_AND] = 1 + ROC_OP_AND,
      [ROC_TK_OR] = 1 + ROC_OP_OR,
  };
  return ops[kind] ? (uint8_t)(ops[kind] - 1) : NONE;
}

static uint8_t unary_op(roc_token_kind kind) {
  switch (kind) {
    case ROC_TK_NOT: return ROC_OP_NOT;
    case ROC_TK_MINUS: return ROC_OP_NEG;
    case ROC_TK_TILDE: return ROC_OP_BNOT;
    case ROC_TK_HASH: return ROC_OP_LEN;
    default: return NONE;
  }
}

static roc_ast_node *parse_subexpr(roc_parser *p, uint8_t limit);

roc_ast_node *roc_parse_expr(roc_parser *p) {
  return parse_subexpr(p, 0);
}

roc_ast_list roc_parse_expr_list(roc_parser *p) {
  uint32_t mark = p->nodes.count;
  do roc_parse_push(p, roc_parse_expr(p));
  while (roc_parse_accept(p, ROC_TK_COMMA));
  return roc_parse_take(p, mark);
}

/* ---- functions and tables ---------------------------------------------------------------- */

/* [NAME {"," NAME}] ["," "..."] | "..." */
static void parse_params(roc_parser *p, roc_ast_func *func) {
  if (p->token.kind == ROC_TK_RPAREN) return;
  do {
    roc_span span;
    if (roc_parse_accept(p, ROC_TK_ELLIPSIS)) {
      func->is_vararg = true;
    } else {
      roc_name *name = roc_parse_name(p, &span);
      roc_scope_activate(p, roc_scope_declare(p, name, span));
      func->nparams++;
    }
  } while (!func->is_vararg && roc_parse_accept(p, ROC_TK_COMMA));
}

roc_ast_func *roc_parse_func_body(roc_parser *p, roc_span begin, bool is_method) {
  roc_parse_func state;
  roc_parse_block block;
  roc_scope_open_func(p, &state, &block);
  roc_ast_func *func = state.ast;
  func->is_method = is_method;
  func->span = begin; /* messages name its line before its end is known */
  if (is_method) {
    roc_scope_activate(p, roc_scope_declare(p, p->self_name, p->token.span));
    func->nparams++;
  }
  roc_parse_expect(p, ROC_TK_LPAREN);
  parse_params(p, func);
  roc_parse_expect(p, ROC_TK_RPAREN);
  func->body = roc_parse_block_body(p);
  func->last_line = p->token.span.line;
  roc_parse_expect_close(p, ROC_TK_END, ROC_TK_FUNCTION, begin);
  func->span = roc_parse_span_to_here(p, begin);
  roc_scope_close_func(p);
  return func;
}

static roc_ast_node *parse_function(roc_parser *p) {
  roc_span begin = p->token.span;
  roc_parse_advance(p);
  roc_ast_func *func = roc_parse_func_body(p, begin, false);
  roc_ast_node *node = roc_parse_node(p, ROC_AST_FUNCTION, func->span);
  node->as.func = func;
  return node;
}

static roc_ast_node *make_string(roc_parser *p, roc_ast_string text, roc_span span) {
  roc_ast_node *node = roc_parse_node(p, ROC_AST_STRING, span);
  node->as.s = text;
  return node;
}

/* Of a call's arguments, the first function is named: `local saxpy = roc.kernel(function …)`. */
static bool name_argument(roc_ast_list args, roc_ast_string name) {
  for (uint32_t i = 0; i < args.count; i++) {
    if (roc_parse_name_function(args.items[i], name)) return true;
  }
  return false;
}

bool roc_parse_name_function(const roc_ast_node *value, roc_ast_string name) {
  bool is_named;
  switch (value->kind) {
    case ROC_AST_FUNCTION:
      if (!value->as.func->name.len) value->as.func->name = name;
      return true;
    case ROC_AST_CALL:
    case ROC_AST_METHOD: return name_argument(value->list, name);
    case ROC_AST_PAREN: return roc_parse_name_function(value->a, name);
    case ROC_AST_BINARY:
      if (value->op != ROC_OP_OR && value->op != ROC_OP_AND) return false;
      is_named = roc_parse_name_function(value->a, name);
      return roc_parse_name_function(value->b, name) || is_named;
    default: return false;
  }
}

/* "[" expr "]" "=" expr | NAME "=" expr | expr */
static roc_ast_node *parse_field(roc_parser *p) {
  roc_span begin = p->token.span;
  roc_ast_node *key;
  if (roc_parse_accept(p, ROC_TK_LBRACKET)) {
    key = roc_parse_expr(p);
    roc_parse_expect(p, ROC_TK_RBRACKET);
  } else if (p->token.kind == ROC_TK_NAME && roc_parse_peek(p) == ROC_TK_ASSIGN) {
    roc_span span;
    roc_name *name = roc_parse_name(p, &span);
    key = make_string(p, name->text, span);
  } else {
    return roc_parse_expr(p);
  }
  roc_parse_expect(p, ROC_TK_ASSIGN);
  roc_ast_node *value = roc_parse_expr(p);
  roc_ast_node *node = roc_parse_node(p, ROC_AST_FIELD, roc_parse_span_to_here(p, begin));
  node->a = key;
  node->b = value;
  bool has_name = !roc_parse_failed(p) && key->kind == ROC_AST_STRING;
  if (has_name) roc_parse_name_function(value, key->as.s);
  return node;
}

/* "{" [field {sep field} [sep]] "}" */
static roc_ast_node *parse_table(roc_parser *p) {
  roc_span begin = p->token.span;
  uint32_t mark = p->nodes.count;
  roc_parse_advance(p);
  while (p->token.kind != ROC_TK_RBRACE) {
    roc_parse_push(p, parse_field(p));
    if (!roc_parse_accept(p, ROC_TK_COMMA) && !roc_parse_accept(p, ROC_TK_SEMICOLON)) break;
  }
  roc_parse_expect_close(p, ROC_TK_RBRACE, ROC_TK_LBRACE, begin);
  roc_parse_grow(p); /* FIELD nodes */
  roc_ast_node *node = roc_parse_node(p, ROC_AST_TABLE, roc_parse_span_to_here(p, begin));
  node->list = roc_parse_take(p, mark);
  return node;
}

/* ---- primaries and suffixes -------------------------------------------------------------- */

static roc_ast_node *parse_paren(roc_parser *p) {
  roc_span begin = p->token.span;
  roc_parse_advance(p);
  roc_ast_node *inner = roc_parse_expr(p);
  roc_parse_expect_close(p, ROC_TK_RPAREN, ROC_TK_LPAREN, begin);
  roc_ast_node *node = roc_parse_node(p, ROC_AST_PAREN, roc_parse_span_to_here(p, begin));
  node->a = inner;
  return node;
}

static roc_ast_node *parse_primary(roc_parser *p, roc_name **name) {
  *name = NULL;
  if (p->token.kind == ROC_TK_LPAREN) return parse_paren(p);
  if (p->token.kind != ROC_TK_NAME) {
    roc_parse_fail_near(p, ROC_DIAG_UNEXPECTED_SYMBOL);
    return roc_parse_node(p, ROC_AST_NIL, p->token.span);
  }
  roc_span span;
  *name = roc_parse_name(p, &span);
  return roc_scope_resolve(p, *name, span);
}

static roc_ast_node *parse_string(roc_parser *p) {
  roc_ast_node *node = make_string(p, p->token.as.s, p->token.span);
  roc_parse_advance(p);
  return node;
}

/* "(" [exprs] ")" | table | string */
static roc_ast_list parse_args(roc_parser *p) {
  uint32_t mark = p->nodes.count;
  roc_span opened = p->token.span;
  switch (p->token.kind) {
    case ROC_TK_STRING: roc_parse_push(p, parse_string(p)); return roc_parse_take(p, mark);
    case ROC_TK_LBRACE: roc_parse_push(p, parse_table(p)); return roc_parse_take(p, mark);
    case ROC_TK_LPAREN: break;
    default: roc_parse_fail_expected(p, "function arguments"); return (roc_ast_list){0};
  }
  roc_ast_list args = {0};
  roc_parse_advance(p);
  if (p->token.kind != ROC_TK_RPAREN) args = roc_parse_expr_list(p);
  roc_parse_expect_close(p, ROC_TK_RPAREN, ROC_TK_LPAREN, opened);
  return args;
}

static roc_ast_node *parse_index(roc_parser *p, roc_ast_node *object) {
  roc_ast_node *key;
  if (roc_parse_accept(p, ROC_TK_DOT)) {
    roc_span span;
    roc_name *name = roc_parse_name(p, &span);
    key = make_string(p, name->text, span);
  } else {
    roc_parse_advance(p);
    key = roc_parse_expr(p);
    roc_parse_expect(p, ROC_TK_RBRACKET);
  }
  roc_ast_node *node = roc_parse_node(p, ROC_AST_INDEX, roc_parse_span_to_here(p, object->span));
  node->a = object;
  node->b = key;
  return node;
}

static roc_ast_node *parse_call(roc_parser *p, roc_ast_node *callee) {
  roc_ast_string method = {0};
  bool is_method = roc_parse_accept(p, ROC_TK_COLON);
  roc_span span;
  if (is_method) method = roc_parse_name(p, &span)->text;
  roc_ast_list args = parse_args(p);
  roc_ast_node *node = roc_parse_node(p, is_method ? ROC_AST_METHOD : ROC_AST_CALL,
                                      roc_parse_span_to_here(p, callee->span));
  node->a = callee;
  node->list = args;
  node->as.s = method;
  return node;
}

roc_ast_node *roc_parse_suffixed(roc_parser *p, roc_name **name) {
  roc_ast_node *node = parse_primary(p, name);
  for (;;) {
    switch (p->token.kind) {
      case ROC_TK_DOT:
      case ROC_TK_LBRACKET: node = parse_index(p, node); break;
      case ROC_TK_COLON:
      case ROC_TK_LPAREN:
      case ROC_TK_STRING:
      case ROC_TK_LBRACE: node = parse_call(p, node); break;
      default: return node;
    }
    *name = NULL;
    roc_parse_grow(p);
  }
}

/* ---- operators --------------------------------------------------------------------------- */

/* A token that is an expression by itself. */
static roc_ast_node *parse_literal(roc_parser *p, roc_ast_kind kind) {
  roc_ast_node *node = roc_parse_node(p, kind, p->token.span);
  if (kind == ROC_AST_INTEGER) node->as.i = p->token.as.i;
  if (kind == ROC_AST_FLOAT) node->as.f = p->token.as.f;
  roc_parse_advance(p);
  return node;
}

static roc_ast_node *parse_simple(roc_parser *p) {
  roc_name *name;
  switch (p->token.kind) {
    case ROC_TK_INTEGER: return parse_literal(p, ROC_AST_INTEGER);
    case ROC_TK_FLOAT: return parse_literal(p, ROC_AST_FLOAT);
    case ROC_TK_NIL: return parse_literal(p, ROC_AST_NIL);
    case ROC_TK_TRUE: return parse_literal(p, ROC_AST_TRUE);
    case ROC_TK_FALSE: return parse_literal(p, ROC_AST_FALSE);
    case ROC_TK_STRING: return parse_string(p);
    case ROC_TK_ELLIPSIS:
      if (!p->func->ast->is_vararg) roc_parse_fail_near(p, ROC_DIAG_VARARG_OUTSIDE);
      return parse_literal(p, ROC_AST_VARARG);
    case ROC_TK_LBRACE: return parse_table(p);
    case ROC_TK_FUNCTION: return parse_function(p);
    default: return roc_parse_suffixed(p, &name);
  }
}

static roc_ast_node *parse_unary(roc_parser *p, uint8_t op) {
  roc_span begin = p->token.span;
  roc_parse_advance(p);
  roc_ast_node *operand = parse_subexpr(p, UNARY_PRIORITY);
  roc_ast_node *node = roc_parse_node(p, ROC_AST_UNARY, roc_parse_span_to_here(p, begin));
  node->op = op;
  node->a = operand;
  return node;
}

static roc_ast_node *parse_binary(roc_parser *p, uint8_t op, roc_ast_node *left) {
  roc_parse_advance(p);
  roc_ast_node *right = parse_subexpr(p, priority[op].right);
  roc_ast_node *node = roc_parse_node(p, ROC_AST_BINARY, roc_parse_span_to_here(p, left->span));
  node->op = op;
  node->a = left;
  node->b = right;
  roc_parse_grow(p);
  return node;
}

/* Parses operators that bind tighter than `limit`. */
static roc_ast_node *parse_subexpr(roc_parser *p, uint8_t limit) {
  uint32_t outer_height = roc_parse_enter(p);
  uint8_t op = unary_op(p->token.kind);
  roc_ast_node *node = op == NONE ? parse_simple(p) : parse_unary(p, op);
  while ((op = binary_op(p->token.kind)) != NONE && priority[op].left > limit)
    node = parse_binary(p, op, node);
  roc_parse_leave(p, outer_height);
  return node;
}
