/* Float functions of the NVPTX target.
 *
 *   arithmetic  of core/elementary.c
 *   libclc      its function, in bitcode, which this object holds
 *   wide        float32 by the form of float64
 *   angle       libclc's, of numbers
 *   atan2       by libclc's atan
 *   gamma       from libclc's of numbers between 1 and 2; lgamma of negative numbers by it
 *
 * Not used of libclc are functions beyond the bounds of the docs, and those that read a table where
 * infinity and NaN lead outside of it. With `fastmath`, functions of
 * float32 are the hardware's. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "codegen/core/elementary.h"
#include "codegen/llvm/bitcode.h"
#include "codegen/nvptx/nvptx.h"

/* libclc's functions, taken out of its file when this was built. */
extern const unsigned char roc_clc_begin[], roc_clc_end[];
__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    ".hidden roc_clc_begin, roc_clc_end\n"
    ".globl roc_clc_begin, roc_clc_end\n"
    "roc_clc_begin: .incbin \"" ROCLUA_CLC_FILE
    "\"\n"
    "roc_clc_end:\n"
    ".popsection\n");

static const char PREFIX[] = "_Z"; /* of its functions, which have C++'s names */

typedef enum form {
  FORM_CLC,
  FORM_ARITHMETIC,
  FORM_WIDE,
  FORM_ANGLE,
  FORM_ATAN2,
  FORM_GAMMA,
  FORM_LGAMMA
} form;

typedef LLVMValueRef arithmetic(roc_cg *cg, roc_value_type type, LLVMValueRef x);

static LLVMValueRef reciprocal_root(roc_cg *cg, roc_value_type type, LLVMValueRef x) {
  LLVMTypeRef real = roc_cg_value_type(cg, type);
  LLVMValueRef root = roc_cg_intrinsic(cg, "llvm.sqrt", &real, 1, &x, 1);
  return LLVMBuildFDiv(cg->b, LLVMConstReal(real, 1), root, "");
}

static LLVMValueRef narrow_erf(roc_cg *cg, roc_value_type type, LLVMValueRef x) {
  (void)type;
  return roc_cg_erf_f32(cg, x);
}

static const struct {
  form narrow, wide; /* of float32, of float64 */
  arithmetic *arithmetic;
} forms[ROC_IR_MATH_COUNT_] = {
    [ROC_IR_MATH_SIN] = {FORM_CLC, FORM_ANGLE},
    [ROC_IR_MATH_COS] = {FORM_CLC, FORM_ANGLE},
    [ROC_IR_MATH_TAN] = {FORM_WIDE, FORM_ANGLE},
    [ROC_IR_MATH_ATAN2] = {FORM_WIDE, FORM_ATAN2},
    [ROC_IR_MATH_SINH] = {FORM_ARITHMETIC, FORM_ARITHMETIC, roc_cg_sinh},
    [ROC_IR_MATH_COSH] = {FORM_ARITHMETIC, FORM_ARITHMETIC, roc_cg_cosh},
    [ROC_IR_MATH_TANH] = {FORM_ARITHMETIC, FORM_ARITHMETIC, roc_cg_tanh},
    [ROC_IR_MATH_ASINH] = {FORM_ARITHMETIC, FORM_ARITHMETIC, roc_cg_asinh},
    [ROC_IR_MATH_ACOSH] = {FORM_ARITHMETIC, FORM_ARITHMETIC, roc_cg_acosh},
    [ROC_IR_MATH_ATANH] = {FORM_ARITHMETIC, FORM_ARITHMETIC, roc_cg_atanh},
    [ROC_IR_MATH_EXP] = {FORM_ARITHMETIC, FORM_ARITHMETIC, roc_cg_exp},
    [ROC_IR_MATH_EXP2] = {FORM_ARITHMETIC, FORM_ARITHMETIC, roc_cg_exp2},
    [ROC_IR_MATH_EXPM1] = {FORM_ARITHMETIC, FORM_ARITHMETIC, roc_cg_expm1},
    [ROC_IR_MATH_LOG] = {FORM_ARITHMETIC, FORM_ARITHMETIC, roc_cg_log},
    [ROC_IR_MATH_LOG2] = {FORM_ARITHMETIC, FORM_ARITHMETIC, roc_cg_log2},
    [ROC_IR_MATH_LOG10] = {FORM_ARITHMETIC, FORM_ARITHMETIC, roc_cg_log10},
    [ROC_IR_MATH_LOG1P] = {FORM_ARITHMETIC, FORM_ARITHMETIC, roc_cg_log1p},
    [ROC_IR_MATH_RSQRT] = {FORM_ARITHMETIC, FORM_ARITHMETIC, reciprocal_root},
    [ROC_IR_MATH_ERF] = {FORM_ARITHMETIC, FORM_CLC, narrow_erf}, /* a third of its instructions */
    [ROC_IR_MATH_ERFC] = {FORM_WIDE, FORM_CLC},
    [ROC_IR_MATH_GAMMA] = {FORM_WIDE, FORM_GAMMA},
    [ROC_IR_MATH_LGAMMA] = {FORM_WIDE, FORM_LGAMMA},
};

/* ---- libclc ------------------------------------------------------------------------------ */

static LLVMValueRef pass(roc_cg *cg, LLVMValueRef value) {
  LLVMTypeRef of = LLVMTypeOf(value), type = LLVMFunctionType(of, &of, 1, 0);
  const char *constraint = of == cg->t.f32 ? "=f,0" : "=d,0";
  LLVMValueRef nothing = LLVMGetInlineAsm(type, "", 0, constraint, strlen(constraint), 0, 0,
                                          LLVMInlineAsmDialectATT, 0);
  return LLVMBuildCall2(cg->b, type, nothing, &value, 1, "");
}

/* C++'s name of a function of `arity` floats. */
static void write_name(char *out, size_t size, const char *name, bool is_f32, unsigned arity) {
  snprintf(out, size, "%s%zu%s%.*s", PREFIX, strlen(name), name, (int)arity,
           is_f32 ? "fff" : "ddd");
}

/* LLVM folds parts of these functions of known arguments with a product and a sum where the GPU has
 * one fused operation; so it does not know them (ROC_QUIRK_CLC_FOLDED). */
static LLVMValueRef call_clc(roc_cg *cg, const char *libm, LLVMTypeRef type, LLVMValueRef *args,
                             unsigned arity) {
  char name[64];
  bool is_hidden =
      !cg->ir->fastmath && roc_quirk_is_on(cg->options->quirks_off, ROC_QUIRK_CLC_FOLDED);
  LLVMValueRef taken[3] = {NULL, NULL, NULL};
  write_name(name, sizeof name, libm, type == cg->t.f32, arity);
  for (unsigned i = 0; i < arity; i++) taken[i] = is_hidden ? pass(cg, args[i]) : args[i];
  LLVMTypeRef fn_type = LLVMFunctionType(type, (LLVMTypeRef[3]){type, type, type}, arity, 0);
  LLVMValueRef fn = LLVMGetNamedFunction(cg->mod, name);
  if (!fn) fn = LLVMAddFunction(cg->mod, name, fn_type);
  return LLVMBuildCall2(cg->b, fn_type, fn, taken, arity, "");
}

/* libclc looks up the bits of 1 / pi by the exponent, that of infinity too. */
static LLVMValueRef of_angle(roc_cg *cg, const char *libm, LLVMTypeRef type, LLVMValueRef x) {
  LLVMValueRef zero = LLVMConstNull(type),
               size = roc_cg_intrinsic(cg, "llvm.fabs", &type, 1, &x, 1);
  LLVMValueRef is_number =
      LLVMBuildFCmp(cg->b, LLVMRealOLT, size, LLVMConstReal(type, INFINITY), "");
  LLVMValueRef taken = LLVMBuildSelect(cg->b, is_number, x, zero, "");
  LLVMValueRef value = call_clc(cg, libm, type, &taken, 1);
  return LLVMBuildSelect(cg->b, is_number, value, LLVMConstReal(type, NAN), "");
}

/* The angle of (x, y), from that of their sizes. */
static LLVMValueRef arc_tangent(roc_cg *cg, LLVMTypeRef type, LLVMValueRef y, LLVMValueRef x) {
  LLVMBuilderRef b = cg->b;
  LLVMValueRef zero = LLVMConstNull(type), one = LLVMConstReal(type, 1);
  LLVMValueRef size_y = roc_cg_intrinsic(cg, "llvm.fabs", &type, 1, &y, 1);
  LLVMValueRef size_x = roc_cg_intrinsic(cg, "llvm.fabs", &type, 1, &x, 1);
  LLVMValueRef is_same = LLVMBuildFCmp(b, LLVMRealOEQ, size_x, size_y, "");
  LLVMValueRef is_zero = LLVMBuildFCmp(b, LLVMRealOEQ, size_y, zero, "");
  LLVMValueRef same = LLVMBuildSelect(b, is_zero, zero, one, "");
  LLVMValueRef ratio = LLVMBuildFDiv(b, size_y, size_x, "");
  ratio = LLVMBuildSelect(b, is_same, same, ratio, "");
  LLVMValueRef angle = call_clc(cg, "atan", type, &ratio, 1);
  LLVMValueRef less = LLVMBuildFSub(b, angle, LLVMConstReal(type, 0x1.1a62633145c07p-53), "");
  LLVMValueRef turned = LLVMBuildFSub(b, LLVMConstReal(type, M_PI), less, "");
  LLVMValueRef sign = LLVMBuildBitCast(b, x, cg->t.i64, "");
  LLVMValueRef is_left = LLVMBuildICmp(b, LLVMIntSLT, sign, roc_cg_i64(cg, 0), "");
  LLVMValueRef args[2] = {LLVMBuildSelect(b, is_left, turned, angle, ""), y};
  return roc_cg_intrinsic(cg, "llvm.copysign", &type, 1, args, 2);
}

/* For ROC_QUIRK_CLC_ZERO_SIGN: these have the sign of their argument. */
static LLVMValueRef keep_zero(roc_cg *cg, roc_ir_math which, LLVMValueRef *args,
                              LLVMValueRef value) {
  bool loses = which == ROC_IR_MATH_SIN || which == ROC_IR_MATH_TAN || which == ROC_IR_MATH_ASIN ||
               which == ROC_IR_MATH_ATAN || which == ROC_IR_MATH_ERF;
  bool is_on = roc_quirk_is_on(cg->options->quirks_off, ROC_QUIRK_CLC_ZERO_SIGN);
  if (!loses || !is_on || cg->ir->fastmath) return value;
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(value));
  LLVMValueRef is_zero = LLVMBuildFCmp(cg->b, LLVMRealOEQ, args[0], zero, "");
  return LLVMBuildSelect(cg->b, is_zero, args[0], value, "");
}

static LLVMValueRef times_of(roc_cg *cg, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFMul(cg->b, a, b, "");
}

/* sin(pi x), with x - round(x) exact. */
static LLVMValueRef sine_of_turn(roc_cg *cg, LLVMValueRef x) {
  LLVMTypeRef type = cg->t.f64;
  LLVMValueRef whole = roc_cg_intrinsic(cg, "llvm.rint", &type, 1, &x, 1);
  LLVMValueRef angle = times_of(cg, LLVMBuildFSub(cg->b, x, whole, ""), LLVMConstReal(type, M_PI));
  LLVMValueRef sine = call_clc(cg, "sin", type, &angle, 1);
  LLVMValueRef half = times_of(cg, whole, LLVMConstReal(type, 0.5));
  LLVMValueRef even = roc_cg_intrinsic(cg, "llvm.rint", &type, 1, &half, 1);
  LLVMValueRef is_even = LLVMBuildFCmp(cg->b, LLVMRealOEQ, half, even, "");
  return LLVMBuildSelect(cg->b, is_even, sine, LLVMBuildFNeg(cg->b, sine, ""), "");
}

/* Of -1/2 < x < 16: libclc's of a number in [1, 2), beyond which it is far off, times the numbers
 * between, or over them. */
static LLVMValueRef small_gamma(roc_cg *cg, LLVMValueRef x) {
  LLVMBuilderRef b = cg->b;
  LLVMTypeRef type = cg->t.f64;
  LLVMValueRef one = LLVMConstReal(type, 1), zero = LLVMConstNull(type);
  LLVMValueRef next = LLVMBuildFAdd(b, x, one, "");
  LLVMValueRef is_below_1 = LLVMBuildFCmp(b, LLVMRealOLT, x, one, "");
  LLVMValueRef is_below_0 = LLVMBuildFCmp(b, LLVMRealOLT, x, zero, "");
  LLVMValueRef y = LLVMBuildSelect(b, is_below_1, next, x, "");
  y = LLVMBuildSelect(b, is_below_0, LLVMBuildFAdd(b, next, one, ""), y, "");
  LLVMValueRef below = LLVMBuildSelect(b, is_below_1, x, one, "");
  below = LLVMBuildSelect(b, is_below_0, times_of(cg, x, next), below, "");
  LLVMValueRef whole = roc_cg_intrinsic(cg, "llvm.floor", &type, 1, &y, 1);
  LLVMValueRef rest = LLVMBuildFAdd(b, LLVMBuildFSub(b, y, whole, ""), one, "");
  LLVMValueRef gamma = call_clc(cg, "tgamma", type, &rest, 1), hi = one, lo = zero;
  for (int i = 1; i < 15; i++) {
    LLVMValueRef factor = LLVMBuildFSub(b, y, LLVMConstReal(type, i), "");
    LLVMValueRef is_one = LLVMBuildFCmp(b, LLVMRealOLT, factor, one, "");
    factor = LLVMBuildSelect(b, is_one, one, factor, "");
    LLVMValueRef product = times_of(cg, hi, factor), lost[3] = {hi, factor, NULL};
    lost[2] = LLVMBuildFNeg(b, product, "");
    LLVMValueRef error[3] = {lo, factor, roc_cg_intrinsic(cg, "llvm.fma", &type, 1, lost, 3)};
    lo = roc_cg_intrinsic(cg, "llvm.fma", &type, 1, error, 3);
    hi = product;
  }
  LLVMValueRef args[3] = {gamma, lo, times_of(cg, gamma, hi)};
  return LLVMBuildFDiv(b, roc_cg_intrinsic(cg, "llvm.fma", &type, 1, args, 3), below, "");
}

static LLVMValueRef positive_gamma(roc_cg *cg, LLVMValueRef x) {
  LLVMTypeRef type = cg->t.f64;
  LLVMValueRef is_large = LLVMBuildFCmp(cg->b, LLVMRealOGE, x, LLVMConstReal(type, 16), "");
  LLVMValueRef taken = LLVMBuildSelect(cg->b, is_large, LLVMConstReal(type, 1), x, "");
  LLVMValueRef small = small_gamma(cg, taken);
  return LLVMBuildSelect(cg->b, is_large, roc_cg_large_gamma(cg, x), small, "");
}

/* Of a negative x: pi / (-x gamma(-x) sin(pi x)).  Where gamma(-x) would be no number any more, it
 * is that of a number less by `STEPS`, times the ones between. */
static LLVMValueRef negative_gamma(roc_cg *cg, LLVMValueRef x) {
  enum { STEPS = 16 };
  LLVMTypeRef type = cg->t.f64;
  LLVMValueRef size = LLVMBuildFNeg(cg->b, x, ""), product = LLVMConstReal(type, 1);
  LLVMValueRef is_large = LLVMBuildFCmp(cg->b, LLVMRealOGT, size, LLVMConstReal(type, 170), "");
  for (int i = 1; i <= STEPS; i++) {
    product = times_of(cg, product, LLVMBuildFSub(cg->b, size, LLVMConstReal(type, i), ""));
  }
  LLVMValueRef less = LLVMBuildFSub(cg->b, size, LLVMConstReal(type, STEPS), "");
  LLVMValueRef taken = LLVMBuildSelect(cg->b, is_large, less, size, "");
  LLVMValueRef factor = LLVMBuildSelect(cg->b, is_large, product, LLVMConstReal(type, 1), "");
  LLVMValueRef gamma = positive_gamma(cg, taken);
  LLVMValueRef below = times_of(cg, size, sine_of_turn(cg, x));
  LLVMValueRef value = LLVMBuildFDiv(cg->b, LLVMConstReal(type, M_PI), below, "");
  return LLVMBuildFDiv(cg->b, LLVMBuildFDiv(cg->b, value, gamma, ""), factor, "");
}

static LLVMValueRef gamma_of(roc_cg *cg, LLVMValueRef x) {
  LLVMBuilderRef b = cg->b;
  LLVMTypeRef type = cg->t.f64;
  LLVMValueRef zero = LLVMConstNull(type), least = LLVMConstReal(type, -186);
  LLVMValueRef is_least = LLVMBuildFCmp(b, LLVMRealOLT, x, least, "");
  LLVMValueRef is_near = LLVMBuildFCmp(b, LLVMRealOGT, x, LLVMConstReal(type, -0.5), "");
  LLVMValueRef bounded = LLVMBuildSelect(b, is_least, least, x, "");
  LLVMValueRef negative =
      negative_gamma(cg, LLVMBuildSelect(b, is_near, LLVMConstReal(type, -0.75), bounded, ""));
  LLVMValueRef value = LLVMBuildSelect(b, is_near, positive_gamma(cg, x), negative, "");
  value = LLVMBuildSelect(b, is_least, zero, value, "");
  LLVMValueRef whole = roc_cg_intrinsic(cg, "llvm.trunc", &type, 1, &x, 1);
  LLVMValueRef is_pole = LLVMBuildAnd(b, LLVMBuildFCmp(b, LLVMRealOEQ, whole, x, ""),
                                      LLVMBuildFCmp(b, LLVMRealOLT, x, zero, ""), "");
  value = LLVMBuildSelect(b, is_pole, LLVMConstReal(type, NAN), value, "");
  return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealUNO, x, x, ""), x, value, "");
}

/* Of negative numbers by the gamma function: libclc's is a difference that loses too much. */
static LLVMValueRef log_gamma_of(roc_cg *cg, LLVMValueRef x) {
  LLVMBuilderRef b = cg->b;
  LLVMTypeRef type = cg->t.f64;
  LLVMValueRef usual = call_clc(cg, "lgamma", type, &x, 1);
  LLVMValueRef is_above = LLVMBuildFCmp(b, LLVMRealOGT, x, LLVMConstReal(type, -150), "");
  LLVMValueRef is_below = LLVMBuildFCmp(b, LLVMRealOLT, x, LLVMConstReal(type, -0x1p-10), "");
  LLVMValueRef is_there = LLVMBuildAnd(b, is_above, is_below, "");
  LLVMValueRef taken = LLVMBuildSelect(b, is_there, x, LLVMConstReal(type, -0.75), "");
  LLVMValueRef size = LLVMBuildFNeg(b, taken, ""), sine = sine_of_turn(cg, taken);
  sine = roc_cg_intrinsic(cg, "llvm.fabs", &type, 1, &sine, 1);
  LLVMValueRef below = times_of(cg, times_of(cg, size, sine), positive_gamma(cg, size));
  LLVMValueRef value = LLVMBuildFDiv(b, LLVMConstReal(type, M_PI), below, "");
  return LLVMBuildSelect(b, is_there, roc_cg_log(cg, ROC_VT_F64, value), usual, "");
}

/* For ROC_QUIRK_FREM: LLVM's own is x less y times a rounded quotient. */
static void replace_remainder(roc_cg *cg, LLVMValueRef inst) {
  LLVMPositionBuilderBefore(cg->b, inst);
  LLVMValueRef x = LLVMGetOperand(inst, 0), y = LLVMGetOperand(inst, 1);
  LLVMReplaceAllUsesWith(inst, roc_nvptx_remainder(cg, x, y));
  LLVMInstructionEraseFromParent(inst);
}

static void replace_remainders(roc_cg *cg) {
  if (!roc_quirk_is_on(cg->options->quirks_off, ROC_QUIRK_FREM)) return;
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(cg->fn); b; b = LLVMGetNextBasicBlock(b)) {
    for (LLVMValueRef inst = LLVMGetFirstInstruction(b), next; inst; inst = next) {
      next = LLVMGetNextInstruction(inst);
      if (LLVMGetInstructionOpcode(inst) == LLVMFRem) replace_remainder(cg, inst);
    }
  }
}

roc_status roc_nvptx_link_math(roc_cg *cg, roc_error *err) {
  replace_remainders(cg);
  if (!roc_bitcode_is_needed(cg, PREFIX)) return ROC_OK;
  size_t nbytes = (size_t)(roc_clc_end - roc_clc_begin);
  ROC_TRY(roc_bitcode_link(cg, "libclc", roc_clc_begin, nbytes, err));
  roc_bitcode_make_internal(cg, PREFIX);
  return ROC_OK;
}

/* ---- the hardware's ---------------------------------------------------------------------- */

static LLVMValueRef call_named(roc_cg *cg, const char *name, LLVMValueRef x) {
  return roc_cg_intrinsic(cg, name, NULL, 0, &x, 1);
}

static LLVMValueRef times(roc_cg *cg, LLVMValueRef x, double factor) {
  return roc_cg_float_flags(cg, LLVMBuildFMul(cg->b, x, LLVMConstReal(cg->t.f32, factor), ""));
}

static LLVMValueRef power_of_two(roc_cg *cg, LLVMValueRef x) {
  return roc_cg_intrinsic(cg, "llvm.nvvm.ex2.approx", &cg->t.f32, 1, &x, 1);
}

/* float32 with `fastmath`; NULL: the hardware has none. */
static LLVMValueRef approximate(roc_cg *cg, roc_ir_math which, LLVMValueRef x) {
  static const char lg2[] = "llvm.nvvm.lg2.approx.f";
  switch (which) {
    case ROC_IR_MATH_SIN: return call_named(cg, "llvm.nvvm.sin.approx.f", x);
    case ROC_IR_MATH_COS: return call_named(cg, "llvm.nvvm.cos.approx.f", x);
    case ROC_IR_MATH_EXP2: return power_of_two(cg, x);
    case ROC_IR_MATH_EXP: return power_of_two(cg, times(cg, x, M_LOG2E));
    case ROC_IR_MATH_LOG2: return call_named(cg, lg2, x);
    case ROC_IR_MATH_LOG: return times(cg, call_named(cg, lg2, x), M_LN2);
    case ROC_IR_MATH_LOG10: return times(cg, call_named(cg, lg2, x), M_LN2 / M_LN10);
    case ROC_IR_MATH_RSQRT: return call_named(cg, "llvm.nvvm.rsqrt.approx.f", x);
    default: return NULL;
  }
}

/* ---- the hook ------------------------------------------------------------------------------ */

static LLVMValueRef emit(roc_cg *cg, roc_ir_math which, roc_value_type type, LLVMValueRef *args);

static LLVMValueRef emit_wide(roc_cg *cg, roc_ir_math which, LLVMValueRef *args) {
  LLVMValueRef wide[3] = {NULL, NULL, NULL};
  for (unsigned i = 0; i < roc_ir_math_table[which].arity; i++) {
    wide[i] = LLVMBuildFPExt(cg->b, args[i], cg->t.f64, "");
  }
  return LLVMBuildFPTrunc(cg->b, emit(cg, which, ROC_VT_F64, wide), cg->t.f32, "");
}

static LLVMValueRef emit(roc_cg *cg, roc_ir_math which, roc_value_type type, LLVMValueRef *args) {
  const roc_ir_math_info *info = &roc_ir_math_table[which];
  LLVMTypeRef real = roc_cg_value_type(cg, type);
  switch (type == ROC_VT_F32 ? forms[which].narrow : forms[which].wide) {
    case FORM_ARITHMETIC: return forms[which].arithmetic(cg, type, args[0]);
    case FORM_WIDE: return emit_wide(cg, which, args);
    case FORM_ANGLE: return keep_zero(cg, which, args, of_angle(cg, info->libm, real, args[0]));
    case FORM_ATAN2: return arc_tangent(cg, real, args[0], args[1]);
    case FORM_GAMMA: return gamma_of(cg, args[0]);
    case FORM_LGAMMA: return log_gamma_of(cg, args[0]);
    default: return keep_zero(cg, which, args, call_clc(cg, info->libm, real, args, info->arity));
  }
}

LLVMValueRef roc_nvptx_math(roc_cg *cg, roc_ir_math which, roc_value_type type,
                            LLVMValueRef *args) {
  bool is_fast = cg->ir->fastmath && type == ROC_VT_F32;
  LLVMValueRef fast = is_fast ? approximate(cg, which, args[0]) : NULL;
  return fast ? fast : emit(cg, which, type, args);
}
