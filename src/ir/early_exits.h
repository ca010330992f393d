/* Statements that are skipped by a jump become a branch.
 *
 * `if i > n then return end … end`, `if c then goto continue end …` and `if c then return x end …`
 * in a function skip what follows, up to the end of the kernel, the iteration or the function.
 * `if not (i > n) then … end` does the same without a jump, and tells passes and code generators
 * what depends on the condition.  A BLOCK that no jump leaves any longer is gone.
 *
 * What holds a cut is left as it is: items that have returned are not waited for at a barrier. */
#ifndef ROC_IR_EARLY_EXITS_H
#define ROC_IR_EARLY_EXITS_H

#include "ir/ir.h"

/* Changes a verified module.  OOM leaves it unusable. */
roc_status roc_ir_nest_early_exits(roc_ir_module *module, roc_error *err);

#endif
