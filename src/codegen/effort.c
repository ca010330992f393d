/* How hard LLVM works on a kernel.
 *
 * Some passes take time that grows with the square of a function's size (the loop vectoriser, the
 * allocation of registers) or worse with its loops (the SLP vectoriser).  That is nothing for the
 * kernels people write and minutes for what programs generate, so a larger kernel gets fewer of
 * them.  Asked between building the code and the first pass; an optimisation level that the caller
 * chose is obeyed. */
#include "codegen/cg.h"
#include "codegen/machine.h"

enum {
  LARGE_INSTS = 6000, /* LLVM's, before any pass; the vectorisers take seconds from here on */
  HUGE_INSTS = 20000, /* only what is linear is done */
  MANY_LOOPS = 32,    /* of one kernel, nested in the worst case */
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

static uint32_t count_loops(const roc_ir_module *ir) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < ir->insts.count; i++) {
    count += ir->insts.items[i].op == ROC_IR_LOOP || ir->insts.items[i].op == ROC_IR_FOR;
  }
  return count;
}

roc_status roc_cg_choose_effort(roc_cg *cg, roc_error *err) {
  cg->effort = ROC_CG_FULL;
  if (cg->options->opt_level >= 0) return ROC_OK;
  uint64_t count = count_insts(cg->mod);
  uint32_t nloops = count_loops(cg->ir);
  if (nloops > MANY_LOOPS) cg->effort = ROC_CG_NO_SLP;
  if (count > LARGE_INSTS) cg->effort = ROC_CG_SCALAR;
  if (count <= HUGE_INSTS && nloops <= HUGE_LOOPS) return ROC_OK;
  cg->effort = ROC_CG_LINEAR;
  roc_cg_options quick = *cg->options;
  quick.opt_level = 0;
  roc_machine *machine = roc_machine_take(cg->target, &quick, err);
  if (!machine) return err ? err->code : ROC_UNAVAILABLE;
  roc_machine_give(cg->machine);
  cg->machine = machine;
  cg->tm = machine->tm;
  return ROC_OK;
}
