/* Divisions of 64-bit integers whose operands turn out to have 32 bits. */
#ifndef ROC_CODEGEN_LLVM_DIVISION_H
#define ROC_CODEGEN_LLVM_DIVISION_H

#include <llvm-c/Types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Puts a branch to one of 32 bits in front of each division of 64-bit integers that is not known to
 * be one of more, for targets whose instructions divide neither. */
void roc_bypass_divisions(LLVMModuleRef mod);

#ifdef __cplusplus
}
#endif

#endif
