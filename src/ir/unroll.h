/* Short counting loops with constant bounds, as those over a window or over components, become their
 * rounds one after the other, for targets whose memory instructions add a constant to an offset: what
 * is added to an index is such a constant then. */
#ifndef ROC_IR_UNROLL_H
#define ROC_IR_UNROLL_H

#include "ir/ir.h"

/* Changes a verified module. Loops with checks, barriers, and jumps out of them or to their next
 * round stay. OOM leaves it unusable. */
roc_status roc_ir_unroll_short_loops(roc_ir_module *module, roc_error *err);

#endif
