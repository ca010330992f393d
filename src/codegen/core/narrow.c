/* 32-bit integers where they do: arithmetic, comparisons and element offsets whose values are
 * proved to fit.
 *
 * An integer of the kernel language has 64 bits, which a GPU adds in two instructions and divides
 * in more than a hundred. The proofs are check_elimination.c's, in cg->narrow, for targets that ask
 * for them (NULL: everything stays 64 bits wide). What changes from iteration to iteration of a
 * loop stays wide, so that LLVM sees addresses that move by a step; division is worth it there too.
 * Values between instructions are i64 all the same: what is narrow is extended, and taken back by
 * its user.
 *
 * The proofs are of work-items that reach an instruction.  Where it is executed for others, too
 * (cg->is_speculative), nothing is told LLVM that would not hold for them. */
#include "codegen/core/cg.h"
#include "ir/check_elimination.h"
#include "ir/low_bits.h"

/* The i32 that was extended; NULL: none was. */
static LLVMValueRef extended_from(const roc_cg *cg, LLVMValueRef wide) {
  if (!LLVMIsAZExtInst(wide) && !LLVMIsASExtInst(wide)) return NULL;
  LLVMValueRef from = LLVMGetOperand(wide, 0);
  return LLVMTypeOf(from) == cg->t.i32 ? from : NULL;
}

/* The low half of a sum with a constant needs the low halves alone. */
LLVMValueRef roc_cg_take_low(roc_cg *cg, LLVMValueRef wide) {
  LLVMValueRef from = extended_from(cg, wide);
  if (from) return from;
  LLVMOpcode opcode = LLVMIsABinaryOperator(wide) ? LLVMGetInstructionOpcode(wide) : 0;
  if ((opcode == LLVMAdd || opcode == LLVMSub) && LLVMIsAConstantInt(LLVMGetOperand(wide, 1))) {
    uint64_t k = LLVMConstIntGetZExtValue(LLVMGetOperand(wide, 1));
    from = extended_from(cg, LLVMGetOperand(wide, 0));
    if (from) return LLVMBuildBinOp(cg->b, opcode, from, roc_cg_i32(cg, (uint32_t)k), "");
  }
  return LLVMBuildTrunc(cg->b, wide, cg->t.i32, "");
}

LLVMValueRef roc_cg_extend(roc_cg *cg, LLVMValueRef narrow, bool is_signed) {
  LLVMValueRef wide = LLVMBuildZExt(cg->b, narrow, cg->t.i64, "");
  if (is_signed && !cg->is_speculative && LLVMIsAZExtInst(wide)) LLVMSetNNeg(wide, 1);
  return wide;
}

LLVMValueRef roc_cg_extend_var(roc_cg *cg, LLVMValueRef held, uint8_t facts) {
  bool may_be_negative = facts == ROC_IR_NARROW_SIGNED;
  if (may_be_negative) return LLVMBuildSExt(cg->b, held, cg->t.i64, "");
  return roc_cg_extend(cg, held, facts & ROC_IR_NARROW_SIGNED);
}

bool roc_cg_is_loop_variant(const roc_cg *cg, uint32_t inst) {
  return cg->narrow && (cg->narrow[inst] & ROC_IR_LOOP_VARIANT);
}

/* Neither operand nor result of what follows is negative or over 2^32-1, so nothing wraps. */
static LLVMValueRef unsigned_op(roc_cg *cg, LLVMOpcode opcode, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef value = LLVMBuildBinOp(cg->b, opcode, a, b, "");
  if (!cg->is_speculative && LLVMIsABinaryOperator(value)) LLVMSetNUW(value, 1);
  return value;
}

LLVMValueRef roc_cg_narrow_split(LLVMValueRef value, int64_t *k) {
  *k = 0;
  if (!LLVMIsABinaryOperator(value)) return value;
  LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
  bool is_sum = (opcode == LLVMAdd || opcode == LLVMSub) && LLVMGetNUW(value) &&
                LLVMIsAConstantInt(LLVMGetOperand(value, 1));
  if (!is_sum) return value;
  *k = (int64_t)LLVMConstIntGetZExtValue(LLVMGetOperand(value, 1));
  if (opcode == LLVMSub) *k = -*k;
  return LLVMGetOperand(value, 0);
}

/* Constants come last, so that those of ids, which count from 1, and of indices meet and vanish. */
static LLVMValueRef add_constant(roc_cg *cg, LLVMValueRef x, int64_t k) {
  if (k == 0) return x;
  if (k < 0) return unsigned_op(cg, LLVMSub, x, roc_cg_i32(cg, (uint32_t)-k));
  return unsigned_op(cg, LLVMAdd, x, roc_cg_i32(cg, (uint32_t)k));
}

/* The sum without the constants of its addends must not wrap either.  Without those that are added
 * it is smaller; without those that are taken away it is larger, by less than MOST_TAKEN each. */
static LLVMValueRef split_addend(LLVMValueRef value, bool is_small, int64_t *k) {
  enum { MOST_TAKEN = 1 << 29 };
  LLVMValueRef rest = roc_cg_narrow_split(value, k);
  if (*k >= 0 || (is_small && *k > -MOST_TAKEN)) return rest;
  *k = 0;
  return value;
}

LLVMValueRef roc_cg_narrow_add(roc_cg *cg, LLVMValueRef a, LLVMValueRef b, bool is_small) {
  int64_t ka, kb;
  if (LLVMIsAConstantInt(a) && LLVMIsAConstantInt(b)) return unsigned_op(cg, LLVMAdd, a, b);
  if (LLVMIsAConstantInt(a)) return roc_cg_narrow_add(cg, b, a, is_small);
  LLVMValueRef x = roc_cg_narrow_split(a, &ka);
  if (LLVMIsAConstantInt(b)) {
    return add_constant(cg, x, ka + (int64_t)LLVMConstIntGetZExtValue(b));
  }
  x = split_addend(a, is_small, &ka);
  LLVMValueRef y = split_addend(b, is_small, &kb);
  return add_constant(cg, unsigned_op(cg, LLVMAdd, x, y), ka + kb);
}

LLVMValueRef roc_cg_narrow_sub(roc_cg *cg, LLVMValueRef a, LLVMValueRef b) {
  int64_t k;
  if (!LLVMIsAConstantInt(b)) return unsigned_op(cg, LLVMSub, a, b);
  LLVMValueRef x = roc_cg_narrow_split(a, &k);
  return add_constant(cg, x, k - (int64_t)LLVMConstIntGetZExtValue(b));
}

static LLVMValueRef arith(roc_cg *cg, roc_ir_op op, LLVMValueRef a, LLVMValueRef b) {
  if (op == ROC_IR_ADD) return roc_cg_narrow_add(cg, a, b, false);
  return op == ROC_IR_SUB ? roc_cg_narrow_sub(cg, a, b) : unsigned_op(cg, LLVMMul, a, b);
}

/* x << n | x >> (32 - n), which LLVM may take apart where x is a product; NULL: it is none. */
static LLVMValueRef rotate(roc_cg *cg, LLVMValueRef left, LLVMValueRef right) {
  bool are_shifts = LLVMIsABinaryOperator(left) && LLVMIsABinaryOperator(right) &&
                    LLVMGetInstructionOpcode(left) == LLVMShl &&
                    LLVMGetInstructionOpcode(right) == LLVMLShr;
  if (!are_shifts || LLVMGetOperand(left, 0) != LLVMGetOperand(right, 0)) return NULL;
  LLVMValueRef x = LLVMGetOperand(left, 0), n = LLVMGetOperand(left, 1);
  LLVMValueRef rest = LLVMGetOperand(right, 1);
  if (!LLVMIsAConstantInt(n) || !LLVMIsAConstantInt(rest)) return NULL;
  if (LLVMConstIntGetZExtValue(n) + LLVMConstIntGetZExtValue(rest) != 32) return NULL;
  return roc_cg_intrinsic(cg, "llvm.fshl", &cg->t.i32, 1, (LLVMValueRef[3]){x, x, n}, 3);
}

static LLVMValueRef rotation(roc_cg *cg, roc_ir_op op, LLVMValueRef a, LLVMValueRef b) {
  if (op != ROC_IR_BOR && op != ROC_IR_BXOR && op != ROC_IR_ADD) return NULL;
  LLVMValueRef value = rotate(cg, a, b);
  return value ? value : rotate(cg, b, a);
}

static LLVMValueRef bitwise(roc_cg *cg, roc_ir_op op, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef rotated = rotation(cg, op, a, b);
  if (rotated) return rotated;
  LLVMOpcode opcode = op == ROC_IR_BAND ? LLVMAnd : op == ROC_IR_BOR ? LLVMOr : LLVMXor;
  return LLVMBuildBinOp(cg->b, opcode, a, b, "");
}

/* By 0 gives 0, as the wide one does. */
static LLVMValueRef divide(roc_cg *cg, roc_ir_op op, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef zero = roc_cg_i32(cg, 0);
  LLVMValueRef by_zero = LLVMBuildICmp(cg->b, LLVMIntEQ, b, zero, "");
  LLVMValueRef divisor = LLVMBuildSelect(cg->b, by_zero, roc_cg_i32(cg, 1), b, "");
  LLVMValueRef value =
      LLVMBuildBinOp(cg->b, op == ROC_IR_MOD ? LLVMURem : LLVMUDiv, a, divisor, "");
  /* x % 1 is 0 already. */
  return op == ROC_IR_MOD ? value : LLVMBuildSelect(cg->b, by_zero, zero, value, "");
}

/* Likewise of 32 bits by what may have more, which is more than they are. */
static LLVMValueRef divide_by_wide(roc_cg *cg, roc_ir_op op, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef rest = roc_cg_take_low(cg, a),
               high = LLVMBuildLShr(cg->b, b, roc_cg_i64(cg, 32), "");
  LLVMValueRef is_more = LLVMBuildICmp(cg->b, LLVMIntNE, high, roc_cg_i64(cg, 0), "");
  LLVMValueRef value = divide(cg, op, rest, roc_cg_take_low(cg, b));
  if (op != ROC_IR_MOD) rest = roc_cg_i32(cg, 0);
  return roc_cg_extend(cg, LLVMBuildSelect(cg->b, is_more, rest, value, ""), false);
}

/* By a constant; NULL: it is none, or takes all bits out. */
static LLVMValueRef shift(roc_cg *cg, roc_ir_op op, LLVMValueRef a, LLVMValueRef b) {
  if (!LLVMIsAConstantInt(b) || LLVMConstIntGetZExtValue(b) >= 32) return NULL;
  if (op == ROC_IR_SHL) return unsigned_op(cg, LLVMShl, a, b);
  return LLVMBuildLShr(cg->b, a, b, "");
}

static LLVMValueRef compare(roc_cg *cg, roc_ir_op op, LLVMValueRef a, LLVMValueRef b) {
  LLVMIntPredicate predicate = op == ROC_IR_EQ   ? LLVMIntEQ
                               : op == ROC_IR_NE ? LLVMIntNE
                               : op == ROC_IR_LE ? LLVMIntULE
                                                 : LLVMIntULT;
  return LLVMBuildICmp(cg->b, predicate, a, b, "");
}

static LLVMValueRef choose(roc_cg *cg, roc_ir_op op, LLVMValueRef a, LLVMValueRef b) {
  LLVMIntPredicate predicate = op == ROC_IR_MIN ? LLVMIntULT : LLVMIntUGT;
  return LLVMBuildSelect(cg->b, LLVMBuildICmp(cg->b, predicate, a, b, ""), a, b, "");
}

/* The same of operands and results in -2^31 … 2^31-1. */
static LLVMValueRef signed_op(roc_cg *cg, LLVMOpcode opcode, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef value = LLVMBuildBinOp(cg->b, opcode, a, b, "");
  if (!cg->is_speculative && LLVMIsABinaryOperator(value)) LLVMSetNSW(value, 1);
  return value;
}

static LLVMValueRef arith_signed(roc_cg *cg, roc_ir_op op, LLVMValueRef a, LLVMValueRef b) {
  return signed_op(cg, op == ROC_IR_ADD ? LLVMAdd : op == ROC_IR_SUB ? LLVMSub : LLVMMul, a, b);
}

/* Rounded down, by what is not negative.  Of a negative number the bits are turned, which gives what
 * it is less than -1: divided, and turned again.  By 0 both give 0. */
static LLVMValueRef divide_signed(roc_cg *cg, roc_ir_op op, LLVMValueRef a, LLVMValueRef b) {
  if (!cg->target->facts->is_simt) return NULL;
  bool is_mod = op == ROC_IR_MOD;
  LLVMValueRef zero = roc_cg_i32(cg, 0), one = roc_cg_i32(cg, 1);
  uint64_t by = LLVMIsAConstantInt(b) ? LLVMConstIntGetZExtValue(b) : 0;
  if (by && !(by & (by - 1))) {
    if (is_mod) return LLVMBuildAnd(cg->b, a, roc_cg_i32(cg, (uint32_t)by - 1), "");
    return LLVMBuildAShr(cg->b, a, roc_cg_i32(cg, (uint32_t)__builtin_ctzll(by)), "");
  }
  LLVMValueRef sign = LLVMBuildAShr(cg->b, a, roc_cg_i32(cg, 31), "");
  LLVMValueRef size = LLVMBuildXor(cg->b, a, sign, "");
  LLVMValueRef by_zero = LLVMBuildICmp(cg->b, LLVMIntEQ, b, zero, "");
  LLVMValueRef divisor = LLVMBuildSelect(cg->b, by_zero, one, b, "");
  LLVMValueRef value = LLVMBuildBinOp(cg->b, is_mod ? LLVMURem : LLVMUDiv, size, divisor, "");
  value = LLVMBuildXor(cg->b, value, sign, "");
  if (!is_mod) return LLVMBuildSelect(cg->b, by_zero, zero, value, "");
  return LLVMBuildAdd(cg->b, value, LLVMBuildAnd(cg->b, divisor, sign, ""), "");
}

/* What is taken from 0 is not the least integer, whose negative would not fit. */
static LLVMValueRef negate_signed(roc_cg *cg, roc_ir_op op, LLVMValueRef a, LLVMValueRef b) {
  (void)op, (void)b;
  return cg->is_speculative ? LLVMBuildNeg(cg->b, a, "") : LLVMBuildNSWNeg(cg->b, a, "");
}

static LLVMValueRef absolute_signed(roc_cg *cg, roc_ir_op op, LLVMValueRef a, LLVMValueRef b) {
  (void)op, (void)b;
  LLVMValueRef args[2] = {a, roc_cg_flag(cg, !cg->is_speculative)};
  return roc_cg_intrinsic(cg, "llvm.abs", &cg->t.i32, 1, args, 2);
}

static LLVMValueRef compare_signed(roc_cg *cg, roc_ir_op op, LLVMValueRef a, LLVMValueRef b) {
  LLVMIntPredicate predicate = op == ROC_IR_EQ   ? LLVMIntEQ
                               : op == ROC_IR_NE ? LLVMIntNE
                               : op == ROC_IR_LT ? LLVMIntSLT
                                                 : LLVMIntSLE;
  return LLVMBuildICmp(cg->b, predicate, a, b, "");
}

static LLVMValueRef choose_signed(roc_cg *cg, roc_ir_op op, LLVMValueRef a, LLVMValueRef b) {
  LLVMIntPredicate predicate = op == ROC_IR_MIN ? LLVMIntSLT : LLVMIntSGT;
  return LLVMBuildSelect(cg->b, LLVMBuildICmp(cg->b, predicate, a, b, ""), a, b, "");
}

/* Results of comparisons are i1.  NULL: it takes 64 bits after all. */
typedef LLVMValueRef narrow_emitter(roc_cg *cg, roc_ir_op op, LLVMValueRef a, LLVMValueRef b);

static narrow_emitter *const emitters[ROC_IR_OP_COUNT_] = {
    [ROC_IR_ADD] = arith,       [ROC_IR_SUB] = arith,    [ROC_IR_MUL] = arith,
    [ROC_IR_FLOORDIV] = divide, [ROC_IR_MOD] = divide,   [ROC_IR_MIN] = choose,
    [ROC_IR_MAX] = choose,      [ROC_IR_EQ] = compare,   [ROC_IR_BAND] = bitwise,
    [ROC_IR_BOR] = bitwise,     [ROC_IR_BXOR] = bitwise, [ROC_IR_NE] = compare,
    [ROC_IR_LT] = compare,      [ROC_IR_LE] = compare,   [ROC_IR_ULT] = compare,
    [ROC_IR_SHL] = shift,       [ROC_IR_SHR] = shift,
};

static narrow_emitter *const signed_emitters[ROC_IR_OP_COUNT_] = {
    [ROC_IR_ADD] = arith_signed,  [ROC_IR_SUB] = arith_signed,    [ROC_IR_MUL] = arith_signed,
    [ROC_IR_MIN] = choose_signed, [ROC_IR_MAX] = choose_signed,   [ROC_IR_EQ] = compare_signed,
    [ROC_IR_NE] = compare_signed, [ROC_IR_LT] = compare_signed,   [ROC_IR_LE] = compare_signed,
    [ROC_IR_NEG] = negate_signed, [ROC_IR_ABS] = absolute_signed, [ROC_IR_FLOORDIV] = divide_signed,
    [ROC_IR_MOD] = divide_signed,
};

/* math.floor and math.ceil of what is known to lie between integers of 32 bits, or may end there. */
static LLVMValueRef round_narrow(roc_cg *cg, roc_ir_op op, LLVMValueRef f, uint8_t facts) {
  LLVMTypeRef type = LLVMTypeOf(f);
  f = roc_cg_intrinsic(cg, op == ROC_IR_FLOOR ? "llvm.floor" : "llvm.ceil", &type, 1, &f, 1);
  if (facts & ROC_IR_SATURATES) {
    return LLVMBuildSExt(cg->b, cg->target->saturate(cg, f), cg->t.i64, "");
  }
  bool is_unsigned = facts & ROC_IR_NARROW;
  LLVMTypeRef types[2] = {cg->t.i32, type};
  LLVMValueRef low;
  if (cg->is_speculative) {
    const char *name = is_unsigned ? "llvm.fptoui.sat" : "llvm.fptosi.sat";
    low = roc_cg_intrinsic(cg, name, types, 2, &f, 1);
  } else {
    low = LLVMBuildCast(cg->b, is_unsigned ? LLVMFPToUI : LLVMFPToSI, f, cg->t.i32, "");
  }
  if (!is_unsigned) return LLVMBuildSExt(cg->b, low, cg->t.i64, "");
  return roc_cg_extend(cg, low, facts & ROC_IR_NARROW_SIGNED);
}

/* A rounded float that stays at the end of 32 bits, and what is added to it. */
static LLVMValueRef add_saturated(roc_cg *cg, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef args[2] = {roc_cg_take_low(cg, a), roc_cg_take_low(cg, b)};
  LLVMValueRef sum = roc_cg_intrinsic(cg, "llvm.sadd.sat", &cg->t.i32, 1, args, 2);
  return LLVMBuildSExt(cg->b, sum, cg->t.i64, "");
}

/* In the low halves alone, where more does not matter; it may wrap. */
static LLVMValueRef low_half(roc_cg *cg, const roc_ir_inst *inst, LLVMValueRef a, LLVMValueRef b) {
  static const LLVMOpcode opcodes[ROC_IR_OP_COUNT_] = {
      [ROC_IR_ADD] = LLVMAdd,  [ROC_IR_SUB] = LLVMSub,  [ROC_IR_MUL] = LLVMMul,
      [ROC_IR_BAND] = LLVMAnd, [ROC_IR_BOR] = LLVMOr,   [ROC_IR_BXOR] = LLVMXor,
      [ROC_IR_SHL] = LLVMShl,  [ROC_IR_SHR] = LLVMLShr, [ROC_IR_FLOORDIV] = LLVMLShr,
  };
  int moved = roc_ir_bits_moved(cg->ir, inst);
  LLVMValueRef low_a = roc_cg_take_low(cg, a), value;
  if (inst->op == ROC_IR_NEG) {
    value = LLVMBuildNeg(cg->b, low_a, "");
  } else if (inst->op == ROC_IR_BNOT) {
    value = LLVMBuildNot(cg->b, low_a, "");
  } else {
    LLVMValueRef low_b = moved < 0 ? roc_cg_take_low(cg, b) : roc_cg_i32(cg, (uint32_t)moved);
    value = rotation(cg, (roc_ir_op)inst->op, low_a, low_b);
    if (!value) value = LLVMBuildBinOp(cg->b, opcodes[inst->op], low_a, low_b, "");
  }
  return roc_cg_extend(cg, value, false);
}

/* By a number of bits that is not negative.  One that takes all bits out gives 0, but what is
 * shifted by 32 or more in 64 bits needs no choice for that. */
static LLVMValueRef shift_by(roc_cg *cg, roc_ir_op op, uint8_t facts, LLVMValueRef a,
                             LLVMValueRef b) {
  bool is_narrow = facts & (ROC_IR_NARROW | ROC_IR_LOW), is_few = facts & ROC_IR_FEW;
  bool counts_to_63 = is_few && (facts & ROC_IR_COUNTS);
  LLVMOpcode opcode = op == ROC_IR_SHL ? LLVMShl : LLVMLShr;
  if (!is_narrow || counts_to_63) {
    LLVMValueRef value = LLVMBuildBinOp(cg->b, opcode, a, b, "");
    LLVMValueRef fits = LLVMBuildICmp(cg->b, LLVMIntULT, b, roc_cg_i64(cg, 64), "");
    if (!is_few) value = LLVMBuildSelect(cg->b, fits, value, roc_cg_i64(cg, 0), "");
    return is_narrow ? roc_cg_extend(cg, roc_cg_take_low(cg, value), false) : value;
  }
  LLVMValueRef low_b = roc_cg_take_low(cg, b);
  LLVMValueRef value = LLVMBuildBinOp(cg->b, opcode, roc_cg_take_low(cg, a), low_b, "");
  LLVMValueRef fits = LLVMBuildICmp(cg->b, LLVMIntULT, b, roc_cg_i64(cg, 32), "");
  if (!is_few) value = LLVMBuildSelect(cg->b, fits, value, roc_cg_i32(cg, 0), "");
  bool is_signed = (facts & ROC_IR_NARROW) && (facts & ROC_IR_NARROW_SIGNED);
  return roc_cg_extend(cg, value, is_signed);
}

/* A few bits of what has 64.  To take the low half of a vector costs more than it spares: they are
 * cut out and compared in 64. */
static bool cuts_out_bits(const roc_cg *cg, const roc_ir_inst *inst) {
  if (inst->op != ROC_IR_BAND) return false;
  return !(cg->narrow[roc_ir_arg(cg->ir, inst, 0)] & (ROC_IR_NARROW | ROC_IR_INT32));
}

static bool is_cut_out(LLVMValueRef value) {
  return LLVMIsABinaryOperator(value) && LLVMGetInstructionOpcode(value) == LLVMAnd;
}

LLVMValueRef roc_cg_narrow_expr(roc_cg *cg, uint32_t id, LLVMValueRef a, LLVMValueRef b) {
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  roc_ir_op op = (roc_ir_op)inst->op;
  uint8_t facts = cg->narrow ? cg->narrow[id] : 0;
  if (facts && cg->lanes > 1 && cuts_out_bits(cg, inst)) return NULL;
  if (op == ROC_IR_SHL || op == ROC_IR_SHR) {
    bool is_by_any = roc_ir_bits_moved(cg->ir, inst) < 0;
    bool counts = facts & (ROC_IR_COUNTS | ROC_IR_FEW);
    if (is_by_any && counts) return shift_by(cg, op, facts, a, b);
    facts &= (uint8_t) ~(ROC_IR_COUNTS | ROC_IR_FEW);
  }
  if (op == ROC_IR_FLOORDIV || op == ROC_IR_MOD) {
    bool is_by_wide = (facts & ROC_IR_BY_WIDE) && !(facts & (ROC_IR_NARROW | ROC_IR_LOW));
    if (is_by_wide && !roc_cg_constant(b)) return divide_by_wide(cg, op, a, b);
  }
  if (facts & ROC_IR_LOW) return low_half(cg, inst, a, b);
  if (!cg->target->saturate) facts &= (uint8_t)~ROC_IR_SATURATES;
  if (!(facts & (ROC_IR_NARROW | ROC_IR_INT32 | ROC_IR_SATURATES))) return NULL;
  if (op == ROC_IR_FLOOR || op == ROC_IR_CEIL) return round_narrow(cg, op, a, facts);
  if (facts & ROC_IR_SATURATES) return add_saturated(cg, a, b);
  narrow_emitter *emit = facts & ROC_IR_NARROW ? emitters[op] : signed_emitters[op];
  bool is_address = cg->lanes == 1 && !cg->target->adds_narrow_offsets;
  bool moves = is_address && !cg->in_narrow_loop && roc_cg_is_loop_variant(cg, id);
  bool compares = emit == compare || emit == compare_signed;
  bool is_taken =
      emit == divide || emit == divide_signed || (compares && cg->target->facts->is_simt);
  if (!emit || (moves && !is_taken)) return NULL;
  if (cg->lanes > 1 && compares && (is_cut_out(a) || is_cut_out(b))) return NULL;
  if (cg->ir->insts.items[roc_ir_arg(cg->ir, inst, 0)].type != ROC_VT_INT) return NULL;
  LLVMValueRef low_a = roc_cg_take_low(cg, a), low_b = b ? roc_cg_take_low(cg, b) : NULL;
  LLVMValueRef value = emit(cg, op, low_a, low_b);
  if (!value) return NULL;
  if (compares) return value;
  if (facts & ROC_IR_NARROW) return roc_cg_extend(cg, value, facts & ROC_IR_NARROW_SIGNED);
  return LLVMBuildSExt(cg->b, value, cg->t.i64, "");
}
