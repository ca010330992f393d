/* Forms of IR for which LLVM makes wrong AMDGPU code (core/repair.h, quirks.def). */
#ifndef ROC_CODEGEN_AMDGPU_REPAIR_H
#define ROC_CODEGEN_AMDGPU_REPAIR_H

#include "codegen/amdgpu/amdgpu.h"
#include "codegen/core/repair.h"

extern const roc_cg_form roc_amdgpu_float_forms[], roc_amdgpu_integer_forms[];

static inline LLVMTypeRef roc_amdgpu_element(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

#endif
