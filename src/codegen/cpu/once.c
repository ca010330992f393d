/* What a group executes once, and not item by item.
 *
 * `while s > 0 do … roc.barrier() … s = s // 2 end`: s lives across runs, but it is the same for
 * all items.  Kept for each of them, it is loaded item by item, `t[l + s]` becomes a gather, and
 * the loop's end has to be agreed upon.  So a variable that is uniform, and set by statements of
 * the group alone, is kept once: its SETs are cuts of their own, and its GETs are recomputed in each
 * run from what the variable held where they stand.  Likewise jumps that all items take together;
 * IFs that hold such statements are executed by the group.
 *
 * What is set, and the conditions, must be recomputable, which only the plan knows: the first plan
 * is made without any of this, and further ones until nothing has to be given up. */
#include "codegen/cpu/cpu.h"
#include "ir/walk.h"

static const roc_ir_inst *inst_of(const cpu_once *o, uint32_t id) {
  return &o->ir->insts.items[id];
}

static bool has_barrier(const cpu_once *o, uint32_t id) {
  return o->cuts[id] & ROC_IRF_CUT_GROUP;
}

/* Whether the items take a jump together, to where the group goes. */
static bool is_common_jump(const cpu_once *o, uint32_t id) {
  const roc_ir_inst *inst = inst_of(o, id);
  bool is_group_target = inst->op == ROC_IR_RETURN || has_barrier(o, inst->aux);
  return o->uniform.control[id] == ROC_IR_UNIFORM_GROUP && is_group_target;
}

/* Whether the group executes the statement, or an IF could be one that it does. */
static bool is_of_group(const cpu_once *o, uint32_t id) {
  bool is_common = inst_of(o, id)->op == ROC_IR_IF && !o->given_up[id] &&
                   o->uniform.insts[id] == ROC_IR_UNIFORM_GROUP;
  return has_barrier(o, id) || is_common;
}

/* Finds the jumps, and drops variables that other statements than those of the group set. */
static void survey_region(cpu_once *o, uint32_t region, bool is_group) {
  const roc_ir_ids *ids = &o->ir->regions.items[region];
  for (uint32_t i = 0; i < ids->count; i++) {
    uint32_t id = ids->items[i];
    const roc_ir_inst *inst = inst_of(o, id);
    bool jumps = inst->op == ROC_IR_LEAVE || inst->op == ROC_IR_NEXT || inst->op == ROC_IR_RETURN;
    if (jumps) o->insts[id] = is_group && is_common_jump(o, id);
    if (inst->op == ROC_IR_SET && !is_group) o->vars[inst->aux] = false;
    bool is_group_inside = is_group && is_of_group(o, id);
    for (uint32_t r = 0; r < roc_ir_region_count(inst); r++) {
      survey_region(o, inst->k.region[r], is_group_inside);
    }
  }
}

/* Marks the SETs of the variables, and what stands around marks; true when there is one. */
static bool mark_region(cpu_once *o, uint32_t region) {
  const roc_ir_ids *ids = &o->ir->regions.items[region];
  bool any = false;
  for (uint32_t i = 0; i < ids->count; i++) {
    uint32_t id = ids->items[i];
    const roc_ir_inst *inst = inst_of(o, id);
    if (inst->op == ROC_IR_SET) o->insts[id] = o->vars[inst->aux];
    for (uint32_t r = 0; r < roc_ir_region_count(inst); r++) {
      o->insts[id] |= mark_region(o, inst->k.region[r]);
    }
    any |= o->insts[id];
  }
  return any;
}

bool cpu_once_mark(cpu_once *o) {
  for (uint32_t id = 0; id < o->ir->insts.count; id++) o->insts[id] = false;
  survey_region(o, 0, true);
  return mark_region(o, 0);
}

bool cpu_once_init(cpu_once *o, const roc_ir_module *ir, roc_arena *arena, const cpu_plan *plan) {
  *o = (cpu_once){.ir = ir, .cuts = plan->cuts};
  o->vars = ROC_ARENA_ARRAY(arena, bool, ir->vars.count + 1);
  o->insts = ROC_ARENA_ARRAY(arena, bool, ir->insts.count + 1);
  o->given_up = ROC_ARENA_ARRAY(arena, bool, ir->insts.count + 1);
  if (arena->failed || roc_ir_uniform_init(&o->uniform, ir, NULL)) return false;
  for (uint32_t v = 0; v < ir->vars.count; v++) {
    o->vars[v] = plan->var_slotted[v] && o->uniform.vars[v] == ROC_IR_UNIFORM_GROUP;
  }
  for (uint32_t id = 0; id < ir->insts.count; id++) {
    if (inst_of(o, id)->op == ROC_IR_FOR) o->vars[inst_of(o, id)->aux] = false;
  }
  return true;
}

void cpu_once_deinit(cpu_once *o) {
  roc_ir_uniform_deinit(&o->uniform);
}

bool cpu_once_holds(cpu_once *o, const cpu_plan *plan) {
  bool holds = true;
  for (uint32_t id = 0; id < o->ir->insts.count; id++) {
    const roc_ir_inst *inst = inst_of(o, id);
    bool is_if = inst->op == ROC_IR_IF && !has_barrier(o, id);
    if (!o->insts[id] || (inst->op != ROC_IR_SET && !is_if)) continue;
    uint32_t value = roc_ir_arg(o->ir, inst, 0);
    if (plan->is_remat[value] && plan->is_uniform[value]) continue;
    holds = false;
    if (is_if) {
      o->given_up[id] = true;
    } else {
      o->vars[inst->aux] = false;
    }
  }
  return holds;
}

/* ---- its code ------------------------------------------------------------------------------ */

/* What GETs in the statements read: they are about to be executed by items, who change none of it.
 */
void cpu_once_read(cpu_state *s, const uint32_t *ids, uint32_t count) {
  roc_cg *cg = s->cg;
  roc_ir_walk w;
  if (!s->plan.has_group_vars) return;
  roc_ir_walk_begin_list(&w, cg->ir, ids, count);
  while (roc_ir_walk_next(&w)) {
    if (w.inst->op != ROC_IR_GET || !s->plan.is_group_var[w.inst->aux]) continue;
    LLVMValueRef value = roc_cg_get_var(cg, w.inst->aux);
    LLVMValueRef *cell = &s->read_once[w.id];
    if (!*cell) *cell = roc_cg_alloca(cg, LLVMTypeOf(value), "");
    LLVMBuildStore(cg->b, value, *cell);
  }
}

void cpu_once_emit(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_SET:
      roc_cg_set_var(cg, inst->aux, cpu_group_value(s, roc_ir_arg(cg->ir, inst, 0)));
      break;
    case ROC_IR_LEAVE: LLVMBuildBr(cg->b, s->exits[inst->aux].leave); break;
    case ROC_IR_NEXT: LLVMBuildBr(cg->b, s->exits[inst->aux].next); break;
    default: LLVMBuildBr(cg->b, s->level->end); break; /* RETURN */
  }
}
