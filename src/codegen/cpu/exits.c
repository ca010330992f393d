/* Ways out of a list of statements: jumps to a statement around it, the end of all work-items, and
 * the fault of work-items that part before a barrier or a wave operation. */
#include "codegen/cpu/cpu.h"
#include "ir/walk.h"

void cpu_find_exits(cpu_state *s, const uint32_t *ids, uint32_t count, cpu_exit_found *found,
                    void *ud) {
  roc_ir_walk w;
  roc_ir_walk_begin_list(&w, s->cg->ir, ids, count);
  while (roc_ir_walk_next(&w)) {
    bool leaves = w.inst->op == ROC_IR_LEAVE || w.inst->op == ROC_IR_NEXT;
    if (leaves && !roc_ir_walk_is_inside(&w, w.inst->aux)) {
      found(s, w.inst->aux, w.inst->op == ROC_IR_NEXT, ud);
    }
  }
}

bool cpu_leads_behind(const cpu_state *s, uint32_t target, bool is_next, const uint32_t *end) {
  const roc_ir_inst *inst = &s->cg->ir->insts.items[target];
  const roc_ir_ids *ids = &s->cg->ir->regions.items[inst->k.region[0]];
  return end == ids->items + ids->count && (is_next || inst->op == ROC_IR_BLOCK);
}

void cpu_diverge(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  if (s->is_inspecting) {
    LLVMBuildBr(cg->b, s->lost);
    return;
  }
  uint32_t site = roc_cg_divergent_site(cg, id, s->plan.cuts[id] & ROC_IRF_CUT_GROUP);
  LLVMValueRef ids[3];
  for (unsigned d = 0; d < 3; d++) {
    ids[d] = LLVMBuildAdd(cg->b, s->group_first[d], roc_cg_i64(cg, 1), "");
  }
  roc_cg_record_fault(cg, roc_cg_i32(cg, site), ids, NULL, 0);
  LLVMBuildBr(cg->b, s->level->group_end);
}

void cpu_end_if_all_dead(cpu_state *s) {
  roc_cg *cg = s->cg;
  LLVMBasicBlockRef go_on = roc_cg_block(cg, "alive");
  LLVMValueRef left = LLVMBuildLoad2(cg->b, cg->t.i64, s->level->live_count, "");
  LLVMValueRef some = LLVMBuildICmp(cg->b, LLVMIntNE, left, roc_cg_i64(cg, 0), "");
  LLVMBuildCondBr(cg->b, some, go_on, s->level->end);
  roc_cg_at(cg, go_on);
}
