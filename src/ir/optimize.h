/* The passes that the driver runs between front end and code generator, in order: check
 * elimination, then dead code. */
#ifndef ROC_IR_OPTIMIZE_H
#define ROC_IR_OPTIMIZE_H

#include "ir/ir.h"

/* Takes a verified module and leaves one.  ROC_OOM leaves it as valid as it was. */
roc_status roc_ir_optimize(roc_ir_module *module, roc_error *err);

/* Removes instructions that have no effect and whose results are not used. */
roc_status roc_ir_dce(roc_ir_module *module, roc_error *err);

#endif
