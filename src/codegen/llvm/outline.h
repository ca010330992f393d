/* Loops of a large function as functions of their own. */
#ifndef ROC_CODEGEN_LLVM_OUTLINE_H
#define ROC_CODEGEN_LLVM_OUTLINE_H

#include <llvm-c/Types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Outlines the outermost loops that are neither large nor tiny, so that what takes time with the
 * square of a function's size in the code generator (most of all the allocation of registers, which
 * splits what lives through all loops around each) takes it with the square of a loop's. */
void roc_outline_loops(LLVMModuleRef mod);

#ifdef __cplusplus
}
#endif

#endif
