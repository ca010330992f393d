/* The narrowest integers that hold what a kernel computes of elements: sums, comparisons and choices
 * of bytes in 8 or 16 bits, where a vector has that many more of them.
 *
 * What is computed of ids, sizes and counters alone stays 64 bits wide, as addresses and the bounds
 * of loops are, unless no more than its low bits matter (low_bits.h). */
#ifndef ROC_IR_VALUE_WIDTHS_H
#define ROC_IR_VALUE_WIDTHS_H

#include "ir/facts.h"

/* A width is 0 (64 bits), or 8, 16 or 32, perhaps with the flag.  Of an operation: it may be done in
 * so many bits of its integer operands, and its integer result is extended, by the sign or with
 * zeros.  Of a variable, a load, and what else gives an integer: so many bits hold it. */
enum { ROC_IR_WIDTH_BITS = 0x7f, ROC_IR_WIDTH_SIGNED = 0x80 };

typedef struct roc_ir_widths {
  uint8_t *insts, *vars; /* a variable of a FOR has 64 bits */
  roc_ir_range *indices; /* per CHECK_INDEX: what it checks lies in it, if those before it hold */
} roc_ir_widths;

/* Fills *out, which is roc_ir_widths_deinit'd by the caller, after a failure as well. */
roc_status roc_ir_find_widths(const roc_ir_module *module, const roc_ir_launch_limits *limits,
                              roc_ir_widths *out, roc_error *err);
void roc_ir_widths_deinit(roc_ir_widths *widths);

/* Whether a kernel has elements of integers narrower than 64 bits. */
bool roc_ir_has_narrow_elements(const roc_ir_module *module);

#endif
