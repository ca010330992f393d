/* Results and variables of the IR, as LLVM values: what every emitter reads its operands with.
 *
 * Where a function is one work-item, a result is one LLVM value and a variable an alloca, made on
 * first use. A target whose function runs several work-items keeps results in its own way (hooks
 * `operand` and `define`). */
#include "codegen/core/cg.h"
#include "ir/check_elimination.h"

LLVMValueRef roc_cg_operand(roc_cg *cg, const roc_ir_inst *inst, uint32_t n) {
  uint32_t id = roc_ir_arg(cg->ir, inst, n);
  return cg->target->operand ? cg->target->operand(cg, id) : cg->values[id];
}

LLVMValueRef roc_cg_var(roc_cg *cg, uint32_t var) {
  if (!cg->vars[var]) {
    const roc_ir_var *v = &cg->ir->vars.items[var];
    bool is_narrow = cg->narrow_vars && cg->narrow_vars[var];
    uint8_t width = roc_cg_width_of_var(cg, var);
    LLVMTypeRef type = is_narrow ? cg->t.i32
                       : width   ? roc_cg_width_type(cg, width)
                                 : roc_cg_value_type(cg, v->type);
    cg->vars[var] = roc_cg_alloca(cg, type, v->name);
  }
  return cg->vars[var];
}

LLVMValueRef roc_cg_get_var(roc_cg *cg, uint32_t var) {
  uint8_t narrow = cg->narrow_vars ? cg->narrow_vars[var] : 0;
  LLVMValueRef at = roc_cg_var(cg, var);
  LLVMValueRef value = LLVMBuildLoad2(cg->b, LLVMGetAllocatedType(at), at, "");
  if (narrow) return roc_cg_extend_var(cg, value, narrow);
  return roc_cg_width_extend(cg, value, roc_cg_width_of_var(cg, var));
}

void roc_cg_set_var(roc_cg *cg, uint32_t var, LLVMValueRef value) {
  LLVMValueRef at = roc_cg_var(cg, var);
  bool is_narrow = cg->narrow_vars && cg->narrow_vars[var];
  value = is_narrow ? roc_cg_take_low(cg, value)
                    : roc_cg_width_take(cg, value, roc_cg_width_of_var(cg, var));
  LLVMBuildStore(cg->b, value, at);
}

void roc_cg_define(roc_cg *cg, uint32_t id, LLVMValueRef value) {
  if (cg->target->define) {
    cg->target->define(cg, id, value);
  } else {
    cg->values[id] = value;
  }
}
