/* See combined_checks.h.  Works on one region after the other, outermost first.  In a region the
 * part from its first check on is looked at once: which of its results could be computed at the
 * beginning of that part, and which checks are of such results.  What these need is moved there;
 * the part is copied, as it was, and then the first of both goes without the checks.  A check in an
 * IF whose condition is among these results is asked for where the condition holds. */
#include "ir/combined_checks.h"

#include "base/alloc.h"
#include "ir/copy.h"

enum {
  MAX_COPIED = 384, /* instructions, of a kernel */
  MAX_COMBINED = 16,
  MAX_DEPTH = 4, /* of parts in parts */
  MAX_LOOPS = 6, /* around a part: what deeper ones keep takes all registers, and twice for two */
};

/* A check to be combined. */
typedef struct combined {
  uint32_t id;
  uint32_t guard; /* the IF that it stands in; NONE: in none */
  bool in_else;
} combined;

typedef struct combiner {
  roc_ir_module *m;
  roc_ir_builder b;
  const roc_ir_ids *left; /* loops that stay as they are */
  bool meets;             /* the kernel has barriers, or wave operations */
  uint32_t count;         /* instructions there were at the start, the tables' size */
  uint32_t ncopied;       /* so far */
  uint32_t nloops;        /* around the current region */
  uint32_t tick;          /* of the current part */
  uint32_t *inside;       /* per instruction: the tick of the last part that it stands in */
  uint32_t *ready;        /* likewise, if it could be computed at the part's beginning */
  uint32_t *wanted;       /* likewise, if it is to be */
  uint32_t *is_set;       /* per variable: likewise, assigned in the part so far */
  roc_ir_copier copier;
  combined *checks; /* of the part, to be combined; those of an IF one after the other */
  uint32_t nchecks;
} combiner;

static const roc_ir_inst *inst_of(const combiner *c, uint32_t id) {
  return &c->m->insts.items[id];
}

static const roc_ir_ids *ids_of(const combiner *c, uint32_t region) {
  return &c->m->regions.items[region];
}

static bool is_loop(const roc_ir_inst *inst) {
  return inst->op == ROC_IR_FOR || inst->op == ROC_IR_LOOP;
}

static bool cuts(const roc_ir_inst *inst) {
  return roc_ir_op_table[inst->op].flags & (ROC_IRF_CUT_GROUP | ROC_IRF_CUT_WAVE);
}

/* ---- what a region holds ----------------------------------------------------------------- */

typedef struct contents {
  uint32_t ninsts;
  bool meets; /* barriers, or wave operations */
  bool loops;
  bool jumps;
  bool leaves;      /* jumps, or ends of the work-item */
  bool is_too_wide; /* an instruction has too many operands, or is not one of the start */
} contents;

/* As far as it takes to know that the list cannot be copied. */
static void look_at_list(const combiner *c, const uint32_t *ids, uint32_t count, contents *out) {
  for (uint32_t i = 0; i < count && out->ninsts <= MAX_COPIED; i++) {
    const roc_ir_inst *inst = inst_of(c, ids[i]);
    bool has_regions = roc_ir_has_regions(inst);
    out->ninsts++;
    out->meets |= cuts(inst);
    out->loops |= is_loop(inst);
    out->jumps |= inst->op == ROC_IR_LEAVE || inst->op == ROC_IR_NEXT;
    out->leaves |= !has_regions && roc_ir_ends_region(inst);
    out->is_too_wide |= inst->nargs > ROC_IR_COPY_MAX_ARGS || ids[i] >= c->count;
    for (uint32_t r = 0; r < roc_ir_region_count(inst); r++) {
      const roc_ir_ids *inner = ids_of(c, inst->k.region[r]);
      look_at_list(c, inner->items, inner->count, out);
    }
  }
}

/* Of its regions. */
static contents look_inside(const combiner *c, const roc_ir_inst *inst) {
  contents out = {0};
  for (uint32_t r = 0; r < roc_ir_region_count(inst); r++) {
    const roc_ir_ids *inner = ids_of(c, inst->k.region[r]);
    look_at_list(c, inner->items, inner->count, &out);
  }
  return out;
}

static void note_sets(combiner *c, uint32_t id) {
  const roc_ir_inst *inst = inst_of(c, id);
  if (inst->op == ROC_IR_SET || inst->op == ROC_IR_FOR) c->is_set[inst->aux] = c->tick;
  for (uint32_t r = 0; r < roc_ir_region_count(inst); r++) {
    const roc_ir_ids *inner = ids_of(c, inst->k.region[r]);
    for (uint32_t i = 0; i < inner->count; i++) note_sets(c, inner->items[i]);
  }
}

/* ---- what can be decided at the part's beginning ------------------------------------------ */

static bool is_check(const roc_ir_inst *inst) {
  return inst->op == ROC_IR_CHECK_INDEX || inst->op == ROC_IR_CHECK_NONZERO ||
         inst->op == ROC_IR_CHECK_INT;
}

/* Whether all operands could be computed there. */
static bool has_operands(const combiner *c, const roc_ir_inst *inst) {
  for (uint32_t n = 0; n < inst->nargs; n++) {
    uint32_t arg = roc_ir_arg(c->m, inst, n);
    if (c->inside[arg] == c->tick && c->ready[arg] != c->tick) return false;
  }
  return true;
}

static bool is_ready(const combiner *c, const roc_ir_inst *inst) {
  if (inst->op == ROC_IR_GET) return c->is_set[inst->aux] != c->tick;
  return roc_ir_op_table[inst->op].flags == ROC_IRF_PURE && has_operands(c, inst);
}

static void add_check(combiner *c, uint32_t id, uint32_t guard, bool in_else) {
  if (c->nchecks < MAX_COMBINED) c->checks[c->nchecks++] = (combined){id, guard, in_else};
}

/* Of an instruction of the part, or of an IF in it. */
static void look_at_inst(combiner *c, uint32_t id, uint32_t guard, bool in_else) {
  const roc_ir_inst *inst = inst_of(c, id);
  if (is_check(inst) && has_operands(c, inst)) add_check(c, id, guard, in_else);
  if (is_ready(c, inst)) c->ready[id] = c->tick;
}

static void look_at_guarded(combiner *c, uint32_t guard) {
  for (uint32_t r = 0; r < 2; r++) {
    const roc_ir_ids *ids = ids_of(c, inst_of(c, guard)->k.region[r]);
    for (uint32_t i = 0; i < ids->count; i++) c->inside[ids->items[i]] = c->tick;
    for (uint32_t i = 0; i < ids->count; i++) {
      look_at_inst(c, ids->items[i], guard, r > 0);
      note_sets(c, ids->items[i]);
    }
  }
}

static bool is_guard(const combiner *c, const roc_ir_inst *inst) {
  return inst->op == ROC_IR_IF && inst->aux == 0 && has_operands(c, inst);
}

/* Finds the checks to be combined of the part `ids`, which begins with one.  A condition after which
 * a work-item may have left is often what keeps it from a wrong index. */
static void look_at_part(combiner *c, const uint32_t *ids, uint32_t count) {
  c->tick++;
  c->nchecks = 0;
  for (uint32_t i = 0; i < count; i++) c->inside[ids[i]] = c->tick;
  for (uint32_t i = 0; i < count && c->nchecks < MAX_COMBINED; i++) {
    const roc_ir_inst *inst = inst_of(c, ids[i]);
    look_at_inst(c, ids[i], ROC_IR_NONE, false);
    if (roc_ir_has_regions(inst) && look_inside(c, inst).leaves) return;
    if (is_guard(c, inst)) look_at_guarded(c, ids[i]);
    note_sets(c, ids[i]);
  }
}

static bool is_combined(const combiner *c, uint32_t id) {
  for (uint32_t i = 0; i < c->nchecks; i++) {
    if (c->checks[i].id == id) return true;
  }
  return false;
}

static bool guards_checks(const combiner *c, uint32_t id) {
  for (uint32_t i = 0; i < c->nchecks; i++) {
    if (c->checks[i].guard == id) return true;
  }
  return false;
}

/* What is needed of the part stands in front of what needs it. */
static void want_operands(combiner *c, const uint32_t *ids, uint32_t count) {
  for (uint32_t i = count; i-- > 0;) {
    const roc_ir_inst *inst = inst_of(c, ids[i]);
    bool guards = guards_checks(c, ids[i]);
    bool needs = c->wanted[ids[i]] == c->tick || is_combined(c, ids[i]) || guards;
    for (uint32_t r = 0; guards && r < 2; r++) {
      const roc_ir_ids *inner = ids_of(c, inst->k.region[r]);
      want_operands(c, inner->items, inner->count);
    }
    for (uint32_t n = 0; needs && n < inst->nargs; n++) {
      uint32_t arg = roc_ir_arg(c->m, inst, n);
      if (c->inside[arg] == c->tick) c->wanted[arg] = c->tick;
    }
  }
}

/* ---- the condition ------------------------------------------------------------------------ */

static uint32_t float_constant(roc_ir_builder *b, roc_value_type type, double f) {
  return type == ROC_VT_F32 ? roc_ir_const_f32(b, f) : roc_ir_const_f64(b, f);
}

static uint32_t both(roc_ir_builder *b, uint32_t x, uint32_t y) {
  return roc_ir_select(b, x, y, roc_ir_const_bool(b, false));
}

static uint32_t emit_condition(roc_ir_builder *b, const roc_ir_inst *check, uint32_t x) {
  roc_value_type type = roc_ir_type_of(b, x);
  if (check->op == ROC_IR_CHECK_INDEX) {
    return roc_ir_emit(b, ROC_IR_INDEX_FITS, ROC_VT_BOOL, check->aux, 0, check->k.i, &x, 1);
  }
  if (check->op == ROC_IR_CHECK_NONZERO) {
    return roc_ir_binary(b, ROC_IR_NE, x, roc_ir_const_int(b, 0));
  }
  uint32_t above = roc_ir_binary(b, ROC_IR_LE, float_constant(b, type, -0x1p63), x);
  return both(b, above, roc_ir_binary(b, ROC_IR_LT, x, float_constant(b, type, 0x1p63)));
}

uint32_t roc_ir_emit_check_condition(roc_ir_builder *b, uint32_t check) {
  roc_ir_inst inst = b->module->insts.items[check];
  return emit_condition(b, &inst, roc_ir_arg(b->module, &inst, 0));
}

uint32_t roc_ir_emit_likely_condition(roc_ir_builder *b, const roc_ir_inst *check, uint32_t x) {
  if (check->op != ROC_IR_CHECK_INT) return emit_condition(b, check, x);
  uint32_t limit = float_constant(b, roc_ir_type_of(b, x), 0x1p63);
  return roc_ir_binary(b, ROC_IR_LT, roc_ir_unary(b, ROC_IR_ABS, x), limit);
}

static uint32_t both_of(combiner *c, uint32_t all, uint32_t condition) {
  return all == ROC_IR_NONE ? condition : both(&c->b, all, condition);
}

static uint32_t emit_likely(combiner *c, uint32_t id) {
  roc_ir_inst inst = *inst_of(c, id);
  return roc_ir_emit_likely_condition(&c->b, &inst, roc_ir_arg(c->m, &inst, 0));
}

/* Of the checks from *at on that stand in one and the same IF. */
static uint32_t emit_guarded(combiner *c, uint32_t *at) {
  uint32_t guard = c->checks[*at].guard, all[2] = {ROC_IR_NONE, ROC_IR_NONE};
  for (; *at < c->nchecks && c->checks[*at].guard == guard; ++*at) {
    const combined *of = &c->checks[*at];
    all[of->in_else] = both_of(c, all[of->in_else], emit_likely(c, of->id));
  }
  for (int r = 0; r < 2; r++) {
    if (all[r] == ROC_IR_NONE) all[r] = roc_ir_const_bool(&c->b, true);
  }
  return roc_ir_select(&c->b, roc_ir_arg(c->m, inst_of(c, guard), 0), all[0], all[1]);
}

static uint32_t emit_conditions(combiner *c) {
  uint32_t all = ROC_IR_NONE;
  for (uint32_t i = 0; i < c->nchecks;) {
    bool is_guarded = c->checks[i].guard != ROC_IR_NONE;
    all = both_of(c, all, is_guarded ? emit_guarded(c, &i) : emit_likely(c, c->checks[i++].id));
  }
  return all;
}

/* ---- both versions of the part -------------------------------------------------------------- */

static bool push_id(combiner *c, uint32_t id) {
  if (!c->b.failed && roc_vec_push(&c->m->regions.items[c->b.region], id)) return true;
  c->b.failed = true;
  return false;
}

/* What is needed of the list, and of the IFs in it that guard checks. */
static void push_wanted(combiner *c, const uint32_t *ids, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    roc_ir_inst inst = *inst_of(c, ids[i]);
    if (c->wanted[ids[i]] == c->tick) push_id(c, ids[i]);
    for (uint32_t r = 0; guards_checks(c, ids[i]) && r < 2; r++) {
      roc_ir_ids inner = *ids_of(c, inst.k.region[r]);
      push_wanted(c, inner.items, inner.count);
    }
  }
}

/* Takes what has moved, and the combined checks, out of an IF. */
static void take_out(combiner *c, uint32_t guard) {
  for (uint32_t r = 0; r < 2; r++) {
    roc_ir_ids *ids = &c->m->regions.items[inst_of(c, guard)->k.region[r]];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < ids->count; i++) {
      bool goes = c->wanted[ids->items[i]] == c->tick || is_combined(c, ids->items[i]);
      if (!goes) ids->items[kept++] = ids->items[i];
    }
    ids->count = kept;
  }
}

static void emit_versions(combiner *c, uint32_t *ids, uint32_t count) {
  c->b.loc = inst_of(c, ids[0])->loc;
  push_wanted(c, ids, count);
  uint32_t all = emit_conditions(c);
  uint32_t choice = roc_ir_begin(&c->b, ROC_IR_IF, ROC_IR_IF_ALL, &all, 1);
  for (uint32_t i = 0; i < count; i++) {
    bool moved = c->wanted[ids[i]] == c->tick;
    if (!moved && !is_combined(c, ids[i])) push_id(c, ids[i]);
  }
  roc_ir_else(&c->b, choice);
  for (uint32_t i = 0; i < count; i++) {
    if (c->wanted[ids[i]] != c->tick) roc_ir_copy(&c->copier, ids[i]);
  }
  roc_ir_end(&c->b, choice);
  roc_ir_forget_copies(&c->copier, ids, count);
  for (uint32_t i = 0; i < count; i++) {
    if (guards_checks(c, ids[i])) take_out(c, ids[i]);
  }
}

/* ---- regions -------------------------------------------------------------------------------- */

static void combine_region(combiner *c, uint32_t region, int depth);

static void combine_nested(combiner *c, uint32_t id, int depth) {
  roc_ir_inst inst = *inst_of(c, id);
  for (uint32_t i = 0; i < c->left->count; i++) {
    if (c->left->items[i] == id) return;
  }
  if (inst.op == ROC_IR_FOR && !look_inside(c, &inst).loops) return;
  c->nloops += is_loop(&inst);
  for (uint32_t r = 0; r < roc_ir_region_count(&inst); r++) {
    combine_region(c, inst.k.region[r], depth);
  }
  c->nloops -= is_loop(&inst);
}

/* Whether the part may be there twice.  Where work-items jump past a barrier is decided for all of
 * the workgroup, so all come to one and the same place. */
static bool can_copy(combiner *c, const uint32_t *ids, uint32_t count) {
  contents out = {0};
  if (c->nloops > MAX_LOOPS) return false;
  look_at_list(c, ids, count, &out);
  if (out.meets || (out.jumps && c->meets) || out.is_too_wide ||
      c->ncopied + out.ninsts > MAX_COPIED)
    return false;
  c->ncopied += out.ninsts;
  return true;
}

/* The region's list up to `begin` stays; the first version of the rest is a region of its own. */
static void combine_part(combiner *c, uint32_t region, uint32_t begin, int depth) {
  roc_ir_ids old = *ids_of(c, region);
  c->m->regions.items[region] = (roc_ir_ids){0};
  c->b.region = region;
  for (uint32_t i = 0; i < begin; i++) push_id(c, old.items[i]);
  emit_versions(c, old.items + begin, old.count - begin);
  roc_vec_deinit(&old);
  if (c->b.failed) return;
  const roc_ir_inst *choice = inst_of(c, roc_vec_last(ids_of(c, region)));
  combine_region(c, choice->k.region[0], depth + 1);
}

static void combine_region(combiner *c, uint32_t region, int depth) {
  for (uint32_t i = 0; i < ids_of(c, region)->count && !c->b.failed; i++) {
    const roc_ir_ids *ids = ids_of(c, region);
    uint32_t id = ids->items[i];
    bool is_first = depth < MAX_DEPTH && is_check(inst_of(c, id));
    if (is_first && can_copy(c, ids->items + i, ids->count - i)) {
      look_at_part(c, ids->items + i, ids->count - i);
      want_operands(c, ids->items + i, ids->count - i);
      combine_part(c, region, i, depth);
      return;
    }
    combine_nested(c, id, depth);
  }
}

static bool open_combiner(combiner *c, roc_ir_module *module) {
  *c = (combiner){.m = module, .count = module->insts.count};
  c->inside = roc_zalloc((c->count + 1) * sizeof *c->inside);
  c->ready = roc_zalloc((c->count + 1) * sizeof *c->ready);
  c->wanted = roc_zalloc((c->count + 1) * sizeof *c->wanted);
  c->is_set = roc_zalloc((module->vars.count + 1) * sizeof *c->is_set);
  c->copier = (roc_ir_copier){&c->b, roc_ir_new_copies(c->count), c->count, NULL, NULL};
  c->checks = roc_alloc(MAX_COMBINED * sizeof *c->checks);
  for (uint32_t i = 0; i < c->count; i++) c->meets |= cuts(&module->insts.items[i]);
  roc_ir_builder_init(&c->b, module);
  return c->inside && c->ready && c->wanted && c->is_set && c->copier.copies && c->checks;
}

static roc_status close_combiner(combiner *c, bool was_opened, roc_error *err) {
  roc_status status = roc_ir_builder_finish(&c->b, err);
  void *tables[] = {c->inside, c->ready, c->wanted, c->is_set, c->copier.copies, c->checks};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) roc_free(tables[i]);
  return was_opened ? status : roc_fail(err, ROC_OOM, "out of memory");
}

roc_status roc_ir_combine_checks(roc_ir_module *module, uint32_t region, const roc_ir_ids *left,
                                 roc_error *err) {
  combiner c;
  bool is_open = open_combiner(&c, module);
  c.left = left;
  if (is_open) combine_region(&c, region, 0);
  return close_combiner(&c, is_open, err);
}
