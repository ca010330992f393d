/* Rewrites what LLVM would get wrong (core/repair.h), and the forms that several targets have. */
#include "codegen/core/repair.h"

#include <llvm-c/DebugInfo.h>

/* ---- the walk ------------------------------------------------------------------------------ */

static bool rewrite(roc_cg *cg, LLVMBuilderRef b, const roc_cg_form *form, LLVMValueRef inst) {
  for (; form->matches; form++) {
    if (!roc_quirk_is_on(cg->options->quirks_off, form->quirk)) continue;
    if (!form->matches(cg, inst)) continue;
    LLVMPositionBuilderBefore(b, inst);
    LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(inst));
    form->rewrite(cg, b, inst);
    return true;
  }
  return false;
}

void roc_cg_rewrite_forms(roc_cg *cg, const roc_cg_form *const *lists) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(cg->ctx);
  for (LLVMValueRef fn = LLVMGetFirstFunction(cg->mod); fn; fn = LLVMGetNextFunction(fn)) {
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn); block;
         block = LLVMGetNextBasicBlock(block)) {
      for (LLVMValueRef inst = LLVMGetFirstInstruction(block), next; inst; inst = next) {
        next = LLVMGetNextInstruction(inst);
        for (const roc_cg_form *const *list = lists; *list; list++) {
          if (rewrite(cg, b, *list, inst)) break;
        }
      }
    }
  }
  LLVMDisposeBuilder(b);
}

/* ---- minimum and maximum ------------------------------------------------------------------- */

bool roc_cg_keeps_zero_signs(LLVMValueRef inst) {
  return !(LLVMCanValueUseFastMathFlags(inst) &&
           (LLVMGetFastMathFlags(inst) & LLVMFastMathNoSignedZeros));
}

static bool is_real_type(LLVMTypeRef type) {
  LLVMTypeKind kind = LLVMGetTypeKind(type);
  return kind == LLVMHalfTypeKind || kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind;
}

LLVMValueRef roc_cg_select_comparison(LLVMValueRef inst) {
  if (LLVMGetInstructionOpcode(inst) != LLVMSelect || !is_real_type(LLVMTypeOf(inst))) return NULL;
  return LLVMIsAFCmpInst(LLVMGetOperand(inst, 0));
}

/* A constant that is no zero of either sign: then no two zeros meet. */
static bool is_nonzero(LLVMValueRef value) {
  LLVMBool loses;
  return LLVMIsAConstantFP(value) && LLVMConstRealGetDouble(value, &loses) != 0;
}

static bool chooses_compared(LLVMValueRef inst, LLVMValueRef left, LLVMValueRef right) {
  for (unsigned i = 1; i <= 2; i++) {
    LLVMValueRef value = LLVMGetOperand(inst, i);
    if (is_nonzero(value)) return false;
    if (!LLVMIsConstant(value) && value != left && value != right) return false;
  }
  return true;
}

bool roc_cg_is_min_or_max(roc_cg *cg, LLVMValueRef inst) {
  (void)cg;
  LLVMValueRef condition = roc_cg_select_comparison(inst);
  return condition && roc_cg_keeps_zero_signs(inst) &&
         chooses_compared(inst, LLVMGetOperand(condition, 0), LLVMGetOperand(condition, 1));
}

void roc_cg_choose_bits(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst) {
  LLVMTypeRef real = LLVMTypeOf(inst);
  LLVMTypeRef bits = real == cg->t.f16 ? cg->t.i16 : real == cg->t.f32 ? cg->t.i32 : cg->t.i64;
  LLVMValueRef yes = LLVMBuildBitCast(b, LLVMGetOperand(inst, 1), bits, "");
  LLVMValueRef no = LLVMBuildBitCast(b, LLVMGetOperand(inst, 2), bits, "");
  LLVMValueRef chosen = LLVMBuildSelect(b, LLVMGetOperand(inst, 0), yes, no, "");
  roc_cg_replace(inst, LLVMBuildBitCast(b, chosen, real, ""));
}
