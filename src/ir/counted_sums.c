/* Variables to which loops that are counted add something in each round, as `if … then n = n + 1
 * end`: one holds no more than what other assignments leave in it and all that may be added. */
#include "base/alloc.h"
#include "ir/check_walk.h"
#include "ir/range.h"

enum {
  MOST_DEPTH = 4, /* of a sum */
  UNCOUNTED = 0   /* times */
};

static bool contains(roc_ir_range range, int64_t k) {
  return range.low <= k && k <= range.high;
}

/* ---- how often ------------------------------------------------------------------------------- */

/* UNCOUNTED: nothing is known of it. */
static int64_t rounds_of(roc_ir_check_walk *w, const roc_ir_inst *loop) {
  int64_t way, rounds;
  if (loop->op != ROC_IR_FOR) return UNCOUNTED;
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

int64_t roc_ir_sums_enter(roc_ir_check_walk *w, const roc_ir_inst *loop) {
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
  if (w->times == UNCOUNTED) return false;
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
