/* Why LLVM could not put a kernel's private memory into what a work-item of an AMD GPU has.
 *
 * The frame is known only once registers are given out: arrays that LLVM resolves take nothing, and
 * values that do not fit into registers take more. So the sum is LLVM's, and the words are ours. */
#ifndef ROC_CODEGEN_AMDGPU_FRAME_H
#define ROC_CODEGEN_AMDGPU_FRAME_H

#include <llvm-c/Core.h>
#include <stdbool.h>

#include "base/status.h"

/* The target's explain_errors: a frame that is too large is told by kernel, size, largest array and
 * limit.  In a module of several kernels the kernel is named by its symbol. */
bool roc_frame_explain(LLVMModuleRef mod, const char *diagnostics, const char *kernel,
                       const char *name, roc_error *err);

#endif
