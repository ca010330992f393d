/* Workgroups side by side: what a grid-stride loop needs to read memory in long stretches.
 *
 * `for i = get_global_id(1), #x, get_global_size(1) do … end` takes, group after group, a kilobyte
 * here and one 64 kilobytes further on: stretches too short for the prefetchers of the hardware.
 * Workgroups are unordered, so neighbours in the first dimension may as well run the loop together,
 * iteration by iteration: what they read then adds up to one long stretch.  The body is emitted in
 * three parts, what stands before the loop, the loop, and the rest; each for all members of a batch
 * (base/codeobj.h: roc_cpu_launch.batch).  Members have frames and shared memory of their own.
 *
 * Invariant: no work-item ends, and no group waits for another, before the third part. */
#include "codegen/cpu/cpu.h"
#include "ir/walk.h"

static const roc_ir_ids *body_of(const cpu_state *s) {
  return &s->cg->ir->regions.items[0];
}

/* A loop around rows that begins elsewhere for each item, goes on by a distance that is the same
 * for all and known at launch, and reads as neighbours stand. */
static bool is_grid_stride(const cpu_state *s, uint32_t id) {
  const roc_ir_module *ir = s->cg->ir;
  const roc_ir_inst *inst = &ir->insts.items[id];
  if (inst->op != ROC_IR_FOR || !(s->plan.cuts[id] & CPU_CUT_ROW)) return false;
  uint32_t first = roc_ir_arg(ir, inst, 0), step = roc_ir_arg(ir, inst, 2);
  if (s->plan.is_uniform[first] || !s->plan.is_uniform[step]) return false;
  return ir->insts.items[step].op != ROC_IR_CONST && cpu_is_striding_loop(s, id);
}

/* Variables that are kept once for a group (cpu/once.c) are kept once for a whole batch: none is
 * read up to the end of the loop, and what is set before can be set again. */
static ROC_IR_WALKS bool keeps_no_group_vars(const cpu_state *s, uint32_t at) {
  const cpu_plan *plan = &s->plan;
  roc_ir_walk w;
  roc_ir_walk_begin_list(&w, s->cg->ir, body_of(s)->items, at + 1);
  while (plan->has_group_vars && roc_ir_walk_next(&w)) {
    bool is_of_group =
        (w.inst->op == ROC_IR_GET || w.inst->op == ROC_IR_SET) && plan->is_group_var[w.inst->aux];
    if (!is_of_group) continue;
    if (w.inst->op == ROC_IR_GET) return false;
    if (!plan->is_stable[roc_ir_arg(s->cg->ir, w.inst, 0)]) return false;
  }
  return true;
}

uint32_t cpu_batch_find(const cpu_state *s) {
  const roc_ir_ids *body = body_of(s);
  for (uint32_t i = 0; i < body->count; i++) {
    uint32_t id = body->items[i];
    if (is_grid_stride(s, id)) return keeps_no_group_vars(s, i) ? i : ROC_IR_NONE;
    roc_ir_op op = s->cg->ir->insts.items[id].op;
    if (s->plan.cuts[id] && op != ROC_IR_BARRIER && op != ROC_IR_SET) break;
  }
  return ROC_IR_NONE;
}

bool cpu_batch_may_run(const cpu_state *s, uint32_t at) {
  for (uint32_t i = 0; i <= at; i++) {
    if (s->plan.stops[body_of(s)->items[i]]) return false;
  }
  return true;
}

/* ---- members ----------------------------------------------------------------------------- */

LLVMValueRef cpu_batch_limit(cpu_state *s, LLVMValueRef g) {
  LLVMBuilderRef b = s->cg->b;
  LLVMValueRef left[2] = {LLVMBuildNUWSub(b, s->end, g, ""),
                          LLVMBuildNUWSub(b, s->groups[0], s->group[0], "")};
  left[0] = roc_cg_intrinsic(s->cg, "llvm.umin", &s->cg->t.i64, 1, left, 2);
  left[1] = s->batch;
  return roc_cg_intrinsic(s->cg, "llvm.umin", &s->cg->t.i64, 1, left, 2);
}

LLVMValueRef cpu_batch_preflight(cpu_state *s, LLVMValueRef count, bool *out_has_checks) {
  roc_cg *cg = s->cg;
  LLVMValueRef nclear = roc_cg_alloca(cg, cg->t.i64, "clear");
  LLVMBasicBlockRef clear = roc_cg_block(cg, "clear"), end = roc_cg_block(cg, "clear.end");
  LLVMBuildStore(cg->b, roc_cg_i64(cg, 0), nclear);
  cpu_members m;
  cpu_members_begin(s, &m, count);
  LLVMValueRef is_clear = cpu_preflight(s);
  *out_has_checks = is_clear != NULL;
  if (!is_clear) is_clear = LLVMConstInt(cg->t.i1, 1, 0);
  LLVMBuildCondBr(cg->b, is_clear, clear, end);
  roc_cg_at(cg, clear);
  LLVMBuildStore(cg->b, LLVMBuildNUWAdd(cg->b, m.loop.index, roc_cg_i64(cg, 1), ""), nclear);
  cpu_members_end(s, &m);
  LLVMBuildBr(cg->b, end);
  roc_cg_at(cg, end);
  return LLVMBuildLoad2(cg->b, cg->t.i64, nclear, "");
}

/* ---- the three parts --------------------------------------------------------------------- */

static void emit_before(cpu_state *s, uint32_t at, LLVMValueRef count) {
  if (at == 0) return;
  cpu_members m;
  cpu_members_begin(s, &m, count);
  cpu_emit_list(s, body_of(s)->items, at);
  cpu_members_end(s, &m);
}

static void emit_rest(cpu_state *s, uint32_t at, LLVMValueRef count) {
  cpu_members m;
  cpu_members_begin(s, &m, count);
  LLVMBasicBlockRef next = roc_cg_block(s->cg, "member.end");
  for (uint32_t i = 0; i < at; i++) {
    uint32_t id = body_of(s)->items[i];
    if (s->plan.cuts[id] & CPU_CUT_ONCE) cpu_once_emit(s, id);
  }
  cpu_emit_body(s, at + 1, next);
  roc_cg_at(s->cg, next);
  cpu_members_end(s, &m);
}

void cpu_emit_batch(cpu_state *s, uint32_t at, LLVMValueRef count, LLVMBasicBlockRef end) {
  cpu_level level = {.kind = CPU_LEVEL_GROUP, .end = end, .group_end = end};
  s->level = &level;
  s->may_be_dead = false;
  emit_before(s, at, count);
  cpu_emit_batch_rows(s, body_of(s)->items[at], count);
  emit_rest(s, at, count);
  LLVMBuildBr(s->cg->b, end);
}
