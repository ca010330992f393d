/* Forms of integers (amdgpu/repair.h), by their rows of quirks.def.  What they become:
 *
 *   OR_OF_ONES         the half that is not known by itself, and the ones as a constant.
 *   INT16_HIGH_BYTE    a shift of 32 bits.
 *   BYTES_OF_SHIFT     a shift of which LLVM does not know that it is one.
 *   DIVISION_BY_FLOAT  a division of 32 bits, of which LLVM does not know how many are used.
 *   CARRY_OF_SUM       a comparison that LLVM cannot join with the sum. */
#include "codegen/amdgpu/repair.h"
#include "codegen/llvm/known.h"

/* An operation on two integers. */
typedef LLVMValueRef build_operation(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst,
                                     LLVMValueRef x, LLVMValueRef y);

/* Does an operation on vectors element by element, as LLVM would. */
static LLVMValueRef build_each(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst,
                               build_operation *build) {
  LLVMValueRef x = LLVMGetOperand(inst, 0), y = LLVMGetOperand(inst, 1);
  LLVMTypeRef type = LLVMTypeOf(inst);
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return build(cg, b, inst, x, y);
  LLVMValueRef all = LLVMGetPoison(type);
  for (unsigned i = 0; i < LLVMGetVectorSize(type); i++) {
    LLVMValueRef index = roc_cg_i32(cg, i);
    LLVMValueRef left = LLVMBuildExtractElement(b, x, index, "");
    LLVMValueRef right = LLVMBuildExtractElement(b, y, index, "");
    all = LLVMBuildInsertElement(b, all, build(cg, b, inst, left, right), index, "");
  }
  return all;
}

/* ---- x | y, 64 bits ------------------------------------------------------------------------- */

static uint64_t ones_of_either(roc_cg *cg, LLVMValueRef x, LLVMValueRef y) {
  return roc_known_ones(cg->mod, x) | roc_known_ones(cg->mod, y);
}

static bool has_half_of_ones(uint64_t ones) {
  return ones >> 32 == UINT32_MAX || (uint32_t)ones == UINT32_MAX;
}

/* A vector, whose elements may differ, is taken apart in any case. */
static bool is_long_or(roc_cg *cg, LLVMValueRef inst) {
  LLVMTypeRef type = LLVMTypeOf(inst);
  if (LLVMGetInstructionOpcode(inst) != LLVMOr || roc_amdgpu_element(type) != cg->t.i64) {
    return false;
  }
  LLVMValueRef x = LLVMGetOperand(inst, 0), y = LLVMGetOperand(inst, 1);
  if (LLVMIsConstant(x) || LLVMIsConstant(y)) return false;
  return type != cg->t.i64 || has_half_of_ones(ones_of_either(cg, x, y));
}

static LLVMValueRef half_of(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef value, unsigned shift) {
  value = LLVMBuildLShr(b, value, LLVMConstInt(cg->t.i64, shift, 0), "");
  return LLVMBuildTrunc(b, value, cg->t.i32, "");
}

static LLVMValueRef build_long_or(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst, LLVMValueRef x,
                                  LLVMValueRef y) {
  (void)inst;
  uint64_t ones = ones_of_either(cg, x, y);
  if (!has_half_of_ones(ones)) return LLVMBuildOr(b, x, y, "");
  unsigned shift = ones >> 32 == UINT32_MAX ? 0 : 32; /* of the half that is left */
  LLVMValueRef half = LLVMBuildOr(b, half_of(cg, b, x, shift), half_of(cg, b, y, shift), "");
  half = LLVMBuildZExt(b, half, cg->t.i64, "");
  half = LLVMBuildShl(b, half, LLVMConstInt(cg->t.i64, shift, 0), "");
  return LLVMBuildOr(b, half, LLVMConstInt(cg->t.i64, (uint64_t)UINT32_MAX << (32 - shift), 0), "");
}

static void rewrite_long_or(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst) {
  roc_cg_replace(inst, build_each(cg, b, inst, build_long_or));
}

/* ---- x >> 8 of an int16 -------------------------------------------------------------------- */

static bool is_high_byte(roc_cg *cg, LLVMValueRef inst) {
  if (LLVMGetInstructionOpcode(inst) != LLVMAShr || LLVMTypeOf(inst) != cg->t.i16) return false;
  LLVMValueRef amount = LLVMIsAConstantInt(LLVMGetOperand(inst, 1));
  return amount && LLVMConstIntGetZExtValue(amount) == 8;
}

static void rewrite_high_byte(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst) {
  LLVMValueRef wide = LLVMBuildSExt(b, LLVMGetOperand(inst, 0), cg->t.i32, "");
  wide = LLVMBuildAShr(b, wide, roc_cg_i32(cg, 8), "");
  roc_cg_replace(inst, LLVMBuildTrunc(b, wide, cg->t.i16, ""));
}

/* ---- bytes of x >> 8 ------------------------------------------------------------------------- */

/* Whether bits of the value, moved, may come to stand beside others: so LLVM sees an or, and sums
 * that carry nothing. */
static bool feeds_byte_combine(LLVMValueRef value, unsigned depth) {
  enum { DEEPEST = 6 };
  if (depth > DEEPEST) return false;
  for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    switch (LLVMGetInstructionOpcode(user)) {
      case LLVMOr: return true;
      case LLVMAdd:
      case LLVMXor:
        if (depth > 0) return true;
        break;
      case LLVMCall:
        if (roc_cg_is_call_of(user, "llvm.bswap") || roc_cg_is_call_of(user, "llvm.fshl") ||
            roc_cg_is_call_of(user, "llvm.fshr")) {
          return true;
        }
        break;
      case LLVMAnd:
      case LLVMShl:
      case LLVMLShr:
      case LLVMAShr:
      case LLVMZExt:
      case LLVMSExt:
      case LLVMTrunc:
      case LLVMBitCast:
      case LLVMExtractElement:
      case LLVMInsertElement:
        if (feeds_byte_combine(user, depth + 1)) return true;
        break;
      default: break;
    }
  }
  return false;
}

static bool is_byte_shift(roc_cg *cg, LLVMValueRef inst) {
  if (LLVMGetInstructionOpcode(inst) != LLVMAShr) return false;
  LLVMTypeRef element = roc_amdgpu_element(LLVMTypeOf(inst));
  LLVMValueRef amount = LLVMGetOperand(inst, 1);
  bool is_by_bytes = !LLVMIsAConstantInt(amount) || LLVMConstIntGetZExtValue(amount) % 8 == 0;
  return (element == cg->t.i32 || element == cg->t.i64) && LLVMIsConstant(amount) && is_by_bytes &&
         feeds_byte_combine(inst, 0);
}

/* The shift stays before its opaque result, which takes its place elsewhere. */
static void rewrite_byte_shift(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst) {
  LLVMValueRef x = LLVMGetOperand(inst, 0), amount = LLVMGetOperand(inst, 1);
  LLVMValueRef shifted = LLVMBuildAShr(b, x, amount, "");
  roc_cg_replace(inst, roc_amdgpu_opaque(cg, b, shifted));
}

/* ---- x / y of 23, 24 bits -------------------------------------------------------------------- */

static bool is_signed_division(LLVMOpcode op) {
  return op == LLVMSDiv || op == LLVMSRem;
}

/* Whether LLVM may divide in float32, and not all such quotients are right: a float32 has 24 bits,
 * of which one is for the sign and the reciprocal is not exact. */
static bool is_inexact(roc_cg *cg, LLVMOpcode op, LLVMValueRef x, LLVMValueRef y) {
  unsigned xbits = roc_known_width(cg->mod, x, is_signed_division(op));
  unsigned ybits = roc_known_width(cg->mod, y, is_signed_division(op));
  unsigned nbits = xbits > ybits ? xbits : ybits, exact = is_signed_division(op) ? 23 : 22;
  return nbits <= 24 && nbits > exact;
}

static bool is_division(roc_cg *cg, LLVMValueRef inst) {
  LLVMOpcode op = LLVMGetInstructionOpcode(inst);
  if (op != LLVMUDiv && op != LLVMURem && !is_signed_division(op)) return false;
  LLVMValueRef x = LLVMGetOperand(inst, 0), y = LLVMGetOperand(inst, 1);
  if (LLVMIsConstant(y)) return false; /* a multiplication */
  return LLVMGetTypeKind(LLVMTypeOf(inst)) == LLVMVectorTypeKind || is_inexact(cg, op, x, y);
}

static LLVMValueRef build_division(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst, LLVMValueRef x,
                                   LLVMValueRef y) {
  LLVMOpcode op = LLVMGetInstructionOpcode(inst);
  LLVMTypeRef type = LLVMTypeOf(x);
  if (!is_inexact(cg, op, x, y)) return LLVMBuildBinOp(b, op, x, y, "");
  x = roc_amdgpu_opaque(cg, b, LLVMBuildIntCast2(b, x, cg->t.i32, is_signed_division(op), ""));
  y = LLVMBuildIntCast2(b, y, cg->t.i32, is_signed_division(op), "");
  return LLVMBuildIntCast2(b, LLVMBuildBinOp(b, op, x, y, ""), type, is_signed_division(op), "");
}

static void rewrite_division(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst) {
  roc_cg_replace(inst, build_each(cg, b, inst, build_division));
}

/* ---- whether x + y wraps --------------------------------------------------------------------- */

static bool is_long(roc_cg *cg, LLVMValueRef value) {
  return roc_amdgpu_element(LLVMTypeOf(value)) == cg->t.i64;
}

static bool is_sum(LLVMValueRef value) {
  return LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == LLVMAdd;
}

static bool is_ones(LLVMValueRef value) {
  return value == LLVMConstAllOnes(LLVMTypeOf(value));
}

static bool is_complement(LLVMValueRef value) {
  return LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == LLVMXor &&
         (is_ones(LLVMGetOperand(value, 0)) || is_ones(LLVMGetOperand(value, 1)));
}

/* Whether it is x + 1, or may be. */
static bool is_increment(LLVMValueRef value) {
  if (!is_sum(value)) return false;
  LLVMTypeRef type = LLVMTypeOf(value);
  if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) return true;
  LLVMValueRef one = LLVMConstInt(type, 1, 0);
  return LLVMGetOperand(value, 0) == one || LLVMGetOperand(value, 1) == one;
}

static bool is_incremented(LLVMValueRef value) {
  for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use)) {
    if (is_increment(LLVMGetUser(use))) return true;
  }
  return false;
}

/* Whether "low < high" may be taken for "a sum wraps": it is x + y < x, or ~x < y. */
static bool is_below_summand(LLVMValueRef low, LLVMValueRef high) {
  if (is_complement(low)) return true;
  return is_sum(low) && (LLVMGetOperand(low, 0) == high || LLVMGetOperand(low, 1) == high);
}

/* The operand of the comparison that LLVM is not to recognise; -1: there is none. */
static int compare_operand(LLVMValueRef inst) {
  for (int i = 0; i < 2; i++) {
    LLVMValueRef one = LLVMGetOperand(inst, (unsigned)i),
                 other = LLVMGetOperand(inst, (unsigned)!i);
    LLVMIntPredicate below = i == 0 ? LLVMIntULT : LLVMIntUGT;
    LLVMIntPredicate predicate = LLVMGetICmpPredicate(inst);
    if (predicate == below && is_below_summand(one, other)) return i;
    if (predicate != LLVMIntEQ) continue;
    if (LLVMIsNull(other) && is_increment(one)) return i;
    if (is_ones(other) && is_incremented(one)) return i;
  }
  return -1;
}

static bool is_carry(roc_cg *cg, LLVMValueRef inst) {
  return LLVMIsAICmpInst(inst) && is_long(cg, LLVMGetOperand(inst, 0)) &&
         compare_operand(inst) >= 0;
}

static void rewrite_carry(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst) {
  unsigned i = (unsigned)compare_operand(inst);
  LLVMSetOperand(inst, i, roc_amdgpu_opaque(cg, b, LLVMGetOperand(inst, i)));
}

/* Sums that stop at the largest number, and differences that stop at 0. */
static bool is_saturating(roc_cg *cg, LLVMValueRef inst) {
  return (roc_cg_is_call_of(inst, "llvm.uadd.sat") || roc_cg_is_call_of(inst, "llvm.usub.sat")) &&
         is_long(cg, inst);
}

static void rewrite_saturating(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst) {
  LLVMValueRef x = LLVMGetOperand(inst, 0), y = LLVMGetOperand(inst, 1), result, limit, wraps;
  if (roc_cg_is_call_of(inst, "llvm.uadd.sat")) {
    result = LLVMBuildAdd(b, x, y, "");
    limit = LLVMConstAllOnes(LLVMTypeOf(x));
    wraps = LLVMBuildICmp(b, LLVMIntULT, roc_amdgpu_opaque(cg, b, result), x, "");
  } else {
    result = LLVMBuildSub(b, x, y, "");
    limit = LLVMConstNull(LLVMTypeOf(x));
    wraps = LLVMBuildICmp(b, LLVMIntULT, roc_amdgpu_opaque(cg, b, x), y, "");
  }
  roc_cg_replace(inst, LLVMBuildSelect(b, wraps, limit, result, ""));
}

const roc_cg_form roc_amdgpu_integer_forms[] = {
    {ROC_QUIRK_OR_OF_ONES, is_long_or, rewrite_long_or},
    {ROC_QUIRK_INT16_HIGH_BYTE, is_high_byte, rewrite_high_byte},
    {ROC_QUIRK_BYTES_OF_SHIFT, is_byte_shift, rewrite_byte_shift},
    {ROC_QUIRK_DIVISION_BY_FLOAT, is_division, rewrite_division},
    {ROC_QUIRK_CARRY_OF_SUM, is_carry, rewrite_carry},
    {ROC_QUIRK_CARRY_OF_SUM, is_saturating, rewrite_saturating},
    {.matches = NULL},
};
