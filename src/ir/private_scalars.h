/* Private arrays that become variables.
 *
 * `local acc = roc.private.array({ 4, 4 }, "float32")` whose indices are constants, or counters of
 * loops with a few constant iterations, is sixteen variables once those loops are written out.  A
 * device that runs a workgroup in loops keeps a variable in a register where it keeps an array in
 * memory.  For the cpu device: what a GPU's compiler does of it is enough there.
 *
 * An element that is read before it is written is as undefined as before. */
#ifndef ROC_IR_PRIVATE_SCALARS_H
#define ROC_IR_PRIVATE_SCALARS_H

#include "ir/ir.h"

/* Changes a verified module; *out_changed says whether it did.  OOM leaves it unusable. */
roc_status roc_ir_scalarize_private(roc_ir_module *module, bool *out_changed, roc_error *err);

#endif
