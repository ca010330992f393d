/* Statements that decide over a barrier or a wave operation, on GPUs: whether the work-items that
 * reach one go the same way.
 *
 * A checked kernel raises "barrier in divergent control flow" where they part, or "wave operation
 * in …" where that is all they miss: at a condition, at a loop's begin and turns, or where only
 * some leave a statement before its last barrier or wave operation. What is compared is the
 * wavefront, in two instructions, and before a barrier then the workgroup, which takes a barrier
 * itself (all reach it, or would have parted before). Conditions that are known to be the same for
 * all cost nothing. */
#include <string.h>

#include "base/alloc.h"
#include "codegen/core/cg.h"
#include "ir/parallel_regions.h"
#include "ir/uniform.h"

enum { CUTS = ROC_IRF_CUT_WAVE | ROC_IRF_CUT_GROUP };

struct roc_cg_divergence {
  uint8_t *cuts;    /* per instruction: ROC_IRF_CUT_*, nested ones included */
  uint8_t *decides; /* per control instruction: over which cuts */
  uint8_t *uniform; /* per instruction: roc_ir_uniformity; NULL: the kernel has no cuts */
};

/* ---- what is decided over ------------------------------------------------------------------ */

/* A control instruction around the point of the walk. */
typedef struct enclosing {
  uint32_t inst;
  uint8_t rest; /* cuts that follow it in its region */
} enclosing;

typedef struct walk {
  const roc_ir_module *ir;
  roc_cg_divergence *a;
  roc_vec(enclosing) around;
  bool failed;
} walk;

static bool is_loop(const roc_ir_inst *inst) {
  return inst->op == ROC_IR_LOOP || inst->op == ROC_IR_FOR;
}

/* The cuts that a jump goes past, of which `rest` follow in its region, are decided over by each IF
 * that it is in, up to its target. */
static void note_jump(walk *w, const roc_ir_inst *jump, uint8_t rest) {
  uint32_t target = w->around.count;
  uint8_t missed = rest;
  while (target-- > 0 && w->around.items[target].inst != jump->aux) {
  }
  if (target == UINT32_MAX) return;
  for (uint32_t i = w->around.count; i-- > target;) {
    const enclosing *e = &w->around.items[i];
    bool leaves = i > target || jump->op == ROC_IR_LEAVE;
    if (leaves && is_loop(&w->ir->insts.items[e->inst])) missed |= w->a->cuts[e->inst];
    if (i > target) missed |= e->rest;
  }
  for (uint32_t i = target + 1; i < w->around.count; i++) {
    uint32_t id = w->around.items[i].inst;
    if (w->ir->insts.items[id].op == ROC_IR_IF) w->a->decides[id] |= missed & CUTS;
  }
}

static void walk_region(walk *w, uint32_t region);

static void walk_inst(walk *w, uint32_t id, uint8_t rest) {
  const roc_ir_inst *inst = &w->ir->insts.items[id];
  if (inst->op == ROC_IR_LEAVE || inst->op == ROC_IR_NEXT) note_jump(w, inst, rest);
  if (!roc_ir_has_regions(inst)) return;
  w->a->decides[id] |= w->a->cuts[id];
  if (!roc_vec_push(&w->around, ((enclosing){id, rest}))) {
    w->failed = true;
    return;
  }
  walk_region(w, inst->k.region[0]);
  if (inst->op == ROC_IR_IF) walk_region(w, inst->k.region[1]);
  w->around.count--;
}

static void walk_region(walk *w, uint32_t region) {
  const roc_ir_ids *ids = &w->ir->regions.items[region];
  uint8_t rest = 0;
  for (uint32_t i = ids->count; i-- > 0 && !w->failed;) {
    walk_inst(w, ids->items[i], rest);
    rest |= w->a->cuts[ids->items[i]];
  }
}

static bool has_cuts(const roc_ir_module *ir, const uint8_t *cuts) {
  const roc_ir_ids *body = &ir->regions.items[0];
  for (uint32_t i = 0; i < body->count; i++) {
    if (cuts[body->items[i]] & CUTS) return true;
  }
  return false;
}

/* A copy of a table with an entry per instruction, in the arena; NULL: no memory. */
static uint8_t *keep(roc_cg *cg, const uint8_t *table) {
  uint8_t *copy = ROC_ARENA_ARRAY(&cg->arena, uint8_t, cg->ir->insts.count + 1);
  if (copy) memcpy(copy, table, cg->ir->insts.count);
  return copy;
}

static bool find_cuts(roc_cg *cg, roc_cg_divergence *a) {
  uint8_t *cuts;
  if (roc_ir_find_cuts(cg->ir, &cuts, NULL) != ROC_OK) return false;
  a->cuts = keep(cg, cuts);
  roc_free(cuts);
  return a->cuts != NULL;
}

static bool find_uniform(roc_cg *cg, roc_cg_divergence *a) {
  roc_ir_uniform uniform;
  if (roc_ir_uniform_init(&uniform, cg->ir, NULL) != ROC_OK) return false;
  a->uniform = keep(cg, uniform.insts);
  roc_ir_uniform_deinit(&uniform);
  return a->uniform != NULL;
}

static bool find_decisions(roc_cg *cg, roc_cg_divergence *a) {
  walk w = {.ir = cg->ir, .a = a};
  a->decides = ROC_ARENA_ARRAY(&cg->arena, uint8_t, cg->ir->insts.count + 1);
  if (!a->decides || !find_cuts(cg, a)) return false;
  if (!has_cuts(cg->ir, a->cuts)) return true;
  walk_region(&w, 0);
  roc_vec_deinit(&w.around);
  return !w.failed && find_uniform(cg, a);
}

/* NULL: no memory, and the compile fails by the arena. */
static roc_cg_divergence *divergence_of(roc_cg *cg) {
  if (cg->divergence) return cg->divergence;
  roc_cg_divergence *a = ROC_ARENA_NEW(&cg->arena, roc_cg_divergence);
  if (!a) return NULL;
  if (!find_decisions(cg, a)) {
    cg->arena.failed = true;
    return NULL;
  }
  return cg->divergence = a;
}

static bool needs_group(const roc_cg_divergence *a, uint32_t id) {
  return (a->decides[id] & ROC_IRF_CUT_GROUP) && a->uniform[id] != ROC_IR_UNIFORM_GROUP;
}

bool roc_cg_agrees_in_group(roc_cg *cg) {
  const roc_cg_divergence *a = cg->ir->check ? divergence_of(cg) : NULL;
  for (uint32_t id = 0; a && a->uniform && id < cg->ir->insts.count; id++) {
    uint8_t op = cg->ir->insts.items[id].op;
    if ((op == ROC_IR_IF || op == ROC_IR_FOR) && needs_group(a, id)) return true;
  }
  return false;
}

/* ---- the check ----------------------------------------------------------------------------- */

uint32_t roc_cg_divergent_site(roc_cg *cg, uint32_t id, bool is_barrier) {
  roc_site site = {.kind = is_barrier ? ROC_SITE_DIVERGENT : ROC_SITE_DIVERGENT_WAVE, .file = "?"};
  uint32_t loc = cg->ir->insts.items[id].loc;
  if (loc < cg->ir->locs.count) {
    const roc_ir_loc *place = &cg->ir->locs.items[loc];
    site.file = place->file ? place->file : "?";
    site.line = place->line;
    site.column = place->column;
  }
  return roc_cg_add_site(cg, &site);
}

static void fail_if(roc_cg *cg, LLVMValueRef parts, uint32_t site) {
  LLVMBasicBlockRef split = roc_cg_block(cg, "divergent"), same = roc_cg_block(cg, "agreed");
  roc_cg_branch_likely(cg, LLVMBuildNot(cg->b, parts, ""), same, split);
  roc_cg_at(cg, split);
  roc_cg_fail(cg, site, NULL, 0);
  roc_cg_at(cg, same);
}

void roc_cg_check_divergence(roc_cg *cg, uint32_t id, LLVMValueRef condition) {
  if (!cg->ir->check || !cg->target->wave_diverges || !cg->fault) return;
  const roc_cg_divergence *a = divergence_of(cg);
  if (!a || !a->uniform || !a->decides[id]) return;
  bool is_varying = a->uniform[id] == ROC_IR_VARYING;
  bool in_group = needs_group(a, id) && cg->target->group_parts;
  if (!is_varying && !in_group) return;
  uint32_t site = roc_cg_divergent_site(cg, id, a->decides[id] & ROC_IRF_CUT_GROUP);
  if (is_varying) fail_if(cg, cg->target->wave_diverges(cg, condition), site);
  LLVMValueRef differs = in_group ? cg->target->group_parts(cg, condition) : NULL;
  if (differs) fail_if(cg, differs, site);
}
