/* The parser's core: errors, tokens, memory, and the entry points roc_fe_parse and
 * roc_fe_dump_tokens.  See parser.h for how errors unwind. */
#include "frontend/syntax/parser.h"

#include <string.h>

#include "base/alloc.h"
#include "frontend/frontend.h"

enum { MAX_TEXT_MIB = 64, MIB = 1 << 20 };

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
  if (!roc_parse_failed(p))
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
  if (++p->level > ROC_PARSE_MAX_LEVEL) fail_deep(p, ROC_PARSE_MAX_LEVEL);
  return outer_height;
}

void roc_parse_leave(roc_parser *p, uint32_t outer_height) {
  p->level--;
  roc_parse_grow(p);
  if (p->height < outer_height) p->height = outer_height;
}

void roc_parse_grow(roc_parser *p) {
  if (++p->height > ROC_PARSE_MAX_HEIGHT) fail_deep(p, ROC_PARSE_MAX_HEIGHT);
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

/* ---- entry points ------------------------------------------------------------------------ */

/* The chunk with its copies of name and text; NULL when memory is out. */
static roc_ast_chunk *make_chunk(const char *text, size_t len, uint32_t lead,
                                 const char *chunk_name) {
  roc_ast_chunk *chunk = roc_zalloc(sizeof *chunk);
  if (!chunk) return NULL;
  roc_arena_init(&chunk->arena, (size_t)ROC_PARSE_MAX_MIB * MIB);
  chunk->name = roc_arena_strndup(&chunk->arena, chunk_name, strlen(chunk_name));
  chunk->text = roc_arena_strndup(&chunk->arena, text, len);
  chunk->len = (uint32_t)len;
  chunk->lead = lead;
  if (chunk->name && chunk->text) return chunk;
  roc_fe_chunk_free(chunk);
  return NULL;
}

/* Diagnostics must outlive a chunk that is freed because of them: gives them name and text of their
 * own. */
static void detach_diags(roc_diags *diags, const roc_ast_chunk *chunk) {
  static const roc_ast_chunk nowhere = {.name = "?", .text = ""};
  roc_ast_chunk *copy = ROC_ARENA_NEW(&diags->arena, roc_ast_chunk);
  const char *name = roc_arena_strndup(&diags->arena, chunk->name, strlen(chunk->name));
  const char *text = roc_arena_strndup(&diags->arena, chunk->text, chunk->len);
  if (text) {
    *copy = (roc_ast_chunk){.name = name, .text = text, .len = chunk->len, .lead = chunk->lead};
  }
  for (uint32_t i = 0; i < diags->count; i++) {
    roc_diag *diag = &diags->items[i];
    if (diag->chunk == chunk) diag->chunk = text ? copy : &nowhere;
    if (diag->note_chunk == chunk) diag->note_chunk = text ? copy : &nowhere;
  }
}

static void deinit_parser(roc_parser *p) {
  roc_lexer_deinit(&p->lexer);
  roc_vec_deinit(&p->nodes);
  roc_vec_deinit(&p->symbols);
  roc_vec_deinit(&p->funcs);
  roc_vec_deinit(&p->variables);
  roc_vec_deinit(&p->labels);
  roc_vec_deinit(&p->gotos);
}

/* The chunk is the body of a vararg function with one upvalue, _ENV. */
static void parse_main(roc_parser *p) {
  roc_parse_func func = {0};
  roc_parse_block block = {0};
  roc_scope_open_func(p, &func, &block);
  func.ast->is_vararg = true;
  func.ast->span = (roc_span){0, p->chunk->len, 1, 1};
  roc_parse_advance(p);
  func.ast->body = roc_parse_block_body(p);
  func.ast->last_line = p->token.span.line;
  roc_parse_expect(p, ROC_TK_EOF);
  roc_scope_close_func(p);
}

static void parse_chunk(roc_parser *p) {
  bool ok = roc_lexer_init(&p->lexer, p->chunk, p->diags);
  p->env_name = ok ? roc_names_intern(&p->lexer.names, "_ENV", 4) : NULL;
  p->self_name = ok ? roc_names_intern(&p->lexer.names, "self", 4) : NULL;
  if (!p->env_name || !p->self_name) {
    roc_parse_stop_memory(p);
    return;
  }
  parse_main(p);
  p->chunk->nfuncs = p->funcs.count;
  p->chunk->funcs = roc_parse_alloc(p, sizeof *p->chunk->funcs * p->funcs.count);
  if (p->chunk->funcs)
    memcpy(p->chunk->funcs, p->funcs.items, sizeof *p->chunk->funcs * p->funcs.count);
}

static roc_status report_long_text(roc_diags *diags, const char *chunk_name, roc_error *err) {
  roc_ast_chunk chunk = {.name = chunk_name, .text = ""};
  roc_diag_report(diags, &chunk, (roc_span){0, 0, 1, 1}, ROC_DIAG_TEXT_TOO_LONG,
                  (unsigned)MAX_TEXT_MIB);
  detach_diags(diags, &chunk);
  return roc_fail(err, ROC_COMPILE, "'%s' is too large", chunk_name);
}

roc_status roc_fe_parse(const char *text, size_t len, const char *chunk_name, roc_diags *diags,
                        roc_ast_chunk **out_chunk, roc_error *err) {
  return roc_fe_parse_with_prefix(text, len, 0, chunk_name, diags, out_chunk, err);
}

roc_status roc_fe_parse_with_prefix(const char *text, size_t len, uint32_t lead,
                                    const char *chunk_name, roc_diags *diags,
                                    roc_ast_chunk **out_chunk, roc_error *err) {
  *out_chunk = NULL;
  if (len > (size_t)MAX_TEXT_MIB * MIB) return report_long_text(diags, chunk_name, err);
  roc_ast_chunk *chunk = make_chunk(text, len, lead, chunk_name);
  if (!chunk) return roc_fail(err, ROC_OOM, "out of memory while parsing '%s'", chunk_name);
  roc_parser p = {.chunk = chunk, .diags = diags};
  parse_chunk(&p);
  bool failed = roc_parse_failed(&p), out_of_memory = p.lexer.out_of_memory;
  deinit_parser(&p);
  if (!failed) {
    *out_chunk = chunk;
    return ROC_OK;
  }
  detach_diags(diags, chunk);
  roc_fe_chunk_free(chunk);
  if (out_of_memory) return roc_fail(err, ROC_OOM, "out of memory while parsing '%s'", chunk_name);
  return roc_fail(err, ROC_COMPILE, "syntax error in '%s'", chunk_name);
}

void roc_fe_chunk_free(roc_ast_chunk *chunk) {
  if (!chunk) return;
  roc_ast_chunk_deinit(chunk);
  roc_free(chunk);
}

/* "1:7 name x": kind and, for what has many texts, the text as written. */
static void dump_token(roc_lexer *lexer, const roc_token *token, roc_str *out) {
  roc_str_printf(out, "%u:%u ", (unsigned)token->span.line, (unsigned)token->span.column);
  switch (token->kind) {
    case ROC_TK_NAME: roc_str_printf(out, "<name> %s\n", token->as.name->text.data); return;
    case ROC_TK_INTEGER: roc_str_printf(out, "<integer> %lld\n", (long long)token->as.i); return;
    case ROC_TK_FLOAT: roc_str_printf(out, "<number> %.17g\n", token->as.f); return;
    case ROC_TK_STRING:
      roc_str_printf(out, "<string> %u bytes %s\n", (unsigned)token->as.s.len,
                     roc_lexer_quote(lexer, token->span));
      return;
    default: roc_str_printf(out, "%s\n", roc_token_text(token->kind));
  }
}

void roc_fe_dump_tokens(const char *text, size_t len, const char *chunk_name, roc_diags *diags,
                        roc_str *out) {
  roc_error err;
  if (len > (size_t)MAX_TEXT_MIB * MIB) {
    (void)report_long_text(diags, chunk_name, &err);
    return;
  }
  roc_ast_chunk *chunk = make_chunk(text, len, 0, chunk_name);
  roc_lexer lexer = {0};
  if (chunk && roc_lexer_init(&lexer, chunk, diags)) {
    roc_token token;
    do {
      token = roc_lexer_next(&lexer);
      dump_token(&lexer, &token, out);
    } while (token.kind != ROC_TK_EOF);
  } else {
    out->failed = true;
  }
  roc_lexer_deinit(&lexer);
  if (chunk) detach_diags(diags, chunk);
  roc_fe_chunk_free(chunk);
}
