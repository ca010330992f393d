/* Statements, one function per rule of Lua's grammar.  Each returns its node; blocks are scopes. */
#include "frontend/syntax/parser.h"

#include <string.h>

/* Hidden variables of the two loops, which count toward the limit on locals. */
enum { HIDDEN_OF_NUMERIC = 3, HIDDEN_OF_GENERIC = 4 };

/* ---- blocks ------------------------------------------------------------------------------ */

static roc_ast_node *parse_statement(roc_parser *p);

/* `until` ends a block but not its scope: the condition sees the locals. */
static bool ends_block(roc_token_kind kind, bool with_until) {
  return kind == ROC_TK_EOF || kind == ROC_TK_END || kind == ROC_TK_ELSE || kind == ROC_TK_ELSEIF ||
         (with_until && kind == ROC_TK_UNTIL);
}

/* Pushes the statement, unless it is empty. */
static void push_statement(roc_parser *p) {
  roc_ast_node *node = parse_statement(p);
  if (node) roc_parse_push(p, node);
}

roc_ast_list roc_parse_block_body(roc_parser *p) {
  uint32_t mark = p->nodes.count;
  bool returned = false;
  while (!returned && !ends_block(p->token.kind, true)) {
    returned = p->token.kind == ROC_TK_RETURN;
    push_statement(p);
  }
  return roc_parse_take(p, mark);
}

static roc_ast_list parse_scoped_block(roc_parser *p, bool is_loop) {
  roc_parse_block block;
  roc_scope_open_block(p, &block, is_loop);
  roc_ast_list body = roc_parse_block_body(p);
  roc_scope_close_block(p);
  return body;
}

/* ---- control structures ------------------------------------------------------------------ */

static roc_ast_node *parse_do(roc_parser *p) {
  roc_span begin = p->token.span;
  roc_ast_node *node = roc_parse_node(p, ROC_AST_DO, begin);
  roc_parse_advance(p);
  node->body = parse_scoped_block(p, false);
  roc_parse_expect_close(p, ROC_TK_END, ROC_TK_DO, begin);
  return node;
}

static roc_ast_node *parse_while(roc_parser *p) {
  roc_span begin = p->token.span;
  roc_ast_node *node = roc_parse_node(p, ROC_AST_WHILE, begin);
  roc_parse_advance(p);
  node->a = roc_parse_expr(p);
  roc_parse_expect(p, ROC_TK_DO);
  node->body = parse_scoped_block(p, true);
  roc_parse_expect_close(p, ROC_TK_END, ROC_TK_WHILE, begin);
  return node;
}

static roc_ast_node *parse_repeat(roc_parser *p) {
  roc_span begin = p->token.span;
  roc_ast_node *node = roc_parse_node(p, ROC_AST_REPEAT, begin);
  roc_parse_block loop, scope;
  roc_scope_open_block(p, &loop, true);
  roc_scope_open_block(p, &scope, false);
  roc_parse_advance(p);
  node->body = roc_parse_block_body(p);
  roc_parse_expect_close(p, ROC_TK_UNTIL, ROC_TK_REPEAT, begin);
  node->a = roc_parse_expr(p);
  roc_scope_close_block(p);
  roc_scope_close_block(p);
  return node;
}

/* From `if` or `elseif` to after the block. */
static roc_ast_node *parse_branch(roc_parser *p) {
  roc_ast_node *node = roc_parse_node(p, ROC_AST_IF, p->token.span);
  roc_parse_advance(p);
  node->a = roc_parse_expr(p);
  roc_parse_expect(p, ROC_TK_THEN);
  node->body = parse_scoped_block(p, false);
  return node;
}

/* `a` becomes a list of one. */
static roc_ast_list list_of(roc_parser *p, roc_ast_node *a) {
  uint32_t mark = p->nodes.count;
  roc_parse_push(p, a);
  return roc_parse_take(p, mark);
}

static roc_ast_node *parse_if(roc_parser *p) {
  roc_span begin = p->token.span;
  roc_ast_node *first = parse_branch(p), *last = first;
  while (p->token.kind == ROC_TK_ELSEIF) {
    roc_ast_node *next = parse_branch(p);
    last->orelse = list_of(p, next);
    last = next;
    roc_parse_grow(p);
  }
  if (roc_parse_accept(p, ROC_TK_ELSE)) last->orelse = parse_scoped_block(p, false);
  roc_parse_expect_close(p, ROC_TK_END, ROC_TK_IF, begin);
  return first;
}

/* A variable of a loop; it becomes visible in the body only. */
static roc_ast_node *parse_loop_name(roc_parser *p, roc_ast_node *loop, roc_name *name,
                                     roc_span span) {
  roc_ast_node *node = roc_parse_node(p, ROC_AST_LOCAL_NAME, span);
  node->sym = roc_scope_declare(p, name, span);
  node->sym->decl = loop;
  return node;
}

/* "=" expr "," expr ["," expr] */
static void parse_numeric_head(roc_parser *p, roc_ast_node *loop, roc_name *name, roc_span span) {
  loop->sym = roc_scope_declare(p, name, span);
  loop->sym->decl = loop;
  roc_parse_advance(p);
  loop->a = roc_parse_expr(p);
  roc_parse_expect(p, ROC_TK_COMMA);
  loop->b = roc_parse_expr(p);
  if (roc_parse_accept(p, ROC_TK_COMMA)) loop->c = roc_parse_expr(p);
  roc_scope_activate_hidden(p, HIDDEN_OF_NUMERIC);
}

/* {"," NAME} "in" exprs */
static void parse_generic_head(roc_parser *p, roc_ast_node *loop, roc_name *name, roc_span span) {
  uint32_t mark = p->nodes.count;
  roc_parse_push(p, parse_loop_name(p, loop, name, span));
  while (roc_parse_accept(p, ROC_TK_COMMA)) {
    name = roc_parse_name(p, &span);
    roc_parse_push(p, parse_loop_name(p, loop, name, span));
  }
  loop->list = roc_parse_take(p, mark);
  roc_parse_expect(p, ROC_TK_IN);
  loop->values = roc_parse_expr_list(p);
  roc_scope_activate_hidden(p, HIDDEN_OF_GENERIC);
}

static void parse_for_body(roc_parser *p, roc_ast_node *loop) {
  roc_parse_block block;
  roc_parse_expect(p, ROC_TK_DO);
  roc_scope_open_block(p, &block, false);
  if (loop->kind == ROC_AST_FOR_NUM) roc_scope_activate(p, loop->sym);
  for (uint32_t i = 0; i < loop->list.count; i++) roc_scope_activate(p, loop->list.items[i]->sym);
  loop->body = roc_parse_block_body(p);
  roc_scope_close_block(p);
}

static roc_ast_node *parse_for(roc_parser *p) {
  roc_span begin = p->token.span, span;
  roc_ast_node *node = roc_parse_node(p, ROC_AST_FOR_NUM, begin);
  roc_parse_block block;
  roc_scope_open_block(p, &block, true);
  roc_parse_advance(p);
  roc_name *name = roc_parse_name(p, &span);
  switch (p->token.kind) {
    case ROC_TK_ASSIGN: parse_numeric_head(p, node, name, span); break;
    case ROC_TK_COMMA:
    case ROC_TK_IN:
      node->kind = ROC_AST_FOR_IN;
      parse_generic_head(p, node, name, span);
      break;
    default: roc_parse_fail_expected(p, "'=' or 'in'");
  }
  if (!roc_parse_failed(p)) parse_for_body(p, node);
  roc_parse_expect_close(p, ROC_TK_END, ROC_TK_FOR, begin);
  roc_scope_close_block(p);
  return node;
}

/* ---- declarations ------------------------------------------------------------------------ */

/* A function takes the name of what it is first assigned to. */
static void name_functions(const roc_parser *p, roc_ast_list targets, roc_ast_list values) {
  if (roc_parse_failed(p)) return;
  for (uint32_t i = 0; i < targets.count && i < values.count; i++) {
    const roc_ast_node *target = targets.items[i];
    if (target->kind == ROC_AST_LOCAL_NAME)
      roc_parse_name_function(values.items[i], target->sym->name);
    if (target->kind == ROC_AST_FREE_NAME) roc_parse_name_function(values.items[i], target->as.s);
    if (target->kind == ROC_AST_INDEX && target->b->kind == ROC_AST_STRING)
      roc_parse_name_function(values.items[i], target->b->as.s);
  }
}

/* ["<" NAME ">"] */
static void parse_attribute(roc_parser *p, roc_ast_symbol *symbol) {
  roc_span span;
  if (!roc_parse_accept(p, ROC_TK_LT)) return;
  roc_name *name = roc_parse_name(p, &span);
  roc_parse_expect(p, ROC_TK_GT);
  if (strcmp(name->text.data, "const") == 0) {
    symbol->is_const = true;
  } else if (strcmp(name->text.data, "close") == 0) {
    symbol->is_close = true;
  } else if (!roc_parse_failed(p)) {
    roc_diag_report(p->diags, p->chunk, span, ROC_DIAG_UNKNOWN_ATTRIBUTE, name->text.data);
    roc_parse_stop(p);
  }
}

/* NAME attribute {"," NAME attribute} */
static roc_ast_list parse_local_names(roc_parser *p, roc_ast_node *local) {
  uint32_t mark = p->nodes.count;
  bool has_close = false;
  do {
    roc_span span;
    roc_name *name = roc_parse_name(p, &span);
    roc_ast_node *node = roc_parse_node(p, ROC_AST_LOCAL_NAME, span);
    node->sym = roc_scope_declare(p, name, span);
    node->sym->decl = local;
    parse_attribute(p, node->sym);
    if (node->sym->is_close && has_close && !roc_parse_failed(p)) {
      roc_diag_report(p->diags, p->chunk, span, ROC_DIAG_MULTIPLE_CLOSE);
      roc_parse_stop(p);
    }
    has_close |= node->sym->is_close;
    roc_parse_push(p, node);
  } while (roc_parse_accept(p, ROC_TK_COMMA));
  return roc_parse_take(p, mark);
}

static roc_ast_node *parse_local(roc_parser *p, roc_span begin) {
  roc_ast_node *node = roc_parse_node(p, ROC_AST_LOCAL, begin);
  node->list = parse_local_names(p, node);
  if (roc_parse_accept(p, ROC_TK_ASSIGN)) node->values = roc_parse_expr_list(p);
  uint32_t n = node->list.count;
  const roc_ast_node *constant = NULL;
  if (n && n == node->values.count && node->list.items[n - 1]->sym->is_const)
    constant = roc_constant_fold(p, node->values.items[n - 1]);
  for (uint32_t i = 0; i < n; i++) roc_scope_activate(p, node->list.items[i]->sym);
  if (constant) roc_scope_set_constant(p, constant);
  name_functions(p, node->list, node->values);
  return node;
}

static roc_ast_node *parse_local_function(roc_parser *p, roc_span function) {
  roc_span span;
  roc_name *name = roc_parse_name(p, &span);
  roc_ast_node *node = roc_parse_node(p, ROC_AST_LOCAL_FUNCTION, span);
  node->sym = roc_scope_declare(p, name, span);
  node->sym->decl = node;
  roc_scope_activate(p, node->sym); /* the body sees it */
  node->as.func = roc_parse_func_body(p, function, false);
  node->as.func->name = name->text;
  return node;
}

static roc_ast_node *parse_any_local(roc_parser *p) {
  roc_span begin = p->token.span;
  roc_parse_advance(p);
  roc_span next = p->token.span;
  if (roc_parse_accept(p, ROC_TK_FUNCTION)) return parse_local_function(p, next);
  return parse_local(p, begin);
}

/* NAME {"." NAME} [":" NAME] */
static roc_ast_node *parse_function_name(roc_parser *p, roc_ast_string *last, bool *is_method) {
  roc_span begin, span;
  roc_name *plain = roc_parse_name(p, &begin);
  roc_ast_node *target = roc_scope_resolve(p, plain, begin);
  *last = plain->text;
  *is_method = false;
  while (!*is_method && (p->token.kind == ROC_TK_DOT || p->token.kind == ROC_TK_COLON)) {
    *is_method = p->token.kind == ROC_TK_COLON;
    roc_parse_advance(p);
    roc_name *field = roc_parse_name(p, &span);
    roc_ast_node *key = roc_parse_node(p, ROC_AST_STRING, span);
    key->as.s = *last = field->text;
    roc_ast_node *index = roc_parse_node(p, ROC_AST_INDEX, roc_parse_span_to_here(p, begin));
    index->a = target;
    index->b = key;
    target = index;
    plain = NULL;
    roc_parse_grow(p);
  }
  roc_scope_assign(p, target, plain);
  return target;
}

static roc_ast_node *parse_function_statement(roc_parser *p) {
  roc_span begin = p->token.span;
  roc_ast_string name;
  bool is_method;
  roc_ast_node *node = roc_parse_node(p, ROC_AST_FUNCTION_STAT, begin);
  roc_parse_advance(p);
  node->a = parse_function_name(p, &name, &is_method);
  node->as.func = roc_parse_func_body(p, begin, is_method);
  node->as.func->name = name;
  return node;
}

/* ---- simple statements ------------------------------------------------------------------- */

/* Refuses what cannot be assigned to. */
static void check_target(roc_parser *p, roc_ast_node *target, roc_name *name) {
  bool is_variable = name || target->kind == ROC_AST_INDEX;
  if (is_variable) {
    roc_scope_assign(p, target, name);
  } else {
    roc_parse_fail_near(p, ROC_DIAG_SYNTAX);
  }
}

/* {"," suffixed} "=" exprs, after the first target.  The number of targets is bounded like
 * nesting, as in Lua. */
static roc_ast_node *parse_assignment(roc_parser *p, roc_ast_node *target, roc_name *name) {
  roc_ast_node *node = roc_parse_node(p, ROC_AST_ASSIGN, target->span);
  uint32_t mark = p->nodes.count, level = p->level, height = p->height;
  check_target(p, target, name);
  roc_parse_push(p, target);
  while (roc_parse_accept(p, ROC_TK_COMMA)) {
    target = roc_parse_suffixed(p, &name);
    check_target(p, target, name);
    roc_parse_push(p, target);
    if (roc_parse_enter(p) > height) height = p->height;
  }
  node->list = roc_parse_take(p, mark);
  p->level = level;
  p->height = height;
  roc_parse_expect(p, ROC_TK_ASSIGN);
  node->values = roc_parse_expr_list(p);
  name_functions(p, node->list, node->values);
  return node;
}

static roc_ast_node *parse_expr_statement(roc_parser *p) {
  roc_name *name;
  roc_ast_node *expr = roc_parse_suffixed(p, &name);
  if (p->token.kind == ROC_TK_ASSIGN || p->token.kind == ROC_TK_COMMA)
    return parse_assignment(p, expr, name);
  if (expr->kind != ROC_AST_CALL && expr->kind != ROC_AST_METHOD)
    roc_parse_fail_near(p, ROC_DIAG_SYNTAX);
  roc_ast_node *node = roc_parse_node(p, ROC_AST_CALL_STAT, expr->span);
  node->a = expr;
  return node;
}

static roc_ast_node *parse_return(roc_parser *p) {
  roc_ast_node *node = roc_parse_node(p, ROC_AST_RETURN, p->token.span);
  roc_parse_advance(p);
  if (!ends_block(p->token.kind, true) && p->token.kind != ROC_TK_SEMICOLON)
    node->values = roc_parse_expr_list(p);
  node->span = roc_parse_span_to_here(p, node->span);
  roc_parse_accept(p, ROC_TK_SEMICOLON);
  return node;
}

static roc_ast_node *parse_break(roc_parser *p) {
  roc_ast_node *node = roc_parse_node(p, ROC_AST_BREAK, p->token.span);
  if (!roc_scope_in_loop(p)) roc_parse_fail_near(p, ROC_DIAG_BREAK_OUTSIDE);
  roc_parse_advance(p);
  return node;
}

static roc_ast_node *parse_goto(roc_parser *p) {
  roc_span begin = p->token.span, span;
  roc_parse_advance(p);
  roc_name *name = roc_parse_name(p, &span);
  roc_ast_node *node = roc_parse_node(p, ROC_AST_GOTO, roc_parse_span_to_here(p, begin));
  roc_scope_goto(p, node, name);
  return node;
}

/* Pushes the label itself, since the void statements after it are parsed here, to see whether the
 * block ends, and must follow it. */
static roc_ast_node *parse_label(roc_parser *p) {
  roc_span begin = p->token.span, span;
  roc_parse_advance(p);
  roc_name *name = roc_parse_name(p, &span);
  roc_parse_expect(p, ROC_TK_DCOLON);
  roc_ast_node *node = roc_parse_node(p, ROC_AST_LABEL, roc_parse_span_to_here(p, begin));
  node->as.s = name->text;
  roc_parse_push(p, node);
  while (p->token.kind == ROC_TK_SEMICOLON || p->token.kind == ROC_TK_DCOLON) push_statement(p);
  if (!roc_parse_failed(p)) roc_scope_label(p, node, name, ends_block(p->token.kind, false));
  return NULL;
}

static roc_ast_node *parse_empty(roc_parser *p) {
  roc_parse_advance(p);
  return NULL;
}

/* By first token; all others begin a call or an assignment. */
static roc_ast_node *(*const rules[ROC_TK_COUNT_])(roc_parser *p) = {
    [ROC_TK_SEMICOLON] = parse_empty,
    [ROC_TK_IF] = parse_if,
    [ROC_TK_WHILE] = parse_while,
    [ROC_TK_DO] = parse_do,
    [ROC_TK_FOR] = parse_for,
    [ROC_TK_REPEAT] = parse_repeat,
    [ROC_TK_FUNCTION] = parse_function_statement,
    [ROC_TK_LOCAL] = parse_any_local,
    [ROC_TK_DCOLON] = parse_label,
    [ROC_TK_RETURN] = parse_return,
    [ROC_TK_BREAK] = parse_break,
    [ROC_TK_GOTO] = parse_goto,
};

static roc_ast_node *parse_statement(roc_parser *p) {
  uint32_t outer_height = roc_parse_enter(p);
  roc_ast_node *(*rule)(roc_parser *) = rules[p->token.kind];
  roc_ast_node *node = rule ? rule(p) : parse_expr_statement(p);
  roc_parse_leave(p, outer_height);
  return node;
}
