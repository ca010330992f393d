/* See lex.h.  Invariant: `at` never passes `end`, and line counts the newlines before the current
 * token. */
#include "ir/lex.h"

#include <ctype.h>
#include <string.h>

static bool is_word_char(char c) {
  return isalnum((unsigned char)c) || (c && strchr("_.+-", c));
}

static void take(roc_ir_lexer *lx, roc_ir_token token, const char *word, size_t len) {
  lx->token = word ? token : ROC_IR_TOKEN_BAD;
  lx->word = word ? word : "out of memory";
  lx->len = len;
}

static int hex_value(char c) {
  if (isdigit((unsigned char)c)) return c - '0';
  return isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : -1;
}

/* The character after a backslash at `at`; -1 when there is none. */
static int read_escape(roc_ir_lexer *lx) {
  if (lx->at >= lx->end) return -1;
  char c = *lx->at++;
  if (c == '"' || c == '\\') return c;
  if (c != 'x' || lx->end - lx->at < 2) return -1;
  int high = hex_value(lx->at[0]), low = hex_value(lx->at[1]);
  lx->at += 2;
  return high < 0 || low < 0 || high + low == 0 ? -1 : high * 16 + low;
}

static void read_text(roc_ir_lexer *lx) {
  const char *begin = lx->at;
  const char *close = begin;
  while (close < lx->end && *close != '"' && *close != '\n') close += *close == '\\' ? 2 : 1;
  if (close >= lx->end || *close != '"') {
    lx->token = ROC_IR_TOKEN_BAD;
    lx->word = "a quoted string does not end on its line";
    return;
  }
  char *text = roc_arena_alloc(lx->arena, (size_t)(close - begin) + 1);
  size_t len = 0;
  while (lx->at < close) {
    int c = (unsigned char)*lx->at++;
    if (c == '\\') c = read_escape(lx);
    if (c <= 0) {
      lx->token = ROC_IR_TOKEN_BAD;
      lx->word = "an escape in a quoted string is none of \\\" \\\\ \\xHH";
      return;
    }
    if (text) text[len++] = (char)c;
  }
  lx->at = close + 1;
  take(lx, ROC_IR_TOKEN_TEXT, text, len);
}

static void skip_blanks(roc_ir_lexer *lx) {
  while (lx->at < lx->end && (*lx->at == ' ' || *lx->at == '\t' || *lx->at == '\r')) lx->at++;
  if (lx->at < lx->end && *lx->at == ';') {
    while (lx->at < lx->end && *lx->at != '\n') lx->at++;
  }
}

void roc_ir_lex_init(roc_ir_lexer *lexer, roc_arena *arena, const char *text, size_t len) {
  *lexer = (roc_ir_lexer){
      .at = text, .end = text + len, .arena = arena, .line = 1, .token = ROC_IR_TOKEN_LINE};
  roc_ir_lex_next(lexer);
}

void roc_ir_lex_next(roc_ir_lexer *lx) {
  if (lx->token == ROC_IR_TOKEN_BAD) return;
  bool is_line_begin = lx->token == ROC_IR_TOKEN_LINE;
  const char *before = lx->at;
  if (is_line_begin && lx->at > lx->end) return;
  for (;;) {
    skip_blanks(lx);
    if (lx->at >= lx->end) {
      take(lx, is_line_begin ? ROC_IR_TOKEN_END : ROC_IR_TOKEN_LINE, "end of text", 0);
      return;
    }
    if (*lx->at != '\n') break;
    if (!is_line_begin) {
      /* The newline is counted with the next token, so that messages name this line. */
      take(lx, ROC_IR_TOKEN_LINE, "end of line", 0);
      return;
    }
    lx->line++;
    lx->at++;
  }
  lx->is_glued = lx->at == before;
  const char *begin = lx->at;
  if (*begin == '"') {
    lx->at++;
    read_text(lx);
    return;
  }
  while (lx->at < lx->end && is_word_char(*lx->at)) lx->at++;
  if (lx->at > begin) {
    size_t len = (size_t)(lx->at - begin);
    take(lx, ROC_IR_TOKEN_WORD, roc_arena_strndup(lx->arena, begin, len), len);
    return;
  }
  lx->at++;
  lx->sign = *begin;
  take(lx, ROC_IR_TOKEN_SIGN, "", 0);
}
