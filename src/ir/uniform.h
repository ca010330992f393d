/* Which values are the same for all work-items that compute them together.
 *
 * "All" are the items of the workgroup, or of the wavefront, that have not returned and take the
 * instruction at the same time; items that have returned may hold anything. Control counts as well:
 * what is assigned where items diverge is varying once they meet again. */
#ifndef ROC_IR_UNIFORM_H
#define ROC_IR_UNIFORM_H

#include "ir/ir.h"

/* Ordered: the weaker of two is the smaller. */
typedef enum roc_ir_uniformity {
  ROC_IR_VARYING,
  ROC_IR_UNIFORM_WAVE,
  ROC_IR_UNIFORM_GROUP
} roc_ir_uniformity;

typedef struct roc_ir_uniform {
  uint8_t
      *insts;    /* per instruction: of its result; of a control instruction: of the way it takes */
  uint8_t *vars; /* per variable */
  uint8_t *control; /* per instruction: whether the items that reach it do so together */
} roc_ir_uniform;

/* Fills *out, to be given back with roc_ir_uniform_deinit. */
roc_status roc_ir_uniform_init(roc_ir_uniform *out, const roc_ir_module *module, roc_error *err);
void roc_ir_uniform_deinit(roc_ir_uniform *uniform);

#endif
