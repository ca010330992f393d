/* Relations between the integers that a loop carries on, as `low <= high` of a binary search,
 * `low >= 1`, and `slot <= mask` of a hash table.  They are guessed; walks of the module, each of
 * which assumes what is left of them at the begin of rounds, mark those that are not proved in front
 * of the loop and at the end of its rounds, until none is wrong (held_values.c). */
#include "base/alloc.h"
#include "ir/check_walk.h"
#include "ir/walk.h"

enum { MOST_VARIABLES = 6 /* of a loop */, MOST_INVARIANTS = 128 };

static uint32_t number_of_a(const roc_ir_check_walk *w, const roc_ir_invariant *i) {
  return i->is_a_before ? i->before_a : w->vars[i->a];
}
static uint32_t number_of_b(const roc_ir_check_walk *w, const roc_ir_invariant *i) {
  return i->is_b_before ? i->before_b : w->vars[i->b];
}

static bool is_proved(roc_ir_check_walk *w, const roc_ir_invariant *i) {
  return roc_ir_facts_le_by(&w->f, number_of_a(w, i), number_of_b(w, i), -i->less);
}

static void assume(roc_ir_check_walk *w, const roc_ir_invariant *i) {
  roc_ir_facts_add(&w->f, number_of_a(w, i), number_of_b(w, i), -i->less);
}

static void mark_wrong(roc_ir_check_walk *w, roc_ir_invariant *i) {
  w->nwrong++;
  i->holds = i->holds_after = false;
}

void roc_ir_invariants_enter(roc_ir_check_walk *w, uint32_t loop) {
  for (uint32_t n = 0; n < w->invariants.count; n++) {
    roc_ir_invariant *i = &w->invariants.items[n];
    if (i->loop != loop || !i->holds) continue;
    i->before_a = w->vars[i->a];
    i->before_b = i->value == ROC_IR_NONE ? w->vars[i->b] : w->values[i->value];
    if (w->finds_invariants && !is_proved(w, i)) mark_wrong(w, i);
  }
}

void roc_ir_invariants_assume(roc_ir_check_walk *w, uint32_t loop) {
  for (uint32_t n = 0; n < w->invariants.count; n++) {
    const roc_ir_invariant *i = &w->invariants.items[n];
    if (i->loop == loop && i->holds) assume(w, i);
  }
}

void roc_ir_invariants_round(roc_ir_check_walk *w, uint32_t loop) {
  for (uint32_t n = 0; w->finds_invariants && n < w->invariants.count; n++) {
    roc_ir_invariant *i = &w->invariants.items[n];
    if (i->loop == loop && i->holds && !is_proved(w, i)) mark_wrong(w, i);
  }
}

void roc_ir_invariants_leave(roc_ir_check_walk *w, uint32_t loop) {
  for (uint32_t n = 0; w->finds_invariants && n < w->invariants.count; n++) {
    roc_ir_invariant *i = &w->invariants.items[n];
    if (i->loop != loop || !i->holds_after || is_proved(w, i)) continue;
    i->holds_after = false;
    w->nwrong++;
  }
}

void roc_ir_invariants_assume_after(roc_ir_check_walk *w, uint32_t loop) {
  for (uint32_t n = 0; n < w->invariants.count; n++) {
    const roc_ir_invariant *i = &w->invariants.items[n];
    if (i->loop == loop && i->holds_after) assume(w, i);
  }
}

/* ---- guesses ---- */

typedef struct carried {
  uint32_t vars[MOST_VARIABLES], count;
} carried;

static ROC_IR_WALKS void count_sets(const roc_ir_module *m, uint32_t region, uint32_t *nsets) {
  roc_ir_walk walk;
  ROC_IR_FOR_EACH(walk, m, region) {
    if (walk.inst->op == ROC_IR_SET) nsets[walk.inst->aux]++;
  }
}

/* The integers that the loop assigns and that are assigned elsewhere, too. */
static carried find_carried(const roc_ir_module *m, uint32_t region, const uint32_t *in_all,
                            uint32_t *in_loop) {
  carried found = {.count = 0};
  for (uint32_t i = 0; i < m->vars.count; i++) in_loop[i] = 0;
  count_sets(m, region, in_loop);
  for (uint32_t i = 0; i < m->vars.count && found.count < MOST_VARIABLES; i++) {
    bool is_carried = in_loop[i] > 0 && in_loop[i] < in_all[i];
    if (is_carried && m->vars.items[i].type == ROC_VT_INT) found.vars[found.count++] = i;
  }
  return found;
}

static void guess(roc_ir_check_walk *w, roc_ir_invariant i) {
  i.holds = i.holds_after = true;
  if (w->invariants.count < MOST_INVARIANTS && !roc_vec_push(&w->invariants, i)) w->failed = true;
}

static void guess_of(roc_ir_check_walk *w, uint32_t loop, const carried *found) {
  const uint32_t none = ROC_IR_NONE;
  for (uint32_t n = 0; n < found->count; n++) {
    uint32_t a = found->vars[n];
    guess(w, (roc_ir_invariant){.loop = loop, .a = a, .b = a, .value = none, .is_a_before = true});
    guess(w, (roc_ir_invariant){.loop = loop, .a = a, .b = a, .value = none, .is_b_before = true});
    for (uint32_t other = 0; other < found->count; other++) {
      if (other == n) continue;
      guess(w, (roc_ir_invariant){.loop = loop, .a = a, .b = found->vars[other], .value = none});
    }
  }
}

static ROC_IR_WALKS bool is_inside(const roc_ir_module *m, uint32_t region, uint32_t id) {
  roc_ir_walk walk;
  ROC_IR_FOR_EACH(walk, m, region) {
    if (walk.id == id) return true;
  }
  return false;
}

/* Of `a = x & b`, a <= b; of `a = x % b`, a < b; where the loop does not change b. */
static void guess_by_value(roc_ir_check_walk *w, uint32_t loop, const roc_ir_inst *set) {
  const roc_ir_module *m = w->m;
  const roc_ir_inst *from = &m->insts.items[roc_ir_arg(m, set, 0)];
  bool masks = from->op == ROC_IR_BAND, divides = from->op == ROC_IR_MOD;
  if (from->type != ROC_VT_INT || (!masks && !divides)) return;
  for (uint32_t n = divides ? 1 : 0; n < 2; n++) {
    uint32_t b = roc_ir_arg(m, from, n);
    if (m->insts.items[b].op == ROC_IR_CONST) continue; /* its range says it */
    if (is_inside(m, m->insts.items[loop].k.region[0], b)) continue;
    guess(w, (roc_ir_invariant){.loop = loop,
                                .a = set->aux,
                                .b = set->aux,
                                .value = b,
                                .less = divides,
                                .is_b_before = true});
  }
}

static bool is_carried(const carried *found, uint32_t var) {
  uint32_t i = 0;
  while (i < found->count && found->vars[i] != var) i++;
  return i < found->count;
}

/* What a walk asks of each is a walk of its own, so this is a loop over all instructions. */
static void guess_by_values(roc_ir_check_walk *w, uint32_t loop, const carried *found) {
  const roc_ir_module *m = w->m;
  uint32_t region = m->insts.items[loop].k.region[0];
  for (uint32_t id = 0; id < m->insts.count; id++) {
    const roc_ir_inst *inst = &m->insts.items[id];
    if (inst->op != ROC_IR_SET || !is_carried(found, inst->aux)) continue;
    if (is_inside(m, region, id)) guess_by_value(w, loop, inst);
  }
}

static ROC_IR_WALKS bool has_index_check(const roc_ir_module *m, uint32_t region) {
  roc_ir_walk walk;
  ROC_IR_FOR_EACH(walk, m, region) {
    if (walk.inst->op == ROC_IR_CHECK_INDEX) return true;
  }
  return false;
}

bool roc_ir_invariants_guess(roc_ir_check_walk *w) {
  const roc_ir_module *m = w->m;
  uint32_t *in_all = roc_zalloc((m->vars.count + 1) * sizeof *in_all);
  uint32_t *in_loop = roc_zalloc((m->vars.count + 1) * sizeof *in_loop);
  bool made = in_all && in_loop;
  if (made) count_sets(m, 0, in_all);
  for (uint32_t id = 0; made && id < m->insts.count; id++) {
    const roc_ir_inst *inst = &m->insts.items[id];
    if (inst->op != ROC_IR_LOOP && inst->op != ROC_IR_FOR) continue;
    if (!has_index_check(m, inst->k.region[0])) continue;
    carried found = find_carried(m, inst->k.region[0], in_all, in_loop);
    guess_of(w, id, &found);
    guess_by_values(w, id, &found);
  }
  roc_free(in_all);
  roc_free(in_loop);
  return made && !w->failed;
}
