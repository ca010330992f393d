/* One run as a loop over work-items (cpu/item_loops.c).
 *
 * An item that ends early goes to the latch, never out of the loop.  A failing check leaves its
 * number and values in per-item memory, and sets a flag that is read after the loop; only when it
 * is set, a second, cold walk fills the fault record.  Variables that live across runs are copied
 * for all items at the loop's begin and end, so that the body works on registers. */
#include "codegen/cpu/cpu.h"
#include "ir/walk.h"

/* ---- what is in a run ---------------------------------------------------------------------- */

typedef struct scan {
  cpu_state *s;
  roc_vec(uint32_t) vars;
  bool has_atomic;
} scan;

static void note_var(scan *c, uint32_t var) {
  if (!c->s->plan.var_slotted[var]) return;
  for (uint32_t i = 0; i < c->vars.count; i++) {
    if (c->vars.items[i] == var) return;
  }
  if (!roc_vec_push(&c->vars, var)) c->s->cg->arena.failed = true;
}

static ROC_IR_WALKS void scan_insts(scan *c, const uint32_t *ids, uint32_t count) {
  roc_ir_walk w;
  roc_ir_walk_begin_list(&w, c->s->cg->ir, ids, count);
  while (roc_ir_walk_next(&w)) {
    bool gets = w.inst->op == ROC_IR_GET && !c->s->plan.is_remat[w.id];
    if (gets || w.inst->op == ROC_IR_SET || w.inst->op == ROC_IR_FOR) note_var(c, w.inst->aux);
    c->has_atomic |= w.inst->op == ROC_IR_ATOMIC || w.inst->op == ROC_IR_PRINT;
  }
}

/* Values that are recomputed are made in the header, once, wherever they stand; a guard may be
 * decided; loops may look around. */
bool cpu_intercept(roc_cg *cg, uint32_t id) {
  if (cpu_of(cg)->is_clear && cpu_of(cg)->is_settled[id]) return true;
  if (cpu_of(cg)->ways[id]) {
    roc_cg_region(cg, cg->ir->insts.items[id].k.region[cpu_of(cg)->ways[id] - 1]);
    return true;
  }
  if (cpu_emit_strip_end(cpu_of(cg), id)) return true;
  if (!cpu_of(cg)->plan.is_remat[id]) return cpu_emit_looked_loop(cpu_of(cg), id);
  cpu_operand(cg, id);
  return true;
}

/* ---- failing checks ---------------------------------------------------------------------- */

static LLVMValueRef new_item_cell(cpu_state *s, LLVMTypeRef type, LLVMValueRef initial) {
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
      run->values[i] = new_item_cell(s, cg->t.i64, roc_cg_i64(cg, 0));
    }
    LLVMBuildStore(cg->b, values[i], run->values[i]);
  }
  LLVMBuildStore(cg->b, roc_cg_i32(cg, site), run->code);
  LLVMBuildBr(cg->b, run->fault);
}

/* The block where those items arrive. */
static void finish_fault(cpu_state *s, cpu_run *run) {
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

void cpu_fail_hook(roc_cg *cg, uint32_t site, LLVMValueRef *values, unsigned nvalues) {
  cpu_state *s = cpu_of(cg);
  cpu_run *run = s->run;
  if (s->is_in_strip) LLVMBuildStore(cg->b, roc_cg_i64(cg, 0), s->budget); /* it has not paid */
  if (s->is_cold) {
    fail_at_once(s, site, values, nvalues);
    return;
  }
  cpu_fail fail = {.site = site, .nvalues = nvalues};
  if (!run->code) run->code = new_item_cell(s, cg->t.i32, roc_cg_i32(cg, 0));
  for (unsigned i = 0, kept = 0; i < nvalues; i++) {
    if (is_invariant(s, values[i])) {
      fail.invariant[i] = values[i];
      continue;
    }
    if (!run->values[kept]) {
      run->values[kept] = new_item_cell(s, cg->t.i64, LLVMGetPoison(cg->t.i64));
    }
    LLVMBuildStore(cg->b, values[i], run->values[kept++]);
  }
  if (!roc_vec_push(&run->fails, fail)) cg->arena.failed = true;
  LLVMBuildStore(cg->b, roc_cg_i32(cg, run->fails.count), run->code);
  roc_cg_goto(cg, run->dead ? run->dead : run->latch);
}

/* At the latch: what the item keeps for the walk. */
static void keep_fail(cpu_state *s, cpu_run *run, LLVMValueRef any) {
  roc_cg *cg = s->cg;
  if (!s->code.base) s->code = cpu_slot_new(s, cg->t.i32, 1);
  LLVMValueRef code = LLVMBuildLoad2(cg->b, cg->t.i32, run->code, "");
  roc_cg_store(cg, code, cpu_slot_item(s, &s->code));
  for (unsigned i = 0; i < ROC_SITE_MAX_VALUES && run->values[i]; i++) {
    if (!s->fail_values[i].base) s->fail_values[i] = cpu_slot_new(s, cg->t.i64, 1);
    LLVMValueRef value = LLVMBuildLoad2(cg->b, cg->t.i64, run->values[i], "");
    roc_cg_store(cg, value, cpu_slot_item(s, &s->fail_values[i]));
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

/* After a run in which a check failed: the second, cold walk. */
static void walk_fails(cpu_state *s, const cpu_run *failed, LLVMValueRef any) {
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

/* ---- items that end ---------------------------------------------------------------------- */

static void begin_deaths(cpu_state *s, cpu_run *run) {
  roc_cg *cg = s->cg;
  run->dead = roc_cg_block(cg, "dead");
  run->died = new_item_cell(s, cg->t.i8, LLVMConstInt(cg->t.i8, 0, 0));
  LLVMBasicBlockRef here = LLVMGetInsertBlock(cg->b);
  roc_cg_at(cg, run->dead);
  LLVMBuildStore(cg->b, LLVMConstInt(cg->t.i8, 1, 0), run->died);
  LLVMBuildBr(cg->b, run->latch);
  roc_cg_at(cg, here);
}

/* At the latch: the live byte of all items, and the count of those that ended here. */
static void keep_deaths(cpu_state *s, cpu_run *run, LLVMValueRef count) {
  roc_cg *cg = s->cg;
  LLVMValueRef died = LLVMBuildLoad2(cg->b, cg->t.i8, run->died, "");
  LLVMValueRef lives = LLVMBuildXor(cg->b, died, LLVMConstInt(cg->t.i8, 1, 0), "");
  if (run->is_live) {
    lives = LLVMBuildAnd(cg->b, lives, LLVMBuildZExt(cg->b, run->is_live, cg->t.i8, ""), "");
  }
  roc_cg_store(cg, lives, cpu_slot_item(s, &s->live));
  LLVMValueRef sum = LLVMBuildLoad2(cg->b, cg->t.i64, count, "");
  LLVMValueRef wide = LLVMBuildZExt(cg->b, died, cg->t.i64, "");
  LLVMBuildStore(cg->b, LLVMBuildAdd(cg->b, sum, wide, ""), count);
}

static void subtract_deaths(cpu_state *s, LLVMValueRef count) {
  roc_cg *cg = s->cg;
  LLVMValueRef died = LLVMBuildLoad2(cg->b, cg->t.i64, count, "");
  for (cpu_level *level = s->level; level; level = level->outer) {
    LLVMValueRef live = LLVMBuildLoad2(cg->b, cg->t.i64, level->live_count, "");
    LLVMBuildStore(cg->b, LLVMBuildSub(cg->b, live, died, ""), level->live_count);
  }
  cpu_end_if_all_dead(s);
}

/* ---- a run ------------------------------------------------------------------------------- */

/* A way out of the run to a statement around it: the items that take it are counted. */
typedef struct run_exit {
  uint32_t target;
  bool is_next;
  LLVMValueRef count;
  roc_cg_exits saved;
} run_exit;
typedef roc_vec(run_exit) run_exits;

static void note_exit(cpu_state *s, uint32_t target, bool is_next, void *ud) {
  run_exits *exits = ud;
  for (uint32_t i = 0; i < exits->count; i++) {
    if (exits->items[i].target == target && exits->items[i].is_next == is_next) return;
  }
  run_exit e = {.target = target, .is_next = is_next, .saved = s->cg->exits[target]};
  e.count = roc_cg_alloca(s->cg, s->cg->t.i64, "");
  LLVMBuildStore(s->cg->b, roc_cg_i64(s->cg, 0), e.count);
  if (!roc_vec_push(exits, e)) s->cg->arena.failed = true;
}

static void begin_exit(cpu_state *s, run_exit *e) {
  roc_cg *cg = s->cg;
  LLVMBasicBlockRef here = LLVMGetInsertBlock(cg->b), landing = roc_cg_block(cg, "leave");
  roc_cg_at(cg, landing);
  LLVMValueRef count = LLVMBuildLoad2(cg->b, cg->t.i64, e->count, "");
  LLVMBuildStore(cg->b, LLVMBuildAdd(cg->b, count, roc_cg_i64(cg, 1), ""), e->count);
  LLVMBuildBr(cg->b, s->run->latch);
  if (e->is_next) {
    cg->exits[e->target].next = landing;
  } else {
    cg->exits[e->target].leave = landing;
  }
  roc_cg_at(cg, here);
}

/* After the run: when items took this exit, all of them must have; unless it leads to where the
 * others are as well. */
static void finish_exit(cpu_state *s, const run_exit *e, bool is_tail) {
  roc_cg *cg = s->cg;
  cg->exits[e->target] = e->saved;
  if (is_tail) return;
  LLVMBasicBlockRef go_on = roc_cg_block(cg, "stay"), taken = roc_cg_block(cg, "taken");
  LLVMBasicBlockRef to = e->is_next ? s->exits[e->target].next : s->exits[e->target].leave;
  LLVMValueRef count = LLVMBuildLoad2(cg->b, cg->t.i64, e->count, "");
  LLVMValueRef some = LLVMBuildICmp(cg->b, LLVMIntNE, count, roc_cg_i64(cg, 0), "");
  LLVMBuildCondBr(cg->b, some, taken, go_on);
  roc_cg_at(cg, taken);
  if (cg->ir->check) {
    LLVMBasicBlockRef split = roc_cg_block(cg, "divergent");
    LLVMValueRef live = LLVMBuildLoad2(cg->b, cg->t.i64, s->level->live_count, "");
    roc_cg_branch_likely(cg, LLVMBuildICmp(cg->b, LLVMIntEQ, count, live, ""), to, split);
    roc_cg_at(cg, split);
    cpu_diverge(s, e->target);
  } else {
    LLVMBuildBr(cg->b, to);
  }
  roc_cg_at(cg, go_on);
}

static void emit_loop(cpu_state *s, const uint32_t *ids, uint32_t count) {
  roc_cg *cg = s->cg;
  bool deaths = s->needs_live && cpu_plan_stops(&s->plan, ids, count);
  scan found = {.s = s};
  scan_insts(&found, ids, count);
  run_exits exits = {0};
  cpu_find_exits(s, ids, count, note_exit, &exits);
  LLVMValueRef any = roc_cg_alloca(cg, cg->t.i32, ""), ndied = roc_cg_alloca(cg, cg->t.i64, "");
  LLVMBuildStore(cg->b, roc_cg_i32(cg, 0), any);
  LLVMBuildStore(cg->b, roc_cg_i64(cg, 0), ndied);

  cpu_run run;
  cpu_items_begin(s, &run, !found.has_atomic);
  if (deaths) begin_deaths(s, &run);
  cg->exit = run.dead ? run.dead : run.latch;
  for (uint32_t i = 0; i < exits.count; i++) begin_exit(s, &exits.items[i]);
  for (uint32_t i = 0; i < found.vars.count; i++) cpu_var_copy_in(s, found.vars.items[i]);
  roc_cg_insts(cg, ids, count);
  roc_cg_goto(cg, run.latch);
  if (run.fault) finish_fault(s, &run);
  roc_cg_at(cg, run.latch);
  for (uint32_t i = 0; i < found.vars.count; i++) cpu_var_copy_out(s, found.vars.items[i]);
  if (run.fails.count) keep_fail(s, &run, any);
  if (run.died) keep_deaths(s, &run, ndied);
  cpu_items_end(s);

  if (run.fails.count) walk_fails(s, &run, any);
  if (deaths) {
    s->may_be_dead = true;
    subtract_deaths(s, ndied);
  }
  for (uint32_t i = 0; i < exits.count; i++) {
    const run_exit *e = &exits.items[i];
    finish_exit(s, e, cpu_leads_behind(s, e->target, e->is_next, ids + count));
  }
  roc_vec_deinit(&run.fails);
  roc_vec_deinit(&exits);
  roc_vec_deinit(&found.vars);
}

/* The items for which the guards hold, then the others. */
static void emit_split(cpu_state *s, const uint32_t *ids, uint32_t count, const cpu_split *split) {
  s->split = split;
  for (uint32_t i = 0; i < split->guards.count; i++) {
    s->ways[split->guards.items[i].id] = split->guards.items[i].truth ? 1 : 2;
  }
  emit_loop(s, ids, count);
  for (uint32_t i = 0; i < split->guards.count; i++) {
    const cpu_guard *guard = &split->guards.items[i];
    if (!guard->is_idle) s->ways[guard->id] = !split->is_exact ? 0 : guard->truth ? 2 : 1;
  }
  s->is_rest = true;
  if (split->has_rest) emit_loop(s, ids, count);
  s->is_rest = false;
  for (uint32_t i = 0; i < split->guards.count; i++) s->ways[split->guards.items[i].id] = 0;
  s->split = NULL;
}

static void emit_version(cpu_state *s, const uint32_t *ids, uint32_t count) {
  cpu_split split;
  if (cpu_split_find(s, ids, count, &split)) {
    emit_split(s, ids, count, &split);
  } else {
    emit_loop(s, ids, count);
  }
  cpu_split_deinit(&split);
}

/* After a place where items can end, a run is made twice: without a guard for groups that are
 * still whole, so that loads common to the items stay plain loads, and guarded by the live mask for
 * the others. */
void cpu_emit_run(cpu_state *s, const uint32_t *ids, uint32_t count) {
  roc_cg *cg = s->cg;
  bool is_twofold = s->level->kind == CPU_LEVEL_GROUP ||
                    (s->level->kind == CPU_LEVEL_ROW && !s->level->is_single);
  if (!s->needs_live || !s->may_be_dead || !is_twofold || s->is_cold) {
    emit_version(s, ids, count);
    return;
  }
  LLVMBasicBlockRef whole = roc_cg_block(cg, "whole"), thinned = roc_cg_block(cg, "thinned");
  LLVMBasicBlockRef join = roc_cg_block(cg, "join");
  LLVMValueRef live = LLVMBuildLoad2(cg->b, cg->t.i64, s->level->live_count, "");
  LLVMValueRef is_whole = LLVMBuildICmp(cg->b, LLVMIntEQ, live, s->level->present, "");
  roc_cg_branch_likely(cg, is_whole, whole, thinned);
  roc_cg_at(cg, whole);
  s->all_alive = true;
  emit_version(s, ids, count);
  s->all_alive = false;
  roc_cg_goto(cg, join);
  roc_cg_at(cg, thinned);
  emit_version(s, ids, count);
  roc_cg_goto(cg, join);
  roc_cg_at(cg, join);
}
