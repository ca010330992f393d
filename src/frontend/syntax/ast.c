/* Names of the syntax tree's nodes, freeing it, and its dump.
 *
 * The dump is what specs compare: one node a line, children indented below, `#n` after a local's
 * name is its symbol id.  Recursion is bounded: the parser limits the height of what it makes. */
#include "frontend/syntax/ast.h"

#include <math.h>

static const char *const kind_texts[ROC_AST_COUNT_] = {
#define ROC_AST(NAME, text, fields) text,
#include "frontend/syntax/ast.def"
#undef ROC_AST
};

static const char *const op_texts[] = {
    "+",  "-",  "*", "/",  "//", "%",  "^",   "&",  "|", "~",   "<<", ">>", "..",
    "==", "~=", "<", "<=", ">",  ">=", "and", "or", "-", "not", "#",  "~",
};

const char *roc_ast_kind_text(roc_ast_kind kind) {
  return kind_texts[kind];
}

const char *roc_ast_op_text(roc_ast_op op) {
  return op_texts[op];
}

void roc_ast_chunk_deinit(roc_ast_chunk *chunk) {
  roc_arena_deinit(&chunk->arena);
  chunk->funcs = NULL;
  chunk->nfuncs = 0;
}

/* ---- dump -------------------------------------------------------------------------------- */

static void dump_node(const roc_ast_node *node, uint32_t depth, roc_str *out);
static void dump_func(const roc_ast_func *func, uint32_t depth, roc_str *out);

static void indent(uint32_t depth, roc_str *out) {
  for (uint32_t i = 0; i < depth; i++) roc_str_puts(out, "  ");
}

static void dump_quoted(roc_ast_string s, roc_str *out) {
  roc_str_putc(out, '"');
  for (uint32_t i = 0; i < s.len; i++) {
    unsigned char c = (unsigned char)s.data[i];
    if (c < 0x20 || c >= 0x7F || c == '"' || c == '\\') {
      roc_str_printf(out, "\\x%02X", c);
    } else {
      roc_str_putc(out, (char)c);
    }
  }
  roc_str_putc(out, '"');
}

static void dump_symbol(const roc_ast_symbol *symbol, roc_str *out) {
  roc_str_add(out, symbol->name.data, symbol->name.len);
  roc_str_printf(out, "#%u", (unsigned)symbol->id);
}

/* Attributes, and facts that the parser found; shown at the declaration of the symbol. */
static void dump_declared(const roc_ast_symbol *symbol, roc_str *out) {
  dump_symbol(symbol, out);
  if (symbol->is_const) roc_str_puts(out, " <const>");
  if (symbol->is_close) roc_str_puts(out, " <close>");
  if (symbol->is_captured) roc_str_puts(out, " captured");
  if (symbol->assignments) roc_str_printf(out, " assigned:%u", (unsigned)symbol->assignments);
}

static bool declares(const roc_ast_node *node) {
  return node->kind == ROC_AST_FOR_NUM || node->kind == ROC_AST_LOCAL_FUNCTION ||
         (node->kind == ROC_AST_LOCAL_NAME && node->span.begin == node->sym->span.begin);
}

/* A float in a form that reads back exactly; always with a point, an exponent, or a name. */
static void dump_float(double f, roc_str *out) {
  if (isinf(f)) {
    roc_str_puts(out, f < 0 ? "-inf" : "inf");
  } else {
    roc_str_printf(out, f == floor(f) && fabs(f) < 1e15 ? "%.1f" : "%.17g", f);
  }
}

/* The text on the node's line after its kind. */
static void dump_detail(const roc_ast_node *node, roc_str *out) {
  switch (node->kind) {
    case ROC_AST_INTEGER: roc_str_printf(out, " %lld", (long long)node->as.i); return;
    case ROC_AST_FLOAT:
      roc_str_putc(out, ' ');
      dump_float(node->as.f, out);
      return;
    case ROC_AST_STRING:
      roc_str_putc(out, ' ');
      dump_quoted(node->as.s, out);
      return;
    case ROC_AST_FREE_NAME:
    case ROC_AST_METHOD:
    case ROC_AST_GOTO:
    case ROC_AST_LABEL:
      roc_str_putc(out, ' ');
      roc_str_add(out, node->as.s.data, node->as.s.len);
      if (node->kind == ROC_AST_FREE_NAME)
        roc_str_puts(out, node->is_global ? " (global)" : " (upvalue)");
      return;
    case ROC_AST_UNARY:
    case ROC_AST_BINARY: roc_str_printf(out, " %s", roc_ast_op_text((roc_ast_op)node->op)); return;
    case ROC_AST_LOCAL_NAME:
    case ROC_AST_FOR_NUM:
    case ROC_AST_LOCAL_FUNCTION:
      roc_str_putc(out, ' ');
      (declares(node) ? dump_declared : dump_symbol)(node->sym, out);
      return;
    default: return;
  }
}

static void dump_list(const char *title, roc_ast_list list, uint32_t depth, roc_str *out) {
  if (!list.count) return;
  if (title) {
    indent(depth++, out);
    roc_str_puts(out, title);
    roc_str_putc(out, '\n');
  }
  for (uint32_t i = 0; i < list.count; i++) dump_node(list.items[i], depth, out);
}

static bool has_func(const roc_ast_node *node) {
  return node->kind == ROC_AST_FUNCTION || node->kind == ROC_AST_FUNCTION_STAT ||
         node->kind == ROC_AST_LOCAL_FUNCTION;
}

static void dump_node(const roc_ast_node *node, uint32_t depth, roc_str *out) {
  indent(depth, out);
  roc_str_puts(out, roc_ast_kind_text((roc_ast_kind)node->kind));
  dump_detail(node, out);
  roc_str_putc(out, '\n');
  /* A GOTO's `a` is a cross reference, not a child. */
  if (node->a && node->kind != ROC_AST_GOTO) dump_node(node->a, depth + 1, out);
  if (node->b) dump_node(node->b, depth + 1, out);
  if (node->c) dump_node(node->c, depth + 1, out);
  dump_list(NULL, node->list, depth + 1, out);
  dump_list("values", node->values, depth + 1, out);
  dump_list("body", node->body, depth + 1, out);
  dump_list("else", node->orelse, depth + 1, out);
  if (has_func(node)) dump_func(node->as.func, depth + 1, out);
}

static void dump_func(const roc_ast_func *func, uint32_t depth, roc_str *out) {
  indent(depth, out);
  roc_str_printf(out, "function %u ", (unsigned)func->index);
  roc_str_add(out, func->name.data ? func->name.data : "", func->name.len);
  roc_str_putc(out, '(');
  for (uint32_t i = 0; i < func->nparams; i++) {
    if (i) roc_str_puts(out, ", ");
    dump_declared(func->params[i], out);
  }
  if (func->is_vararg) roc_str_puts(out, func->nparams ? ", ..." : "...");
  roc_str_printf(out, ") lines %u-%u\n", (unsigned)func->span.line, (unsigned)func->last_line);
  dump_list(NULL, func->body, depth + 1, out);
}

void roc_ast_dump(const roc_ast_func *func, roc_str *out) {
  dump_func(func, 0, out);
}

static const roc_ast_node *without_parens(const roc_ast_node *node) {
  while (node && node->kind == ROC_AST_PAREN) node = node->a;
  return node;
}

bool roc_ast_has_error_level(const roc_ast_list *args) {
  return args->count == 2 && without_parens(args->items[0])->kind == ROC_AST_STRING &&
         without_parens(args->items[1])->kind == ROC_AST_INTEGER;
}

const roc_ast_node *roc_ast_initializer(const roc_ast_symbol *sym) {
  const roc_ast_node *decl = sym->decl;
  if (!decl || decl->kind != ROC_AST_LOCAL || sym->assignments > 0) return NULL;
  for (uint32_t k = 0; k < decl->list.count && k < decl->values.count; k++) {
    if (decl->list.items[k]->sym == sym) return decl->values.items[k];
  }
  return NULL;
}
