/* Integers of 64 bits that are known to have 32, where LLVM does not see it and an NVIDIA GPU has an
 * instruction of a quarter of the time: of those that become floats, and of factors of a product. */
#include "codegen/llvm/known.h"
#include "codegen/nvptx/nvptx.h"

enum { HALF = 32 };

static bool is_half(roc_cg *cg, LLVMValueRef value, bool is_signed) {
  return roc_known_width(cg->mod, value, is_signed) <= HALF;
}

static LLVMValueRef low_half(roc_cg *cg, LLVMValueRef value) {
  return LLVMBuildTrunc(cg->b, value, cg->t.i32, "");
}

static bool is_wide_conversion(roc_cg *cg, LLVMValueRef inst) {
  LLVMOpcode op = LLVMGetInstructionOpcode(inst);
  if (op != LLVMSIToFP && op != LLVMUIToFP) return false;
  LLVMValueRef from = LLVMGetOperand(inst, 0);
  if (LLVMTypeOf(from) != cg->t.i64) return false;
  return is_half(cg, from, false) || (op == LLVMSIToFP && is_half(cg, from, true));
}

static LLVMValueRef convert_low(roc_cg *cg, LLVMValueRef inst) {
  LLVMValueRef from = LLVMGetOperand(inst, 0);
  LLVMOpcode op = is_half(cg, from, false) ? LLVMUIToFP : LLVMSIToFP;
  return LLVMBuildCast(cg->b, op, low_half(cg, from), LLVMTypeOf(inst), "");
}

/* One that is extended LLVM sees itself. */
static bool is_hidden_half(roc_cg *cg, LLVMValueRef value) {
  return !LLVMIsAZExtInst(value) && !LLVMIsAConstantInt(value) && is_half(cg, value, false);
}

static bool is_product_of_halves(roc_cg *cg, LLVMValueRef inst) {
  if (LLVMGetInstructionOpcode(inst) != LLVMMul || LLVMTypeOf(inst) != cg->t.i64) return false;
  LLVMValueRef x = LLVMGetOperand(inst, 0), y = LLVMGetOperand(inst, 1);
  return (is_hidden_half(cg, x) || is_hidden_half(cg, y)) && is_half(cg, x, false) &&
         is_half(cg, y, false);
}

/* LLVM would drop extensions of what is known to be short. */
static LLVMValueRef multiply_low(roc_cg *cg, LLVMValueRef inst) {
  static const char code[] = "mul.wide.u32 $0, $1, $2;";
  LLVMTypeRef types[2] = {cg->t.i32, cg->t.i32};
  LLVMTypeRef type = LLVMFunctionType(cg->t.i64, types, 2, 0);
  LLVMValueRef product =
      LLVMGetInlineAsm(type, code, sizeof code - 1, "=l,r,r", 6, 0, 0, LLVMInlineAsmDialectATT, 0);
  LLVMValueRef factors[2] = {low_half(cg, LLVMGetOperand(inst, 0)),
                             low_half(cg, LLVMGetOperand(inst, 1))};
  return LLVMBuildCall2(cg->b, type, product, factors, 2, "");
}

void roc_nvptx_rewrite_halves(roc_cg *cg) {
  static const roc_nvptx_form conversion = {is_wide_conversion, convert_low};
  static const roc_nvptx_form product = {is_product_of_halves, multiply_low};
  roc_nvptx_rewrite(cg, &conversion);
  roc_nvptx_rewrite(cg, &product);
}
