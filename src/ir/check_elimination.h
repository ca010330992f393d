/* Removes checks that cannot fail: CHECK_INDEX, CHECK_NONZERO and CHECK_INT that dominating
 * conditions, loop bounds, earlier checks or the ranges of the values prove.  `if i <= #y then y[i]
 * = … end` keeps none. */
#ifndef ROC_IR_CHECK_ELIMINATION_H
#define ROC_IR_CHECK_ELIMINATION_H

#include "ir/facts.h"

roc_status roc_ir_eliminate_checks(roc_ir_module *module, roc_error *err);
/* The same for code that runs on a GPU, whose launches have smaller sizes. */
roc_status roc_ir_eliminate_checks_gpu(roc_ir_module *module, roc_error *err);

/* The same for the whole launch. */
typedef struct roc_ir_launch_value {
  uint8_t op;   /* EXTENT, PARAM or a size; CONST: none, or 0 */
  uint32_t aux; /* as of such an instruction */
  int64_t dim;  /* of an EXTENT */
} roc_ir_launch_value;

/* Something about the launch that would prove a check: bound + plus + k <= extent; or, of the lower
 * bound, 1 <= bound + k.  A product by other such values fits 31 bits but for the last of them. */
typedef struct roc_ir_precondition {
  bool is_lower;
  roc_ir_launch_value bound, plus;
  int64_t step, begin; /* step > 1: the bound is (bound + begin) // step * times instead */
  int64_t times;       /* step or 1 */
  int64_t factor;      /* of the bound, 1 or more */
  /* The bound is multiplied by these; CONST: by none. */
  roc_ir_launch_value by[ROC_IR_PRODUCT_FACTORS - 1];
  int64_t k;            /* sums with it do not wrap */
  uint32_t array, axis; /* the extent's */
} roc_ir_precondition;

typedef roc_vec(roc_ir_precondition) roc_ir_preconditions;

/* Whether both ask it of the same, but for k. */
bool roc_ir_has_same_bound(const roc_ir_precondition *a, const roc_ir_precondition *b);

/* Appends the preconditions for all index checks of the module whose upper bound is all that is not
 * proved; each once.  `defers`: checks of loops that only read are made after the loop, and so cost
 * little. */
roc_status roc_ir_find_preconditions(const roc_ir_module *module, bool defers,
                                     roc_ir_preconditions *out, roc_error *err);

/* What keeps a LOAD in bounds where index checks are left out; of a SET, in its first dimension, a
 * check of the value that it assigns. */
typedef struct roc_ir_unproved {
  uint8_t dims; /* a bit per dimension whose index is not proved to be in range */
  /* Of such a dimension: a check of the same index that is in force there, of an extent that is no
   * larger; NONE: there is none. */
  uint32_t checks[ROC_MAX_RANK];
} roc_ir_unproved;

/* Sets *out, per LOAD and SET, to what it is where the index checks with `ignored` (per
 * instruction) are left out.  roc_free'd by the caller. */
roc_status roc_ir_find_unproved(const roc_ir_module *module, const uint8_t *ignored,
                                roc_ir_unproved **out, roc_error *err);

/* Why the checks that are left could not be proved, in words for the author of the kernel. */
typedef struct roc_ir_check_reasons {
  roc_str text;     /* texts, each ended by a NUL */
  uint32_t *begins; /* per instruction: where its text begins; ROC_IR_NONE: it is no such check */
} roc_ir_check_reasons;

/* Fills *out for a module whose proved checks are removed; `limits` as they were for that.
 * roc_ir_check_reasons_deinit'd by the caller, after a failure as well. */
roc_status roc_ir_explain_checks(const roc_ir_module *module, const roc_ir_launch_limits *limits,
                                 roc_ir_check_reasons *out, roc_error *err);
void roc_ir_check_reasons_deinit(roc_ir_check_reasons *reasons);

/* What the same walk tells of an instruction's integers, in the order in which code is run.  Of a
 * FOR: its variable lies in 0 … 2^31-1 in the body, and the value after its last one in 32 bits,
 * signed where it goes down (with NARROW_SIGNED), else unsigned (with WRAPS: unless the sum wraps).
 * With INT32 the first is below 2^31, and the last may be negative: such a loop does not run.
 * INT32 without NARROW: by a constant, and the variable has 32 bits with a sign in the body, and
 * after the last round.  LOW: by 1 or -1, and it has them in the body.  Of what looks at an index,
 * as CHECK_INDEX does: NARROW, 32 bits tell those that are in range.  Of a shift, COUNTS: by no
 * negative number of bits; with FEW: by fewer than 64; FEW alone: by fewer than 32.  Of a division,
 * without NARROW, BY_WIDE: of what lies in 0 … 2^32-1, by what is not negative. */
typedef enum roc_ir_narrow {
  ROC_IR_NARROW = 1,        /* operands and result lie in 0 … 2^32-1, each without wrapping */
  ROC_IR_NARROW_SIGNED = 2, /* the result lies in 0 … 2^31-1 */
  ROC_IR_LOOP_VARIANT = 4,  /* it changes from iteration to iteration of a loop around it */
  ROC_IR_SCALAR = 8,        /* it is the same for all items of a wavefront */
  ROC_IR_WRAPS = 16,
  ROC_IR_COUNTS = ROC_IR_WRAPS,
  ROC_IR_BY_WIDE = ROC_IR_WRAPS,
  ROC_IR_INT32 = 32, /* without NARROW: integer operands and result lie in -2^31 … 2^31-1 */
  ROC_IR_LOW = 64,   /* without both: no more than its low 32 bits matter (ir/low_bits.h) */
  /* Of a FLOOR or CEIL, and an ADD to one, without them: what lies beyond -2^31 … 2^31-1 may be the
   * nearer end. */
  ROC_IR_SATURATES = 128,
  ROC_IR_FEW = ROC_IR_SATURATES
} roc_ir_narrow;

/* Sets *out to a set of these per instruction (what is not in a region has none), and *out_vars to
 * one per variable: NARROW, it only ever holds 0 … 2^32-1, NARROW_SIGNED: -2^31 … 2^31-1, LOW: as
 * above.  `of_indices`: LOW is what indices into narrow arrays are made of, too.  Both are
 * roc_free'd by the caller. */
roc_status roc_ir_find_narrow(const roc_ir_module *module, const roc_ir_launch_limits *limits,
                              bool of_indices, uint8_t **out, uint8_t **out_vars, roc_error *err);

#endif
