/* print, error, assert: the text pieces go into a site, the values into the instruction. */
#include "frontend/lower/lower.h"

#include <string.h>

/* A message under construction. */
typedef struct message {
  roc_site_piece *pieces;
  uint32_t npieces;
  uint32_t operands[ROC_SITE_MAX_VALUES + 1]; /* the condition of an assert first */
  uint32_t noperands, nvalues;
} message;

static const roc_ast_node *literal(const roc_ast_list *list, uint32_t k) {
  const roc_ast_node *node = k < list->count ? list->items[k] : NULL;
  while (node && node->kind == ROC_AST_PAREN) node = node->a;
  return node && node->kind == ROC_AST_STRING ? node : NULL;
}

static void add_text(message *m, const char *text) {
  m->pieces[m->npieces++] = (roc_site_piece){.text = text};
}

/* The text ends in a byte 0 that is no part of it. */
static void add_literal(message *m, const roc_ast_string *text) {
  const char *end = text->data + text->len;
  for (const char *at = text->data;; at++) {
    add_text(m, at);
    at += strlen(at);
    if (at == end) return;
    m->pieces[m->npieces++] = (roc_site_piece){.type = ROC_VT_NONE};
  }
}

static uint32_t count_zeros(const roc_ast_string *text) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < text->len; i++) count += text->data[i] == '\0';
  return count;
}

/* At most two for each argument, and two more for each byte 0. */
static roc_site_piece *allocate_pieces(roc_lower *lx, const roc_ast_list *list, uint32_t nargs) {
  uint32_t count = 2 * nargs + 1;
  for (uint32_t k = 0; k < nargs; k++) {
    const roc_ast_node *text = literal(list, k);
    if (text) count += 2 * count_zeros(&text->as.s);
  }
  return ROC_ARENA_ARRAY(&lx->scratch, roc_site_piece, count);
}

static void add_value(roc_lower *lx, message *m, roc_operand value) {
  uint32_t id = roc_lower_id(lx, value);
  m->pieces[m->npieces++] = (roc_site_piece){.type = roc_ir_type_of(&lx->b, id)};
  if (m->nvalues < ROC_SITE_MAX_VALUES) {
    m->operands[m->noperands++] = id;
    m->nvalues++;
  }
}

void roc_lower_message(roc_lower *lx, const roc_ast_node *node, roc_ir_op op, roc_site_kind kind,
                       const roc_operand *args, uint32_t nargs) {
  message m = {.pieces = allocate_pieces(lx, &node->list, nargs)};
  uint32_t first = 0;
  if (!m.pieces) {
    lx->stop = true;
    return;
  }
  if (op == ROC_IR_FAIL && roc_ast_has_error_level(&node->list)) nargs = 1;
  if (op == ROC_IR_CHECK) {
    m.operands[m.noperands++] = roc_lower_truth(lx, args[0]);
    first = 1;
  }
  for (uint32_t k = first; k < nargs; k++) {
    const roc_ast_node *text = literal(&node->list, k);
    if (op == ROC_IR_PRINT && k > first) add_text(&m, "\t");
    if (text) {
      add_literal(&m, &text->as.s);
    } else {
      add_value(lx, &m, args[k]);
    }
  }
  roc_site site = {.kind = (uint8_t)kind,
                   .nvalues = (uint8_t)m.nvalues,
                   .file = lx->frame->inst->fn->chunk->name,
                   .line = node->span.line,
                   .column = node->span.column,
                   .pieces = m.pieces,
                   .npieces = m.npieces};
  roc_lower_place(lx, node);
  roc_ir_report(&lx->b, op, roc_ir_add_site(&lx->b, &site), m.operands, m.noperands);
}
