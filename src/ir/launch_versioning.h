/* All that is done about the checks of a kernel for a GPU that cannot be proved, in its order: the
 * kernel without checks beside the kernel with them, and, of what then has the fewer checks, those
 * in nests of loops, in loops, and outside of them. */
#ifndef ROC_IR_LAUNCH_VERSIONING_H
#define ROC_IR_LAUNCH_VERSIONING_H

#include "ir/ir.h"

/* Changes a verified module; OOM leaves it unusable.  `defers`: checks wait until after loops that
 * read alone (loop_versioning.h, deferred_nests.h).  `combines`: others are combined
 * (combined_checks.h), and exits wait (late_exits.h, resumed_loops.h). */
roc_status roc_ir_version_launch(roc_ir_module *module, bool defers, bool combines, roc_error *err);

#endif
