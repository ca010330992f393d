/* Expressions: arithmetic, comparison, logic and conversions with Lua's semantics, one emitter per
 * kind of operation, found through a table.
 *
 * Nothing here traps or has an effect, whatever the operands: PURE operations may be executed by
 * work-items that would not have reached them. */
#include "codegen/core/cg.h"
#include "ir/check_elimination.h"

typedef struct operation {
  roc_ir_op op;
  const roc_ir_inst *inst;
  roc_value_type type; /* of operand 0 */
  LLVMValueRef a, b;   /* operands 0 and 1 */
} operation;

typedef LLVMValueRef emitter(roc_cg *cg, const operation *o);

static bool is_float(roc_value_type type) {
  return type == ROC_VT_F32 || type == ROC_VT_F64;
}

static LLVMValueRef select_of(roc_cg *cg, LLVMValueRef c, LLVMValueRef yes, LLVMValueRef no) {
  return LLVMBuildSelect(cg->b, c, yes, no, "");
}

static LLVMValueRef both(roc_cg *cg, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildAnd(cg->b, a, b, "");
}

static LLVMValueRef compare_int(roc_cg *cg, LLVMIntPredicate p, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildICmp(cg->b, p, a, b, "");
}

static LLVMValueRef int_binary(roc_cg *cg, LLVMOpcode opcode, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildBinOp(cg->b, opcode, a, b, "");
}

/* ---- integer arithmetic ------------------------------------------------------------------ */

static LLVMValueRef emit_arith(roc_cg *cg, const operation *o) {
  if (is_float(o->type)) return roc_cg_float_binary(cg, o->op, o->a, o->b, o->type);
  LLVMOpcode opcode = o->op == ROC_IR_ADD ? LLVMAdd : o->op == ROC_IR_SUB ? LLVMSub : LLVMMul;
  return int_binary(cg, opcode, o->a, o->b);
}

/* A sum or difference, one operand of which is a product that the target fuses with it: with one
 * rounding.  NULL: it is none. */
static LLVMValueRef emit_fused(roc_cg *cg, uint32_t id, const operation *o) {
  bool is_difference = o->op == ROC_IR_SUB;
  if (!cg->target->fuses || !cg->ir->contract || cg->ir->fastmath) return NULL;
  if ((o->op != ROC_IR_ADD && !is_difference) || !is_float(o->type)) return NULL;
  for (uint32_t n = 0; n < 2; n++) {
    uint32_t product = roc_ir_arg(cg->ir, o->inst, n);
    const roc_ir_inst *inst = &cg->ir->insts.items[product];
    if (inst->op != ROC_IR_MUL || !cg->target->fuses(cg, product, id)) continue;
    LLVMValueRef args[3] = {roc_cg_operand(cg, inst, 0), roc_cg_operand(cg, inst, 1),
                            n == 0 ? o->b : o->a};
    uint32_t negated = n == 0 ? 2 : 0;
    if (is_difference) args[negated] = LLVMBuildFNeg(cg->b, args[negated], "");
    LLVMTypeRef type = LLVMTypeOf(args[0]);
    return roc_cg_intrinsic(cg, "llvm.fma", &type, 1, args, 3);
  }
  return NULL;
}

static LLVMValueRef emit_neg(roc_cg *cg, const operation *o) {
  if (is_float(o->type)) return LLVMBuildFNeg(cg->b, o->a, "");
  return LLVMBuildNeg(cg->b, o->a, "");
}

/* log2 of a constant power of two, else -1. */
static int shift_of(LLVMValueRef divisor) {
  LLVMValueRef known = roc_cg_constant(divisor);
  if (!known) return -1;
  long long d = LLVMConstIntGetSExtValue(known);
  return d > 0 && (d & (d - 1)) == 0 ? __builtin_ctzll((unsigned long long)d) : -1;
}

/* A divisor that cannot trap: 0 and -1 become 1, their results are selected afterwards. */
static LLVMValueRef safe_divisor(roc_cg *cg, LLVMValueRef n) {
  LLVMValueRef next = int_binary(cg, LLVMAdd, n, roc_cg_i64(cg, 1));
  LLVMValueRef odd = compare_int(cg, LLVMIntULE, next, roc_cg_i64(cg, 1));
  return select_of(cg, odd, roc_cg_i64(cg, 1), n);
}

/* luaV_idiv, but for 0, which gives 0. */
static LLVMValueRef emit_int_floordiv(roc_cg *cg, LLVMValueRef m, LLVMValueRef n) {
  LLVMValueRef zero = roc_cg_i64(cg, 0);
  int shift = shift_of(n);
  if (shift >= 0) return int_binary(cg, LLVMAShr, m, roc_cg_i64(cg, shift));
  LLVMValueRef d = safe_divisor(cg, n);
  LLVMValueRef q = int_binary(cg, LLVMSDiv, m, d);
  LLVMValueRef r = int_binary(cg, LLVMSRem, m, d);
  LLVMValueRef differ = compare_int(cg, LLVMIntSLT, int_binary(cg, LLVMXor, r, d), zero);
  LLVMValueRef down = both(cg, differ, compare_int(cg, LLVMIntNE, r, zero));
  q = int_binary(cg, LLVMSub, q, LLVMBuildZExt(cg->b, down, cg->t.i64, ""));
  LLVMValueRef is_minus_one = compare_int(cg, LLVMIntEQ, n, roc_cg_i64(cg, -1));
  q = select_of(cg, is_minus_one, LLVMBuildNeg(cg->b, m, ""), q);
  return select_of(cg, compare_int(cg, LLVMIntEQ, n, zero), zero, q);
}

/* luaV_mod, but for 0, which gives 0. */
static LLVMValueRef emit_int_mod(roc_cg *cg, LLVMValueRef m, LLVMValueRef n) {
  LLVMValueRef zero = roc_cg_i64(cg, 0);
  int shift = shift_of(n);
  if (shift >= 0) return int_binary(cg, LLVMAnd, m, roc_cg_i64(cg, ((int64_t)1 << shift) - 1));
  LLVMValueRef d = safe_divisor(cg, n);
  LLVMValueRef r = int_binary(cg, LLVMSRem, m, d);
  LLVMValueRef differ = compare_int(cg, LLVMIntSLT, int_binary(cg, LLVMXor, r, d), zero);
  LLVMValueRef up = both(cg, differ, compare_int(cg, LLVMIntNE, r, zero));
  return int_binary(cg, LLVMAdd, r, select_of(cg, up, d, zero));
}

static LLVMValueRef emit_floordiv(roc_cg *cg, const operation *o) {
  if (!is_float(o->type)) return emit_int_floordiv(cg, o->a, o->b);
  LLVMValueRef q = roc_cg_float_binary(cg, ROC_IR_FDIV, o->a, o->b, o->type);
  LLVMTypeRef type = LLVMTypeOf(q);
  return roc_cg_intrinsic(cg, "llvm.floor", &type, 1, &q, 1);
}

static LLVMValueRef emit_mod(roc_cg *cg, const operation *o) {
  if (!is_float(o->type)) return emit_int_mod(cg, o->a, o->b);
  return roc_cg_float_binary(cg, ROC_IR_MOD, o->a, o->b, o->type);
}

static LLVMValueRef emit_float(roc_cg *cg, const operation *o) {
  return roc_cg_float_binary(cg, o->op, o->a, o->b, o->type);
}

static LLVMValueRef emit_abs(roc_cg *cg, const operation *o) {
  LLVMTypeRef type = LLVMTypeOf(o->a);
  LLVMValueRef args[2] = {o->a, roc_cg_flag(cg, false)};
  if (is_float(o->type)) return roc_cg_intrinsic(cg, "llvm.fabs", &type, 1, args, 1);
  return roc_cg_intrinsic(cg, "llvm.abs", &type, 1, args, 2);
}

/* math.min and math.max keep the first argument when the comparison is false, which decides NaN and
 * signed zeros. */
static LLVMValueRef emit_minmax(roc_cg *cg, const operation *o) {
  LLVMValueRef less = o->op == ROC_IR_MIN ? o->b : o->a;
  LLVMValueRef more = o->op == ROC_IR_MIN ? o->a : o->b;
  LLVMValueRef take_b = is_float(o->type) ? LLVMBuildFCmp(cg->b, LLVMRealOLT, less, more, "")
                                          : compare_int(cg, LLVMIntSLT, less, more);
  return select_of(cg, take_b, o->b, o->a);
}

static LLVMValueRef emit_bitwise(roc_cg *cg, const operation *o) {
  LLVMOpcode opcode = o->op == ROC_IR_BAND ? LLVMAnd : o->op == ROC_IR_BOR ? LLVMOr : LLVMXor;
  return int_binary(cg, opcode, o->a, o->b);
}

static LLVMValueRef emit_not(roc_cg *cg, const operation *o) {
  return LLVMBuildNot(cg->b, o->a, "");
}

static LLVMValueRef constant_shift(roc_cg *cg, LLVMValueRef x, int64_t left) {
  if (left <= -64 || left >= 64) return roc_cg_i64(cg, 0);
  if (left < 0) return int_binary(cg, LLVMLShr, x, roc_cg_i64(cg, -left));
  return int_binary(cg, LLVMShl, x, roc_cg_i64(cg, left));
}

/* luaV_shiftl and its mirror image. */
static LLVMValueRef emit_shift(roc_cg *cg, const operation *o) {
  bool is_left = o->op == ROC_IR_SHL;
  LLVMValueRef known = roc_cg_constant(o->b);
  if (known) {
    int64_t n = LLVMConstIntGetSExtValue(known);
    if (n == INT64_MIN) return roc_cg_i64(cg, 0);
    return constant_shift(cg, o->a, is_left ? n : -n);
  }
  LLVMValueRef negative = compare_int(cg, LLVMIntSLT, o->b, roc_cg_i64(cg, 0));
  LLVMValueRef count = select_of(cg, negative, LLVMBuildNeg(cg->b, o->b, ""), o->b);
  LLVMValueRef masked = int_binary(cg, LLVMAnd, count, roc_cg_i64(cg, 63));
  LLVMValueRef left = int_binary(cg, LLVMShl, o->a, masked);
  LLVMValueRef right = int_binary(cg, LLVMLShr, o->a, masked);
  LLVMValueRef shifted =
      is_left ? select_of(cg, negative, right, left) : select_of(cg, negative, left, right);
  LLVMValueRef fits = compare_int(cg, LLVMIntULT, count, roc_cg_i64(cg, 64));
  return select_of(cg, fits, shifted, roc_cg_i64(cg, 0));
}

static LLVMValueRef emit_bits(roc_cg *cg, const operation *o) {
  static const char *const names[] = {"llvm.ctpop", "llvm.ctlz", "llvm.cttz", "llvm.bitreverse"};
  bool counts_zeros = o->inst->aux == ROC_IR_CLZ || o->inst->aux == ROC_IR_CTZ;
  LLVMValueRef args[2] = {o->a, roc_cg_flag(cg, false)}; /* 0 is not poison: gives 64 */
  return roc_cg_intrinsic(cg, names[o->inst->aux], &cg->t.i64, 1, args, counts_zeros ? 2 : 1);
}

/* ---- comparison -------------------------------------------------------------------------- */

static LLVMValueRef emit_compare(roc_cg *cg, const operation *o) {
  static const LLVMIntPredicate ints[] = {LLVMIntEQ, LLVMIntNE, LLVMIntSLT, LLVMIntSLE};
  static const LLVMRealPredicate floats[] = {LLVMRealOEQ, LLVMRealUNE, LLVMRealOLT, LLVMRealOLE};
  unsigned which = o->op == ROC_IR_EQ ? 0 : o->op == ROC_IR_NE ? 1 : o->op == ROC_IR_LT ? 2 : 3;
  if (is_float(o->type)) return LLVMBuildFCmp(cg->b, floats[which], o->a, o->b, "");
  return compare_int(cg, ints[which], o->a, o->b);
}

static LLVMValueRef emit_ult(roc_cg *cg, const operation *o) {
  return compare_int(cg, LLVMIntULT, o->a, o->b);
}

static LLVMValueRef saturated(roc_cg *cg, const char *rounding, LLVMValueRef f) {
  LLVMTypeRef type = LLVMTypeOf(f), types[2] = {cg->t.i64, type};
  if (rounding) f = roc_cg_intrinsic(cg, rounding, &type, 1, &f, 1);
  return roc_cg_intrinsic(cg, "llvm.fptosi.sat", types, 2, &f, 1);
}

/* Integer against float, mathematically exact: the float is rounded to the integer that gives the
 * same answer, and what lies beyond the integers (or is NaN) is decided by one more comparison. */
static LLVMValueRef emit_mixed(roc_cg *cg, const operation *o) {
  bool int_first = o->op == ROC_IR_LT_IF || o->op == ROC_IR_LE_IF || o->op == ROC_IR_EQ_IF;
  LLVMValueRef i = int_first ? o->a : o->b, f = int_first ? o->b : o->a;
  LLVMTypeRef type = LLVMTypeOf(f);
  LLVMValueRef top = LLVMConstReal(type, 0x1p63), bottom = LLVMConstReal(type, -0x1p63);
  LLVMValueRef is_number = LLVMBuildFCmp(cg->b, LLVMRealORD, f, f, "");
  LLVMValueRef exact, beyond;
  switch (o->op) {
    case ROC_IR_LT_IF:
      exact = compare_int(cg, LLVMIntSLT, i, saturated(cg, "llvm.ceil", f));
      beyond = LLVMBuildFCmp(cg->b, LLVMRealOGE, f, top, "");
      return LLVMBuildOr(cg->b, beyond, both(cg, is_number, exact), "");
    case ROC_IR_LE_IF:
      exact = compare_int(cg, LLVMIntSLE, i, saturated(cg, "llvm.floor", f));
      return both(cg, LLVMBuildFCmp(cg->b, LLVMRealOGE, f, bottom, ""), exact);
    case ROC_IR_LT_FI:
      exact = compare_int(cg, LLVMIntSLT, saturated(cg, "llvm.floor", f), i);
      beyond = LLVMBuildFCmp(cg->b, LLVMRealOLT, f, bottom, "");
      return LLVMBuildOr(cg->b, beyond, both(cg, is_number, exact), "");
    case ROC_IR_LE_FI:
      exact = compare_int(cg, LLVMIntSLE, saturated(cg, "llvm.ceil", f), i);
      return both(cg, LLVMBuildFCmp(cg->b, LLVMRealOLT, f, top, ""), exact);
    default: { /* EQ_IF */
      LLVMValueRef n = saturated(cg, NULL, f);
      LLVMValueRef back = LLVMBuildSIToFP(cg->b, n, type, "");
      LLVMValueRef same = both(cg, LLVMBuildFCmp(cg->b, LLVMRealOEQ, back, f, ""),
                               compare_int(cg, LLVMIntEQ, n, i));
      return both(cg, LLVMBuildFCmp(cg->b, LLVMRealOLT, f, top, ""), same);
    }
  }
}

/* ---- the rest ---------------------------------------------------------------------------- */

static LLVMValueRef emit_const(roc_cg *cg, const operation *o) {
  LLVMTypeRef type = roc_cg_value_type(cg, (roc_value_type)o->inst->type);
  if (is_float((roc_value_type)o->inst->type)) return LLVMConstReal(type, o->inst->k.f);
  return roc_cg_int(type, o->inst->k.i);
}

static LLVMValueRef emit_param(roc_cg *cg, const operation *o) {
  return roc_cg_spread(cg, cg->scalars[o->inst->aux]);
}

static LLVMValueRef emit_select(roc_cg *cg, const operation *o) {
  return select_of(cg, o->a, o->b, roc_cg_operand(cg, o->inst, 2));
}

static LLVMValueRef emit_to_float(roc_cg *cg, const operation *o) {
  return roc_cg_to_float(cg, o->op == ROC_IR_TO_F32 ? ROC_VT_F32 : ROC_VT_F64, o->type, o->a);
}

static LLVMValueRef emit_convert(roc_cg *cg, const operation *o) {
  return roc_cg_convert(cg, (roc_dtype)o->inst->aux, o->type, o->a);
}

/* To 32 bits, at their ends or near them, in operations that vectors have; NaN gives 0. */
static LLVMValueRef round_low(roc_cg *cg, LLVMValueRef f) {
  LLVMTypeRef type = LLVMTypeOf(f);
  bool is_f32 = type == cg->t.f32;
  LLVMValueRef most = LLVMConstReal(type, is_f32 ? 0x1p31 - 128 : INT32_MAX);
  LLVMValueRef least = LLVMConstReal(type, INT32_MIN);
  LLVMValueRef is_number = LLVMBuildFCmp(cg->b, LLVMRealORD, f, f, "");
  f = LLVMBuildSelect(cg->b, LLVMBuildFCmp(cg->b, LLVMRealOLT, f, most, ""), f, most, "");
  f = LLVMBuildSelect(cg->b, LLVMBuildFCmp(cg->b, LLVMRealOGT, f, least, ""), f, least, "");
  f = LLVMBuildSelect(cg->b, is_number, f, LLVMConstNull(type), "");
  return LLVMBuildSExt(cg->b, LLVMBuildFPToSI(cg->b, f, cg->t.i32, ""), cg->t.i64, "");
}

static LLVMValueRef emit_round(roc_cg *cg, const operation *o) {
  if (cg->target->rounds_to_32_bits && cg->target->rounds_to_32_bits(cg, o->inst)) {
    LLVMTypeRef type = LLVMTypeOf(o->a);
    LLVMValueRef value = o->a;
    const char *name = o->op == ROC_IR_FLOOR ? "llvm.floor" : "llvm.ceil";
    return round_low(cg, roc_cg_intrinsic(cg, name, &type, 1, &value, 1));
  }
  return saturated(cg, o->op == ROC_IR_FLOOR ? "llvm.floor" : "llvm.ceil", o->a);
}

static LLVMValueRef emit_math(roc_cg *cg, const operation *o) {
  return roc_cg_math(cg, o->inst);
}

/* llvm.is.fpclass bits: NaN 3, infinity 0x204, finite the rest. */
static LLVMValueRef emit_fclass(roc_cg *cg, const operation *o) {
  static const unsigned classes[] = {
      [ROC_IR_ISNAN] = 0x3, [ROC_IR_ISINF] = 0x204, [ROC_IR_ISFINITE] = 0x1f8};
  LLVMTypeRef type = LLVMTypeOf(o->a);
  LLVMValueRef args[2] = {o->a, roc_cg_immediate(cg, classes[o->inst->aux])};
  return roc_cg_intrinsic(cg, "llvm.is.fpclass", &type, 1, args, 2);
}

static LLVMValueRef emit_launch(roc_cg *cg, const operation *o) {
  return roc_cg_spread(cg, cg->target->launch_value(cg, o->op, o->inst->aux));
}

static LLVMValueRef emit_extent(roc_cg *cg, const operation *o) {
  return roc_cg_extent(cg, o->inst->aux, (uint32_t)o->inst->k.i);
}

/* Whether 32 bits tell indices in range from others, for what looks at an index. */
static bool is_narrow_index(const roc_cg *cg, const roc_ir_inst *inst) {
  return cg->narrow && (cg->narrow[inst - cg->ir->insts.items] & ROC_IR_NARROW);
}

/* So that an index that is too small becomes too large; in 32 bits where those do. */
static LLVMValueRef index_from_0(roc_cg *cg, const roc_ir_inst *inst, LLVMValueRef index) {
  if (!is_narrow_index(cg, inst)) return int_binary(cg, LLVMSub, index, roc_cg_i64(cg, 1));
  return int_binary(cg, LLVMSub, roc_cg_take_low(cg, index), roc_cg_i32(cg, 1));
}

/* Where some items of a wavefront fail, LLVM must not take the comparison for the one in front, and
 * so make another of its negation there. */
LLVMValueRef roc_cg_index_fits(roc_cg *cg, const roc_ir_inst *inst, LLVMValueRef index) {
  LLVMValueRef extent = roc_cg_extent(cg, inst->aux, (uint32_t)inst->k.i);
  if (is_narrow_index(cg, inst)) extent = roc_cg_take_low(cg, extent);
  if (cg->nsome > 0 && cg->target->opaque) extent = cg->target->opaque(cg, extent);
  return compare_int(cg, LLVMIntULT, index_from_0(cg, inst, index), extent);
}

/* The comparison of 64 bits is that with the extent, which is made anyway where a loop leaves early;
 * of 32 bits there is a minimum. */
static LLVMValueRef emit_clamp_index(roc_cg *cg, const operation *o) {
  bool is_narrow = is_narrow_index(cg, o->inst);
  LLVMValueRef from_0 = index_from_0(cg, o->inst, o->a);
  LLVMValueRef extent = roc_cg_extent(cg, o->inst->aux, (uint32_t)o->inst->k.i);
  if (!is_narrow) {
    LLVMValueRef fits = compare_int(cg, LLVMIntULT, from_0, extent);
    return select_of(cg, fits, o->a, roc_cg_i64(cg, 1));
  }
  LLVMValueRef last = index_from_0(cg, o->inst, extent);
  LLVMValueRef is_in = compare_int(cg, LLVMIntULT, from_0, last);
  LLVMValueRef low =
      LLVMBuildNUWAdd(cg->b, select_of(cg, is_in, from_0, last), roc_cg_i32(cg, 1), "");
  return roc_cg_extend(cg, low, true);
}

static LLVMValueRef emit_worst_index(roc_cg *cg, const operation *o) {
  bool is_narrow = is_narrow_index(cg, o->inst);
  LLVMValueRef worst = is_narrow ? roc_cg_take_low(cg, o->a) : o->a;
  LLVMValueRef from_0 = index_from_0(cg, o->inst, o->b);
  LLVMValueRef now = select_of(cg, compare_int(cg, LLVMIntUGT, worst, from_0), worst, from_0);
  return is_narrow ? roc_cg_extend(cg, now, false) : now;
}

/* After a loop that leaves early by such a comparison: LLVM would keep that one's result in a mask
 * of lanes, which costs in each round. */
static LLVMValueRef emit_worst_fits(roc_cg *cg, const operation *o) {
  bool is_narrow = is_narrow_index(cg, o->inst);
  LLVMValueRef extent = roc_cg_extent(cg, o->inst->aux, (uint32_t)o->inst->k.i);
  if (is_narrow) extent = roc_cg_take_low(cg, extent);
  if (cg->target->opaque) extent = cg->target->opaque(cg, extent);
  return compare_int(cg, LLVMIntULT, is_narrow ? roc_cg_take_low(cg, o->a) : o->a, extent);
}

static LLVMValueRef emit_opaque(roc_cg *cg, const operation *o) {
  uint8_t facts = cg->narrow ? cg->narrow[o->inst - cg->ir->insts.items] : 0;
  if (!cg->target->opaque) return o->a;
  if (!(facts & ROC_IR_NARROW)) return cg->target->opaque(cg, o->a);
  LLVMValueRef low = cg->target->opaque(cg, roc_cg_take_low(cg, o->a));
  return roc_cg_extend(cg, low, facts & ROC_IR_NARROW_SIGNED);
}

static LLVMValueRef emit_index_fits(roc_cg *cg, const operation *o) {
  return roc_cg_index_fits(cg, o->inst, o->a);
}

static emitter *const emitters[ROC_IR_OP_COUNT_] = {
    [ROC_IR_CONST] = emit_const,
    [ROC_IR_PARAM] = emit_param,
    [ROC_IR_ADD] = emit_arith,
    [ROC_IR_SUB] = emit_arith,
    [ROC_IR_MUL] = emit_arith,
    [ROC_IR_NEG] = emit_neg,
    [ROC_IR_FDIV] = emit_float,
    [ROC_IR_FLOORDIV] = emit_floordiv,
    [ROC_IR_MOD] = emit_mod,
    [ROC_IR_POW] = emit_float,
    [ROC_IR_MIN] = emit_minmax,
    [ROC_IR_MAX] = emit_minmax,
    [ROC_IR_ABS] = emit_abs,
    [ROC_IR_BAND] = emit_bitwise,
    [ROC_IR_BOR] = emit_bitwise,
    [ROC_IR_BXOR] = emit_bitwise,
    [ROC_IR_BNOT] = emit_not,
    [ROC_IR_SHL] = emit_shift,
    [ROC_IR_SHR] = emit_shift,
    [ROC_IR_ULT] = emit_ult,
    [ROC_IR_EQ] = emit_compare,
    [ROC_IR_NE] = emit_compare,
    [ROC_IR_LT] = emit_compare,
    [ROC_IR_LE] = emit_compare,
    [ROC_IR_EQ_IF] = emit_mixed,
    [ROC_IR_LT_IF] = emit_mixed,
    [ROC_IR_LE_IF] = emit_mixed,
    [ROC_IR_LT_FI] = emit_mixed,
    [ROC_IR_LE_FI] = emit_mixed,
    [ROC_IR_NOT] = emit_not,
    [ROC_IR_SELECT] = emit_select,
    [ROC_IR_TO_F32] = emit_to_float,
    [ROC_IR_TO_F64] = emit_to_float,
    [ROC_IR_CONVERT] = emit_convert,
    [ROC_IR_FLOOR] = emit_round,
    [ROC_IR_CEIL] = emit_round,
    [ROC_IR_MATH] = emit_math,
    [ROC_IR_FCLASS] = emit_fclass,
    [ROC_IR_BITS] = emit_bits,
    [ROC_IR_OPAQUE] = emit_opaque,
    [ROC_IR_GLOBAL_ID] = emit_launch,
    [ROC_IR_LOCAL_ID] = emit_launch,
    [ROC_IR_GROUP_ID] = emit_launch,
    [ROC_IR_GLOBAL_SIZE] = emit_launch,
    [ROC_IR_LOCAL_SIZE] = emit_launch,
    [ROC_IR_NUM_GROUPS] = emit_launch,
    [ROC_IR_WORK_DIM] = emit_launch,
    [ROC_IR_WAVE_SIZE] = emit_launch,
    [ROC_IR_LANE_ID] = emit_launch,
    [ROC_IR_EXTENT] = emit_extent,
    [ROC_IR_CLAMP_INDEX] = emit_clamp_index,
    [ROC_IR_WORST_INDEX] = emit_worst_index,
    [ROC_IR_WORST_FITS] = emit_worst_fits,
    [ROC_IR_INDEX_FITS] = emit_index_fits,
};

LLVMValueRef roc_cg_expr(roc_cg *cg, uint32_t id) {
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  emitter *emit = emitters[inst->op];
  if (!emit) return NULL;
  LLVMValueRef special = roc_cg_width_expr(cg, id);
  if (special) return special;
  operation o = {.op = (roc_ir_op)inst->op, .inst = inst};
  if (inst->nargs > 0) {
    o.type = (roc_value_type)cg->ir->insts.items[roc_ir_arg(cg->ir, inst, 0)].type;
    o.a = roc_cg_operand(cg, inst, 0);
  }
  if (inst->nargs > 1) o.b = roc_cg_operand(cg, inst, 1);
  special = roc_cg_narrow_expr(cg, id, o.a, o.b);
  if (!special) special = emit_fused(cg, id, &o);
  return special ? special : emit(cg, &o);
}
