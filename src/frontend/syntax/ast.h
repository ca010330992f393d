/* The syntax tree of a Lua chunk: what the parser makes and inference annotates.
 *
 * Sits between parser and infer/restrict/lower.  Everything lives in one arena and is never freed
 * singly.  Invariant: every LOCAL_NAME points at its symbol, every GOTO at its label; names that
 * are not locals of the same function are FREE_NAMEs.  The tree is immutable once parsed, so one
 * tree serves all specialisations: results of inference are kept in arrays indexed by node->id and
 * symbol->id (dense within one function). */
#ifndef ROC_FRONTEND_SYNTAX_AST_H
#define ROC_FRONTEND_SYNTAX_AST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

typedef enum roc_ast_kind {
#define ROC_AST(NAME, text, fields) ROC_AST_##NAME,
#include "frontend/syntax/ast.def"
#undef ROC_AST
  ROC_AST_COUNT_
} roc_ast_kind;

/* Order matters: precedence tables in the parser are indexed by it. */
typedef enum roc_ast_op {
  ROC_OP_ADD,
  ROC_OP_SUB,
  ROC_OP_MUL,
  ROC_OP_DIV,
  ROC_OP_IDIV,
  ROC_OP_MOD,
  ROC_OP_POW,
  ROC_OP_BAND,
  ROC_OP_BOR,
  ROC_OP_BXOR,
  ROC_OP_SHL,
  ROC_OP_SHR,
  ROC_OP_CONCAT,
  ROC_OP_EQ,
  ROC_OP_NE,
  ROC_OP_LT,
  ROC_OP_LE,
  ROC_OP_GT,
  ROC_OP_GE,
  ROC_OP_AND,
  ROC_OP_OR,
  ROC_OP_NEG,
  ROC_OP_NOT,
  ROC_OP_LEN,
  ROC_OP_BNOT /* unary */
} roc_ast_op;

/* A place in the source: byte range [begin, end) of the chunk, and where it begins. */
typedef struct roc_span {
  uint32_t begin, end;   /* byte offsets into the chunk text */
  uint32_t line, column; /* from 1; column counts bytes */
} roc_span;

typedef struct roc_ast_node roc_ast_node;
typedef struct roc_ast_func roc_ast_func;

typedef struct roc_ast_string {
  const char *data; /* NUL-terminated copy in the arena; may hold zeros */
  uint32_t len;
} roc_ast_string;

/* A local variable, parameter or loop variable. */
typedef struct roc_ast_symbol {
  uint32_t id; /* dense within its function, parameters first */
  roc_ast_string name;
  roc_span span;           /* of the declaration */
  roc_ast_func *func;      /* the function that declares it */
  roc_ast_node *decl;      /* LOCAL, FOR_NUM, FOR_IN, LOCAL_FUNCTION; NULL for a parameter */
  uint32_t assignments;    /* ASSIGNs that have it as a target (the declaration not counted) */
  bool is_const, is_close; /* <const>, <close> */
  bool is_captured;        /* used by a nested function */
} roc_ast_symbol;

typedef struct roc_ast_list {
  roc_ast_node **items;
  uint32_t count;
} roc_ast_list;

struct roc_ast_node {
  uint8_t kind;    /* roc_ast_kind */
  uint8_t op;      /* roc_ast_op of UNARY and BINARY */
  bool is_global;  /* FREE_NAME */
  bool is_reached; /* LABEL: a goto before it jumps to it */
  uint32_t id;     /* dense within its function */
  roc_span span;
  roc_ast_node *a, *b, *c;
  roc_ast_list list, values;
  roc_ast_list body, orelse; /* blocks: statement lists */
  roc_ast_symbol *sym;
  union {
    int64_t i;
    double f;
    roc_ast_string s;
    roc_ast_func *func;
  } as;
};

struct roc_ast_func {
  uint32_t index; /* among all functions of the chunk in pre-order; 0 is the main chunk */
  roc_ast_func *parent;
  roc_span span;       /* from `function` (or the chunk's begin) to after `end` */
  uint32_t last_line;  /* line of the closing `end` */
  roc_ast_string name; /* of `local function NAME`, `function a.b.NAME`, `local NAME = function`,
                          `local NAME = roc.kernel(function`, `{NAME = function`; may be empty */
  roc_ast_symbol **params;
  uint32_t nparams;
  bool is_vararg, is_method;
  bool is_deep; /* of a chunk with a deep tree: recursion over it needs ROC_THREAD_DEEP_STACK */
  roc_ast_list body;
  roc_ast_symbol **symbols; /* all locals, by id */
  uint32_t nsymbols;
  uint32_t nnodes; /* node ids run below this */
};

/* A parsed chunk.  Owned by the caller; roc_ast_chunk_deinit frees everything in it. */
typedef struct roc_ast_chunk {
  roc_arena arena;
  const char *name; /* chunk name as shown in messages: "file.lua", "[string \"…\"]" */
  const char *text; /* a copy of the source, NUL-terminated */
  uint32_t len;
  uint32_t lead;        /* bytes added before the user's text: not in columns, never shown */
  roc_ast_func **funcs; /* pre-order; the order of prototypes in a Lua dump */
  uint32_t nfuncs;
} roc_ast_chunk;

void roc_ast_chunk_deinit(roc_ast_chunk *chunk);

const char *roc_ast_kind_text(roc_ast_kind kind);
const char *roc_ast_op_text(roc_ast_op op); /* "+", "and", … */
/* Indented text of a function's tree: the `ast` stage dump. */
void roc_ast_dump(const roc_ast_func *func, roc_str *out);

/* The value that a local is declared with and never assigned again; NULL: there is none. */
const roc_ast_node *roc_ast_initializer(const roc_ast_symbol *sym);
/* Whether the arguments are those of error("text", 2), whose level says where to blame in Lua and is
 * no part of the message.  Another integer than one that is written there is a part of it. */
bool roc_ast_has_error_level(const roc_ast_list *args);

#endif
