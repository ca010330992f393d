/* Loops around the items of a chunk (cpu/chunk.c) that keep more than registers hold, in parts.
 *
 * A register-tiled product keeps 16 sums an item or more, which are 16 vectors.  LLVM would write
 * some of them to memory in each iteration.  Where sums do not depend on each other, and the loop
 * only reads memory, it may as well run once for some of them and once more for the others: what
 * both need is loaded twice, and no sum is.
 *
 * A variable that lives across iterations is in one part, together with those that it is computed
 * from; an instruction is in the parts that need its result. */
#include "codegen/cpu/cpu.h"
#include "ir/walk.h"

enum { MAX_KEPT = 64 }; /* bits of a set */

typedef uint64_t var_set; /* of variables that the loop keeps, by place in `kept` */

typedef struct splitter {
  const cpu_state *s;
  const roc_ir_module *ir;
  uint32_t *ids, nids; /* the statement's instructions, in order; settled checks are left out */
  uint32_t kept[MAX_KEPT], nkept;
  uint8_t *place;             /* per variable: in `kept` + 1; 0: it is none */
  var_set *reads, *var_reads; /* per instruction and variable: what its value is made of */
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

/* Of an iteration: what is executed by more than one part. */
static unsigned weigh_repeats(const splitter *p, const bool *const *left_out, unsigned nparts) {
  unsigned sum = 0;
  for (uint32_t i = 0; i < p->nids; i++) {
    unsigned nneeds = 0;
    for (unsigned n = 0; n < nparts; n++) nneeds += !left_out[n][p->ids[i]];
    if (nneeds > 1) sum += (nneeds - 1) * weigh(p, p->ids[i]);
  }
  return sum;
}

/* Variables that belong together stay so; else they are taken in order, `most` bytes a part. */
static unsigned fill_parts(const splitter *p, uint32_t most, var_set sets[CPU_MAX_PARTS]) {
  unsigned nparts = 0;
  var_set taken = 0;
  for (uint32_t i = 0; i < p->nkept; i++) {
    if (taken >> i & 1) continue;
    var_set next = together_with(p, i);
    taken |= next;
    bool fits = nparts && bytes_of(p, sets[nparts - 1] | next) <= most;
    if (!fits && nparts < CPU_MAX_PARTS) sets[nparts++] = 0;
    sets[nparts - 1] |= next;
  }
  return nparts;
}

unsigned cpu_parts_find(cpu_state *s, uint32_t id, unsigned nregisters,
                        const bool *out[CPU_MAX_PARTS]) {
  splitter p;
  if (s->plan.stops[id] || !begin(&p, s) || !list_statement(&p, id) || !find_reads(&p)) return 0;
  uint32_t half = nregisters / 2 * CPU_LANE_BYTES, total = bytes_of(&p, ~(var_set)0);
  if (total <= half + half / 2) return 0; /* there is room for all */
  uint32_t count = (total + half - 1) / half;
  var_set sets[CPU_MAX_PARTS];
  unsigned nparts = fill_parts(&p, (total + count - 1) / count, sets);
  if (nparts < 2) return 0;
  for (unsigned n = 0; n < nparts; n++) {
    if (!(out[n] = left_out_of(&p, sets[n]))) return 0;
  }
  /* In one part, each vector beyond half of the registers is read and written. */
  unsigned spills = (total - half) / CPU_LANE_BYTES * 2;
  return weigh_repeats(&p, out, nparts) <= spills ? nparts : 0;
}
