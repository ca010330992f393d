/* Barriers that the lanes of a wavefront may come to apart.
 *
 * PTX has two forms of a barrier. The aligned one promises that a wavefront comes to it as a whole,
 * and ptxas takes that for granted on all ways that lead there: it does not join lanes that a
 * condition has parted, and lets those past a loop write registers of the wavefront that others,
 * still in the loop, go on reading. Where some lanes have ways out of the kernel (a failed check, a
 * return) it keeps that promise by itself nowhere, and so the code must not give it: the other form
 * waits for each lane. A version of the kernel that has no such way has aligned barriers. */
#include "codegen/nvptx/nvptx.h"

static bool leaves_kernel(const roc_ir_inst *inst) {
  bool stays = inst->op == ROC_IR_LEAVE || inst->op == ROC_IR_NEXT;
  return (roc_ir_op_table[inst->op].flags & ROC_IRF_STOP) && !stays;
}

static bool has_exits_in(const roc_ir_module *ir, uint32_t region) {
  const roc_ir_ids *ids = &ir->regions.items[region];
  for (uint32_t i = 0; i < ids->count; i++) {
    const roc_ir_inst *inst = &ir->insts.items[ids->items[i]];
    if (leaves_kernel(inst)) return true;
    for (uint32_t n = 0; n < roc_ir_region_count(inst); n++) {
      if (has_exits_in(ir, inst->k.region[n])) return true;
    }
  }
  return false;
}

static void mark_region(const roc_ir_module *ir, uint8_t *marks, uint32_t region, bool has_exits) {
  const roc_ir_ids *ids = &ir->regions.items[region];
  for (uint32_t i = 0; i < ids->count; i++) {
    const roc_ir_inst *inst = &ir->insts.items[ids->items[i]];
    bool is_versions = inst->op == ROC_IR_IF && inst->aux == ROC_IR_IF_VERSIONS;
    marks[ids->items[i]] = has_exits;
    for (uint32_t n = 0; n < roc_ir_region_count(inst); n++) {
      uint32_t inner = inst->k.region[n];
      mark_region(ir, marks, inner, is_versions ? has_exits_in(ir, inner) : has_exits);
    }
  }
}

uint8_t *roc_nvptx_find_apart(roc_cg *cg) {
  uint8_t *marks = ROC_ARENA_ARRAY(&cg->arena, uint8_t, cg->ir->insts.count + 1);
  if (marks) mark_region(cg->ir, marks, 0, has_exits_in(cg->ir, 0));
  return marks;
}
