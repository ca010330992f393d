/* The targets of this compiler: one for each row of base/targets.def. */
#ifndef ROC_CODEGEN_TARGETS_H
#define ROC_CODEGEN_TARGETS_H

#include "codegen/core/target.h"

#define ROC_TARGET(family, llvm) extern const roc_target roc_target_##family;
#include "base/targets.def"
#undef ROC_TARGET

/* Makes the list known to llvm/machine.c, which initialises the targets before their first use. */
void roc_targets_register(void);

/* The target that takes `name`; NULL when none does. */
const roc_target *roc_target_find(const char *name);

/* As check_target in roc_codegen_api. */
const char *roc_target_check(const char *name);

#endif
