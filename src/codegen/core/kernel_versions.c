/* A kernel in two versions: the versioned one, without checks, after a condition that the whole
 * launch shares, and the fallback for when it does not hold (ir/loop_versioning.h makes them, as
 * the two regions of an IF of kind ROC_IR_IF_VERSIONS).
 *
 * For an ordinary IF LLVM would keep masks, to leave the one region and enter the other. So, as far
 * as LLVM can see, the versioned kernel runs into the fallback; but first it ends the wavefront, by
 * an instruction that LLVM does not look into (the target's end_wave). That instruction stands
 * where all work-items meet after the versioned kernel. It stands once more where the last of its
 * work is done, if no work-item can have anything left to do then: this spares the straight path
 * the instructions that restore the mask of the guard (`if i <= #y`). */
#include "codegen/core/cg.h"

static const roc_ir_inst *inst_of(const roc_cg *cg, uint32_t id) {
  return &cg->ir->insts.items[id];
}

bool roc_cg_is_versioned_kernel(const roc_cg *cg, uint32_t id) {
  const roc_ir_inst *inst = inst_of(cg, id);
  return cg->target->end_wave && inst->op == ROC_IR_IF && inst->aux == ROC_IR_IF_VERSIONS &&
         cg->ir->regions.items[inst->k.region[0]].count > 0 &&
         cg->ir->regions.items[inst->k.region[1]].count > 0;
}

/* Whether all there is to do in the region is done before its last statement is begun, or in it.
 * Other statements with regions may come after it in the code that LLVM makes of them: of two with
 * opposite conditions it makes an if with an else.  A barrier keeps them in front. */
static bool ends_in_order(const roc_cg *cg, const roc_ir_ids *ids) {
  for (uint32_t i = ids->count - 1; i > 0; i--) {
    const roc_ir_inst *inst = inst_of(cg, ids->items[i - 1]);
    if (inst->op == ROC_IR_BARRIER) return true;
    if (roc_ir_has_regions(inst)) return false;
  }
  return true;
}

/* The region of the guard, or of the innermost of several, that the region ends with; 0: there is
 * none.  A work-item that does not enter it has nothing left to do: of an IF that a wavefront decides
 * together, all its work-items enter the first region, or none does. */
static uint32_t last_guarded(const roc_cg *cg, uint32_t region) {
  uint32_t last = 0;
  while (true) {
    const roc_ir_ids *ids = &cg->ir->regions.items[region];
    if (ids->count == 0 || !ends_in_order(cg, ids)) return last;
    const roc_ir_inst *inst = inst_of(cg, roc_vec_last(ids));
    bool is_guard = inst->op == ROC_IR_IF && (inst->aux == ROC_IR_IF_ALL ||
                                              cg->ir->regions.items[inst->k.region[1]].count == 0);
    if (!is_guard) return last;
    last = region = inst->k.region[0];
  }
}

/* A work-item that left elsewhere (it returned, or a check failed) may still have that part of its
 * code to run, which structured control flow puts in any order. */
void roc_cg_end_region(roc_cg *cg) {
  bool has_left = LLVMGetFirstUse(LLVMBasicBlockAsValue(cg->exit)) != NULL;
  if (!has_left && roc_cg_is_open(cg)) cg->target->end_wave(cg);
}

static bool is_false(const roc_ir_inst *inst) {
  return inst->op == ROC_IR_CONST && inst->k.i == 0;
}

/* Goes to `versioned` if the condition, operand `n` of the instruction, holds.  Each of several
 * comparisons has a branch of its own: to join them takes an AMD GPU three scalar instructions
 * each. LLVM would join them where there is nothing between two branches. */
static void choose(roc_cg *cg, const roc_ir_inst *inst, uint32_t n, LLVMBasicBlockRef versioned,
                   LLVMBasicBlockRef fallback) {
  const roc_ir_inst *condition = inst_of(cg, roc_ir_arg(cg->ir, inst, n));
  bool is_both =
      condition->op == ROC_IR_SELECT && is_false(inst_of(cg, roc_ir_arg(cg->ir, condition, 2)));
  if (!is_both) {
    roc_cg_branch_likely(cg, roc_cg_operand(cg, inst, n), versioned, fallback);
    return;
  }
  LLVMBasicBlockRef second = roc_cg_block(cg, "versioned.if");
  choose(cg, condition, 0, second, fallback);
  roc_cg_at(cg, second);
  roc_cg_intrinsic(cg, "llvm.sideeffect", NULL, 0, NULL, 0);
  choose(cg, condition, 1, versioned, fallback);
}

void roc_cg_kernel_versions(roc_cg *cg, uint32_t id) {
  const roc_ir_inst *inst = inst_of(cg, id);
  LLVMBasicBlockRef versioned = roc_cg_block(cg, "versioned"),
                    fallback = roc_cg_block(cg, "fallback");
  LLVMBasicBlockRef exit = cg->exit;
  choose(cg, inst, 0, versioned, fallback);
  roc_cg_at(cg, versioned);
  cg->version = ROC_CG_VERSIONED;
  cg->exit = roc_cg_block(cg, "versioned.end");
  cg->last_region = last_guarded(cg, inst->k.region[0]);
  roc_cg_region(cg, inst->k.region[0]);
  cg->last_region = 0;
  roc_cg_goto(cg, cg->exit);
  roc_cg_at(cg, cg->exit);
  cg->target->end_wave(cg);
  LLVMBuildBr(cg->b, fallback);
  cg->exit = exit;
  roc_cg_at(cg, fallback);
  cg->version = ROC_CG_FALLBACK;
  cg->target->opaque_launch(cg); /* else LLVM moves what both compute in front of both */
  roc_cg_shared_fault faults; /* it is there for the faults, and should not take long to compile */
  roc_cg_share_faults(cg, &faults);
  roc_cg_region(cg, inst->k.region[1]);
  cg->version = ROC_CG_FALLBACK_FAULTS;
  roc_cg_end_shared_faults(cg);
}
