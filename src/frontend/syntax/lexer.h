/* Text to tokens: all of Lua 5.4's lexical rules, by hand.
 *
 * Reads the chunk's NUL-terminated copy of the source; names and decoded strings go into its arena.
 * Invariant: after an error (reported once to diags) or when memory is out the lexer is `stopped`
 * and returns only EOF, so that a parser unwinds by itself. */
#ifndef ROC_FRONTEND_SYNTAX_LEXER_H
#define ROC_FRONTEND_SYNTAX_LEXER_H

#include "base/str.h"
#include "frontend/syntax/ast.h"
#include "frontend/diag.h"
#include "frontend/syntax/names.h"

typedef enum roc_token_kind {
#define ROC_KEYWORD(NAME, text) ROC_TK_##NAME,
#define ROC_TOKEN(NAME, text) ROC_TK_##NAME,
#include "frontend/syntax/token.def"
#undef ROC_KEYWORD
#undef ROC_TOKEN
  ROC_TK_COUNT_
} roc_token_kind;

typedef struct roc_token {
  roc_token_kind kind;
  roc_span span;
  union {
    roc_name *name;   /* NAME */
    int64_t i;        /* INTEGER */
    double f;         /* FLOAT */
    roc_ast_string s; /* STRING */
  } as;
} roc_token;

typedef struct roc_lexer {
  roc_ast_chunk *chunk;
  roc_diags *diags;
  roc_names names;
  const char *at, *end; /* next byte; after the last */
  const char *line_start;
  uint32_t line;
  uint32_t token_line, token_column; /* where the token being read begins */
  const char *token_start;
  roc_str buffer; /* decoded string under construction */
  bool stopped, out_of_memory;
} roc_lexer;

/* Begins at the chunk's text, after a byte order mark and a first line that starts with '#'.
 * False when memory is out.  Deinit in both cases. */
bool roc_lexer_init(roc_lexer *lexer, roc_ast_chunk *chunk, roc_diags *diags);
void roc_lexer_deinit(roc_lexer *lexer);
roc_token roc_lexer_next(roc_lexer *lexer);
/* Stops: every later token is EOF. */
void roc_lexer_stop(roc_lexer *lexer);

/* "'for'", "<eof>": how messages name a kind of token. */
const char *roc_token_text(roc_token_kind kind);
/* What "near" shows: the bytes of the span as written, quoted and cut; <eof> at the end. */
const char *roc_lexer_quote(roc_lexer *lexer, roc_span span);

/* A numeral's value.  False unless the whole of [text, end) is one; *is_float tells which of the
 * two was set. Correctly rounded, whatever the locale. */
bool roc_numeral_read(const char *text, const char *end, bool *is_float, int64_t *i, double *f);

#endif
