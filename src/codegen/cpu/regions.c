/* Statement lists of a group, or of a wavefront: runs become item loops, statements that hold a cut
 * are executed by all together.
 *
 * Conditions and bounds of such statements are evaluated per item and reduced: in a checked kernel
 * items that disagree are a fault, in an unchecked one any answer will do.  Invariant: whenever a
 * cut is executed at least one item is alive. */
#include "codegen/cpu/cpu.h"

/* ---- conditions and bounds --------------------------------------------------------------- */

typedef struct extremes {
  LLVMValueRef least, most; /* i64 allocas */
} extremes;

static void widen(roc_cg *cg, const char *name, LLVMValueRef value, LLVMValueRef cell) {
  LLVMValueRef args[2] = {LLVMBuildLoad2(cg->b, cg->t.i64, cell, ""), value};
  LLVMBuildStore(cg->b, roc_cg_intrinsic(cg, name, &cg->t.i64, 1, args, 2), cell);
}

/* Opens an item loop that reduces a value, i64. */
static extremes open_extremes(cpu_state *s, cpu_run *run) {
  roc_cg *cg = s->cg;
  extremes e = {roc_cg_alloca(cg, cg->t.i64, ""), roc_cg_alloca(cg, cg->t.i64, "")};
  LLVMBuildStore(cg->b, roc_cg_i64(cg, INT64_MAX), e.least);
  LLVMBuildStore(cg->b, roc_cg_i64(cg, INT64_MIN), e.most);
  cpu_items_begin(s, run, true);
  return e;
}

/* Closes it: what all live items agree on, or else statement `at` fails. */
static LLVMValueRef close_extremes(cpu_state *s, const extremes *e, uint32_t at,
                                   LLVMValueRef value) {
  roc_cg *cg = s->cg;
  widen(cg, "llvm.smin", value, e->least);
  widen(cg, "llvm.smax", value, e->most);
  cpu_items_end(s);
  LLVMValueRef most = LLVMBuildLoad2(cg->b, cg->t.i64, e->most, "");
  if (!cg->ir->check) return most;
  LLVMValueRef least = LLVMBuildLoad2(cg->b, cg->t.i64, e->least, "");
  LLVMBasicBlockRef same = roc_cg_block(cg, "agreed"), split = roc_cg_block(cg, "divergent");
  roc_cg_branch_likely(cg, LLVMBuildICmp(cg->b, LLVMIntEQ, least, most, ""), same, split);
  roc_cg_at(cg, split);
  cpu_diverge(s, at);
  roc_cg_at(cg, same);
  return most;
}

/* The value that all live items agree on, as i64. */
static LLVMValueRef agree(cpu_state *s, uint32_t at, uint32_t id) {
  roc_cg *cg = s->cg;
  bool is_bool = cg->ir->insts.items[id].type == ROC_VT_BOOL;
  if (s->plan.is_uniform[id]) {
    LLVMValueRef value = cpu_group_value(s, id);
    return is_bool ? LLVMBuildZExt(cg->b, value, cg->t.i64, "") : value;
  }
  cpu_run run;
  extremes e = open_extremes(s, &run);
  LLVMValueRef value = cpu_operand(cg, id);
  if (is_bool) value = LLVMBuildZExt(cg->b, value, cg->t.i64, "");
  return close_extremes(s, &e, at, value);
}

/* How often all live items run a FOR, whatever they count. */
static LLVMValueRef agree_on_count(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  LLVMValueRef bounds[3];
  cpu_run run;
  extremes e = open_extremes(s, &run);
  for (uint32_t i = 0; i < 3; i++) bounds[i] = cpu_operand(cg, roc_ir_arg(cg->ir, inst, i));
  LLVMValueRef count = roc_cg_for_count(cg, bounds[0], bounds[1], bounds[2]);
  return close_extremes(s, &e, id, count);
}

/* ---- statements that hold a cut ---------------------------------------------------------- */

static void emit_region(cpu_state *s, uint32_t region) {
  const roc_ir_ids *ids = &s->cg->ir->regions.items[region];
  cpu_emit_list(s, ids->items, ids->count);
}

static void emit_if(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  LLVMValueRef truth = agree(s, id, roc_ir_arg(cg->ir, inst, 0));
  LLVMBasicBlockRef yes = roc_cg_block(cg, "group.then"), no = roc_cg_block(cg, "group.else");
  LLVMBasicBlockRef end = roc_cg_block(cg, "group.end");
  LLVMBuildCondBr(cg->b, LLVMBuildICmp(cg->b, LLVMIntNE, truth, roc_cg_i64(cg, 0), ""), yes, no);
  roc_cg_at(cg, yes);
  bool may_be_dead = s->may_be_dead;
  emit_region(s, inst->k.region[0]);
  roc_cg_goto(cg, end);
  bool after_yes = s->may_be_dead;
  s->may_be_dead = may_be_dead;
  roc_cg_at(cg, no);
  emit_region(s, inst->k.region[1]);
  roc_cg_goto(cg, end);
  s->may_be_dead |= after_yes;
  roc_cg_at(cg, end);
}

static void emit_block(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  LLVMBasicBlockRef end = roc_cg_block(cg, "group.end");
  s->exits[id].leave = end;
  emit_region(s, cg->ir->insts.items[id].k.region[0]);
  roc_cg_goto(cg, end);
  roc_cg_at(cg, end);
}

static void emit_loop(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  LLVMBasicBlockRef body = roc_cg_block(cg, "group.loop"), end = roc_cg_block(cg, "group.end");
  LLVMBasicBlockRef next = roc_cg_block(cg, "group.next");
  s->exits[id] = (roc_cg_exits){.leave = end, .next = next};
  s->may_be_dead |= s->plan.stops[id];
  LLVMBuildBr(cg->b, body);
  roc_cg_at(cg, body);
  emit_region(s, cg->ir->insts.items[id].k.region[0]);
  roc_cg_goto(cg, next);
  roc_cg_at(cg, next);
  cpu_look(s, id, s->items);
  LLVMBuildBr(cg->b, body);
  roc_cg_at(cg, end);
}

/* Each item's own value of an itemwise FOR: the first, or the next. */
static void step_items(cpu_state *s, const roc_ir_inst *inst, bool is_first) {
  roc_cg *cg = s->cg;
  cpu_run run;
  if (!s->plan.var_slotted[inst->aux]) return;
  cpu_items_begin(s, &run, true);
  LLVMValueRef value = cpu_operand(cg, roc_ir_arg(cg->ir, inst, is_first ? 0 : 2));
  if (!is_first) value = LLVMBuildAdd(cg->b, cpu_var_take(s, inst->aux), value, "");
  cpu_var_put(s, inst->aux, value);
  cpu_items_end(s);
}

static LLVMValueRef loop_count(cpu_state *s, uint32_t id, LLVMValueRef *first, LLVMValueRef *step) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  if (s->plan.is_itemwise[id]) {
    *first = *step = roc_cg_i64(cg, 0);
    return agree_on_count(s, id);
  }
  uint32_t last = roc_ir_arg(cg->ir, inst, 1);
  *first = agree(s, id, roc_ir_arg(cg->ir, inst, 0));
  *step = agree(s, id, roc_ir_arg(cg->ir, inst, 2));
  if (!s->plan.is_uniform[last]) return agree_on_count(s, id);
  return roc_cg_for_count(cg, *first, agree(s, id, last), *step);
}

static void emit_for(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  bool is_itemwise = s->plan.is_itemwise[id];
  LLVMValueRef first, step, count = loop_count(s, id, &first, &step);
  if (is_itemwise) step_items(s, inst, true);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(cg->b);
  LLVMBasicBlockRef body = roc_cg_block(cg, "group.for"), next = roc_cg_block(cg, "group.next");
  LLVMBasicBlockRef end = roc_cg_block(cg, "group.end");
  s->exits[id] = (roc_cg_exits){.leave = end, .next = next};
  s->may_be_dead |= s->plan.stops[id];
  LLVMValueRef zero = roc_cg_i64(cg, 0);
  LLVMBuildCondBr(cg->b, LLVMBuildICmp(cg->b, LLVMIntNE, count, zero, ""), body, end);
  roc_cg_at(cg, body);
  LLVMValueRef left = LLVMBuildPhi(cg->b, cg->t.i64, "left");
  LLVMValueRef value = LLVMBuildPhi(cg->b, cg->t.i64, cg->ir->vars.items[inst->aux].name);
  if (!is_itemwise) LLVMBuildStore(cg->b, value, roc_cg_var(cg, inst->aux));
  emit_region(s, inst->k.region[0]);
  roc_cg_goto(cg, next);
  roc_cg_at(cg, next);
  if (is_itemwise) step_items(s, inst, false);
  cpu_look(s, id, s->items);
  LLVMValueRef left_next = LLVMBuildSub(cg->b, left, roc_cg_i64(cg, 1), "");
  LLVMValueRef value_next = LLVMBuildNSWAdd(cg->b, value, step, "");
  next = LLVMGetInsertBlock(cg->b);
  LLVMBuildCondBr(cg->b, LLVMBuildICmp(cg->b, LLVMIntNE, left_next, zero, ""), body, end);
  LLVMBasicBlockRef blocks[2] = {before, next};
  LLVMAddIncoming(left, (LLVMValueRef[2]){count, left_next}, blocks, 2);
  LLVMAddIncoming(value, (LLVMValueRef[2]){first, value_next}, blocks, 2);
  roc_cg_at(cg, end);
}

static void emit_cut(cpu_state *s, uint32_t id) {
  if (s->left_out && s->left_out[id]) return;
  if (s->level->kind == CPU_LEVEL_ROW) {
    cpu_emit_row_statement(s, id);
    return;
  }
  if (s->plan.cuts[id] & CPU_CUT_ONCE) {
    cpu_once_emit(s, id);
    return;
  }
  switch ((roc_ir_op)s->cg->ir->insts.items[id].op) {
    case ROC_IR_IF: emit_if(s, id); break;
    case ROC_IR_BLOCK: emit_block(s, id); break;
    case ROC_IR_LOOP: emit_loop(s, id); break;
    case ROC_IR_FOR: emit_for(s, id); break;
    case ROC_IR_WAVE: cpu_emit_wave(s, id); break;
    default: break; /* a barrier: the item loops end here, and one thread sees its own stores */
  }
}

/* ---- wavefronts -------------------------------------------------------------------------- */

/* A way from a wavefront's statements out to a statement of the group: taken after the last
 * wavefront. */
typedef struct wave_exit {
  uint32_t target;
  bool is_next;
  LLVMValueRef taken; /* alloca i1: by a wavefront */
  roc_cg_exits saved;
} wave_exit;
typedef roc_vec(wave_exit) wave_exits;

static void note_wave_exit(cpu_state *s, uint32_t target, bool is_next, void *ud) {
  wave_exits *exits = ud;
  for (uint32_t i = 0; i < exits->count; i++) {
    if (exits->items[i].target == target && exits->items[i].is_next == is_next) return;
  }
  wave_exit e = {.target = target, .is_next = is_next, .saved = s->exits[target]};
  e.taken = roc_cg_alloca(s->cg, s->cg->t.i1, "");
  LLVMBuildStore(s->cg->b, LLVMConstInt(s->cg->t.i1, 0, 0), e.taken);
  if (!roc_vec_push(exits, e)) s->cg->arena.failed = true;
}

static void begin_wave_exit(cpu_state *s, wave_exit *e, LLVMBasicBlockRef wave_end) {
  roc_cg *cg = s->cg;
  LLVMBasicBlockRef here = LLVMGetInsertBlock(cg->b), landing = roc_cg_block(cg, "wave.leave");
  roc_cg_at(cg, landing);
  LLVMBuildStore(cg->b, LLVMConstInt(cg->t.i1, 1, 0), e->taken);
  LLVMBuildBr(cg->b, wave_end);
  *(e->is_next ? &s->exits[e->target].next : &s->exits[e->target].leave) = landing;
  roc_cg_at(cg, here);
}

/* When a wavefront took the way, all must have, and no other. */
static void finish_wave_exit(cpu_state *s, const wave_exits *exits, const wave_exit *e,
                             LLVMValueRef stayed, bool is_tail) {
  roc_cg *cg = s->cg;
  s->exits[e->target] = e->saved;
  if (is_tail) return;
  LLVMBasicBlockRef go_on = roc_cg_block(cg, "stay");
  LLVMBasicBlockRef to = e->is_next ? e->saved.next : e->saved.leave;
  LLVMValueRef taken = LLVMBuildLoad2(cg->b, cg->t.i1, e->taken, "");
  if (cg->ir->check) {
    LLVMBasicBlockRef all = roc_cg_block(cg, "left"), split = roc_cg_block(cg, "divergent");
    LLVMBuildCondBr(cg->b, taken, all, go_on);
    roc_cg_at(cg, all);
    LLVMValueRef others = LLVMBuildLoad2(cg->b, cg->t.i1, stayed, "");
    for (uint32_t i = 0; i < exits->count; i++) {
      if (&exits->items[i] == e) continue;
      LLVMValueRef other = LLVMBuildLoad2(cg->b, cg->t.i1, exits->items[i].taken, "");
      others = LLVMBuildOr(cg->b, others, other, "");
    }
    roc_cg_branch_likely(cg, LLVMBuildNot(cg->b, others, ""), to, split);
    roc_cg_at(cg, split);
    cpu_diverge(s, e->target);
  } else {
    LLVMBuildCondBr(cg->b, taken, to, go_on);
  }
  roc_cg_at(cg, go_on);
}

/* Counts the live items of the level by walking them. */
static void count_live(cpu_state *s) {
  roc_cg *cg = s->cg;
  LLVMValueRef cell = s->level->live_count;
  LLVMBuildStore(cg->b, roc_cg_i64(cg, 0), cell);
  cpu_run run;
  cpu_items_begin(s, &run, true);
  LLVMValueRef sum = LLVMBuildLoad2(cg->b, cg->t.i64, cell, "");
  LLVMBuildStore(cg->b, LLVMBuildAdd(cg->b, sum, roc_cg_i64(cg, 1), ""), cell);
  cpu_items_end(s);
}

static void emit_waves(cpu_state *s, const uint32_t *ids, uint32_t count) {
  roc_cg *cg = s->cg;
  uint32_t width = cg->options->wave_size == 32 ? 32 : 64;
  LLVMBasicBlockRef before, head, next = roc_cg_block(cg, "wave.next");
  LLVMBasicBlockRef done = roc_cg_block(cg, "wave.done");
  wave_exits exits = {0};
  cpu_find_exits(s, ids, count, note_wave_exit, &exits);
  LLVMValueRef stayed = roc_cg_alloca(cg, cg->t.i1, ""); /* a wavefront took none of them */
  LLVMBuildStore(cg->b, LLVMConstInt(cg->t.i1, 0, 0), stayed);
  before = LLVMGetInsertBlock(cg->b);
  head = roc_cg_block(cg, "wave");
  LLVMBuildBr(cg->b, head);
  roc_cg_at(cg, head);
  LLVMValueRef base = LLVMBuildPhi(cg->b, cg->t.i64, "wave.base"), zero = roc_cg_i64(cg, 0);
  LLVMAddIncoming(base, &zero, &before, 1);
  LLVMValueRef end = LLVMBuildNUWAdd(cg->b, base, roc_cg_i64(cg, width), "");
  LLVMValueRef limits[2] = {end, s->items};
  LLVMValueRef limit = roc_cg_intrinsic(cg, "llvm.umin", &cg->t.i64, 1, limits, 2);
  cpu_level level = {.kind = CPU_LEVEL_WAVE,
                     .end = next,
                     .group_end = s->level->group_end,
                     .base = base,
                     .limit = limit,
                     .outer = s->level};
  level.live_count = roc_cg_alloca(cg, cg->t.i64, "");
  s->level = &level;
  bool stops = cpu_plan_stops(&s->plan, ids, count);
  s->may_be_dead |= stops;
  count_live(s);
  cpu_end_if_all_dead(s);
  for (uint32_t i = 0; i < exits.count; i++) begin_wave_exit(s, &exits.items[i], next);
  cpu_emit_list(s, ids, count);
  if (roc_cg_is_open(cg)) LLVMBuildStore(cg->b, LLVMConstInt(cg->t.i1, 1, 0), stayed);
  roc_cg_goto(cg, next);
  s->level = level.outer;
  roc_cg_at(cg, next);
  LLVMAddIncoming(base, &end, &next, 1);
  LLVMBuildCondBr(cg->b, LLVMBuildICmp(cg->b, LLVMIntULT, end, s->items, ""), head, done);
  roc_cg_at(cg, done);
  if (stops && s->needs_live) cpu_end_if_all_dead(s);
  for (uint32_t i = 0; i < exits.count; i++) {
    const wave_exit *e = &exits.items[i];
    bool is_tail = cpu_leads_behind(s, e->target, e->is_next, ids + count);
    finish_wave_exit(s, &exits, e, stayed, is_tail);
  }
  roc_vec_deinit(&exits);
}

void cpu_emit_list(cpu_state *s, const uint32_t *ids, uint32_t count) {
  for (uint32_t i = 0, n; i < count; i += n) {
    cpu_segment_kind kind = cpu_plan_segment(&s->plan, s->level->kind, ids + i, count - i, &n);
    if (s->level->kind == CPU_LEVEL_GROUP && kind != CPU_SEGMENT_CUT) {
      cpu_once_read(s, ids + i, n);
      if (s->is_inspecting) cpu_inspect_run(s, ids + i, n);
    }
    switch (kind) {
      case CPU_SEGMENT_RUN: cpu_emit_run(s, ids + i, n); break;
      case CPU_SEGMENT_WAVES: emit_waves(s, ids + i, n); break;
      case CPU_SEGMENT_ROWS:
        if (!s->left_out || !s->left_out[ids[i]]) cpu_emit_rows(s, ids[i]);
        break;
      case CPU_SEGMENT_CUT: emit_cut(s, ids[i]); break;
    }
  }
}

/* ---- the body of a group ------------------------------------------------------------------ */

static void begin_live(cpu_state *s, cpu_level *level) {
  roc_cg *cg = s->cg;
  LLVMValueRef present = s->count[0];
  for (unsigned d = 1; d < 3 && !s->goes_by_rows; d++) {
    present = LLVMBuildMul(cg->b, present, s->count[d], "");
  }
  level->present = present;
  level->live_count = roc_cg_alloca(cg, cg->t.i64, "live");
  LLVMBuildStore(cg->b, present, level->live_count);
  if (!s->needs_live) return;
  if (!s->live.base) s->live = cpu_slot_new(s, cg->t.i8, 1);
  LLVMValueRef first = cpu_slot_at(s, &s->live, roc_cg_i64(cg, 0));
  LLVMBuildMemSet(cg->b, first, LLVMConstInt(cg->t.i8, 1, 0), s->items, 1);
}

static bool any_stop(const cpu_state *s) {
  for (uint32_t i = 0; i < s->cg->ir->insts.count; i++) {
    if (s->plan.stops[i]) return true;
  }
  return false;
}

void cpu_emit_body(cpu_state *s, uint32_t from, LLVMBasicBlockRef end) {
  cpu_level level = {.kind = CPU_LEVEL_GROUP, .end = end, .group_end = end};
  s->level = &level;
  s->may_be_dead = false;
  s->needs_live = s->plan.nruns > 1 && any_stop(s);
  begin_live(s, &level);
  const roc_ir_ids *body = &s->cg->ir->regions.items[0];
  cpu_emit_list(s, body->items + from, body->count - from);
  roc_cg_goto(s->cg, end);
}
