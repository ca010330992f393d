/* Groups of which no item returns early.
 *
 * `if i > n or j > m then return end` before the first barrier makes each later part of the kernel
 * ask which of its items are still there.  Nearly all groups of a launch are within the bounds.
 * These are asked of all items of a group before it begins, and groups that are whole run a version
 * of the body without the returns. */
#include "codegen/cpu/cpu.h"
#include "ir/walk.h"

enum { MAX_INSTS = 3000 /* a larger kernel is not emitted once more */ };

LLVMValueRef cpu_holds_for_group(cpu_state *s, uint32_t cond, bool truth) {
  roc_cg *cg = s->cg;
  if (s->plan.is_uniform[cond]) {
    LLVMValueRef holds = cpu_group_value(s, cond);
    return truth ? holds : LLVMBuildNot(cg->b, holds, "");
  }
  LLVMTypeRef i1 = cg->t.i1;
  LLVMValueRef cell = roc_cg_alloca(cg, i1, "whole");
  LLVMBuildStore(cg->b, LLVMConstInt(i1, 1, 0), cell);
  cpu_loop z, y;
  cpu_loop_begin(s, &z, s->count[2], "whole.z");
  cpu_loop_begin(s, &y, s->count[1], "whole.y");
  cpu_place at = {roc_cg_i64(cg, 0), y.index, z.index};
  cpu_range range = cpu_range_of(s, cond, truth, &at, s->count[0]);
  LLVMValueRef passing = LLVMBuildNUWSub(cg->b, range.end, range.low, "");
  LLVMValueRef all = LLVMBuildICmp(cg->b, LLVMIntEQ, passing, s->count[0], "");
  all = LLVMBuildAnd(cg->b, LLVMBuildLoad2(cg->b, i1, cell, ""), all, "");
  LLVMBuildStore(cg->b, all, cell);
  cpu_loop_end(s, &y);
  cpu_loop_end(s, &z);
  return LLVMBuildLoad2(cg->b, i1, cell, "");
}

/* `if cond then … return end` of a condition that the group can answer before it begins. */
static bool is_early_return(const cpu_state *s, uint32_t id) {
  const roc_ir_module *ir = s->cg->ir;
  const roc_ir_inst *inst = &ir->insts.items[id];
  if (inst->op != ROC_IR_IF || ir->regions.items[inst->k.region[1]].count) return false;
  const roc_ir_ids *then = &ir->regions.items[inst->k.region[0]];
  if (!then->count || ir->insts.items[roc_vec_last(then)].op != ROC_IR_RETURN) return false;
  uint32_t cond = roc_ir_arg(ir, inst, 0);
  return s->plan.is_stable[cond] && (s->plan.is_uniform[cond] || cpu_is_range(s, cond, false));
}

static ROC_IR_WALKS void mark_exit(cpu_state *s, uint32_t id) {
  roc_ir_walk w;
  roc_ir_walk_begin_list(&w, s->cg->ir, &id, 1);
  while (roc_ir_walk_next(&w)) s->is_exit[w.id] = true;
}

LLVMValueRef cpu_is_group_whole(cpu_state *s) {
  const roc_ir_module *ir = s->cg->ir;
  const roc_ir_ids *body = &ir->regions.items[0];
  LLVMValueRef whole = NULL;
  if (s->plan.nruns < 2 || ir->insts.count > MAX_INSTS || s->cg->options->opt_level == 0)
    return NULL;
  for (uint32_t i = 0; i < body->count; i++) {
    uint32_t id = body->items[i];
    if (!is_early_return(s, id)) continue;
    mark_exit(s, id);
    LLVMValueRef passes = cpu_holds_for_group(s, roc_ir_arg(ir, &ir->insts.items[id], 0), false);
    whole = whole ? LLVMBuildAnd(s->cg->b, whole, passes, "") : passes;
  }
  return whole;
}
