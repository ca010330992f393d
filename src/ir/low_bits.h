/* Integers of which users need no more than the low 32 bits: sums that are stored as int32 or
 * uint8, what is masked, hashed or converted.  Carries go up only, so such a value may be computed
 * in 32 bits out of the low halves of its operands, whatever its range. */
#ifndef ROC_IR_LOW_BITS_H
#define ROC_IR_LOW_BITS_H

#include "ir/ir.h"

/* Adds ROC_IR_LOW to what roc_ir_find_narrow has found, where that has no range of 32 bits. */
roc_status roc_ir_find_low(const roc_ir_module *module, uint8_t *narrow, uint8_t *narrow_vars,
                           roc_error *err);

/* By how many bits SHL, SHR or FLOORDIV moves its operand, fewer than 32; -1: it is none of them, or
 * that is not known. */
int roc_ir_bits_moved(const roc_ir_module *m, const roc_ir_inst *inst);

#endif
