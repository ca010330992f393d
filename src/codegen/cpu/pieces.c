/* A run in pieces: statements whose guards hold for other items.
 *
 * A tile with a border is loaded by
 *   t[l + 1] = x[i]
 *   if l == 1 then t[1] = x[i - 1] end
 *   if l == 256 then t[258] = x[i + 1] end
 * and no range of items has all of the guards alike, so one item after the other would go through
 * all of it.  So it is where two guards hold for a few items each.  Between barriers items are
 * unordered: each of the statements may as well have a loop of its own, over the items for which
 * its guard holds (cpu/split.c).
 *
 * Invariant: nothing passes from one piece to another but by memory that all items share, and an
 * item executes its pieces in the order of the text. */
#include "codegen/cpu/cpu.h"
#include "ir/walk.h"

/* In place of a number: an IF around pieces; made where it is used. */
enum { AROUND = UINT32_MAX - 1, NOWHERE = UINT32_MAX };

typedef struct cutter {
  cpu_state *s;
  uint32_t *piece_of; /* per instruction */
  uint32_t npieces;
  bool has_single; /* a guard holds for one item of a row */
} cutter;

static const roc_ir_inst *inst_of(const cutter *c, uint32_t id) {
  return &c->s->cg->ir->insts.items[id];
}

static uint32_t arg_of(const cutter *c, uint32_t id, uint32_t n) {
  return roc_ir_arg(c->s->cg->ir, inst_of(c, id), n);
}

static const roc_ir_ids *region_of(const cutter *c, uint32_t id, uint32_t r) {
  return &c->s->cg->ir->regions.items[inst_of(c, id)->k.region[r]];
}

/* ---- cutting ------------------------------------------------------------------------------- */

/* `x == 1`, or that and something else, which differs from item to item. */
static bool is_single(const cutter *c, uint32_t cond) {
  const roc_ir_inst *inst = inst_of(c, cond);
  if (c->s->plan.is_uniform[cond]) return false;
  if (inst->op == ROC_IR_SELECT) {
    return is_single(c, arg_of(c, cond, 0)) || is_single(c, arg_of(c, cond, 1));
  }
  return inst->op == ROC_IR_EQ;
}

static bool is_guard(const cutter *c, uint32_t id) {
  return inst_of(c, id)->op == ROC_IR_IF && c->s->plan.is_remat[arg_of(c, id, 0)] &&
         region_of(c, id, 1)->count == 0;
}

static ROC_IR_WALKS void put(cutter *c, uint32_t id) {
  roc_ir_walk w;
  roc_ir_walk_begin_list(&w, c->s->cg->ir, &id, 1);
  while (roc_ir_walk_next(&w)) {
    c->piece_of[w.id] = c->s->plan.is_remat[w.id] ? NOWHERE : c->npieces - 1;
  }
}

static void cut(cutter *c, const uint32_t *ids, uint32_t count) {
  bool is_open = false;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t id = ids[i];
    if (c->s->plan.is_remat[id]) {
      c->piece_of[id] = NOWHERE;
    } else if (is_guard(c, id)) {
      c->has_single |= is_single(c, arg_of(c, id, 0));
      c->piece_of[id] = AROUND;
      cut(c, region_of(c, id, 0)->items, region_of(c, id, 0)->count);
      is_open = false;
    } else {
      c->npieces += !is_open;
      is_open = true;
      put(c, id);
    }
  }
}

/* ---- joining what belongs together --------------------------------------------------------- */

/* All pieces from one that holds `first` to that of the item's `second`. */
static void join(bool *is_joined, uint32_t first, uint32_t second) {
  for (uint32_t p = first; p < second; p++) is_joined[p] = true;
}

/* What `id` has in common with earlier pieces: values, variables, private arrays. */
static void join_uses(const cutter *c, uint32_t id, uint32_t *first_of_var,
                      uint32_t *first_of_array, bool *is_joined) {
  const roc_ir_module *ir = c->s->cg->ir;
  const roc_ir_inst *inst = inst_of(c, id);
  uint32_t piece = c->piece_of[id];
  for (uint32_t n = 0; n < inst->nargs; n++) {
    uint32_t arg = arg_of(c, id, n);
    if (c->s->plan.home[arg] != c->s->plan.home[id] || c->piece_of[arg] >= AROUND) continue;
    join(is_joined, c->piece_of[arg], piece);
  }
  bool is_var = inst->op == ROC_IR_GET || inst->op == ROC_IR_SET || inst->op == ROC_IR_FOR;
  bool is_memory = inst->op == ROC_IR_LOAD || inst->op == ROC_IR_STORE;
  bool is_private = is_memory && ir->arrays.items[inst->aux].kind == ROC_IR_ARRAY_PRIVATE;
  if (!is_var && !is_private) return;
  uint32_t *first = is_var ? &first_of_var[inst->aux] : &first_of_array[inst->aux];
  if (*first == NOWHERE) *first = piece;
  join(is_joined, *first, piece);
}

static uint32_t *new_firsts(const cutter *c, uint32_t count) {
  uint32_t *firsts = ROC_ARENA_ARRAY(&c->s->cg->arena, uint32_t, count + 1);
  for (uint32_t i = 0; firsts && i < count; i++) firsts[i] = NOWHERE;
  return firsts;
}

/* Numbers the pieces anew; false when memory is out. */
static ROC_IR_WALKS bool join_all(cutter *c, const uint32_t *ids, uint32_t count) {
  const roc_ir_module *ir = c->s->cg->ir;
  uint32_t *first_of_var = new_firsts(c, ir->vars.count);
  uint32_t *first_of_array = new_firsts(c, ir->arrays.count);
  bool *is_joined = ROC_ARENA_ARRAY(&c->s->cg->arena, bool, c->npieces + 1);
  uint32_t *number = ROC_ARENA_ARRAY(&c->s->cg->arena, uint32_t, c->npieces + 1);
  if (c->s->cg->arena.failed) return false;
  roc_ir_walk w;
  roc_ir_walk_begin_list(&w, ir, ids, count);
  while (roc_ir_walk_next(&w)) {
    if (c->piece_of[w.id] < AROUND) {
      join_uses(c, w.id, first_of_var, first_of_array, is_joined);
    }
  }
  for (uint32_t p = 1; p < c->npieces; p++) number[p] = number[p - 1] + !is_joined[p - 1];
  c->npieces = number[c->npieces - 1] + 1;
  roc_ir_walk_begin_list(&w, ir, ids, count);
  while (roc_ir_walk_next(&w)) {
    uint32_t *piece = &c->piece_of[w.id];
    if (*piece < AROUND) *piece = number[*piece];
  }
  return true;
}

/* ---- what may be cut ----------------------------------------------------------------------- */

/* Something shows the order of items, or ends one: the run stays whole. */
static ROC_IR_WALKS bool is_ordered(const cpu_state *s, const uint32_t *ids, uint32_t count) {
  roc_ir_walk w;
  roc_ir_walk_begin_list(&w, s->cg->ir, ids, count);
  while (roc_ir_walk_next(&w)) {
    bool stops = roc_ir_op_table[w.inst->op].flags & ROC_IRF_STOP;
    bool has_order =
        w.inst->op == ROC_IR_ATOMIC || w.inst->op == ROC_IR_PRINT || w.inst->op == ROC_IR_FENCE;
    if (has_order || (stops && !cpu_is_settled(s, w.id))) return true;
  }
  return false;
}

/* Without all but piece `p`; NULL when memory is out. */
static ROC_IR_WALKS const bool *leave_out(const cutter *c, const uint32_t *ids, uint32_t count,
                                          uint32_t p) {
  bool *left_out = ROC_ARENA_ARRAY(&c->s->cg->arena, bool, c->s->cg->ir->insts.count + 1);
  if (!left_out) return NULL;
  roc_ir_walk w;
  roc_ir_walk_begin_list(&w, c->s->cg->ir, ids, count);
  while (roc_ir_walk_next(&w)) {
    left_out[w.id] = c->piece_of[w.id] != p && c->piece_of[w.id] != NOWHERE;
  }
  roc_ir_walk_begin_list(&w, c->s->cg->ir, ids, count);
  while (roc_ir_walk_next_inner_first(&w)) {
    uint32_t around = roc_ir_walk_around(&w);
    bool is_kept = c->piece_of[w.id] != NOWHERE && !left_out[w.id];
    if (is_kept && around != ROC_IR_NONE) left_out[around] = false;
  }
  return left_out;
}

/* Whether the run as a whole would leave items that have their turn one by one. */
static bool leaves_rest(cpu_state *s, const uint32_t *ids, uint32_t count) {
  cpu_split split;
  bool leaves = cpu_split_find(s, ids, count, &split) && split.has_rest && !split.is_exact &&
                !roc_vec_last(&split.guards).is_idle;
  cpu_split_deinit(&split);
  return leaves;
}

unsigned cpu_pieces_find(cpu_state *s, const uint32_t *ids, uint32_t count,
                         const bool *out[CPU_MAX_PIECES]) {
  roc_arena *arena = &s->cg->arena;
  bool has_rows = s->level->kind != CPU_LEVEL_WAVE && !s->level->is_single && !s->chunk.count;
  if (s->is_cold || s->left_out || !has_rows || is_ordered(s, ids, count)) return 0;
  cutter c = {.s = s};
  c.piece_of = ROC_ARENA_ARRAY(arena, uint32_t, s->cg->ir->insts.count + 1);
  if (!c.piece_of) return 0;
  cut(&c, ids, count);
  if (c.npieces < 2 || (!c.has_single && !leaves_rest(s, ids, count))) return 0;
  if (!join_all(&c, ids, count)) return 0;
  if (c.npieces < 2 || c.npieces > CPU_MAX_PIECES) return 0;
  for (uint32_t p = 0; p < c.npieces; p++) {
    out[p] = leave_out(&c, ids, count, p);
    if (!out[p]) return 0;
  }
  return c.npieces;
}
