/* Scopes: which local a name means, which label a goto reaches, and Lua's limits on both.
 *
 * Variables, labels and pending gotos of all open functions stand on three stacks of the parser; a
 * block remembers where its part begins.  Invariant: name->variable and name->label always lead to
 * the innermost entry of that name, since leaving a scope restores what was shadowed. */
#include <string.h>

#include "frontend/syntax/parser.h"

enum { OUTSIDE = -1 };

static uint32_t active_count(const roc_parser *p) {
  return p->variables.count - p->func->first_variable;
}

/* ---- functions and blocks ---------------------------------------------------------------- */

static roc_ast_func *make_func(roc_parser *p) {
  roc_ast_func *ast = roc_parse_alloc(p, sizeof *ast);
  if (!ast) {
    p->sink_func = (roc_ast_func){0};
    return &p->sink_func;
  }
  ast->index = p->funcs.count;
  if (!roc_vec_push(&p->funcs, ast)) roc_parse_stop_memory(p);
  return ast;
}

void roc_scope_open_func(roc_parser *p, roc_parse_func *func, roc_parse_block *block) {
  *func = (roc_parse_func){.ast = make_func(p), .outer = p->func};
  func->ast->parent = p->func ? p->func->ast : NULL;
  func->ast->is_deep = p->has_deep_stack;
  func->first_variable = p->variables.count;
  func->first_label = p->labels.count;
  func->first_symbol = p->symbols.count;
  p->func = func;
  roc_scope_open_block(p, block, false);
}

/* Symbols get their place in the function's table: what is on the stack above the outer
 * function's. */
static void take_symbols(roc_parser *p) {
  roc_parse_func *func = p->func;
  uint32_t count = p->symbols.count - func->first_symbol;
  roc_ast_symbol **symbols = count ? roc_parse_alloc(p, sizeof *symbols * count) : NULL;
  if (symbols) {
    memcpy(symbols, p->symbols.items + func->first_symbol, sizeof *symbols * count);
    func->ast->symbols = symbols;
    func->ast->params = symbols; /* they were declared first */
    func->ast->nsymbols = count;
  }
  p->symbols.count = func->first_symbol;
}

void roc_scope_close_func(roc_parser *p) {
  roc_scope_close_block(p);
  take_symbols(p);
  roc_vec_deinit(&p->func->upvalues);
  p->func = p->func->outer;
}

void roc_scope_open_block(roc_parser *p, roc_parse_block *block, bool is_loop) {
  *block = (roc_parse_block){.outer = p->func->block,
                             .nactive = active_count(p),
                             .first_label = p->labels.count,
                             .first_goto = p->gotos.count,
                             .is_loop = is_loop};
  p->func->block = block;
}

static void remove_variables(roc_parser *p, uint32_t count) {
  while (p->variables.count > count) {
    roc_parse_variable v = roc_vec_pop(&p->variables);
    if (v.name) v.name->variable = v.shadowed;
  }
}

static void remove_labels(roc_parser *p, uint32_t count) {
  while (p->labels.count > count) {
    roc_parse_label label = roc_vec_pop(&p->labels);
    label.name->label = label.shadowed;
  }
}

/* Reports a goto of the function without a label. */
static void fail_goto(roc_parser *p, const roc_parse_goto *pending) {
  if (!roc_parse_failed(p))
    roc_diag_report(p->diags, p->chunk, pending->node->span, ROC_DIAG_NO_LABEL,
                    pending->name->text.data);
  roc_parse_stop(p);
}

void roc_scope_close_block(roc_parser *p) {
  roc_parse_block *block = p->func->block;
  remove_variables(p, p->func->first_variable + block->nactive);
  remove_labels(p, block->first_label);
  if (block->outer) {
    /* Pending gotos leave the block: its locals are none of theirs any more. */
    for (uint32_t i = block->first_goto; i < p->gotos.count; i++)
      p->gotos.items[i].nactive = block->nactive;
  } else if (p->gotos.count > block->first_goto) {
    fail_goto(p, &p->gotos.items[block->first_goto]);
    p->gotos.count = block->first_goto;
  }
  p->func->block = block->outer;
}

bool roc_scope_in_loop(const roc_parser *p) {
  const roc_parse_block *block = p->func->block;
  while (block && !block->is_loop) block = block->outer;
  return block != NULL;
}

/* ---- variables --------------------------------------------------------------------------- */

roc_ast_symbol *roc_scope_declare(roc_parser *p, roc_name *name, roc_span span) {
  roc_ast_symbol *symbol = roc_parse_alloc(p, sizeof *symbol);
  if (!symbol) {
    p->sink_symbol = (roc_ast_symbol){0};
    return &p->sink_symbol;
  }
  symbol->id = p->symbols.count - p->func->first_symbol;
  symbol->name = name->text;
  symbol->span = span;
  symbol->func = p->func->ast;
  if (!roc_vec_push(&p->symbols, symbol)) roc_parse_stop_memory(p);
  return symbol;
}

static void push_variable(roc_parser *p, roc_span span, roc_parse_variable variable) {
  if (active_count(p) >= ROC_PARSE_MAX_LOCALS) {
    roc_parse_fail_limit(p, span, "local variables", ROC_PARSE_MAX_LOCALS);
  } else if (!roc_vec_push(&p->variables, variable)) {
    roc_parse_stop_memory(p);
  } else if (variable.name) {
    variable.name->variable = p->variables.count;
  }
}

void roc_scope_activate(roc_parser *p, roc_ast_symbol *symbol) {
  if (roc_parse_failed(p)) return;
  roc_name *name = roc_names_intern(&p->lexer.names, symbol->name.data, symbol->name.len);
  if (!name) {
    roc_parse_stop_memory(p);
    return;
  }
  push_variable(p, symbol->span,
                (roc_parse_variable){.name = name, .symbol = symbol, .shadowed = name->variable});
}

void roc_scope_activate_hidden(roc_parser *p, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) push_variable(p, p->token.span, (roc_parse_variable){0});
}

void roc_scope_set_constant(roc_parser *p, const roc_ast_node *value) {
  if (!roc_parse_failed(p)) roc_vec_last(&p->variables).constant = value;
}

const roc_ast_node *roc_scope_constant(const roc_parser *p, const roc_ast_node *name) {
  for (uint32_t i = p->variables.count; i > p->func->first_variable; i--)
    if (p->variables.items[i - 1].symbol == name->sym) return p->variables.items[i - 1].constant;
  return NULL;
}

static bool has_upvalue(const roc_parse_func *func, const roc_ast_symbol *symbol) {
  for (uint32_t i = 0; i < func->upvalues.count; i++)
    if (func->upvalues.items[i] == symbol) return true;
  return false;
}

/* Every function between the use and the variable (index into the stack, or OUTSIDE for the chunk's
 * own _ENV) needs it as an upvalue.  A function that has it already got it through all outer ones.
 */
static void add_upvalue(roc_parser *p, roc_span span, const roc_ast_symbol *symbol,
                        int64_t variable) {
  for (roc_parse_func *f = p->func; f && f->first_variable > variable; f = f->outer) {
    if (has_upvalue(f, symbol)) return;
    if (f->upvalues.count >= ROC_PARSE_MAX_UPVALUES) {
      roc_parse_fail_limit(p, span, "upvalues", ROC_PARSE_MAX_UPVALUES);
      return;
    }
    if (!roc_vec_push(&f->upvalues, symbol)) roc_parse_stop_memory(p);
  }
}

static roc_ast_node *make_free_name(roc_parser *p, roc_name *name, roc_span span, bool is_global) {
  roc_ast_node *node = roc_parse_node(p, ROC_AST_FREE_NAME, span);
  node->as.s = name->text;
  node->is_global = is_global;
  return node;
}

static roc_ast_node *resolve_global(roc_parser *p, roc_name *name, roc_span span) {
  if (name != p->env_name && p->env_name->variable) {
    /* The script has an _ENV of its own: the name is a field of that. */
    roc_ast_node *node = roc_parse_node(p, ROC_AST_INDEX, span);
    node->a = roc_scope_resolve(p, p->env_name, span);
    node->b = roc_parse_node(p, ROC_AST_STRING, span);
    node->b->as.s = name->text;
    return node;
  }
  add_upvalue(p, span, NULL, OUTSIDE);
  return make_free_name(p, name, span, name != p->env_name);
}

roc_ast_node *roc_scope_resolve(roc_parser *p, roc_name *name, roc_span span) {
  if (!name->variable) return resolve_global(p, name, span);
  const roc_parse_variable *variable = &p->variables.items[name->variable - 1];
  if (name->variable > p->func->first_variable) {
    roc_ast_node *node = roc_parse_node(p, ROC_AST_LOCAL_NAME, span);
    node->sym = variable->symbol;
    return node;
  }
  if (variable->constant) {
    /* As in Lua, a compile-time constant is no upvalue of an inner function: its value stands
     * there. */
    roc_ast_node *node = roc_parse_node(p, (roc_ast_kind)variable->constant->kind, span);
    node->as = variable->constant->as;
    return node;
  }
  variable->symbol->is_captured = true;
  add_upvalue(p, span, variable->symbol, name->variable - 1);
  return make_free_name(p, name, span, false);
}

void roc_scope_assign(roc_parser *p, roc_ast_node *target, roc_name *name) {
  if (!name || !name->variable || roc_parse_failed(p)) return;
  roc_ast_symbol *symbol = p->variables.items[name->variable - 1].symbol;
  if (!symbol->is_const && !symbol->is_close) {
    symbol->assignments++;
    return;
  }
  roc_diag *diag =
      roc_diag_report(p->diags, p->chunk, target->span, ROC_DIAG_CONST_ASSIGN, symbol->name.data);
  roc_diag_note(p->diags, diag, p->chunk, symbol->span, "'%s' is declared <%s> here",
                symbol->name.data, symbol->is_close ? "close" : "const");
  roc_parse_stop(p);
}

/* ---- labels ------------------------------------------------------------------------------ */

/* The label of that name that the current function sees, or NULL. */
static const roc_parse_label *visible_label(const roc_parser *p, const roc_name *name) {
  return name->label > p->func->first_label ? &p->labels.items[name->label - 1] : NULL;
}

void roc_scope_goto(roc_parser *p, roc_ast_node *node, roc_name *name) {
  const roc_parse_label *label = visible_label(p, name);
  node->as.s = name->text;
  if (label) {
    node->a = label->node;
    return;
  }
  if (p->gotos.count >= ROC_PARSE_MAX_LABELS) {
    roc_parse_fail_limit(p, node->span, "labels/gotos", ROC_PARSE_MAX_LABELS);
    return;
  }
  roc_parse_goto pending = {name, node, active_count(p)};
  if (!roc_vec_push(&p->gotos, pending)) roc_parse_stop_memory(p);
}

/* `goto` would skip the declaration of the first variable that is active at the label and not at
 * it. */
static void fail_jump(roc_parser *p, const roc_parse_goto *jump, const roc_ast_node *label) {
  if (roc_parse_failed(p)) return;
  const roc_ast_symbol *symbol = p->variables.items[p->func->first_variable + jump->nactive].symbol;
  const char *local_name = symbol ? symbol->name.data : "(for state)";
  roc_diag *diag = roc_diag_report(p->diags, p->chunk, jump->node->span, ROC_DIAG_JUMP_INTO_SCOPE,
                                   jump->name->text.data, local_name);
  roc_diag_note(p->diags, diag, p->chunk, label->span, "the label is here, where '%s' is in scope",
                local_name);
  roc_parse_stop(p);
}

/* Lands the block's pending gotos of that name. */
static void solve_gotos(roc_parser *p, roc_ast_node *node, const roc_name *name, uint32_t nactive) {
  uint32_t kept = p->func->block->first_goto;
  for (uint32_t i = kept; i < p->gotos.count; i++) {
    const roc_parse_goto *pending = &p->gotos.items[i];
    if (pending->name != name) {
      p->gotos.items[kept++] = *pending;
    } else if (pending->nactive < nactive) {
      fail_jump(p, pending, node);
    } else {
      pending->node->a = node;
      node->is_reached = true;
    }
  }
  p->gotos.count = kept;
}

/* The later of the two is the mistake; labels in a row are met from the last to the first. */
static void fail_label(roc_parser *p, const roc_ast_node *one, const roc_ast_node *two) {
  const roc_ast_node *first = one->span.begin < two->span.begin ? one : two;
  const roc_ast_node *second = first == one ? two : one;
  if (roc_parse_failed(p)) return;
  roc_diag *diag = roc_diag_report(p->diags, p->chunk, second->span, ROC_DIAG_LABEL_DEFINED,
                                   second->as.s.data, (unsigned)first->span.line);
  roc_diag_note(p->diags, diag, p->chunk, first->span, "the first one is here");
  roc_parse_stop(p);
}

void roc_scope_label(roc_parser *p, roc_ast_node *node, roc_name *name, bool is_last) {
  const roc_parse_label *other = visible_label(p, name);
  if (other) {
    fail_label(p, other->node, node);
    return;
  }
  if (p->labels.count >= ROC_PARSE_MAX_LABELS) {
    roc_parse_fail_limit(p, node->span, "labels/gotos", ROC_PARSE_MAX_LABELS);
    return;
  }
  roc_parse_label label = {name, node, name->label};
  if (!roc_vec_push(&p->labels, label)) {
    roc_parse_stop_memory(p);
    return;
  }
  name->label = p->labels.count;
  solve_gotos(p, node, name, is_last ? p->func->block->nactive : active_count(p));
}
