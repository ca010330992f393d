/* Forms of floating point (amdgpu/repair.h), by their rows of quirks.def. What they become:
 *
 *   ORDERED_NE_BALLOT  a ballot of "both are numbers" and one of "not equal".
 *   ORDERED_NE_SELECT  the same choice between the bits of the two.
 *   SELECT_AND_BRANCH  a remainder of what LLVM does not know to be the same for all work-items: the
 *                      back end makes branches of it. For other branches: shared_conditions.h.
 *   SIGN_OF_CONSTANT   a constant with the sign of a value that LLVM knows nothing of: else the code
 *                      generator makes a constant of it, after phi_miscompiles.c has looked for such.
 *
 * The others get the sign of a zero wrong; where that does not count (fastmath) they stay:
 *
 *   ZERO_MINUS         x == 0 ? 0.0 : -x.
 *   MIN_OF_ZEROS       the same choice between the bits of the two.
 *   PRODUCT_TO_HALF    the product by itself, made canonical (which it is: no instruction), and then
 *                      rounded. */
#include "codegen/amdgpu/repair.h"

/* ---- remainders ---------------------------------------------------------------------------- */

static bool is_remainder(roc_cg *cg, LLVMValueRef inst) {
  (void)cg;
  return LLVMGetInstructionOpcode(inst) == LLVMFRem;
}

static void hide_dividend(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst) {
  LLVMSetOperand(inst, 0, roc_amdgpu_opaque(cg, b, LLVMGetOperand(inst, 0)));
}

/* ---- constants with a sign ----------------------------------------------------------------- */

static bool is_constant_with_sign(roc_cg *cg, LLVMValueRef inst) {
  return roc_cg_is_call_of(inst, "llvm.copysign") && LLVMTypeOf(inst) == cg->t.f64 &&
         LLVMIsConstant(LLVMGetOperand(inst, 0));
}

static void hide_sign(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst) {
  LLVMSetOperand(inst, 1, roc_amdgpu_opaque(cg, b, LLVMGetOperand(inst, 1)));
}

/* ---- 0.0 - x ------------------------------------------------------------------------------- */

static bool is_negation_of_zero(roc_cg *cg, LLVMValueRef inst) {
  (void)cg;
  return LLVMGetInstructionOpcode(inst) == LLVMFSub && LLVMIsNull(LLVMGetOperand(inst, 0)) &&
         roc_cg_keeps_zero_signs(inst);
}

static void rewrite_zero_less(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst) {
  (void)cg;
  LLVMValueRef zero = LLVMGetOperand(inst, 0), x = LLVMGetOperand(inst, 1);
  LLVMValueRef is_zero = LLVMBuildFCmp(b, LLVMRealOEQ, x, zero, "");
  roc_cg_replace(inst, LLVMBuildSelect(b, is_zero, zero, LLVMBuildFNeg(b, x, ""), ""));
}

/* ---- a number that is compared with a constant, or the constant -------------------------- */

/* Whether one of its choices is the constant that x is "less or greater than", or not. */
static bool chooses_constant(LLVMValueRef inst, LLVMValueRef condition, LLVMValueRef left,
                             LLVMValueRef right) {
  LLVMRealPredicate predicate = LLVMGetFCmpPredicate(condition);
  if (predicate != LLVMRealONE && predicate != LLVMRealUEQ) return false;
  LLVMValueRef yes = LLVMGetOperand(inst, 1), no = LLVMGetOperand(inst, 2);
  return (LLVMIsAConstantFP(yes) && (yes == left || yes == right)) ||
         (LLVMIsAConstantFP(no) && (no == left || no == right));
}

static bool is_choice_of_constant(roc_cg *cg, LLVMValueRef inst) {
  (void)cg;
  LLVMValueRef condition = roc_cg_select_comparison(inst);
  return condition && chooses_constant(inst, condition, LLVMGetOperand(condition, 0),
                                       LLVMGetOperand(condition, 1));
}

/* ---- (half)(x * y) ------------------------------------------------------------------------- */

/* Whether LLVM may find that the value is a product: it is one, may still become one, or is made of
 * others by what needs no instruction or only moves. */
static bool may_be_product(LLVMValueRef value) {
  if (!LLVMIsAInstruction(value) || !roc_cg_keeps_zero_signs(value)) return false;
  switch (LLVMGetInstructionOpcode(value)) {
    case LLVMFMul:
    case LLVMFDiv:
    case LLVMFNeg:
    case LLVMFreeze:
    case LLVMSelect:
    case LLVMExtractElement:
    case LLVMInsertElement:
    case LLVMShuffleVector: return true;
    default: return false;
  }
}

static bool is_product_to_half(roc_cg *cg, LLVMValueRef inst) {
  (void)cg;
  if (LLVMGetInstructionOpcode(inst) != LLVMFPTrunc) return false;
  LLVMValueRef value = LLVMGetOperand(inst, 0);
  return LLVMGetTypeKind(roc_amdgpu_element(LLVMTypeOf(inst))) == LLVMHalfTypeKind &&
         LLVMGetTypeKind(roc_amdgpu_element(LLVMTypeOf(value))) == LLVMFloatTypeKind &&
         may_be_product(value);
}

static void rewrite_product_to_half(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst) {
  static const char name[] = "llvm.canonicalize";
  LLVMValueRef product = LLVMGetOperand(inst, 0);
  LLVMTypeRef type = LLVMTypeOf(product);
  unsigned id = LLVMLookupIntrinsicID(name, sizeof name - 1);
  LLVMValueRef fn = LLVMGetIntrinsicDeclaration(cg->mod, id, &type, 1);
  LLVMTypeRef signature = LLVMIntrinsicGetType(cg->ctx, id, &type, 1);
  LLVMSetOperand(inst, 0, LLVMBuildCall2(b, signature, fn, &product, 1, ""));
}

/* ---- ballot(x < y or x > y) ---------------------------------------------------------------- */

static LLVMValueRef balloted_comparison(LLVMValueRef ballot) {
  LLVMValueRef condition = LLVMGetOperand(ballot, 0);
  while (LLVMIsAFreezeInst(condition)) condition = LLVMGetOperand(condition, 0);
  return LLVMIsAFCmpInst(condition);
}

static bool is_ballot_of_less_or_greater(roc_cg *cg, LLVMValueRef inst) {
  (void)cg;
  if (!roc_cg_is_call_of(inst, "llvm.amdgcn.ballot")) return false;
  LLVMValueRef condition = balloted_comparison(inst);
  return condition && LLVMGetFCmpPredicate(condition) == LLVMRealONE;
}

static LLVMValueRef build_ballot(LLVMBuilderRef b, LLVMValueRef like, LLVMRealPredicate predicate) {
  LLVMValueRef condition = balloted_comparison(like);
  LLVMValueRef holds =
      LLVMBuildFCmp(b, predicate, LLVMGetOperand(condition, 0), LLVMGetOperand(condition, 1), "");
  return LLVMBuildCall2(b, LLVMGetCalledFunctionType(like), LLVMGetCalledValue(like), &holds, 1,
                        "");
}

static void rewrite_ballot(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst) {
  (void)cg;
  LLVMValueRef numbers = build_ballot(b, inst, LLVMRealORD);
  roc_cg_replace(inst, LLVMBuildAnd(b, numbers, build_ballot(b, inst, LLVMRealUNE), ""));
}

const roc_cg_form roc_amdgpu_float_forms[] = {
    {ROC_QUIRK_ZERO_MINUS, is_negation_of_zero, rewrite_zero_less},
    {ROC_QUIRK_MIN_OF_ZEROS, roc_cg_is_min_or_max, roc_cg_choose_bits},
    {ROC_QUIRK_ORDERED_NE_SELECT, is_choice_of_constant, roc_cg_choose_bits},
    {ROC_QUIRK_PRODUCT_TO_HALF, is_product_to_half, rewrite_product_to_half},
    {ROC_QUIRK_ORDERED_NE_BALLOT, is_ballot_of_less_or_greater, rewrite_ballot},
    {ROC_QUIRK_SELECT_AND_BRANCH, is_remainder, hide_dividend},
    {ROC_QUIRK_SIGN_OF_CONSTANT, is_constant_with_sign, hide_sign},
    {.matches = NULL},
};
