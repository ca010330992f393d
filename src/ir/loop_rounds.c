/* Loops whose rounds constants count, as `s = 32; while s > 0 do …; s = s // 2 end`: they are
 * walked round by round, with what the variables hold in each, before the walk that holds for any
 * round.  A check that every round proves can go.  In such a walk an IF that constants decide is
 * walked on one path; a jump on a path that may not be taken leaves the rest of the round as it
 * is. */
#include "base/alloc.h"
#include "ir/check_walk.h"
#include "ir/facts_terms.h"
#include "ir/walk.h"

enum { MOST_ROUNDS = 64, MET = 1, FAILED = 2, PROVED = 4 };

static bool is_check(const roc_ir_inst *inst) {
  return inst->op == ROC_IR_CHECK_INDEX || inst->op == ROC_IR_CHECK_NONZERO ||
         inst->op == ROC_IR_CHECK_INT;
}

static bool is_certain(const roc_ir_check_walk *w, const roc_ir_rounds *r) {
  return w->nundecided == r->nundecided;
}

/* What is in front of the target ends with it; a LEAVE of the target ends that, too. */
static void note_jump(roc_ir_check_walk *w, const roc_ir_inst *inst) {
  roc_ir_rounds *to = w->rounds;
  while (to && to->loop != inst->aux) to = to->around;
  if (!to) return;
  if (!is_certain(w, to)) {
    to->is_left_before |= inst->op == ROC_IR_LEAVE;
    to->is_uncounted |= inst->op == ROC_IR_NEXT;
    return;
  }
  for (roc_ir_rounds *r = w->rounds; r != to; r = r->around) r->ends = r->is_left = true;
  to->ends = true;
  to->is_left = inst->op == ROC_IR_LEAVE;
}

void roc_ir_walk_in_rounds(roc_ir_check_walk *w, uint32_t region) {
  const roc_ir_ids *ids = &w->m->regions.items[region];
  for (uint32_t i = 0; i < ids->count && !w->is_dead && !w->gives_up && !w->failed; i++) {
    const roc_ir_inst *inst = &w->m->insts.items[ids->items[i]];
    w->gives_up = w->nsteps-- <= 1;
    bool holds = roc_ir_check_walk_inst(w, ids->items[i]);
    if (is_check(inst)) w->of_rounds[ids->items[i]] |= holds ? MET : MET | FAILED;
    if (inst->op == ROC_IR_LEAVE || inst->op == ROC_IR_NEXT) note_jump(w, inst);
    w->is_dead |= roc_ir_ends_region(inst);
  }
}

/* ---- one loop -------------------------------------------------------------------------------- */

typedef struct counter {
  int64_t next, last, step;
} counter;

static bool constant_of(const roc_ir_check_walk *w, const roc_ir_inst *inst, uint32_t n,
                        int64_t *out) {
  roc_ir_range range = roc_ir_facts_range_now(&w->f, roc_ir_check_walk_operand(w, inst, n));
  *out = range.low;
  return range.low == range.high;
}

static uint64_t magnitude(int64_t k) {
  return k < 0 ? -(uint64_t)k : (uint64_t)k;
}

/* Of a FOR: whether it has few rounds; another loop tells at the end of each. */
static bool open_counter(const roc_ir_check_walk *w, const roc_ir_inst *loop, counter *c) {
  if (loop->op != ROC_IR_FOR) return true;
  bool is_constant = constant_of(w, loop, 0, &c->next) && constant_of(w, loop, 1, &c->last) &&
                     constant_of(w, loop, 2, &c->step);
  int64_t way;
  if (!is_constant || c->step == 0 || __builtin_sub_overflow(c->last, c->next, &way)) return false;
  bool runs = way == 0 || (way < 0) == (c->step < 0);
  return !runs || magnitude(way) / magnitude(c->step) < MOST_ROUNDS;
}

static bool is_at_end(const counter *c) {
  return c->step > 0 ? c->next > c->last : c->next < c->last;
}

/* Sets the variable of a FOR for its next round; false: there is none. */
static bool count(roc_ir_check_walk *w, const roc_ir_inst *loop, counter *c) {
  if (loop->op != ROC_IR_FOR) return true;
  if (is_at_end(c)) return false;
  roc_ir_check_walk_assign(w, loop->aux, roc_ir_facts_constant(&w->f, c->next));
  if (__builtin_add_overflow(c->next, c->step, &c->next))
    c->last = c->step > 0 ? INT64_MIN : INT64_MAX;
  return true;
}

static void walk_round(roc_ir_check_walk *w, uint32_t region) {
  roc_ir_facts_point point = roc_ir_facts_mark(&w->f);
  w->rounds->ends = w->rounds->decides = w->is_dead = false;
  roc_ir_walk_in_rounds(w, region);
  roc_ir_facts_rollback(&w->f, point);
}

/* True when the walk came to the loop's end. */
static bool walk_all(roc_ir_check_walk *w, const roc_ir_inst *loop, roc_ir_rounds *r, counter *c) {
  for (int n = 0; !r->is_left; n++) {
    if (!count(w, loop, c)) return true;
    if (n == MOST_ROUNDS) return false;
    walk_round(w, loop->k.region[0]);
    bool counts = loop->op == ROC_IR_FOR || r->decides || r->is_left;
    if (w->gives_up || w->failed || r->is_uncounted || !counts) return false;
  }
  return true;
}

static bool walk_rounds(roc_ir_check_walk *w, uint32_t id) {
  const roc_ir_inst *loop = &w->m->insts.items[id];
  counter c = {0};
  if (!open_counter(w, loop, &c)) return false;
  roc_ir_rounds r = {.loop = id, .nundecided = w->nundecided, .around = w->rounds};
  w->rounds = &r;
  bool is_done = walk_all(w, loop, &r, &c);
  w->rounds = r.around;
  w->is_dead = w->rounds && w->rounds->ends;
  if (is_done && r.is_left_before && !w->is_dead) roc_ir_check_walk_forget(w, id);
  return is_done;
}

/* ---- the outermost such loop ----------------------------------------------------------------- */

/* Which a walk of a loop around it has not proved. */
static ROC_IR_WALKS bool has_checks(const roc_ir_check_walk *w, uint32_t id) {
  roc_ir_walk walk;
  ROC_IR_FOR_EACH(walk, w->m, w->m->insts.items[id].k.region[0]) {
    if (is_check(walk.inst) && !roc_ir_is_proved_in_rounds(w, walk.id)) return true;
  }
  return false;
}

/* Of the loop's checks, when all its rounds are walked, or not. */
static ROC_IR_WALKS void settle(roc_ir_check_walk *w, uint32_t id, bool is_done) {
  roc_ir_walk walk;
  ROC_IR_FOR_EACH(walk, w->m, w->m->insts.items[id].k.region[0]) {
    bool is_proved = (is_done && w->of_rounds[walk.id] == MET) || w->of_rounds[walk.id] & PROVED;
    w->of_rounds[walk.id] = is_proved ? PROVED : 0;
  }
}

bool roc_ir_is_proved_in_rounds(const roc_ir_check_walk *w, uint32_t id) {
  return w->of_rounds && w->of_rounds[id] & PROVED;
}

static void keep_constants(const roc_ir_check_walk *w, roc_ir_outcomes *left) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < left->count; i++) {
    roc_ir_outcome o = left->items[i];
    if (w->f.values.items[o.after].op == ROC_IR_CONST) left->items[kept++] = o;
  }
  left->count = kept;
}

void roc_ir_walk_outermost_rounds(roc_ir_check_walk *w, uint32_t id, roc_ir_outcomes *left) {
  if (!w->is_last || !w->removes || !has_checks(w, id) || w->failed || w->nsteps == 0) {
    return;
  }
  if (!w->of_rounds) w->of_rounds = roc_zalloc(w->m->insts.count);
  w->failed |= !w->of_rounds;
  if (w->failed) return;
  uint32_t begin = w->trail.count;
  w->gives_up = false;
  bool is_done = walk_rounds(w, id);
  roc_ir_check_walk_take_back(w, begin, left);
  settle(w, id, is_done);
  keep_constants(w, left);
  if (!is_done) left->count = 0;
}

/* ---- a loop in a round of another ------------------------------------------------------------ */

bool roc_ir_walk_inner_rounds(roc_ir_check_walk *w, uint32_t id) {
  roc_ir_outcomes dropped = {0};
  uint32_t begin = w->trail.count;
  bool is_done = walk_rounds(w, id);
  if (!is_done) roc_ir_check_walk_take_back(w, begin, &dropped);
  roc_vec_deinit(&dropped);
  return is_done;
}
