/* Checks that fail in a run.
 *
 * A failing check leaves its number and values in per-item memory, and sets a flag that is read
 * after the loop over the items; only when it is set, a second, cold walk fills the fault record.
 * Items that are vectors keep these at their end, whether one failed or not, as a branch would
 * keep them from being vectors; those with a loop of their own keep the values where they fail. */
#include "codegen/cpu/cpu.h"

LLVMValueRef cpu_new_item_cell(cpu_state *s, LLVMTypeRef type, LLVMValueRef initial) {
  LLVMValueRef cell = roc_cg_alloca(s->cg, type, "");
  LLVMBuildStore(s->run->header_b, initial, cell);
  return cell;
}

/* Whether a value is the same for all items and known before the group loop. */
static bool is_invariant(cpu_state *s, LLVMValueRef value) {
  if (!LLVMIsAInstruction(value)) return true;
  return LLVMGetInstructionParent(value) == LLVMGetInsertBlock(s->cg->entry_b);
}

/* In the cold version, which is not vectorised, an item records its fault on the spot. */
static void fail_at_once(cpu_state *s, uint32_t site, LLVMValueRef *values, unsigned nvalues) {
  roc_cg *cg = s->cg;
  cpu_run *run = s->run;
  if (!run->fault) {
    run->fault = roc_cg_block(cg, "fault");
    run->code = roc_cg_alloca(cg, cg->t.i32, "");
  }
  for (unsigned i = 0; i < nvalues; i++) {
    if (!run->values[i]) {
      run->values[i] = cpu_new_item_cell(s, cg->t.i64, roc_cg_i64(cg, 0));
    }
    LLVMBuildStore(cg->b, values[i], run->values[i]);
  }
  LLVMBuildStore(cg->b, roc_cg_i32(cg, site), run->code);
  LLVMBuildBr(cg->b, run->fault);
}

/* The block where those items arrive. */
void cpu_finish_fault(cpu_state *s, cpu_run *run) {
  roc_cg *cg = s->cg;
  LLVMBasicBlockRef here = LLVMGetInsertBlock(cg->b);
  LLVMValueRef ids[3], values[ROC_SITE_MAX_VALUES];
  roc_cg_at(cg, run->fault);
  LLVMValueRef index = run->loops[0].index;
  if (run->turning_x) cpu_place_row(s, run, LLVMBuildUDiv(cg->b, index, s->count[0], ""));
  unsigned most = 0;
  for (; most < ROC_SITE_MAX_VALUES && run->values[most]; most++) {
    values[most] = LLVMBuildLoad2(cg->b, cg->t.i64, run->values[most], "");
  }
  for (unsigned d = 0; d < 3; d++) ids[d] = cg->target->launch_value(cg, ROC_IR_GLOBAL_ID, d);
  LLVMValueRef site = LLVMBuildLoad2(cg->b, cg->t.i32, run->code, "");
  roc_cg_record_fault(cg, site, ids, values, most);
  LLVMBuildBr(cg->b, run->dead ? run->dead : run->latch);
  roc_cg_at(cg, here);
}

/* For the walk: the nth value of the item's check that failed. */
static void keep_value(cpu_state *s, unsigned n, LLVMValueRef value) {
  if (!s->fail_values[n].base) s->fail_values[n] = cpu_slot_new(s, s->cg->t.i64, 1);
  roc_cg_store(s->cg, value, cpu_slot_item(s, &s->fail_values[n]));
}

void cpu_fail_hook(roc_cg *cg, uint32_t site, LLVMValueRef *values, unsigned nvalues) {
  cpu_state *s = cpu_of(cg);
  cpu_run *run = s->run;
  if (s->is_in_strip) LLVMBuildStore(cg->b, roc_cg_i64(cg, 0), s->budget); /* it has not paid */
  if (s->is_cold) {
    fail_at_once(s, site, values, nvalues);
    return;
  }
  cpu_fail fail = {.site = site, .nvalues = nvalues};
  if (!run->code) run->code = cpu_new_item_cell(s, cg->t.i32, roc_cg_i32(cg, 0));
  for (unsigned i = 0, kept = 0; i < nvalues; i++) {
    if (is_invariant(s, values[i])) {
      fail.invariant[i] = values[i];
      continue;
    }
    if (run->has_loop) {
      keep_value(s, kept++, values[i]);
      continue;
    }
    if (!run->values[kept]) {
      run->values[kept] = cpu_new_item_cell(s, cg->t.i64, LLVMGetPoison(cg->t.i64));
    }
    LLVMBuildStore(cg->b, values[i], run->values[kept++]);
  }
  if (!roc_vec_push(&run->fails, fail)) cg->arena.failed = true;
  LLVMBuildStore(cg->b, roc_cg_i32(cg, run->fails.count), run->code);
  roc_cg_goto(cg, run->dead ? run->dead : run->latch);
}

/* At the latch: what the item keeps for the walk. */
void cpu_keep_fail(cpu_state *s, cpu_run *run, LLVMValueRef any) {
  roc_cg *cg = s->cg;
  if (!s->code.base) s->code = cpu_slot_new(s, cg->t.i32, 1);
  LLVMValueRef code = LLVMBuildLoad2(cg->b, cg->t.i32, run->code, "");
  roc_cg_store(cg, code, cpu_slot_item(s, &s->code));
  for (unsigned i = 0; i < ROC_SITE_MAX_VALUES && run->values[i]; i++) {
    keep_value(s, i, LLVMBuildLoad2(cg->b, cg->t.i64, run->values[i], ""));
  }
  LLVMValueRef sum = LLVMBuildLoad2(cg->b, cg->t.i32, any, "");
  LLVMBuildStore(cg->b, LLVMBuildOr(cg->b, sum, code, ""), any);
}

/* In the walk, at an item that failed: site and values by its code, through cells, then the
 * record. */
static void record_item(cpu_state *s, const cpu_run *failed, LLVMValueRef code,
                        LLVMBasicBlockRef next) {
  roc_cg *cg = s->cg;
  LLVMValueRef site = roc_cg_alloca(cg, cg->t.i32, ""), cells[ROC_SITE_MAX_VALUES], ids[3];
  unsigned most = 0;
  for (uint32_t f = 0; f < failed->fails.count; f++) {
    if (failed->fails.items[f].nvalues > most) most = failed->fails.items[f].nvalues;
  }
  for (unsigned i = 0; i < most; i++) cells[i] = roc_cg_alloca(cg, cg->t.i64, "");
  LLVMBasicBlockRef join = roc_cg_block(cg, "fault");
  LLVMValueRef choose = LLVMBuildSwitch(cg->b, code, next, failed->fails.count);
  for (uint32_t f = 0; f < failed->fails.count; f++) {
    const cpu_fail *fail = &failed->fails.items[f];
    LLVMBasicBlockRef block = roc_cg_block(cg, "site");
    LLVMAddCase(choose, roc_cg_i32(cg, f + 1), block);
    roc_cg_at(cg, block);
    LLVMBuildStore(cg->b, roc_cg_i32(cg, fail->site), site);
    for (unsigned i = 0, kept = 0; i < fail->nvalues; i++) {
      LLVMValueRef value = fail->invariant[i];
      if (!value) {
        value = LLVMBuildLoad2(cg->b, cg->t.i64, cpu_slot_item(s, &s->fail_values[kept++]), "");
      }
      LLVMBuildStore(cg->b, value, cells[i]);
    }
    LLVMBuildBr(cg->b, join);
  }
  roc_cg_at(cg, join);
  LLVMValueRef values[ROC_SITE_MAX_VALUES];
  for (unsigned i = 0; i < most; i++) values[i] = LLVMBuildLoad2(cg->b, cg->t.i64, cells[i], "");
  for (unsigned d = 0; d < 3; d++) ids[d] = cg->target->launch_value(cg, ROC_IR_GLOBAL_ID, d);
  roc_cg_record_fault(cg, LLVMBuildLoad2(cg->b, cg->t.i32, site, ""), ids, values, most);
  LLVMBuildBr(cg->b, next);
}

void cpu_walk_fails(cpu_state *s, const cpu_run *failed, LLVMValueRef any) {
  roc_cg *cg = s->cg;
  LLVMBasicBlockRef cold = roc_cg_block(cg, "failed"), go_on = roc_cg_block(cg, "checked");
  LLVMValueRef sum = LLVMBuildLoad2(cg->b, cg->t.i32, any, "");
  LLVMValueRef fine = LLVMBuildICmp(cg->b, LLVMIntEQ, sum, roc_cg_i32(cg, 0), "");
  roc_cg_branch_likely(cg, fine, go_on, cold);
  roc_cg_at(cg, cold);
  bool may_be_dead = s->may_be_dead; /* the failed ones are dead by now, but have their codes */
  s->may_be_dead = false;
  cpu_run walk;
  cpu_items_begin(s, &walk, false);
  LLVMValueRef code = LLVMBuildLoad2(cg->b, cg->t.i32, cpu_slot_item(s, &s->code), "");
  record_item(s, failed, code, walk.latch);
  roc_cg_at(cg, roc_cg_block(cg, "unused"));
  LLVMBuildUnreachable(cg->b);
  cpu_items_end(s);
  s->may_be_dead = may_be_dead;
  LLVMBuildBr(cg->b, go_on);
  roc_cg_at(cg, go_on);
}
