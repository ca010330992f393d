/* All that is done about the checks of a kernel for a GPU that cannot be proved, in its order: the
 * kernel without checks beside the kernel with them, and, of what then has the fewer checks, those
 * outside of loops, and in loops that count. */
#ifndef ROC_IR_LAUNCH_VERSIONING_H
#define ROC_IR_LAUNCH_VERSIONING_H

#include "ir/ir.h"

/* Changes a verified module; OOM leaves it unusable.  `combines`: those outside of loops are combined
 * (combined_checks.h). */
roc_status roc_ir_version_launch(roc_ir_module *module, bool combines, roc_error *err);

#endif
