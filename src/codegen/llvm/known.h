/* What LLVM can prove of an integer, or of each of a vector of integers, without running it; at
 * most 64 bits wide. */
#ifndef ROC_CODEGEN_LLVM_KNOWN_H
#define ROC_CODEGEN_LLVM_KNOWN_H

#include <llvm-c/Types.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The bits that are 1 in any case; those of a freeze's operand are the freeze's. */
uint64_t roc_known_ones(LLVMModuleRef mod, LLVMValueRef value);

/* How many bits hold it in any case, without a sign or with one. */
unsigned roc_known_width(LLVMModuleRef mod, LLVMValueRef value, bool is_signed);

/* Between which numbers it lies, as doubles, which are rounded. */
void roc_known_range(LLVMModuleRef mod, LLVMValueRef value, bool is_signed, double *out_low,
                     double *out_high);

#ifdef __cplusplus
}
#endif

#endif
