/* Lanes of a wavefront that come together again before what they do together.
 *
 * ptxas takes for granted that a wavefront is whole where it comes to a barrier, and keeps what is
 * the same for all lanes in registers that they share. Where lanes have ways out of the kernel (a
 * failed check, a return) its code does not see to that: after a condition that lanes differ in, some
 * go on to the next barrier at once. The barrier counts whole wavefronts, so that it lets them pass
 * before the others have come, and on their way they write shared registers that lanes still in a
 * loop go on reading. Ways out of one version are enough for that in the others.
 *
 * So lanes wait before a barrier that they come to by different ways. A wait for all lanes is dropped
 * where ptxas takes them for joined already, so it is not told that the mask is of all. There must be
 * no such wait elsewhere: it uses shared registers itself, and one at the end of a loop wrote what a
 * lane in the loop was about to read. */
#include "codegen/core/repair.h"
#include "codegen/nvptx/nvptx.h"
#include "ir/uniform.h"

typedef struct finder {
  const roc_ir_module *ir;
  roc_ir_uniform uniform;
  uint8_t *marks; /* per instruction: lanes wait before it */
  bool is_apart;  /* lanes may have come here by different ways since they waited last */
} finder;

static unsigned flags_of(const roc_ir_inst *inst) {
  return roc_ir_op_table[inst->op].flags;
}

static bool leaves_kernel(const roc_ir_inst *inst) {
  bool stays = inst->op == ROC_IR_LEAVE || inst->op == ROC_IR_NEXT;
  return (flags_of(inst) & ROC_IRF_STOP) && !stays;
}

static bool is_versions(const roc_ir_inst *inst) {
  return inst->op == ROC_IR_IF && inst->aux == ROC_IR_IF_VERSIONS;
}

/* Whether lanes take different ways through the statement, or one inside it. */
static bool parts(const finder *f, uint32_t id) {
  const roc_ir_inst *inst = &f->ir->insts.items[id];
  uint32_t count = roc_ir_region_count(inst);
  if (count && !is_versions(inst) && f->uniform.insts[id] == ROC_IR_VARYING) return true;
  for (uint32_t n = 0; n < count; n++) {
    const roc_ir_ids *ids = &f->ir->regions.items[inst->k.region[n]];
    for (uint32_t i = 0; i < ids->count; i++) {
      if (parts(f, ids->items[i])) return true;
    }
  }
  return false;
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

bool roc_nvptx_has_exits(const roc_cg *cg) {
  return has_exits_in(cg->ir, 0);
}

static void mark_region(finder *f, uint32_t region);

/* The regions of a statement; lanes come out of it apart where they part in it. */
static void mark_statement(finder *f, uint32_t id) {
  const roc_ir_inst *inst = &f->ir->insts.items[id];
  bool is_loop = inst->op == ROC_IR_LOOP || inst->op == ROC_IR_FOR, is_parting = parts(f, id);
  bool before = f->is_apart || (is_loop && is_parting), after = is_parting;
  for (uint32_t n = 0; n < roc_ir_region_count(inst); n++) {
    f->is_apart = before;
    mark_region(f, inst->k.region[n]);
    after |= f->is_apart;
  }
  f->is_apart = after;
}

static void mark_region(finder *f, uint32_t region) {
  const roc_ir_ids *ids = &f->ir->regions.items[region];
  for (uint32_t i = 0; i < ids->count; i++) {
    uint32_t id = ids->items[i];
    const roc_ir_inst *inst = &f->ir->insts.items[id];
    bool is_barrier = flags_of(inst) & ROC_IRF_CUT_GROUP && !roc_ir_region_count(inst);
    f->marks[id] = is_barrier && f->is_apart;
    if (f->marks[id]) f->is_apart = false;
    if (roc_ir_region_count(inst)) mark_statement(f, id);
  }
}

uint8_t *roc_nvptx_find_gathers(roc_cg *cg) {
  const roc_ir_module *ir = cg->ir;
  bool has_barriers = false;
  for (uint32_t i = 0; i < ir->insts.count && !has_barriers; i++) {
    has_barriers = flags_of(&ir->insts.items[i]) & ROC_IRF_CUT_GROUP;
  }
  bool is_quirk = roc_quirk_is_on(cg->options->quirks_off, ROC_QUIRK_SHARED_REGISTERS);
  if (!has_barriers || !is_quirk || !roc_nvptx_has_exits(cg)) return NULL;
  finder f = {.ir = ir, .marks = ROC_ARENA_ARRAY(&cg->arena, uint8_t, ir->insts.count)};
  if (!f.marks) return NULL;
  if (roc_ir_uniform_init(&f.uniform, ir, NULL) != ROC_OK) {
    cg->arena.failed = true;
    return NULL;
  }
  mark_region(&f, 0);
  roc_ir_uniform_deinit(&f.uniform);
  return f.marks;
}

static const char WAIT[] = "llvm.nvvm.bar.warp.sync";

/* All lanes, which ptxas cannot tell: those up to this one, and those above it. */
static LLVMValueRef opaque_lanes(roc_cg *cg) {
  LLVMBasicBlockRef here = LLVMGetInsertBlock(cg->b), entry = LLVMGetEntryBasicBlock(cg->fn);
  LLVMValueRef first = LLVMGetFirstInstruction(entry);
  if (first) {
    LLVMPositionBuilderBefore(cg->b, first);
  } else {
    LLVMPositionBuilderAtEnd(cg->b, entry);
  }
  LLVMValueRef below = roc_nvptx_read_register(cg, "lanemask.le");
  LLVMValueRef lanes =
      LLVMBuildOr(cg->b, below, roc_nvptx_read_register(cg, "lanemask.gt"), "lanes");
  LLVMPositionBuilderAtEnd(cg->b, here);
  return lanes;
}

bool roc_nvptx_intercept(roc_cg *cg, uint32_t id) {
  const uint8_t *gathers = roc_nvptx_state_of(cg)->gathers;
  if (gathers && gathers[id]) {
    LLVMValueRef lanes = opaque_lanes(cg);
    roc_cg_intrinsic(cg, WAIT, NULL, 0, &lanes, 1);
  }
  return roc_nvptx_coarse_intercept(cg, id) || roc_nvptx_even_intercept(cg, id);
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
