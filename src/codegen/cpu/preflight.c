/* Checks settled for a whole workgroup at once.
 *
 * Most indices are sums of ids, loop counters and sizes. Before a group begins, the interval of
 * each such index over all items and iterations is computed and compared with the extent: a few
 * scalar operations. Groups in which all of these checks hold, nearly all groups of a right kernel,
 * run a version of the body without them; the others run a second, cold one that has every check.
 *
 * Indices with a variable or counter of the group, as `t[l - s]` in a scan, are looked at late: in
 * the inspector (cpu/inspector.c), which goes through the group's loops beforehand, where each run
 * of items would begin. What is the same for all items has one value there, not an interval.
 *
 * Conditions on the way to a check narrow the intervals (`if i <= #y then`), as do those that end
 * an item before. Intervals are exact or the group is sent to the cold version: any overflow on the
 * way counts as a check that may fail. */
#include <math.h>

#include "codegen/cpu/cpu.h"
#include "codegen/llvm/processor.h"
#include "ir/walk.h"

enum {
  MAX_NODES = 40, /* operations in an index */
  MAX_FACTS = 32,
  MAX_CHECKS = 64,          /* beyond, checks stay where they are */
  MAX_INSTS = 10000,        /* a kernel larger than this is not emitted twice, */
  MAX_DIVIDING_INSTS = 300, /* nor one larger than this once more for its divisions */
  SAME_DEPTH = 10
};

typedef struct interval {
  LLVMValueRef low, high; /* i64, inclusive */
} interval;

/* `cond` was `truth` on the way here. */
typedef struct fact {
  uint32_t cond;
  bool truth;
} fact;

typedef struct preflight {
  cpu_state *s;
  fact facts[MAX_FACTS];
  unsigned nfacts, nchecks;
  bool is_narrowing; /* a bound is being computed: it is not narrowed itself */
  bool is_late;      /* what the group computes has the values of a run's begin */
  const bool *these; /* late: the checks to be answered */
  interval *plain;   /* per instruction: its interval, whatever is known of it, once computed */
  LLVMValueRef ok;   /* i1: all checks so far hold; NULL: there was none */
} preflight;

static const roc_ir_inst *inst_of(const preflight *p, uint32_t id) {
  return &p->s->cg->ir->insts.items[id];
}

static uint32_t arg_of(const preflight *p, uint32_t id, uint32_t n) {
  return roc_ir_arg(p->s->cg->ir, inst_of(p, id), n);
}

/* Follows reads of variables that are set once. */
static uint32_t resolve(const preflight *p, uint32_t id) {
  const cpu_plan *plan = &p->s->plan;
  while (inst_of(p, id)->op == ROC_IR_GET) {
    uint32_t set = plan->set_once[inst_of(p, id)->aux];
    if (set == ROC_IR_NONE) break;
    id = arg_of(p, set, 0);
  }
  return id;
}

/* ---- what can be computed ---------------------------------------------------------------- */

static bool is_fixed(const preflight *p, uint32_t id) {
  const cpu_plan *plan = &p->s->plan;
  return plan->is_uniform[id] && (plan->is_stable[id] || (p->is_late && !plan->counts_rows[id]));
}

static bool is_positive_const(const preflight *p, uint32_t id) {
  const roc_ir_inst *inst = inst_of(p, id);
  return inst->op == ROC_IR_CONST && inst->k.i > 0;
}

/* A FOR whose counter lies between its bounds: the step's sign is known. */
static bool is_bounded_for(const preflight *p, uint32_t loop) {
  if (loop == ROC_IR_NONE) return false;
  uint32_t step = arg_of(p, loop, 2);
  return inst_of(p, step)->op == ROC_IR_CONST || cpu_is_positive(p->s, step);
}

/* The operand of a float operation that varies; the result grows or falls with it, rounding
 * included.  NONE: it is none of these, or more than one varies. */
static uint32_t varying_operand(const preflight *p, uint32_t id) {
  const roc_ir_inst *inst = inst_of(p, id);
  if (p->s->cg->ir->fastmath || inst->nargs > 2) return ROC_IR_NONE;
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_TO_F32:
    case ROC_IR_TO_F64: return arg_of(p, id, 0);
    case ROC_IR_FDIV: return is_fixed(p, arg_of(p, id, 1)) ? arg_of(p, id, 0) : ROC_IR_NONE;
    case ROC_IR_ADD:
    case ROC_IR_SUB:
    case ROC_IR_MUL:
    case ROC_IR_MIN:
    case ROC_IR_MAX:
      if (is_fixed(p, arg_of(p, id, 1))) return arg_of(p, id, 0);
      return is_fixed(p, arg_of(p, id, 0)) ? arg_of(p, id, 1) : ROC_IR_NONE;
    default: return ROC_IR_NONE;
  }
}

/* The integer that float `id` is computed from, and from what is the same for all items; NONE. */
static uint32_t integer_below(const preflight *p, uint32_t id, unsigned *nodes) {
  id = resolve(p, id);
  while (id != ROC_IR_NONE && inst_of(p, id)->type != ROC_VT_INT && *nodes > 0) {
    --*nodes;
    id = varying_operand(p, id);
    if (id != ROC_IR_NONE) id = resolve(p, id);
  }
  return *nodes > 0 ? id : ROC_IR_NONE;
}

/* Whether `interval_of` knows how, spending one of *nodes per operation. */
static bool is_known(const preflight *p, uint32_t id, unsigned *nodes) {
  if (*nodes == 0) return false;
  --*nodes;
  id = resolve(p, id);
  const roc_ir_inst *inst = inst_of(p, id);
  if (inst->type != ROC_VT_INT) return false;
  if (is_fixed(p, id)) return true;
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_GLOBAL_ID:
    case ROC_IR_LOCAL_ID: return true;
    case ROC_IR_GET: {
      uint32_t loop = p->s->plan.for_of[inst->aux];
      return is_bounded_for(p, loop) && is_known(p, arg_of(p, loop, 0), nodes) &&
             is_known(p, arg_of(p, loop, 1), nodes);
    }
    case ROC_IR_MUL:
      if (!is_fixed(p, arg_of(p, id, 0)) && !is_fixed(p, arg_of(p, id, 1))) return false;
      break;
    case ROC_IR_ADD:
    case ROC_IR_SUB:
    case ROC_IR_BXOR:
    case ROC_IR_SHR:
    case ROC_IR_MIN:
    case ROC_IR_MAX: break;
    case ROC_IR_MOD: return is_fixed(p, arg_of(p, id, 1));
    case ROC_IR_BAND: return is_positive_const(p, arg_of(p, id, 1));
    case ROC_IR_FLOOR:
    case ROC_IR_CEIL: {
      uint32_t from = integer_below(p, arg_of(p, id, 0), nodes);
      return from != ROC_IR_NONE && is_known(p, from, nodes);
    }
    case ROC_IR_FLOORDIV:
      return is_fixed(p, arg_of(p, id, 1)) && is_known(p, arg_of(p, id, 0), nodes);
    default: return false;
  }
  return is_known(p, arg_of(p, id, 0), nodes) && is_known(p, arg_of(p, id, 1), nodes);
}

static bool is_computable(const preflight *p, uint32_t id) {
  unsigned nodes = MAX_NODES;
  return is_known(p, id, &nodes);
}

/* Whether that answers a check. */
static bool is_answerable(const preflight *p, uint32_t id) {
  unsigned nodes = MAX_NODES;
  const roc_ir_inst *inst = inst_of(p, id);
  if (inst->op == ROC_IR_CHECK_INDEX) return is_computable(p, arg_of(p, id, 0));
  if (inst->op != ROC_IR_CHECK_INT) return false;
  uint32_t below = integer_below(p, arg_of(p, id, 0), &nodes);
  return below != ROC_IR_NONE && is_known(p, below, &nodes);
}

/* ---- intervals --------------------------------------------------------------------------- */

static void require(preflight *p, LLVMValueRef cond) {
  p->ok = p->ok ? LLVMBuildAnd(p->s->cg->b, p->ok, cond, "") : cond;
}

/* The result of a checked operation; the group goes the cold way when it overflows. */
static LLVMValueRef exactly(preflight *p, const char *name, LLVMValueRef a, LLVMValueRef b) {
  roc_cg *cg = p->s->cg;
  LLVMValueRef args[2] = {a, b};
  LLVMValueRef pair = roc_cg_intrinsic(cg, name, &cg->t.i64, 1, args, 2);
  require(p, LLVMBuildNot(cg->b, LLVMBuildExtractValue(cg->b, pair, 1, ""), ""));
  return LLVMBuildExtractValue(cg->b, pair, 0, "");
}

static LLVMValueRef extreme(preflight *p, const char *name, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef args[2] = {a, b};
  return roc_cg_intrinsic(p->s->cg, name, &p->s->cg->t.i64, 1, args, 2);
}

static interval interval_of(preflight *p, uint32_t id);

static interval interval_of_id(preflight *p, const roc_ir_inst *inst) {
  cpu_state *s = p->s;
  LLVMValueRef one = roc_cg_i64(s->cg, 1), last = s->count[inst->aux];
  if (inst->op == ROC_IR_LOCAL_ID) return (interval){one, last};
  LLVMValueRef before = s->group_first[inst->aux];
  return (interval){LLVMBuildAdd(s->cg->b, before, one, ""),
                    LLVMBuildAdd(s->cg->b, before, last, "")};
}

/* The last value that `for i = first, last, step` counts to, where it runs at all; the step goes
 * upwards. `for k = 1, n, 256` ends at the first element of a tile, not at n. */
static LLVMValueRef last_counted(preflight *p, LLVMValueRef first, LLVMValueRef last,
                                 LLVMValueRef step) {
  LLVMBuilderRef b = p->s->cg->b;
  LLVMValueRef span = exactly(p, "llvm.ssub.with.overflow", last, first);
  LLVMValueRef zero = roc_cg_i64(p->s->cg, 0), runs = LLVMBuildICmp(b, LLVMIntSGE, span, zero, "");
  LLVMValueRef beyond = LLVMBuildURem(b, span, step, "");
  return LLVMBuildSub(b, last, LLVMBuildSelect(b, runs, beyond, zero, ""), "");
}

static interval interval_of_counter(preflight *p, uint32_t loop) {
  uint32_t step = arg_of(p, loop, 2);
  interval first = interval_of(p, arg_of(p, loop, 0)), last = interval_of(p, arg_of(p, loop, 1));
  bool is_up = cpu_is_positive(p->s, step),
       is_one = inst_of(p, step)->op == ROC_IR_CONST && inst_of(p, step)->k.i == 1;
  bool is_same = first.low == first.high && last.low == last.high;
  if (is_up && !is_one && is_same && is_fixed(p, step)) {
    last.high = last_counted(p, first.low, last.high, cpu_group_value(p->s, step));
  }
  return is_up ? (interval){first.low, last.high} : (interval){last.low, first.high};
}

static interval interval_of_product(preflight *p, interval a, interval b) {
  const char *name = "llvm.smul.with.overflow";
  LLVMValueRef low = exactly(p, name, a.low, b.low), high = exactly(p, name, a.high, b.high);
  return (interval){extreme(p, "llvm.smin", low, high), extreme(p, "llvm.smax", low, high)};
}

/* Of what is not negative, to the right. */
static interval interval_of_shift(preflight *p, interval a, interval by) {
  LLVMBuilderRef b = p->s->cg->b;
  LLVMValueRef zero = roc_cg_i64(p->s->cg, 0), most = roc_cg_i64(p->s->cg, 63);
  require(p, LLVMBuildICmp(b, LLVMIntSGE, a.low, zero, ""));
  require(p, LLVMBuildICmp(b, LLVMIntSGE, by.low, zero, ""));
  require(p, LLVMBuildICmp(b, LLVMIntSLE, by.high, most, ""));
  LLVMValueRef least = extreme(p, "llvm.smax", by.low, zero); /* in any case no poison */
  least = extreme(p, "llvm.smin", least, most);
  LLVMValueRef greatest = extreme(p, "llvm.smin", extreme(p, "llvm.smax", by.high, zero), most);
  return (interval){LLVMBuildLShr(b, a.low, greatest, ""), LLVMBuildLShr(b, a.high, least, "")};
}

/* Of what is not negative: less than the power of two above both. */
static interval interval_of_xor(preflight *p, interval a, interval b) {
  roc_cg *cg = p->s->cg;
  LLVMValueRef zero = roc_cg_i64(cg, 0);
  require(p, LLVMBuildICmp(cg->b, LLVMIntSGE, a.low, zero, ""));
  require(p, LLVMBuildICmp(cg->b, LLVMIntSGE, b.low, zero, ""));
  LLVMValueRef args[2] = {LLVMBuildOr(cg->b, a.high, b.high, ""), LLVMConstInt(cg->t.i1, 0, 0)};
  LLVMValueRef unused = roc_cg_intrinsic(cg, "llvm.ctlz", &cg->t.i64, 1, args, 2);
  LLVMValueRef by = extreme(p, "llvm.umin", unused, roc_cg_i64(cg, 63)); /* or no bit at all */
  return (interval){zero, LLVMBuildLShr(cg->b, roc_cg_i64(cg, -1), by, "")};
}

/* a // by, of a positive `by`. */
static LLVMValueRef floor_of(roc_cg *cg, LLVMValueRef a, LLVMValueRef by) {
  LLVMValueRef rest = LLVMBuildSRem(cg->b, a, by, "");
  LLVMValueRef below = LLVMBuildAShr(cg->b, rest, roc_cg_i64(cg, 63), "");
  return LLVMBuildAdd(cg->b, LLVMBuildSDiv(cg->b, a, by, ""), below, "");
}

/* What a division is by: the group goes the cold way where that is not positive. */
static LLVMValueRef divisor_of(preflight *p, uint32_t id) {
  LLVMValueRef by = cpu_group_value(p->s, arg_of(p, id, 1)), zero = roc_cg_i64(p->s->cg, 0);
  require(p, LLVMBuildICmp(p->s->cg->b, LLVMIntSGT, by, zero, ""));
  return extreme(p, "llvm.smax", by, roc_cg_i64(p->s->cg, 1)); /* in any case no trap */
}

/* Grows with a. */
static interval interval_of_quotient(preflight *p, uint32_t id) {
  interval a = interval_of(p, arg_of(p, id, 0));
  LLVMValueRef by = divisor_of(p, id);
  return (interval){floor_of(p->s->cg, a.low, by), floor_of(p->s->cg, a.high, by)};
}

static interval interval_of_binary(preflight *p, uint32_t id) {
  const roc_ir_inst *inst = inst_of(p, id);
  interval a = interval_of(p, arg_of(p, id, 0)), b = interval_of(p, arg_of(p, id, 1));
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_ADD:
      return (interval){exactly(p, "llvm.sadd.with.overflow", a.low, b.low),
                        exactly(p, "llvm.sadd.with.overflow", a.high, b.high)};
    case ROC_IR_SUB:
      return (interval){exactly(p, "llvm.ssub.with.overflow", a.low, b.high),
                        exactly(p, "llvm.ssub.with.overflow", a.high, b.low)};
    case ROC_IR_MUL: return interval_of_product(p, a, b);
    case ROC_IR_BXOR: return interval_of_xor(p, a, b);
    case ROC_IR_SHR: return interval_of_shift(p, a, b);
    case ROC_IR_MIN:
      return (interval){extreme(p, "llvm.smin", a.low, b.low),
                        extreme(p, "llvm.smin", a.high, b.high)};
    default: /* MAX */
      return (interval){extreme(p, "llvm.smax", a.low, b.low),
                        extreme(p, "llvm.smax", a.high, b.high)};
  }
}

/* Float `id` where the integer below it is `at`.  It has to be a number on the way, too: then it is
 * one for all integers between two such. */
static LLVMValueRef float_at(preflight *p, uint32_t id, LLVMValueRef at) {
  cpu_state *s = p->s;
  roc_cg *cg = s->cg;
  id = resolve(p, id);
  if (inst_of(p, id)->type == ROC_VT_INT) return at;
  uint32_t operand = varying_operand(p, id);
  cg->values[operand] = float_at(p, operand, at);
  s->epochs[operand] = s->epoch;
  LLVMValueRef value = roc_cg_expr(cg, id);
  LLVMTypeRef type = LLVMTypeOf(value);
  LLVMValueRef size = roc_cg_intrinsic(cg, "llvm.fabs", &type, 1, &value, 1);
  LLVMValueRef infinity = LLVMConstReal(type, HUGE_VAL);
  require(p, LLVMBuildFCmp(cg->b, LLVMRealOLT, size, infinity, ""));
  return value;
}

/* A float for the ends of the interval below, which have to fit into integers. */
static void float_ends(preflight *p, uint32_t id, LLVMValueRef ends[2]) {
  cpu_state *s = p->s;
  roc_cg *cg = s->cg;
  unsigned nodes = MAX_NODES;
  interval below = interval_of(p, integer_below(p, id, &nodes));
  for (unsigned n = 0; n < 2; n++) {
    s->epoch++;
    LLVMValueRef value = float_at(p, id, n == 0 ? below.low : below.high);
    LLVMTypeRef type = LLVMTypeOf(value);
    LLVMValueRef size = roc_cg_intrinsic(cg, "llvm.fabs", &type, 1, &value, 1);
    LLVMValueRef fits = LLVMBuildFCmp(cg->b, LLVMRealOLT, size, LLVMConstReal(type, 0x1p62), "");
    require(p, fits);
    ends[n] = LLVMBuildSelect(cg->b, fits, value, LLVMConstNull(type), ""); /* no poison */
  }
  s->epoch++;
}

static interval interval_of_rounded(preflight *p, uint32_t id) {
  roc_cg *cg = p->s->cg;
  LLVMValueRef ends[2];
  float_ends(p, arg_of(p, id, 0), ends);
  for (unsigned n = 0; n < 2; n++) {
    const char *name = inst_of(p, id)->op == ROC_IR_FLOOR ? "llvm.floor" : "llvm.ceil";
    LLVMTypeRef type = LLVMTypeOf(ends[n]);
    ends[n] = roc_cg_intrinsic(cg, name, &type, 1, &ends[n], 1);
    ends[n] = LLVMBuildFPToSI(cg->b, ends[n], cg->t.i64, "");
  }
  return (interval){extreme(p, "llvm.smin", ends[0], ends[1]),
                    extreme(p, "llvm.smax", ends[0], ends[1])};
}

static interval interval_by_op(preflight *p, uint32_t id) {
  cpu_state *s = p->s;
  const roc_ir_inst *inst = inst_of(p, id);
  if (is_fixed(p, id)) {
    LLVMValueRef value = cpu_group_value(s, id);
    return (interval){value, value};
  }
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_GLOBAL_ID:
    case ROC_IR_LOCAL_ID: return interval_of_id(p, inst);
    case ROC_IR_GET: return interval_of_counter(p, s->plan.for_of[inst->aux]);
    case ROC_IR_BAND:
      return (interval){roc_cg_i64(s->cg, 0), roc_cg_i64(s->cg, inst_of(p, arg_of(p, id, 1))->k.i)};
    case ROC_IR_MOD: {
      LLVMValueRef one = roc_cg_i64(s->cg, 1);
      return (interval){roc_cg_i64(s->cg, 0), LLVMBuildSub(s->cg->b, divisor_of(p, id), one, "")};
    }
    case ROC_IR_FLOORDIV: return interval_of_quotient(p, id);
    case ROC_IR_FLOOR:
    case ROC_IR_CEIL: return interval_of_rounded(p, id);
    default: return interval_of_binary(p, id);
  }
}

/* ---- facts ------------------------------------------------------------------------------- */

/* The two are the same computation. */
static bool is_same(const preflight *p, uint32_t a, uint32_t b, int depth) {
  a = resolve(p, a);
  b = resolve(p, b);
  if (a == b) return true;
  const roc_ir_inst *x = inst_of(p, a), *y = inst_of(p, b);
  if (depth == 0 || x->op != y->op || x->aux != y->aux || x->nargs != y->nargs) return false;
  if (x->op == ROC_IR_GET) {
    const cpu_plan *plan = &p->s->plan;
    bool is_same_read = plan->is_group_var[x->aux] && plan->home[a] == plan->home[b];
    return is_same_read || plan->for_of[x->aux] != ROC_IR_NONE;
  }
  if (!(roc_ir_op_table[x->op].flags & ROC_IRF_PURE) || x->type != y->type) return false;
  bool has_payload = x->op == ROC_IR_CONST || x->op == ROC_IR_EXTENT;
  if (has_payload && x->k.i != y->k.i) return false;
  for (uint32_t n = 0; n < x->nargs; n++) {
    if (!is_same(p, arg_of(p, a, n), arg_of(p, b, n), depth - 1)) return false;
  }
  return true;
}

/* Whether `id` is `base` and a constant more, *by; not where that may wrap around in the group. */
static bool is_offset_from(preflight *p, uint32_t id, uint32_t base, int64_t *by) {
  *by = 0;
  if (is_same(p, id, base, SAME_DEPTH)) return true;
  id = resolve(p, id);
  const roc_ir_inst *inst = inst_of(p, id);
  if (inst->op != ROC_IR_ADD && inst->op != ROC_IR_SUB) return false;
  const roc_ir_inst *k = inst_of(p, resolve(p, arg_of(p, id, 1)));
  if (k->op != ROC_IR_CONST || k->k.i < -INT32_MAX || k->k.i > INT32_MAX) return false;
  if (!is_same(p, arg_of(p, id, 0), base, SAME_DEPTH) || !is_computable(p, id)) return false;
  *by = inst->op == ROC_IR_ADD ? k->k.i : -k->k.i;
  interval_of(p, id); /* the group goes the cold way when it overflows */
  return true;
}

/* a <= b + slack is known, slack 0 or -1: narrows the interval of `id` when it is one of the two,
 * but for a constant, or their difference. */
static void narrow_by_order(preflight *p, uint32_t id, interval *i, uint32_t a, uint32_t b,
                            int64_t slack) {
  roc_cg *cg = p->s->cg;
  int64_t by;
  bool is_difference = inst_of(p, id)->op == ROC_IR_SUB;
  if (is_difference && is_same(p, arg_of(p, id, 0), b, SAME_DEPTH) &&
      is_same(p, arg_of(p, id, 1), a, SAME_DEPTH)) {
    i->low = extreme(p, "llvm.smax", i->low, roc_cg_i64(cg, -slack));
  }
  if (is_computable(p, b) && is_offset_from(p, a, id, &by)) {
    LLVMValueRef above = roc_cg_i64(cg, slack - by);
    LLVMValueRef most = extreme(p, "llvm.sadd.sat", interval_of(p, b).high, above);
    i->high = extreme(p, "llvm.smin", i->high, most);
  }
  if (is_computable(p, a) && is_offset_from(p, b, id, &by)) {
    LLVMValueRef below = roc_cg_i64(cg, slack + by);
    LLVMValueRef least = extreme(p, "llvm.ssub.sat", interval_of(p, a).low, below);
    i->low = extreme(p, "llvm.smax", i->low, least);
  }
}

/* (id - k) % m == rest is known, k a constant: the greatest such id. */
static void narrow_by_multiple(preflight *p, uint32_t id, interval *i, uint32_t mod,
                               uint32_t rest) {
  roc_cg *cg = p->s->cg;
  const roc_ir_inst *inst = inst_of(p, resolve(p, mod));
  if (inst->op != ROC_IR_MOD || !is_fixed(p, rest)) return;
  uint32_t of = resolve(p, roc_ir_arg(cg->ir, inst, 0)), by = roc_ir_arg(cg->ir, inst, 1);
  if (!is_fixed(p, by)) return;
  LLVMValueRef less = roc_cg_i64(cg, 0);
  if (!is_same(p, of, id, SAME_DEPTH)) {
    const roc_ir_inst *sub = inst_of(p, of);
    if (sub->op != ROC_IR_SUB || !is_same(p, arg_of(p, of, 0), id, SAME_DEPTH)) return;
    const roc_ir_inst *k = inst_of(p, arg_of(p, of, 1));
    if (k->op != ROC_IR_CONST || k->k.i < 0 || k->k.i > INT32_MAX) return;
    less = roc_cg_i64(cg, k->k.i);
  }
  LLVMValueRef one = roc_cg_i64(cg, 1), zero = roc_cg_i64(cg, 0);
  LLVMValueRef width = cpu_group_value(p->s, by), of_rest = cpu_group_value(p->s, rest);
  /* Where all of it is small and positive; elsewhere nothing is known. */
  LLVMValueRef above = LLVMBuildSub(cg->b, LLVMBuildSub(cg->b, i->high, less, ""), of_rest, "");
  LLVMValueRef is_plain = LLVMBuildICmp(cg->b, LLVMIntSGE, above, zero, "");
  LLVMValueRef most = roc_cg_i64(cg, INT32_MAX);
  const LLVMValueRef small[] = {i->high, width, of_rest};
  for (unsigned n = 0; n < 3; n++) {
    LLVMValueRef fits = LLVMBuildICmp(cg->b, LLVMIntULE, small[n], most, "");
    is_plain = LLVMBuildAnd(cg->b, is_plain, fits, "");
  }
  width = extreme(p, "llvm.umax", width, one);
  LLVMValueRef beyond = LLVMBuildURem(cg->b, above, width, "");
  i->high = LLVMBuildSub(cg->b, i->high, LLVMBuildSelect(cg->b, is_plain, beyond, zero, ""), "");
}

static bool is_const_bool(const preflight *p, uint32_t id, bool value) {
  const roc_ir_inst *inst = inst_of(p, id);
  return inst->op == ROC_IR_CONST && inst->type == ROC_VT_BOOL && (inst->k.i != 0) == value;
}

static void narrow_by(preflight *p, uint32_t id, interval *i, uint32_t cond, bool truth) {
  cond = resolve(p, cond);
  const roc_ir_inst *inst = inst_of(p, cond);
  if (inst->op == ROC_IR_NOT) {
    narrow_by(p, id, i, arg_of(p, cond, 0), !truth);
    return;
  }
  if (inst->op == ROC_IR_SELECT) { /* `and` when it is true, `or` when it is false */
    uint32_t other = arg_of(p, cond, truth ? 1 : 2);
    if (!is_const_bool(p, arg_of(p, cond, truth ? 2 : 1), !truth)) return;
    narrow_by(p, id, i, arg_of(p, cond, 0), truth);
    narrow_by(p, id, i, other, truth);
    return;
  }
  if (inst->op != ROC_IR_LE && inst->op != ROC_IR_LT && inst->op != ROC_IR_EQ) return;
  uint32_t a = arg_of(p, cond, 0), b = arg_of(p, cond, 1);
  if (inst_of(p, a)->type != ROC_VT_INT) return;
  if (inst->op == ROC_IR_EQ) {
    if (!truth) return;
    narrow_by_multiple(p, id, i, a, b);
    narrow_by_order(p, id, i, a, b, 0);
    narrow_by_order(p, id, i, b, a, 0);
  } else if (truth) {
    narrow_by_order(p, id, i, a, b, inst->op == ROC_IR_LT ? -1 : 0);
  } else {
    narrow_by_order(p, id, i, b, a, inst->op == ROC_IR_LE ? -1 : 0);
  }
}

static interval interval_of(preflight *p, uint32_t id) {
  id = resolve(p, id);
  bool is_plain = p->is_narrowing || !p->nfacts;
  if (is_plain && p->plain[id].low) return p->plain[id];
  interval i = interval_by_op(p, id);
  if (is_plain) {
    p->plain[id] = i;
    return i;
  }
  p->is_narrowing = true;
  for (unsigned f = 0; f < p->nfacts; f++) {
    narrow_by(p, id, &i, p->facts[f].cond, p->facts[f].truth);
  }
  p->is_narrowing = false;
  return i;
}

/* ---- the walk ---------------------------------------------------------------------------- */

static void add_fact(preflight *p, uint32_t cond, bool truth) {
  if (p->nfacts < MAX_FACTS) p->facts[p->nfacts++] = (fact){cond, truth};
}

/* Index `value`, at most the extent of `array` in dimension `dim`. */
static void require_index(preflight *p, uint32_t value, uint32_t array, uint32_t dim) {
  roc_cg *cg = p->s->cg;
  interval i = interval_of(p, value);
  LLVMValueRef extent = roc_cg_extent(cg, array, dim);
  require(p, LLVMBuildICmp(cg->b, LLVMIntSGE, i.low, roc_cg_i64(cg, 1), ""));
  require(p, LLVMBuildICmp(cg->b, LLVMIntSLE, i.high, extent, ""));
}

/* The inspector loads before any check has been made. */
static void settle_load(preflight *p, uint32_t id) {
  const roc_ir_inst *inst = inst_of(p, id);
  for (uint32_t n = 0; n < inst->nargs; n++) {
    if (!is_computable(p, arg_of(p, id, n))) return; /* it compares all of them itself */
  }
  for (uint32_t n = 0; n < inst->nargs; n++) require_index(p, arg_of(p, id, n), inst->aux, n);
}

static void settle_check(preflight *p, uint32_t id) {
  const roc_ir_inst *inst = inst_of(p, id);
  bool is_inspected = p->s->is_inspected && p->s->is_inspected[id];
  if (p->is_late) { /* all of them have been promised */
    if (p->these[id]) require_index(p, arg_of(p, id, 0), inst->aux, (uint32_t)inst->k.i);
    return;
  }
  if (is_inspected || p->nchecks == MAX_CHECKS || !is_answerable(p, id)) return;
  p->nchecks++;
  if (inst->op == ROC_IR_CHECK_INT) {
    LLVMValueRef ends[2];
    float_ends(p, arg_of(p, id, 0), ends);
  } else {
    require_index(p, arg_of(p, id, 0), inst->aux, (uint32_t)inst->k.i);
  }
  p->s->is_settled[id] = true;
}

static bool falls_through(const preflight *p, uint32_t region) {
  const roc_ir_ids *ids = &p->s->cg->ir->regions.items[region];
  return !ids->count || !roc_ir_ends_region(inst_of(p, roc_vec_last(ids)));
}

static void walk_region(preflight *p, uint32_t region);

static bool needs_load(const cpu_state *s, uint32_t id) {
  return s->inspector_needs && s->inspector_needs[id];
}

static void walk_if(preflight *p, uint32_t id) {
  const roc_ir_inst *inst = inst_of(p, id);
  uint32_t cond = arg_of(p, id, 0);
  for (unsigned r = 0; r < 2; r++) {
    unsigned mark = p->nfacts;
    add_fact(p, cond, r == 0);
    walk_region(p, inst->k.region[r]);
    p->nfacts = mark;
  }
  if (!falls_through(p, inst->k.region[0])) add_fact(p, cond, false);
  if (!falls_through(p, inst->k.region[1])) add_fact(p, cond, true);
}

static void walk_region(preflight *p, uint32_t region) {
  const roc_ir_ids *ids = &p->s->cg->ir->regions.items[region];
  unsigned mark = p->nfacts;
  for (uint32_t i = 0; i < ids->count; i++) {
    const roc_ir_inst *inst = inst_of(p, ids->items[i]);
    if (inst->op == ROC_IR_CHECK_INDEX || inst->op == ROC_IR_CHECK_INT) {
      settle_check(p, ids->items[i]);
    } else if (inst->op == ROC_IR_LOAD && !p->is_late && needs_load(p->s, ids->items[i])) {
      settle_load(p, ids->items[i]);
    } else if (inst->op == ROC_IR_IF) {
      walk_if(p, ids->items[i]);
    } else if (roc_ir_has_regions(inst)) {
      walk_region(p, inst->k.region[0]);
    }
  }
  p->nfacts = mark;
}

bool cpu_preflight_may(const cpu_state *s) {
  return s->cg->ir->insts.count <= MAX_INSTS;
}

bool cpu_preflight_computes(const cpu_state *s, uint32_t id) {
  preflight p = {.s = (cpu_state *)s};
  return is_computable(&p, id);
}

bool cpu_preflight_settles(const cpu_state *s, uint32_t id) {
  preflight p = {.s = (cpu_state *)s};
  return is_answerable(&p, id);
}

/* Whether the index has a difference to something that changes in the group's loops: what varies
 * together, an interval does not show. */
static bool has_loose_part(const preflight *p, uint32_t id, unsigned depth) {
  id = resolve(p, id);
  const roc_ir_inst *inst = inst_of(p, id);
  if (depth == 0 || inst->op == ROC_IR_GET) return false;
  if (inst->op == ROC_IR_SUB && !p->s->plan.is_stable[arg_of(p, id, 1)]) return true;
  for (uint32_t n = 0; n < inst->nargs; n++) {
    if (has_loose_part(p, arg_of(p, id, n), depth - 1)) return true;
  }
  return false;
}

bool cpu_preflight_is_late(const cpu_state *s, uint32_t id) {
  const roc_ir_inst *inst = &s->cg->ir->insts.items[id];
  preflight p = {.s = (cpu_state *)s, .is_late = true};
  if (inst->op != ROC_IR_CHECK_INDEX) return false;
  uint32_t index = roc_ir_arg(s->cg->ir, inst, 0);
  if (!is_computable(&p, index)) return false;
  return !cpu_preflight_computes(s, index) || has_loose_part(&p, index, SAME_DEPTH);
}

static bool begin(preflight *p, cpu_state *s) {
  *p = (preflight){.s = s};
  p->plain = ROC_ARENA_ARRAY(&s->cg->arena, interval, s->cg->ir->insts.count + 1);
  return p->plain;
}

LLVMValueRef cpu_preflight_late(cpu_state *s, const bool *these) {
  preflight p;
  if (!begin(&p, s)) return NULL;
  p.is_late = true;
  p.these = these;
  walk_region(&p, 0);
  return p.ok;
}

LLVMValueRef cpu_preflight(cpu_state *s) {
  preflight p;
  if (!cpu_preflight_may(s) || !begin(&p, s)) return NULL;
  walk_region(&p, 0);
  return p.ok;
}

bool cpu_preflight_settles_all(cpu_state *s) {
  preflight p = {.s = s};
  const roc_ir_module *ir = s->cg->ir;
  if (!cpu_preflight_may(s)) return false;
  for (uint32_t id = 0; id < ir->insts.count; id++) {
    const roc_ir_inst *inst = &ir->insts.items[id];
    uint16_t flags = roc_ir_op_table[inst->op].flags;
    if (!s->plan.home[id] || !(flags & ROC_IRF_STOP) || (flags & ROC_IRF_CONTROL)) continue;
    if (s->is_inspected && s->is_inspected[id]) continue;
    if (++p.nchecks > MAX_CHECKS || !is_answerable(&p, id)) return false;
  }
  return true;
}

/* ---- divisions ----------------------------------------------------------------------------- */

static void require_below(preflight *p, LLVMValueRef value, int64_t most) {
  roc_cg *cg = p->s->cg;
  LLVMValueRef from_least = LLVMBuildAdd(cg->b, value, roc_cg_i64(cg, most), "");
  require(p, LLVMBuildICmp(cg->b, LLVMIntULT, from_least, roc_cg_i64(cg, 2 * most), ""));
}

/* What indices are computed of.  NULL when memory is out. */
static const bool *find_indices(const preflight *p) {
  const roc_ir_module *ir = p->s->cg->ir;
  bool *is_index = ROC_ARENA_ARRAY(&p->s->cg->arena, bool, ir->insts.count + 1);
  for (uint32_t id = ir->insts.count; is_index && id-- > 0;) {
    const roc_ir_inst *inst = inst_of(p, id);
    bool has_index =
        inst->op == ROC_IR_LOAD || inst->op == ROC_IR_STORE || inst->op == ROC_IR_ATOMIC;
    uint32_t from = inst->op == ROC_IR_STORE; /* after the value */
    for (uint32_t n = from; (has_index || is_index[id]) && n < inst->nargs; n++) {
      is_index[resolve(p, arg_of(p, id, n))] = true;
    }
  }
  return is_index;
}

/* Wherever the division stands: it may be recomputed for items that do not come there.  Without
 * AVX-512, LLVM computes the addresses of scattered elements one by one, which integers are better
 * at: they are divided by a product. */
LLVMValueRef cpu_preflight_divisions(cpu_state *s) {
  preflight p;
  if (!begin(&p, s)) return NULL;
  const roc_ir_module *ir = s->cg->ir;
  bool scatters = roc_processor_has(s->cg->tm, "avx512f");
  const bool *is_index = scatters ? NULL : find_indices(&p);
  if (!scatters && !is_index) return NULL;
  if (!roc_processor_has(s->cg->tm, "avx2")) return NULL; /* nor has it vectors of these */
  if (ir->insts.count > MAX_DIVIDING_INSTS || s->cg->options->opt_level == 0) return NULL;
  for (uint32_t id = 0; id < ir->insts.count; id++) {
    const roc_ir_inst *inst = &ir->insts.items[id];
    if (!s->plan.home[id] || s->plan.is_uniform[id] || !cpu_divides(s, inst)) continue;
    uint32_t a = roc_ir_arg(ir, inst, 0), by = roc_ir_arg(ir, inst, 1);
    if (!is_fixed(&p, by) || !is_computable(&p, a)) continue;
    bool is_one_by_one = !scatters && is_index[id];
    int64_t most = is_one_by_one ? CPU_SMALLEST : CPU_SMALLER;
    s->divides_small[id] = is_one_by_one ? CPU_DIVIDES_INTEGERS : CPU_DIVIDES_FLOATS;
    interval i = interval_of(&p, a);
    require_below(&p, i.low, most);
    require_below(&p, i.high, most);
    require_below(&p, divisor_of(&p, id), most);
  }
  return p.ok;
}

/* Which instructions can still end an item when what is settled is left out. */
static void find_stops(cpu_state *s, bool *stops) {
  roc_ir_walk w;
  ROC_IR_FOR_EACH_INNER_FIRST(w, s->cg->ir, 0) {
    uint32_t around = roc_ir_walk_around(&w);
    if (!roc_ir_has_regions(w.inst)) stops[w.id] = s->plan.stops[w.id] && !cpu_is_settled(s, w.id);
    if (around != ROC_IR_NONE) stops[around] |= stops[w.id];
  }
}

bool *cpu_preflight_stops(cpu_state *s) {
  bool *stops = ROC_ARENA_ARRAY(&s->cg->arena, bool, s->cg->ir->insts.count + 1);
  if (stops) find_stops(s, stops);
  return stops;
}
