/* What joins kernels needs of emit.c, beside core/cg.h. */
#ifndef ROC_CODEGEN_LLVM_EMIT_H
#define ROC_CODEGEN_LLVM_EMIT_H

#include "codegen/core/cg.h"

/* Fails with the errors that LLVM reported while it emitted `mod`: COMPILE.  The target states a
 * cause that it knows in its own words; other errors keep LLVM's.  `kernel`: its name, or NULL
 * where the module has several; `name`: the target's option name. */
roc_status roc_emit_fail(const roc_target *target, LLVMModuleRef mod, const char *diagnostics,
                         const char *kernel, const char *name, roc_error *err);

#endif
