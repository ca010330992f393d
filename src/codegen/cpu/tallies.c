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
#include <math.h>

#include "codegen/cpu/cpu.h"
#include "ir/walk.h"

enum { MOST_BYTES = 16384 /* of an array */, MOST_ARRAYS = 4, ITEMS_PER_ELEMENT = 2 };

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

/* ---- its code ------------------------------------------------------------------------------ */

static LLVMTypeRef element_type(cpu_state *s, uint32_t a) {
  return roc_cg_storage_type(s->cg, s->cg->ir->arrays.items[a].dtype);
}

/* What changes nothing. */
static LLVMValueRef neutral(cpu_state *s, uint32_t a) {
  roc_dtype dtype = s->cg->ir->arrays.items[a].dtype;
  LLVMTypeRef type = element_type(s, a);
  if (roc_dtype_table[dtype].kind == 'f') {
    return LLVMConstReal(type, s->tallies[a].kind == ROC_IR_ATOMIC_MIN ? HUGE_VAL : -HUGE_VAL);
  }
  uint64_t all = UINT64_MAX, highest = UINT64_C(1) << (roc_dtype_itemsize(dtype) * 8 - 1);
  bool is_unsigned = roc_dtype_table[dtype].kind == 'u';
  switch (s->tallies[a].kind) {
    case ROC_IR_ATOMIC_AND: return LLVMConstInt(type, all, 0);
    case ROC_IR_ATOMIC_MIN: return LLVMConstInt(type, is_unsigned ? all : highest - 1, 0);
    case ROC_IR_ATOMIC_MAX: return LLVMConstInt(type, is_unsigned ? 0 : highest, 0);
    default: return LLVMConstNull(type);
  }
}

static void place_tally(cpu_state *s, uint32_t a) {
  roc_cg *cg = s->cg;
  cpu_tally *tally = &s->tallies[a];
  size_t itemsize = roc_dtype_itemsize(cg->ir->arrays.items[a].dtype);
  LLVMValueRef count = roc_cg_i64(cg, 1);
  for (uint32_t d = 0; d < cg->ir->arrays.items[a].rank; d++) {
    count = LLVMBuildNUWMul(cg->b, count, cg->arrays[a].extents[d], "");
  }
  LLVMValueRef groups = LLVMBuildNUWSub(cg->b, s->end, s->first, "");
  LLVMValueRef items = LLVMBuildNUWMul(cg->b, groups, s->items, "");
  LLVMValueRef least = LLVMBuildNUWMul(cg->b, count, roc_cg_i64(cg, ITEMS_PER_ELEMENT), "");
  LLVMValueRef most = roc_cg_i64(cg, (int64_t)(MOST_BYTES / itemsize));
  tally->is_on = LLVMBuildAnd(cg->b, LLVMBuildICmp(cg->b, LLVMIntULE, count, most, ""),
                              LLVMBuildICmp(cg->b, LLVMIntUGE, items, least, ""), "tallies");
  tally->count = LLVMBuildSelect(cg->b, tally->is_on, count, roc_cg_i64(cg, 0), "");
  tally->base = cpu_frame_reserve(s, MOST_BYTES);
}

/* Does something to each element that is kept. */
typedef void on_element(cpu_state *s, uint32_t a, LLVMValueRef kept, LLVMValueRef index);

static void for_elements(cpu_state *s, on_element *act) {
  roc_cg *cg = s->cg;
  for (uint32_t a = 0; a < cg->ir->arrays.count; a++) {
    if (!s->tallies[a].is_kept) continue;
    cpu_loop loop;
    cpu_loop_begin(s, &loop, s->tallies[a].count, "tally");
    LLVMTypeRef type = element_type(s, a);
    LLVMValueRef at = LLVMBuildInBoundsGEP2(cg->b, type, s->tallies[a].base, &loop.index, 1, "");
    act(s, a, at, loop.index);
    cpu_loop_end(s, &loop);
  }
}

static void clear(cpu_state *s, uint32_t a, LLVMValueRef kept, LLVMValueRef index) {
  (void)index;
  LLVMBuildStore(s->cg->b, neutral(s, a), kept);
}

/* Goes on at `some` with a value that changes something, else at `next`. */
static LLVMValueRef take(cpu_state *s, uint32_t a, LLVMValueRef kept, LLVMBasicBlockRef some,
                         LLVMBasicBlockRef next) {
  roc_cg *cg = s->cg;
  size_t itemsize = roc_dtype_itemsize(cg->ir->arrays.items[a].dtype);
  LLVMTypeRef type = element_type(s, a);
  LLVMTypeRef bits = LLVMIntTypeInContext(cg->ctx, (unsigned)itemsize * 8);
  LLVMValueRef value = LLVMBuildLoad2(cg->b, type, kept, "");
  LLVMValueRef none = LLVMBuildBitCast(cg->b, neutral(s, a), bits, "");
  LLVMValueRef is_none =
      LLVMBuildICmp(cg->b, LLVMIntEQ, LLVMBuildBitCast(cg->b, value, bits, ""), none, "");
  LLVMBuildCondBr(cg->b, is_none, next, some);
  roc_cg_at(cg, some);
  return value;
}

static void deliver(cpu_state *s, uint32_t a, LLVMValueRef kept, LLVMValueRef index) {
  roc_cg *cg = s->cg;
  LLVMBasicBlockRef some = roc_cg_block(cg, "deliver"), next = roc_cg_block(cg, "next");
  LLVMValueRef value = take(s, a, kept, some, next);
  LLVMTypeRef type = element_type(s, a);
  LLVMValueRef ptr = LLVMBuildInBoundsGEP2(cg->b, type, cg->arrays[a].base, &index, 1, "");
  roc_cg_atomic_update(cg, s->tallies[a].kind, a, ptr, value);
  LLVMBuildBr(cg->b, next);
  roc_cg_at(cg, next);
}

void cpu_tallies_begin(cpu_state *s) {
  for (uint32_t a = 0; a < s->cg->ir->arrays.count; a++) {
    if (s->tallies[a].is_kept) place_tally(s, a);
  }
  for_elements(s, clear);
}

void cpu_tallies_end(cpu_state *s) {
  for_elements(s, deliver);
}

/* ---- elements that all items of a run name ---------------------------------------------------- */

static bool names_one(const cpu_state *s, const roc_ir_inst *inst) {
  for (uint32_t d = 0; d < s->cg->ir->arrays.items[inst->aux].rank; d++) {
    if (!s->plan.is_uniform[roc_ir_arg(s->cg->ir, inst, d)]) return false;
  }
  return cpu_tallies_keep(s, inst);
}

LLVMValueRef cpu_tally_cell(const cpu_state *s, const roc_ir_inst *inst) {
  return s->tally_cells[inst - s->cg->ir->insts.items];
}

ROC_IR_WALKS void cpu_tally_cells_begin(cpu_state *s, const uint32_t *ids, uint32_t count) {
  roc_cg *cg = s->cg;
  roc_ir_walk w;
  roc_ir_walk_begin_list(&w, cg->ir, ids, count);
  while (!s->is_cold && roc_ir_walk_next(&w)) {
    if (w.inst->op != ROC_IR_ATOMIC || !names_one(s, w.inst)) continue;
    s->tally_cells[w.id] = roc_cg_alloca(cg, element_type(s, w.inst->aux), "tally");
    LLVMBuildStore(cg->b, neutral(s, w.inst->aux), s->tally_cells[w.id]);
  }
}

ROC_IR_WALKS void cpu_tally_cells_end(cpu_state *s, const uint32_t *ids, uint32_t count) {
  roc_cg *cg = s->cg;
  roc_ir_walk w;
  roc_ir_walk_begin_list(&w, cg->ir, ids, count);
  while (roc_ir_walk_next(&w)) {
    LLVMValueRef cell = s->tally_cells[w.id];
    if (!cell) continue;
    s->tally_cells[w.id] = NULL;
    uint32_t a = w.inst->aux;
    LLVMBasicBlockRef some = roc_cg_block(cg, "deliver"), next = roc_cg_block(cg, "next");
    LLVMValueRef value = take(s, a, cell, some, next);
    s->epoch++;
    LLVMValueRef ptr = roc_cg_address(cg, a, w.inst, 0);
    s->epoch++;
    roc_cg_atomic_update(cg, s->tallies[a].kind, a, ptr, value);
    LLVMBuildBr(cg->b, next);
    roc_cg_at(cg, next);
  }
}

LLVMValueRef cpu_tally_place(roc_cg *cg, const roc_ir_inst *inst, LLVMValueRef *out_is_on) {
  cpu_state *s = cpu_of(cg);
  if (!cpu_tallies_keep(s, inst)) return NULL;
  *out_is_on = LLVMConstInt(cg->t.i1, 1, 0);
  if (cpu_tally_cell(s, inst)) return cpu_tally_cell(s, inst);
  *out_is_on = s->tallies[inst->aux].is_on;
  LLVMValueRef index = roc_cg_element_index(cg, inst->aux, inst, 0);
  LLVMTypeRef type = element_type(s, inst->aux);
  return LLVMBuildInBoundsGEP2(cg->b, type, s->tallies[inst->aux].base, &index, 1, "");
}
