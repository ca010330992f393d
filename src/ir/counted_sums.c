/* Variables to which loops that are counted add something in each round, as `if … then n = n + 1
 * end`: one holds no more than what other assignments leave in it and all that may be added. */
#include "base/alloc.h"
#include "ir/check_walk.h"
#include "ir/layout.h"
#include "ir/range.h"
#include "ir/walk.h"

enum {
  MOST_DEPTH = 4, /* of a sum */
  UNCOUNTED = 0,  /* times */
  SMALL = 1 << 20 /* what is added to an index */
};

/* Rounds of a loop in each of which another index is in range of an array below 2^31 elements; and
 * some in which it is not, or not yet. */
static const int64_t MOST_BY_INDEX = (int64_t)1 << 32;

static bool contains(roc_ir_range range, int64_t k) {
  return range.low <= k && k <= range.high;
}

/* ---- how often ------------------------------------------------------------------------------- */

/* Whether the value is what the variable holds, more or less a constant, which is *k. */
static bool is_moved(const roc_ir_module *m, uint32_t id, uint32_t var, int64_t *k) {
  const roc_ir_inst *inst = &m->insts.items[id];
  *k = 0;
  if (inst->op == ROC_IR_ADD || inst->op == ROC_IR_SUB) {
    const roc_ir_inst *by = &m->insts.items[roc_ir_arg(m, inst, 1)];
    if (by->op != ROC_IR_CONST || by->k.i < -SMALL || by->k.i > SMALL) return false;
    *k = inst->op == ROC_IR_ADD ? by->k.i : -by->k.i;
    inst = &m->insts.items[roc_ir_arg(m, inst, 0)];
  }
  return inst->op == ROC_IR_GET && inst->aux == var;
}

static ROC_IR_WALKS uint32_t count_sets(const roc_ir_module *m, uint32_t region, uint32_t var) {
  uint32_t count = 0;
  roc_ir_walk walk;
  ROC_IR_FOR_EACH(walk, m, region) {
    count += (walk.inst->op == ROC_IR_SET || walk.inst->op == ROC_IR_FOR) && walk.inst->aux == var;
  }
  return count;
}

/* What is assigned, without the clamp of an index that is right until the loop ends. */
static uint32_t unclamped(const roc_ir_module *m, uint32_t id) {
  const roc_ir_inst *inst = &m->insts.items[id];
  return inst->op == ROC_IR_CLAMP_INDEX ? roc_ir_arg(m, inst, 0) : id;
}

/* Whether the instruction, or what comes after it, says that the variable, more or less a constant,
 * is an index of a narrow array, or the last round comes. */
static bool takes_for_index(const roc_ir_module *m, const roc_ir_inst *inst, uint32_t var) {
  bool is_check = inst->op == ROC_IR_CHECK_INDEX || inst->op == ROC_IR_WORST_INDEX;
  if (!is_check && inst->op != ROC_IR_LOAD) return false;
  if (!roc_ir_is_narrow_array(m, &m->arrays.items[inst->aux])) return false;
  for (uint32_t n = inst->op == ROC_IR_WORST_INDEX ? 1 : 0; n < inst->nargs; n++) {
    int64_t k;
    if (is_moved(m, roc_ir_arg(m, inst, n), var, &k)) return true;
  }
  return false;
}

/* Whether each round of the loop has an index that has moved on since, up or down, or ends. */
static bool moves_index(const roc_ir_module *m, const roc_ir_ids *body, uint32_t var) {
  for (uint32_t i = 0; i < body->count; i++) {
    if (takes_for_index(m, &m->insts.items[body->items[i]], var)) return true;
  }
  return false;
}

/* The variable that is such an index in a loop without a count; NONE: there is none. */
static uint32_t find_counter(const roc_ir_module *m, const roc_ir_inst *loop) {
  const roc_ir_ids *ids = &m->regions.items[loop->k.region[0]];
  for (uint32_t i = 0; i < ids->count; i++) {
    const roc_ir_inst *set = &m->insts.items[ids->items[i]];
    int64_t step;
    if (set->op != ROC_IR_SET || m->vars.items[set->aux].type != ROC_VT_INT) continue;
    if (!is_moved(m, unclamped(m, roc_ir_arg(m, set, 0)), set->aux, &step)) continue;
    if (count_sets(m, loop->k.region[0], set->aux) > 1) continue;
    if (step != 0 && moves_index(m, ids, set->aux)) return set->aux;
  }
  return ROC_IR_NONE;
}

/* Then it may leave out what the rest of a round does. */
static ROC_IR_WALKS bool goes_on_early(const roc_ir_module *m, uint32_t id) {
  roc_ir_walk walk;
  ROC_IR_FOR_EACH(walk, m, m->insts.items[id].k.region[0]) {
    if (walk.inst->op == ROC_IR_NEXT && walk.inst->aux == id) return true;
  }
  return false;
}

/* UNCOUNTED: nothing is known of it. */
static int64_t rounds_of(roc_ir_check_walk *w, uint32_t id) {
  const roc_ir_inst *loop = &w->m->insts.items[id];
  int64_t way, rounds;
  if (loop->op != ROC_IR_FOR) {
    uint32_t counter = goes_on_early(w->m, id) ? ROC_IR_NONE : find_counter(w->m, loop);
    if (counter != ROC_IR_NONE) w->counter = counter;
    return counter != ROC_IR_NONE ? MOST_BY_INDEX : UNCOUNTED;
  }
  roc_ir_range first = roc_ir_facts_range(&w->f, roc_ir_check_walk_operand(w, loop, 0));
  roc_ir_range last = roc_ir_facts_range(&w->f, roc_ir_check_walk_operand(w, loop, 1));
  roc_ir_range step = roc_ir_facts_range(&w->f, roc_ir_check_walk_operand(w, loop, 2));
  if (first.low > first.high || last.low > last.high || contains(step, 0)) return UNCOUNTED;
  bool overflows = step.low > 0 ? __builtin_sub_overflow(last.high, first.low, &way)
                                : __builtin_sub_overflow(first.high, last.low, &way);
  if (overflows || step.high == INT64_MIN) return UNCOUNTED;
  int64_t by = step.low > 0 ? step.low : -step.high;
  if (way < 0) return 1;
  return __builtin_add_overflow(way / by, 1, &rounds) ? UNCOUNTED : rounds;
}

int64_t roc_ir_sums_enter(roc_ir_check_walk *w, uint32_t loop) {
  int64_t times = w->times, rounds = w->assigned ? rounds_of(w, loop) : UNCOUNTED;
  if (__builtin_mul_overflow(times, rounds, &w->times)) w->times = UNCOUNTED;
  return times;
}

/* ---- what is added --------------------------------------------------------------------------- */

/* Whether the value is what the variable held at some time, and *added. */
static bool is_sum_of(roc_ir_check_walk *w, uint32_t id, uint32_t var, int depth,
                      roc_ir_range *added) {
  const roc_ir_inst *inst = &w->m->insts.items[id];
  if (inst->op == ROC_IR_GET) {
    *added = (roc_ir_range){0, 0};
    return inst->aux == var;
  }
  if ((inst->op != ROC_IR_ADD && inst->op != ROC_IR_SUB) || depth == 0) return false;
  for (uint32_t n = 0; n < (inst->op == ROC_IR_ADD ? 2 : 1); n++) {
    roc_ir_range sum[2];
    if (!is_sum_of(w, roc_ir_arg(w->m, inst, n), var, depth - 1, &sum[0])) continue;
    sum[1] = roc_ir_facts_range(&w->f, roc_ir_check_walk_operand(w, inst, 1 - n));
    if (sum[1].low > sum[1].high) return false;
    *added = roc_ir_range_apply((roc_ir_op)inst->op, 0, sum);
    return true;
  }
  return false;
}

bool roc_ir_sums_note(roc_ir_check_walk *w, const roc_ir_inst *set) {
  roc_ir_sum sum = {.var = set->aux};
  roc_ir_range added;
  if (w->times == UNCOUNTED || set->aux == w->counter) return false;
  if (!is_sum_of(w, roc_ir_arg(w->m, set, 0), set->aux, MOST_DEPTH, &added)) return false;
  int64_t low = added.low < 0 ? added.low : 0, high = added.high > 0 ? added.high : 0;
  if (__builtin_mul_overflow(low, w->times, &sum.low)) return false;
  if (__builtin_mul_overflow(high, w->times, &sum.high)) return false;
  if (!roc_vec_push(&w->sums, sum)) w->failed = true;
  return true;
}

static int64_t add(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? (a < 0 ? INT64_MIN : INT64_MAX) : sum;
}

/* One entry a variable, of those from `begin` up to `end`, which go to the front. */
static uint32_t add_up(roc_ir_check_walk *w, uint32_t begin, uint32_t end) {
  uint32_t kept = begin;
  w->tick++;
  for (uint32_t i = begin; i < end; i++) {
    roc_ir_sum sum = w->sums.items[i];
    bool is_new = w->stamps[sum.var] != w->tick;
    if (is_new) {
      w->stamps[sum.var] = w->tick;
      w->slots[sum.var] = kept;
      w->sums.items[kept++] = sum;
    } else {
      roc_ir_sum *of_var = &w->sums.items[w->slots[sum.var]];
      of_var->low = add(of_var->low, sum.low);
      of_var->high = add(of_var->high, sum.high);
    }
  }
  return kept;
}

void roc_ir_sums_join(roc_ir_check_walk *w, uint32_t begin, uint32_t middle) {
  if (begin == w->sums.count) return;
  uint32_t end_no = add_up(w, middle, w->sums.count), end = add_up(w, begin, middle);
  for (uint32_t i = middle; i < end_no; i++) { /* stamps and slots are those of the first path */
    roc_ir_sum sum = w->sums.items[i];
    if (w->stamps[sum.var] != w->tick) {
      w->sums.items[end++] = sum;
      continue;
    }
    roc_ir_sum *of_var = &w->sums.items[w->slots[sum.var]];
    if (sum.low < of_var->low) of_var->low = sum.low;
    if (sum.high > of_var->high) of_var->high = sum.high;
  }
  w->sums.count = end;
}

void roc_ir_sums_close(roc_ir_check_walk *w) {
  for (uint32_t i = 0; i < w->sums.count; i++) {
    roc_ir_sum sum = w->sums.items[i];
    roc_ir_range *held = &w->assigned[sum.var];
    if (held->low > held->high) continue; /* nothing else is assigned to it: nor does it run */
    bool wraps = __builtin_add_overflow(held->low, sum.low, &held->low);
    wraps |= __builtin_add_overflow(held->high, sum.high, &held->high);
    if (wraps) *held = roc_ir_range_all;
  }
  w->sums.count = 0;
}
