/* Shared by the files of the parser: its state, and the functions used across files.
 *
 *   parser.c      state, errors, tokens, nodes, lists
 *   scope.c       blocks, locals, what a name means, labels and gotos
 *   constant.c    Lua's compile-time constants
 *   parse_expr.c  expressions           parse_stat.c  statements
 *   parse.c       the entry points
 *
 * How errors unwind: the first one is reported and stops the lexer, so the current token is EOF
 * from then on; every loop ends at EOF, and nodes come from a sink.  So parse functions never
 * return NULL and check nothing. Recursion is bounded by `level` (Lua's limit on nested statements
 * and expressions) and by a limit on the height of the tree, which left-associative chains could
 * otherwise exceed.
 *
 * The caller's stack may be small (`ulimit -s`, a thread of an embedding program).  A text is parsed
 * on it down to a depth that few reach; one that is nested deeper is parsed once more, on a thread
 * whose stack is large enough for any. */
#ifndef ROC_FRONTEND_SYNTAX_PARSER_H
#define ROC_FRONTEND_SYNTAX_PARSER_H

#include "base/vec.h"
#include "frontend/syntax/ast.h"
#include "frontend/diag.h"
#include "frontend/syntax/lexer.h"

enum {
  ROC_PARSE_MAX_LEVEL = 200,   /* LUAI_MAXCCALLS */
  ROC_PARSE_MAX_HEIGHT = 1000, /* operators, suffixes or elseifs in a chain */
  ROC_PARSE_CALLER_LEVEL = 50, /* the same two on the caller's stack */
  ROC_PARSE_CALLER_HEIGHT = 100,
  ROC_PARSE_MAX_LOCALS = 200,   /* MAXVARS */
  ROC_PARSE_MAX_UPVALUES = 255, /* MAXUPVAL */
  ROC_PARSE_MAX_LABELS = 32767, /* of a chunk, visible at once; pending gotos likewise */
  ROC_PARSE_MAX_MIB = 512       /* of syntax tree */
};

typedef struct roc_parse_block roc_parse_block;
struct roc_parse_block {
  roc_parse_block *outer;           /* in the same function */
  uint32_t nactive;                 /* variables of the function active outside the block */
  uint32_t first_label, first_goto; /* in the parser's stacks */
  bool is_loop;
};

typedef struct roc_parse_func roc_parse_func;
struct roc_parse_func {
  roc_ast_func *ast;
  roc_parse_func *outer;
  roc_parse_block *block;
  uint32_t first_variable; /* in the parser's stack */
  uint32_t first_label;
  uint32_t first_symbol;                    /* in the parser's stack of symbols */
  roc_vec(const roc_ast_symbol *) upvalues; /* NULL stands for _ENV of the chunk */
};

/* A variable in scope.  Loops keep hidden ones that count toward the limit: name and symbol
 * NULL. */
typedef struct roc_parse_variable {
  roc_name *name;
  roc_ast_symbol *symbol;
  uint32_t shadowed;            /* what name->variable was */
  const roc_ast_node *constant; /* value of a compile-time constant, or NULL */
} roc_parse_variable;

typedef struct roc_parse_label {
  roc_name *name;
  roc_ast_node *node;
  uint32_t shadowed; /* what name->label was: a label of an outer function */
} roc_parse_label;

/* A forward goto that has not met its label. */
typedef struct roc_parse_goto {
  roc_name *name;
  roc_ast_node *node;
  uint32_t nactive; /* the function's variables in scope, as far as blocks left since leave them */
} roc_parse_goto;

typedef struct roc_parser {
  roc_lexer lexer;
  roc_ast_chunk *chunk;
  roc_diags *diags;
  roc_token token, ahead; /* current; the next one when has_ahead */
  bool has_ahead;
  uint32_t last_end; /* where the last token taken ended */
  uint32_t level;
  uint32_t height; /* of the tree made so far in the construct being parsed */
  bool has_deep_stack;
  bool needs_deep_stack; /* stopped for want of it, without a diagnostic */
  roc_parse_func *func;
  roc_vec(roc_ast_node *) nodes;     /* lists under construction, as a stack */
  roc_vec(roc_ast_symbol *) symbols; /* of the functions being parsed, as a stack */
  roc_vec(roc_ast_func *) funcs;
  roc_vec(roc_parse_variable) variables;
  roc_vec(roc_parse_label) labels;
  roc_vec(roc_parse_goto) gotos;
  roc_name *env_name, *self_name;
  roc_ast_node sink; /* returned for every node once memory is out */
  roc_ast_symbol sink_symbol;
  roc_ast_func sink_func;
} roc_parser;

/* ---- parser.c ---------------------------------------------------------------------------- */

bool roc_parse_failed(const roc_parser *p);
/* Nothing more is read: the current token is EOF from now on. */
void roc_parse_stop(roc_parser *p);
/* Memory is out: stops without a diagnostic, and roc_fe_parse returns ROC_OOM. */
void roc_parse_stop_memory(roc_parser *p);
/* Reports a diagnostic whose only operand is the text near the current token, and stops. */
void roc_parse_fail_near(roc_parser *p, roc_diag_id id);
void roc_parse_fail_expected(roc_parser *p, const char *what);
/* "too many WHAT (limit is N) in function at line …". */
void roc_parse_fail_limit(roc_parser *p, roc_span span, const char *what, uint32_t limit);

void roc_parse_advance(roc_parser *p);
roc_token_kind roc_parse_peek(roc_parser *p);
/* Takes the token when it is of that kind. */
bool roc_parse_accept(roc_parser *p, roc_token_kind kind);
void roc_parse_expect(roc_parser *p, roc_token_kind kind);
/* Expects the token that closes what `opener` opened. */
void roc_parse_expect_close(roc_parser *p, roc_token_kind kind, roc_token_kind opener,
                            roc_span opened);
/* Takes a name; after an error a name without meaning. */
roc_name *roc_parse_name(roc_parser *p, roc_span *span);

/* Around each nested construct: one level down and up again.  Returns what the matching leave
 * takes. */
uint32_t roc_parse_enter(roc_parser *p);
void roc_parse_leave(roc_parser *p, uint32_t outer_height);
/* The construct being parsed became one node higher. */
void roc_parse_grow(roc_parser *p);

/* Zeroed arena memory; NULL after an error. */
void *roc_parse_alloc(roc_parser *p, size_t nbytes);
roc_ast_node *roc_parse_node(roc_parser *p, roc_ast_kind kind, roc_span span);
/* Extends a span to the last token taken. */
roc_span roc_parse_span_to_here(const roc_parser *p, roc_span begin);
/* Lists: push nodes, then take all above `mark`, what p->nodes.count was before. */
void roc_parse_push(roc_parser *p, roc_ast_node *node);
roc_ast_list roc_parse_take(roc_parser *p, uint32_t mark);

/* ---- scope.c ----------------------------------------------------------------------------- */

void roc_scope_open_func(roc_parser *p, roc_parse_func *func, roc_parse_block *block);
void roc_scope_close_func(roc_parser *p);
void roc_scope_open_block(roc_parser *p, roc_parse_block *block, bool is_loop);
void roc_scope_close_block(roc_parser *p);

/* Makes the symbol, which is not visible yet. */
roc_ast_symbol *roc_scope_declare(roc_parser *p, roc_name *name, roc_span span);
/* Makes the symbol visible. */
void roc_scope_activate(roc_parser *p, roc_ast_symbol *symbol);
/* The hidden variables of a loop. */
void roc_scope_activate_hidden(roc_parser *p, uint32_t count);
/* The variable activated last is a compile-time constant. */
void roc_scope_set_constant(roc_parser *p, const roc_ast_node *value);

/* The node for a use of a name. */
roc_ast_node *roc_scope_resolve(roc_parser *p, roc_name *name, roc_span span);
/* Refuses to assign to <const> and <close>; counts the assignment otherwise. */
void roc_scope_assign(roc_parser *p, roc_ast_node *target, roc_name *name);
/* The compile-time constant a LOCAL_NAME of this function stands for, or NULL. */
const roc_ast_node *roc_scope_constant(const roc_parser *p, const roc_ast_node *name);

bool roc_scope_in_loop(const roc_parser *p);
void roc_scope_goto(roc_parser *p, roc_ast_node *node, roc_name *name);
/* Makes the label visible and resolves the gotos that wait for it.  is_last: only void statements
 * follow in the block, so that its locals count as out of scope. */
void roc_scope_label(roc_parser *p, roc_ast_node *node, roc_name *name, bool is_last);

/* ---- constant.c -------------------------------------------------------------------------- */

/* Folds an expression as Lua's compiler does: the literal node it amounts to, or NULL when it is
 * none. */
const roc_ast_node *roc_constant_fold(roc_parser *p, const roc_ast_node *expr);

/* ---- parse_expr.c, parse_stat.c ---------------------------------------------------------- */

roc_ast_node *roc_parse_expr(roc_parser *p);
roc_ast_list roc_parse_expr_list(roc_parser *p);
/* primary {suffix}: what a statement can begin with.  *name is the plain name it consists of, or
 * NULL. */
roc_ast_node *roc_parse_suffixed(roc_parser *p, roc_name **name);
/* Names the function that `value` is, or the first one among the arguments of the call that it is
 * (`roc.kernel(function …)`), unless it has a name.  Returns whether there is one. */
bool roc_parse_name_function(const roc_ast_node *value, roc_ast_string name);
/* "(" params ")" block "end", after `function` at `begin`. */
roc_ast_func *roc_parse_func_body(roc_parser *p, roc_span begin, bool is_method);
/* Statements up to a token that ends a block. */
roc_ast_list roc_parse_block_body(roc_parser *p);

#endif
