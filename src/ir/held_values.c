/* What each variable may hold, wherever control comes from: ranges that its assignments keep to when
 * variables hold that. */
#include <string.h>

#include "base/alloc.h"
#include "ir/check_walk.h"
#include "ir/range.h"

enum { MOST_INSTS = 20000 }; /* of a module that is walked several times */

/* The next larger of a few ranges, so that this ends: a bound that moves goes to the next of these. */
static roc_ir_range widened(roc_ir_range from, roc_ir_range to) {
  static const int64_t bounds[] = {INT64_MIN, INT32_MIN, 0, 1, INT32_MAX, UINT32_MAX, INT64_MAX};
  const int n = sizeof bounds / sizeof *bounds;
  roc_ir_range wide = from;
  for (int i = 0; i < n && to.low < from.low; i++) {
    if (bounds[i] <= to.low) wide.low = bounds[i];
  }
  for (int i = n; i-- > 0 && to.high > from.high;) {
    if (bounds[i] >= to.high) wide.high = bounds[i];
  }
  return wide;
}

static bool is_in(roc_ir_range a, roc_ir_range b) {
  return a.low > a.high || (a.low >= b.low && a.high <= b.high);
}

static const roc_ir_range nothing = {INT64_MAX, INT64_MIN};

static bool is_integer(const roc_ir_check_walk *w, uint32_t var) {
  return w->m->vars.items[var].type == ROC_VT_INT;
}

/* Walks once with `held`, and fills `assigned`, which is noted of integers alone; false: memory is
 * out. */
static bool assign_once(roc_ir_check_walk *w, const roc_ir_launch_limits *limits) {
  for (uint32_t i = 0; i < w->m->vars.count; i++) {
    w->assigned[i] = is_integer(w, i) ? nothing : roc_ir_range_all;
  }
  bool made = roc_ir_check_walk_run(w, limits);
  roc_ir_sums_close(w);
  return made;
}

/* True when `held` covers what is assigned where variables hold that: then they never hold more.  The
 * first walks add no more than they must, later ones more and more, so that this ends. */
static bool widen_held(roc_ir_check_walk *w, int walk) {
  enum { EXACT_WALKS = 3, MOST_WALKS = 12 };
  bool is_stable = true;
  for (uint32_t i = 0; i < w->m->vars.count; i++) {
    if (is_in(w->assigned[i], w->held[i])) continue;
    is_stable = false;
    roc_ir_range sum = roc_ir_range_join(w->held[i], w->assigned[i]);
    w->held[i] = walk < EXACT_WALKS ? sum : widened(w->held[i], sum);
  }
  for (uint32_t i = 0; !is_stable && walk >= MOST_WALKS && i < w->m->vars.count; i++) {
    w->held[i] = roc_ir_range_all;
  }
  return is_stable;
}

/* What is assigned under `held` is held, too, and may be less: so for `while d < n do d = d * 2`. */
static bool lessen_held(roc_ir_check_walk *w, const roc_ir_launch_limits *limits) {
  uint32_t nvars = w->m->vars.count;
  roc_ir_range *before = roc_alloc(sizeof *before * (nvars + 1));
  if (!before) return false;
  memcpy(before, w->held, sizeof *before * nvars);
  memcpy(w->held, w->assigned, sizeof *before * nvars);
  bool made = assign_once(w, limits);
  bool is_held = made;
  for (uint32_t i = 0; i < nvars; i++) is_held = is_held && is_in(w->assigned[i], w->held[i]);
  if (!is_held) memcpy(w->held, before, sizeof *before * nvars);
  roc_free(before);
  return made;
}

static bool has_loops(const roc_ir_module *m) {
  for (uint32_t i = 0; i < m->insts.count; i++) {
    roc_ir_op op = (roc_ir_op)m->insts.items[i].op;
    if (op == ROC_IR_LOOP || op == ROC_IR_FOR) return true;
  }
  return false;
}

/* Begins with nothing, and adds what is assigned under that, until there is no more to add.  Without
 * loops the walk itself sees every assignment before the value is used. */
bool roc_ir_find_held(roc_ir_check_walk *w, const roc_ir_launch_limits *limits) {
  if (!has_loops(w->m) || w->m->insts.count > MOST_INSTS) return true;
  w->assigned = roc_alloc(sizeof *w->assigned * (w->m->vars.count + 1));
  if (!w->assigned) return false;
  for (uint32_t i = 0; i < w->m->vars.count; i++) {
    if (is_integer(w, i)) w->held[i] = nothing;
  }
  bool made = true, is_stable = false;
  for (int walk = 0; made && !is_stable; walk++) {
    made = assign_once(w, limits);
    is_stable = made && widen_held(w, walk);
  }
  made = made && lessen_held(w, limits);
  roc_free(w->assigned);
  w->assigned = NULL;
  return made;
}

/* Walks until a walk finds none wrong: what is left holds, as each round shows it of the next. */
bool roc_ir_find_invariants(roc_ir_check_walk *w, const roc_ir_launch_limits *limits) {
  enum { MOST_WALKS = 8 };
  if (!has_loops(w->m) || w->m->insts.count > MOST_INSTS) return true;
  bool made = roc_ir_invariants_guess(w);
  if (!made || w->invariants.count == 0) return made;
  w->finds_invariants = true;
  bool is_stable = false;
  for (int walk = 0; made && !is_stable && walk < MOST_WALKS; walk++) {
    w->nwrong = 0;
    made = roc_ir_check_walk_run(w, limits);
    is_stable = w->nwrong == 0;
  }
  if (!is_stable) w->invariants.count = 0;
  w->finds_invariants = false;
  return made;
}
