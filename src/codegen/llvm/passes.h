/* Running LLVM's passes. */
#ifndef ROC_CODEGEN_LLVM_PASSES_H
#define ROC_CODEGEN_LLVM_PASSES_H

#include <llvm-c/Error.h>
#include <llvm-c/TargetMachine.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs a pipeline, in LLVM's text form, on the module.  In LLVM's own pipelines, and in ours where
 * they say "before-vectorize", the defects of llvm/quirks.def are worked around, but for those that
 * are off.  The error, or NULL, is the caller's. */
LLVMErrorRef roc_run_passes(LLVMModuleRef mod, const char *pipeline, LLVMTargetMachineRef tm,
                            uint64_t quirks_off);

#ifdef __cplusplus
}
#endif

#endif
