/* The lexer.  See lexer.h; the rules are those of the manual's §3.1, the messages Lua's own. */
#include "frontend/syntax/lexer.h"

#include <string.h>

/* How much of a token "near" shows. */
enum { QUOTE_BYTES = 40 };

static const char *const token_texts[ROC_TK_COUNT_] = {
#define ROC_KEYWORD(NAME, text) "'" text "'",
#define ROC_TOKEN(NAME, text) text,
#include "frontend/syntax/token.def"
#undef ROC_KEYWORD
#undef ROC_TOKEN
};

const char *roc_token_text(roc_token_kind kind) {
  return token_texts[kind];
}

/* ---- characters -------------------------------------------------------------------------- */

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
static bool is_alpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_newline(char c) {
  return c == '\n' || c == '\r';
}
static bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* The byte `ahead` bytes later; 0 after the end (the NUL that ends the text). */
static char peek(const roc_lexer *lexer, uint32_t ahead) {
  return (size_t)(lexer->end - lexer->at) > ahead ? lexer->at[ahead] : '\0';
}

static bool at_end(const roc_lexer *lexer) {
  return lexer->at == lexer->end;
}

/* Skips \n, \r, \r\n or \n\r. */
static void skip_newline(roc_lexer *lexer) {
  char first = *lexer->at++;
  if (!at_end(lexer) && is_newline(*lexer->at) && *lexer->at != first) lexer->at++;
  lexer->line++;
  lexer->line_start = lexer->at;
}

/* ---- errors ------------------------------------------------------------------------------ */

void roc_lexer_stop(roc_lexer *lexer) {
  lexer->stopped = true;
  lexer->at = lexer->end;
}

static roc_span span_from(const roc_lexer *lexer, const char *begin, uint32_t line,
                          uint32_t column) {
  const char *text = lexer->chunk->text;
  return (roc_span){(uint32_t)(begin - text), (uint32_t)(lexer->at - text), line, column};
}

static roc_span token_span(const roc_lexer *lexer) {
  return span_from(lexer, lexer->token_start, lexer->token_line, lexer->token_column);
}

const char *roc_lexer_quote(roc_lexer *lexer, roc_span span) {
  const char *text = lexer->chunk->text + span.begin;
  uint32_t len = span.end - span.begin;
  if (span.begin >= lexer->chunk->len) return "<eof>";
  roc_str quoted = ROC_STR_INIT;
  roc_str_putc(&quoted, '\'');
  for (uint32_t i = 0; i < len && i < QUOTE_BYTES; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c < 0x20 || c >= 0x7F) {
      roc_str_printf(&quoted, "<\\%u>", c);
    } else {
      roc_str_putc(&quoted, (char)c);
    }
  }
  roc_str_puts(&quoted, len > QUOTE_BYTES ? "...'" : "'");
  const char *copy = roc_arena_strndup(&lexer->diags->arena, roc_str_text(&quoted), quoted.len);
  roc_str_deinit(&quoted);
  return copy ? copy : "?";
}

/* Reports one of the diagnostics whose operand is the text near the error, and stops. */
static roc_token_kind fail_near(roc_lexer *lexer, roc_span span, roc_diag_id id) {
  roc_diag_report(lexer->diags, lexer->chunk, span, id, roc_lexer_quote(lexer, span));
  roc_lexer_stop(lexer);
  return ROC_TK_INVALID;
}

static roc_token_kind fail_memory(roc_lexer *lexer) {
  lexer->out_of_memory = true;
  roc_lexer_stop(lexer);
  return ROC_TK_INVALID;
}

/* ---- long brackets ----------------------------------------------------------------------- */

/* At "[" or "]": the number of '=' when a second such bracket follows them, else -1; *skipped gets
 * how many. */
static int64_t long_bracket_level(const roc_lexer *lexer, uint32_t *skipped) {
  char bracket = *lexer->at;
  uint32_t level = 0;
  while (peek(lexer, level + 1) == '=') level++;
  if (skipped) *skipped = level;
  return peek(lexer, level + 1) == bracket ? (int64_t)level : -1;
}

/* Reads from after the opening bracket to after the closing one.  Adds to `buffer` unless it is
 * NULL. False at the end of the text. */
static bool read_long(roc_lexer *lexer, uint32_t level, roc_str *buffer) {
  lexer->at += level + 2;
  if (!at_end(lexer) && is_newline(*lexer->at)) skip_newline(lexer);
  while (!at_end(lexer)) {
    const char *run = lexer->at;
    while (!at_end(lexer) && *lexer->at != ']' && !is_newline(*lexer->at)) lexer->at++;
    if (buffer) roc_str_add(buffer, run, (size_t)(lexer->at - run));
    if (at_end(lexer)) return false;
    uint32_t skipped = 0;
    if (is_newline(*lexer->at)) {
      skip_newline(lexer);
      if (buffer) roc_str_putc(buffer, '\n');
    } else if (long_bracket_level(lexer, &skipped) == level) {
      lexer->at += level + 2;
      return true;
    } else {
      /* Skips the '=' too: reading them again would be quadratic. */
      if (buffer) roc_str_add(buffer, lexer->at, (size_t)skipped + 1);
      lexer->at += skipped + 1;
    }
  }
  return false;
}

static roc_token_kind fail_long(roc_lexer *lexer, const char *what) {
  roc_span begin = token_span(lexer);
  begin.end = begin.begin + 2;
  uint32_t len = lexer->chunk->len;
  roc_span end = {len, len, lexer->line, (uint32_t)(lexer->end - lexer->line_start) + 1};
  roc_diag *diag = roc_diag_report(lexer->diags, lexer->chunk, end, ROC_DIAG_UNFINISHED_LONG, what,
                                   (unsigned)begin.line);
  roc_diag_note(lexer->diags, diag, lexer->chunk, begin, "the %s begins here", what);
  roc_lexer_stop(lexer);
  return ROC_TK_INVALID;
}

static void begin_token(roc_lexer *lexer) {
  lexer->token_start = lexer->at;
  lexer->token_line = lexer->line;
  lexer->token_column = (uint32_t)(lexer->at - lexer->line_start) + 1;
}

/* At "--".  False when it does not end (reported). */
static bool skip_comment(roc_lexer *lexer) {
  begin_token(lexer);
  lexer->at += 2;
  if (peek(lexer, 0) == '[') {
    int64_t level = long_bracket_level(lexer, NULL);
    if (level >= 0) {
      if (read_long(lexer, (uint32_t)level, NULL)) return true;
      fail_long(lexer, "comment");
      return false;
    }
  }
  while (!at_end(lexer) && !is_newline(*lexer->at)) lexer->at++;
  return true;
}

static roc_token_kind finish_string(roc_lexer *lexer, roc_token *token) {
  char *copy = NULL;
  if (!lexer->buffer.failed)
    copy = roc_arena_strndup(&lexer->chunk->arena, roc_str_text(&lexer->buffer), lexer->buffer.len);
  if (!copy) return fail_memory(lexer);
  token->as.s = (roc_ast_string){copy, (uint32_t)lexer->buffer.len};
  return ROC_TK_STRING;
}

/* At "[" that is not a plain bracket. */
static roc_token_kind read_long_string(roc_lexer *lexer, roc_token *token) {
  uint32_t skipped = 0;
  int64_t level = long_bracket_level(lexer, &skipped);
  if (level < 0) {
    lexer->at += skipped + 1;
    return fail_near(lexer, token_span(lexer), ROC_DIAG_LONG_DELIMITER);
  }
  roc_str_clear(&lexer->buffer);
  if (!read_long(lexer, (uint32_t)level, &lexer->buffer)) return fail_long(lexer, "string");
  return finish_string(lexer, token);
}

/* ---- quoted strings ---------------------------------------------------------------------- */

/* Fails at the escape that began at `begin`; the byte that does not fit is shown too. */
static bool fail_escape(roc_lexer *lexer, const char *begin, roc_diag_id id) {
  if (!at_end(lexer) && !is_newline(*lexer->at)) lexer->at++;
  uint32_t column = (uint32_t)(begin - lexer->line_start) + 1;
  fail_near(lexer, span_from(lexer, begin, lexer->line, column), id);
  return false;
}

/* UTF-8 as first defined: up to six bytes for 31 bits. */
static void add_utf8(roc_str *buffer, uint32_t code) {
  if (code < 0x80) {
    roc_str_putc(buffer, (char)code);
    return;
  }
  char bytes[6];
  unsigned n = 0;
  uint32_t first_max = 0x3F; /* what fits into the first byte */
  do {
    bytes[5 - n++] = (char)(0x80 | (code & 0x3F));
    code >>= 6;
    first_max >>= 1;
  } while (code > first_max);
  bytes[5 - n] = (char)((~first_max << 1) | code);
  roc_str_add(buffer, bytes + 5 - n, n + 1);
}

/* Behind "\x". */
static bool read_hex_escape(roc_lexer *lexer, const char *begin) {
  int value = 0;
  for (int i = 0; i < 2; i++) {
    int digit = hex_digit(peek(lexer, 0));
    if (digit < 0) return fail_escape(lexer, begin, ROC_DIAG_HEX_DIGIT);
    value = value * 16 + digit;
    lexer->at++;
  }
  roc_str_putc(&lexer->buffer, (char)value);
  return true;
}

/* Behind "\u". */
static bool read_utf8_escape(roc_lexer *lexer, const char *begin) {
  uint32_t code = 0;
  if (peek(lexer, 0) != '{') return fail_escape(lexer, begin, ROC_DIAG_UTF8_OPEN);
  lexer->at++;
  if (hex_digit(peek(lexer, 0)) < 0) return fail_escape(lexer, begin, ROC_DIAG_HEX_DIGIT);
  for (int digit; (digit = hex_digit(peek(lexer, 0))) >= 0; lexer->at++) {
    if (code > 0x7FFFFFFFu >> 4) return fail_escape(lexer, begin, ROC_DIAG_UTF8_VALUE);
    code = code * 16 + (uint32_t)digit;
  }
  if (peek(lexer, 0) != '}') return fail_escape(lexer, begin, ROC_DIAG_UTF8_CLOSE);
  lexer->at++;
  add_utf8(&lexer->buffer, code);
  return true;
}

/* At the first of up to three digits. */
static bool read_decimal_escape(roc_lexer *lexer, const char *begin) {
  int value = 0;
  for (int i = 0; i < 3 && is_digit(peek(lexer, 0)); i++) value = value * 10 + (*lexer->at++ - '0');
  if (value > 255) return fail_escape(lexer, begin, ROC_DIAG_DECIMAL_ESCAPE);
  roc_str_putc(&lexer->buffer, (char)value);
  return true;
}

/* Skips white space, newlines included: the escape \z. */
static void skip_white(roc_lexer *lexer) {
  while (!at_end(lexer) && is_space(*lexer->at)) {
    if (is_newline(*lexer->at)) {
      skip_newline(lexer);
    } else {
      lexer->at++;
    }
  }
}

/* At a backslash.  False when the escape is wrong (reported). */
static bool read_escape(roc_lexer *lexer) {
  static const char letters[] = "abfnrtv\\\"'", values[] = "\a\b\f\n\r\t\v\\\"'";
  const char *begin = lexer->at++;
  if (at_end(lexer)) return true; /* the error of the unfinished string is more useful */
  char c = *lexer->at;
  const char *simple = c ? strchr(letters, c) : NULL;
  if (is_digit(c)) return read_decimal_escape(lexer, begin);
  if (is_newline(c)) {
    skip_newline(lexer);
    roc_str_putc(&lexer->buffer, '\n');
    return true;
  }
  if (!simple && c != 'x' && c != 'u' && c != 'z')
    return fail_escape(lexer, begin, ROC_DIAG_INVALID_ESCAPE);
  lexer->at++;
  if (c == 'x') return read_hex_escape(lexer, begin);
  if (c == 'u') return read_utf8_escape(lexer, begin);
  if (c == 'z') {
    skip_white(lexer);
  } else {
    roc_str_putc(&lexer->buffer, values[simple - letters]);
  }
  return true;
}

static roc_token_kind read_string(roc_lexer *lexer, roc_token *token) {
  char quote = *lexer->at++;
  roc_str_clear(&lexer->buffer);
  for (;;) {
    const char *run = lexer->at;
    while (!at_end(lexer) && *lexer->at != quote && *lexer->at != '\\' && !is_newline(*lexer->at))
      lexer->at++;
    roc_str_add(&lexer->buffer, run, (size_t)(lexer->at - run));
    if (at_end(lexer) || is_newline(*lexer->at))
      return fail_near(lexer, token_span(lexer), ROC_DIAG_UNFINISHED_STRING);
    if (*lexer->at == quote) break;
    if (!read_escape(lexer)) return ROC_TK_INVALID;
  }
  lexer->at++;
  return finish_string(lexer, token);
}

/* ---- names, numbers, the rest ------------------------------------------------------------ */

static roc_token_kind read_name(roc_lexer *lexer, roc_token *token) {
  const char *begin = lexer->at;
  while (!at_end(lexer) && (is_alpha(*lexer->at) || is_digit(*lexer->at))) lexer->at++;
  token->as.name = roc_names_intern(&lexer->names, begin, (uint32_t)(lexer->at - begin));
  return token->as.name ? (roc_token_kind)token->as.name->token : fail_memory(lexer);
}

/* Takes everything that could belong to a numeral, so that `3x` is an error and not two tokens. */
static roc_token_kind read_number(roc_lexer *lexer, roc_token *token) {
  const char *begin = lexer->at;
  char exponent = 'e';
  if (*lexer->at == '0' && (peek(lexer, 1) | 0x20) == 'x') {
    exponent = 'p';
    lexer->at += 2;
  }
  while (!at_end(lexer)) {
    char c = *lexer->at;
    if ((c | 0x20) == exponent) {
      lexer->at++;
      if (peek(lexer, 0) == '+' || peek(lexer, 0) == '-') lexer->at++;
    } else if (hex_digit(c) >= 0 || c == '.') {
      lexer->at++;
    } else {
      break;
    }
  }
  bool is_float = false;
  int64_t i = 0;
  double f = 0;
  if (is_alpha(peek(lexer, 0)) || !roc_numeral_read(begin, lexer->at, &is_float, &i, &f)) {
    while (!at_end(lexer) && (is_alpha(*lexer->at) || is_digit(*lexer->at))) lexer->at++;
    return fail_near(lexer, token_span(lexer), ROC_DIAG_MALFORMED_NUMBER);
  }
  if (is_float) {
    token->as.f = f;
  } else {
    token->as.i = i;
  }
  return is_float ? ROC_TK_FLOAT : ROC_TK_INTEGER;
}

static roc_token_kind take(roc_lexer *lexer, uint32_t nbytes, roc_token_kind kind) {
  lexer->at += nbytes;
  return kind;
}

/* `two` when the second byte is `second`, else `one`. */
static roc_token_kind take_either(roc_lexer *lexer, char second, roc_token_kind two,
                                  roc_token_kind one) {
  return peek(lexer, 1) == second ? take(lexer, 2, two) : take(lexer, 1, one);
}

static roc_token_kind read_angle(roc_lexer *lexer, char c) {
  bool less = c == '<';
  if (peek(lexer, 1) == '=') return take(lexer, 2, less ? ROC_TK_LE : ROC_TK_GE);
  return take_either(lexer, c, less ? ROC_TK_SHL : ROC_TK_SHR, less ? ROC_TK_LT : ROC_TK_GT);
}

static roc_token_kind read_dots(roc_lexer *lexer, roc_token *token) {
  if (is_digit(peek(lexer, 1))) return read_number(lexer, token);
  if (peek(lexer, 1) != '.') return take(lexer, 1, ROC_TK_DOT);
  return peek(lexer, 2) == '.' ? take(lexer, 3, ROC_TK_ELLIPSIS) : take(lexer, 2, ROC_TK_CONCAT);
}

static roc_token_kind read_symbol(roc_lexer *lexer, roc_token *token) {
  static const char singles[] = "+-*%^#&|(){}];,";
  static const uint8_t kinds[] = {ROC_TK_PLUS,     ROC_TK_MINUS,     ROC_TK_STAR,   ROC_TK_PERCENT,
                                  ROC_TK_CARET,    ROC_TK_HASH,      ROC_TK_AMP,    ROC_TK_PIPE,
                                  ROC_TK_LPAREN,   ROC_TK_RPAREN,    ROC_TK_LBRACE, ROC_TK_RBRACE,
                                  ROC_TK_RBRACKET, ROC_TK_SEMICOLON, ROC_TK_COMMA};
  char c = *lexer->at;
  switch (c) {
    case '"':
    case '\'': return read_string(lexer, token);
    case '[':
      if (peek(lexer, 1) == '[' || peek(lexer, 1) == '=') return read_long_string(lexer, token);
      return take(lexer, 1, ROC_TK_LBRACKET);
    case '<':
    case '>': return read_angle(lexer, c);
    case '=': return take_either(lexer, '=', ROC_TK_EQ, ROC_TK_ASSIGN);
    case '~': return take_either(lexer, '=', ROC_TK_NE, ROC_TK_TILDE);
    case '/': return take_either(lexer, '/', ROC_TK_DSLASH, ROC_TK_SLASH);
    case ':': return take_either(lexer, ':', ROC_TK_DCOLON, ROC_TK_COLON);
    case '.': return read_dots(lexer, token);
    default: break;
  }
  const char *single = c ? strchr(singles, c) : NULL;
  return take(lexer, 1, single ? (roc_token_kind)kinds[single - singles] : ROC_TK_INVALID);
}

/* Skips white space and comments.  False when a comment does not end (reported). */
static bool skip_blank(roc_lexer *lexer) {
  for (;;) {
    skip_white(lexer);
    if (peek(lexer, 0) != '-' || peek(lexer, 1) != '-') return true;
    if (!skip_comment(lexer)) return false;
  }
}

roc_token roc_lexer_next(roc_lexer *lexer) {
  roc_token token = {.kind = ROC_TK_EOF};
  if (!lexer->stopped) (void)skip_blank(lexer);
  begin_token(lexer);
  if (!at_end(lexer)) {
    char c = *lexer->at;
    if (is_alpha(c)) {
      token.kind = read_name(lexer, &token);
    } else if (is_digit(c)) {
      token.kind = read_number(lexer, &token);
    } else {
      token.kind = read_symbol(lexer, &token);
    }
  }
  if (lexer->stopped) token.kind = ROC_TK_EOF;
  token.span = token_span(lexer);
  return token;
}

bool roc_lexer_init(roc_lexer *lexer, roc_ast_chunk *chunk, roc_diags *diags) {
  const char *text = chunk->text;
  *lexer = (roc_lexer){.chunk = chunk, .diags = diags, .line = 1};
  lexer->end = text + chunk->len;
  if (chunk->len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) text += 3;
  lexer->at = text;
  lexer->line_start = text + chunk->lead;
  if (peek(lexer, 0) == '#')
    while (!at_end(lexer) && !is_newline(*lexer->at)) lexer->at++;
  return roc_names_init(&lexer->names, &chunk->arena);
}

void roc_lexer_deinit(roc_lexer *lexer) {
  roc_names_deinit(&lexer->names);
  roc_str_deinit(&lexer->buffer);
}
