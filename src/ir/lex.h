/* Tokens of IR's text form, for read.c alone.  Words are runs of letters, digits and any of "_.+-",
 * so that numbers, op names and references are one token each; every other printing character
 * stands for itself. */
#ifndef ROC_IR_LEX_H
#define ROC_IR_LEX_H

#include <stdint.h>

#include "ir/ir.h"

typedef enum roc_ir_token {
  ROC_IR_TOKEN_END,
  ROC_IR_TOKEN_LINE, /* end of a line that holds something */
  ROC_IR_TOKEN_WORD,
  ROC_IR_TOKEN_TEXT, /* quoted, unescaped */
  ROC_IR_TOKEN_SIGN,
  ROC_IR_TOKEN_BAD
} roc_ir_token;

typedef struct roc_ir_lexer {
  const char *at, *end;
  roc_arena *arena;
  uint32_t line;
  roc_ir_token token;
  const char *word; /* WORD, TEXT: NUL-terminated, in the arena; BAD: what is wrong */
  size_t len;       /* of word */
  char sign;        /* SIGN */
  bool is_glued;    /* no space before the token */
} roc_ir_lexer;

void roc_ir_lex_init(roc_ir_lexer *lexer, roc_arena *arena, const char *text, size_t len);
/* Moves to the next token. */
void roc_ir_lex_next(roc_ir_lexer *lexer);

#endif
