/* Forms for which LLVM 22 selects a wrong AMDGPU instruction, rewritten after the optimiser into
 * forms it selects right.
 *
 *   ballot(x < y or x > y)  is taken for one of "not equal", which also holds for NaN. Instead: a
 *                           ballot of "both are numbers" and one of "not equal".
 *   x | y, 64 bits          where one half of y is known to be all ones, that half of the result
 *                           becomes x's (llvm-project pull request 189655). Instead: the other
 *                           half by itself, and the ones as a constant.
 *   x >> 8 of an int16      with the sign becomes the second byte of a register, whose sign then
 *                           fills 32 bits, the upper 16 of which are to be zeros (198491). Instead:
 *                           a shift of 32 bits.
 *
 * The other three get the sign of a zero wrong; where that does not count (fastmath) they stay:
 *
 *   fsub 0.0, x             is taken for -x where the user of the difference has source modifiers:
 *                           0.0 - 0.0 becomes -0.0. Instead: x == 0 ? 0.0 : -x.
 *   x < 0.0 ? x : 0.0       becomes v_min, which orders -0.0 below 0.0, where the comparison holds
 *                           them equal. Instead: the same choice between the bits of the two.
 *   (half)(x * y)           becomes v_fma_mixlo with 0.0 added, so that a product of -0.0 is 0.0.
 *                           Instead: the product by itself, made canonical (which it is: no
 *                           instruction), and then rounded.
 *
 * The optimiser would turn them back, so this runs behind it. */
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>

#include "codegen/amdgpu.h"
#include "codegen/known.h"

static bool keeps_zero_signs(LLVMValueRef inst) {
  return !(LLVMCanValueUseFastMathFlags(inst) &&
           (LLVMGetFastMathFlags(inst) & LLVMFastMathNoSignedZeros));
}

static void replace(LLVMValueRef inst, LLVMValueRef by) {
  LLVMReplaceAllUsesWith(inst, by);
  LLVMInstructionEraseFromParent(inst);
}

static LLVMTypeRef element_type(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

/* ---- 0.0 - x ------------------------------------------------------------------------------- */

static bool is_zero_less(roc_cg *cg, LLVMValueRef inst) {
  (void)cg;
  return LLVMGetInstructionOpcode(inst) == LLVMFSub && LLVMIsNull(LLVMGetOperand(inst, 0)) &&
         keeps_zero_signs(inst);
}

static void rewrite_zero_less(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst) {
  (void)cg;
  LLVMValueRef zero = LLVMGetOperand(inst, 0), x = LLVMGetOperand(inst, 1);
  LLVMValueRef is_zero = LLVMBuildFCmp(b, LLVMRealOEQ, x, zero, "");
  replace(inst, LLVMBuildSelect(b, is_zero, zero, LLVMBuildFNeg(b, x, ""), ""));
}

/* ---- minimum and maximum ------------------------------------------------------------------- */

static bool is_real_type(LLVMTypeRef type) {
  LLVMTypeKind kind = LLVMGetTypeKind(type);
  return kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind;
}

/* A constant that is no zero of either sign: then no two zeros meet. */
static bool is_nonzero(LLVMValueRef value) {
  LLVMBool loses;
  return LLVMIsAConstantFP(value) && LLVMConstRealGetDouble(value, &loses) != 0;
}

/* Whether the select chooses between the two numbers that its condition compares, up to the sign of
 * a zero. */
static bool is_choice_of_compared(roc_cg *cg, LLVMValueRef inst) {
  (void)cg;
  if (LLVMGetInstructionOpcode(inst) != LLVMSelect || !is_real_type(LLVMTypeOf(inst)) ||
      !keeps_zero_signs(inst)) {
    return false;
  }
  LLVMValueRef condition = LLVMIsAFCmpInst(LLVMGetOperand(inst, 0));
  if (!condition) return false;
  LLVMValueRef left = LLVMGetOperand(condition, 0), right = LLVMGetOperand(condition, 1);
  for (unsigned i = 1; i <= 2; i++) {
    LLVMValueRef value = LLVMGetOperand(inst, i);
    if (is_nonzero(value)) return false;
    if (!LLVMIsConstant(value) && value != left && value != right) return false;
  }
  return true;
}

static void rewrite_choice(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst) {
  LLVMTypeRef real = LLVMTypeOf(inst);
  LLVMTypeRef bits = LLVMGetTypeKind(real) == LLVMFloatTypeKind ? cg->t.i32 : cg->t.i64;
  LLVMValueRef yes = LLVMBuildBitCast(b, LLVMGetOperand(inst, 1), bits, "");
  LLVMValueRef no = LLVMBuildBitCast(b, LLVMGetOperand(inst, 2), bits, "");
  LLVMValueRef chosen = LLVMBuildSelect(b, LLVMGetOperand(inst, 0), yes, no, "");
  replace(inst, LLVMBuildBitCast(b, chosen, real, ""));
}

/* ---- (half)(x * y) ------------------------------------------------------------------------- */

/* Whether LLVM may find that the value is a product: it is one, may still become one, or is made of
 * others by what needs no instruction or only moves. */
static bool may_be_product(LLVMValueRef value) {
  if (!LLVMIsAInstruction(value) || !keeps_zero_signs(value)) return false;
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
  return LLVMGetTypeKind(element_type(LLVMTypeOf(inst))) == LLVMHalfTypeKind &&
         LLVMGetTypeKind(element_type(LLVMTypeOf(value))) == LLVMFloatTypeKind &&
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
  static const char ballot[] = "llvm.amdgcn.ballot";
  if (!LLVMIsACallInst(inst) || !LLVMIsAFunction(LLVMGetCalledValue(inst))) return false;
  unsigned id = LLVMGetIntrinsicID(LLVMGetCalledValue(inst));
  if (id != LLVMLookupIntrinsicID(ballot, sizeof ballot - 1)) return false;
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
  replace(inst, LLVMBuildAnd(b, numbers, build_ballot(b, inst, LLVMRealUNE), ""));
}

/* ---- x | y, 64 bits ------------------------------------------------------------------------- */

static bool is_long_or(roc_cg *cg, LLVMValueRef inst) {
  return LLVMGetInstructionOpcode(inst) == LLVMOr && element_type(LLVMTypeOf(inst)) == cg->t.i64 &&
         !LLVMIsConstant(LLVMGetOperand(inst, 0)) && !LLVMIsConstant(LLVMGetOperand(inst, 1));
}

static LLVMValueRef half_of(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef value, unsigned shift) {
  value = LLVMBuildLShr(b, value, LLVMConstInt(cg->t.i64, shift, 0), "");
  return LLVMBuildTrunc(b, value, cg->t.i32, "");
}

/* x | y, both i64; NULL when no half is known to be all ones. */
static LLVMValueRef build_known_or(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y) {
  uint64_t ones = roc_known_ones(cg->mod, x) | roc_known_ones(cg->mod, y);
  bool is_high = ones >> 32 == UINT32_MAX;
  if (!is_high && (uint32_t)ones != UINT32_MAX) return NULL;
  unsigned shift = is_high ? 0 : 32; /* of the half that is left */
  LLVMValueRef half = LLVMBuildOr(b, half_of(cg, b, x, shift), half_of(cg, b, y, shift), "");
  half =
      LLVMBuildShl(b, LLVMBuildZExt(b, half, cg->t.i64, ""), LLVMConstInt(cg->t.i64, shift, 0), "");
  return LLVMBuildOr(b, half, LLVMConstInt(cg->t.i64, (uint64_t)UINT32_MAX << (32 - shift), 0), "");
}

/* Element by element, as LLVM would. */
static LLVMValueRef build_vector_or(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y) {
  LLVMTypeRef type = LLVMTypeOf(x);
  LLVMValueRef all = LLVMGetPoison(type);
  for (unsigned i = 0; i < LLVMGetVectorSize(type); i++) {
    LLVMValueRef index = roc_cg_i32(cg, i);
    LLVMValueRef left = LLVMBuildExtractElement(b, x, index, "");
    LLVMValueRef right = LLVMBuildExtractElement(b, y, index, "");
    LLVMValueRef one = build_known_or(cg, b, left, right);
    if (!one) one = LLVMBuildOr(b, left, right, "");
    all = LLVMBuildInsertElement(b, all, one, index, "");
  }
  return all;
}

static void rewrite_long_or(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst) {
  LLVMValueRef x = LLVMGetOperand(inst, 0), y = LLVMGetOperand(inst, 1);
  bool is_vector = LLVMTypeOf(inst) != cg->t.i64;
  LLVMValueRef by = is_vector ? build_vector_or(cg, b, x, y) : build_known_or(cg, b, x, y);
  if (by) replace(inst, by);
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
  replace(inst, LLVMBuildTrunc(b, wide, cg->t.i16, ""));
}

/* ---- all of them ---------------------------------------------------------------------------- */

static const struct {
  bool (*matches)(roc_cg *cg, LLVMValueRef inst);
  void (*rewrite)(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst);
} REPAIRS[] = {
    {is_zero_less, rewrite_zero_less},
    {is_choice_of_compared, rewrite_choice},
    {is_product_to_half, rewrite_product_to_half},
    {is_ballot_of_less_or_greater, rewrite_ballot},
    {is_long_or, rewrite_long_or},
    {is_high_byte, rewrite_high_byte},
};

static void repair(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst) {
  for (size_t i = 0; i < sizeof REPAIRS / sizeof *REPAIRS; i++) {
    if (!REPAIRS[i].matches(cg, inst)) continue;
    LLVMPositionBuilderBefore(b, inst);
    LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(inst));
    REPAIRS[i].rewrite(cg, b, inst);
    return;
  }
}

roc_status roc_amdgpu_repair(roc_cg *cg, roc_error *err) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(cg->ctx);
  for (LLVMValueRef fn = LLVMGetFirstFunction(cg->mod); fn; fn = LLVMGetNextFunction(fn)) {
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn); block;
         block = LLVMGetNextBasicBlock(block)) {
      for (LLVMValueRef inst = LLVMGetFirstInstruction(block), next; inst; inst = next) {
        next = LLVMGetNextInstruction(inst);
        repair(cg, b, inst);
      }
    }
  }
  LLVMDisposeBuilder(b);
  return roc_amdgpu_repair_phis(cg, err);
}
