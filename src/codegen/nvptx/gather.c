/* Lanes of a wavefront that come together again before what they do together.
 *
 * ptxas takes for granted that a wavefront is whole where it comes to a barrier, and keeps what is
 * the same for all lanes in registers that they share.  Where a statement before the barrier has
 * ways out of the kernel (a failed check, a return), nothing makes its lanes wait for each other at
 * its end: so the first ones write shared registers that lanes still in its loop go on reading.
 * Here they wait, first thing after such a statement, in regions that all live work-items of the
 * wavefront reach: the kernel's own, and those with a barrier or a wave operation of their own. */
#include "codegen/core/repair.h"
#include "codegen/nvptx/nvptx.h"

enum { CUTS = ROC_IRF_CUT_WAVE | ROC_IRF_CUT_GROUP };

static unsigned flags_of(const roc_ir_inst *inst) {
  return roc_ir_op_table[inst->op].flags;
}

static bool has_cut(const roc_ir_module *ir, const roc_ir_ids *ids) {
  for (uint32_t i = 0; i < ids->count; i++) {
    if (flags_of(&ir->insts.items[ids->items[i]]) & CUTS) return true;
  }
  return false;
}

static bool leaves_kernel(const roc_ir_inst *inst) {
  bool stays = inst->op == ROC_IR_LEAVE || inst->op == ROC_IR_NEXT;
  return (flags_of(inst) & ROC_IRF_STOP) && !stays;
}

/* Marks the instructions before which lanes wait; whether the region has a way out of the kernel. */
static bool mark_region(const roc_ir_module *ir, uint8_t *marks, uint32_t region, bool is_met) {
  const roc_ir_ids *ids = &ir->regions.items[region];
  is_met = is_met || has_cut(ir, ids);
  bool leaves = false, left_last = false;
  for (uint32_t i = 0; i < ids->count; i++) {
    const roc_ir_inst *inst = &ir->insts.items[ids->items[i]];
    marks[ids->items[i]] = is_met && left_last;
    left_last = false;
    bool is_met_too = is_met && inst->op == ROC_IR_IF && inst->aux == ROC_IR_IF_VERSIONS;
    for (uint32_t n = 0; n < roc_ir_region_count(inst); n++) {
      left_last |= mark_region(ir, marks, inst->k.region[n], is_met_too);
    }
    bool is_loop = inst->op == ROC_IR_LOOP || inst->op == ROC_IR_FOR;
    const roc_ir_ids *body = is_loop ? &ir->regions.items[inst->k.region[0]] : NULL;
    if (body && left_last && has_cut(ir, body)) marks[body->items[0]] = true;
    leaves |= left_last || leaves_kernel(inst);
  }
  return leaves;
}

uint8_t *roc_nvptx_find_gathers(roc_cg *cg) {
  const roc_ir_module *ir = cg->ir;
  bool has_cuts = false;
  for (uint32_t i = 0; i < ir->insts.count && !has_cuts; i++) {
    has_cuts = flags_of(&ir->insts.items[i]) & CUTS;
  }
  if (!has_cuts || !roc_quirk_is_on(cg->options->quirks_off, ROC_QUIRK_SHARED_REGISTERS)) {
    return NULL;
  }
  uint8_t *marks = ROC_ARENA_ARRAY(&cg->arena, uint8_t, ir->insts.count);
  if (marks) mark_region(ir, marks, 0, true);
  return marks;
}

static const char WAIT[] = "llvm.nvvm.bar.warp.sync";

bool roc_nvptx_intercept(roc_cg *cg, uint32_t id) {
  const uint8_t *gathers = roc_nvptx_state_of(cg)->gathers;
  if (gathers && gathers[id]) {
    LLVMValueRef lanes = roc_cg_i32(cg, UINT32_MAX);
    roc_cg_intrinsic(cg, WAIT, NULL, 0, &lanes, 1);
  }
  return roc_nvptx_coarse_intercept(cg, id);
}

static LLVMValueRef first_in(LLVMBasicBlockRef block) {
  LLVMValueRef inst = LLVMGetFirstInstruction(block);
  while (LLVMGetInstructionOpcode(inst) == LLVMPHI) inst = LLVMGetNextInstruction(inst);
  return inst;
}

/* LLVM's passes put what a block computes for itself before the wait. */
void roc_nvptx_gather_first(roc_cg *cg) {
  if (!roc_nvptx_state_of(cg)->gathers) return;
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(cg->fn); block;
       block = LLVMGetNextBasicBlock(block)) {
    LLVMValueRef first = first_in(block);
    for (LLVMValueRef inst = first, next; inst; inst = next) {
      next = LLVMGetNextInstruction(inst);
      if (inst == first || !roc_cg_is_call_of(inst, WAIT)) continue;
      LLVMInstructionRemoveFromParent(inst);
      LLVMPositionBuilderBefore(cg->b, first);
      LLVMInsertIntoBuilder(cg->b, inst);
      break;
    }
  }
}
