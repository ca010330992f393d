/* A kernel that is there twice: the fast one behind a condition that the whole launch shares, the
 * slow one for when it does not hold (ir/loop_versioning.h makes them, as the two ways of an IF
 * that ends the body).
 *
 * As an ordinary IF LLVM would keep masks to leave the one way and enter the other. So the fast
 * kernel runs into the slow one, as far as LLVM can see, but ends the wavefront first, by an
 * instruction that LLVM does not look into. It stands where all work-items meet after the fast
 * kernel, and once more where the last of its work is done, if nobody can have anything left to do
 * then: that spares the straight way putting back the mask of the guard (`if i <= #y`). */
#include <string.h>

#include "codegen/core/cg.h"

static const roc_ir_inst *inst_of(const roc_cg *cg, uint32_t id) {
  return &cg->ir->insts.items[id];
}

/* Made of extents, arguments, sizes and constants alone. */
static bool is_shared_by_launch(const roc_cg *cg, uint32_t id) {
  const roc_ir_inst *inst = inst_of(cg, id);
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_CONST:
    case ROC_IR_PARAM:
    case ROC_IR_EXTENT:
    case ROC_IR_GLOBAL_SIZE:
    case ROC_IR_LOCAL_SIZE:
    case ROC_IR_NUM_GROUPS: return true;
    case ROC_IR_ADD:
    case ROC_IR_MIN:
    case ROC_IR_LE:
    case ROC_IR_SELECT: break;
    default: return false;
  }
  for (uint32_t n = 0; n < inst->nargs; n++) {
    if (!is_shared_by_launch(cg, roc_ir_arg(cg->ir, inst, n))) return false;
  }
  return true;
}

bool roc_cg_is_versioned_kernel(const roc_cg *cg, uint32_t id) {
  const roc_ir_ids *body = &cg->ir->regions.items[0];
  const roc_ir_inst *inst = inst_of(cg, id);
  return cg->narrow && cg->ir->check && inst->op == ROC_IR_IF && roc_vec_last(body) == id &&
         cg->ir->regions.items[inst->k.region[0]].count > 0 &&
         cg->ir->regions.items[inst->k.region[1]].count > 0 &&
         is_shared_by_launch(cg, roc_ir_arg(cg->ir, inst, 0));
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
 * none.  Who does not enter it has nothing left to do. */
static uint32_t last_guarded(const roc_cg *cg, uint32_t region) {
  uint32_t last = 0;
  while (true) {
    const roc_ir_ids *ids = &cg->ir->regions.items[region];
    if (ids->count == 0 || !ends_in_order(cg, ids)) return last;
    const roc_ir_inst *inst = inst_of(cg, roc_vec_last(ids));
    bool is_guard = inst->op == ROC_IR_IF && cg->ir->regions.items[inst->k.region[1]].count == 0;
    if (!is_guard) return last;
    last = region = inst->k.region[0];
  }
}

/* For every work-item of the wavefront. Convergent, so that LLVM lets all come to it first. As a
 * call with side effects it follows all stores; to say that it clobbers memory, too, would have
 * LLVM look that word up among the names of all registers, a fifth of a small compile. */
static void end_wave(roc_cg *cg) {
  static const char *const attributes[] = {"convergent", "noduplicate", "nounwind"};
  static const char code[] = "s_endpgm";
  LLVMTypeRef type = LLVMFunctionType(cg->t.none, NULL, 0, 0);
  LLVMValueRef end =
      LLVMGetInlineAsm(type, code, sizeof code - 1, "", 0, 1, 0, LLVMInlineAsmDialectATT, 0);
  LLVMValueRef call = LLVMBuildCall2(cg->b, type, end, NULL, 0, "");
  for (int i = 0; i < 3; i++) {
    unsigned kind = LLVMGetEnumAttributeKindForName(attributes[i], strlen(attributes[i]));
    LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex,
                             LLVMCreateEnumAttribute(cg->ctx, kind, 0));
  }
}

/* A work-item that left elsewhere (it returned, or a check failed) may still have that part of its
 * code to run, which structured control flow puts in any order. */
void roc_cg_end_region(roc_cg *cg) {
  bool has_left = LLVMGetFirstUse(LLVMBasicBlockAsValue(cg->exit)) != NULL;
  if (!has_left && roc_cg_is_open(cg)) end_wave(cg);
}

void roc_cg_kernel_versions(roc_cg *cg, uint32_t id) {
  const roc_ir_inst *inst = inst_of(cg, id);
  LLVMBasicBlockRef fast = roc_cg_block(cg, "fast"), slow = roc_cg_block(cg, "slow");
  LLVMBasicBlockRef exit = cg->exit;
  roc_cg_branch_likely(cg, roc_cg_operand(cg, inst, 0), fast, slow);
  roc_cg_at(cg, fast);
  cg->version = ROC_CG_VERSIONED;
  cg->exit = roc_cg_block(cg, "fast.end");
  cg->last_region = last_guarded(cg, inst->k.region[0]);
  roc_cg_region(cg, inst->k.region[0]);
  cg->last_region = 0;
  roc_cg_goto(cg, cg->exit);
  roc_cg_at(cg, cg->exit);
  end_wave(cg);
  LLVMBuildBr(cg->b, slow);
  cg->exit = exit;
  roc_cg_at(cg, slow);
  cg->version = ROC_CG_FALLBACK;
  cg->target->opaque_launch(cg); /* else LLVM moves what both compute in front of both */
  roc_cg_shared_fault faults; /* it is there for the faults, and should not take long to compile */
  roc_cg_share_faults(cg, &faults);
  roc_cg_region(cg, inst->k.region[1]);
  cg->version = ROC_CG_FALLBACK_FAULTS;
  roc_cg_end_shared_faults(cg);
}
