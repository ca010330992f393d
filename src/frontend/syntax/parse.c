/* Entry points of the front end's first two stages: the syntax tree of a text, its tokens as text.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "frontend/frontend.h"
#include "frontend/syntax/parser.h"

enum { MAX_TEXT_MIB = 64, MIB = 1 << 20 };

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

/* One attempt to parse a text. */
typedef struct attempt {
  const char *text, *chunk_name;
  size_t len;
  uint32_t lead;
  bool has_deep_stack, needs_deep_stack;
  roc_diags *diags;
  roc_ast_chunk *chunk;
  roc_status status;
  roc_error *err;
} attempt;

static roc_status fail_memory(const attempt *a) {
  return roc_fail(a->err, ROC_OOM, "out of memory while parsing '%s'", a->chunk_name);
}

static roc_status parse_once(attempt *a) {
  roc_ast_chunk *chunk = make_chunk(a->text, a->len, a->lead, a->chunk_name);
  if (!chunk) return fail_memory(a);
  roc_parser p = {.chunk = chunk, .diags = a->diags, .has_deep_stack = a->has_deep_stack};
  parse_chunk(&p);
  bool failed = roc_parse_failed(&p), out_of_memory = p.lexer.out_of_memory;
  a->needs_deep_stack = p.needs_deep_stack;
  deinit_parser(&p);
  if (!failed) {
    a->chunk = chunk;
    return ROC_OK;
  }
  if (!a->needs_deep_stack) detach_diags(a->diags, chunk);
  roc_fe_chunk_free(chunk);
  if (a->needs_deep_stack) return ROC_COMPILE; /* and nothing is said: there is another attempt */
  if (out_of_memory) return fail_memory(a);
  return roc_fail(a->err, ROC_COMPILE, "syntax error in '%s'", a->chunk_name);
}

static void *parse_on_thread(void *ud) {
  attempt *a = ud;
  a->status = parse_once(a);
  return NULL;
}

roc_status roc_fe_parse_with_prefix(const char *text, size_t len, uint32_t lead,
                                    const char *chunk_name, roc_diags *diags,
                                    roc_ast_chunk **out_chunk, roc_error *err) {
  *out_chunk = NULL;
  if (len > (size_t)MAX_TEXT_MIB * MIB) return report_long_text(diags, chunk_name, err);
  attempt a = {
      .text = text, .chunk_name = chunk_name, .len = len, .lead = lead, .diags = diags, .err = err};
  a.status = parse_once(&a);
  if (a.needs_deep_stack) {
    a.has_deep_stack = true;
    int rc = roc_thread_call(ROC_THREAD_DEEP_STACK, parse_on_thread, &a);
    if (rc)
      return roc_fail(err, ROC_OOM,
                      "cannot start a thread to parse '%s', which is nested deeply: %s", chunk_name,
                      strerror(rc));
  }
  *out_chunk = a.chunk;
  return a.status;
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
