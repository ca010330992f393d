/* Interned identifiers: equal names are one roc_name, so that the parser compares pointers.
 *
 * Besides its text a name has its current meaning: which keyword it is, which local variable and
 * which label of that name is visible.  The parser's scope keeps the latter two; so a name is
 * resolved in constant time however many locals there are. */
#ifndef ROC_FRONTEND_SYNTAX_NAMES_H
#define ROC_FRONTEND_SYNTAX_NAMES_H

#include "base/arena.h"
#include "frontend/syntax/ast.h"

typedef struct roc_name roc_name;
struct roc_name {
  roc_ast_string text;
  uint64_t hash;
  roc_name *next;    /* in its bucket */
  uint8_t token;     /* the keyword's token, or ROC_TK_NAME */
  uint32_t variable; /* index + 1 of the innermost visible local in the parser's stack; 0: none */
  uint32_t label;    /* likewise for labels */
};

typedef struct roc_names {
  roc_arena *arena; /* the names live here */
  roc_name **buckets;
  uint32_t nbuckets, count;
} roc_names;

/* Knows the keywords from the start; false when memory is out. */
bool roc_names_init(roc_names *names, roc_arena *arena);
void roc_names_deinit(roc_names *names);
/* NULL when memory is out. */
roc_name *roc_names_intern(roc_names *names, const char *text, uint32_t len);

#endif
