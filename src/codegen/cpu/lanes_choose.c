/* Which runs are worth vectors with masks, and how many lanes they get.
 *
 * LLVM's vectoriser takes runs without inner loops, and loops that cpu/wide.c turned inside out.
 * What is left are runs with a loop in them, item by item: those come here when all that they do
 * has a form in lanes. */
#include "codegen/cpu/lanes.h"
#include "codegen/llvm/processor.h"
#include "ir/walk.h"

enum { MAX_LIVE = 8 }; /* variables that leave registers for a second vector of each */

typedef struct survey {
  unsigned nvars;        /* varying ones that are set in loops, about */
  unsigned narrow, wide; /* varying operations in loops, on 32 and on 64 bits */
  bool has_loop, is_supported;
} survey;

static bool is_supported(const cpu_state *s, const roc_ir_inst *inst) {
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_ATOMIC:
    case ROC_IR_FENCE:
    case ROC_IR_BARRIER:
    case ROC_IR_WAVE_BARRIER:
    case ROC_IR_WAVE:
    case ROC_IR_PRINT: return false;
    case ROC_IR_LOAD:
    case ROC_IR_STORE: return s->cg->ir->arrays.items[inst->aux].kind != ROC_IR_ARRAY_PRIVATE;
    case ROC_IR_GET:
    case ROC_IR_SET:
    case ROC_IR_FOR: return !s->plan.var_slotted[inst->aux];
    case ROC_IR_IF: return inst->aux == ROC_IR_IF_PLAIN;
    default: return true;
  }
}

/* Operands of another run are kept per item. */
static bool has_kept_operand(const cpu_state *s, uint32_t id) {
  const roc_ir_inst *inst = &s->cg->ir->insts.items[id];
  if (s->plan.is_slotted[id]) return true;
  for (uint32_t i = 0; i < inst->nargs; i++) {
    uint32_t arg = roc_ir_arg(s->cg->ir, inst, i);
    if (s->plan.is_slotted[arg] && !s->plan.is_remat[arg]) return true;
  }
  return false;
}

/* `k = k + 1`: one operation among many. */
static bool is_counting(const cpu_state *s, const roc_ir_inst *inst) {
  if (inst->type != ROC_VT_INT || (inst->op != ROC_IR_ADD && inst->op != ROC_IR_SUB)) return false;
  const roc_ir_inst *by = &s->cg->ir->insts.items[roc_ir_arg(s->cg->ir, inst, 1)];
  return by->op == ROC_IR_CONST;
}

static ROC_IR_WALKS survey survey_run(const cpu_state *s, const uint32_t *ids, uint32_t count) {
  survey found = {.is_supported = true};
  unsigned depth = 0;
  roc_ir_walk w;
  roc_ir_walk_begin_list(&w, s->cg->ir, ids, count);
  while (roc_ir_walk_step(&w)) {
    bool is_loop = w.inst->op == ROC_IR_LOOP || w.inst->op == ROC_IR_FOR;
    if (w.is_end) {
      depth -= is_loop;
      continue;
    }
    if (!is_supported(s, w.inst) || has_kept_operand(s, w.id)) {
      found.is_supported = false;
      return found;
    }
    found.has_loop |= is_loop && !(w.inst->op == ROC_IR_FOR && cpu_is_short_for(s->cg->ir, w.inst));
    depth += is_loop;
    bool is_varying = s->shapes && s->shapes->insts[w.id] == CPU_VARYING;
    found.nvars += depth && w.inst->op == ROC_IR_SET && s->shapes && s->shapes->blends[w.id];
    bool counts = depth && is_varying && (roc_ir_op_table[w.inst->op].flags & ROC_IRF_PURE);
    if (!counts || is_counting(s, w.inst)) continue;
    found.narrow += w.inst->type == ROC_VT_F32;
    found.wide += w.inst->type == ROC_VT_F64 || w.inst->type == ROC_VT_INT;
  }
  return found;
}

static void count_exit(cpu_state *s, uint32_t target, bool is_next, void *ud) {
  (void)s, (void)target, (void)is_next;
  ++*(unsigned *)ud;
}

static bool is_whole_row(const cpu_state *s) {
  const cpu_level *level = s->level;
  bool is_row = level->kind == CPU_LEVEL_ROW && !level->is_single && !level->stride;
  return level->kind == CPU_LEVEL_GROUP || is_row;
}

static bool is_narrow(const survey *found) {
  return found->narrow > 2 * found->wide;
}

/* As many as there are floats in a register of the processor when most of the work is on float32,
 * else as many as there are 64-bit numbers; and twice as many where that leaves registers enough:
 * one vector's operations then run while the other waits for its own. */
static unsigned lanes_that_pay(const cpu_state *s, const survey *found) {
  LLVMTargetMachineRef tm = s->cg->tm;
  unsigned bytes = roc_processor_has(tm, "avx512f") ? 64 : roc_processor_has(tm, "avx2") ? 32 : 0;
  if (!found->has_loop || !bytes) return 1;
  unsigned lanes = is_narrow(found) ? bytes / 4 : bytes / 8;
  return found->nvars <= MAX_LIVE ? 2 * lanes : lanes;
}

static unsigned power_of_two_below(unsigned n) {
  unsigned power = 1;
  while (2 * power <= n) power *= 2;
  return power;
}

unsigned cpu_lanes_choose(cpu_state *s, const uint32_t *ids, uint32_t count, bool *out_is_narrow) {
  roc_cg *cg = s->cg;
  unsigned asked = cg->options->lanes, nexits = 0;
  if (asked == 1 || cg->options->opt_level == 0) return 1;
  if (s->is_cold || s->needs_live || s->chunk.count || !is_whole_row(s)) return 1;
  survey found = survey_run(s, ids, count);
  if (!found.is_supported || !(found.has_loop || asked)) return 1;
  cpu_find_exits(s, ids, count, count_exit, &nexits);
  if (nexits) return 1;
  if (!s->shapes) {
    cpu_shapes *shapes = ROC_ARENA_NEW(&cg->arena, cpu_shapes);
    if (!shapes || !cpu_shapes_make(cg->ir, &s->plan, &cg->arena, shapes)) {
      cg->arena.failed = true;
      return 1;
    }
    s->shapes = shapes;
    found = survey_run(s, ids, count);
  }
  *out_is_narrow = is_narrow(&found);
  return asked ? power_of_two_below(asked) : lanes_that_pay(s, &found);
}
