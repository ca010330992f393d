/* The parser's core: errors, tokens, depth, memory.  See parser.h for how errors unwind. */
#include "frontend/syntax/parser.h"

#include <string.h>

enum { MIB = 1 << 20 };

/* ---- errors ------------------------------------------------------------------------------ */

bool roc_parse_failed(const roc_parser *p) {
  return p->lexer.stopped;
}

void roc_parse_stop(roc_parser *p) {
  roc_lexer_stop(&p->lexer);
  p->token.kind = ROC_TK_EOF;
  p->has_ahead = false;
}

void roc_parse_stop_memory(roc_parser *p) {
  if (!roc_parse_failed(p)) p->lexer.out_of_memory = true;
  roc_parse_stop(p);
}

/* What "near" shows for the current token. */
static const char *near(roc_parser *p) {
  return roc_lexer_quote(&p->lexer, p->token.span);
}

void roc_parse_fail_near(roc_parser *p, roc_diag_id id) {
  if (!roc_parse_failed(p)) roc_diag_report(p->diags, p->chunk, p->token.span, id, near(p));
  roc_parse_stop(p);
}

void roc_parse_fail_expected(roc_parser *p, const char *what) {
  if (!roc_parse_failed(p))
    roc_diag_report(p->diags, p->chunk, p->token.span, ROC_DIAG_EXPECTED, what, near(p));
  roc_parse_stop(p);
}

void roc_parse_fail_limit(roc_parser *p, roc_span span, const char *what, uint32_t limit) {
  const roc_ast_func *func = p->func->ast;
  const char *where = "main function";
  if (func->parent)
    where = roc_arena_printf(&p->diags->arena, "function at line %u", (unsigned)func->span.line);
  if (!roc_parse_failed(p))
    roc_diag_report(p->diags, p->chunk, span, ROC_DIAG_TOO_MANY, what, (unsigned)limit,
                    where ? where : "function", roc_lexer_quote(&p->lexer, span));
  roc_parse_stop(p);
}

static void fail_deep(roc_parser *p, uint32_t limit) {
  if (!roc_parse_failed(p) && !p->has_deep_stack)
    p->needs_deep_stack = true;
  else if (!roc_parse_failed(p))
    roc_diag_report(p->diags, p->chunk, p->token.span, ROC_DIAG_TOO_DEEP, (unsigned)limit, near(p));
  roc_parse_stop(p);
}

/* ---- tokens ------------------------------------------------------------------------------ */

static roc_token next_token(roc_parser *p) {
  roc_token token = roc_lexer_next(&p->lexer);
  if (p->lexer.stopped) token.kind = ROC_TK_EOF;
  return token;
}

void roc_parse_advance(roc_parser *p) {
  p->last_end = p->token.span.end;
  p->token = p->has_ahead ? p->ahead : next_token(p);
  p->has_ahead = false;
}

roc_token_kind roc_parse_peek(roc_parser *p) {
  if (!p->has_ahead) {
    p->ahead = next_token(p);
    p->has_ahead = true;
    if (p->lexer.stopped) p->token.kind = ROC_TK_EOF;
  }
  return p->ahead.kind;
}

bool roc_parse_accept(roc_parser *p, roc_token_kind kind) {
  if (p->token.kind != kind) return false;
  roc_parse_advance(p);
  return true;
}

void roc_parse_expect(roc_parser *p, roc_token_kind kind) {
  if (p->token.kind != kind) {
    roc_parse_fail_expected(p, roc_token_text(kind));
  } else if (kind != ROC_TK_EOF) {
    roc_parse_advance(p);
  }
}

void roc_parse_expect_close(roc_parser *p, roc_token_kind kind, roc_token_kind opener,
                            roc_span opened) {
  if (p->token.kind == kind || p->token.span.line == opened.line) {
    roc_parse_expect(p, kind);
    return;
  }
  if (!roc_parse_failed(p)) {
    roc_diag *diag = roc_diag_report(p->diags, p->chunk, p->token.span, ROC_DIAG_EXPECTED_TO_CLOSE,
                                     roc_token_text(kind), roc_token_text(opener),
                                     (unsigned)opened.line, near(p));
    roc_diag_note(p->diags, diag, p->chunk, opened, "%s is here", roc_token_text(opener));
  }
  roc_parse_stop(p);
}

roc_name *roc_parse_name(roc_parser *p, roc_span *span) {
  *span = p->token.span;
  if (p->token.kind != ROC_TK_NAME) {
    roc_parse_fail_expected(p, roc_token_text(ROC_TK_NAME));
    return p->self_name;
  }
  roc_name *name = p->token.as.name;
  roc_parse_advance(p);
  return name;
}

/* ---- depth ------------------------------------------------------------------------------- */

uint32_t roc_parse_enter(roc_parser *p) {
  uint32_t outer_height = p->height;
  p->height = 0;
  uint32_t limit = p->has_deep_stack ? ROC_PARSE_MAX_LEVEL : ROC_PARSE_CALLER_LEVEL;
  if (++p->level > limit) fail_deep(p, limit);
  return outer_height;
}

void roc_parse_leave(roc_parser *p, uint32_t outer_height) {
  p->level--;
  roc_parse_grow(p);
  if (p->height < outer_height) p->height = outer_height;
}

void roc_parse_grow(roc_parser *p) {
  uint32_t limit = p->has_deep_stack ? ROC_PARSE_MAX_HEIGHT : ROC_PARSE_CALLER_HEIGHT;
  if (++p->height > limit) fail_deep(p, limit);
}

/* ---- memory ------------------------------------------------------------------------------ */

void *roc_parse_alloc(roc_parser *p, size_t nbytes) {
  if (roc_parse_failed(p)) return NULL;
  roc_arena *arena = &p->chunk->arena;
  void *block = roc_arena_alloc(arena, nbytes);
  if (block) return block;
  /* An arena does not say why; the limit it is when one more of its blocks would pass it. */
  if (arena->total_bytes + nbytes + MIB > arena->limit_bytes) {
    roc_diag_report(p->diags, p->chunk, p->token.span, ROC_DIAG_CHUNK_TOO_LARGE,
                    (unsigned)ROC_PARSE_MAX_MIB);
    roc_parse_stop(p);
  } else {
    roc_parse_stop_memory(p);
  }
  return NULL;
}

roc_ast_node *roc_parse_node(roc_parser *p, roc_ast_kind kind, roc_span span) {
  roc_ast_node *node = roc_parse_alloc(p, sizeof *node);
  if (!node) {
    p->sink = (roc_ast_node){0};
    node = &p->sink;
  }
  node->kind = (uint8_t)kind;
  node->span = span;
  node->id = p->func->ast->nnodes++;
  return node;
}

roc_span roc_parse_span_to_here(const roc_parser *p, roc_span begin) {
  begin.end = p->last_end;
  return begin;
}

void roc_parse_push(roc_parser *p, roc_ast_node *node) {
  if (!roc_vec_push(&p->nodes, node)) roc_parse_stop_memory(p);
}

roc_ast_list roc_parse_take(roc_parser *p, uint32_t mark) {
  roc_ast_list list = {NULL, p->nodes.count - mark};
  if (list.count) {
    list.items = roc_parse_alloc(p, sizeof *list.items * list.count);
    if (list.items) memcpy(list.items, p->nodes.items + mark, sizeof *list.items * list.count);
  }
  if (!list.items) list.count = 0;
  p->nodes.count = mark;
  return list;
}
