/* Where the items of a wavefront or workgroup meet: for each instruction, whether it or anything in
 * its regions is a cut.
 *
 * The CPU code generator runs what holds no cut as a loop over work-items, and the rest by the
 * group. */
#ifndef ROC_IR_PARALLEL_REGIONS_H
#define ROC_IR_PARALLEL_REGIONS_H

#include "ir/ir.h"

/* Stores an array over module->insts of ROC_IRF_CUT_WAVE and ROC_IRF_CUT_GROUP bits, to be freed
 * with roc_free. */
roc_status roc_ir_find_cuts(const roc_ir_module *module, uint8_t **out_cuts, roc_error *err);

#endif
