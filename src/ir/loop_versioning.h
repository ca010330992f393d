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
 *
 * Where checks are deferred, such a loop that changes variables alone goes without those that cannot be
 * decided in front, too (`x[columns[k]]`): indices that may be wrong are clamped for the loads that
 * need them, and the worst of an extent is kept, or the last of a check.  When that is out of range after the loop, variables get
 * back what they held, and the loop as it was runs from its start, and reports.  So do innermost
 * loops without a count that read alone (`while v > 0 do v = next[v] end`): they also end where
 * they come to their exit after a wrong index. */
#ifndef ROC_IR_LOOP_VERSIONING_H
#define ROC_IR_LOOP_VERSIONING_H

#include "ir/ir.h"

/* Each changes a verified module. OOM leaves it unusable. */

/* The whole kernel; *out_region: where the version stands that has the fewer checks. */
roc_status roc_ir_version_body(roc_ir_module *module, bool defers, uint32_t *out_region,
                               roc_error *err);
/* Loops alone. */
roc_status roc_ir_version_loops(roc_ir_module *module, bool defers, roc_error *err);

/* Loops of the region that are `op`. Adds them as they were to *left, for the caller to
 * deinitialise, also after a failure; what is in it already stays. */
roc_status roc_ir_version_loops_of(roc_ir_module *module, uint32_t region, roc_ir_op op,
                                   bool defers, roc_ir_ids *left, roc_error *err);

/* The IF that each round of a loop comes to and that does nothing but leave it; NONE: there is
 * none. */
uint32_t roc_ir_find_exit(const roc_ir_module *module, uint32_t loop);

/* Whether two arrays have the same extents in any case. */
bool roc_ir_is_same_extent(const roc_ir_module *module, uint32_t a, uint32_t b);

/* Whether the value is made of extents, arguments, sizes and constants alone: the same for the
 * whole launch. */
bool roc_ir_is_shared_by_launch(const roc_ir_module *module, uint32_t id);

#endif
