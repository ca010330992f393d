/* See wave_reduce.h. */
#include "codegen/core/wave_reduce.h"

#include <math.h>

static bool is_integer(LLVMTypeRef type) {
  if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) type = LLVMGetElementType(type);
  return LLVMGetTypeKind(type) == LLVMIntegerTypeKind;
}

LLVMValueRef roc_cg_wave_combine(roc_cg *cg, roc_ir_wave op, LLVMValueRef lower,
                                 LLVMValueRef upper) {
  bool is_int = is_integer(LLVMTypeOf(lower));
  if (op == ROC_IR_WAVE_SUM) {
    return is_int ? LLVMBuildAdd(cg->b, lower, upper, "") : LLVMBuildFAdd(cg->b, lower, upper, "");
  }
  LLVMValueRef less = op == ROC_IR_WAVE_MIN ? upper : lower;
  LLVMValueRef more = op == ROC_IR_WAVE_MIN ? lower : upper;
  LLVMValueRef takes = is_int ? LLVMBuildICmp(cg->b, LLVMIntSLT, less, more, "")
                              : LLVMBuildFCmp(cg->b, LLVMRealOLT, less, more, "");
  return LLVMBuildSelect(cg->b, takes, upper, lower, "");
}

LLVMValueRef roc_cg_wave_neutral(roc_ir_wave op, LLVMTypeRef type) {
  bool is_sum = op == ROC_IR_WAVE_SUM, is_min = op == ROC_IR_WAVE_MIN;
  if (is_integer(type)) {
    uint64_t least = (uint64_t)1 << 63, most = least - 1;
    return LLVMConstInt(type, is_sum ? 0 : is_min ? most : least, 0);
  }
  return LLVMConstReal(type, is_sum ? -0.0 : is_min ? INFINITY : -INFINITY);
}
