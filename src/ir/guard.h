/* Removes checks that cannot fail: CHECK_INDEX, CHECK_NONZERO and CHECK_INT that dominating
 * conditions, loop bounds, earlier checks or the ranges of the values prove.  `if i <= #y then y[i]
 * = … end` keeps none. */
#ifndef ROC_IR_GUARD_H
#define ROC_IR_GUARD_H

#include "ir/ir.h"

roc_status roc_ir_guard(roc_ir_module *module, roc_error *err);

#endif
