/* e^x of a float32, as AMD's device library has it: x log2(e) in two parts, 2 to what it is more than
 * a whole number, and a scale.  The library asks LLVM for a power of two of any argument, with
 * instructions for results below the normal numbers; here the argument is between -1 and 1, and the
 * instruction alone gives the same bits. */
#include "codegen/amdgpu/amdgpu.h"

static LLVMValueRef number(const roc_cg *cg, double value) {
  return LLVMConstReal(cg->t.f32, value);
}

static LLVMValueRef call(roc_cg *cg, const char *name, LLVMValueRef *args, unsigned count) {
  return roc_cg_intrinsic(cg, name, &cg->t.f32, 1, args, count);
}

static LLVMValueRef fused(roc_cg *cg, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  return call(cg, "llvm.fma", (LLVMValueRef[3]){a, b, c}, 3);
}

static LLVMValueRef where(roc_cg *cg, LLVMRealPredicate how, LLVMValueRef x, double bound,
                          double then, LLVMValueRef otherwise) {
  LLVMValueRef is_beyond = LLVMBuildFCmp(cg->b, how, x, number(cg, bound), "");
  return LLVMBuildSelect(cg->b, is_beyond, number(cg, then), otherwise, "");
}

LLVMValueRef roc_amdgpu_exp(roc_cg *cg, LLVMValueRef x) {
  const double log2e = 0x1.715476p+0, log2e_rest = 0x1.4ae0bep-26; /* each a float32 */
  const double least = -0x1.9d1da0p+6, most = 0x1.62e430p+6;       /* beyond: 0, infinity */
  LLVMValueRef high = LLVMBuildFMul(cg->b, x, number(cg, log2e), "");
  LLVMValueRef low = fused(cg, x, number(cg, log2e), LLVMBuildFNeg(cg->b, high, ""));
  low = fused(cg, x, number(cg, log2e_rest), low);
  LLVMValueRef whole = call(cg, "llvm.rint", &high, 1);
  LLVMValueRef rest = LLVMBuildFAdd(cg->b, LLVMBuildFSub(cg->b, high, whole, ""), low, "");
  LLVMTypeRef types[2] = {cg->t.f32, cg->t.i32};
  LLVMValueRef scale = LLVMBuildFPToSI(cg->b, whole, cg->t.i32, "");
  scale = LLVMBuildFreeze(cg->b, scale, ""); /* of what is no number: any */
  LLVMValueRef parts[2] = {call(cg, "llvm.amdgcn.exp2", &rest, 1), scale};
  LLVMValueRef power = roc_cg_intrinsic(cg, "llvm.ldexp", types, 2, parts, 2);
  power = where(cg, LLVMRealOLT, x, least, 0.0, power);
  return where(cg, LLVMRealOGT, x, most, __builtin_inf(), power);
}
