/* Ways out of a list of statements: jumps to a statement around it, the end of all work-items, and
 * the fault of work-items that part before a barrier or a wave operation. */
#include "codegen/cpu/cpu.h"

typedef struct exit_scan {
  cpu_exit_found *found;
  void *ud;
  cpu_state *s;
  roc_ir_ids inside; /* control instructions being walked through */
} exit_scan;

static bool is_inside(const exit_scan *scan, uint32_t target) {
  for (uint32_t i = 0; i < scan->inside.count; i++) {
    if (scan->inside.items[i] == target) return true;
  }
  return false;
}

static void scan_exits(exit_scan *scan, const uint32_t *ids, uint32_t count) {
  const roc_ir_module *ir = scan->s->cg->ir;
  for (uint32_t i = 0; i < count; i++) {
    const roc_ir_inst *inst = &ir->insts.items[ids[i]];
    bool leaves = inst->op == ROC_IR_LEAVE || inst->op == ROC_IR_NEXT;
    if (leaves && !is_inside(scan, inst->aux)) {
      scan->found(scan->s, inst->aux, inst->op == ROC_IR_NEXT, scan->ud);
    }
    if (!roc_ir_has_regions(inst)) continue;
    if (!roc_vec_push(&scan->inside, ids[i])) scan->s->cg->arena.failed = true;
    for (uint32_t r = 0; r < (inst->op == ROC_IR_IF ? 2u : 1u); r++) {
      const roc_ir_ids *inner = &ir->regions.items[inst->k.region[r]];
      scan_exits(scan, inner->items, inner->count);
    }
    if (scan->inside.count) scan->inside.count--;
  }
}

void cpu_find_exits(cpu_state *s, const uint32_t *ids, uint32_t count, cpu_exit_found *found,
                    void *ud) {
  exit_scan scan = {.found = found, .ud = ud, .s = s};
  scan_exits(&scan, ids, count);
  roc_vec_deinit(&scan.inside);
}

bool cpu_leads_behind(const cpu_state *s, uint32_t target, bool is_next, const uint32_t *end) {
  const roc_ir_inst *inst = &s->cg->ir->insts.items[target];
  const roc_ir_ids *ids = &s->cg->ir->regions.items[inst->k.region[0]];
  return end == ids->items + ids->count && (is_next || inst->op == ROC_IR_BLOCK);
}

void cpu_diverge(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
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
