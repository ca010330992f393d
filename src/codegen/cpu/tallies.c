/* Atomics whose old values are not used, in small arrays.
 *
 * An atomic instruction takes some twenty times as long as a sum, and threads that count in one
 * array wait for each other. Where all that a kernel does to an array is to add to its elements (or
 * to keep their least, greatest, and so on), none of its items can tell when that happens.  So what
 * the groups of one call of the kernel add is kept in the frame, without atomic instructions, and
 * goes to the array after the last of them: when the array is small, and has fewer elements than
 * the call has items.  An element that all items of a run name is a variable of its loop: LLVM makes
 * vectors of that.
 *
 * Sums of floats stay atomic: each is rounded to what the element then is, and what an item adds,
 * it adds in its order.
 *
 * Invariant: the kernel has no fence, so nothing orders such updates before its others; and it uses
 * no value of another atomic, so none of its items can wait for what the updates cause elsewhere. */
#include "codegen/cpu/cpu.h"
#include "ir/walk.h"

enum { MOST_ARRAYS = 4 };

/* What may be done in any order and in parts; COUNT_ for the others. */
static roc_ir_atomic class_of(const cpu_state *s, const roc_ir_inst *inst) {
  bool is_float = roc_dtype_table[s->cg->ir->arrays.items[inst->aux].dtype].kind == 'f';
  switch ((roc_ir_atomic)inst->k.i) {
    case ROC_IR_ATOMIC_ADD:
    case ROC_IR_ATOMIC_SUB: return is_float ? ROC_IR_ATOMIC_COUNT_ : ROC_IR_ATOMIC_ADD;
    case ROC_IR_ATOMIC_MIN:
    case ROC_IR_ATOMIC_MAX:
    case ROC_IR_ATOMIC_AND:
    case ROC_IR_ATOMIC_OR:
    case ROC_IR_ATOMIC_XOR: return (roc_ir_atomic)inst->k.i;
    default: return ROC_IR_ATOMIC_COUNT_;
  }
}

static bool may_keep(const cpu_state *s, uint32_t a) {
  const roc_ir_array *array = &s->cg->ir->arrays.items[a];
  if (array->kind != ROC_IR_ARRAY_PARAM) return false;
  const roc_arg_type *type = &s->cg->ir->params.items[array->param].type;
  return !type->is_alias && type->layout != ROC_LAYOUT_STRIDED;
}

/* Whether what other threads do may decide what follows an instruction. */
static bool listens(const roc_ir_module *ir, const roc_ir_inst *inst) {
  if (inst->op == ROC_IR_FENCE) return true;
  for (uint32_t n = 0; n < inst->nargs; n++) {
    if (ir->insts.items[roc_ir_arg(ir, inst, n)].op == ROC_IR_ATOMIC) return true;
  }
  return false;
}

static void note_uses(cpu_state *s, const roc_ir_inst *inst) {
  bool touches = inst->op == ROC_IR_LOAD || inst->op == ROC_IR_STORE || inst->op == ROC_IR_ATOMIC;
  if (!touches) return;
  cpu_tally *tally = &s->tallies[inst->aux];
  roc_ir_atomic kind = inst->op == ROC_IR_ATOMIC ? class_of(s, inst) : ROC_IR_ATOMIC_COUNT_;
  bool is_other = tally->is_used && tally->kind != kind;
  tally->is_barred |= kind == ROC_IR_ATOMIC_COUNT_ || is_other;
  tally->is_used = true;
  tally->kind = kind;
}

bool cpu_tallies_plan(cpu_state *s) {
  const roc_ir_module *ir = s->cg->ir;
  s->tallies = ROC_ARENA_ARRAY(&s->cg->arena, cpu_tally, ir->arrays.count + 1);
  s->tally_cells = ROC_ARENA_ARRAY(&s->cg->arena, LLVMValueRef, ir->insts.count + 1);
  if (!s->tallies || !s->tally_cells) return false;
  bool is_listening = false;
  for (uint32_t id = 0; id < ir->insts.count; id++) {
    if (!s->plan.home[id]) continue;
    note_uses(s, &ir->insts.items[id]);
    is_listening |= listens(ir, &ir->insts.items[id]);
  }
  unsigned count = 0;
  for (uint32_t a = 0; a < ir->arrays.count; a++) {
    cpu_tally *tally = &s->tallies[a];
    tally->is_kept = tally->is_used && !tally->is_barred && !is_listening && may_keep(s, a);
    tally->is_kept = tally->is_kept && count < MOST_ARRAYS && s->cg->options->opt_level != 0;
    count += tally->is_kept;
  }
  return true;
}

bool cpu_tallies_keep(const cpu_state *s, const roc_ir_inst *inst) {
  return inst->op == ROC_IR_ATOMIC && s->tallies[inst->aux].is_kept;
}
