/* What LLVM can prove of a value without running it. */
#ifndef ROC_CODEGEN_KNOWN_H
#define ROC_CODEGEN_KNOWN_H

#include <llvm-c/Types.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The bits that are 1 whenever the integer, or each of a vector of integers, is computed; at most
 * 64 bits wide. */
uint64_t roc_known_ones(LLVMModuleRef mod, LLVMValueRef value);

#ifdef __cplusplus
}
#endif

#endif
