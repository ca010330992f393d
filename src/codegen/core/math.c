/* Float arithmetic and MATH: what IEEE defines is an LLVM instruction or intrinsic, the rest is the
 * target's library. */
#include "codegen/core/cg.h"
#include "codegen/core/elementary.h"

LLVMValueRef roc_cg_float_flags(roc_cg *cg, LLVMValueRef inst) {
  if (!LLVMIsAInstruction(inst) || !LLVMCanValueUseFastMathFlags(inst)) return inst;
  LLVMFastMathFlags flags = LLVMFastMathNone;
  if (cg->ir->contract && !cg->target->fuses) flags |= LLVMFastMathAllowContract;
  if (cg->ir->fastmath) flags = LLVMFastMathAll;
  if (flags != LLVMFastMathNone) LLVMSetFastMathFlags(inst, flags);
  return inst;
}

/* Lua's %: fmod, moved to the divisor's sign where the two differ. */
static LLVMValueRef float_mod(roc_cg *cg, LLVMValueRef a, LLVMValueRef b) {
  LLVMBuilderRef builder = cg->b;
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(a));
  LLVMValueRef m = LLVMBuildFRem(builder, a, b, "");
  LLVMValueRef is_positive = LLVMBuildFCmp(builder, LLVMRealOGT, m, zero, "");
  LLVMValueRef is_negative = LLVMBuildFCmp(builder, LLVMRealOLT, m, zero, "");
  LLVMValueRef b_negative = LLVMBuildFCmp(builder, LLVMRealOLT, b, zero, "");
  LLVMValueRef b_positive = LLVMBuildFCmp(builder, LLVMRealOGT, b, zero, "");
  LLVMValueRef rises = LLVMBuildAnd(builder, is_negative, b_positive, "");
  LLVMValueRef moves = LLVMBuildSelect(builder, is_positive, b_negative, rises, "");
  return LLVMBuildSelect(builder, moves, LLVMBuildFAdd(builder, m, b, ""), m, "");
}

LLVMValueRef roc_cg_float_binary(roc_cg *cg, roc_ir_op op, LLVMValueRef a, LLVMValueRef b,
                                 roc_value_type type) {
  switch (op) {
    case ROC_IR_ADD: return roc_cg_float_flags(cg, LLVMBuildFAdd(cg->b, a, b, ""));
    case ROC_IR_SUB: return roc_cg_float_flags(cg, LLVMBuildFSub(cg->b, a, b, ""));
    case ROC_IR_MUL: return roc_cg_float_flags(cg, LLVMBuildFMul(cg->b, a, b, ""));
    case ROC_IR_FDIV: return roc_cg_float_flags(cg, LLVMBuildFDiv(cg->b, a, b, ""));
    case ROC_IR_MOD: return float_mod(cg, a, b);
    default: return roc_cg_pow(cg, type, a, b);
  }
}

/* Intrinsics of the correctly rounded functions. */
static const char *const exact[ROC_IR_MATH_COUNT_] = {
    [ROC_IR_MATH_SQRT] = "llvm.sqrt",   [ROC_IR_MATH_FFLOOR] = "llvm.floor",
    [ROC_IR_MATH_FCEIL] = "llvm.ceil",  [ROC_IR_MATH_TRUNC] = "llvm.trunc",
    [ROC_IR_MATH_ROUND] = "llvm.round", [ROC_IR_MATH_COPYSIGN] = "llvm.copysign",
    [ROC_IR_MATH_FMA] = "llvm.fma",
};

LLVMValueRef roc_cg_math(roc_cg *cg, const roc_ir_inst *inst) {
  LLVMValueRef args[3] = {NULL, NULL, NULL};
  for (uint32_t i = 0; i < inst->nargs && i < 3; i++) args[i] = roc_cg_operand(cg, inst, i);
  roc_ir_math which = (roc_ir_math)inst->aux;
  LLVMTypeRef type = LLVMTypeOf(args[0]);
  if (exact[which]) {
    LLVMValueRef call = roc_cg_intrinsic(cg, exact[which], &type, 1, args, inst->nargs);
    return cg->ir->fastmath ? roc_cg_float_flags(cg, call) : call;
  }
  if (which == ROC_IR_MATH_FMOD) return LLVMBuildFRem(cg->b, args[0], args[1], "");
  return cg->target->math(cg, which, (roc_value_type)inst->type, args);
}
