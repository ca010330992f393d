/* How hard LLVM works on a kernel.
 *
 * Some passes take time that grows with the square of a function's size (the loop vectoriser, the
 * allocation of registers) or worse with its loops (the SLP vectoriser). That is nothing for the
 * kernels people write and minutes for what programs generate, so a larger kernel gets fewer of
 * them. For a sum of the counters of nested loops, LLVM's scalar evolution searches twice in each
 * loop, so that its time doubles with each (indvars: 0.1 s for ten, 3 s for fifteen). Asked between
 * building the code and the first pass; an optimisation level that the caller chose is obeyed. */
#include "codegen/core/cg.h"
#include "codegen/llvm/machine.h"
#include "ir/walk.h"

enum {
  LARGE_INSTS = 6000, /* LLVM's, before any pass; the vectorisers take seconds from here on */
  HUGE_INSTS = 20000, /* only what is linear is done */
  MANY_LOOPS = 32,    /* of one kernel, nested in the worst case */
  DEEP_LOOPS = 10,    /* inside each other */
  DEEPEST_LOOPS = 24, /* beyond, the code generator's own reduction of counters takes seconds */
  HUGE_LOOPS = 200,   /* beyond, even simplifying the branches takes seconds */
};

static uint64_t count_insts(LLVMModuleRef mod) {
  uint64_t count = 0;
  for (LLVMValueRef f = LLVMGetFirstFunction(mod); f; f = LLVMGetNextFunction(f)) {
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b)) {
      for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) count++;
    }
  }
  return count;
}

typedef struct loop_count {
  uint32_t all, deepest;
} loop_count;

static loop_count count_loops(const roc_ir_module *ir) {
  loop_count count = {0};
  uint32_t depth = 0;
  roc_ir_walk w;
  roc_ir_walk_begin(&w, ir, 0);
  while (roc_ir_walk_step(&w)) {
    if (w.inst->op != ROC_IR_LOOP && w.inst->op != ROC_IR_FOR) continue;
    depth = w.is_end ? depth - 1 : depth + 1;
    count.all += !w.is_end;
    if (depth > count.deepest) count.deepest = depth;
  }
  return count;
}

roc_status roc_cg_choose_opt_tier(roc_cg *cg, roc_error *err) {
  cg->opt_tier = ROC_CG_FULL;
  if (cg->options->opt_level >= 0) return ROC_OK;
  uint64_t count = count_insts(cg->mod);
  loop_count loops = count_loops(cg->ir);
  if (loops.all > MANY_LOOPS) cg->opt_tier = ROC_CG_NO_SLP;
  if (count > LARGE_INSTS) cg->opt_tier = ROC_CG_SCALAR;
  if (loops.deepest > DEEP_LOOPS) cg->opt_tier = ROC_CG_NO_COUNTERS;
  bool is_huge = count > HUGE_INSTS || loops.all > HUGE_LOOPS || loops.deepest > DEEPEST_LOOPS;
  if (!is_huge) return ROC_OK;
  cg->opt_tier = ROC_CG_LINEAR;
  roc_cg_options quick = *cg->options;
  quick.opt_level = 0;
  roc_machine *machine = roc_machine_take(cg->target, &quick, err);
  if (!machine) return err ? err->code : ROC_UNAVAILABLE;
  cg->machine = machine;
  cg->tm = machine->tm;
  return ROC_OK;
}
