/* Values passed through empty inline assembly: LLVM knows nothing of the result, and so cannot
 * optimise on it. */
#include <string.h>

#include "codegen/amdgpu/amdgpu.h"

static LLVMValueRef pass(LLVMBuilderRef b, LLVMValueRef value, const char *constraint) {
  LLVMTypeRef of = LLVMTypeOf(value), type = LLVMFunctionType(of, &of, 1, 0);
  LLVMValueRef nothing = LLVMGetInlineAsm(type, "", 0, constraint, strlen(constraint), 0, 0,
                                          LLVMInlineAsmDialectATT, 0);
  return LLVMBuildCall2(b, type, nothing, &value, 1, "");
}

LLVMValueRef roc_amdgpu_opaque_vector(LLVMBuilderRef b, LLVMValueRef value) {
  return pass(b, value, "=v,0");
}

/* The least number of consecutive registers, of those that LLVM has, that hold as many; 0: none
 * does. */
static unsigned registers_for(unsigned count) {
  return count <= 12 ? count : count <= 16 ? 16 : count <= 32 ? 32 : 0;
}

static unsigned power_of_two_from(unsigned count) {
  unsigned power = 1;
  while (power < count) power *= 2;
  return power;
}

/* A number of bits, in whole registers; in a power of two of them where it is of halves. */
static LLVMValueRef pass_bits(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef bits, bool is_of_halves) {
  LLVMTypeRef type = LLVMTypeOf(bits);
  unsigned needed = (LLVMGetIntTypeWidth(type) + 31) / 32;
  bool is_on = roc_quirk_is_on(cg->options->quirks_off, ROC_QUIRK_ODD_REGISTERS);
  unsigned count = registers_for(is_of_halves && is_on ? power_of_two_from(needed) : needed);
  if (!count) return bits;
  LLVMTypeRef whole = LLVMIntTypeInContext(cg->ctx, 32 * count);
  LLVMTypeRef registers = count == 1 ? cg->t.i32 : LLVMVectorType(cg->t.i32, count);
  LLVMValueRef value = LLVMBuildBitCast(b, LLVMBuildZExt(b, bits, whole, ""), registers, "");
  value = roc_amdgpu_opaque_vector(b, value);
  return LLVMBuildTrunc(b, LLVMBuildBitCast(b, value, whole, ""), type, "");
}

LLVMValueRef roc_amdgpu_opaque(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  bool is_vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
  LLVMTypeRef element = is_vector ? LLVMGetElementType(type) : type;
  if (LLVMGetTypeKind(element) == LLVMPointerTypeKind) return roc_amdgpu_opaque_vector(b, value);
  unsigned nbits = (unsigned)LLVMSizeOfTypeInBits(LLVMGetModuleDataLayout(cg->mod), type);
  LLVMTypeRef bits = LLVMIntTypeInContext(cg->ctx, nbits);
  bool is_of_halves = is_vector && nbits == 16 * LLVMGetVectorSize(type);
  LLVMValueRef passed = pass_bits(cg, b, LLVMBuildBitCast(b, value, bits, ""), is_of_halves);
  return LLVMBuildBitCast(b, passed, type, "");
}

LLVMValueRef roc_amdgpu_opaque_uniform(roc_cg *cg, LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  LLVMValueRef hidden = roc_amdgpu_opaque_vector(cg->b, value);
  return roc_cg_intrinsic(cg, "llvm.amdgcn.readfirstlane", &type, 1, &hidden, 1);
}

LLVMValueRef roc_amdgpu_opaque_scalar(LLVMBuilderRef b, LLVMValueRef value) {
  return pass(b, value, "=s,0");
}
