/* Group numbers times a constant, brought into 32 bits where that makes no difference.
 *
 * `(roc.get_group_id(1) - 1) * 16 + x` may pass 2^32, whatever the arrays' extents are.  But where
 * such a sum is compared with what is below 2^31, or is an index of an array with no more elements,
 * any number from 2^31 on does as well as the true one; so there the group's number is replaced by
 * the smaller of itself and the first that leads beyond 2^31 for sure, and the sum is proved to fit
 * 32 bits.  For GPUs, where a group's number has 32 bits; checks keep the true sum, as they report
 * it. */
#ifndef ROC_IR_NARROW_GROUP_IDS_H
#define ROC_IR_NARROW_GROUP_IDS_H

#include "ir/ir.h"

/* Changes a verified module. OOM leaves it unusable. */
roc_status roc_ir_narrow_group_ids(roc_ir_module *module, roc_error *err);

#endif
