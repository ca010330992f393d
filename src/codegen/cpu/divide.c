/* Division of integers as one of floats, which vectors have an operation for.
 *
 * Where |a| and |b| are below 2^51, as they mostly are, a // b is the floor of the quotient of
 * floats: that is never rounded up to the next integer, which is 1 / |b| away or further, while it
 * is rounded by less than |a / b| / 2^52.  And a % b is a - (a // b) * b, none of which is rounded.
 *
 * Lanes ask their numbers (cpu/lanes_each.c).  Of items in a loop that LLVM makes vectors of, the
 * preflight knows beforehand in which intervals their numbers are (cpu/preflight.c); they have the
 * divisor in common, so its inverse is computed once.  Where no vector is made, the inverse is an
 * integer, and the quotient the upper half of a product. */
#include "codegen/cpu/cpu.h"

static const int64_t offset = 0x4338000000000000; /* the bits of 2^52 + 2^51, as a float64 */

bool cpu_divides(const cpu_state *s, const roc_ir_inst *inst) {
  bool is_division = inst->op == ROC_IR_FLOORDIV || inst->op == ROC_IR_MOD;
  if (!is_division || inst->type != ROC_VT_INT) return false;
  const roc_ir_inst *by = &s->cg->ir->insts.items[roc_ir_arg(s->cg->ir, inst, 1)];
  return by->op != ROC_IR_CONST || by->k.i <= 0 || (by->k.i & (by->k.i - 1)) != 0;
}

static LLVMValueRef float_of(roc_cg *cg, LLVMValueRef small_int) {
  LLVMValueRef sum = LLVMBuildAdd(cg->b, small_int, roc_cg_i64(cg, offset), "");
  LLVMValueRef real = LLVMBuildBitCast(cg->b, sum, cg->t.f64, "");
  return LLVMBuildFSub(cg->b, real, LLVMConstReal(cg->t.f64, 0x1.8p52), "");
}

static LLVMValueRef int_of(roc_cg *cg, LLVMValueRef small_float) {
  LLVMValueRef sum = LLVMBuildFAdd(cg->b, small_float, LLVMConstReal(cg->t.f64, 0x1.8p52), "");
  return LLVMBuildSub(cg->b, LLVMBuildBitCast(cg->b, sum, cg->t.i64, ""), roc_cg_i64(cg, offset),
                      "");
}

LLVMValueRef cpu_divide_small(roc_cg *cg, roc_ir_op op, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef fa = float_of(cg, a), fb = float_of(cg, b), zero = LLVMConstNull(LLVMTypeOf(a));
  LLVMValueRef result = LLVMBuildFDiv(cg->b, fa, fb, "");
  result = roc_cg_intrinsic(cg, "llvm.floor", &cg->t.f64, 1, &result, 1);
  if (op == ROC_IR_MOD) {
    result = LLVMBuildFSub(cg->b, fa, LLVMBuildFMul(cg->b, result, fb, ""), "");
  }
  LLVMValueRef is_zero = LLVMBuildICmp(cg->b, LLVMIntEQ, b, zero, "");
  return LLVMBuildSelect(cg->b, is_zero, zero, int_of(cg, result), "");
}

/* a * (1 / b) differs from a / b by 2^48 / 2^52 at most, and a little.  So 1/8 less than that is
 * below a / b, by less than 1/4, and its floor is a // b or 1 less, which the rest shows. */
LLVMValueRef cpu_divide_common(roc_cg *cg, roc_ir_op op, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef fa = float_of(cg, a), fb = float_of(cg, b);
  LLVMValueRef one = LLVMConstReal(cg->t.f64, 1), less = LLVMConstReal(cg->t.f64, 0.125);
  LLVMValueRef q = LLVMBuildFMul(cg->b, fa, LLVMBuildFDiv(cg->b, one, fb, ""), "");
  q = LLVMBuildFSub(cg->b, q, less, "");
  q = roc_cg_intrinsic(cg, "llvm.floor", &cg->t.f64, 1, &q, 1);
  LLVMValueRef rest = LLVMBuildFSub(cg->b, fa, LLVMBuildFMul(cg->b, q, fb, ""), "");
  LLVMValueRef is_less = LLVMBuildFCmp(cg->b, LLVMRealOGE, rest, fb, "");
  bool is_mod = op == ROC_IR_MOD;
  LLVMValueRef value = is_mod ? rest : q;
  LLVMValueRef next =
      is_mod ? LLVMBuildFSub(cg->b, rest, fb, "") : LLVMBuildFAdd(cg->b, q, one, "");
  return int_of(cg, LLVMBuildSelect(cg->b, is_less, next, value, ""));
}

/* For 0 <= n < 2^32 and 0 < b < 2^32, n // b is n * m / 2^64, rounded down, with m = 2^64 / b
 * rounded up: m * b is less than b above 2^64, so the product less than n / 2^64 < 1 / b above n /
 * b.  (m is 0 for b = 1, which is told apart.)  Multiples of b are added to a first, as many as
 * keep it above 0: 2^30 / b, rounded up, of them. */
LLVMValueRef cpu_divide_by_product(roc_cg *cg, roc_ir_op op, LLVMValueRef a, LLVMValueRef b) {
  LLVMBuilderRef at = cg->b;
  LLVMTypeRef wide = LLVMIntTypeInContext(cg->ctx, 128);
  LLVMValueRef one = roc_cg_i64(cg, 1), args[2] = {b, one};
  LLVMValueRef by =
      roc_cg_intrinsic(cg, "llvm.umax", &cg->t.i64, 1, args, 2); /* not 0, as is known */
  LLVMValueRef inverse = LLVMBuildAdd(at, LLVMBuildUDiv(at, roc_cg_i64(cg, -1), by, ""), one, "");
  LLVMValueRef times = LLVMBuildUDiv(at, roc_cg_i64(cg, CPU_SMALLEST - 1), by, "");
  times = LLVMBuildAdd(at, times, one, "");
  LLVMValueRef n = LLVMBuildAdd(at, a, LLVMBuildMul(at, times, by, ""), "");
  LLVMValueRef q =
      LLVMBuildMul(at, LLVMBuildZExt(at, n, wide, ""), LLVMBuildZExt(at, inverse, wide, ""), "");
  q = LLVMBuildTrunc(at, LLVMBuildLShr(at, q, LLVMConstInt(wide, 64, 0), ""), cg->t.i64, "");
  q = LLVMBuildSelect(at, LLVMBuildICmp(at, LLVMIntEQ, by, one, ""), n, q, "");
  if (op == ROC_IR_MOD) return LLVMBuildSub(at, n, LLVMBuildMul(at, q, by, ""), "");
  return LLVMBuildSub(at, q, times, "");
}
