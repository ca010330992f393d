/* Code without checks beside code with them, for targets where a check in hot code costs much:
 * GPUs, which go on with a part of the wavefront.  What the kernel does, and what it reports,
 * stays.
 *
 * The whole kernel: where checks would be proved if some extents, arguments and sizes were in order
 * (`if i <= #y then y[i] = x[i] end`: if #y <= #x), it becomes `if they are then the kernel without
 * those checks, else the kernel as it was`. All items of a launch take the same path, so barriers
 * are no obstacle. The IF is marked as ROC_IR_IF_VERSIONS, as is that of a versioned loop which
 * ends the body under such a condition.
 *
 * An innermost counting loop: `if every check holds in all iterations then the loop without them,
 * else the loop as it was`.  The condition is computed once, in front: for an index that is the
 * same in all iterations, or that is the counter plus such a value, its first and last value are
 * compared with the extent.
 */
#ifndef ROC_IR_LOOP_VERSIONING_H
#define ROC_IR_LOOP_VERSIONING_H

#include "ir/ir.h"

/* Each changes a verified module. OOM leaves it unusable. */

/* The whole kernel; *out_region: where the version stands that has the fewer checks. */
roc_status roc_ir_version_body(roc_ir_module *module, uint32_t *out_region, roc_error *err);
/* Loops of the region alone. */
roc_status roc_ir_version_loops(roc_ir_module *module, uint32_t region, roc_error *err);

/* Whether the value is made of extents, arguments, sizes and constants alone: the same for the
 * whole launch. */
bool roc_ir_is_shared_by_launch(const roc_ir_module *module, uint32_t id);

#endif
