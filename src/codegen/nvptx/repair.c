/* Forms for which LLVM or ptxas makes wrong code (core/repair.h), by their rows of quirks.def.
 *
 *   NVPTX_MIN_OF_ZEROS  the same choice between the bits of the two.
 *   ABS_OF_LEAST        (x ^ s) - s, where s is x >> 63 that LLVM does not know to be so: it would
 *                       write abs again.
 *   NEGATIVE_ZERO       the same choice between the bits. */
#include <math.h>

#include "codegen/core/repair.h"
#include "codegen/nvptx/nvptx.h"

/* The absolute value of an integer, which the least one has too. */
static bool is_abs(roc_cg *cg, LLVMValueRef inst) {
  (void)cg;
  return roc_cg_is_call_of(inst, "llvm.abs");
}

static void rewrite_abs(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst) {
  LLVMValueRef x = LLVMGetOperand(inst, 0);
  LLVMTypeRef type = LLVMTypeOf(x), asm_type = LLVMFunctionType(type, &type, 1, 0);
  LLVMValueRef last = LLVMConstInt(type, LLVMGetIntTypeWidth(type) - 1, 0);
  LLVMValueRef sign = LLVMBuildAShr(b, x, last, "");
  const char *constraint = type == cg->t.i64 ? "=l,0" : type == cg->t.i32 ? "=r,0" : "=h,0";
  LLVMValueRef nothing = LLVMGetInlineAsm(asm_type, "", 0, constraint, strlen(constraint), 0, 0,
                                          LLVMInlineAsmDialectATT, 0);
  sign = LLVMBuildCall2(b, asm_type, nothing, &sign, 1, "");
  roc_cg_replace(inst, LLVMBuildSub(b, LLVMBuildXor(b, x, sign, ""), sign, ""));
}

static bool is_constant_of(LLVMValueRef value, double of) {
  if (!LLVMIsAConstantFP(value)) return false;
  LLVMBool is_rounded;
  double number = LLVMConstRealGetDouble(value, &is_rounded);
  return number == of && !signbit(number) == !signbit(of);
}

static unsigned count_choices(LLVMValueRef inst) {
  return LLVMGetInstructionOpcode(inst) == LLVMPHI ? LLVMCountIncoming(inst) : 2;
}

static LLVMValueRef choice(LLVMValueRef inst, unsigned i) {
  return LLVMGetInstructionOpcode(inst) == LLVMPHI ? LLVMGetIncomingValue(inst, i)
                                                   : LLVMGetOperand(inst, i + 1);
}

/* Between -0.0 and 1.0 or -1.0, by a select or where control flow meets. */
static bool chooses_negative_zero(roc_cg *cg, LLVMValueRef inst) {
  LLVMOpcode op = LLVMGetInstructionOpcode(inst);
  if ((op != LLVMSelect && op != LLVMPHI) || LLVMTypeOf(inst) != cg->t.f32) return false;
  bool has_zero = false, has_one = false;
  for (unsigned i = 0; i < count_choices(inst); i++) {
    LLVMValueRef value = choice(inst, i);
    has_zero |= is_constant_of(value, -0.0);
    has_one |= is_constant_of(value, 1) || is_constant_of(value, -1);
  }
  return has_zero && has_one;
}

static LLVMValueRef first_after_phis(LLVMValueRef phi) {
  while (LLVMGetInstructionOpcode(phi) == LLVMPHI) phi = LLVMGetNextInstruction(phi);
  return phi;
}

static void choose_bits_at_phi(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef phi) {
  LLVMValueRef bits = LLVMBuildPhi(b, cg->t.i32, "");
  for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
    LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, i);
    LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(from));
    LLVMValueRef value = LLVMBuildBitCast(b, LLVMGetIncomingValue(phi, i), cg->t.i32, "");
    LLVMAddIncoming(bits, &value, &from, 1);
  }
  LLVMPositionBuilderBefore(b, first_after_phis(phi));
  roc_cg_replace(phi, LLVMBuildBitCast(b, bits, cg->t.f32, ""));
}

static void choose_zero_bits(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst) {
  bool is_phi = LLVMGetInstructionOpcode(inst) == LLVMPHI;
  is_phi ? choose_bits_at_phi(cg, b, inst) : roc_cg_choose_bits(cg, b, inst);
}

static const roc_cg_form forms[] = {
    {ROC_QUIRK_NVPTX_MIN_OF_ZEROS, roc_cg_is_min_or_max, roc_cg_choose_bits},
    {ROC_QUIRK_ABS_OF_LEAST, is_abs, rewrite_abs},
    {ROC_QUIRK_NEGATIVE_ZERO, chooses_negative_zero, choose_zero_bits},
    {.matches = NULL},
};

roc_status roc_nvptx_repair(roc_cg *cg, roc_error *err) {
  (void)err;
  static const roc_cg_form *const lists[] = {forms, NULL};
  roc_cg_rewrite_forms(cg, lists);
  return ROC_OK;
}
