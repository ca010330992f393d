/* Statements that hold a barrier, on GPUs: whether the work-items that reach one go the same way.
 *
 * A checked kernel raises "barrier in divergent control flow" where they part: at a condition, at a
 * loop's end, or where only some leave a statement with a barrier in it. What is compared is the
 * wavefront, in two instructions and without waiting for anybody; wavefronts of one workgroup that
 * disagree with each other are not seen.  Conditions that are known to be the same for all cost
 * nothing. */
#include "codegen/cg.h"
#include "ir/uniform.h"

struct roc_cg_agreement {
  roc_ir_uniform uniform;
  bool *holds; /* per instruction: whether its regions hold a barrier */
};

/* ---- what holds a barrier ------------------------------------------------------------------ */

static bool mark_region(const roc_ir_module *ir, uint32_t region, bool *holds);

static bool mark_inst(const roc_ir_module *ir, uint32_t id, bool *holds) {
  const roc_ir_inst *inst = &ir->insts.items[id];
  if (inst->op == ROC_IR_BARRIER) return true;
  if (!roc_ir_has_regions(inst)) return false;
  bool is_any = mark_region(ir, inst->k.region[0], holds);
  if (inst->op == ROC_IR_IF && mark_region(ir, inst->k.region[1], holds)) is_any = true;
  return holds[id] = is_any;
}

static bool mark_region(const roc_ir_module *ir, uint32_t region, bool *holds) {
  const roc_ir_ids *ids = &ir->regions.items[region];
  bool is_any = false;
  for (uint32_t i = 0; i < ids->count; i++) {
    if (mark_inst(ir, ids->items[i], holds)) is_any = true;
  }
  return is_any;
}

/* Whether a way through the region leaves a statement that holds a barrier. */
static bool leaves_barrier(const roc_ir_module *ir, uint32_t region, const bool *holds) {
  const roc_ir_ids *ids = &ir->regions.items[region];
  for (uint32_t i = 0; i < ids->count; i++) {
    const roc_ir_inst *inst = &ir->insts.items[ids->items[i]];
    bool leaves = inst->op == ROC_IR_LEAVE || inst->op == ROC_IR_NEXT;
    if (leaves && holds[inst->aux]) return true;
    if (!roc_ir_has_regions(inst)) continue;
    if (leaves_barrier(ir, inst->k.region[0], holds)) return true;
    if (inst->op == ROC_IR_IF && leaves_barrier(ir, inst->k.region[1], holds)) return true;
  }
  return false;
}

static bool decides_over_barrier(const roc_ir_module *ir, uint32_t id, const bool *holds) {
  const roc_ir_inst *inst = &ir->insts.items[id];
  return holds[id] || (inst->op == ROC_IR_IF && (leaves_barrier(ir, inst->k.region[0], holds) ||
                                                 leaves_barrier(ir, inst->k.region[1], holds)));
}

/* ---- the check ----------------------------------------------------------------------------- */

/* NULL: no memory, and the compile fails by the arena. */
static roc_cg_agreement *agreement_of(roc_cg *cg) {
  if (cg->agreement) return cg->agreement;
  roc_cg_agreement *a = ROC_ARENA_NEW(&cg->arena, roc_cg_agreement);
  if (!a) return NULL;
  a->holds = ROC_ARENA_ARRAY(&cg->arena, bool, cg->ir->insts.count + 1);
  if (!a->holds) return NULL;
  if (roc_ir_uniform_init(&a->uniform, cg->ir, NULL) != ROC_OK) {
    cg->arena.failed = true;
    return NULL;
  }
  cg->agreement = a;
  mark_region(cg->ir, 0, a->holds);
  return a;
}

void roc_cg_agreement_close(roc_cg *cg) {
  if (cg->agreement) roc_ir_uniform_deinit(&cg->agreement->uniform);
}

static uint32_t add_site(roc_cg *cg, uint32_t id) {
  roc_site site = {.kind = ROC_SITE_DIVERGENT, .file = "?"};
  uint32_t loc = cg->ir->insts.items[id].loc;
  if (loc < cg->ir->locs.count) {
    const roc_ir_loc *place = &cg->ir->locs.items[loc];
    site.file = place->file ? place->file : "?";
    site.line = place->line;
    site.column = place->column;
  }
  return roc_cg_add_site(cg, &site);
}

void roc_cg_agree(roc_cg *cg, uint32_t id, LLVMValueRef condition) {
  if (!cg->ir->check || !cg->target->parts || !cg->fault) return;
  const roc_cg_agreement *a = agreement_of(cg);
  if (!a || a->uniform.insts[id] != ROC_IR_VARYING || !decides_over_barrier(cg->ir, id, a->holds)) {
    return;
  }
  LLVMBasicBlockRef split = roc_cg_block(cg, "divergent"), same = roc_cg_block(cg, "agreed");
  roc_cg_branch_likely(cg, LLVMBuildNot(cg->b, cg->target->parts(cg, condition), ""), same, split);
  roc_cg_at(cg, split);
  roc_cg_fail(cg, add_site(cg, id), NULL, 0);
  roc_cg_at(cg, same);
}
