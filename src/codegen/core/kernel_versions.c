/* A kernel in two versions: the versioned one, without checks, after a condition that the whole
 * launch shares, and the fallback for when it does not hold (ir/loop_versioning.h makes them, as
 * the two regions of an IF of kind ROC_IR_IF_VERSIONS).
 *
 * For an ordinary IF LLVM would keep masks, to leave the one region and enter the other. So, as far
 * as LLVM can see, the versioned kernel runs into the fallback; but first it ends the wavefront, by
 * an instruction that LLVM does not look into (the target's end_wave). That instruction stands
 * where all work-items meet after the versioned kernel. It stands once more where the last of its
 * work is done, if no work-item can have anything left to do then: this spares the straight path
 * the instructions that restore the mask of the guard (`if i <= #y`).
 *
 * The same is done for choices that a wavefront makes together (ROC_IR_IF_ALL), in the versioned
 * kernel or one without versions, where nothing comes after them: the first region ends the
 * wavefront, and as far as LLVM can see runs into the second. */
#include "codegen/core/cg.h"
#include "ir/walk.h"

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

/* ---- choices of a wavefront, as its last work ----------------------------------------------- */

static bool only_returns(const roc_cg *cg, const roc_ir_inst *inst) {
  if (inst->op != ROC_IR_IF || cg->ir->regions.items[inst->k.region[1]].count > 0) return false;
  const roc_ir_ids *ids = &cg->ir->regions.items[inst->k.region[0]];
  return ids->count == 1 && inst_of(cg, ids->items[0])->op == ROC_IR_RETURN;
}

static bool may_fail(const roc_ir_inst *inst) {
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_CHECK:
    case ROC_IR_CHECK_INDEX:
    case ROC_IR_CHECK_NONZERO:
    case ROC_IR_CHECK_INT:
    case ROC_IR_FAIL:
    case ROC_IR_FAULT: return true;
    default: return false;
  }
}

/* Whether a work-item that does not come to the end of the list may have work of its own to do, in
 * code that structured control flow puts after it: it has left before the last instruction,
 * and not by a mere return, or goes around it. */
static bool may_leave_work(const roc_cg *cg, const roc_ir_ids *ids) {
  for (uint32_t i = 0; i + 1 < ids->count; i++) {
    const roc_ir_inst *inst = inst_of(cg, ids->items[i]);
    if (may_fail(inst) || (roc_ir_has_regions(inst) && !only_returns(cg, inst))) return true;
  }
  return false;
}

void roc_cg_find_final_choices(roc_cg *cg, uint32_t region) {
  cg->nfinal = 0;
  while (true) {
    const roc_ir_ids *ids = &cg->ir->regions.items[region];
    if (ids->count == 0 || may_leave_work(cg, ids)) return;
    const roc_ir_inst *last = inst_of(cg, roc_vec_last(ids));
    if (last->op != ROC_IR_IF) return;
    if (last->aux != ROC_IR_IF_ALL) {
      if (cg->ir->regions.items[last->k.region[1]].count > 0) return;
    } else if (cg->nfinal == ROC_CG_FINAL_CHOICES) {
      return;
    } else {
      cg->final_choices[cg->nfinal++] = roc_vec_last(ids);
    }
    region = last->k.region[0];
  }
}

bool roc_cg_is_final_choice(const roc_cg *cg, uint32_t id) {
  for (uint32_t i = 0; i < cg->nfinal; i++) {
    if (cg->final_choices[i] == id) return true;
  }
  return false;
}

/* What the region assigns gets back what it held, so that the region after it, as far as LLVM can
 * see, has the values from before. */
static ROC_IR_WALKS void give_back(roc_cg *cg, uint32_t region, LLVMBasicBlockRef before) {
  roc_ir_walk w;
  LLVMBuilderRef b = LLVMCreateBuilderInContext(cg->ctx);
  ROC_IR_FOR_EACH(w, cg->ir, region) {
    bool assigns = w.inst->op == ROC_IR_SET || w.inst->op == ROC_IR_FOR;
    LLVMValueRef at = assigns ? cg->vars[w.inst->aux] : NULL;
    if (!at) continue;
    LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(before));
    LLVMBuildStore(cg->b, LLVMBuildLoad2(b, LLVMGetAllocatedType(at), at, ""), at);
  }
  LLVMDisposeBuilder(b);
}

static bool is_written(const roc_cg *cg, uint32_t array) {
  const roc_ir_array *a = &cg->ir->arrays.items[array];
  return a->kind == ROC_IR_ARRAY_PARAM && cg->ir->params.items[a->param].is_written;
}

/* The second region.  LLVM takes it for what comes after the first one: it is not to see that what
 * that has stored is stored over. */
static void emit_otherwise(roc_cg *cg, uint32_t region) {
  for (uint32_t a = 0; a < cg->ir->arrays.count; a++) {
    if (!is_written(cg, a)) continue;
    cg->bases[a] = cg->arrays[a].base;
    cg->arrays[a].base = cg->target->opaque(cg, cg->bases[a]);
  }
  cg->nsome++;
  roc_cg_region(cg, region);
  cg->nsome--;
  for (uint32_t a = 0; a < cg->ir->arrays.count; a++) {
    if (is_written(cg, a)) cg->arrays[a].base = cg->bases[a];
  }
}

void roc_cg_final_choice(roc_cg *cg, uint32_t id) {
  const roc_ir_inst *inst = inst_of(cg, id);
  LLVMBasicBlockRef yes = roc_cg_block(cg, "all"), no = roc_cg_block(cg, "some");
  LLVMBasicBlockRef done = roc_cg_block(cg, "all.end"), exit = cg->exit;
  roc_cg_branch_likely(cg, cg->target->holds_for_all(cg, roc_cg_operand(cg, inst, 0)), yes, no);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(cg->b);
  roc_cg_at(cg, yes);
  cg->exit = done;
  roc_cg_region(cg, inst->k.region[0]);
  roc_cg_goto(cg, done);
  cg->exit = exit;
  roc_cg_at(cg, done);
  cg->target->end_wave(cg);
  give_back(cg, inst->k.region[0], before);
  LLVMBuildBr(cg->b, no);
  roc_cg_at(cg, no);
  emit_otherwise(cg, inst->k.region[1]);
  roc_cg_goto(cg, exit);
}

/* ---- versions ------------------------------------------------------------------------------- */

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
  roc_cg_find_final_choices(cg, inst->k.region[0]);
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
