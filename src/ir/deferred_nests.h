/* Loops with loops in them that read alone, for targets where leaving a loop in the middle of another
 * costs much: GPUs, which then keep masks of lanes for each.
 *
 * What a check in such a nest guards is only ever assigned to variables, so the nest can be run
 * again.  A copy goes without all checks: inner loops as loop_versioning.h has them, but where the
 * loop as it was would run, and report, the copy only takes down that an index was wrong; it does
 * so for every other check, too, with clamped indices for the loads that need them.  After it the
 * nest as it was runs from its start, if something was wrong, and reports. */
#ifndef ROC_IR_DEFERRED_NESTS_H
#define ROC_IR_DEFERRED_NESTS_H

#include "ir/ir.h"

/* In the region of a verified module.  Adds the nests as they were to *left.  OOM leaves the module
 * unusable. */
roc_status roc_ir_defer_nests(roc_ir_module *module, uint32_t region, roc_ir_ids *left,
                              roc_error *err);

#endif
