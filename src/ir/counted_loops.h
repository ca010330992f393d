/* LOOPs that count become FORs.
 *
 * `while i <= n do … i = i + step end` runs as often as `for i = i, n, step do … end` where the
 * bound and the step stay what they are, and the counter cannot wrap before it has passed the
 * bound.  Passes and code generators know of a FOR how long it is and where it reads. */
#ifndef ROC_IR_COUNTED_LOOPS_H
#define ROC_IR_COUNTED_LOOPS_H

#include "ir/ir.h"

/* Changes a verified module; *out_changed says whether it did.  OOM leaves it unusable. */
roc_status roc_ir_count_loops(roc_ir_module *module, bool *out_changed, roc_error *err);

#endif
