/* What the kernel subset forbids by its form alone: each refusal says what to write instead.
 *
 * Walks a function's tree once, before types are told.  Strings and tables are not here: they are
 * legal in some arguments, which only inference knows. */
#include "frontend/types/infer.h"

static void visit(roc_infer *inf, const roc_ast_node *node);

static void visit_list(roc_infer *inf, const roc_ast_list *list) {
  for (uint32_t i = 0; i < list->count; i++) visit(inf, list->items[i]);
}

static void refuse_symbols(roc_infer *inf, const roc_ast_node *node) {
  for (uint32_t i = 0; i < node->list.count; i++) {
    const roc_ast_symbol *sym = node->list.items[i]->sym;
    if (sym && sym->is_close) ROC_INFER_REPORT(inf, sym->span, ROC_DIAG_CLOSE, sym->name.data);
  }
}

/* True: refused, nothing inside is worth a look. */
static bool refuse(roc_infer *inf, const roc_ast_node *node) {
  switch (node->kind) {
    case ROC_AST_NIL: ROC_INFER_REPORT(inf, node->span, ROC_DIAG_NIL); return true;
    case ROC_AST_VARARG: ROC_INFER_REPORT(inf, node->span, ROC_DIAG_VARARG); return true;
    case ROC_AST_FUNCTION:
    case ROC_AST_LOCAL_FUNCTION:
    case ROC_AST_FUNCTION_STAT: ROC_INFER_REPORT(inf, node->span, ROC_DIAG_CLOSURE); return true;
    case ROC_AST_METHOD:
      ROC_INFER_REPORT(inf, node->span, ROC_DIAG_METHOD, node->as.s.data);
      return true;
    case ROC_AST_FOR_IN: ROC_INFER_REPORT(inf, node->span, ROC_DIAG_FOR_IN); return true;
    case ROC_AST_BINARY:
      if (node->op != ROC_OP_CONCAT) return false;
      ROC_INFER_REPORT(inf, node->span, ROC_DIAG_CONCAT);
      return true;
    case ROC_AST_GOTO:
      if (node->a && node->a->span.begin < node->span.begin) {
        ROC_INFER_REPORT(inf, node->span, ROC_DIAG_BACKWARD_GOTO, node->as.s.data);
      }
      return true;
    case ROC_AST_LOCAL: refuse_symbols(inf, node); return false;
    default: return false;
  }
}

static void visit(roc_infer *inf, const roc_ast_node *node) {
  if (!node || refuse(inf, node)) return;
  visit(inf, node->a);
  visit(inf, node->b);
  visit(inf, node->c);
  visit_list(inf, &node->list);
  visit_list(inf, &node->values);
  visit_list(inf, &node->body);
  visit_list(inf, &node->orelse);
}

void roc_infer_restrict(roc_infer *inf) {
  const roc_ast_func *func = inf->inst->fn->ast;
  if (func->is_vararg) ROC_INFER_REPORT(inf, func->span, ROC_DIAG_VARARG);
  visit_list(inf, &func->body);
}
