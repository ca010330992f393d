/* See resumed_loops.h.  Works on one region after the other, innermost first. */
#include "ir/resumed_loops.h"

#include "base/alloc.h"
#include "ir/combined_checks.h"
#include "ir/copy.h"
#include "ir/uniform.h"
#include "ir/walk.h"

enum {
  MAX_LOOP_INSTS = 128, /* larger ones are not copied */
  MAX_COPIED = 384,     /* instructions, of a kernel */
  MAX_CHOICES = 4,      /* of a round, one in the other */
};

/* Of an instruction of the current loop. */
typedef enum part {
  PART_AS_IS,
  PART_CHECK,         /* made by the wavefront */
  PART_GUARDED_CHECK, /* likewise, in front of the IF that it stands in */
  PART_OF_GUARDED,    /* computed there, too, for such checks */
  PART_EXIT,          /* an IF by which items leave the loop, at the end of the round */
  PART_DONE,          /* moved to a check before it */
  PART_DROPPED,       /* a guarded check that has been made */
} part;

/* What the variable of a loop holds at the end of a round. */
enum { GOES_ON, LEAVES, FAILS };

/* An IF around the rest of a round, whose other region sets the variable. */
typedef struct choice {
  uint32_t id;
  bool fails; /* else items leave */
} choice;

typedef struct resumer {
  roc_ir_module *m;
  roc_ir_builder b;
  roc_ir_copier copier;
  roc_ir_uniform uniform;
  roc_ir_op op; /* of the loops to be changed */
  roc_ir_ids *left;
  uint32_t count;        /* instructions there were at the start */
  uint32_t ncopied;      /* so far */
  uint8_t *parts;        /* per instruction */
  uint32_t *inside;      /* per instruction: the number of the last loop that lists it … */
  uint32_t *is_read;     /* per variable: likewise, that reads it … */
  uint32_t tick;         /* … which for the current one is this */
  uint32_t loop;         /* the current one */
  uint32_t round, state; /* its variables: where it goes on, and what comes after the round */
  uint32_t first_exit;   /* which a LOOP comes to before its checks; NONE: there is none */
  bool has_exits;        /* others */
  bool is_together;      /* all items of a wavefront make the same rounds of a FOR */
  choice choices[MAX_CHOICES];
  uint32_t nchoices;
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

/* The checks that a round comes to before it acts, or that its first condition guards.  Items that
 * leave do not come to a check after it; others find again that they do not. */
static uint32_t mark_checks(resumer *r, const roc_ir_ids *ids) {
  uint32_t nmarked = 0;
  for (uint32_t i = 0; i < ids->count; i++) {
    const roc_ir_inst *inst = inst_of(r, ids->items[i]);
    if (is_check(inst)) {
      r->parts[ids->items[i]] = PART_CHECK;
      nmarked++;
    } else if (!is_harmless(r, inst) && !roc_ir_only_leaves(r->m, inst)) {
      bool guards = inst->op == ROC_IR_IF && inst->aux != ROC_IR_IF_ALL;
      if (!guards) return nmarked;
      return nmarked + mark_guarded(r, inst->k.region[0]) + mark_guarded(r, inst->k.region[1]);
    }
  }
  return nmarked;
}

static bool is_exit(const resumer *r, uint32_t loop, const roc_ir_inst *inst) {
  return roc_ir_only_leaves(r->m, inst) &&
         inst_of(r, roc_vec_last(ids_of(r, inst->k.region[0])))->aux == loop;
}

/* A LOOP may come to its first exit again after a check has failed, as nothing was done before. */
static void mark_exits(resumer *r, uint32_t loop, const roc_ir_ids *ids) {
  bool is_first = r->op == ROC_IR_LOOP;
  r->first_exit = ROC_IR_NONE;
  r->has_exits = false;
  for (uint32_t i = 0; i < ids->count; i++) {
    uint32_t id = ids->items[i];
    if (is_exit(r, loop, inst_of(r, id))) {
      r->parts[id] = PART_EXIT;
      if (is_first) r->first_exit = id;
      r->has_exits |= !is_first;
      is_first = false;
    }
    is_first = is_first && r->parts[id] != PART_CHECK && !roc_ir_has_regions(inst_of(r, id));
  }
}

/* After can_copy. */
static uint32_t mark_parts(resumer *r, uint32_t loop) {
  const roc_ir_ids *ids = ids_of(r, inst_of(r, loop)->k.region[0]);
  r->tick++;
  for (uint32_t i = 0; i < ids->count; i++) r->inside[ids->items[i]] = r->tick;
  uint32_t nmarked = mark_checks(r, ids);
  mark_exits(r, loop, ids);
  return nmarked;
}

/* Not where an inner loop is there twice already. */
static ROC_IR_WALKS bool can_copy(const resumer *r, uint32_t region, uint32_t *ninsts) {
  roc_ir_walk w;
  *ninsts = 0;
  ROC_IR_FOR_EACH(w, r->m, region) {
    uint16_t flags = roc_ir_op_table[w.inst->op].flags;
    bool meets = flags & (ROC_IRF_CUT_GROUP | ROC_IRF_CUT_WAVE);
    bool stops = (flags & ROC_IRF_STOP) && !is_check(w.inst) && w.inst->op != ROC_IR_LEAVE;
    bool is_too_wide = w.inst->nargs > ROC_IR_COPY_MAX_ARGS || w.id >= r->count;
    if (meets || stops || is_too_wide || is_loop(w.inst) || ++*ninsts > MAX_LOOP_INSTS)
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
  if (!can_copy(r, body, &ninsts) || mark_parts(r, id) == 0) return false;
  r->loop = id;
  r->ncopied += ninsts;
  return true;
}

/* ---- both loops ------------------------------------------------------------------------------ */

/* Of constants that LLVM knows it would note in every round which items left the loop where. */
static uint32_t emit_opaque(resumer *r, uint32_t value) {
  return roc_ir_emit(&r->b, ROC_IR_OPAQUE, ROC_VT_INT, 0, 0, 0, &value, 1);
}

static void set_state(resumer *r, int64_t state) {
  roc_ir_set(&r->b, r->state, emit_opaque(r, roc_ir_const_int(&r->b, state)));
}

static uint32_t emit_has_ended(resumer *r) {
  uint32_t goes_on = roc_ir_const_int(&r->b, GOES_ON);
  return roc_ir_binary(&r->b, ROC_IR_NE, roc_ir_get(&r->b, r->state), goes_on);
}

/* After the loop; not by the comparison with which it ends. */
static uint32_t emit_has_failed(resumer *r) {
  uint32_t state = emit_opaque(r, roc_ir_get(&r->b, r->state));
  return roc_ir_binary(&r->b, ROC_IR_EQ, state, roc_ir_const_int(&r->b, FAILS));
}

/* The rest of the round is for items of which `holds` says so. */
static void begin_choice(resumer *r, bool fails, uint32_t holds) {
  uint32_t kind = fails ? ROC_IR_IF_ALL : 0;
  uint32_t id = roc_ir_begin(&r->b, ROC_IR_IF, kind, &holds, 1);
  r->choices[r->nchoices++] = (choice){id, fails};
}

static void set_round(resumer *r) {
  roc_ir_set(&r->b, r->round, roc_ir_get(&r->b, inst_of(r, r->loop)->aux));
}

static void end_choices(resumer *r) {
  while (r->nchoices > 0) {
    choice c = r->choices[--r->nchoices];
    if (c.fails) {
      roc_ir_else(&r->b, c.id);
      set_state(r, FAILS);
      if (r->is_together) {
        set_round(r);
        roc_ir_leave(&r->b, r->copier.copies[r->loop]);
      }
    }
    roc_ir_end(&r->b, c.id);
  }
}

static uint32_t copied_arg(const resumer *r, const roc_ir_inst *inst, uint32_t n) {
  uint32_t arg = roc_ir_arg(r->m, inst, n);
  return arg < r->count ? r->copier.copies[arg] : arg;
}

static uint32_t both(resumer *r, uint32_t a, uint32_t b) {
  if (a == ROC_IR_NONE || b == ROC_IR_NONE) return a == ROC_IR_NONE ? b : a;
  return roc_ir_select(&r->b, a, b, roc_ir_const_bool(&r->b, false));
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
    all = both(r, all, holds);
  }
  return all;
}

/* Whether all operands have copies, or need none. */
static bool has_operands(const resumer *r, const roc_ir_inst *inst) {
  for (uint32_t n = 0; n < inst->nargs; n++) {
    uint32_t arg = roc_ir_arg(r->m, inst, n);
    if (r->inside[arg] == r->tick && r->copier.copies[arg] == arg) return false;
  }
  return true;
}

/* The first check of the region that the IF guards; NONE: it has none. */
static uint32_t find_guarded(const resumer *r, uint32_t region) {
  const roc_ir_ids *ids = ids_of(r, region);
  for (uint32_t i = 0; i < ids->count; i++) {
    if (r->parts[ids->items[i]] == PART_GUARDED_CHECK) return ids->items[i];
  }
  return ROC_IR_NONE;
}

static bool is_same_value(const resumer *r, uint32_t a, uint32_t b) {
  const roc_ir_inst *x = inst_of(r, a), *y = inst_of(r, b);
  return a == b || (x->op == ROC_IR_GET && y->op == ROC_IR_GET && x->aux == y->aux);
}

/* Both branches of an IF begin with one and the same check, which so needs no guard.  Result: its
 * condition; NONE: there is none that can be made here. */
static uint32_t emit_common(resumer *r, const roc_ir_inst *guard) {
  uint32_t yes = find_guarded(r, guard->k.region[0]), no = find_guarded(r, guard->k.region[1]);
  if (yes == ROC_IR_NONE || no == ROC_IR_NONE) return ROC_IR_NONE;
  roc_ir_inst a = *inst_of(r, yes), b = *inst_of(r, no);
  uint32_t x = roc_ir_arg(r->m, &a, 0);
  roc_ir_inst of = *inst_of(r, x);
  bool is_same = a.op == b.op && a.aux == b.aux && a.k.i == b.k.i &&
                 is_same_value(r, x, roc_ir_arg(r->m, &b, 0));
  bool is_inside = r->parts[x] == PART_OF_GUARDED;
  bool is_ready =
      is_inside ? of.op == ROC_IR_GET : r->inside[x] != r->tick || r->copier.copies[x] != x;
  if (!is_same || !is_ready) return ROC_IR_NONE;
  r->parts[yes] = r->parts[no] = PART_DROPPED;
  uint32_t value = is_inside ? roc_ir_get(&r->b, of.aux) : r->copier.copies[x];
  return roc_ir_emit_likely_condition(&r->b, &a, value);
}

static void emit_both_guarded(resumer *r, uint32_t id) {
  roc_ir_inst inst = *inst_of(r, id);
  uint32_t common = emit_common(r, &inst);
  uint32_t yes = emit_guarded(r, inst.k.region[0]), no = emit_guarded(r, inst.k.region[1]);
  uint32_t all = common;
  if (yes != ROC_IR_NONE || no != ROC_IR_NONE) {
    if (yes == ROC_IR_NONE) yes = roc_ir_const_bool(&r->b, true);
    if (no == ROC_IR_NONE) no = roc_ir_const_bool(&r->b, true);
    all = both(r, common, roc_ir_select(&r->b, copied_arg(r, &inst, 0), yes, no));
  }
  if (all != ROC_IR_NONE) begin_choice(r, true, all);
}

/* The check, and those after it that can be made here, too: each branch costs. */
static uint32_t emit_checks(resumer *r, const uint32_t *ids, uint32_t count) {
  uint32_t all = ROC_IR_NONE;
  for (uint32_t i = 0; i < count && !r->b.failed; i++) {
    roc_ir_inst inst = *inst_of(r, ids[i]);
    bool is_marked = r->parts[ids[i]] == PART_CHECK;
    bool is_pure = inst.op == ROC_IR_GET || roc_ir_op_table[inst.op].flags == ROC_IRF_PURE;
    if (!is_marked && !is_pure && inst.op != ROC_IR_LOAD) {
      return inst.op == ROC_IR_IF ? both(r, all, emit_common(r, &inst)) : all;
    }
    if ((!is_marked && !is_pure) || !has_operands(r, &inst)) continue;
    if (is_marked) {
      uint32_t x = copied_arg(r, &inst, 0);
      all = both(r, all, roc_ir_emit_likely_condition(&r->b, &inst, x));
    } else {
      roc_ir_copy(&r->copier, ids[i]);
    }
    r->parts[ids[i]] = PART_DONE;
  }
  return all;
}

static void emit_exit(resumer *r, uint32_t id) {
  roc_ir_inst inst = *inst_of(r, id);
  uint32_t leaves = copied_arg(r, &inst, 0);
  if (id != r->first_exit) {
    begin_choice(r, false, roc_ir_unary(&r->b, ROC_IR_NOT, leaves));
    return;
  }
  uint32_t yes = roc_ir_const_bool(&r->b, true);
  uint32_t exit = roc_ir_begin_if(&r->b, roc_ir_select(&r->b, emit_has_ended(r), yes, leaves));
  roc_ir_leave(&r->b, r->copier.copies[r->loop]);
  roc_ir_end(&r->b, exit);
  if (r->has_exits) set_state(r, LEAVES);
}

static void emit_part(resumer *r, const uint32_t *ids, uint32_t count) {
  part what = (part)r->parts[ids[0]];
  bool has_room = r->nchoices < MAX_CHOICES - 1; /* one is for the condition that guards */
  r->b.loc = inst_of(r, ids[0])->loc;
  if (what == PART_DONE) return;
  if (what == PART_CHECK && has_room) {
    begin_choice(r, true, emit_checks(r, ids, count));
  } else if (what == PART_EXIT && (has_room || ids[0] == r->first_exit)) {
    emit_exit(r, ids[0]);
  } else {
    if (inst_of(r, ids[0])->op == ROC_IR_IF) emit_both_guarded(r, ids[0]);
    roc_ir_copy(&r->copier, ids[0]);
  }
}

static void emit_round(resumer *r) {
  roc_ir_ids ids = *ids_of(r, inst_of(r, r->loop)->k.region[0]);
  if (r->op == ROC_IR_FOR && !r->is_together) set_round(r);
  if (r->has_exits && r->first_exit == ROC_IR_NONE) set_state(r, LEAVES);
  for (uint32_t i = 0; i < ids.count; i++) emit_part(r, ids.items + i, ids.count - i);
  if (r->has_exits && !roc_ir_is_dead(&r->b)) set_state(r, GOES_ON);
  end_choices(r);
  if (r->is_together || r->first_exit != ROC_IR_NONE || roc_ir_is_dead(&r->b)) return;
  uint32_t exit = roc_ir_begin_if(&r->b, emit_has_ended(r));
  roc_ir_leave(&r->b, r->copier.copies[r->loop]);
  roc_ir_end(&r->b, exit);
}

/* Of checks that went elsewhere. */
static bool replace(void *ud, uint32_t id, roc_ir_inst *inst, uint32_t *args) {
  const resumer *r = ud;
  (void)inst, (void)args;
  return r->parts[id] == PART_GUARDED_CHECK || r->parts[id] == PART_DROPPED;
}

static void push_id(resumer *r, uint32_t id) {
  if (!r->b.failed && !roc_vec_push(&r->m->regions.items[r->b.region], id)) r->b.failed = true;
}

static void emit_first(resumer *r, uint32_t id) {
  roc_ir_inst loop = *inst_of(r, id);
  uint32_t args[3];
  for (uint32_t n = 0; n < loop.nargs; n++) args[n] = roc_ir_arg(r->m, &loop, n);
  set_state(r, GOES_ON);
  uint32_t copy = roc_ir_begin(&r->b, r->op, loop.aux, args, loop.nargs);
  r->copier.copies[id] = copy;
  emit_round(r);
  roc_ir_end(&r->b, copy);
}

/* Whether nothing but its count, which is the same for all, ends the loop. */
static ROC_IR_WALKS bool are_together(const resumer *r, uint32_t id) {
  roc_ir_walk w;
  if (r->op != ROC_IR_FOR || r->uniform.insts[id] < ROC_IR_UNIFORM_WAVE) return false;
  ROC_IR_FOR_EACH(w, r->m, inst_of(r, id)->k.region[0]) {
    if (w.inst->op == ROC_IR_LEAVE && !roc_ir_walk_is_inside(&w, w.inst->aux)) return false;
  }
  return true;
}

static void emit_loops(resumer *r, uint32_t id) {
  r->b.loc = inst_of(r, id)->loc;
  r->state = roc_ir_add_var(&r->b, "", ROC_VT_INT);
  if (r->op == ROC_IR_FOR) r->round = roc_ir_add_var(&r->b, "", ROC_VT_INT);
  r->is_together = are_together(r, id);
  emit_first(r, id);
  r->b.loc = inst_of(r, id)->loc;
  uint32_t goes_on = roc_ir_begin_if(&r->b, emit_has_failed(r));
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
  r.inside = roc_zalloc((r.count + 1) * sizeof *r.inside);
  r.is_read = roc_zalloc((module->vars.count + 1) * sizeof *r.is_read);
  r.copier = (roc_ir_copier){&r.b, roc_ir_new_copies(r.count), r.count, replace, &r};
  roc_ir_builder_init(&r.b, module);
  bool is_open = r.parts && r.inside && r.is_read && r.copier.copies;
  roc_status status = is_open ? ROC_OK : roc_fail(err, ROC_OOM, "out of memory");
  bool counts = false;
  for (uint32_t i = 0; i < r.count; i++) counts |= module->insts.items[i].op == ROC_IR_FOR;
  if (status == ROC_OK && op == ROC_IR_FOR && counts) {
    status = roc_ir_uniform_init(&r.uniform, module, err);
  }
  if (status == ROC_OK) resume_region(&r, region);
  roc_status built = roc_ir_builder_finish(&r.b, status == ROC_OK ? err : NULL);
  roc_ir_uniform_deinit(&r.uniform);
  roc_free(r.parts);
  roc_free(r.inside);
  roc_free(r.is_read);
  roc_free(r.copier.copies);
  return status == ROC_OK ? built : status;
}
