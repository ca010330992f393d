/* Index-set splitting: the items for which a guard holds are a range of their row.
 *
 * `if i <= #y then … end` is, item by item, a mask in every vector.  But the condition is monotone
 * in the item's id, so the items that pass are [low, end) of their row, which is computed before
 * the loop over the row: that loop then runs over these alone, and the guard is a constant in it.
 * What the other items do is mostly nothing; where it is something (`else`, or statements after the
 * guard), a second, scalar loop with the guard in it is made for them.
 *
 * A condition qualifies when its operands are affine in the id of the first dimension, and otherwise
 * the same for the row; so do `and`s of such, and conditions that are the same for the whole row.  So
 * does `(l - 1) % m == 0`, for every mth item of a range.  All is exact in 64 bits: differences
 * saturate.  Where an operand may wrap around, or its slope (`2 * s * l`) is known at run time alone
 * and may be of the wrong sign, that is asked at run time: then no item counts as inside of the
 * range, and all have their turn in the rest.
 *
 * Where idle guards compare the same for all items of a row (`if y == 1`), the loop over the rows
 * of a workgroup has bounds, too.
 *
 * Invariant: an item outside of the range of the idle guards has no effect; one inside of it that the
 * other guards leave out has its turn in the rest. */
#include <string.h>

#include "codegen/cpu/cpu.h"
#include "ir/range.h"
#include "ir/walk.h"

enum {
  MAX_NODES = 64,       /* operations in the conditions of one guard */
  MAX_SLOPE = 1 << 16,  /* times the items of a row: far from 2^63, */
  MAX_STEEP = 1 << 30,  /* as this is, found at run time */
  MAX_REST_INSTS = 160, /* a longer run is not emitted twice */
  MIN_PERIOD = 8,       /* constant; of a shorter one, vectors with masks are as good */
  RANGE_DEPTH = 8
};

/* In place of a slope: it is the same for all items of the row, but not known. */
#define RUN_TIME INT64_MIN

static const roc_ir_inst *inst_of(const cpu_state *s, uint32_t id) {
  return &s->cg->ir->insts.items[id];
}

static uint32_t arg_of(const cpu_state *s, uint32_t id, uint32_t n) {
  return roc_ir_arg(s->cg->ir, inst_of(s, id), n);
}

static bool is_left_out(const cpu_state *s, uint32_t id) {
  return s->left_out && s->left_out[id];
}

static const roc_ir_ids *region_of(const cpu_state *s, uint32_t id, uint32_t r) {
  return &s->cg->ir->regions.items[inst_of(s, id)->k.region[r]];
}

/* Follows reads of variables that are set once. */
static uint32_t resolve(const cpu_state *s, uint32_t id) {
  while (inst_of(s, id)->op == ROC_IR_GET) {
    uint32_t set = s->plan.set_once[inst_of(s, id)->aux];
    if (set == ROC_IR_NONE) break;
    id = arg_of(s, set, 0);
  }
  return id;
}

/* ---- what is affine ---------------------------------------------------------------------- */

static bool is_slope(int64_t slope) {
  return slope >= -MAX_SLOPE && slope <= MAX_SLOPE;
}

static int64_t add_slopes(int64_t a, int64_t b) {
  return a == RUN_TIME || b == RUN_TIME ? RUN_TIME : a + b;
}

static int64_t scale_slope(int64_t slope, int64_t by) {
  return slope == RUN_TIME ? RUN_TIME : slope * by;
}

/* Which operand of a product is the same for all items, by the slopes of both. */
static uint32_t find_factor(const int64_t slopes[2]) {
  return slopes[0] == 0 ? 0 : 1;
}

/* How much the value grows from an item to the next of its row; false: not always by the same.
 * Spends one of *nodes per operation. */
static bool find_slope(const cpu_state *s, uint32_t id, unsigned *nodes, int64_t *slope) {
  *slope = 0;
  if (!s->plan.is_remat[id] || *nodes == 0) return false;
  --*nodes;
  if (s->plan.is_uniform[id]) return true;
  id = resolve(s, id);
  const roc_ir_inst *inst = inst_of(s, id);
  int64_t slopes[2] = {0, 0};
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_GLOBAL_ID:
    case ROC_IR_LOCAL_ID: *slope = inst->aux == s->split_dim; return true;
    case ROC_IR_LANE_ID: return false;
    case ROC_IR_GET: { /* a counter, of a FOR that the row runs together */
      uint32_t wide = s->plan.wide_for[inst->aux];
      return wide == ROC_IR_NONE || find_slope(s, arg_of(s, wide, 0), nodes, slope);
    }
    default: break;
  }
  bool is_flat = true;
  for (uint32_t i = 0; i < inst->nargs; i++) {
    int64_t *of_arg = &slopes[i < 2 ? i : 1];
    if (!find_slope(s, arg_of(s, id, i), nodes, of_arg)) return false;
    is_flat &= *of_arg == 0;
  }
  if (is_flat) return true;
  if (inst->type != ROC_VT_INT) return false;
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_ADD: *slope = add_slopes(slopes[0], slopes[1]); break;
    case ROC_IR_SUB: *slope = add_slopes(slopes[0], scale_slope(slopes[1], -1)); break;
    case ROC_IR_NEG: *slope = scale_slope(slopes[0], -1); break;
    case ROC_IR_MUL: {
      uint32_t factor = find_factor(slopes);
      if (slopes[factor] != 0) return false;
      const roc_ir_inst *k = inst_of(s, resolve(s, arg_of(s, id, factor)));
      if (k->op == ROC_IR_CONST && !is_slope(k->k.i)) return false;
      *slope = k->op == ROC_IR_CONST ? scale_slope(slopes[1 - factor], k->k.i) : RUN_TIME;
      break;
    }
    default: return false;
  }
  return *slope == RUN_TIME || is_slope(*slope);
}

static roc_ir_range range_of(const cpu_state *s, uint32_t id, int depth) {
  id = resolve(s, id);
  const roc_ir_inst *inst = inst_of(s, id);
  if (inst->type != ROC_VT_INT || depth == 0) return roc_ir_range_all;
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_CONST: return (roc_ir_range){inst->k.i, inst->k.i};
    case ROC_IR_EXTENT: return (roc_ir_range){0, INT64_MAX / 2};
    case ROC_IR_ADD:
    case ROC_IR_SUB:
    case ROC_IR_MUL:
    case ROC_IR_NEG: {
      roc_ir_range args[2];
      for (uint32_t i = 0; i < inst->nargs; i++) {
        args[i] = range_of(s, arg_of(s, id, i), depth - 1);
      }
      return roc_ir_range_apply((roc_ir_op)inst->op, inst->aux, args);
    }
    default:
      return roc_ir_range_of_query(s->cg->ir, &roc_ir_limits_any, (roc_ir_op)inst->op, inst->aux);
  }
}

/* Whether arithmetic on the id, in a value that find_slope knows, may wrap around. */
static bool may_wrap(const cpu_state *s, uint32_t id) {
  id = resolve(s, id);
  const roc_ir_inst *inst = inst_of(s, id);
  if (s->plan.is_uniform[id]) return false;
  if (inst->op == ROC_IR_GET) {
    uint32_t wide = s->plan.wide_for[inst->aux];
    return wide != ROC_IR_NONE && may_wrap(s, arg_of(s, wide, 0));
  }
  if (inst->nargs && inst->type == ROC_VT_INT) {
    roc_ir_range range = range_of(s, id, RANGE_DEPTH);
    if (range.low == INT64_MIN && range.high == INT64_MAX) return true;
  }
  for (uint32_t i = 0; i < inst->nargs; i++) {
    if (may_wrap(s, arg_of(s, id, i))) return true;
  }
  return false;
}

/* ---- which conditions hold in a range ---------------------------------------------------- */

static bool is_const_bool(const cpu_state *s, uint32_t id, bool value) {
  const roc_ir_inst *inst = inst_of(s, resolve(s, id));
  return inst->op == ROC_IR_CONST && inst->type == ROC_VT_BOOL && (inst->k.i != 0) == value;
}

/* `cond` being `truth` means that both of its parts are. */
static bool is_conjunction(const cpu_state *s, uint32_t cond, bool truth, uint32_t parts[2]) {
  if (inst_of(s, cond)->op != ROC_IR_SELECT) return false;
  if (!is_const_bool(s, arg_of(s, cond, truth ? 2 : 1), !truth)) return false;
  parts[0] = arg_of(s, cond, 0);
  parts[1] = arg_of(s, cond, truth ? 1 : 2);
  return true;
}

/* `value % m == rest` of a value that is one more for each next item. */
typedef struct period {
  uint32_t mod, m, rest;
} period;

static bool find_period(const cpu_state *s, uint32_t cond, period *out) {
  if (inst_of(s, cond)->op != ROC_IR_EQ) return false;
  for (uint32_t n = 0; n < 2; n++) {
    uint32_t mod = resolve(s, arg_of(s, cond, n));
    const roc_ir_inst *inst = inst_of(s, mod);
    if (inst->op != ROC_IR_MOD || inst->type != ROC_VT_INT) continue;
    *out = (period){.mod = mod, .m = arg_of(s, mod, 1), .rest = arg_of(s, cond, 1 - n)};
    const roc_ir_inst *m = inst_of(s, resolve(s, out->m));
    bool is_short = m->op == ROC_IR_CONST && m->k.i > -MIN_PERIOD && m->k.i < MIN_PERIOD;
    return !is_short && s->plan.is_uniform[out->m] && s->plan.is_uniform[out->rest] &&
           cpu_grows_by_one(s, arg_of(s, mod, 0));
  }
  return false;
}

/* What is found of a condition that holds in a range. */
typedef struct form {
  unsigned nodes;  /* left for operations */
  bool is_exact;   /* that does not depend on what is asked at run time */
  uint32_t period; /* it holds for some items of the range: this part of it, or NONE */
} form;

/* The items of a row for which `cond` is `truth` are a range, or regular in one.  A chunk, which is
 * in registers as long as all of it has its turn, is not asked at run time. */
static bool is_range(const cpu_state *s, uint32_t cond, bool truth, form *f) {
  int64_t slope;
  unsigned left = f->nodes;
  if (find_slope(s, cond, &left, &slope)) {
    f->nodes = left;
    return true; /* of a boolean: the same for the row */
  }
  cond = resolve(s, cond);
  if (!s->plan.is_remat[cond] || f->nodes == 0) return false;
  f->nodes--;
  const roc_ir_inst *inst = inst_of(s, cond);
  uint32_t parts[2];
  if (inst->op == ROC_IR_NOT) return is_range(s, arg_of(s, cond, 0), !truth, f);
  if (is_conjunction(s, cond, truth, parts)) {
    return is_range(s, parts[0], truth, f) && is_range(s, parts[1], truth, f);
  }
  period found;
  if (truth && f->period == ROC_IR_NONE && find_period(s, cond, &found)) {
    f->period = cond;
    return true;
  }
  bool is_order = inst->op == ROC_IR_LE || inst->op == ROC_IR_LT;
  bool is_equality = inst->op == (truth ? ROC_IR_EQ : ROC_IR_NE);
  if (!is_order && !is_equality) return false;
  unsigned nunknown = 0;
  for (uint32_t n = 0; n < 2; n++) {
    uint32_t operand = arg_of(s, cond, n);
    if (inst_of(s, operand)->type != ROC_VT_INT) return false;
    if (!find_slope(s, operand, &f->nodes, &slope)) return false;
    if (slope == RUN_TIME && s->chunk.count) return false;
    nunknown += slope == RUN_TIME;
    if (slope == RUN_TIME || may_wrap(s, operand)) f->is_exact = false;
  }
  return nunknown < 2;
}

/* Whether `cond` is `truth` for one item of a row at most. */
static bool is_for_one(const cpu_state *s, uint32_t cond, bool truth) {
  cond = resolve(s, cond);
  const roc_ir_inst *inst = inst_of(s, cond);
  uint32_t parts[2];
  if (inst->op == ROC_IR_NOT) return is_for_one(s, arg_of(s, cond, 0), !truth);
  if (is_conjunction(s, cond, truth, parts)) {
    return is_for_one(s, parts[0], truth) || is_for_one(s, parts[1], truth);
  }
  if (inst->op != (truth ? ROC_IR_EQ : ROC_IR_NE)) return false;
  int64_t slopes[2];
  for (uint32_t n = 0; n < 2; n++) {
    if (!cpu_slope(s, arg_of(s, cond, n), &slopes[n])) return false;
  }
  return slopes[0] != slopes[1];
}

/* ---- which guards a run has -------------------------------------------------------------- */

typedef struct finder {
  cpu_state *s;
  cpu_split *split;
  uint32_t ninsts;
  bool touches_memory, has_order; /* atomics, prints: other items may see when it is their turn */
  bool may_have_rest;             /* the run may be emitted twice */
} finder;

/* Whether an instruction does anything that outlives the run; nested ones included. */
static bool has_effect(const finder *f, uint32_t id) {
  const cpu_state *s = f->s;
  const roc_ir_inst *inst = inst_of(s, id);
  if (is_left_out(s, id) || cpu_is_settled(s, id)) return false;
  if (s->plan.is_slotted[id]) return true;
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_SET: return s->plan.var_slotted[inst->aux];
    case ROC_IR_RETURN: return s->needs_live;
    case ROC_IR_IF:
    case ROC_IR_BLOCK:
    case ROC_IR_FOR:
      if (inst->op == ROC_IR_FOR && s->plan.var_slotted[inst->aux]) return true;
      for (uint32_t r = 0; r < roc_ir_region_count(inst); r++) {
        const roc_ir_ids *ids = region_of(s, id, r);
        for (uint32_t i = 0; i < ids->count; i++) {
          if (has_effect(f, ids->items[i])) return true;
        }
      }
      return false;
    case ROC_IR_LOOP: return true; /* that it ends is not known */
    case ROC_IR_GET:
    case ROC_IR_LOAD:
    case ROC_IR_LEAVE:
    case ROC_IR_NEXT: return false; /* within the run: cpu_split_find has looked */
    default: return !(roc_ir_op_table[inst->op].flags & ROC_IRF_PURE);
  }
}

static bool have_effects(const finder *f, const uint32_t *ids, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (has_effect(f, ids[i])) return true;
  }
  return false;
}

static bool ends_in_return(const cpu_state *s, const roc_ir_ids *ids) {
  return ids->count && inst_of(s, roc_vec_last(ids))->op == ROC_IR_RETURN;
}

static void note_guard(finder *f, uint32_t id, bool truth, bool is_idle) {
  cpu_guard guard = {.id = id, .truth = truth, .is_idle = is_idle};
  if (!roc_vec_push(&f->split->guards, guard)) f->s->cg->arena.failed = true;
}

/* Which way IF `id` goes in a range of the row that pays: the one that does something. */
static bool choose_way(finder *f, uint32_t id, bool *out_truth, form *out) {
  const cpu_state *s = f->s;
  bool prefers_else = ends_in_return(s, region_of(s, id, 0)) || !region_of(s, id, 0)->count;
  for (int attempt = 0; attempt < 2; attempt++) {
    *out_truth = (attempt == 0) != prefers_else;
    *out = (form){.nodes = MAX_NODES, .is_exact = true, .period = ROC_IR_NONE};
    if (is_range(s, arg_of(s, id, 0), *out_truth, out)) return true;
  }
  return false;
}

/* Whether a guard outside of which nothing happens can be one of the split's.  The items of a chunk
 * are neighbours. */
static bool fits_in(const finder *f, const form *found) {
  bool is_regular = found->period != ROC_IR_NONE, was_regular = f->split->period != ROC_IR_NONE;
  if (is_regular && (was_regular || f->s->chunk.count || f->split->has_rest)) return false;
  return found->is_exact || (f->may_have_rest && !is_regular && !was_regular);
}

/* Guards outside of which nothing happens, in statements that end the run (or a guard's way). */
static void find_guards(finder *f, const uint32_t *ids, uint32_t count) {
  for (uint32_t i = 0; i < count && f->split->guards.count < CPU_MAX_GUARDS; i++) {
    uint32_t id = ids[i];
    bool truth;
    form found;
    if (is_left_out(f->s, id)) continue;
    if (inst_of(f->s, id)->op == ROC_IR_IF && choose_way(f, id, &truth, &found) &&
        fits_in(f, &found)) {
      const roc_ir_ids *others = region_of(f->s, id, truth ? 1 : 0);
      const roc_ir_ids *way = region_of(f->s, id, truth ? 0 : 1);
      bool ends = ends_in_return(f->s, others);
      bool is_idle = !have_effects(f, others->items, others->count) &&
                     (ends || !have_effects(f, ids + i + 1, count - i - 1));
      if (is_idle) {
        note_guard(f, id, truth, true);
        f->split->is_single |= is_for_one(f->s, arg_of(f->s, id, 0), truth);
        if (found.period != ROC_IR_NONE) f->split->period = found.period;
        if (!found.is_exact) f->split->has_rest = f->split->is_fallible = true;
        if (!ends) find_guards(f, way->items, way->count);
        if (!ends || way->count) return;
        continue;
      }
    }
    if (has_effect(f, id)) return;
  }
}

static const cpu_guard *find_guard(const finder *f, uint32_t id) {
  for (uint32_t i = 0; i < f->split->guards.count; i++) {
    if (f->split->guards.items[i].id == id) return &f->split->guards.items[i];
  }
  return NULL;
}

/* The other guards that can be constant in a range, whatever the other items do. */
static void find_all_guards(finder *f, const uint32_t *ids, uint32_t count) {
  for (uint32_t i = 0; i < count && f->split->guards.count < CPU_MAX_GUARDS; i++) {
    bool truth;
    form found;
    if (inst_of(f->s, ids[i])->op != ROC_IR_IF || is_left_out(f->s, ids[i])) continue;
    const cpu_guard *known = find_guard(f, ids[i]);
    if (known) {
      truth = known->truth;
    } else if (choose_way(f, ids[i], &truth, &found) && found.period == ROC_IR_NONE) {
      note_guard(f, ids[i], truth, false);
      f->split->is_exact = !f->split->has_rest && found.is_exact;
      f->split->has_rest = true;
    } else {
      continue;
    }
    const roc_ir_ids *way = region_of(f->s, ids[i], truth ? 0 : 1);
    find_all_guards(f, way->items, way->count);
    if (ends_in_return(f->s, way)) return;
  }
}

static void weigh(finder *f, const uint32_t *ids, uint32_t count, bool is_guarded) {
  for (uint32_t i = 0; i < count; i++) {
    const roc_ir_inst *inst = inst_of(f->s, ids[i]);
    if (is_left_out(f->s, ids[i])) continue;
    f->ninsts++;
    bool is_memory = inst->op == ROC_IR_LOAD || inst->op == ROC_IR_STORE;
    f->touches_memory |= is_memory && is_guarded;
    bool is_atomic = inst->op == ROC_IR_ATOMIC && !cpu_tallies_keep(f->s, inst);
    f->has_order |= is_atomic || inst->op == ROC_IR_PRINT || inst->op == ROC_IR_FENCE;
    for (uint32_t r = 0; r < roc_ir_region_count(inst); r++) {
      const roc_ir_ids *inner = region_of(f->s, ids[i], r);
      weigh(f, inner->items, inner->count, is_guarded || inst->op == ROC_IR_IF);
    }
  }
}

static void count_exit(cpu_state *s, uint32_t target, bool is_next, void *ud) {
  (void)s, (void)target, (void)is_next;
  ++*(unsigned *)ud;
}

static bool may_stop(const cpu_state *s, const uint32_t *ids, uint32_t count) {
  return s->needs_live ? cpu_plan_stops(&s->plan, ids, count) : false;
}

/* Whether a check stays in the run: its item records a fault. */
static bool may_fail(const cpu_state *s, const uint32_t *ids, uint32_t count) {
  roc_ir_walk walk;
  roc_ir_walk_begin_list(&walk, s->cg->ir, ids, count);
  while (roc_ir_walk_next(&walk)) {
    uint16_t flags = roc_ir_op_table[walk.inst->op].flags;
    bool is_check = (flags & ROC_IRF_STOP) && !(flags & ROC_IRF_CONTROL);
    if (is_check && !cpu_is_settled(s, walk.id)) return true;
  }
  return false;
}

bool cpu_split_find(cpu_state *s, const uint32_t *ids, uint32_t count, cpu_split *split) {
  *split = (cpu_split){.period = ROC_IR_NONE};
  bool is_row = s->level->kind == CPU_LEVEL_ROW && !s->level->is_single && !s->level->stride;
  if (s->is_cold || (s->level->kind != CPU_LEVEL_GROUP && !is_row)) return false;
  if (s->needs_live && s->may_be_dead && !s->all_alive) return false;
  unsigned nexits = 0;
  cpu_find_exits(s, ids, count, count_exit, &nexits);
  if (nexits || may_stop(s, ids, count)) return false;
  finder f = {.s = s, .split = split};
  weigh(&f, ids, count, false);
  bool is_worth_it = f.touches_memory && f.ninsts <= MAX_REST_INSTS;
  f.may_have_rest = is_worth_it && !f.has_order && !may_fail(s, ids, count);
  find_guards(&f, ids, count);
  bool may_have_more = f.may_have_rest && split->period == ROC_IR_NONE && !split->is_single;
  if (may_have_more) find_all_guards(&f, ids, count);
  return split->guards.count > 0;
}

void cpu_split_deinit(cpu_split *split) {
  roc_vec_deinit(&split->guards);
}

/* ---- the range --------------------------------------------------------------------------- */

typedef struct solver {
  cpu_state *s;
  LLVMValueRef count;    /* of items in the row */
  LLVMValueRef low, end; /* so far */
  LLVMValueRef fails;    /* i1: the range says nothing, as what is asked shows; NULL: it does */
  LLVMValueRef step;     /* every so manyth item of the range; NULL: all */
} solver;

static LLVMValueRef number(solver *p, int64_t value) {
  return roc_cg_i64(p->s->cg, value);
}

/* Of two known numbers: where a row has a known length, so has what guards leave of it. */
static bool fold_2(const char *name, int64_t a, int64_t b, int64_t *out) {
  if (strcmp(name, "llvm.smin") == 0) {
    *out = a < b ? a : b;
  } else if (strcmp(name, "llvm.smax") == 0) {
    *out = a > b ? a : b;
  } else if (strcmp(name, "llvm.ssub.sat") == 0) {
    if (__builtin_sub_overflow(a, b, out)) *out = a < 0 ? INT64_MIN : INT64_MAX;
  } else if (strcmp(name, "llvm.sadd.sat") == 0) {
    if (__builtin_add_overflow(a, b, out)) *out = a < 0 ? INT64_MIN : INT64_MAX;
  } else {
    return false;
  }
  return true;
}

static LLVMValueRef call_2(solver *p, const char *name, LLVMValueRef a, LLVMValueRef b) {
  int64_t folded;
  if (LLVMIsAConstantInt(a) && LLVMIsAConstantInt(b) &&
      fold_2(name, LLVMConstIntGetSExtValue(a), LLVMConstIntGetSExtValue(b), &folded)) {
    return number(p, folded);
  }
  LLVMValueRef args[2] = {a, b};
  return roc_cg_intrinsic(p->s->cg, name, &p->s->cg->t.i64, 1, args, 2);
}

static bool is_zero(LLVMValueRef value) {
  return LLVMIsAConstantInt(value) && LLVMConstIntGetZExtValue(value) == 0;
}

/* Of ends of a range, neither of which is less than 0; LLVM does not know that. */
static LLVMValueRef less_of(solver *p, LLVMValueRef a, LLVMValueRef b) {
  return is_zero(a) ? a : call_2(p, "llvm.smin", a, b);
}
static LLVMValueRef greater_of(solver *p, LLVMValueRef a, LLVMValueRef b) {
  return is_zero(a) || a == b ? b : is_zero(b) ? a : call_2(p, "llvm.smax", a, b);
}

/* The row's items up to the last with steepness * t <= room, t from 0. */
static void bound_above(solver *p, LLVMValueRef room, LLVMValueRef steepness) {
  LLVMBuilderRef b = p->s->cg->b;
  LLVMValueRef last = call_2(p, "llvm.smax", room, number(p, -1));
  if (steepness != number(p, 1)) {
    LLVMValueRef is_none = LLVMBuildICmp(b, LLVMIntSLT, room, number(p, 0), "");
    LLVMValueRef quotient = LLVMBuildUDiv(b, last, steepness, "");
    last = LLVMBuildSelect(b, is_none, number(p, -1), quotient, "");
  }
  LLVMValueRef end = LLVMBuildAdd(b, call_2(p, "llvm.smin", last, p->count), number(p, 1), "");
  p->end = call_2(p, "llvm.smin", p->end, end);
}

/* Those from the first with steepness * t >= need. */
static void bound_below(solver *p, LLVMValueRef need, LLVMValueRef steepness) {
  LLVMBuilderRef b = p->s->cg->b;
  LLVMValueRef first = call_2(p, "llvm.smax", need, number(p, 0));
  if (steepness != number(p, 1)) {
    LLVMValueRef before = LLVMBuildSub(b, first, number(p, 1), "");
    LLVMValueRef quotient = LLVMBuildUDiv(b, before, steepness, "");
    LLVMValueRef is_all = LLVMBuildICmp(b, LLVMIntEQ, first, number(p, 0), "");
    quotient = LLVMBuildAdd(b, quotient, number(p, 1), "");
    first = LLVMBuildSelect(b, is_all, number(p, 0), quotient, "");
  }
  p->low = greater_of(p, p->low, first);
}

static void keep_if(solver *p, LLVMValueRef holds) {
  p->end = LLVMBuildSelect(p->s->cg->b, holds, p->end, number(p, 0), "");
}

static void fail_if(solver *p, LLVMValueRef fails) {
  p->fails = p->fails ? LLVMBuildOr(p->s->cg->b, p->fails, fails, "") : fails;
}

static void note_wrap(solver *p, const char *name, LLVMValueRef a, LLVMValueRef b) {
  fail_if(p, LLVMBuildExtractValue(p->s->cg->b, call_2(p, name, a, b), 1, ""));
}

static int64_t slope_of(const cpu_state *s, uint32_t id) {
  int64_t slope;
  unsigned nodes = MAX_NODES;
  return find_slope(s, id, &nodes, &slope) ? slope : 0;
}

/* A value that has to be small, so that sums and products of two do not wrap around. */
static LLVMValueRef keep_small(solver *p, LLVMValueRef value) {
  LLVMBuilderRef b = p->s->cg->b;
  LLVMValueRef from_least = LLVMBuildAdd(b, value, number(p, MAX_STEEP), "");
  fail_if(p, LLVMBuildICmp(b, LLVMIntUGT, from_least, number(p, 2 * (int64_t)MAX_STEEP), ""));
  return value;
}

/* What find_slope finds, as a value. */
static LLVMValueRef emit_slope(solver *p, uint32_t id) {
  cpu_state *s = p->s;
  LLVMBuilderRef b = s->cg->b;
  int64_t slope = slope_of(s, id);
  if (slope != RUN_TIME) return number(p, slope);
  id = resolve(s, id);
  const roc_ir_inst *inst = inst_of(s, id);
  if (inst->op == ROC_IR_GET) return emit_slope(p, arg_of(s, s->plan.wide_for[inst->aux], 0));
  if (inst->op == ROC_IR_MUL) {
    int64_t slopes[2] = {slope_of(s, arg_of(s, id, 0)), slope_of(s, arg_of(s, id, 1))};
    uint32_t factor = find_factor(slopes);
    LLVMValueRef by = keep_small(p, cpu_operand(s->cg, arg_of(s, id, factor)));
    return keep_small(p, LLVMBuildMul(b, by, emit_slope(p, arg_of(s, id, 1 - factor)), ""));
  }
  LLVMValueRef first = emit_slope(p, arg_of(s, id, 0));
  if (inst->op == ROC_IR_NEG) return LLVMBuildNeg(b, first, "");
  LLVMValueRef second = emit_slope(p, arg_of(s, id, 1));
  return keep_small(p, inst->op == ROC_IR_SUB ? LLVMBuildSub(b, first, second, "")
                                              : LLVMBuildAdd(b, first, second, ""));
}

/* Asks whether an operation on the id wraps around, at the first or the last item: in between, it
 * does then not either. */
static void check_wraps(solver *p, uint32_t id) {
  static const char *const names[ROC_IR_OP_COUNT_] = {
      [ROC_IR_ADD] = "llvm.sadd.with.overflow",
      [ROC_IR_SUB] = "llvm.ssub.with.overflow",
      [ROC_IR_MUL] = "llvm.smul.with.overflow",
      [ROC_IR_NEG] = "llvm.ssub.with.overflow",
  };
  cpu_state *s = p->s;
  id = resolve(s, id);
  if (!may_wrap(s, id)) return;
  const roc_ir_inst *inst = inst_of(s, id);
  if (inst->op == ROC_IR_GET) {
    check_wraps(p, arg_of(s, s->plan.wide_for[inst->aux], 0));
    return;
  }
  for (uint32_t i = 0; i < inst->nargs; i++) check_wraps(p, arg_of(s, id, i));
  if (!names[inst->op]) return;
  LLVMValueRef a = cpu_operand(s->cg, arg_of(s, id, 0));
  LLVMValueRef b = inst->nargs > 1 ? cpu_operand(s->cg, arg_of(s, id, 1)) : a;
  if (inst->op == ROC_IR_NEG) a = number(p, 0);
  note_wrap(p, names[inst->op], a, b);
  LLVMBuilderRef builder = s->cg->b;
  LLVMValueRef span = LLVMBuildSub(builder, p->count, number(p, 1), "");
  span = LLVMBuildMul(builder, span, emit_slope(p, id), "");
  note_wrap(p, "llvm.sadd.with.overflow", cpu_operand(s->cg, id), span);
}

/* How much faster one operand grows than the other.  Of slopes that are not known, `a` has one, and
 * it is taken to be the greater. */
static LLVMValueRef emit_steepness(solver *p, uint32_t a, uint32_t b) {
  LLVMBuilderRef builder = p->s->cg->b;
  LLVMValueRef by = LLVMBuildSub(builder, emit_slope(p, a), emit_slope(p, b), "");
  if (LLVMIsAConstantInt(by)) return by;
  fail_if(p, LLVMBuildICmp(builder, LLVMIntSLE, by, number(p, 0), ""));
  return call_2(p, "llvm.smax", by, number(p, 1));
}

/* a - b, at the ends of 64 bits at most. */
static LLVMValueRef difference(solver *p, uint32_t a, uint32_t b) {
  cpu_state *s = p->s;
  LLVMValueRef of_a = cpu_operand(s->cg, a), of_b = cpu_operand(s->cg, b);
  bool is_inside = range_of(s, a, RANGE_DEPTH).low >= 0 && range_of(s, b, RANGE_DEPTH).low >= 0;
  if (is_inside) return LLVMBuildNSWSub(s->cg->b, of_a, of_b, "");
  return call_2(p, "llvm.ssub.sat", of_a, of_b);
}

/* a + excess <= b, excess 0 or 1. */
static void keep_order(solver *p, uint32_t a, uint32_t b, int64_t excess) {
  roc_cg *cg = p->s->cg;
  int64_t slopes[2] = {slope_of(p->s, a), slope_of(p->s, b)};
  bool is_known = slopes[0] != RUN_TIME && slopes[1] != RUN_TIME;
  LLVMValueRef by = number(p, excess);
  if (is_known ? slopes[0] < slopes[1] : slopes[1] == RUN_TIME) {
    LLVMValueRef need = difference(p, a, b);
    if (excess) need = call_2(p, "llvm.sadd.sat", need, by);
    bound_below(p, need, emit_steepness(p, b, a));
    return;
  }
  LLVMValueRef room = difference(p, b, a);
  if (excess) room = call_2(p, "llvm.ssub.sat", room, by);
  if (is_known && slopes[0] == slopes[1]) {
    keep_if(p, LLVMBuildICmp(cg->b, LLVMIntSGE, room, number(p, 0), ""));
  } else {
    bound_above(p, room, emit_steepness(p, a, b));
  }
}

static void keep(solver *p, uint32_t cond, bool truth) {
  cpu_state *s = p->s;
  int64_t slope;
  unsigned nodes = MAX_NODES;
  if (find_slope(s, cond, &nodes, &slope)) {
    LLVMValueRef holds = cpu_operand(s->cg, cond);
    keep_if(p, truth ? holds : LLVMBuildNot(s->cg->b, holds, ""));
    return;
  }
  cond = resolve(s, cond);
  const roc_ir_inst *inst = inst_of(s, cond);
  uint32_t parts[2];
  if (inst->op == ROC_IR_NOT) {
    keep(p, arg_of(s, cond, 0), !truth);
    return;
  }
  if (is_conjunction(s, cond, truth, parts)) {
    keep(p, parts[0], truth);
    keep(p, parts[1], truth);
    return;
  }
  period found;
  if (truth && find_period(s, cond, &found)) return; /* keep_period's */
  uint32_t a = arg_of(s, cond, 0), b = arg_of(s, cond, 1);
  check_wraps(p, a);
  check_wraps(p, b);
  if (inst->op == ROC_IR_EQ || inst->op == ROC_IR_NE) {
    keep_order(p, a, b, 0);
    keep_order(p, b, a, 0);
  } else if (truth) {
    keep_order(p, a, b, inst->op == ROC_IR_LT);
  } else {
    keep_order(p, b, a, inst->op == ROC_IR_LE);
  }
}

/* Every item of the range whose value has the same rest.  A rest has the sign of m; m may be 0, and
 * |m| is 2^63 at most, so steps are unsigned. */
static void keep_period(solver *p, uint32_t cond) {
  roc_cg *cg = p->s->cg;
  LLVMBuilderRef b = cg->b;
  period found;
  if (!find_period(p->s, cond, &found)) return;
  LLVMValueRef zero = number(p, 0), one = number(p, 1);
  LLVMValueRef m = cpu_operand(cg, found.m), rest = cpu_operand(cg, found.rest);
  LLVMValueRef of_first = cpu_operand(cg, found.mod);
  LLVMValueRef is_negative = LLVMBuildICmp(b, LLVMIntSLT, m, zero, "");
  LLVMValueRef step = LLVMBuildSelect(b, is_negative, LLVMBuildNeg(b, m, ""), m, "");
  p->step = call_2(p, "llvm.umax", step, one);
  LLVMValueRef size = LLVMBuildSelect(b, is_negative, LLVMBuildNeg(b, rest, ""), rest, "");
  keep_if(p, LLVMBuildICmp(b, LLVMIntULT, size, p->step, ""));
  LLVMValueRef next = LLVMBuildSub(b, rest, of_first, ""); /* from the row's first item */
  LLVMValueRef is_before = LLVMBuildICmp(b, LLVMIntSLT, next, zero, "");
  next = LLVMBuildAdd(b, next, LLVMBuildSelect(b, is_before, p->step, zero, ""), "");
  LLVMValueRef missing = call_2(p, "llvm.usub.sat", p->low, next);
  LLVMValueRef is_there = LLVMBuildICmp(b, LLVMIntEQ, missing, zero, "");
  missing = LLVMBuildUDiv(b, LLVMBuildSub(b, missing, one, ""), p->step, "");
  missing = LLVMBuildMul(b, LLVMBuildAdd(b, missing, one, ""), p->step, "");
  missing = LLVMBuildSelect(b, is_there, zero, missing, "");
  p->low = call_2(p, "llvm.umin", LLVMBuildAdd(b, next, missing, ""), p->count);
}

/* Between these two, what an item computes from its ids is computed for the one at `at`. */
static cpu_run *begin_first(cpu_state *s, cpu_run *first, const cpu_place *at) {
  cpu_run *outer = s->run;
  *first = (cpu_run){.x = at->x, .y = at->y, .z = at->z};
  first->header_b = LLVMCreateBuilderInContext(s->cg->ctx);
  LLVMPositionBuilderAtEnd(first->header_b, LLVMGetInsertBlock(s->cg->b));
  s->epoch++;
  s->run = first;
  return outer;
}

static void end_first(cpu_state *s, cpu_run *first, cpu_run *outer) {
  LLVMDisposeBuilder(first->header_b);
  s->run = outer;
  s->epoch++;
}

bool cpu_slope(const cpu_state *s, uint32_t id, int64_t *slope) {
  unsigned nodes = MAX_NODES;
  return find_slope(s, id, &nodes, slope) && *slope != RUN_TIME;
}

bool cpu_grows_by_one(const cpu_state *s, uint32_t id) {
  int64_t slope;
  unsigned nodes = MAX_NODES;
  return find_slope(s, id, &nodes, &slope) && slope == 1 && !may_wrap(s, id);
}

bool cpu_is_positive(const cpu_state *s, uint32_t id) {
  return range_of(s, id, RANGE_DEPTH).low > 0;
}

LLVMValueRef cpu_value_at(cpu_state *s, uint32_t id, const cpu_place *at) {
  cpu_run first, *outer = begin_first(s, &first, at);
  LLVMValueRef value = cpu_operand(s->cg, id);
  end_first(s, &first, outer);
  return value;
}

/* Whether the row has items that the guards leave to the rest. */
static void note_others(cpu_state *s, const cpu_split *split, const cpu_range *range) {
  LLVMBuilderRef b = s->cg->b;
  LLVMValueRef before = LLVMBuildICmp(b, LLVMIntNE, range->first, range->low, "");
  LLVMValueRef after = LLVMBuildICmp(b, LLVMIntNE, range->end, range->last, "");
  LLVMValueRef others = LLVMBuildOr(b, before, after, "");
  LLVMValueRef so_far = LLVMBuildLoad2(b, s->cg->t.i1, split->leaves, "");
  LLVMBuildStore(b, LLVMBuildOr(b, so_far, others, ""), split->leaves);
}

cpu_range cpu_split_range(cpu_state *s, const cpu_split *split, const cpu_place *at,
                          LLVMValueRef count) {
  cpu_run first, *outer = begin_first(s, &first, at);
  solver p = {.s = s, .count = count, .low = roc_cg_i64(s->cg, 0), .end = count};
  uint32_t i = 0;
  for (; i < split->guards.count && split->guards.items[i].is_idle; i++) {
    keep(&p, arg_of(s, split->guards.items[i].id, 0), split->guards.items[i].truth);
  }
  if (split->period != ROC_IR_NONE) keep_period(&p, split->period);
  LLVMValueRef last = p.end, begin = less_of(&p, p.low, last);
  for (; i < split->guards.count; i++) {
    keep(&p, arg_of(s, split->guards.items[i].id, 0), split->guards.items[i].truth);
  }
  end_first(s, &first, outer);
  if (p.fails) keep_if(&p, LLVMBuildNot(s->cg->b, p.fails, ""));
  if (p.fails && split->is_fallible) {
    begin = LLVMBuildSelect(s->cg->b, p.fails, number(&p, 0), begin, "");
    last = LLVMBuildSelect(s->cg->b, p.fails, count, last, "");
  }
  p.end = greater_of(&p, p.end, begin);
  cpu_range range = {.low = less_of(&p, greater_of(&p, p.low, begin), p.end),
                     .end = p.end,
                     .step = p.step,
                     .first = begin,
                     .last = last};
  if (split->leaves && !s->is_rest) note_others(s, split, &range);
  return range;
}

/* Whether a guard, or what it takes, is the same for the items of a row, and holds for a range of
 * rows; keeps those in *p, unless it is NULL. */
static bool keep_rows(cpu_state *s, uint32_t cond, bool truth, solver *p) {
  uint32_t parts[2];
  if (is_conjunction(s, cond, truth, parts)) {
    bool first = keep_rows(s, parts[0], truth, p);
    return keep_rows(s, parts[1], truth, p) || first;
  }
  int64_t slope;
  unsigned nodes = MAX_NODES;
  s->split_dim = 0;
  if (s->plan.is_uniform[cond] || !find_slope(s, cond, &nodes, &slope)) return false;
  s->split_dim = 1;
  form f = {.nodes = MAX_NODES, .is_exact = true, .period = ROC_IR_NONE};
  bool holds = is_range(s, cond, truth, &f) && f.is_exact && f.period == ROC_IR_NONE;
  if (holds && p) keep(p, cond, truth);
  s->split_dim = 0;
  return holds;
}

bool cpu_split_has_rows(cpu_state *s, const cpu_split *split) {
  bool any = false;
  for (uint32_t i = 0; i < split->guards.count && split->guards.items[i].is_idle; i++) {
    const cpu_guard *guard = &split->guards.items[i];
    any |= keep_rows(s, arg_of(s, guard->id, 0), guard->truth, NULL);
  }
  return any;
}

cpu_range cpu_split_rows(cpu_state *s, const cpu_split *split, LLVMValueRef z) {
  LLVMValueRef zero = roc_cg_i64(s->cg, 0);
  cpu_place at = {zero, zero, z};
  cpu_run first, *outer = begin_first(s, &first, &at);
  solver p = {.s = s, .count = s->count[1], .low = zero, .end = s->count[1]};
  for (uint32_t i = 0; i < split->guards.count && split->guards.items[i].is_idle; i++) {
    const cpu_guard *guard = &split->guards.items[i];
    keep_rows(s, arg_of(s, guard->id, 0), guard->truth, &p);
  }
  end_first(s, &first, outer);
  return (cpu_range){.low = less_of(&p, p.low, p.end), .end = p.end};
}

bool cpu_is_range(const cpu_state *s, uint32_t cond, bool truth) {
  form f = {.nodes = MAX_NODES, .is_exact = true, .period = ROC_IR_NONE};
  return is_range(s, cond, truth, &f) && f.is_exact && f.period == ROC_IR_NONE;
}

bool cpu_is_regular(const cpu_state *s, uint32_t cond) {
  form f = {.nodes = MAX_NODES, .is_exact = true, .period = ROC_IR_NONE};
  return is_range(s, cond, true, &f) && f.is_exact;
}

cpu_range cpu_range_of(cpu_state *s, uint32_t cond, bool truth, const cpu_place *at,
                       LLVMValueRef count) {
  cpu_run first, *outer = begin_first(s, &first, at);
  solver p = {.s = s, .count = count, .low = roc_cg_i64(s->cg, 0), .end = count};
  form f = {.nodes = MAX_NODES, .is_exact = true, .period = ROC_IR_NONE};
  keep(&p, cond, truth);
  if (is_range(s, cond, truth, &f) && f.period != ROC_IR_NONE) keep_period(&p, f.period);
  end_first(s, &first, outer);
  return (cpu_range){.low = less_of(&p, p.low, p.end), .end = p.end, .step = p.step};
}
