/* Running LLVM's passes. */
#ifndef ROC_CODEGEN_LLVM_PASSES_H
#define ROC_CODEGEN_LLVM_PASSES_H

#include <llvm-c/Error.h>
#include <llvm-c/TargetMachine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs a pipeline, in LLVM's text form, on the module.  In LLVM's own pipelines, and in ours where
 * they say "before-vectorize", some of LLVM 22's mistakes about loops are kept from happening
 * (passes.cpp).  The error, or NULL, is the caller's. */
LLVMErrorRef roc_run_passes(LLVMModuleRef mod, const char *pipeline, LLVMTargetMachineRef tm);

#ifdef __cplusplus
}
#endif

#endif
