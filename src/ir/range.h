/* Interval arithmetic on 64-bit integers, for facts.c.  An operation that may wrap gives
 * everything. */
#ifndef ROC_IR_RANGE_H
#define ROC_IR_RANGE_H

#include "ir/facts.h"

extern const roc_ir_range roc_ir_range_all;

roc_ir_range roc_ir_range_meet(roc_ir_range a, roc_ir_range b);
roc_ir_range roc_ir_range_join(roc_ir_range a, roc_ir_range b);
/* The integers an element of `dtype` loads as. */
roc_ir_range roc_ir_range_of_dtype(roc_dtype dtype);
/* Of an integer instruction `op` (aux as in the IR) on operands in the given ranges; everything for
 * ops it does not know. */
roc_ir_range roc_ir_range_apply(roc_ir_op op, uint32_t aux, const roc_ir_range *args);
/* Of what the launch hands in: ids, sizes and lanes. */
roc_ir_range roc_ir_range_of_query(const roc_ir_module *m, const roc_ir_launch_limits *limits,
                                   roc_ir_op op, uint32_t dim);

#endif
