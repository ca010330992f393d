/* Prefetching for loops that stride over an array by the whole grid.
 *
 * The items of a row read neighbours, then all jump by the number of items of the launch: too far
 * for the prefetchers of the hardware, which stay inside of a page. After the loop that cpu/rows.c
 * puts around such a row, the stretches of a later iteration are asked for line by line. A prefetch
 * never faults, so nothing is checked. */
#include "codegen/cpu/cpu.h"

enum { LINE_BYTES = 64, AHEAD = 4, FAR_BYTES = 4096, LONG_BYTES = 256 };

/* A load of neighbours by neighbours, somewhere else in each iteration. */
static bool is_striding(const cpu_state *s, const roc_ir_inst *inst) {
  if (inst->op != ROC_IR_LOAD) return false;
  const roc_ir_array *array = &s->cg->ir->arrays.items[inst->aux];
  if (array->kind != ROC_IR_ARRAY_PARAM || array->rank != 1) return false;
  uint32_t index = roc_ir_arg(s->cg->ir, inst, 0);
  return s->plan.is_remat[index] && !s->plan.is_stable[index] && !s->plan.is_uniform[index];
}

/* How many bytes the level's items read. */
static LLVMValueRef count_bytes(cpu_state *s, int64_t item_bytes) {
  return LLVMBuildMul(s->cg->b, s->level->count, roc_cg_i64(s->cg, item_bytes), "");
}

/* Whether the hardware does not do as well without. */
static LLVMValueRef does_pay(cpu_state *s, LLVMValueRef step, LLVMValueRef count,
                             int64_t item_bytes) {
  roc_cg *cg = s->cg;
  LLVMValueRef size = roc_cg_i64(cg, item_bytes), nbytes = count_bytes(s, item_bytes);
  LLVMValueRef jump = LLVMBuildMul(cg->b, step, size, "");
  LLVMValueRef is_far = LLVMBuildICmp(cg->b, LLVMIntSGE, jump, roc_cg_i64(cg, FAR_BYTES), "");
  LLVMValueRef is_long = LLVMBuildICmp(cg->b, LLVMIntUGE, nbytes, roc_cg_i64(cg, LONG_BYTES), "");
  LLVMValueRef pays = LLVMBuildAnd(cg->b, is_far, is_long, "");
  if (count) {
    LLVMValueRef stretch = LLVMBuildMul(cg->b, nbytes, count, "");
    LLVMValueRef is_split =
        LLVMBuildICmp(cg->b, LLVMIntULT, stretch, roc_cg_i64(cg, FAR_BYTES), "");
    pays = LLVMBuildAnd(cg->b, pays, is_split, "");
  }
  return pays;
}

/* Of as many items as a chunk has, the lines are asked for one after the other: a loop over them
 * would take longer than what the items do. */
static void prefetch_load(cpu_state *s, const roc_ir_inst *inst, LLVMValueRef step,
                          LLVMValueRef count) {
  roc_cg *cg = s->cg;
  LLVMBasicBlockRef ask = roc_cg_block(cg, "prefetch"), asked = roc_cg_block(cg, "prefetched");
  int64_t item_bytes = (int64_t)roc_dtype_itemsize(cg->ir->arrays.items[inst->aux].dtype);
  cpu_level *level = s->level, lines = *level;
  LLVMBuildCondBr(cg->b, does_pay(s, step, count, item_bytes), ask, asked);
  roc_cg_at(cg, ask);
  lines.count = LLVMBuildUDiv(cg->b, count_bytes(s, item_bytes), roc_cg_i64(cg, LINE_BYTES), "");
  lines.stride = roc_cg_i64(cg, LINE_BYTES / item_bytes);
  s->level = &lines;
  bool may_be_dead = s->may_be_dead;
  s->may_be_dead = false;
  cpu_run run;
  cpu_items_begin(s, &run, false);
  run.is_written_out = LLVMIsConstant(lines.count);
  LLVMTypeRef type = cg->t.ptr;
  LLVMValueRef args[4] = {roc_cg_address(cg, inst->aux, inst, 0), roc_cg_i32(cg, 0),
                          roc_cg_i32(cg, 3), roc_cg_i32(cg, 1)}; /* to read, keep, data */
  roc_cg_intrinsic(cg, "llvm.prefetch", &type, 1, args, 4);
  cpu_items_end(s);
  s->may_be_dead = may_be_dead;
  s->level = level;
  LLVMBuildBr(cg->b, asked);
  roc_cg_at(cg, asked);
}

bool cpu_is_striding_loop(const cpu_state *s, uint32_t id) {
  const roc_ir_module *ir = s->cg->ir;
  const roc_ir_ids *body = &ir->regions.items[ir->insts.items[id].k.region[0]];
  for (uint32_t i = 0; i < body->count; i++) {
    if (is_striding(s, &ir->insts.items[body->items[i]])) return true;
  }
  return false;
}

void cpu_prefetch(cpu_state *s, uint32_t id, LLVMValueRef step, LLVMValueRef count) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *loop = &cg->ir->insts.items[id];
  const roc_ir_ids *body = &cg->ir->regions.items[loop->k.region[0]];
  LLVMValueRef cell = s->advances[loop->aux], now = NULL;
  for (uint32_t i = 0; i < body->count; i++) {
    const roc_ir_inst *inst = &cg->ir->insts.items[body->items[i]];
    if (!is_striding(s, inst)) continue;
    if (!now) {
      now = LLVMBuildLoad2(cg->b, cg->t.i64, cell, "");
      LLVMValueRef by = LLVMBuildMul(cg->b, step, roc_cg_i64(cg, AHEAD), "");
      LLVMBuildStore(cg->b, LLVMBuildAdd(cg->b, now, by, ""), cell);
    }
    prefetch_load(s, inst, step, count);
  }
  if (now) LLVMBuildStore(cg->b, now, cell);
}
