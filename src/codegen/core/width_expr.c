/* Arithmetic on integers in as few bits as hold them: operands and result of one width, as width.c
 * keeps them. */
#include "codegen/core/cg.h"
#include "ir/low_bits.h"

static LLVMValueRef compare(roc_cg *cg, roc_ir_op op, bool is_signed, LLVMValueRef a,
                            LLVMValueRef b) {
  LLVMIntPredicate less = is_signed ? LLVMIntSLT : LLVMIntULT;
  LLVMIntPredicate at_most = is_signed ? LLVMIntSLE : LLVMIntULE;
  LLVMIntPredicate predicate = op == ROC_IR_EQ   ? LLVMIntEQ
                               : op == ROC_IR_NE ? LLVMIntNE
                               : op == ROC_IR_LE ? at_most
                                                 : less;
  return LLVMBuildICmp(cg->b, predicate, a, b, "");
}

static LLVMValueRef least_or_most(roc_cg *cg, bool is_least, bool is_signed, LLVMValueRef a,
                                  LLVMValueRef b) {
  static const char *const names[2][2] = {{"llvm.umax", "llvm.smax"}, {"llvm.umin", "llvm.smin"}};
  LLVMTypeRef type = LLVMTypeOf(a);
  return roc_cg_intrinsic(cg, names[is_least][is_signed], &type, 1, (LLVMValueRef[2]){a, b}, 2);
}

/* Rounded down, by a positive constant. */
static LLVMValueRef divide_signed(roc_cg *cg, roc_ir_op op, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(a));
  LLVMValueRef rest = LLVMBuildSRem(cg->b, a, b, "");
  LLVMValueRef is_below = LLVMBuildICmp(cg->b, LLVMIntSLT, rest, zero, "");
  if (op == ROC_IR_MOD) {
    return LLVMBuildAdd(cg->b, rest, LLVMBuildSelect(cg->b, is_below, b, zero, ""), "");
  }
  LLVMValueRef quotient = LLVMBuildSDiv(cg->b, a, b, "");
  return LLVMBuildAdd(cg->b, quotient, LLVMBuildSExt(cg->b, is_below, LLVMTypeOf(a), ""), "");
}

/* By what is not negative; by 0 both give 0. */
static LLVMValueRef divide(roc_cg *cg, roc_ir_op op, LLVMValueRef a, LLVMValueRef b) {
  LLVMTypeRef type = LLVMTypeOf(a);
  LLVMValueRef zero = LLVMConstNull(type);
  LLVMValueRef by_zero = LLVMBuildICmp(cg->b, LLVMIntEQ, b, zero, "");
  LLVMValueRef divisor = LLVMBuildSelect(cg->b, by_zero, LLVMConstInt(type, 1, 0), b, "");
  if (op == ROC_IR_MOD) return LLVMBuildURem(cg->b, a, divisor, "");
  LLVMValueRef quotient = LLVMBuildUDiv(cg->b, a, divisor, "");
  return LLVMBuildSelect(cg->b, by_zero, zero, quotient, "");
}

static LLVMValueRef shift(roc_cg *cg, roc_ir_op op, bool is_signed, LLVMValueRef a, int by) {
  unsigned bits = LLVMGetIntTypeWidth(LLVMTypeOf(a));
  bool is_sign_copied = op == ROC_IR_FLOORDIV && is_signed;
  if ((unsigned)by >= bits && !is_sign_copied) return LLVMConstNull(LLVMTypeOf(a));
  if ((unsigned)by >= bits) by = (int)bits - 1;
  LLVMValueRef count = LLVMConstInt(LLVMTypeOf(a), (unsigned)by, 0);
  if (op == ROC_IR_SHL) return LLVMBuildShl(cg->b, a, count, "");
  return is_sign_copied ? LLVMBuildAShr(cg->b, a, count, "") : LLVMBuildLShr(cg->b, a, count, "");
}

static LLVMValueRef absolute(roc_cg *cg, LLVMValueRef a) {
  LLVMTypeRef type = LLVMTypeOf(a);
  return roc_cg_intrinsic(cg, "llvm.abs", &type, 1, (LLVMValueRef[2]){a, roc_cg_flag(cg, false)},
                          2);
}

/* The result in the same width, or i1 of a comparison; NULL: the operation takes 64 bits. */
static LLVMValueRef emit(roc_cg *cg, const roc_ir_inst *inst, uint8_t width, LLVMValueRef a,
                         LLVMValueRef b) {
  bool is_signed = width & ROC_IR_WIDTH_SIGNED;
  roc_ir_op op = (roc_ir_op)inst->op;
  int moved = roc_ir_bits_moved(cg->ir, inst);
  switch (op) {
    case ROC_IR_ADD: return LLVMBuildAdd(cg->b, a, b, "");
    case ROC_IR_SUB: return LLVMBuildSub(cg->b, a, b, "");
    case ROC_IR_MUL: return LLVMBuildMul(cg->b, a, b, "");
    case ROC_IR_BAND: return LLVMBuildAnd(cg->b, a, b, "");
    case ROC_IR_BOR: return LLVMBuildOr(cg->b, a, b, "");
    case ROC_IR_BXOR: return LLVMBuildXor(cg->b, a, b, "");
    case ROC_IR_BNOT: return LLVMBuildNot(cg->b, a, "");
    case ROC_IR_NEG: return LLVMBuildNeg(cg->b, a, "");
    case ROC_IR_ABS: return absolute(cg, a);
    case ROC_IR_MIN: return least_or_most(cg, true, is_signed, a, b);
    case ROC_IR_MAX: return least_or_most(cg, false, is_signed, a, b);
    case ROC_IR_EQ:
    case ROC_IR_NE:
    case ROC_IR_LT:
    case ROC_IR_LE:
    case ROC_IR_ULT: return compare(cg, op, is_signed, a, b);
    case ROC_IR_SHL:
    case ROC_IR_SHR: return moved < 0 ? NULL : shift(cg, op, is_signed, a, moved);
    case ROC_IR_FLOORDIV:
    case ROC_IR_MOD:
      if (moved >= 0) return shift(cg, op, is_signed, a, moved);
      return is_signed ? divide_signed(cg, op, a, b) : divide(cg, op, a, b);
    default: return NULL;
  }
}

LLVMValueRef roc_cg_width_expr(roc_cg *cg, uint32_t id) {
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  uint8_t width = cg->widths.insts && cg->lanes == 1 ? cg->widths.insts[id] : 0;
  bool is_choice = inst->op == ROC_IR_SELECT;
  if (!width || inst->nargs == 0) return NULL;
  uint32_t first = is_choice ? 1 : 0;
  if (cg->ir->insts.items[roc_ir_arg(cg->ir, inst, first)].type != ROC_VT_INT) return NULL;
  LLVMValueRef a = roc_cg_width_take(cg, roc_cg_operand(cg, inst, first), width), b = NULL;
  if (inst->nargs > first + 1)
    b = roc_cg_width_take(cg, roc_cg_operand(cg, inst, first + 1), width);
  LLVMValueRef value = is_choice ? LLVMBuildSelect(cg->b, roc_cg_operand(cg, inst, 0), a, b, "")
                                 : emit(cg, inst, width, a, b);
  if (!value || inst->type == ROC_VT_BOOL) return value;
  return roc_cg_width_extend(cg, value, width);
}
