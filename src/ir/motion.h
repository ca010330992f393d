/* How integers change: from iteration to iteration of a loop, and from item to item.
 *
 * For the choice of address arithmetic: an address that all items of a wavefront share and a loop
 * moves is kept in scalar registers, and moved by its step. */
#ifndef ROC_IR_MOTION_H
#define ROC_IR_MOTION_H

#include "ir/ir.h"

/* Adds ROC_IR_LOOP_VARIANT and ROC_IR_SCALAR (check_elimination.h) to the flags of instructions. */
roc_status roc_ir_find_motion(const roc_ir_module *module, uint8_t *flags, roc_error *err);

#endif
