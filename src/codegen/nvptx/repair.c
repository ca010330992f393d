/* Forms for which LLVM or ptxas makes wrong code (core/repair.h), by their rows of quirks.def.
 *
 *   NVPTX_MIN_OF_ZEROS  the same choice between the bits of the two.
 *   ABS_OF_LEAST        (x ^ s) - s, where s is x >> 63 that LLVM does not know to be so: it would
 *                       write abs again.
 *   WIDE_COUNT          the shift by the lowest 6 bits of the count.
 *   NEGATIVE_ZERO       the same choice between the bits.
 *   LEAST_OF_NEGATIVE   ~x + 1 for -x: with the sum ptxas makes no choice of three.
 *   NAN_OF_POSITIVE     the comparison, and that the number is one. */
#include <math.h>

#include "codegen/core/repair.h"
#include "codegen/nvptx/nvptx.h"

/* The absolute value of an integer, which the least one has too. */
static bool is_abs(roc_cg *cg, LLVMValueRef inst) {
  (void)cg;
  return roc_cg_is_call_of(inst, "llvm.abs");
}

static bool is_logical_shift(LLVMValueRef value) {
  if (!LLVMIsAInstruction(value)) return false;
  LLVMOpcode op = LLVMGetInstructionOpcode(value);
  return (op == LLVMShl || op == LLVMLShr) && !LLVMIsAConstantInt(LLVMGetOperand(value, 1));
}

/* The shift of which a choice is 0; NULL: there is none. */
static LLVMValueRef guarded_shift(roc_cg *cg, LLVMValueRef inst) {
  if (LLVMGetInstructionOpcode(inst) != LLVMSelect || LLVMTypeOf(inst) != cg->t.i64) return NULL;
  LLVMValueRef one = LLVMGetOperand(inst, 1), other = LLVMGetOperand(inst, 2);
  if (LLVMIsNull(other) && is_logical_shift(one)) return one;
  return LLVMIsNull(one) && is_logical_shift(other) ? other : NULL;
}

static bool is_guarded_shift(roc_cg *cg, LLVMValueRef inst) {
  return guarded_shift(cg, inst) != NULL;
}

/* By 0 to 63, which is not what is compared. */
static void mask_count(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst) {
  LLVMValueRef shift = guarded_shift(cg, inst), count = LLVMGetOperand(shift, 1);
  LLVMPositionBuilderBefore(b, shift);
  LLVMSetOperand(shift, 1, LLVMBuildAnd(b, count, roc_cg_i64(cg, 63), ""));
}

/* An empty statement: LLVM knows nothing of the integer that comes out of it. */
static LLVMValueRef unknown_int(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value), asm_type = LLVMFunctionType(type, &type, 1, 0);
  const char *constraint = type == cg->t.i64 ? "=l,0" : type == cg->t.i32 ? "=r,0" : "=h,0";
  LLVMValueRef nothing = LLVMGetInlineAsm(asm_type, "", 0, constraint, strlen(constraint), 0, 0,
                                          LLVMInlineAsmDialectATT, 0);
  return LLVMBuildCall2(b, asm_type, nothing, &value, 1, "");
}

static LLVMValueRef build_abs(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef x) {
  LLVMTypeRef type = LLVMTypeOf(x);
  LLVMValueRef last = LLVMConstInt(type, LLVMGetIntTypeWidth(type) - 1, 0);
  LLVMValueRef sign = unknown_int(cg, b, LLVMBuildAShr(b, x, last, ""));
  return LLVMBuildSub(b, LLVMBuildXor(b, x, sign, ""), sign, "");
}

/* Of a vector each element by itself: it has no constraint. */
static void rewrite_abs(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst) {
  LLVMValueRef x = LLVMGetOperand(inst, 0);
  LLVMTypeRef type = LLVMTypeOf(x);
  bool is_vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
  LLVMValueRef all = is_vector ? LLVMGetPoison(type) : build_abs(cg, b, x);
  for (unsigned i = 0; is_vector && i < LLVMGetVectorSize(type); i++) {
    LLVMValueRef index = LLVMConstInt(cg->t.i32, i, 0);
    LLVMValueRef element = build_abs(cg, b, LLVMBuildExtractElement(b, x, index, ""));
    all = LLVMBuildInsertElement(b, all, element, index, "");
  }
  roc_cg_replace(inst, all);
}

static bool is_least_or_largest(LLVMValueRef inst) {
  return roc_cg_is_call_of(inst, "llvm.smin") || roc_cg_is_call_of(inst, "llvm.smax");
}

/* -x, from which a choice is made. */
static bool is_chosen_negative(roc_cg *cg, LLVMValueRef inst) {
  bool is_sub = LLVMGetInstructionOpcode(inst) == LLVMSub && LLVMTypeOf(inst) == cg->t.i32;
  if (!is_sub || !LLVMIsNull(LLVMGetOperand(inst, 0))) return false;
  for (LLVMUseRef use = LLVMGetFirstUse(inst); use; use = LLVMGetNextUse(use)) {
    if (is_least_or_largest(LLVMGetUser(use))) return true;
  }
  return false;
}

static void negate_by_sum(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst) {
  LLVMValueRef inverse = unknown_int(cg, b, LLVMBuildNot(b, LLVMGetOperand(inst, 1), ""));
  roc_cg_replace(inst, LLVMBuildAdd(b, inverse, LLVMConstInt(cg->t.i32, 1, 0), ""));
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

/* Intrinsics whose results ptxas takes for numbers within bounds. */
static bool is_bounded_call(LLVMValueRef value) {
  static const char *const names[] = {"llvm.fabs",     "llvm.exp2",     "llvm.sin",     "llvm.cos",
                                      "llvm.nvvm.ex2", "llvm.nvvm.sin", "llvm.nvvm.cos"};
  if (!LLVMIsACallInst(value) || !LLVMIsAFunction(LLVMGetCalledValue(value))) return false;
  size_t len;
  const char *name = LLVMGetValueName2(LLVMGetCalledValue(value), &len);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strncmp(name, names[i], strlen(names[i])) == 0) return true;
  }
  return false;
}

enum { MAX_BOUNDED_DEPTH = 8 };

/* Whether ptxas may take the float32 for no less than some constant: |x|, x * x, and sums and choices
 * of such. */
static bool is_bounded(LLVMValueRef value, unsigned depth) {
  if (LLVMIsAConstantFP(value) || is_bounded_call(value)) return true;
  if (!LLVMIsAInstruction(value)) return false;
  if (depth == MAX_BOUNDED_DEPTH) return true;
  switch (LLVMGetInstructionOpcode(value)) {
    case LLVMFMul:
      return LLVMGetOperand(value, 0) == LLVMGetOperand(value, 1) ||
             (is_bounded(LLVMGetOperand(value, 0), depth + 1) &&
              is_bounded(LLVMGetOperand(value, 1), depth + 1));
    case LLVMFAdd:
      return is_bounded(LLVMGetOperand(value, 0), depth + 1) &&
             is_bounded(LLVMGetOperand(value, 1), depth + 1);
    case LLVMSelect:
    case LLVMPHI:
      for (unsigned i = 0; i < count_choices(value); i++) {
        if (!is_bounded(choice(value, i), depth + 1)) return false;
      }
      return true;
    default: return false;
  }
}

/* What a comparison of float32 with a constant compares where both are numbers; a code generator may
 * turn an ordered one and its inverse, an unordered one, into each other. */
static LLVMRealPredicate ordered(LLVMRealPredicate predicate) {
  switch (predicate) {
    case LLVMRealOGE:
    case LLVMRealUGE: return LLVMRealOGE;
    case LLVMRealOGT:
    case LLVMRealUGT: return LLVMRealOGT;
    case LLVMRealOLE:
    case LLVMRealULE: return LLVMRealOLE;
    case LLVMRealOLT:
    case LLVMRealULT: return LLVMRealOLT;
    default: return LLVMRealPredicateFalse; /* of equality, which is not taken for true */
  }
}

static bool is_taken_for_true(roc_cg *cg, LLVMValueRef inst) {
  if (!LLVMIsAFCmpInst(inst)) return false;
  LLVMValueRef number = LLVMGetOperand(inst, 0), bound = LLVMGetOperand(inst, 1);
  return ordered(LLVMGetFCmpPredicate(inst)) != LLVMRealPredicateFalse &&
         LLVMTypeOf(number) == cg->t.f32 && LLVMIsAConstantFP(bound) && is_bounded(number, 0) &&
         !(LLVMGetFastMathFlags(inst) & LLVMFastMathNoNaNs);
}

/* LLVM does not know that the second comparison is of the same number: it would drop it. */
static void compare_with_number(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst) {
  LLVMTypeRef type = cg->t.f32, asm_type = LLVMFunctionType(type, &type, 1, 0);
  LLVMValueRef number = LLVMGetOperand(inst, 0), bound = LLVMGetOperand(inst, 1);
  LLVMRealPredicate predicate = LLVMGetFCmpPredicate(inst), plain = ordered(predicate);
  LLVMValueRef nothing =
      LLVMGetInlineAsm(asm_type, "", 0, "=f,0", 4, 0, 0, LLVMInlineAsmDialectATT, 0);
  LLVMValueRef same = LLVMBuildCall2(b, asm_type, nothing, &number, 1, "");
  LLVMValueRef compared = LLVMBuildFCmp(b, plain, number, bound, "");
  LLVMValueRef by =
      plain == predicate
          ? LLVMBuildAnd(b, compared, LLVMBuildFCmp(b, LLVMRealORD, same, same, ""), "")
          : LLVMBuildOr(b, compared, LLVMBuildFCmp(b, LLVMRealUNO, same, same, ""), "");
  roc_cg_replace(inst, by);
}

static const roc_cg_form forms[] = {
    {ROC_QUIRK_NVPTX_MIN_OF_ZEROS, roc_cg_is_min_or_max, roc_cg_choose_bits},
    {ROC_QUIRK_ABS_OF_LEAST, is_abs, rewrite_abs},
    {ROC_QUIRK_WIDE_COUNT, is_guarded_shift, mask_count},
    {ROC_QUIRK_LEAST_OF_NEGATIVE, is_chosen_negative, negate_by_sum},
    {ROC_QUIRK_NEGATIVE_ZERO, chooses_negative_zero, choose_zero_bits},
    {ROC_QUIRK_NAN_OF_POSITIVE, is_taken_for_true, compare_with_number},
    {.matches = NULL},
};

roc_status roc_nvptx_repair(roc_cg *cg, roc_error *err) {
  (void)err;
  static const roc_cg_form *const lists[] = {forms, NULL};
  roc_cg_rewrite_forms(cg, lists);
  roc_nvptx_rewrite_roots(cg);
  roc_nvptx_rewrite_halves(cg);
  roc_nvptx_gather_first(cg);
  return ROC_OK;
}
