/* Between which integers floats lie, for facts.c: so `math.floor((x - 1) * 0.5)` is known to be small.
 *
 * The range of a float says that it is a number and not outside; INT64_MIN as low and INT64_MAX as
 * high stand for the infinities.  Where both are so, nothing is known: it may be no number. */
#ifndef ROC_IR_FLOAT_RANGE_H
#define ROC_IR_FLOAT_RANGE_H

#include "ir/range.h"

/* low > high: in code that cannot run. */
typedef struct roc_ir_interval {
  double low, high;
} roc_ir_interval;

/* An operand; and where it lies if it is a number, which may be known of one that may be none. */
typedef struct roc_ir_float_operand {
  roc_ir_interval value, if_number;
} roc_ir_float_operand;

/* Of an integer or a float in the range; and of a constant. */
roc_ir_interval roc_ir_interval_of_range(roc_ir_range range);
roc_ir_interval roc_ir_interval_of_constant(double value);
/* The least range that holds the interval. */
roc_ir_range roc_ir_range_of_interval(roc_ir_interval x);

/* The range of an instruction that gives a float of type `type`, or an integer of a float, on
 * operands in the given intervals; everything for what it does not know.  It holds for products,
 * too, that are added before they are rounded. */
roc_ir_range roc_ir_float_range_apply(roc_ir_op op, uint32_t aux, roc_value_type type,
                                      const roc_ir_float_operand *args);
/* Where the result of MIN or MAX lies if it is a number. */
roc_ir_interval roc_ir_interval_if_number(roc_ir_op op, const roc_ir_interval *args);

#endif
