/* The empty assembly that opaque values pass through, for files in C++, too. */
#ifndef ROC_CODEGEN_AMDGPU_OPAQUE_H
#define ROC_CODEGEN_AMDGPU_OPAQUE_H

#include <llvm-c/Types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The same value of a whole number of registers, in vector registers: of which LLVM knows nothing,
 * not even that all work-items have the same. */
LLVMValueRef roc_amdgpu_opaque_vector(LLVMBuilderRef b, LLVMValueRef value);

#ifdef __cplusplus
}
#endif

#endif
