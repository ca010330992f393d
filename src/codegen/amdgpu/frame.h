/* Why LLVM could not put a kernel's private memory into what a work-item of an AMD GPU has.
 *
 * The frame is known only once registers are given out: arrays that LLVM resolves take nothing, and
 * values that do not fit into registers take more. So the sum is LLVM's, and the words are ours. */
#ifndef ROC_CODEGEN_AMDGPU_FRAME_H
#define ROC_CODEGEN_AMDGPU_FRAME_H

#include <llvm-c/Core.h>

#include "base/status.h"

/* Fails with what LLVM has said while it emitted `mod`: COMPILE.  A frame that is too large is told
 * by kernel, size, largest array and limit, anything else as LLVM said it.  `kernel`: its name, or
 * NULL where the module has several, which are then called by their symbols. */
roc_status roc_frame_fail(LLVMModuleRef mod, const char *diagnostics, const char *kernel,
                          const char *target, roc_error *err);

#endif
