/* Square roots of float32, and their reciprocals, without branches.
 *
 * PTX's sqrt.rn and rcp.rn become an estimate of the hardware, a step of Newton's method that rounds
 * correctly, and a branch to a function for the few arguments for which the step does not: around
 * such a branch ptxas keeps the order of instructions, so that the roots of a loop are waited for
 * one after the other.  Here these arguments are chosen for instead:
 *
 *   root        small ones are scaled by a power of two; of 0 and infinity, for which the step gives
 *               NaN, it is the argument
 *   reciprocal  of a root, which lies where the step rounds correctly, or is 0 or infinity: there
 *               the estimate is the result
 *
 * That both round correctly was seen for all float32.  The calls are replaced after LLVM's passes,
 * which know more of them than of what they become. */
#include <llvm-c/DebugInfo.h>

#include "codegen/core/repair.h"
#include "codegen/nvptx/nvptx.h"

/* The step needs room below the argument. */
#define SMALL 0x1p-100
#define SCALE 0x1p64
#define BACK 0x1p-32

static LLVMValueRef real(roc_cg *cg, double value) {
  return LLVMConstReal(cg->t.f32, value);
}

static LLVMValueRef fused(roc_cg *cg, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z) {
  LLVMValueRef args[3] = {x, y, z};
  return roc_cg_intrinsic(cg, "llvm.fma", &cg->t.f32, 1, args, 3);
}

static LLVMValueRef is_nan(roc_cg *cg, LLVMValueRef x) {
  return LLVMBuildFCmp(cg->b, LLVMRealUNO, x, x, "");
}

/* The root of what is not small: g = x r and h = r / 2 with r near 1 / sqrt(x). */
static LLVMValueRef step_to_root(roc_cg *cg, LLVMValueRef x) {
  LLVMBuilderRef b = cg->b;
  LLVMValueRef r = roc_cg_intrinsic(cg, "llvm.nvvm.rsqrt.approx.ftz.f", NULL, 0, &x, 1);
  LLVMValueRef g = LLVMBuildFMul(b, x, r, ""), h = LLVMBuildFMul(b, r, real(cg, 0.5), "");
  LLVMValueRef rest = fused(cg, LLVMBuildFNeg(b, g, ""), g, x);
  return fused(cg, rest, h, g);
}

static LLVMValueRef root_of(roc_cg *cg, LLVMValueRef call) {
  LLVMBuilderRef b = cg->b;
  LLVMValueRef x = LLVMGetOperand(call, 0);
  roc_nvptx_bounds bounds = roc_nvptx_find_bounds(cg, x);
  if (bounds.low >= SMALL) {
    LLVMValueRef root = step_to_root(cg, x);
    return bounds.is_number ? root : LLVMBuildSelect(b, is_nan(cg, root), x, root, "");
  }
  LLVMValueRef is_small = LLVMBuildFCmp(b, LLVMRealOLT, x, real(cg, SMALL), "");
  LLVMValueRef scaled = LLVMBuildFMul(b, x, real(cg, SCALE), "");
  LLVMValueRef root = step_to_root(cg, LLVMBuildSelect(b, is_small, scaled, x, ""));
  LLVMValueRef back = LLVMBuildFMul(b, root, real(cg, BACK), "");
  root = LLVMBuildSelect(b, is_small, back, root, "");
  LLVMValueRef has_root = LLVMBuildFCmp(b, LLVMRealOGE, x, real(cg, 0), "");
  return LLVMBuildSelect(b, LLVMBuildAnd(b, has_root, is_nan(cg, root), ""), x, root, "");
}

static LLVMValueRef reciprocal_of(roc_cg *cg, LLVMValueRef division) {
  LLVMBuilderRef b = cg->b;
  LLVMValueRef root = LLVMGetOperand(division, 1);
  LLVMValueRef r = roc_cg_intrinsic(cg, "llvm.nvvm.rcp.approx.ftz.f", NULL, 0, &root, 1);
  LLVMValueRef rest = fused(cg, r, root, real(cg, -1));
  LLVMValueRef step = fused(cg, r, LLVMBuildFNeg(b, rest, ""), r);
  roc_nvptx_bounds bounds = roc_nvptx_find_bounds(cg, LLVMGetOperand(root, 0));
  if (bounds.is_number && bounds.low >= SMALL) return step;
  return LLVMBuildSelect(b, is_nan(cg, rest), r, step, "");
}

/* ---- the rewriting ------------------------------------------------------------------------- */

static bool is_root(roc_cg *cg, LLVMValueRef value) {
  return LLVMTypeOf(value) == cg->t.f32 && roc_cg_is_call_of(value, "llvm.sqrt");
}

static bool is_reciprocal_of_root(roc_cg *cg, LLVMValueRef inst) {
  if (LLVMGetInstructionOpcode(inst) != LLVMFDiv || !is_root(cg, LLVMGetOperand(inst, 1)))
    return false;
  LLVMValueRef dividend = LLVMGetOperand(inst, 0);
  LLVMBool is_rounded;
  return LLVMIsAConstantFP(dividend) && LLVMConstRealGetDouble(dividend, &is_rounded) == 1;
}

static void rewrite_block(roc_cg *cg, const roc_nvptx_form *f, LLVMBasicBlockRef block) {
  for (LLVMValueRef inst = LLVMGetFirstInstruction(block), next; inst; inst = next) {
    next = LLVMGetNextInstruction(inst);
    if (!f->matches(cg, inst)) continue;
    LLVMPositionBuilderBefore(cg->b, inst);
    LLVMSetCurrentDebugLocation2(cg->b, LLVMInstructionGetDebugLoc(inst));
    roc_cg_replace(inst, f->build(cg, inst));
  }
}

void roc_nvptx_rewrite(roc_cg *cg, const roc_nvptx_form *f) {
  for (LLVMValueRef fn = LLVMGetFirstFunction(cg->mod); fn; fn = LLVMGetNextFunction(fn)) {
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn); block;
         block = LLVMGetNextBasicBlock(block)) {
      rewrite_block(cg, f, block);
    }
  }
}

/* Reciprocals first, while what they are of still is a root. */
void roc_nvptx_rewrite_roots(roc_cg *cg) {
  if (cg->ir->fastmath) return;
  static const roc_nvptx_form reciprocal = {is_reciprocal_of_root, reciprocal_of};
  static const roc_nvptx_form root = {is_root, root_of};
  roc_nvptx_rewrite(cg, &reciprocal);
  roc_nvptx_rewrite(cg, &root);
}
