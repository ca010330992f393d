/* Types of the kernel language, and the results of inference for a program.
 *
 * Written by infer*.c, read by lower*.c, print_lua.c and dump_types.c.  The syntax tree is shared
 * by all specialisations, so the results are kept apart from it, in *instances*: an instance is one
 * Lua function together with the types of its arguments.  The kernel is instance 0.  The results
 * for a node or symbol are found by its id in the instance: inst->nodes[node->id],
 * inst->syms[sym->id].
 *
 * Invariant: once roc_fe_infer succeeded, no type in reachable code is NONE or ERROR, every node
 * that is a value has its type, every CALL has its callee and result types, and restrictions have
 * been checked: the later passes need report nothing but limits of size. */
#ifndef ROC_FRONTEND_TYPES_TYPES_H
#define ROC_FRONTEND_TYPES_TYPES_H

#include "base/dtype.h"
#include "frontend/syntax/ast.h"
#include "frontend/frontend.h"
#include "ir/ir.h"

/* Order matters: INT < PLAIN < F32 < F64 is the lattice of numbers, joined by taking the
 * greater. */
typedef enum roc_ty_kind {
  ROC_TY_NONE,  /* not known yet (during inference), or no value */
  ROC_TY_ERROR, /* reported already: suppresses errors that follow from it */
  ROC_TY_BOOL,
  ROC_TY_INT,
  ROC_TY_PLAIN, /* a Lua float that may still take the type of the float32 it meets */
  ROC_TY_F32,
  ROC_TY_F64,
  /* Below: not values at run time.  A local may hold one if it is never assigned again. */
  ROC_TY_ARRAY,     /* dtype, rank, space: an array or a row view */
  ROC_TY_SHAPE,     /* `a.shape`, to be indexed: rank */
  ROC_TY_DTYPE,     /* roc.float32, a.dtype: dtype */
  ROC_TY_BUILTIN,   /* id: a roc_builtin */
  ROC_TY_FUNCTION,  /* id: index into program->funcs */
  ROC_TY_NAMESPACE, /* `roc`, `math`, a table of constants: to be indexed by a constant name */
  ROC_TY_STRING,    /* in print, error and assert */
  ROC_TY_NIL
} roc_ty_kind;

typedef struct roc_ty {
  uint8_t kind;     /* roc_ty_kind */
  bool maybe_false; /* a number or false: the value of `boolean and number` */
  uint8_t dtype; /* ARRAY, DTYPE: roc_dtype; STRING: one more than the dtype that it names, or 0 */
  uint8_t rank;  /* ARRAY, SHAPE */
  uint8_t space; /* ARRAY: roc_ir_array_kind; CONST also of an argument that is not written */
  uint32_t id;   /* BUILTIN, FUNCTION */
} roc_ty;

typedef struct roc_fe_instance roc_fe_instance;

typedef enum roc_fe_callee {
  ROC_CALLEE_NONE,
  ROC_CALLEE_BUILTIN, /* builtin: a roc_builtin */
  ROC_CALLEE_DTYPE,   /* dtype: a conversion */
  ROC_CALLEE_FUNCTION /* instance */
} roc_fe_callee;

/* What a CALL node calls.  Arguments are the node's list, adjusted as Lua does: the last one, if it
 * is a call with several results and not in parentheses, gives all of them. */
typedef struct roc_fe_call {
  roc_fe_callee kind;
  uint32_t builtin;
  roc_dtype dtype;
  roc_fe_instance *instance;
  roc_ty *results;
  uint32_t nresults;
} roc_fe_call;

typedef struct roc_fe_node_info {
  roc_ty type;   /* of the value; of the first value of a call */
  bool is_const; /* `value` is what it always is (BOOL, INT, or F64 for the floats) */
  roc_scalar value;
  const roc_fe_binding *binding; /* of the FREE_NAME or INDEX node where a path's binding was
                                    reached: the node *is* that binding; of a CALL of
                                    roc.const.array the array it makes; NULL elsewhere */
  const roc_fe_call *call;       /* CALL */
} roc_fe_node_info;

typedef struct roc_fe_sym_info {
  roc_ty type;
  bool is_const; /* never assigned again and its value is known: `value` */
  roc_scalar value;
  roc_ty first_type; /* of the first value it was given: differs from `type` when it was widened or
                        narrowed */
  const roc_ast_node *typed_by; /* the expression whose type it took */
  const roc_ast_node
      *narrowed_by; /* plain local that became float32: the value that made it one; else NULL */
} roc_fe_sym_info;

struct roc_fe_instance {
  const roc_fe_function *fn;
  uint32_t function;       /* index into program->funcs */
  const roc_ty *params;    /* argument types, one per parameter */
  roc_fe_node_info *nodes; /* by node->id */
  roc_fe_sym_info *syms;   /* by symbol->id */
  roc_ty *results;         /* of a device function: joined over its returns */
  uint32_t nresults;
  /* inference's own */
  roc_fe_instance *next, *caller;
  uint32_t height, call_height; /* levels of the walk, and calls, that it takes with all it calls */
  bool is_active, is_checked, has_return;
};

/* All instances of one compile; owns them in its arena. */
typedef struct roc_fe_typed {
  roc_arena arena;
  const roc_fe_program *program;
  const roc_fe_arg *args;
  uint32_t nargs;
  const roc_fe_options *options;
  roc_fe_instance *kernel;
  roc_fe_instance *first, *last; /* in order of creation, linked by next; the ones unused in the
                                    end are among them: reach the used ones from CALL nodes */
  uint32_t ninstances;
  const char *hint; /* a number that stands as a condition, as a sentence; NULL: none does */
} roc_fe_typed;

/* Checks the subset's restrictions and types the kernel with all it calls.  ROC_COMPILE: see
 * diags. *out_typed is freed with roc_fe_typed_free and borrows program, args and options. */
roc_status roc_fe_infer(const roc_fe_program *program, const roc_fe_arg *args, uint32_t nargs,
                        const roc_fe_options *options, roc_diags *diags, roc_fe_typed **out_typed,
                        roc_error *err);
void roc_fe_typed_free(roc_fe_typed *typed);

static inline roc_ty roc_ty_of(roc_ty_kind kind) {
  return (roc_ty){.kind = (uint8_t)kind};
}
static inline bool roc_ty_is_number(roc_ty t) {
  return t.kind >= ROC_TY_INT && t.kind <= ROC_TY_F64 && !t.maybe_false;
}
static inline bool roc_ty_is_float(roc_ty t) {
  return t.kind >= ROC_TY_PLAIN && t.kind <= ROC_TY_F64 && !t.maybe_false;
}
/* May decide an `if`: a boolean, a number, or false-or-number. */
static inline bool roc_ty_is_value(roc_ty t) {
  return t.kind >= ROC_TY_BOOL && t.kind <= ROC_TY_F64;
}
/* A compile-time thing: array, function, dtype, namespace … */
static inline bool roc_ty_is_static(roc_ty t) {
  return t.kind >= ROC_TY_ARRAY;
}
bool roc_ty_equal(roc_ty a, roc_ty b);
/* The type of arithmetic on two numbers, and of its result: the greater one. */
roc_ty roc_ty_join(roc_ty a, roc_ty b);
/* The type an element loads as, and of a value of an IR type (F64 is F64, not PLAIN). */
roc_ty roc_ty_of_dtype(roc_dtype dtype);
roc_ty roc_ty_of_value_type(roc_value_type vt);
roc_ty roc_ty_of_arg(const roc_fe_arg *arg);
/* BOOL INT F32 F64 of the value at run time; PLAIN is F64, or F32 under number="float32". */
roc_value_type roc_ty_value_type(roc_ty t, const roc_fe_options *options);
/* For messages: "integer", "float32", "false or integer", "float32[2] array", "function". `buf`
 * holds at least 64 bytes. */
const char *roc_ty_name(roc_ty t, char *buf, size_t nbytes);
/* The same with its article: "an integer". */
const char *roc_ty_phrase(roc_ty t, char *buf, size_t nbytes);

/* Number of values the list gives, adjusted; the type of the k-th (from 0), NONE after the end. */
uint32_t roc_fe_list_count(const roc_fe_instance *inst, const roc_ast_list *list);
roc_ty roc_fe_list_type(const roc_fe_instance *inst, const roc_ast_list *list, uint32_t k);
/* The list ends in a call with an error, so that its count is unknown. */
bool roc_fe_list_is_unknown(const roc_fe_instance *inst, const roc_ast_list *list);
/* Arithmetic (not comparison, logic, unary): the type both operands are converted to before the
 * operation.
 * `/` and `^` of integers: PLAIN.  Comparison of an integer with a float: converts neither (exact).
 */
roc_ty roc_fe_operand_type(const roc_fe_instance *inst, const roc_ast_node *binary);

/* What is wrong with a shape. */
typedef enum roc_fe_shape_fault {
  ROC_SHAPE_FINE,
  ROC_SHAPE_NOT_CONSTANT, /* not an integer, or not known now */
  ROC_SHAPE_EXTENT,       /* one below 0 or above 2^31-1 */
  ROC_SHAPE_RANK,         /* none, or more than ROC_MAX_RANK */
  ROC_SHAPE_SIZE          /* more than 2^31-1 elements */
} roc_fe_shape_fault;

/* The extents of a constant shape: an integer, or a table of integers; of one that has a wrong
 * extent that alone. */
roc_fe_shape_fault roc_fe_const_shape(const roc_fe_instance *inst, const roc_ast_node *shape,
                                      int64_t *extents, uint32_t *rank);
/* The dtype an argument names: a dtype value or a string. */
bool roc_fe_const_dtype(const roc_fe_instance *inst, const roc_ast_node *node, roc_dtype *out);
/* The type of a string. */
roc_ty roc_ty_of_text(const char *text, size_t len);
/* The text of a string: a literal, a captured one, or a local's; NULL: it is not known. */
const char *roc_fe_const_text(const roc_fe_instance *inst, const roc_ast_node *node);
/* What messages call the constant array that a name, or a call of roc.const.array, is. */
const char *roc_fe_const_name(const roc_ast_node *node);
/* The index operands of roc.atomic.*: the items of a table, or the node itself. */
roc_ast_list roc_fe_atomic_index(roc_ast_node *const *index_argument);

static inline const roc_fe_node_info *roc_fe_node(const roc_fe_instance *inst,
                                                  const roc_ast_node *node) {
  return &inst->nodes[node->id];
}
static inline const roc_fe_sym_info *roc_fe_sym(const roc_fe_instance *inst,
                                                const roc_ast_symbol *sym) {
  return &inst->syms[sym->id];
}

#endif
