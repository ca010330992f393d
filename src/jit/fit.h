/* What the facts of a target ask of a compile: its options, and passes over the IR. */
#ifndef ROC_JIT_FIT_H
#define ROC_JIT_FIT_H

#include "backend/backend.h"
#include "ir/ir.h"

/* What a target asks of the IR beyond what is done for all; before compiling or printing for it. */
roc_status roc_jit_fit_target(roc_ir_module *module, const char *target, roc_error *err);

/* Options for `target` as a launch would have them. */
roc_cg_options roc_jit_options_for(const char *target, int opt_level);

#endif
