/* Which runs are worth vectors with masks, and how many lanes they get.
 *
 * LLVM's vectoriser takes runs without inner loops, and loops that cpu/wide.c turned inside out.
 * What is left are runs with a loop in them, item by item: those come here when all that they do
 * has a form in lanes. */
#include "codegen/cpu/lanes.h"
#include "codegen/llvm/processor.h"
#include "ir/check_elimination.h"
#include "ir/layout.h"
#include "ir/walk.h"

enum {
  MAX_LIVE = 8,     /* variables that leave registers for a second vector of each */
  PRODUCT_COST = 2, /* operations that gain what a product of integers loses on AVX2 */
  GATHER_COST = 2,  /* in halves of an operation: what an access to scattered elements loses, */
  UNEVEN_TIMES = 2, /* so many times that in a loop of which lanes wait for the longest, */
  EACH_COST = 8,    /* and one that is made lane by lane; */
  SEARCH_COST = 40, /* what a loop loses that most items leave long before the others; */
  BRANCH_GAIN = 10, /* what a branch gains that an item alone would guess */
  BROKEN_COST = 12, /* operations that gain what one loses that is done lane by lane */
  MAX_VARS = 8,     /* of a kind, that are looked at */
  MADE_OF = 8       /* operations between a value and what it is made of */
};

typedef struct survey {
  uint32_t exits[MAX_VARS];    /* variables by which loops are left; */
  uint32_t followed[MAX_VARS]; /* what a load gives, for the next iteration; */
  uint32_t divided[MAX_VARS];  /* likewise a division of integers */
  unsigned nexits, nfollowed, ndivided;
  unsigned nvars;        /* varying ones that are set in loops, about */
  unsigned narrow, wide; /* varying operations in loops, on 32 and on 64 bits */
  unsigned nbroken;      /* operations in loops that are done lane by lane */
  unsigned nproducts;    /* of integers, in loops */
  unsigned scattered;    /* cost of accesses in loops to elements that are no neighbours */
  unsigned nbranches;    /* varying IFs in loops, but those that decide whether one goes on */
  unsigned nsearches;    /* loops that go on or not by what each item finds in them */
  bool is_plain;         /* its loops only compute with integers */
  bool has_loop, is_supported;
} survey;

/* Atomics that wait for nothing: what another item does meanwhile changes only an order. */
static bool is_update(const cpu_state *s, const roc_ir_inst *inst) {
  if (s->cg->ir->arrays.items[inst->aux].kind == ROC_IR_ARRAY_PRIVATE) return false;
  switch ((roc_ir_atomic)inst->k.i) {
    case ROC_IR_ATOMIC_EXCH:
    case ROC_IR_ATOMIC_CAS:
    case ROC_IR_ATOMIC_LOAD:
    case ROC_IR_ATOMIC_STORE: return false;
    default: return true;
  }
}

static bool is_supported(const cpu_state *s, const roc_ir_inst *inst, bool is_open_ended) {
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_ATOMIC: return is_update(s, inst) && !is_open_ended;
    case ROC_IR_BARRIER:
    case ROC_IR_WAVE_BARRIER:
    case ROC_IR_WAVE: return false;
    case ROC_IR_IF: return inst->aux == ROC_IR_IF_PLAIN;
    default: return true;
  }
}

/* What an item does faster alone: division of integers by a constant that is no power of two, which
 * is a product there, and the remainder of floats, which is a function of the C library. */
static bool is_broken_up(const cpu_state *s, const roc_ir_inst *inst) {
  if (inst->op == ROC_IR_MATH) return inst->aux == ROC_IR_MATH_FMOD;
  if (inst->op == ROC_IR_MOD && inst->type != ROC_VT_INT) return true;
  const roc_ir_module *ir = s->cg->ir;
  return cpu_divides(s, inst) && ir->insts.items[roc_ir_arg(ir, inst, 1)].op == ROC_IR_CONST;
}

/* What an operation computes with: bytes of its result, or, of a comparison, of what it compares; 0:
 * conditions. */
static unsigned bytes_of(const cpu_state *s, const roc_ir_inst *inst, uint32_t id) {
  const uint8_t on_32_bits = ROC_IR_NARROW | ROC_IR_INT32 | ROC_IR_LOW;
  const roc_ir_module *ir = s->cg->ir;
  roc_value_type type = (roc_value_type)inst->type;
  if (type == ROC_VT_BOOL && inst->nargs) {
    type = (roc_value_type)ir->insts.items[roc_ir_arg(ir, inst, 0)].type;
  }
  switch (type) {
    case ROC_VT_INT: return s->shapes->narrow[id] & on_32_bits ? 4 : 8;
    case ROC_VT_F32: return 4;
    case ROC_VT_F64: return 8;
    default: return 0;
  }
}

/* Of numbers of 64 bits.  By a small constant, LLVM adds and shifts. */
static bool is_product(const cpu_state *s, const roc_ir_inst *inst) {
  if (inst->op != ROC_IR_MUL || inst->type != ROC_VT_INT) return false;
  bool is_narrow = true;
  for (uint32_t n = 0; n < 2; n++) {
    uint32_t id = roc_ir_arg(s->cg->ir, inst, n);
    const roc_ir_inst *by = &s->cg->ir->insts.items[id];
    if (by->op == ROC_IR_CONST && by->k.i > -16 && by->k.i < 16) return false;
    is_narrow &= bytes_of(s, by, id) == 4;
  }
  return !is_narrow;
}

/* `k = k + 1`: one operation among many. */
static bool is_counting(const cpu_state *s, const roc_ir_inst *inst) {
  if (inst->type != ROC_VT_INT || (inst->op != ROC_IR_ADD && inst->op != ROC_IR_SUB)) return false;
  const roc_ir_inst *by = &s->cg->ir->insts.items[roc_ir_arg(s->cg->ir, inst, 1)];
  return by->op == ROC_IR_CONST;
}

static bool is_carried(const cpu_state *s, uint32_t var) {
  return s->shapes && s->shapes->is_carried[var] && s->shapes->vars[var] == CPU_VARYING;
}

static bool leaves_loop(const cpu_state *s, uint32_t region) {
  const roc_ir_ids *ids = &s->cg->ir->regions.items[region];
  if (!ids->count) return false;
  const roc_ir_inst *last = &s->cg->ir->insts.items[ids->items[ids->count - 1]];
  if (last->op != ROC_IR_LEAVE) return false;
  uint8_t from = s->cg->ir->insts.items[last->aux].op;
  return from == ROC_IR_LOOP || from == ROC_IR_FOR;
}

static bool is_exit(const cpu_state *s, const roc_ir_inst *inst) {
  if (inst->op != ROC_IR_IF) return false;
  return leaves_loop(s, inst->k.region[0]) || leaves_loop(s, inst->k.region[1]);
}

/* The condition of an IF, or what it is the opposite of. */
static uint32_t condition_of(const cpu_state *s, const roc_ir_inst *inst) {
  uint32_t cond = roc_ir_arg(s->cg->ir, inst, 0);
  const roc_ir_inst *of = &s->cg->ir->insts.items[cond];
  return of->op == ROC_IR_NOT ? roc_ir_arg(s->cg->ir, of, 0) : cond;
}

static bool has_var(const uint32_t *vars, unsigned count, uint32_t var) {
  unsigned n = 0;
  while (n < count && vars[n] != var) n++;
  return n < count;
}

static bool is_exit_var(const survey *found, uint32_t var) {
  return has_var(found->exits, found->nexits, var);
}

static void add_var(uint32_t *vars, unsigned *count, uint32_t var) {
  if (*count < MAX_VARS && !has_var(vars, *count, var)) vars[(*count)++] = var;
}

/* Whether a value is made, through operations alone, of what one of these variables has, or of a
 * division of integers where `of_divisions`. */
static bool is_made_of(const cpu_state *s, uint32_t id, const uint32_t *vars, unsigned count,
                       bool of_divisions, unsigned depth) {
  const roc_ir_inst *inst = &s->cg->ir->insts.items[id];
  if (inst->op == ROC_IR_GET) return has_var(vars, count, inst->aux);
  if (of_divisions && cpu_divides(s, inst)) return true;
  if (depth == 0 || !(roc_ir_op_table[inst->op].flags & ROC_IRF_PURE)) return false;
  for (uint32_t n = 0; n < inst->nargs; n++) {
    uint32_t arg = roc_ir_arg(s->cg->ir, inst, n);
    if (is_made_of(s, arg, vars, count, of_divisions, depth - 1)) return true;
  }
  return false;
}

static bool is_made_of_divided(const cpu_state *s, const survey *found, uint32_t id,
                               bool of_divisions) {
  return is_made_of(s, id, found->divided, found->ndivided, of_divisions, MADE_OF);
}

static ROC_IR_WALKS void find_vars(const cpu_state *s, const uint32_t *ids, uint32_t count,
                                   survey *found) {
  const roc_ir_module *ir = s->cg->ir;
  roc_ir_walk w;
  roc_ir_walk_begin_list(&w, ir, ids, count);
  while (roc_ir_walk_next(&w)) {
    if (is_exit(s, w.inst)) {
      const roc_ir_inst *cond = &ir->insts.items[condition_of(s, w.inst)];
      if (cond->op == ROC_IR_GET) add_var(found->exits, &found->nexits, cond->aux);
    }
    if (w.inst->op != ROC_IR_SET || !is_carried(s, w.inst->aux)) continue;
    uint32_t value = roc_ir_arg(ir, w.inst, 0);
    if (ir->insts.items[value].op == ROC_IR_LOAD) {
      add_var(found->followed, &found->nfollowed, w.inst->aux);
    } else if (is_made_of_divided(s, found, value, true)) {
      add_var(found->divided, &found->ndivided, w.inst->aux);
    }
  }
}

/* `if t then t = a[i] ~= x end`, of `while … and a[i] ~= x do`. */
static bool is_part_of_exit(const cpu_state *s, const survey *found, const roc_ir_inst *inst) {
  const roc_ir_module *ir = s->cg->ir;
  const roc_ir_ids *then = &ir->regions.items[inst->k.region[0]];
  if (!then->count || ir->regions.items[inst->k.region[1]].count) return false;
  const roc_ir_inst *last = &ir->insts.items[roc_vec_last(then)];
  return last->op == ROC_IR_SET && is_exit_var(found, last->aux);
}

/* An IF that goes one way here and another there, while the loop goes on. */
static bool is_guessed(const cpu_state *s, const survey *found, const roc_ir_inst *inst,
                       uint32_t id) {
  if (inst->op != ROC_IR_IF || !s->shapes || !s->shapes->parts[id]) return false;
  return !is_exit(s, inst) && !is_part_of_exit(s, found, inst);
}

/* Whether a value is made of what changes from one iteration to the next. */
static bool is_changing(const cpu_state *s, uint32_t id, unsigned depth) {
  const roc_ir_inst *inst = &s->cg->ir->insts.items[id];
  if (inst->op == ROC_IR_GET) {
    return s->shapes->is_carried[inst->aux] || s->plan.for_of[inst->aux] != ROC_IR_NONE;
  }
  if (depth == 0 || !(roc_ir_op_table[inst->op].flags & ROC_IRF_PURE)) return false;
  for (uint32_t n = 0; n < inst->nargs; n++) {
    if (is_changing(s, roc_ir_arg(s->cg->ir, inst, n), depth - 1)) return true;
  }
  return false;
}

/* A load at a place that another load gives, in the iteration before. */
static bool follows(const cpu_state *s, const survey *found, const roc_ir_inst *inst) {
  for (uint32_t n = 0; inst->op == ROC_IR_LOAD && n < inst->nargs; n++) {
    uint32_t index = roc_ir_arg(s->cg->ir, inst, n);
    if (is_made_of(s, index, found->followed, found->nfollowed, false, MADE_OF)) return true;
  }
  return false;
}

/* What an access to memory loses, in halves of an operation: nothing where items wait longer. */
static unsigned cost_of_access(const cpu_state *s, const survey *found, uint32_t id) {
  const roc_ir_inst *inst = &s->cg->ir->insts.items[id];
  if (inst->op != ROC_IR_LOAD && inst->op != ROC_IR_STORE) return 0;
  if (!s->shapes || !cpu_lanes_scatters(s, id)) return 0;
  if (follows(s, found, inst)) return 0;
  bool is_wide = roc_dtype_itemsize(s->cg->ir->arrays.items[inst->aux].dtype) >= 4;
  return is_wide && roc_processor_has(s->cg->tm, "avx512f") ? GATHER_COST : EACH_COST;
}

/* A division of integers that needs the result of one before: that takes longer than the items'
 * dividing in turn. */
static bool waits_for_itself(const cpu_state *s, const survey *found, uint32_t id) {
  const roc_ir_inst *inst = &s->cg->ir->insts.items[id];
  return cpu_divides(s, inst) &&
         (is_made_of_divided(s, found, roc_ir_arg(s->cg->ir, inst, 0), false) ||
          is_made_of_divided(s, found, roc_ir_arg(s->cg->ir, inst, 1), false));
}

/* A load or division that does not wait for the iteration before: an item alone makes that of the
 * next iteration, and of the next item, meanwhile. */
static bool is_overlapped(const cpu_state *s, const survey *found, uint32_t id) {
  const roc_ir_inst *inst = &s->cg->ir->insts.items[id];
  if (cpu_divides(s, inst)) return !waits_for_itself(s, found, id);
  if (inst->op != ROC_IR_LOAD || follows(s, found, inst)) return false;
  for (uint32_t n = 0; n < inst->nargs; n++) {
    if (is_changing(s, roc_ir_arg(s->cg->ir, inst, n), MADE_OF)) return true;
  }
  return false;
}

/* Whether such a one is in what the value is made of. */
static bool is_found(const cpu_state *s, const survey *found, uint32_t id, unsigned depth) {
  const roc_ir_inst *inst = &s->cg->ir->insts.items[id];
  if (s->shapes->insts[id] != CPU_VARYING || depth == 0) return false;
  if (is_overlapped(s, found, id)) return true;
  for (uint32_t n = 0; n < inst->nargs; n++) {
    if (is_found(s, found, roc_ir_arg(s->cg->ir, inst, n), depth - 1)) return true;
  }
  return false;
}

/* What decides by it whether a loop goes on. */
static bool is_search(const cpu_state *s, const survey *found, const roc_ir_inst *inst) {
  if (!s->shapes) return false;
  bool decides = inst->op == ROC_IR_SET && is_exit_var(found, inst->aux);
  return (decides || is_exit(s, inst)) &&
         is_found(s, found, roc_ir_arg(s->cg->ir, inst, 0), MADE_OF);
}

/* A FOR that each item goes through as often as memory says. */
static bool is_uneven(const cpu_state *s, const roc_ir_inst *inst) {
  if (inst->op != ROC_IR_FOR || !s->shapes) return false;
  for (uint32_t n = 0; n < 2; n++) {
    if (s->shapes->insts[roc_ir_arg(s->cg->ir, inst, n)] == CPU_VARYING) return true;
  }
  return false;
}

static ROC_IR_WALKS survey survey_run(const cpu_state *s, const uint32_t *ids, uint32_t count) {
  survey found = {.is_supported = true, .is_plain = true};
  unsigned depth = 0, nloops = 0; /* loops around, those of them without a last iteration, */
  unsigned nuneven = 0;           /* and those that are uneven */
  find_vars(s, ids, count, &found);
  roc_ir_walk w;
  roc_ir_walk_begin_list(&w, s->cg->ir, ids, count);
  while (roc_ir_walk_step(&w)) {
    bool is_loop = w.inst->op == ROC_IR_LOOP || w.inst->op == ROC_IR_FOR;
    if (w.is_end) {
      depth -= is_loop;
      nloops -= w.inst->op == ROC_IR_LOOP;
      nuneven -= is_uneven(s, w.inst);
      continue;
    }
    if (!is_supported(s, w.inst, nloops > 0)) {
      found.is_supported = false;
      return found;
    }
    found.has_loop |= is_loop && !(w.inst->op == ROC_IR_FOR && cpu_is_short_for(s->cg->ir, w.inst));
    depth += is_loop;
    nloops += w.inst->op == ROC_IR_LOOP;
    nuneven += is_uneven(s, w.inst);
    bool is_varying = s->shapes && s->shapes->insts[w.id] == CPU_VARYING;
    found.nvars += depth && w.inst->op == ROC_IR_SET && is_carried(s, w.inst->aux);
    bool counts = depth && is_varying && (roc_ir_op_table[w.inst->op].flags & ROC_IRF_PURE);
    bool is_float = w.inst->type == ROC_VT_F32 || w.inst->type == ROC_VT_F64;
    if (depth && (is_float || w.inst->op == ROC_IR_LOAD)) found.is_plain = false;
    if (depth) {
      found.scattered += cost_of_access(s, &found, w.id) * (nuneven ? UNEVEN_TIMES : 1);
      found.nbranches += is_guessed(s, &found, w.inst, w.id);
      found.nsearches += is_search(s, &found, w.inst);
    }
    found.nbroken += counts && is_broken_up(s, w.inst) && !waits_for_itself(s, &found, w.id);
    found.nproducts += counts && is_product(s, w.inst);
    unsigned bytes = counts ? bytes_of(s, w.inst, w.id) : 0;
    found.narrow += bytes == 4;
    found.wide += bytes == 8 && !is_counting(s, w.inst);
  }
  return found;
}

enum { MAX_STACK_BYTES = 32768 }; /* of private arrays, for all lanes */

static bool has_large_arrays(const cpu_state *s, unsigned lanes) {
  const roc_ir_module *ir = s->cg->ir;
  int64_t nbytes = 0;
  for (uint32_t a = 0; a < ir->arrays.count; a++) {
    const roc_ir_array *array = &ir->arrays.items[a];
    if (array->kind != ROC_IR_ARRAY_PRIVATE || s->plan.array_slotted[a]) continue;
    nbytes += roc_ir_array_size(array) * (int64_t)roc_dtype_itemsize(array->dtype);
  }
  return nbytes * lanes > MAX_STACK_BYTES;
}

/* Items that are neighbours. */
static bool is_whole_row(const cpu_state *s) {
  const cpu_level *level = s->level;
  bool is_row = level->kind == CPU_LEVEL_ROW && !level->is_single && !level->stride;
  bool is_regular = s->split && s->split->period != ROC_IR_NONE;
  return (level->kind == CPU_LEVEL_GROUP || is_row) && !is_regular;
}

static bool is_narrow(const survey *found) {
  return found->narrow > 2 * found->wide;
}

/* As many as there are floats in a register of the processor when most of the work is on float32,
 * else as many as there are 64-bit numbers; and twice as many where that leaves registers enough:
 * one vector's operations then run while the other waits for its own. */
static unsigned lanes_that_pay(const cpu_state *s, const survey *found) {
  LLVMTargetMachineRef tm = s->cg->tm;
  unsigned bytes = roc_processor_has(tm, "avx512f") ? 64 : roc_processor_has(tm, "avx2") ? 32 : 0;
  unsigned noperations = found->narrow + found->wide;
  if (!found->has_loop || !bytes) return 1;
  /* AVX2 makes a product of 64 bits of three narrower ones, shifts and sums */
  if (bytes < 64 && found->is_plain && found->nproducts * PRODUCT_COST > noperations) return 1;
  if (found->nbroken * BROKEN_COST > noperations) return 1;
  unsigned losses = found->scattered;
  if (found->nbranches == 0) losses += SEARCH_COST * found->nsearches;
  if (losses > 2 * noperations + BRANCH_GAIN * found->nbranches) return 1;
  unsigned lanes = is_narrow(found) ? bytes / 4 : bytes / 8;
  return found->nvars <= MAX_LIVE ? 2 * lanes : lanes;
}

static unsigned power_of_two_below(unsigned n) {
  unsigned power = 1;
  while (2 * power <= n) power *= 2;
  return power;
}

bool cpu_has_lanes(const roc_cg *cg) {
  if (cg->options->lanes == 1 || cg->options->opt_level == 0) return false;
  return roc_processor_has(cg->tm, "avx2");
}

static ROC_IR_WALKS bool goes_along_rows(const cpu_state *s, const uint32_t *ids, uint32_t count) {
  roc_ir_walk w;
  roc_ir_walk_begin_list(&w, s->cg->ir, ids, count);
  while (roc_ir_walk_next(&w)) {
    if (s->plan.is_along[w.id]) return true;
  }
  return false;
}

unsigned cpu_lanes_choose(cpu_state *s, const uint32_t *ids, uint32_t count, bool *out_is_narrow) {
  roc_cg *cg = s->cg;
  unsigned asked = cg->options->lanes;
  if (asked == 1 || cg->options->opt_level == 0) return 1;
  if (s->is_cold || s->is_inspecting || s->chunk.count || !is_whole_row(s)) return 1;
  survey found = survey_run(s, ids, count);
  if (!found.is_supported || !(found.has_loop || asked)) return 1;
  if (!asked && goes_along_rows(s, ids, count)) return 1;
  bool is_thinned = s->needs_live && s->may_be_dead && !s->all_alive;
  if (is_thinned && !asked) return 1;
  if (!s->shapes) {
    cpu_shapes *shapes = ROC_ARENA_NEW(&cg->arena, cpu_shapes);
    if (!shapes || !cpu_shapes_make(cg->ir, &s->plan, &cg->arena, shapes)) {
      cg->arena.failed = true;
      return 1;
    }
    s->shapes = shapes;
    found = survey_run(s, ids, count);
  }
  *out_is_narrow = is_narrow(&found);
  unsigned lanes = asked ? power_of_two_below(asked) : lanes_that_pay(s, &found);
  return has_large_arrays(s, lanes) ? 1 : lanes;
}
