/* The code of what cpu/tallies.c finds: elements that are kept in the frame from the first workgroup
 * of a call to the last, and variables of single loops. */
#include <math.h>

#include "codegen/cpu/cpu.h"
#include "ir/walk.h"

enum { MOST_BYTES = 16384 /* of an array */, ITEMS_PER_ELEMENT = 2 };

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
