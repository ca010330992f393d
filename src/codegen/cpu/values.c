/* Results and variables of the IR in the code of a workgroup.
 *
 * Inside a run a result is one LLVM value.  A result or variable that lives across runs has a slot
 * per item in the frame; a remat value is computed again in each run, in the block that the item's
 * code follows. */
#include "codegen/cpu/cpu.h"
#include "codegen/llvm/processor.h"

/* ---- values ------------------------------------------------------------------------------ */

/* Emits in the block that the item's code follows, whatever the builder is at. */
static LLVMBasicBlockRef enter_header(cpu_state *s) {
  LLVMBasicBlockRef here = LLVMGetInsertBlock(s->cg->b);
  LLVMPositionBuilderAtEnd(s->cg->b, LLVMGetInsertBlock(s->run->header_b));
  return here;
}

static LLVMValueRef load_slot(cpu_state *s, uint32_t id, LLVMValueRef *out) {
  roc_cg *cg = s->cg;
  roc_value_type type = (roc_value_type)cg->ir->insts.items[id].type;
  LLVMValueRef raw =
      roc_cg_load(cg, s->value_slots[id].type, cpu_slot_item(s, &s->value_slots[id]));
  *out = type == ROC_VT_BOOL ? LLVMBuildTrunc(cg->b, raw, cg->t.i1, "")
                             : roc_cg_width_extend(cg, raw, roc_cg_width_of(cg, id));
  return *out;
}

/* The counter of a wide FOR may begin elsewhere for each item; the distance from there is common.
 * It is a number modulo 2^64: from the smallest integer to the largest is further than one reaches,
 * so the sum is right but may wrap. */
static LLVMValueRef recompute_counter(cpu_state *s, uint32_t var) {
  roc_cg *cg = s->cg;
  uint32_t wide = s->plan.wide_for[var];
  if (wide == ROC_IR_NONE) return LLVMBuildLoad2(cg->b, cg->t.i64, roc_cg_var(cg, var), "");
  LLVMValueRef first = cpu_operand(cg, roc_ir_arg(cg->ir, &cg->ir->insts.items[wide], 0));
  LLVMValueRef advance = LLVMBuildLoad2(cg->b, cg->t.i64, s->advances[var], "");
  return LLVMBuildAdd(cg->b, first, advance, "");
}

LLVMValueRef cpu_value_read_once(cpu_state *s, uint32_t id) {
  LLVMValueRef cell = s->read_once[id];
  return LLVMBuildLoad2(s->cg->b, LLVMGetAllocatedType(cell), cell, "");
}

LLVMValueRef cpu_value_divided(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  if (!s->has_small_numbers || !s->divides_small[id]) return NULL;
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  LLVMValueRef a = cpu_operand(cg, roc_ir_arg(cg->ir, inst, 0));
  LLVMValueRef b = cpu_operand(cg, roc_ir_arg(cg->ir, inst, 1));
  bool has_floats = s->divides_small[id] == CPU_DIVIDES_FLOATS;
  return (has_floats ? cpu_divide_common : cpu_divide_by_product)(cg, (roc_ir_op)inst->op, a, b);
}

/* The expression of a remat value, or of a GET of a variable that is set once. */
static LLVMValueRef recompute(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  if (inst->op != ROC_IR_GET) {
    LLVMValueRef quotient = cpu_value_divided(s, id);
    return quotient ? quotient : roc_cg_expr(cg, id);
  }
  if (s->plan.is_group_var[inst->aux]) return cpu_value_read_once(s, id);
  if (s->plan.is_counter[inst->aux]) return recompute_counter(s, inst->aux);
  return cpu_operand(cg, roc_ir_arg(cg->ir, &cg->ir->insts.items[s->plan.set_once[inst->aux]], 0));
}

LLVMValueRef cpu_operand(roc_cg *cg, uint32_t id) {
  cpu_state *s = cpu_of(cg);
  if (s->operand) return s->operand(s, id);
  if (s->epochs[id] == s->epoch) return cg->values[id];
  LLVMValueRef value;
  LLVMBasicBlockRef here = s->run ? enter_header(s) : NULL;
  if (s->plan.is_remat[id]) {
    value = recompute(s, id);
  } else {
    cpu_value_slot(s, id);
    load_slot(s, id, &value);
  }
  if (here) roc_cg_at(cg, here);
  cg->values[id] = value;
  s->epochs[id] = s->epoch;
  return value;
}

/* The operands of a product are at hand in its own run, and those of one that is recomputed
 * everywhere. */
bool cpu_fuses(roc_cg *cg, uint32_t product, uint32_t sum) {
  const cpu_plan *plan = &cpu_of(cg)->plan;
  if (plan->home[product] != plan->home[sum] && !plan->is_remat[product]) return false;
  return roc_processor_has(cg->tm, "fma");
}

LLVMValueRef cpu_group_value(cpu_state *s, uint32_t id) {
  s->epoch++;
  return cpu_operand(s->cg, id);
}

void cpu_define(roc_cg *cg, uint32_t id, LLVMValueRef value) {
  cpu_state *s = cpu_of(cg);
  cg->values[id] = value;
  s->epochs[id] = s->epoch;
  if (!s->plan.is_slotted[id]) return;
  bool is_bool = cg->ir->insts.items[id].type == ROC_VT_BOOL;
  LLVMValueRef raw = is_bool ? LLVMBuildZExt(cg->b, value, cg->t.i8, "")
                             : roc_cg_width_take(cg, value, roc_cg_width_of(cg, id));
  roc_cg_store(cg, raw, cpu_slot_item(s, cpu_value_slot(s, id)));
}

/* ---- variables that live across runs ----------------------------------------------------- */

LLVMValueRef cpu_var_take(cpu_state *s, uint32_t var) {
  roc_cg *cg = s->cg;
  cpu_slot *slot = cpu_var_slot(s, var);
  LLVMValueRef raw = roc_cg_load(cg, slot->type, cpu_slot_item(s, slot));
  bool is_bool = cg->ir->vars.items[var].type == ROC_VT_BOOL;
  return is_bool ? LLVMBuildTrunc(cg->b, raw, cg->t.i1, "")
                 : roc_cg_width_extend(cg, raw, roc_cg_width_of_var(cg, var));
}

void cpu_var_put(cpu_state *s, uint32_t var, LLVMValueRef value) {
  roc_cg *cg = s->cg;
  if (cg->ir->vars.items[var].type == ROC_VT_BOOL) {
    value = LLVMBuildZExt(cg->b, value, cg->t.i8, "");
  }
  value = roc_cg_width_take(cg, value, roc_cg_width_of_var(cg, var));
  roc_cg_store(cg, value, cpu_slot_item(s, cpu_var_slot(s, var)));
}

void cpu_var_copy_in(cpu_state *s, uint32_t var) {
  LLVMBasicBlockRef here = enter_header(s);
  roc_cg_set_var(s->cg, var, cpu_var_take(s, var));
  roc_cg_at(s->cg, here);
}

void cpu_var_copy_out(cpu_state *s, uint32_t var) {
  cpu_var_put(s, var, roc_cg_get_var(s->cg, var));
}
