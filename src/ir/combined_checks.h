/* Several checks of a work-item under one condition, for targets where each check costs a branch of
 * its own, and masks of lanes.
 *
 * From the first check of a region to the region's end: `if all conditions that can be computed
 * here hold then the rest without their checks, else the rest as it was`.  What the kernel does and
 * reports stays: where one of the conditions does not hold, everything is done, checked and
 * reported in the order of the text.  So a check may stand after stores, too, and its index may be
 * that of an access that is not reached.  The IF is marked as ROC_IR_IF_ALL: its second region is
 * right for all work-items, so a wavefront may take it together when one of its work-items has to,
 * and the first costs no masks. */
#ifndef ROC_IR_COMBINED_CHECKS_H
#define ROC_IR_COMBINED_CHECKS_H

#include "ir/build.h"

/* Changes a verified module, the region and those nested in it, but for bodies of innermost
 * counting loops (loop_versioning.h) and the loops in `left`. OOM leaves it unusable. */
roc_status roc_ir_combine_checks(roc_ir_module *module, uint32_t region, const roc_ir_ids *left,
                                 roc_error *err);

/* Whether the CHECK_INDEX, CHECK_NONZERO or CHECK_INT holds, as a boolean. */
uint32_t roc_ir_emit_check_condition(roc_ir_builder *b, uint32_t check);

/* Whether such a check of `x` holds, or false: of a float of -2^63, which the code that runs then finds
 * to be an integer, this is cheaper. */
uint32_t roc_ir_emit_likely_condition(roc_ir_builder *b, const roc_ir_inst *check, uint32_t x);

#endif
