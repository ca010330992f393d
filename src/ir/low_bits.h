/* Integers of which users need no more than the low 32 bits: sums that are stored as int32 or
 * uint8, what is masked, hashed or converted.  Carries go up only, so such a value may be computed
 * in 32 bits out of the low halves of its operands, whatever its range. */
#ifndef ROC_IR_LOW_BITS_H
#define ROC_IR_LOW_BITS_H

#include "ir/ir.h"

/* Adds ROC_IR_LOW to what roc_ir_find_narrow has found, where that has no range of 32 bits. With
 * `of_indices`, indices into narrow arrays are such, too. */
roc_status roc_ir_find_low(const roc_ir_module *module, bool of_indices, uint8_t *narrow,
                           uint8_t *narrow_vars, roc_error *err);

/* How many of the lowest bits of each instruction's integer, and of each variable's, users need. */
typedef struct roc_ir_needed_bits {
  uint8_t *insts, *vars;
} roc_ir_needed_bits;

/* Fills *out, which is roc_ir_needed_bits_deinit'd by the caller, after a failure as well.
 * `narrow`: per instruction, of which ROC_IR_COUNTS and FEW are asked; NULL: that is not known. */
roc_status roc_ir_find_needed_bits(const roc_ir_module *module, bool of_indices,
                                   const uint8_t *narrow, roc_ir_needed_bits *out, roc_error *err);
void roc_ir_needed_bits_deinit(roc_ir_needed_bits *needed);

/* In how many bits of its operands an operation can be done when `needed` of its result are; 0: in
 * all. */
unsigned roc_ir_low_bits_for(const roc_ir_module *m, const roc_ir_inst *inst, unsigned needed);

/* By how many bits SHL, SHR or FLOORDIV moves its operand, fewer than 32; -1: it is none of them, or
 * that is not known. */
int roc_ir_bits_moved(const roc_ir_module *m, const roc_ir_inst *inst);

#endif
