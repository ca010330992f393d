/* Where arguments and shared arrays lie in memory: computed here once, for the code generators, the
 * launch and the code object alike. */
#ifndef ROC_IR_LAYOUT_H
#define ROC_IR_LAYOUT_H

#include "base/codeobj.h"
#include "ir/ir.h"

enum { ROC_IR_SHARED_ALIGN = 64 };

/* Fills slots[0 … params.count-1] as ir.h lays the kernarg block out; returns the block's bytes, a
 * multiple of 8. */
uint32_t roc_ir_layout_args(const roc_ir_module *module, roc_arg_slot *slots);

/* Byte offsets of the SHARED arrays (offsets[0 … arrays.count-1], 0 for the others), each 64-byte
 * aligned; returns the static bytes, a multiple of 64: dynamic bytes begin there. */
uint64_t roc_ir_layout_shared(const roc_ir_module *module, uint64_t *offsets);

/* Elements of an array with constant extents (SHARED, PRIVATE, CONST); at most INT64_MAX / 64. */
int64_t roc_ir_array_size(const roc_ir_array *array);

/* Whether all offsets into the array lie in 0 … 2^31-1, as bytes, too. */
bool roc_ir_is_narrow_array(const roc_ir_module *module, const roc_ir_array *array);

#endif
