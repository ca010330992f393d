/* Adapting a compile to its target by the target's facts: options, and passes over the IR. */
#ifndef ROC_JIT_FIT_H
#define ROC_JIT_FIT_H

#include "backend/backend.h"
#include "ir/ir.h"

/* Runs the passes that the target needs besides the common ones; before compiling or printing. */
roc_status roc_jit_fit_target(roc_ir_module *module, const char *target, roc_error *err);

/* Options for `target` as a launch would have them. */
roc_cg_options roc_jit_options_for(const char *target, int opt_level);

#endif
