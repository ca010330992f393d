/* What vectors have no operation for: one lane after the other, and division of integers.
 *
 * Where all lanes of the mask have small numbers, integers are divided as floats (cpu/divide.c),
 * others one by one. */
#include "codegen/cpu/lanes.h"

static const roc_ir_inst *inst_of(const cpu_state *s, uint32_t id) {
  return &s->cg->ir->insts.items[id];
}

static LLVMTypeRef whole_type(cpu_state *s) {
  return LLVMIntTypeInContext(s->cg->ctx, s->lanes->count);
}

/* ---- one lane after the other ------------------------------------------------------------- */

/* The instruction for the item of l->lane; NULL: it has no result. */
static LLVMValueRef emit_one(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = inst_of(s, id);
  if (inst->op == ROC_IR_ATOMIC) return roc_cg_atomic(cg, inst);
  if (inst->op != ROC_IR_PRINT) return roc_cg_expr(cg, id);
  roc_cg_print(cg, inst);
  return NULL;
}

/* For each lane of the mask, which is not empty; puts the results into the alloca, where there are. */
static void emit_each(cpu_state *s, uint32_t id, LLVMTypeRef type, LLVMValueRef result) {
  roc_cg *cg = s->cg;
  cpu_lanes *l = s->lanes;
  const roc_ir_inst *inst = inst_of(s, id);
  LLVMTypeRef whole = whole_type(s);
  LLVMValueRef left = roc_cg_alloca(cg, whole, "");
  for (uint32_t i = 0; i < inst->nargs; i++) cpu_lanes_value(s, roc_ir_arg(cg->ir, inst, i));
  LLVMBuildStore(cg->b, LLVMBuildBitCast(cg->b, cpu_lanes_mask(s), whole, ""), left);
  LLVMBasicBlockRef body = roc_cg_block(cg, "lane"), end = roc_cg_block(cg, "lane.end");
  LLVMBuildBr(cg->b, body);
  roc_cg_at(cg, body);
  LLVMValueRef bits = LLVMBuildLoad2(cg->b, whole, left, "");
  LLVMValueRef args[2] = {bits, roc_cg_flag(cg, true)};
  LLVMValueRef lane = roc_cg_intrinsic(cg, "llvm.cttz", &whole, 1, args, 2);
  l->lane = LLVMBuildZExt(cg->b, lane, cg->t.i64, "");
  s->operand = cpu_lanes_of_lane;
  LLVMValueRef value = emit_one(s, id);
  s->operand = cpu_lanes_operand;
  if (value && result) {
    LLVMValueRef all = LLVMBuildLoad2(cg->b, type, result, "");
    LLVMBuildStore(cg->b, LLVMBuildInsertElement(cg->b, all, value, l->lane, ""), result);
  }
  LLVMValueRef less = LLVMBuildSub(cg->b, bits, LLVMConstInt(whole, 1, 0), "");
  LLVMValueRef rest = LLVMBuildAnd(cg->b, bits, less, "");
  LLVMBuildStore(cg->b, rest, left);
  LLVMBuildCondBr(cg->b, LLVMBuildIsNull(cg->b, rest, ""), end, body);
  roc_cg_at(cg, end);
}

/* An alloca for the results of all lanes, 0 so far. */
static LLVMValueRef new_result(cpu_state *s, LLVMTypeRef type) {
  LLVMValueRef result = roc_cg_alloca(s->cg, type, "");
  LLVMBuildStore(s->cg->b, LLVMConstNull(type), result);
  return result;
}

void cpu_lanes_each(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  roc_value_type of = (roc_value_type)inst_of(s, id)->type;
  if (of == ROC_VT_NONE) {
    emit_each(s, id, NULL, NULL);
    return;
  }
  LLVMTypeRef type = LLVMVectorType(roc_cg_value_type(cg, of), s->lanes->count);
  LLVMValueRef result = new_result(s, type);
  emit_each(s, id, type, result);
  cpu_lanes_define(s, id, LLVMBuildLoad2(cg->b, type, result, ""));
}

/* ---- division of integers ------------------------------------------------------------------ */

static const int64_t small = CPU_SMALL;

/* Whether a lane of the mask has a number that is not small. */
static LLVMValueRef has_large(cpu_state *s, LLVMValueRef a, LLVMValueRef b) {
  roc_cg *cg = s->cg;
  LLVMValueRef half = roc_cg_i64(cg, small), rest = roc_cg_i64(cg, -2 * small);
  LLVMValueRef both =
      LLVMBuildOr(cg->b, LLVMBuildAdd(cg->b, a, half, ""), LLVMBuildAdd(cg->b, b, half, ""), "");
  LLVMValueRef high = LLVMBuildAnd(cg->b, both, rest, "");
  LLVMValueRef bits = LLVMBuildICmp(cg->b, LLVMIntNE, high, LLVMConstNull(LLVMTypeOf(high)), "");
  bits = LLVMBuildAnd(cg->b, bits, cpu_lanes_mask(s), "");
  LLVMValueRef whole = LLVMBuildBitCast(cg->b, bits, whole_type(s), "");
  return LLVMBuildICmp(cg->b, LLVMIntNE, whole, LLVMConstNull(whole_type(s)), "");
}

void cpu_lanes_divide(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = inst_of(s, id);
  LLVMValueRef a = cpu_lanes_all(s, roc_ir_arg(cg->ir, inst, 0));
  LLVMValueRef b = cpu_lanes_all(s, roc_ir_arg(cg->ir, inst, 1));
  LLVMBasicBlockRef each = roc_cg_block(cg, "divide.each"), end = roc_cg_block(cg, "divided");
  LLVMBasicBlockRef together = roc_cg_block(cg, "divide");
  LLVMTypeRef type = LLVMTypeOf(a);
  LLVMValueRef result = new_result(s, type);
  roc_cg_set_lanes(cg, s->lanes->count);
  LLVMValueRef is_small = LLVMBuildNot(cg->b, has_large(s, a, b), "");
  roc_cg_set_lanes(cg, 1);
  roc_cg_branch_likely(cg, is_small, together, each);
  roc_cg_at(cg, together);
  roc_cg_set_lanes(cg, s->lanes->count);
  LLVMBuildStore(cg->b, cpu_divide_small(cg, (roc_ir_op)inst->op, a, b), result);
  roc_cg_set_lanes(cg, 1);
  LLVMBuildBr(cg->b, end);
  roc_cg_at(cg, each);
  emit_each(s, id, type, result);
  LLVMBuildBr(cg->b, end);
  roc_cg_at(cg, end);
  cpu_lanes_define(s, id, LLVMBuildLoad2(cg->b, type, result, ""));
}
