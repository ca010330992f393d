/* Loops without checks beside loops with them.
 *
 * An innermost counting loop becomes `if every check holds in all iterations then the loop without
 * them, else the loop as it was`.  The condition is computed once, in front: for an index that is
 * the same in all iterations, or that is the counter plus such a value, its first and last value
 * are compared with the extent.  For targets where a check in a loop costs much (GPUs, which leave
 * the loop with a part of the wavefront); what the kernel does, and what it reports, stays. */
#ifndef ROC_IR_VERSION_H
#define ROC_IR_VERSION_H

#include "ir/ir.h"

/* Changes a verified module. OOM leaves it unusable. */
roc_status roc_ir_version(roc_ir_module *module, roc_error *err);

#endif
