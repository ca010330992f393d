/* Loops around the items of a chunk (cpu/chunk.c) that keep more than registers hold, in parts.
 *
 * A register-tiled product keeps 16 sums an item or more, which are 16 vectors.  LLVM would write
 * some of them to memory in each iteration.  Where sums do not depend on each other, and the loop
 * only reads memory, it may as well run once for some of them and once more for the others: what
 * both need is loaded twice, and no sum is.
 *
 * A variable that lives across iterations is in one part, together with those that it is computed
 * from; an instruction is in the parts that need its result.  So the sums of a part should have much
 * in common.  Where an item has neighbouring columns, a vector of items has one column of them from
 * elements that are apart, which are loaded one by one, or, with all of the neighbours, out of whole
 * vectors.  Both ways of choosing are tried: with the neighbours, and with what needs the same. */
#include <string.h>

#include "codegen/cpu/cpu.h"
#include "codegen/llvm/processor.h"
#include "ir/walk.h"

enum {
  MAX_KEPT = 64, /* bits of a set */
  SAME_DEPTH = 8,
  FAR = 9 /* elements apart, or more */
};

typedef uint64_t var_set; /* of variables that the loop keeps, by place in `kept` */

typedef struct splitter {
  const cpu_state *s;
  const roc_ir_module *ir;
  uint32_t *ids, nids; /* the statement's instructions, in order; settled checks are left out */
  uint32_t kept[MAX_KEPT], nkept;
  uint8_t *place;             /* per variable: in `kept` + 1; 0: it is none */
  var_set *reads, *var_reads; /* per instruction and variable: what its value is made of */
  var_set *needed_for;        /* per instruction */
  uint8_t *weights, *strides; /* per place in `ids` */
  unsigned apart;             /* weight of a vector whose elements are loaded one by one */
} splitter;

static const roc_ir_inst *inst_of(const splitter *p, uint32_t id) {
  return &p->ir->insts.items[id];
}

/* Whether executing it for some of the results alone, and again for others, changes nothing. */
static bool is_repeatable(const roc_ir_inst *inst) {
  bool is_pure = roc_ir_op_table[inst->op].flags & ROC_IRF_PURE;
  return is_pure || inst->op == ROC_IR_GET || inst->op == ROC_IR_SET || inst->op == ROC_IR_LOAD ||
         inst->op == ROC_IR_FOR;
}

static bool is_kept(const splitter *p, uint32_t var) {
  return p->s->plan.var_slotted[var] && !p->s->plan.is_counter[var];
}

static bool keep(splitter *p, uint32_t var) {
  if (p->place[var]) return true;
  if (p->nkept == MAX_KEPT) return false;
  p->kept[p->nkept++] = var;
  p->place[var] = (uint8_t)p->nkept;
  return true;
}

/* Lists the statement; false when it cannot be executed in parts. */
static ROC_IR_WALKS bool list_statement(splitter *p, uint32_t id) {
  roc_ir_walk w;
  roc_ir_walk_begin_list(&w, p->ir, &id, 1);
  while (roc_ir_walk_next(&w)) {
    if (cpu_is_settled(p->s, w.id)) continue;
    if (!is_repeatable(w.inst)) return false;
    bool sets_kept = w.inst->op == ROC_IR_SET && is_kept(p, w.inst->aux);
    if (sets_kept && !keep(p, w.inst->aux)) return false;
    if (w.inst->op == ROC_IR_FOR && is_kept(p, w.inst->aux)) return false;
    p->ids[p->nids++] = w.id;
  }
  return true;
}

static var_set reads_of(const splitter *p, const roc_ir_inst *inst) {
  var_set reads = 0;
  if (inst->op == ROC_IR_GET) {
    uint8_t place = p->place[inst->aux];
    return place ? (var_set)1 << (place - 1) : p->var_reads[inst->aux];
  }
  for (uint32_t n = 0; n < inst->nargs; n++) reads |= p->reads[roc_ir_arg(p->ir, inst, n)];
  return reads;
}

/* What each value and variable is made of; false when a loop's bounds are made of kept ones. */
static bool find_reads(splitter *p) {
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (uint32_t i = 0; i < p->nids; i++) {
      const roc_ir_inst *inst = inst_of(p, p->ids[i]);
      var_set reads = reads_of(p, inst);
      if (inst->op == ROC_IR_FOR && reads) return false;
      var_set *to = inst->op == ROC_IR_SET ? &p->var_reads[inst->aux] : &p->reads[p->ids[i]];
      is_changed |= (*to | reads) != *to;
      *to |= reads;
    }
  }
  return true;
}

/* The variables that have to be in one part with the one at `place`. */
static var_set together_with(const splitter *p, uint32_t place) {
  var_set set = (var_set)1 << place, before;
  do {
    before = set;
    for (uint32_t i = 0; i < p->nkept; i++) {
      var_set own = p->var_reads[p->kept[i]] | (var_set)1 << i;
      if (own & set) set |= own;
    }
  } while (set != before);
  return set;
}

uint32_t cpu_kept_bytes(roc_value_type type) {
  return type == ROC_VT_INT || type == ROC_VT_F64 ? 8 : CPU_LANE_BYTES;
}

static uint32_t bytes_of(const splitter *p, var_set set) {
  uint32_t nbytes = 0;
  for (uint32_t i = 0; i < p->nkept; i++) {
    if (set >> i & 1) nbytes += cpu_kept_bytes(p->ir->vars.items[p->kept[i]].type);
  }
  return nbytes;
}

/* Marks what the variables in `set` need; *needs is false for all at first. */
static void mark_needs(const splitter *p, var_set set, bool *needs, bool *needs_var) {
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (uint32_t i = p->nids; i > 0; i--) {
      uint32_t id = p->ids[i - 1];
      const roc_ir_inst *inst = inst_of(p, id);
      if (inst->op == ROC_IR_SET && !needs[id]) {
        uint8_t place = p->place[inst->aux];
        needs[id] = place ? set >> (place - 1) & 1 : needs_var[inst->aux];
        is_changed |= needs[id];
      }
      needs[id] |= inst->op == ROC_IR_FOR;
      if (!needs[id]) continue;
      if (inst->op == ROC_IR_GET) needs_var[inst->aux] = true;
      for (uint32_t n = 0; n < inst->nargs; n++) needs[roc_ir_arg(p->ir, inst, n)] = true;
    }
  }
}

static const bool *left_out_of(const splitter *p, var_set set) {
  roc_arena *arena = &p->s->cg->arena;
  bool *needs = ROC_ARENA_ARRAY(arena, bool, p->ir->insts.count + 1);
  bool *needs_var = ROC_ARENA_ARRAY(arena, bool, p->ir->vars.count + 1);
  bool *left_out = ROC_ARENA_ARRAY(arena, bool, p->ir->insts.count + 1);
  if (arena->failed) return NULL;
  mark_needs(p, set, needs, needs_var);
  for (uint32_t i = 0; i < p->nids; i++) left_out[p->ids[i]] = !needs[p->ids[i]];
  return left_out;
}

static bool begin(splitter *p, cpu_state *s) {
  roc_arena *arena = &s->cg->arena;
  const roc_ir_module *ir = s->cg->ir;
  *p = (splitter){.s = s, .ir = ir};
  p->ids = ROC_ARENA_ARRAY(arena, uint32_t, ir->insts.count + 1);
  p->place = ROC_ARENA_ARRAY(arena, uint8_t, ir->vars.count + 1);
  p->reads = ROC_ARENA_ARRAY(arena, var_set, ir->insts.count + 1);
  p->var_reads = ROC_ARENA_ARRAY(arena, var_set, ir->vars.count + 1);
  return !arena->failed;
}

/* How far apart the elements are that a vector of items loads, where that is a few; 0: it is one
 * element, or they are neighbours; FAR: else. */
static uint8_t stride_of(const splitter *p, const roc_ir_inst *inst) {
  if (inst->op != ROC_IR_LOAD) return 0;
  int64_t slope = 0;
  for (uint32_t n = 0; n < inst->nargs; n++) {
    if (!cpu_slope(p->s, roc_ir_arg(p->ir, inst, n), &slope)) return FAR;
    bool is_last = n + 1 == inst->nargs;
    if (slope != 0 && (!is_last || slope < 0 || slope >= FAR)) return FAR;
  }
  return slope > 1 ? (uint8_t)slope : 0;
}

/* What executing an instruction once more costs, beside a load of a vector. */
static unsigned weigh(const splitter *p, uint32_t id) {
  if (p->s->plan.is_remat[id]) return 0;
  switch ((roc_ir_op)inst_of(p, id)->op) {
    case ROC_IR_CONST:
    case ROC_IR_GET:
    case ROC_IR_SET:
    case ROC_IR_FOR: return 0;
    case ROC_IR_MATH:
    case ROC_IR_POW:
    case ROC_IR_FDIV:
    case ROC_IR_FLOORDIV:
    case ROC_IR_MOD: return 16;
    default: return 1;
  }
}

/* Finds which variables each instruction is needed for, and what it costs; false: memory is out. */
static bool survey(splitter *p) {
  roc_arena *arena = &p->s->cg->arena;
  size_t ninsts = p->ir->insts.count + 1, nvars = p->ir->vars.count + 1;
  bool *needs = ROC_ARENA_ARRAY(arena, bool, ninsts);
  bool *needs_var = ROC_ARENA_ARRAY(arena, bool, nvars);
  p->needed_for = ROC_ARENA_ARRAY(arena, var_set, ninsts);
  p->weights = ROC_ARENA_ARRAY(arena, uint8_t, p->nids + 1);
  p->strides = ROC_ARENA_ARRAY(arena, uint8_t, p->nids + 1);
  if (arena->failed) return false;
  var_set taken = 0;
  for (uint32_t i = 0; i < p->nkept; i++) {
    if (taken >> i & 1) continue;
    var_set set = together_with(p, i);
    taken |= set;
    memset(needs, 0, ninsts * sizeof *needs);
    memset(needs_var, 0, nvars * sizeof *needs_var);
    mark_needs(p, set, needs, needs_var);
    for (uint32_t k = 0; k < p->nids; k++) {
      if (needs[p->ids[k]]) p->needed_for[p->ids[k]] |= set;
    }
  }
  for (uint32_t k = 0; k < p->nids; k++) {
    p->weights[k] = (uint8_t)weigh(p, p->ids[k]);
    p->strides[k] = stride_of(p, inst_of(p, p->ids[k]));
  }
  return true;
}

/* Takes constants that are added to a value out of it, into *k. */
static uint32_t without_constants(const splitter *p, uint32_t id, int64_t *k) {
  for (int depth = 0; depth < SAME_DEPTH; depth++) {
    const roc_ir_inst *inst = inst_of(p, id);
    if (inst->op != ROC_IR_ADD && inst->op != ROC_IR_SUB) break;
    uint32_t a = roc_ir_arg(p->ir, inst, 0), b = roc_ir_arg(p->ir, inst, 1);
    const roc_ir_inst *first = inst_of(p, a), *second = inst_of(p, b);
    bool is_sum = inst->op == ROC_IR_ADD;
    if (second->op != ROC_IR_CONST && (!is_sum || first->op != ROC_IR_CONST)) break;
    const roc_ir_inst *by = second->op == ROC_IR_CONST ? second : first;
    *k = (int64_t)((uint64_t)*k + (is_sum ? (uint64_t)by->k.i : -(uint64_t)by->k.i));
    id = by == second ? a : b;
  }
  return id;
}

/* The two are the same computation, where the loop sets nothing that they read. */
static bool is_same(const splitter *p, uint32_t a, uint32_t b, int depth) {
  const roc_ir_inst *x = inst_of(p, a), *y = inst_of(p, b);
  if (a == b) return true;
  if (depth == 0 || x->op != y->op || x->aux != y->aux || x->nargs != y->nargs) return false;
  bool is_pure = roc_ir_op_table[x->op].flags & ROC_IRF_PURE;
  if (x->op == ROC_IR_CONST) return x->type == y->type && x->k.i == y->k.i;
  if (!is_pure && x->op != ROC_IR_GET) return false;
  for (uint32_t n = 0; n < x->nargs; n++) {
    if (!is_same(p, roc_ir_arg(p->ir, x, n), roc_ir_arg(p->ir, y, n), depth - 1)) return false;
  }
  return true;
}

static bool are_neighbours(const splitter *p, uint32_t a, uint32_t b) {
  const roc_ir_inst *x = inst_of(p, a), *y = inst_of(p, b);
  if (x->op != ROC_IR_LOAD || y->op != ROC_IR_LOAD || x->aux != y->aux) return false;
  uint32_t last = x->nargs - 1;
  for (uint32_t n = 0; n < last; n++) {
    if (!is_same(p, roc_ir_arg(p->ir, x, n), roc_ir_arg(p->ir, y, n), SAME_DEPTH)) return false;
  }
  int64_t k = 0, l = 0, apart;
  uint32_t from = without_constants(p, roc_ir_arg(p->ir, x, last), &k);
  uint32_t other = without_constants(p, roc_ir_arg(p->ir, y, last), &l);
  if (__builtin_sub_overflow(k, l, &apart) || apart <= -FAR || apart >= FAR) return false;
  return is_same(p, from, other, SAME_DEPTH);
}

/* How many of the neighbours of a load are needed for the variables in `part`, it among them. */
static unsigned count_neighbours(const splitter *p, uint32_t load, var_set part) {
  unsigned count = 0;
  for (uint32_t i = 0; i < p->nids; i++) {
    if (!p->strides[i] || !(p->needed_for[p->ids[i]] & part)) continue;
    count += are_neighbours(p, p->ids[load], p->ids[i]);
  }
  return count;
}

/* What an iteration costs a part that has these variables. */
static unsigned weigh_part(const splitter *p, var_set part) {
  enum { OUT_OF_VECTORS = 4 };
  unsigned sum = 0;
  for (uint32_t i = 0; i < p->nids; i++) {
    if (!(p->needed_for[p->ids[i]] & part)) continue;
    bool is_apart = p->strides[i] != 0, has_all = false;
    if (is_apart) has_all = count_neighbours(p, i, part) >= p->strides[i];
    sum += !is_apart ? p->weights[i] : has_all ? OUT_OF_VECTORS : p->apart;
  }
  return sum;
}

/* What is executed for the variables in `set`, and not for those in `part`. */
static unsigned weigh_more(const splitter *p, var_set set, var_set part, bool joins) {
  unsigned sum = 0;
  for (uint32_t i = 0; i < p->nids; i++) {
    var_set needed = p->needed_for[p->ids[i]];
    if (!(needed & set) || (needed & part)) continue;
    bool is_joined = joins && p->strides[i] && count_neighbours(p, i, part) > 0;
    if (!is_joined) sum += p->strides[i] ? p->apart : p->weights[i];
  }
  return sum;
}

/* Of the variables that are not `taken`, with those that belong to them: which add least to a part;
 * the first ones where it is empty. */
static var_set choose_next(const splitter *p, var_set taken, var_set part, bool joins) {
  var_set next = 0, seen = taken;
  unsigned least = 0;
  for (uint32_t i = 0; i < p->nkept; i++) {
    if (seen >> i & 1) continue;
    var_set set = together_with(p, i);
    if (!part) return set;
    unsigned weight = weigh_more(p, set, part, joins);
    seen |= set;
    if (next && weight >= least) continue;
    next = set;
    least = weight;
  }
  return next;
}

typedef struct parts {
  var_set sets[CPU_MAX_PARTS];
  unsigned count, weight;
} parts;

/* Variables that belong together stay so; `most` bytes a part.  `joins`: a load among neighbours that
 * are in the part counts for nothing. */
static parts fill_parts(const splitter *p, uint32_t most, bool joins) {
  parts made = {.count = 0};
  var_set taken = 0, next;
  while ((next = choose_next(p, taken, made.count ? made.sets[made.count - 1] : 0, joins))) {
    bool fits = made.count && bytes_of(p, made.sets[made.count - 1] | next) <= most;
    if (!fits && made.count < CPU_MAX_PARTS) {
      next = choose_next(p, taken, 0, joins);
      made.sets[made.count++] = 0;
    }
    made.sets[made.count - 1] |= next;
    taken |= next;
  }
  for (unsigned n = 0; n < made.count; n++) made.weight += weigh_part(p, made.sets[n]);
  return made;
}

unsigned cpu_parts_find(cpu_state *s, uint32_t id, unsigned nregisters,
                        const bool *out[CPU_MAX_PARTS]) {
  splitter p;
  if (s->plan.stops[id] || !begin(&p, s) || !list_statement(&p, id) || !find_reads(&p)) return 0;
  uint32_t half = nregisters / 2 * CPU_LANE_BYTES, total = bytes_of(&p, ~(var_set)0);
  if (total <= half + half / 2) return 0; /* there is room for all */
  if (!survey(&p)) return 0;
  /* Without gathers LLVM makes no vectors of a loop that has no use for some of the neighbours. */
  bool has_gathers = roc_processor_has(s->cg->tm, "avx512f");
  p.apart = has_gathers ? s->chunk.lanes : 8 * s->chunk.lanes;
  uint32_t count = (total + half - 1) / half, most = (total + count - 1) / count;
  parts made = fill_parts(&p, most, false), joined = fill_parts(&p, most, true);
  if (joined.weight < made.weight) made = joined;
  /* In one part, each vector beyond half of the registers is read and written. */
  unsigned spills = (total - half) / CPU_LANE_BYTES * 2;
  if (made.count < 2 || made.weight > weigh_part(&p, ~(var_set)0) + spills) return 0;
  for (unsigned n = 0; n < made.count; n++) {
    if (!(out[n] = left_out_of(&p, made.sets[n]))) return 0;
  }
  return made.count;
}
