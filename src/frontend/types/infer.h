/* Inference's working state, shared by infer*.c, restrict.c and flow.c.
 *
 * A function is walked again and again, silently, until no symbol's type rises any more; then once
 * more with `report` set, which is when mistakes are told.  Callees are settled when they are first
 * met.  Invariant: the reporting walk sees the types that the later passes see. */
#ifndef ROC_FRONTEND_TYPES_INFER_H
#define ROC_FRONTEND_TYPES_INFER_H

#include "frontend/types/types.h"

enum {
  ROC_INFER_MAX_NODES = 400000, /* of one function */
  ROC_INFER_MAX_INSTANCES = 2000,
  ROC_INFER_MAX_CALL_DEPTH = 60,
  ROC_INFER_MIN_PASSES = 64,
  ROC_INFER_MAX_VISITS = 50000000, /* nodes looked at until a function settles */
  ROC_INFER_MAX_DEPTH = 2500,      /* of the walk, through all calls: it recurses */
  ROC_INFER_MAX_RESULTS = 64,
  ROC_INFER_MAX_PARAMS = 200
};

typedef struct roc_infer {
  roc_fe_typed *typed;
  roc_diags *diags;
  roc_fe_instance *inst; /* being walked */
  bool report, changed, oom;
  uint32_t call_depth, depth;
  uint32_t deepest_call, deepest; /* that those came to in the instance being settled */
  uint32_t next_path;             /* infer_index.c's */
} roc_infer;

/* Reports at a span of the function being walked; nothing in the silent walks.  The first variable
 * argument is the roc_diag_id. */
#define ROC_INFER_REPORT(inf, where, ...)                                                      \
  ((inf)->report ? roc_diag_report((inf)->diags, (inf)->inst->fn->chunk, (where), __VA_ARGS__) \
                 : NULL)

static inline roc_fe_node_info *roc_infer_info(roc_infer *inf, const roc_ast_node *node) {
  return &inf->inst->nodes[node->id];
}
/* Sets and returns a node's type. */
static inline roc_ty roc_infer_set(roc_infer *inf, const roc_ast_node *node, roc_ty_kind kind) {
  return roc_infer_info(inf, node)->type = roc_ty_of(kind);
}

/* infer.c: one level deeper (inf->depth-- ends it); false, and told, when the walk would get too
 * deep. */
bool roc_infer_enter(roc_infer *inf, roc_span where);
/* The value of `node` (type t) goes into the symbol; `node` may be NULL. */
void roc_infer_assign(roc_infer *inf, const roc_ast_symbol *sym, roc_ty t, const roc_ast_node *node,
                      roc_span where);
/* Two values of one variable or result: joins t into *into, telling `where` when they do not go
 * together. */
bool roc_infer_merge(roc_infer *inf, roc_ty *into, roc_ty t);
/* The instance of a function for these argument types, settled; NULL when reported or out of
 * memory. */
roc_fe_instance *roc_infer_instance(roc_infer *inf, uint32_t function, const roc_ty *params,
                                    const roc_ast_node *call);

/* infer_const.c: a CALL of roc.const.array with the argument `source` (NULL: one of several results
 * of a call) of type t; `dtype` is NULL where it names none.  Its type. */
roc_ty roc_infer_const_array(roc_infer *inf, const roc_ast_node *call, const roc_ast_node *source,
                             roc_ty t, const roc_dtype *dtype);

/* infer_stat.c */
void roc_infer_block(roc_infer *inf, const roc_ast_list *block);

/* infer_expr.c */
roc_ty roc_infer_expr(roc_infer *inf, const roc_ast_node *node);
void roc_infer_list(roc_infer *inf, const roc_ast_list *list);
/* Tells about anything that is no boolean or number; ERROR then. */
roc_ty roc_infer_value(roc_infer *inf, const roc_ast_node *node);
/* Check a type already inferred; the first anything that a call may give. */
roc_ty roc_infer_need_result(roc_infer *inf, const roc_ast_node *node, roc_ty t);
roc_ty roc_infer_need_value(roc_infer *inf, const roc_ast_node *node, roc_ty t);
roc_ty roc_infer_need_number(roc_infer *inf, const roc_ast_node *node, roc_ty t);
roc_ty roc_infer_need_integer(roc_infer *inf, const roc_ast_node *node, roc_ty t);
roc_ty roc_infer_need_index(roc_infer *inf, const roc_ast_node *node, roc_ty t);
roc_ty roc_infer_need_bool(roc_infer *inf, const roc_ast_node *node, roc_ty t);
void roc_infer_condition(roc_infer *inf, const roc_ast_node *node);
/* A value may be stored into an element of that dtype. */
void roc_infer_store(roc_infer *inf, const roc_ast_node *value, roc_ty t, roc_dtype dtype);

/* infer_fold.c: value of an operation on constants, when it is the same on every device. */
void roc_infer_fold_binary(roc_infer *inf, const roc_ast_node *node);
void roc_infer_fold_unary(roc_infer *inf, const roc_ast_node *node);

/* infer_index.c */
roc_ty roc_infer_free_name(roc_infer *inf, const roc_ast_node *node);
roc_ty roc_infer_index(roc_infer *inf, const roc_ast_node *node);

/* infer_call.c */
roc_ty roc_infer_call(roc_infer *inf, const roc_ast_node *node);

/* suggest.c: what a message adds, in `buf` or constant: "" or "; …". */
const char *roc_infer_suggest_name(const roc_infer *inf, const char *text, bool is_root_known,
                                   char *buf, size_t nbytes);
const char *roc_infer_suggest_property(const char *name, char *buf, size_t nbytes);
const char *roc_infer_suggest_dtype(const char *name, char *buf, size_t nbytes);
/* An INDEX of an element that is none any more; a row that is assigned, with `rest` dimensions. */
const char *roc_infer_suggest_index(const roc_infer *inf, const roc_ast_node *node, char *buf,
                                    size_t nbytes);
const char *roc_infer_suggest_element(const roc_ast_node *target, uint32_t rest, char *buf,
                                      size_t nbytes);
/* How a builtin is called. */
const char *roc_infer_suggest_call(uint32_t id, char *buf, size_t nbytes);

/* restrict.c: what the subset forbids by its form alone. */
void roc_infer_restrict(roc_infer *inf);
/* flow.c: locals read before they are assigned, functions that end without their results. */
void roc_infer_flow(roc_infer *inf);

#endif
