/* Element-wise kernels: an item has no loop, and accesses arrays beside its own number.
 *
 * The addresses in a loop over such items are a base and the loop's counter, which the processor
 * adds in the access itself. LLVM's reduction of counters takes a tenth of the compile, and finds
 * nothing to gain. */
#include "codegen/cpu/cpu.h"

enum { MAX_DEPTH = 8 };

/* Whether a value differs, or may, between the items of a row. */
static bool differs(const roc_ir_module *ir, uint32_t id, unsigned depth) {
  const roc_ir_inst *inst = &ir->insts.items[id];
  if (inst->op == ROC_IR_GLOBAL_ID || inst->op == ROC_IR_LOCAL_ID) return inst->aux == 0;
  bool is_pure = roc_ir_op_table[inst->op].flags & ROC_IRF_PURE;
  if (!is_pure || inst->op == ROC_IR_LANE_ID || depth == MAX_DEPTH) return true;
  for (uint32_t n = 0; n < inst->nargs; n++) {
    if (differs(ir, roc_ir_arg(ir, inst, n), depth + 1)) return true;
  }
  return false;
}

/* Whether the next item of a row has the next index. */
static bool is_beside(const roc_ir_module *ir, uint32_t id, unsigned depth) {
  const roc_ir_inst *inst = &ir->insts.items[id];
  if (inst->op == ROC_IR_GLOBAL_ID || inst->op == ROC_IR_LOCAL_ID) return inst->aux == 0;
  bool is_sum = (inst->op == ROC_IR_ADD || inst->op == ROC_IR_SUB) && inst->type == ROC_VT_INT;
  if (!is_sum || depth == MAX_DEPTH) return false;
  uint32_t a = roc_ir_arg(ir, inst, 0), b = roc_ir_arg(ir, inst, 1);
  if (!differs(ir, b, 0)) return is_beside(ir, a, depth + 1);
  return inst->op == ROC_IR_ADD && !differs(ir, a, 0) && is_beside(ir, b, depth + 1);
}

/* What an instruction of the processor multiplies an index by. */
static bool is_scale(int64_t nbytes) {
  return nbytes == 1 || nbytes == 2 || nbytes == 4 || nbytes == 8;
}

static bool accesses_beside(const roc_ir_module *ir, const roc_ir_inst *inst) {
  const roc_ir_array *array = &ir->arrays.items[inst->aux];
  if (array->kind == ROC_IR_ARRAY_CONST) return true;
  if (array->kind != ROC_IR_ARRAY_PARAM) return false;
  roc_layout layout = (roc_layout)ir->params.items[array->param].type.layout;
  uint32_t inner = layout == ROC_LAYOUT_C ? array->rank - 1u : 0;
  for (uint32_t d = 0; d < array->rank; d++) {
    uint32_t index = roc_ir_arg(ir, inst, d + (inst->op == ROC_IR_STORE));
    if (!differs(ir, index, 0)) continue;
    if (layout == ROC_LAYOUT_STRIDED || d != inner || !is_beside(ir, index, 0)) return false;
  }
  return is_scale((int64_t)roc_dtype_itemsize(array->dtype));
}

bool cpu_is_elementwise(const cpu_state *s) {
  const roc_ir_module *ir = s->cg->ir;
  if (s->plan.has_loops || s->plan.nruns != 1) return false;
  for (uint32_t id = 0; id < ir->insts.count; id++) {
    const roc_ir_inst *inst = &ir->insts.items[id];
    if (!s->plan.home[id]) continue;
    if (inst->op == ROC_IR_ATOMIC) return false;
    bool is_access = inst->op == ROC_IR_LOAD || inst->op == ROC_IR_STORE;
    if (is_access && !accesses_beside(ir, inst)) return false;
  }
  return true;
}
