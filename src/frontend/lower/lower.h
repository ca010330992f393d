/* Lowering's working state, shared by lower*.c: typed trees to IR, device functions inlined in
 * place.
 *
 * Invariant: inference accepted the program, so types fit; only a kernel that is too large is still
 * an error. When `stop` is set nothing more is lowered, and the result so far is dropped. */
#ifndef ROC_FRONTEND_LOWER_LOWER_H
#define ROC_FRONTEND_LOWER_LOWER_H

#include "frontend/types/types.h"
#include "ir/build.h"

enum {
  ROC_LOWER_MAX_INSTS = 300000,
  ROC_LOWER_MAX_CALLS = 10000, /* inlined */
  ROC_LOWER_MAX_DEPTH =
      1500, /* of blocks and inlined calls in each other; below the verifier's limit */
  ROC_LOWER_MAX_BLOCKS = 64 /* labels open at once in one block of statements */
};

/* An array of the module, or a row view of it: the first `nlead` indices are given. */
typedef struct roc_lower_array {
  uint32_t array;
  uint32_t nlead;
  uint32_t lead[ROC_MAX_RANK];
} roc_lower_array;

/* The result of lowering an expression. */
typedef struct roc_operand {
  roc_ty type;
  bool is_const; /* `value`; `id` is NONE until an instruction is made */
  roc_scalar value;
  uint32_t id;   /* the instruction, in the type's own value type */
  uint32_t test; /* maybe_false: the boolean; `id` counts where it is true */
  roc_lower_array array;
  const struct roc_operand *items; /* of a table: the indices of an atomic, in scratch */
} roc_operand;

/* Where the value of a symbol is kept. */
typedef struct roc_slot {
  bool is_var;
  uint32_t var;
  roc_operand operand; /* of a symbol that is never assigned again */
} roc_slot;

/* A function being lowered: the kernel, or one inlined call. */
typedef struct roc_frame {
  const roc_fe_instance *inst;
  struct roc_frame *caller;
  roc_slot *slots; /* by symbol id */
  uint32_t block; /* BLOCK that returns leave; ROC_IR_NONE: the only return is the last statement */
  const uint32_t *result_vars;
  roc_operand *results; /* without a block: the values returned */
  uint32_t loop;        /* innermost loop of this function */
} roc_frame;

typedef struct roc_label_block {
  const roc_ast_node *label;
  uint32_t block;
} roc_label_block;

/* A shared or private block: one entry for each place in the source and shape. */
typedef struct roc_block_array {
  const roc_ast_node *node;
  uint32_t array;
} roc_block_array;

typedef struct roc_lower {
  const roc_fe_typed *typed;
  const roc_fe_options *options;
  roc_diags *diags;
  roc_ir_builder b;
  roc_arena scratch;
  roc_frame *frame;
  uint32_t *arg_arrays;            /* args -> module arrays */
  roc_vec(roc_label_block) labels; /* open ones, of all frames */
  roc_vec(roc_block_array) blocks;
  roc_vec(const roc_fe_const_array *) const_data; /* parallel to const_arrays */
  roc_ir_ids const_arrays;
  const roc_ast_list *locals; /* that the values of the next list are for; NULL: none */
  const char *array_name;     /* of the local a new array is for */
  uint32_t ncalls, depth;
  bool stop;
} roc_lower;

static inline const roc_fe_node_info *roc_lower_info(const roc_lower *lx,
                                                     const roc_ast_node *node) {
  return roc_fe_node(lx->frame->inst, node);
}

/* lower_value.c */
/* The instructions made from now on are those of `node`'s line and column. */
void roc_lower_place(roc_lower *lx, const roc_ast_node *node);
/* True once nothing more is to be lowered; reports when the kernel has grown too large. */
bool roc_lower_is_done(roc_lower *lx, const roc_ast_node *node);
/* Scratch for `count` operands; never NULL unless `stop` gets set. */
roc_operand *roc_lower_operands(roc_lower *lx, uint32_t count);
roc_operand roc_operand_of(roc_ty type, uint32_t id);
roc_operand roc_operand_int(int64_t value);
uint32_t roc_lower_as(roc_lower *lx, roc_operand op, roc_value_type vt);
uint32_t roc_lower_id(roc_lower *lx, roc_operand op); /* in its own type */
/* Makes a constant's instruction, for uses that follow in the same region. */
void roc_lower_pin(roc_lower *lx, roc_operand *op);
uint32_t roc_lower_truth(roc_lower *lx, roc_operand op);
roc_value_type roc_lower_vt(const roc_lower *lx, roc_ty t);
uint32_t roc_lower_zero(roc_lower *lx, roc_value_type vt);
uint32_t roc_lower_float(roc_lower *lx, roc_value_type vt, double value); /* F32, F64 */
uint32_t roc_lower_temp(roc_lower *lx, roc_value_type vt);
uint32_t roc_lower_and_bits(roc_lower *lx, uint32_t x, uint32_t y); /* booleans, both evaluated */
/* A check that fails with a text of its own. */
void roc_lower_check(roc_lower *lx, const roc_ast_node *node, uint32_t test, const char *text);
uint32_t roc_lower_site(roc_lower *lx, const roc_ast_node *node, roc_site_kind kind);

/* lower_stat.c */
void roc_lower_block(roc_lower *lx, const roc_ast_list *block);
/* Gives a symbol its first value (ROC_TY_NONE: none yet). */
void roc_lower_declare(roc_lower *lx, const roc_ast_symbol *sym, roc_operand value);

/* lower_expr.c */
roc_operand roc_lower_expr(roc_lower *lx, const roc_ast_node *node);
/* Evaluates a list, adjusted to its natural count; stores that count. */
roc_operand *roc_lower_list(roc_lower *lx, const roc_ast_list *list, uint32_t *count);
/* The check before an integer // or %. */
void roc_lower_check_divisor(roc_lower *lx, const roc_ast_node *node, roc_operand divisor,
                             roc_site_kind kind);

/* lower_logic.c */
roc_operand roc_lower_logic(roc_lower *lx, const roc_ast_node *node);
roc_operand roc_lower_comparison(roc_lower *lx, const roc_ast_node *node);

/* lower_array.c */
roc_operand roc_lower_index(roc_lower *lx, const roc_ast_node *node);
roc_operand roc_lower_binding(roc_lower *lx, const roc_ast_node *node,
                              const roc_fe_binding *binding);
roc_operand roc_lower_extent(roc_lower *lx, const roc_lower_array *ref, uint32_t dim);
void roc_lower_store(roc_lower *lx, const roc_ast_node *target, const roc_lower_array *base,
                     roc_operand index, roc_operand value);
void roc_lower_check_index(roc_lower *lx, const roc_ast_node *node, uint32_t array, uint32_t dim,
                           roc_operand index);
uint32_t roc_lower_block_array(roc_lower *lx, const roc_ast_node *node, const roc_ir_array *array);
void roc_lower_mark(roc_lower *lx, uint32_t array, bool is_read, bool is_written);

/* lower_call.c: results in scratch */
roc_operand *roc_lower_call(roc_lower *lx, const roc_ast_node *node, uint32_t *nresults);

/* lower_builtin.c */
void roc_lower_builtin(roc_lower *lx, const roc_ast_node *node, uint32_t id,
                       const roc_operand *args, uint32_t nargs, roc_operand *results);

/* lower_message.c: print, error, assert */
void roc_lower_message(roc_lower *lx, const roc_ast_node *node, roc_ir_op op, roc_site_kind kind,
                       const roc_operand *args, uint32_t nargs);

#endif
