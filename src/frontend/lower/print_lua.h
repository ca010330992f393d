/* Shared by the files of the Lua printer (print_lua.c). */
#ifndef ROC_FRONTEND_LOWER_PRINT_LUA_H
#define ROC_FRONTEND_LOWER_PRINT_LUA_H

#include "frontend/types/types.h"

/* What is printed as a function. */
typedef struct roc_pl_function {
  roc_fe_instance *inst;
  const roc_ast_node *part; /* an expression in it, as a value of type `want`; NULL: all of it */
  roc_ty want;
} roc_pl_function;

/* Which meetings a function holds, with all it calls (print_lua_meet.c). */
typedef struct roc_pl_meets {
  const roc_fe_instance *inst;
  uint8_t meets;
} roc_pl_meets;

/* A list of statements that is being printed. */
typedef struct roc_pl_frame {
  const roc_ast_list *list;
  uint32_t at;              /* the current statement */
  const roc_ast_node *loop; /* whose body it is, or NULL */
} roc_pl_frame;

typedef struct roc_printer {
  const roc_fe_typed *typed;
  roc_vec(roc_pl_function) functions; /* found so far; the index is the number in F, less one */
  roc_fe_instance *inst;              /* being printed */
  roc_str text;                       /* of the function being printed */
  uint32_t line;                      /* the output's current line */
  uint32_t block_depth, expr_depth;
  roc_vec(roc_pl_meets) meets;
  roc_vec(roc_pl_frame) frames;    /* from the function's body on */
  const roc_ast_symbol *declaring; /* local that the expression initialises: names its array */
  bool failed;
} roc_printer;

void roc_pl_put(roc_printer *p, const char *s);
/* Advances to a source line; stays on the current line if that is a later one. */
void roc_pl_line(roc_printer *p, uint32_t line);
roc_ty roc_pl_type(const roc_printer *p, const roc_ast_node *node);
/* Whether values of the type are rounded to float32. */
bool roc_pl_is_f32(const roc_printer *p, roc_ty t);
/* Locals of these kinds exist in the compiler only; in Lua they hold nil. */
bool roc_pl_is_nothing(roc_ty t);
void roc_pl_symbol(roc_printer *p, const roc_ast_symbol *sym);
/* The call whose several results end the list, or NULL. */
const roc_fe_call *roc_pl_open_call(const roc_printer *p, const roc_ast_list *list);
/* Opens, as ")" closes, what turns a value of type `from` into one of type `to`; NULL: nothing. */
const char *roc_pl_conversion(const roc_printer *p, roc_ty from, roc_ty to);
void roc_pl_expr(roc_printer *p, const roc_ast_node *node);
/* As a value of type `want`, or as it is when that is NONE. */
void roc_pl_as(roc_printer *p, const roc_ast_node *node, roc_ty want);
/* Arguments from the n-th (from 0) on, each as type `want`, or as it is when that is NONE. */
void roc_pl_args(roc_printer *p, const roc_ast_list *list, uint32_t n, roc_ty want);
/* Names of the locals that the expression reads, between commas. */
void roc_pl_read_names(roc_printer *p, const roc_ast_node *node);
void roc_pl_block(roc_printer *p, const roc_ast_list *block, const roc_ast_node *loop);

/* Which meeting the items must agree for that reach what a node or a list of statements holds:
 * "barrier", "wave", or NULL. */
const char *roc_pl_meeting(roc_printer *p, const roc_ast_node *node);
const char *roc_pl_meeting_in(roc_printer *p, const roc_ast_list *list);
/* Likewise of an IF over which its condition decides: what it holds, and what it leaves out where a
 * jump in it leads. */
const char *roc_pl_meeting_of_if(roc_printer *p, const roc_ast_node *stat);
/* A statement in which they agree on a value; nothing when the meeting is NULL. */
void roc_pl_meet(roc_printer *p, const char *meeting, const char *value);
/* A condition, on which they agree when the meeting is not NULL. */
void roc_pl_agreed(roc_printer *p, const char *meeting, const roc_ast_node *condition);

#endif
