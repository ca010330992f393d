/* Results and variables of the IR, as LLVM values: what every emitter reads its operands with.
 *
 * Where a function is one work-item, a result is one LLVM value and a variable an alloca, made on
 * first use. A target whose function runs several work-items keeps results in its own way (hooks
 * `operand` and `define`). */
#include "codegen/core/cg.h"

LLVMValueRef roc_cg_operand(roc_cg *cg, const roc_ir_inst *inst, uint32_t n) {
  uint32_t id = roc_ir_arg(cg->ir, inst, n);
  return cg->target->operand ? cg->target->operand(cg, id) : cg->values[id];
}

LLVMValueRef roc_cg_var(roc_cg *cg, uint32_t var) {
  if (!cg->vars[var]) {
    const roc_ir_var *v = &cg->ir->vars.items[var];
    cg->vars[var] = roc_cg_alloca(cg, roc_cg_value_type(cg, v->type), v->name);
  }
  return cg->vars[var];
}

void roc_cg_define(roc_cg *cg, uint32_t id, LLVMValueRef value) {
  if (cg->target->define) {
    cg->target->define(cg, id, value);
  } else {
    cg->values[id] = value;
  }
}
