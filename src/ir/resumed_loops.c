/* See resumed_loops.h.  Works on one region after the other, innermost first. */
#include "ir/resumed_loops.h"

#include "base/alloc.h"
#include "ir/combined_checks.h"
#include "ir/copy.h"
#include "ir/walk.h"

enum {
  MAX_LOOP_INSTS = 128, /* larger ones are not copied */
  MAX_COPIED = 384      /* instructions, of a kernel */
};

/* Of an instruction of the current loop. */
typedef enum part {
  PART_AS_IS,
  PART_CHECK,         /* made by the wavefront where it stands */
  PART_GUARDED_CHECK, /* likewise, in front of the IF that it stands in */
  PART_OF_GUARDED     /* computed there, too, for such checks */
} part;

typedef struct resumer {
  roc_ir_module *m;
  roc_ir_builder b;
  roc_ir_copier copier;
  roc_ir_op op; /* of the loops to be changed */
  roc_ir_ids *left;
  uint32_t count;           /* instructions there were at the start */
  uint32_t ncopied;         /* so far */
  uint8_t *parts;           /* per instruction */
  uint32_t *is_read;        /* per variable: the number of the loop that read it last … */
  uint32_t tick;            /* … which for the current one is this */
  uint32_t loop;            /* the current one */
  uint32_t round, has_left; /* its variables: where it goes on, and whether it does, not 0 */
} resumer;

static const roc_ir_inst *inst_of(const resumer *r, uint32_t id) {
  return &r->m->insts.items[id];
}

static const roc_ir_ids *ids_of(const resumer *r, uint32_t region) {
  return &r->m->regions.items[region];
}

static bool is_loop(const roc_ir_inst *inst) {
  return inst->op == ROC_IR_LOOP || inst->op == ROC_IR_FOR;
}

static bool is_check(const roc_ir_inst *inst) {
  return inst->op == ROC_IR_CHECK_INDEX || inst->op == ROC_IR_CHECK_NONZERO ||
         inst->op == ROC_IR_CHECK_INT;
}

/* ---- whether a loop suits -------------------------------------------------------------------- */

/* What a round may do twice: also an assignment, if it did not read the variable before. */
static bool is_harmless(resumer *r, const roc_ir_inst *inst) {
  const uint16_t effects = ROC_IRF_WRITE | ROC_IRF_EFFECT | ROC_IRF_CONTROL | ROC_IRF_STOP;
  if (inst->op == ROC_IR_GET) r->is_read[inst->aux] = r->tick;
  if (inst->op == ROC_IR_SET) return r->is_read[inst->aux] != r->tick;
  return !(roc_ir_op_table[inst->op].flags & effects);
}

/* Whether all operands are, but for those computed among the first `count` that are not. */
static bool are_ready(const resumer *r, const roc_ir_inst *inst, const roc_ir_ids *ids,
                      uint32_t count) {
  for (uint32_t n = 0; n < inst->nargs; n++) {
    uint32_t arg = roc_ir_arg(r->m, inst, n);
    for (uint32_t i = 0; i < count; i++) {
      if (ids->items[i] == arg && r->parts[arg] != PART_OF_GUARDED) return false;
    }
  }
  return true;
}

/* The checks that an IF begins with, as far as nothing is loaded for them. */
static uint32_t mark_guarded(resumer *r, uint32_t region) {
  const roc_ir_ids *ids = ids_of(r, region);
  uint32_t nmarked = 0;
  for (uint32_t i = 0; i < ids->count; i++) {
    const roc_ir_inst *inst = inst_of(r, ids->items[i]);
    if (!is_check(inst) && (inst->op == ROC_IR_SET || !is_harmless(r, inst))) break;
    bool is_ready = inst->op != ROC_IR_LOAD && are_ready(r, inst, ids, i);
    if (is_ready) r->parts[ids->items[i]] = is_check(inst) ? PART_GUARDED_CHECK : PART_OF_GUARDED;
    nmarked += is_ready && is_check(inst);
  }
  return nmarked;
}

/* After can_copy. */
static uint32_t mark_parts(resumer *r, uint32_t region) {
  const roc_ir_ids *ids = ids_of(r, region);
  uint32_t nmarked = 0;
  r->tick++;
  for (uint32_t i = 0; i < ids->count; i++) {
    const roc_ir_inst *inst = inst_of(r, ids->items[i]);
    if (is_check(inst)) {
      r->parts[ids->items[i]] = PART_CHECK;
      nmarked++;
    } else if (!is_harmless(r, inst) && !roc_ir_only_leaves(r->m, inst)) {
      /* Items that leave do not come to a check after it; others find again that they do not. */
      bool guards = inst->op == ROC_IR_IF && inst->aux != ROC_IR_IF_ALL;
      if (!guards) return nmarked;
      return nmarked + mark_guarded(r, inst->k.region[0]) + mark_guarded(r, inst->k.region[1]);
    }
  }
  return nmarked;
}

/* Not where an inner loop is there twice already. */
static ROC_IR_WALKS bool can_copy(const resumer *r, uint32_t region, uint32_t *ninsts) {
  roc_ir_walk w;
  *ninsts = 0;
  ROC_IR_FOR_EACH(w, r->m, region) {
    uint16_t flags = roc_ir_op_table[w.inst->op].flags;
    bool meets = flags & (ROC_IRF_CUT_GROUP | ROC_IRF_CUT_WAVE);
    bool ends = r->op == ROC_IR_LOOP && w.inst->op == ROC_IR_LEAVE;
    bool leaves = (flags & ROC_IRF_STOP) && !is_check(w.inst) && !ends;
    bool is_too_wide = w.inst->nargs > ROC_IR_COPY_MAX_ARGS || w.id >= r->count;
    if (meets || leaves || is_too_wide || is_loop(w.inst) || ++*ninsts > MAX_LOOP_INSTS)
      return false;
  }
  return r->ncopied + *ninsts <= MAX_COPIED;
}

static bool is_left(const resumer *r, uint32_t id) {
  for (uint32_t i = 0; i < r->left->count; i++) {
    if (r->left->items[i] == id) return true;
  }
  return false;
}

static bool is_suitable(resumer *r, uint32_t id) {
  const roc_ir_inst *inst = inst_of(r, id);
  if (inst->op != r->op || is_left(r, id)) return false;
  uint32_t body = inst->k.region[0], ninsts;
  if (!can_copy(r, body, &ninsts) || mark_parts(r, body) == 0) return false;
  r->loop = id;
  r->ncopied += ninsts;
  return true;
}

/* ---- both loops ------------------------------------------------------------------------------ */

static void emit_leave_unless(resumer *r, uint32_t holds) {
  const roc_ir_inst *loop = inst_of(r, r->loop);
  uint32_t var = loop->aux;
  uint32_t choice = roc_ir_begin(&r->b, ROC_IR_IF, ROC_IR_IF_ALL, &holds, 1);
  roc_ir_else(&r->b, choice);
  if (r->op == ROC_IR_FOR) roc_ir_set(&r->b, r->round, roc_ir_get(&r->b, var));
  /* Not 0, which LLVM does not know: of a constant it would keep a mask in every round. */
  roc_ir_set(&r->b, r->has_left, roc_ir_query(&r->b, ROC_IR_GLOBAL_SIZE, 0));
  roc_ir_leave(&r->b, r->copier.copies[r->loop]);
  roc_ir_end(&r->b, choice);
}

static uint32_t copied_arg(const resumer *r, const roc_ir_inst *inst, uint32_t n) {
  uint32_t arg = roc_ir_arg(r->m, inst, n);
  return arg < r->count ? r->copier.copies[arg] : arg;
}

/* Whether the checks of a region of the IF hold, whose copies of these instructions replace them in
 * turn; NONE: there are none. */
static uint32_t emit_guarded(resumer *r, uint32_t region) {
  uint32_t all = ROC_IR_NONE;
  for (uint32_t i = 0; i < ids_of(r, region)->count && !r->b.failed; i++) {
    uint32_t id = ids_of(r, region)->items[i], args[ROC_IR_COPY_MAX_ARGS];
    roc_ir_inst inst = *inst_of(r, id);
    if (r->parts[id] != PART_GUARDED_CHECK && r->parts[id] != PART_OF_GUARDED) continue;
    for (uint32_t n = 0; n < inst.nargs; n++) args[n] = copied_arg(r, &inst, n);
    if (r->parts[id] == PART_OF_GUARDED) {
      r->copier.copies[id] = roc_ir_append(&r->b, inst, args);
      continue;
    }
    uint32_t holds = roc_ir_emit_likely_condition(&r->b, &inst, args[0]);
    uint32_t no = roc_ir_const_bool(&r->b, false);
    all = all == ROC_IR_NONE ? holds : roc_ir_select(&r->b, all, holds, no);
  }
  return all;
}

static void emit_both_guarded(resumer *r, const roc_ir_inst *choice, uint32_t guard) {
  uint32_t yes = emit_guarded(r, choice->k.region[0]), no = emit_guarded(r, choice->k.region[1]);
  if (yes == ROC_IR_NONE && no == ROC_IR_NONE) return;
  if (yes == ROC_IR_NONE) yes = roc_ir_const_bool(&r->b, true);
  if (no == ROC_IR_NONE) no = roc_ir_const_bool(&r->b, true);
  emit_leave_unless(r, roc_ir_select(&r->b, guard, yes, no));
}

static bool replace(void *ud, uint32_t id, roc_ir_inst *inst, uint32_t *args) {
  resumer *r = ud;
  if (r->parts[id] == PART_CHECK) {
    emit_leave_unless(r, roc_ir_emit_likely_condition(&r->b, inst, args[0]));
  } else if (inst->op == ROC_IR_IF) {
    emit_both_guarded(r, inst, args[0]);
  }
  return r->parts[id] == PART_CHECK || r->parts[id] == PART_GUARDED_CHECK;
}

static void push_id(resumer *r, uint32_t id) {
  if (!r->b.failed && !roc_vec_push(&r->m->regions.items[r->b.region], id)) r->b.failed = true;
}

static void emit_loops(resumer *r, uint32_t id) {
  r->b.loc = inst_of(r, id)->loc;
  r->has_left = roc_ir_add_var(&r->b, "", ROC_VT_INT);
  if (r->op == ROC_IR_FOR) r->round = roc_ir_add_var(&r->b, "", ROC_VT_INT);
  uint32_t zero = roc_ir_const_int(&r->b, 0);
  roc_ir_set(&r->b, r->has_left, zero);
  roc_ir_copy(&r->copier, id);
  r->b.loc = inst_of(r, id)->loc;
  uint32_t has_left = roc_ir_binary(&r->b, ROC_IR_NE, roc_ir_get(&r->b, r->has_left), zero);
  uint32_t goes_on = roc_ir_begin_if(&r->b, has_left);
  if (r->op == ROC_IR_FOR) {
    uint32_t first = roc_ir_get(&r->b, r->round);
    if (!r->b.failed) r->m->operands.items[inst_of(r, id)->args] = first;
  }
  push_id(r, id);
  roc_ir_end(&r->b, goes_on);
  roc_ir_forget_copies(&r->copier, &id, 1);
  if (!roc_vec_push(r->left, id)) r->b.failed = true;
}

/* What is there for the case that checks fail stays as it is. */
static uint32_t count_changed(const roc_ir_inst *inst) {
  return inst->op == ROC_IR_IF && inst->aux == ROC_IR_IF_ALL ? 1 : roc_ir_region_count(inst);
}

static void resume_region(resumer *r, uint32_t region) {
  for (uint32_t i = 0; i < ids_of(r, region)->count; i++) {
    roc_ir_inst inst = *inst_of(r, ids_of(r, region)->items[i]);
    if (is_left(r, ids_of(r, region)->items[i])) continue;
    for (uint32_t n = 0; n < count_changed(&inst); n++) resume_region(r, inst.k.region[n]);
  }
  roc_ir_ids old = *ids_of(r, region);
  r->m->regions.items[region] = (roc_ir_ids){0};
  for (uint32_t i = 0; i < old.count && !r->b.failed; i++) {
    r->b.region = region;
    if (is_suitable(r, old.items[i])) {
      emit_loops(r, old.items[i]);
    } else {
      push_id(r, old.items[i]);
    }
  }
  roc_vec_deinit(&old);
}

roc_status roc_ir_resume_loops(roc_ir_module *module, uint32_t region, roc_ir_op op,
                               roc_ir_ids *left, roc_error *err) {
  resumer r = {.m = module, .op = op, .count = module->insts.count, .left = left};
  r.parts = roc_zalloc(r.count + 1);
  r.is_read = roc_zalloc((module->vars.count + 1) * sizeof *r.is_read);
  r.copier = (roc_ir_copier){&r.b, roc_ir_new_copies(r.count), r.count, replace, &r};
  roc_ir_builder_init(&r.b, module);
  bool is_open = r.parts && r.is_read && r.copier.copies;
  if (is_open) resume_region(&r, region);
  roc_status status = roc_ir_builder_finish(&r.b, err);
  roc_free(r.parts);
  roc_free(r.is_read);
  roc_free(r.copier.copies);
  return is_open ? status : roc_fail(err, ROC_OOM, "out of memory");
}
