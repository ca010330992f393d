/* What is known of integer and boolean values at one point of a kernel: value numbers, ranges, and
 * relations a <= b + k.
 *
 * Used by check_elimination.c. A value number stands for one value that never changes: equal pure
 * instructions on equal operands share one; a variable has the number of what was assigned last,
 * and a new one where control flow meets. Facts hold in a scope: taken at roc_ir_facts_mark,
 * dropped at roc_ir_facts_rollback; value numbers stay. Every addition is checked for overflow, so
 * facts about i + 1 are made only where i + 1 does not wrap. */
#ifndef ROC_IR_FACTS_H
#define ROC_IR_FACTS_H

#include "ir/ir.h"

typedef struct roc_ir_range {
  int64_t low, high; /* inclusive */
} roc_ir_range;

enum { ROC_IR_VALUE_ARGS = 3, ROC_IR_VALUE_ZERO = 0 /* the number of the integer 0 */ };

/* ROC_IR_OP_COUNT_ as op: nothing is known of how the value came about; with 3 arguments, it is
 * what an IF left in a variable: condition, value of the first path, of the second. */
typedef struct roc_ir_value {
  uint8_t op, type, nargs;
  bool is_nonzero;
  bool
      has_product; /* it is a sum of products of two values, neither of which is constant, or one */
  uint32_t aux;
  int64_t k;
  uint32_t args[ROC_IR_VALUE_ARGS]; /* value numbers */
  roc_ir_range everywhere, now;     /* by how it is made; and by the facts in force */
  uint32_t next;                    /* in its hash chain */
} roc_ir_value;

/* Whether an IF or a select left one of two values there, as its condition says. */
static inline bool roc_ir_facts_is_choice(const roc_ir_value *v) {
  return v->nargs == 3 && (v->op == ROC_IR_OP_COUNT_ || v->op == ROC_IR_SELECT);
}

typedef struct roc_ir_relation {
  uint32_t a, b; /* a <= b + k */
  int64_t k;
  bool is_of_check; /* it holds after a check, and not because a condition says so */
} roc_ir_relation;

typedef roc_vec(roc_ir_relation) roc_ir_relations;

typedef struct roc_ir_undo {
  uint32_t value;
  bool is_nonzero;
  roc_ir_range now;
} roc_ir_undo;

/* How large launches get where the code runs. */
typedef struct roc_ir_launch_limits {
  int64_t ids;       /* of global and group ids */
  int64_t sizes;     /* of global sizes and numbers of groups */
  int64_t workgroup; /* of local ids and sizes, in one dimension */
} roc_ir_launch_limits;

/* Anywhere, and on a GPU, whose dispatch packet counts work-items in 32 bits. */
extern const roc_ir_launch_limits roc_ir_limits_any, roc_ir_limits_gpu;

typedef struct roc_ir_facts {
  const roc_ir_module *m;
  const roc_ir_launch_limits *limits;
  roc_vec(roc_ir_value) values; /* entry ROC_IR_VALUE_ZERO is the integer 0 */
  roc_ir_relations relations;
  roc_vec(roc_ir_undo) undo;
  uint32_t *chains;
  bool failed; /* out of memory: nothing more is proved */
  /* Per dimension of a promised workgroup: the numbers of the local id and of the number of groups
   * times the promised size; 0: there is none. */
  uint32_t local_ids[3], grid_items[3];
} roc_ir_facts;

typedef struct roc_ir_facts_point {
  uint32_t nrelations, nundo;
} roc_ir_facts_point;

bool roc_ir_facts_init(roc_ir_facts *f, const roc_ir_module *m, const roc_ir_launch_limits *limits);
void roc_ir_facts_deinit(roc_ir_facts *f);

roc_ir_facts_point roc_ir_facts_mark(const roc_ir_facts *f);
void roc_ir_facts_rollback(roc_ir_facts *f, roc_ir_facts_point point);

/* What two paths have in common: the relations of the first since `point`, of which the second, at
 * its end, keeps those it proves. */
void roc_ir_facts_collect(roc_ir_facts *f, roc_ir_facts_point point, roc_ir_relations *out);
void roc_ir_facts_keep_proved(const roc_ir_facts *f, roc_ir_relations *relations);

/* The value of `inst` on operands with the numbers `args`. */
uint32_t roc_ir_facts_value(roc_ir_facts *f, const roc_ir_inst *inst, const uint32_t *args);
uint32_t roc_ir_facts_extent(roc_ir_facts *f, uint32_t array, uint32_t dim);
uint32_t roc_ir_facts_unknown(roc_ir_facts *f, roc_value_type type);
uint32_t roc_ir_facts_unknown_in(roc_ir_facts *f, roc_value_type type, roc_ir_range range);
/* What a variable holds after an IF whose paths left `yes` and `no` in it. */
uint32_t roc_ir_facts_merge(roc_ir_facts *f, uint32_t test, uint32_t yes, uint32_t no);

/* States a <= b + k, from here to the end of the scope. */
void roc_ir_facts_add(roc_ir_facts *f, uint32_t a, uint32_t b, int64_t k);
/* a <= b, as a check of the index `a` leaves it. */
void roc_ir_facts_add_checked(roc_ir_facts *f, uint32_t a, uint32_t b);
void roc_ir_facts_add_nonzero(roc_ir_facts *f, uint32_t a);
/* States that the boolean `test` is `truth`, and what follows from that. */
void roc_ir_facts_assume(roc_ir_facts *f, uint32_t test, bool truth);

/* Whether the ranges decide the boolean `test`; *truth is what it is then. */
bool roc_ir_facts_decide(const roc_ir_facts *f, uint32_t test, bool *truth);

/* True when proved; the second is a <= b + k. */
bool roc_ir_facts_le(roc_ir_facts *f, uint32_t a, uint32_t b);
bool roc_ir_facts_le_by(roc_ir_facts *f, uint32_t a, uint32_t b, int64_t k);
bool roc_ir_facts_nonzero(roc_ir_facts *f, uint32_t a);
/* That the boolean `test` is not `truth`. */
bool roc_ir_facts_excludes(const roc_ir_facts *f, uint32_t test, bool truth);
roc_ir_range roc_ir_facts_range(roc_ir_facts *f, uint32_t a);

/* (base + begin) // step * times, for an argument or extent as base and constants, of which step is
 * more than 1 and times is step or 1: a quotient, or a multiple of the step.  The largest
 * begin + n * step (n an integer) that is not over `last` is, but for a constant, such a multiple,
 * with a base and a begin that differ by constants from `last` and -begin. */
typedef struct roc_ir_facts_multiple {
  uint32_t base;
  int64_t begin, step, times;
} roc_ir_facts_multiple;

/* States that `a`, one of these, is no more than the largest, whose value is interned. */
void roc_ir_facts_add_multiple(roc_ir_facts *f, uint32_t a, uint32_t last, int64_t begin,
                               int64_t step);
bool roc_ir_facts_is_multiple(const roc_ir_facts *f, uint32_t a, roc_ir_facts_multiple *out);

/* Whether an index from 0 in that range has 32 bits, signed or not, and the extent 31. */
bool roc_ir_facts_is_index_of_32_bits(const roc_ir_facts *f, const roc_ir_array *array,
                                      uint32_t dim, roc_ir_range index);

/* The value that `a` is a constant more than, and that constant. */
uint32_t roc_ir_facts_base(const roc_ir_facts *f, uint32_t a, int64_t *k);

enum { ROC_IR_PRODUCT_FACTORS = 3 };

/* factors[0] * factors[1] … + k: extents and integer arguments, of 31 bits; after the last NONE. */
typedef struct roc_ir_facts_product {
  uint32_t factors[ROC_IR_PRODUCT_FACTORS];
  int64_t k;
} roc_ir_facts_product;

/* Finds such a product, of two factors or more, that bounds the index `a` into a flat array. */
bool roc_ir_facts_product_bound(const roc_ir_facts *f, uint32_t a, roc_ir_facts_product *out);

/* value * factor + plus + k.  Where `plus` is not 0, the value is neither multiplied nor a
 * multiple. */
typedef struct roc_ir_facts_bound {
  uint32_t value, plus;
  int64_t factor, k;
} roc_ir_facts_bound;

/* Finds a value that is the same for the whole launch (an extent, an integer argument, a quotient or
 * multiple as above, with takes_sizes also a size, and sums of two that are neither) that bounds
 * `a`, but not `extent`; false when no relation leads to one. */
bool roc_ir_facts_launch_bound(const roc_ir_facts *f, uint32_t a, uint32_t extent, bool takes_sizes,
                               roc_ir_facts_bound *out);

#endif
