/* Which loops of a kernel are turned inside out.
 *
 * `for k = 1, n do sum = sum + a[i][k] * b[k][j] end`, run item after item, walks down a column of
 * b and keeps the vectoriser out. Between barriers items are unordered, so the loop over k may as
 * well stand around the loop over a row's items (cpu/rows.c). That pays where the body is straight
 * enough for vectors; a FOR that qualifies and the IFs and FORs around it are marked CPU_CUT_ROW.
 * It goes on for as long as one item of the row does.  Where that differs by what memory holds, as
 * in rows of a sparse matrix, the FOR stays in the item: lanes (cpu/lanes.c) wait for few others.
 * So does one whose items decide by what they computed from data that they share, and one that
 * sums up integers along rows of memory, an item a row, or writes such rows: where the order of the
 * rounds is free, rows are read as they lie.
 *
 * Invariant: nothing leaves a marked statement but its own end, and items that fail. */
#include "codegen/cpu/cpu.h"
#include "ir/uniform.h"
#include "ir/walk.h"

/* Iterations, and instructions of all of them, that are better unrolled inside of the item. */
enum { SHORT_LOOP = 16, SHORT_INSTS = 300 };

typedef struct marker {
  const roc_ir_module *ir;
  cpu_plan *plan;
  roc_ir_uniform uniform;
  uint32_t *nsets;   /* per variable: SETs and FORs */
  uint32_t *setters; /* per variable: one of them */
  bool has_tiles;    /* items that have barriers stand in rows */
  bool has_lanes;    /* items that go different ways may be lanes of vectors */
  bool is_nested;    /* what is looked at stands in a loop, or under a condition of its items */
  bool is_turned;    /* it stands in a loop that is about to stand around items */
} marker;

static const roc_ir_ids *region_of_id(const marker *m, uint32_t region) {
  return &m->ir->regions.items[region];
}

static const roc_ir_ids *region_of(const marker *m, const roc_ir_inst *inst, uint32_t r) {
  return region_of_id(m, inst->k.region[r]);
}

/* What keeps a body from running side by side, or out of order. */
static bool is_obstacle(const roc_ir_inst *inst) {
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_BLOCK:
    case ROC_IR_LOOP:
    case ROC_IR_LEAVE:
    case ROC_IR_NEXT:
    case ROC_IR_RETURN:
    case ROC_IR_FENCE:
    case ROC_IR_PRINT: return true;
    default: return false;
  }
}

static ROC_IR_WALKS bool has_obstacle(const marker *m, uint32_t region) {
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, m->ir, region) {
    if (is_obstacle(w.inst)) return true;
  }
  return false;
}

static const roc_ir_inst *operand(const marker *m, const roc_ir_inst *inst, uint32_t n) {
  return &m->ir->insts.items[roc_ir_arg(m->ir, inst, n)];
}

/* Iterations of a FOR with constant bounds, when they are few; 0: they are not. */
static unsigned count_rounds(const marker *m, const roc_ir_inst *inst) {
  const roc_ir_inst *bounds[3] = {operand(m, inst, 0), operand(m, inst, 1), operand(m, inst, 2)};
  for (int i = 0; i < 3; i++) {
    if (bounds[i]->op != ROC_IR_CONST) return 0;
  }
  int64_t step = bounds[2]->k.i;
  if (step <= -INT32_MAX || step >= INT32_MAX || step == 0) return 0;
  __int128 span = (__int128)bounds[1]->k.i - bounds[0]->k.i;
  if (span / step >= SHORT_LOOP) return 0;
  return span / step < 0 ? 1 : (unsigned)(span / step + 1);
}

static unsigned weigh(const marker *m, uint32_t region) {
  const roc_ir_ids *ids = region_of_id(m, region);
  unsigned sum = 0;
  for (uint32_t i = 0; i < ids->count && sum <= SHORT_INSTS; i++) {
    const roc_ir_inst *inst = &m->ir->insts.items[ids->items[i]];
    unsigned inner = inst->op != ROC_IR_CONST && inst->op != ROC_IR_GET && inst->op != ROC_IR_SET;
    for (uint32_t r = 0; r < roc_ir_region_count(inst); r++) inner += weigh(m, inst->k.region[r]);
    unsigned rounds = inst->op == ROC_IR_FOR ? count_rounds(m, inst) : 1;
    sum += inner * (rounds ? rounds : 1);
  }
  return sum;
}

static bool is_short(const marker *m, const roc_ir_inst *inst) {
  unsigned rounds = count_rounds(m, inst);
  return rounds && rounds * weigh(m, inst->k.region[0]) <= SHORT_INSTS;
}

uint32_t cpu_short_rounds(const roc_ir_module *ir, const roc_ir_inst *inst) {
  marker m = {.ir = ir};
  return is_short(&m, inst) ? count_rounds(&m, inst) : 1;
}

bool cpu_is_short_for(const roc_ir_module *ir, const roc_ir_inst *inst) {
  marker m = {.ir = ir};
  return is_short(&m, inst);
}

static ROC_IR_WALKS bool touches_memory(const marker *m, uint32_t region) {
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, m->ir, region) {
    uint8_t op = w.inst->op;
    if (op == ROC_IR_LOAD || op == ROC_IR_STORE || op == ROC_IR_ATOMIC) return true;
  }
  return false;
}

static bool mark_list(marker *m, const roc_ir_ids *ids, bool *out_all_loops);

enum { MOST_STEPS = 16 };

/* Nothing in the launch changes the array. */
static bool is_constant(const marker *m, uint32_t array) {
  const roc_ir_array *a = &m->ir->arrays.items[array];
  if (a->kind != ROC_IR_ARRAY_PARAM) return a->kind == ROC_IR_ARRAY_CONST;
  const roc_ir_param *param = &m->ir->params.items[a->param];
  return !param->is_written && !param->type.is_alias;
}

/* Whether items that compute the value together compute the same, also where a guard around it keeps
 * the others out. */
static bool is_shared(const marker *m, uint32_t id, int steps) {  // NOLINT(misc-no-recursion)
  const roc_ir_inst *inst = &m->ir->insts.items[id];
  if (m->uniform.insts[id] == ROC_IR_UNIFORM_GROUP) return true;
  if (steps == MOST_STEPS) return false;
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_GLOBAL_ID:
    case ROC_IR_LOCAL_ID:
    case ROC_IR_LANE_ID:
    case ROC_IR_ATOMIC:
    case ROC_IR_WAVE: return false;
    case ROC_IR_LOAD:
      if (!is_constant(m, inst->aux)) return false;
      break;
    case ROC_IR_GET: {
      if (m->nsets[inst->aux] != 1) return false;
      const roc_ir_inst *setter = &m->ir->insts.items[m->setters[inst->aux]];
      uint32_t last = setter->op == ROC_IR_FOR ? 2 : 0; /* it begins with one, and adds the other */
      return is_shared(m, roc_ir_arg(m->ir, setter, 0), steps + 1) &&
             is_shared(m, roc_ir_arg(m->ir, setter, last), steps + 1);
    }
    default: break;
  }
  for (uint32_t n = 0; n < inst->nargs; n++) {
    if (!is_shared(m, roc_ir_arg(m->ir, inst, n), steps + 1)) return false;
  }
  return true;
}

/* Whether neighbours may have any values, as memory holds them, rather than those of a function of
 * their ids. */
static bool is_irregular(const marker *m, uint32_t id, int steps) {  // NOLINT(misc-no-recursion)
  const roc_ir_inst *inst = &m->ir->insts.items[id];
  if (is_shared(m, id, 0)) return false;
  if (steps == MOST_STEPS) return true;
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_LOAD:
    case ROC_IR_ATOMIC:
    case ROC_IR_WAVE: return true;
    case ROC_IR_GET: {
      uint32_t setter = m->setters[inst->aux];
      if (m->nsets[inst->aux] != 1) return true;
      return is_irregular(m, roc_ir_arg(m->ir, &m->ir->insts.items[setter], 0), steps + 1);
    }
    default: break;
  }
  for (uint32_t n = 0; n < inst->nargs; n++) {
    if (is_irregular(m, roc_ir_arg(m->ir, inst, n), steps + 1)) return true;
  }
  return false;
}

static bool has_irregular_bounds(const marker *m, const roc_ir_inst *inst) {
  return is_irregular(m, roc_ir_arg(m->ir, inst, 0), 0) ||
         is_irregular(m, roc_ir_arg(m->ir, inst, 1), 0);
}

/* Whether a value may change with the counter of a FOR. */
static bool counts_with(const marker *m, uint32_t id, uint32_t counter,
                        int steps) {  // NOLINT(misc-no-recursion)
  const roc_ir_inst *inst = &m->ir->insts.items[id];
  if (steps == MOST_STEPS) return true;
  if (inst->op == ROC_IR_GET) {
    if (inst->aux == counter || m->nsets[inst->aux] != 1) return true;
    inst = &m->ir->insts.items[m->setters[inst->aux]];
  }
  for (uint32_t n = 0; n < inst->nargs; n++) {
    if (counts_with(m, roc_ir_arg(m->ir, inst, n), counter, steps + 1)) return true;
  }
  return false;
}

/* An access by which each item goes through memory of its own, as down a column: rows read that in
 * longer pieces than lanes. */
static bool is_streaming(const marker *m, const roc_ir_inst *inst, uint32_t id, uint32_t counter) {
  if (inst->op != ROC_IR_LOAD || is_shared(m, id, 0)) return false;
  if (m->ir->arrays.items[inst->aux].kind == ROC_IR_ARRAY_PRIVATE) return true;
  for (uint32_t n = 0; n < inst->nargs; n++) {
    if (counts_with(m, roc_ir_arg(m->ir, inst, n), counter, 0)) return true;
  }
  return false;
}

/* What lanes do one after the other. */
static bool is_broken_up(const roc_ir_inst *inst) {
  bool divides = inst->op == ROC_IR_MOD || inst->op == ROC_IR_FLOORDIV;
  return divides || inst->op == ROC_IR_STORE || inst->op == ROC_IR_ATOMIC;
}

/* A FOR that computes with what its items have in common, and decides by the results: as lanes they
 * keep their variables in registers, and a branch that no lane takes costs nothing.  Turned inside
 * out, all is read from memory and written back in each iteration, and each branch computed. */
static ROC_IR_WALKS bool suits_lanes(const marker *m, const roc_ir_inst *loop) {
  if (!m->has_lanes) return false;
  bool decides = false;
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, m->ir, loop->k.region[0]) {
    if (is_broken_up(w.inst) || is_streaming(m, w.inst, w.id, loop->aux)) return false;
    if (w.inst->op == ROC_IR_IF) decides |= is_irregular(m, roc_ir_arg(m->ir, w.inst, 0), 0);
  }
  return decides;
}

/* Whether the value is the counter plus or minus what items share: of others, the next item's may be
 * the neighbour. */
static bool steps_with(const marker *m, uint32_t id, uint32_t counter) {
  const roc_ir_inst *inst = &m->ir->insts.items[id];
  if (inst->op == ROC_IR_GET) return inst->aux == counter;
  if (inst->op != ROC_IR_ADD && inst->op != ROC_IR_SUB) return false;
  uint32_t a = roc_ir_arg(m->ir, inst, 0), b = roc_ir_arg(m->ir, inst, 1);
  if (counts_with(m, a, counter, 0)) {
    return steps_with(m, a, counter) && !counts_with(m, b, counter, 0) && is_shared(m, b, 0);
  }
  return inst->op == ROC_IR_ADD && steps_with(m, b, counter) && is_shared(m, a, 0);
}

/* Whether neighbours in memory have neighbouring last indices. */
static bool has_rows(const marker *m, uint32_t array) {
  const roc_ir_array *a = &m->ir->arrays.items[array];
  if (a->kind != ROC_IR_ARRAY_PARAM) return a->kind != ROC_IR_ARRAY_PRIVATE;
  return a->rank == 1 || m->ir->params.items[a->param].type.layout != ROC_LAYOUT_F;
}

/* Whether a place in an array without rows lies in a row of the item's own, and moves with the
 * counter: `(i - 1) * width + j`. */
static bool is_in_own_row(const marker *m, uint32_t id, uint32_t counter) {
  enum { SHORTEST = 8 };
  const roc_ir_inst *inst = &m->ir->insts.items[id];
  bool is_sum = inst->op == ROC_IR_ADD || inst->op == ROC_IR_SUB;
  if (!is_sum) return false;
  uint32_t of[2] = {roc_ir_arg(m->ir, inst, 0), roc_ir_arg(m->ir, inst, 1)};
  if (is_shared(m, of[1], 0) && !counts_with(m, of[1], counter, 0)) {
    return is_in_own_row(m, of[0], counter);
  }
  if (inst->op == ROC_IR_SUB) return false;
  for (uint32_t n = 0; n < 2; n++) {
    const roc_ir_inst *row = &m->ir->insts.items[of[n]];
    if (row->op != ROC_IR_MUL || counts_with(m, of[n], counter, 0)) continue;
    for (uint32_t k = 0; k < 2; k++) {
      const roc_ir_inst *width = operand(m, row, k);
      bool is_long = width->op != ROC_IR_CONST || width->k.i >= SHORTEST;
      bool is_own = is_shared(m, roc_ir_arg(m->ir, row, k), 0) &&
                    !is_shared(m, roc_ir_arg(m->ir, row, 1 - k), 0);
      if (is_own && is_long && steps_with(m, of[1 - n], counter)) return true;
    }
  }
  return false;
}

/* A load of neighbours, round after round, or of the same. */
static bool reads_along(const marker *m, const roc_ir_inst *inst, uint32_t counter) {
  if (!has_rows(m, inst->aux)) return false;
  for (uint32_t n = 0; n + 1 < inst->nargs; n++) {
    if (counts_with(m, roc_ir_arg(m->ir, inst, n), counter, 0)) return false;
  }
  uint32_t last = roc_ir_arg(m->ir, inst, inst->nargs - 1u);
  return steps_with(m, last, counter) || is_in_own_row(m, last, counter) ||
         !counts_with(m, last, counter, 0);
}

/* An integer that a round adds to, whose order is free. */
static bool adds_to(const marker *m, const roc_ir_inst *set) {
  const roc_ir_inst *sum = operand(m, set, 0);
  bool is_free = sum->op == ROC_IR_ADD || sum->op == ROC_IR_MIN || sum->op == ROC_IR_MAX ||
                 sum->op == ROC_IR_BAND || sum->op == ROC_IR_BOR || sum->op == ROC_IR_BXOR;
  if (!is_free || sum->type != ROC_VT_INT) return false;
  for (uint32_t n = 0; n < 2; n++) {
    const roc_ir_inst *from = operand(m, sum, n);
    if (from->op == ROC_IR_GET && from->aux == set->aux) return true;
  }
  return false;
}

/* Whether the rounds of a FOR stand for neighbours in a row, the same for all items: where each begins
 * elsewhere, neighbours may be those of the next item. */
static bool counts_rows(const marker *m, const roc_ir_inst *loop) {
  const roc_ir_inst *step = operand(m, loop, 2);
  return step->op == ROC_IR_CONST && step->k.i == 1 && is_shared(m, roc_ir_arg(m->ir, loop, 0), 0);
}

/* A FOR that reduces rows of memory, of which each item has one: a vector of the row costs one load,
 * one of the items as many as it has. */
static ROC_IR_WALKS bool reduces_rows(const marker *m, const roc_ir_inst *loop) {
  if (!counts_rows(m, loop)) return false;
  bool has_own = false, sums = false;
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, m->ir, loop->k.region[0]) {
    const roc_ir_inst *inst = w.inst;
    if (inst->op == ROC_IR_FOR || inst->op == ROC_IR_STORE || inst->op == ROC_IR_ATOMIC) {
      return false;
    }
    bool is_set = inst->op == ROC_IR_SET;
    bool is_mark = is_set && w.depth > 1 && operand(m, inst, 0)->op == ROC_IR_CONST;
    if (is_set && !is_mark && !adds_to(m, inst)) return false;
    sums |= is_set;
    if (inst->op != ROC_IR_LOAD) continue;
    if (!reads_along(m, inst, loop->aux)) return false;
    has_own |= is_in_own_row(m, roc_ir_arg(m->ir, inst, inst->nargs - 1u), loop->aux) ||
               (inst->nargs > 1 && !is_shared(m, roc_ir_arg(m->ir, inst, 0), 0));
  }
  return has_own && sums;
}

/* A store of neighbours, round after round, in a row of the item's own. */
static bool writes_along(const marker *m, const roc_ir_inst *inst, uint32_t counter) {
  bool is_argument = m->ir->arrays.items[inst->aux].kind == ROC_IR_ARRAY_PARAM;
  if (inst->nargs < 3 || !is_argument || !has_rows(m, inst->aux)) return false;
  for (uint32_t n = 1; n + 1 < inst->nargs; n++) {
    if (counts_with(m, roc_ir_arg(m->ir, inst, n), counter, 0)) return false;
  }
  bool is_own = !is_shared(m, roc_ir_arg(m->ir, inst, 1), 0);
  return is_own && steps_with(m, roc_ir_arg(m->ir, inst, inst->nargs - 1u), counter);
}

/* A FOR that writes rows of memory, of which each item has one, out of such rows: vectors of the
 * row where rounds do not depend on each other, else scalars, which cost less than to scatter.  What
 * takes long to compute and depends on the round before is better off in vectors of items. */
static ROC_IR_WALKS bool writes_rows(const marker *m, const roc_ir_inst *loop) {
  if (!counts_rows(m, loop)) return false;
  bool writes = false, sets = false, is_long = false;
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, m->ir, loop->k.region[0]) {
    const roc_ir_inst *inst = w.inst;
    if (inst->op == ROC_IR_FOR || inst->op == ROC_IR_ATOMIC) return false;
    if (inst->op == ROC_IR_LOAD && !reads_along(m, inst, loop->aux)) return false;
    if (inst->op == ROC_IR_STORE && !writes_along(m, inst, loop->aux)) return false;
    writes |= inst->op == ROC_IR_STORE;
    sets |= inst->op == ROC_IR_SET;
    is_long |= inst->op == ROC_IR_MATH || inst->op == ROC_IR_POW || inst->op == ROC_IR_FDIV;
  }
  return writes && !(sets && is_long);
}

/* A FOR that counts in memory of the item's own, at places that data tell: vectors take these apart,
 * and one item's are in the cache. */
static ROC_IR_WALKS bool scatters_own(const marker *m, const roc_ir_inst *loop) {
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, m->ir, loop->k.region[0]) {
    bool is_own =
        w.inst->op == ROC_IR_STORE && m->ir->arrays.items[w.inst->aux].kind == ROC_IR_ARRAY_PRIVATE;
    for (uint32_t n = 1; is_own && n < w.inst->nargs; n++) {
      if (is_irregular(m, roc_ir_arg(m->ir, w.inst, n), 0)) return true;
    }
  }
  return false;
}

/* A FOR is turned when the group agrees on its step and every longer loop in it is turned too. */
static bool turn(marker *m, uint32_t id) {
  const roc_ir_inst *inst = &m->ir->insts.items[id];
  uint32_t body = inst->k.region[0];
  bool is_step_shared = m->uniform.insts[roc_ir_arg(m->ir, inst, 2)] == ROC_IR_UNIFORM_GROUP;
  if (!is_step_shared || m->nsets[inst->aux] != 1 || has_irregular_bounds(m, inst)) return false;
  if (has_obstacle(m, body) || !touches_memory(m, body)) return false;
  m->plan->is_along[id] = reduces_rows(m, inst) || writes_rows(m, inst);
  if (m->plan->is_along[id] || suits_lanes(m, inst) || scatters_own(m, inst)) return false;
  bool all_loops = true, was_nested = m->is_nested, was_turned = m->is_turned;
  m->is_nested = m->is_turned = true;
  mark_list(m, region_of(m, inst, 0), &all_loops);
  m->is_nested = was_nested;
  m->is_turned = was_turned;
  if (!all_loops) return false;
  m->plan->cuts[id] |= CPU_CUT_ROW;
  m->plan->wide_for[inst->aux] = id;
  return true;
}

/* The sums of a tiled product, in a loop that would be short enough to be unrolled: what the items
 * of a row have in common is loaded for several rows at once when the loop stands around them
 * (cpu/chunk.c).  Between barriers nothing is kept from statement to statement anyway.  In another
 * loop, or where items go different ways, it is part of what they do. */
static bool is_tile_loop(const marker *m, const roc_ir_inst *inst) {
  if (!m->has_tiles || m->is_nested || count_rounds(m, inst) <= SHORT_LOOP / 2) return false;
  const roc_ir_ids *body = region_of(m, inst, 0);
  bool sets = false;
  for (uint32_t i = 0; i < body->count; i++) {
    const roc_ir_inst *inner = &m->ir->insts.items[body->items[i]];
    if (roc_ir_has_regions(inner)) return false;
    sets |= inner->op == ROC_IR_SET;
  }
  return sets;
}

static bool mark_for(marker *m, uint32_t id) {
  const roc_ir_inst *inst = &m->ir->insts.items[id];
  return (!is_short(m, inst) || is_tile_loop(m, inst)) && turn(m, id);
}

/* Whether the value is computed from counters of loops and what the launch gives. */
static bool is_counted(const marker *m, uint32_t id, int steps) {  // NOLINT(misc-no-recursion)
  const roc_ir_inst *inst = &m->ir->insts.items[id];
  if (steps == MOST_STEPS) return false;
  if (inst->op == ROC_IR_GET) {
    const roc_ir_inst *setter = &m->ir->insts.items[m->setters[inst->aux]];
    return m->nsets[inst->aux] == 1 && setter->op == ROC_IR_FOR;
  }
  bool is_pure = roc_ir_op_table[inst->op].flags & ROC_IRF_PURE;
  if (!is_pure || inst->op == ROC_IR_MATH || inst->op == ROC_IR_POW) return false;
  for (uint32_t n = 0; n < inst->nargs; n++) {
    if (!is_counted(m, roc_ir_arg(m->ir, inst, n), steps + 1)) return false;
  }
  return true;
}

/* What all items of a row decide together in each iteration of a loop around them is decided once,
 * and what they keep stays in registers. */
static bool is_branch_of_rows(const marker *m, const roc_ir_inst *inst) {
  uint32_t cond = roc_ir_arg(m->ir, inst, 0);
  return m->is_turned && is_shared(m, cond, 0) && is_counted(m, cond, 0);
}

static bool mark_if(marker *m, uint32_t id, bool *out_all_loops) {
  const roc_ir_inst *inst = &m->ir->insts.items[id];
  for (uint32_t r = 0; r < 2; r++) {
    if (has_obstacle(m, inst->k.region[r])) {
      *out_all_loops = false;
      return false;
    }
  }
  bool any = is_branch_of_rows(m, inst), was_nested = m->is_nested;
  m->is_nested |= m->uniform.insts[roc_ir_arg(m->ir, inst, 0)] != ROC_IR_UNIFORM_GROUP;
  for (uint32_t r = 0; r < 2; r++) any |= mark_list(m, region_of(m, inst, r), out_all_loops);
  m->is_nested = was_nested;
  if (any) m->plan->cuts[id] |= CPU_CUT_ROW;
  return any;
}

/* Marks what qualifies; true when something did.  *out_all_loops becomes false when a loop that
 * LLVM would not unroll did not. */
static bool mark_list(marker *m, const roc_ir_ids *ids, bool *out_all_loops) {
  bool any = false;
  for (uint32_t i = 0; i < ids->count; i++) {
    const roc_ir_inst *inst = &m->ir->insts.items[ids->items[i]];
    if (inst->op == ROC_IR_IF) any |= mark_if(m, ids->items[i], out_all_loops);
    if (inst->op != ROC_IR_FOR) continue;
    bool is_marked = mark_for(m, ids->items[i]);
    if (!is_marked && !is_short(m, inst)) *out_all_loops = false;
    any |= is_marked;
  }
  return any;
}

/* Takes the marks of a FOR that stayed as it is from the loops in it, which no row reaches. */
static ROC_IR_WALKS void unmark_inner(marker *m, uint32_t region) {
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, m->ir, region) {
    m->plan->cuts[w.id] &= (uint8_t)~CPU_CUT_ROW;
    if (w.inst->op == ROC_IR_FOR) m->plan->wide_for[w.inst->aux] = ROC_IR_NONE;
  }
}

static void clean_list(marker *m, const roc_ir_ids *ids) {
  for (uint32_t i = 0; i < ids->count; i++) {
    const roc_ir_inst *inst = &m->ir->insts.items[ids->items[i]];
    bool is_marked = m->plan->cuts[ids->items[i]] & CPU_CUT_ROW;
    for (uint32_t r = 0; r < roc_ir_region_count(inst); r++) {
      if (is_marked) {
        clean_list(m, region_of(m, inst, r));
      } else {
        unmark_inner(m, inst->k.region[r]);
      }
    }
  }
}

/* Statements of the group: goes into those that hold a group cut, leaves those of a wavefront. */
static void mark_group(marker *m, const roc_ir_ids *ids) {
  for (uint32_t i = 0; i < ids->count; i++) {
    uint32_t id = ids->items[i];
    const roc_ir_inst *inst = &m->ir->insts.items[id];
    uint8_t cuts = m->plan->cuts[id];
    bool all_loops = true;
    if (cuts & ROC_IRF_CUT_GROUP) {
      for (uint32_t r = 0; r < roc_ir_region_count(inst); r++) mark_group(m, region_of(m, inst, r));
    } else if (!cuts) {
      roc_ir_ids one = {.items = &id, .count = 1};
      mark_list(m, &one, &all_loops);
      clean_list(m, &one);
    }
  }
}

static void survey(marker *m) {
  bool has_rows = false, has_barriers = false;
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, m->ir, 0) {
    if (w.inst->op == ROC_IR_SET || w.inst->op == ROC_IR_FOR) {
      m->nsets[w.inst->aux]++;
      m->setters[w.inst->aux] = w.id;
    }
    has_rows |= w.inst->op == ROC_IR_LOCAL_ID && w.inst->aux > 0;
    has_barriers |= (m->plan->cuts[w.id] & ROC_IRF_CUT_GROUP) != 0;
    if (m->plan->cuts[w.id] & (ROC_IRF_CUT_GROUP | ROC_IRF_CUT_WAVE)) m->has_lanes = false;
  }
  m->has_tiles = has_rows && has_barriers;
}

/* FORs with a cut: whether first value and step are shared by all that run it together. */
static void mark_itemwise(marker *m) {
  for (uint32_t id = 0; id < m->ir->insts.count; id++) {
    const roc_ir_inst *inst = &m->ir->insts.items[id];
    uint8_t cuts = m->plan->cuts[id] & (ROC_IRF_CUT_GROUP | ROC_IRF_CUT_WAVE);
    if (inst->op != ROC_IR_FOR || !cuts) continue;
    uint8_t shared = cuts & ROC_IRF_CUT_GROUP ? ROC_IR_UNIFORM_GROUP : ROC_IR_UNIFORM_WAVE;
    m->plan->is_itemwise[id] = m->uniform.insts[roc_ir_arg(m->ir, inst, 0)] < shared ||
                               m->uniform.insts[roc_ir_arg(m->ir, inst, 2)] < shared;
  }
}

bool cpu_wide_mark(const roc_ir_module *ir, roc_arena *arena, bool has_lanes, cpu_plan *plan) {
  marker m = {.ir = ir, .plan = plan, .has_lanes = has_lanes};
  m.nsets = ROC_ARENA_ARRAY(arena, uint32_t, ir->vars.count + 1);
  m.setters = ROC_ARENA_ARRAY(arena, uint32_t, ir->vars.count + 1);
  if (!m.nsets || !m.setters || roc_ir_uniform_init(&m.uniform, ir, NULL)) return false;
  survey(&m);
  mark_group(&m, &ir->regions.items[0]);
  mark_itemwise(&m);
  roc_ir_uniform_deinit(&m.uniform);
  return true;
}
