/* Conversions between floats and 64-bit integers of which it turns out that 32 bits hold them. */
#ifndef ROC_CODEGEN_AMDGPU_CONVERSION_H
#define ROC_CODEGEN_AMDGPU_CONVERSION_H

#include <llvm-c/Types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Puts a branch in front of each such conversion that is not known to be one of 32 bits: where they
 * do for all active lanes of the wavefront, to one instruction in place of ten to twenty. */
void roc_bypass_conversions(LLVMModuleRef mod, unsigned wave_size);

#ifdef __cplusplus
}
#endif

#endif
