/* Checks that depend on what memory holds, made for a whole workgroup before it begins.
 *
 * The interval of `idx[i]` is in no operation that the preflight could look at.  Left where it is,
 * the check of `x[idx[i]]` makes a branch of each item, and keeps vectors out.  So the items of a
 * group run twice: first as an inspector, the part of the kernel that computes such indices and
 * conditions and nothing else, which keeps the largest index of each extent; then, where all fit,
 * without these checks.  Otherwise the group runs the cold version, which reports.  The inspector
 * is a loop that LLVM makes vectors of, and costs the loads of the indices once more.  It is left
 * out where the extents hold whatever the elements are: 256 for a byte.
 *
 * Indices that the preflight knows late are checked by it as well, for all items at once: of that
 * the inspector has the loops and variables of the group, and nothing of the items.
 *
 * Invariant: it stores nothing but variables, which the kernel sets again, and loads only what the
 * kernel does not write, at indices that the preflight has settled, or that it compares itself.  So
 * an item may go on in it after a check of it has failed. */
#include "codegen/cpu/cpu.h"
#include "ir/walk.h"

enum {
  MAX_LOADS = 16,
  MAX_CELLS = 8,        /* largest indices; other checks share one flag */
  MAX_ADDEND = 1 << 20, /* `idx[i] + 1` */
  MOST_STEPS = 4,
  NO_CELL = 0xff
};

/* The largest of all `index - 1`, as unsigned numbers, in one extent. */
typedef struct worst_index {
  uint32_t array, dim;
  uint32_t load;  /* narrow: an element of at most 32 bits; else NONE */
  int64_t addend; /* narrow: index = element + addend */
  LLVMValueRef cell;
} worst_index;

struct cpu_inspection {
  bool *is_check;      /* per instruction: the inspector makes it */
  bool *is_late;       /* per check: for all items of a run at once */
  bool *these;         /* those of the run that begins */
  bool *left_out;      /* per instruction: no part of it */
  bool *stops;         /* as plan.stops, in it */
  bool *stops_outside; /* plan.stops, meanwhile */
  uint8_t *cell_of;    /* per check: which of `worst`, or NO_CELL */
  worst_index worst[MAX_CELLS];
  unsigned nworst;
  LLVMValueRef bad; /* alloca i32: not 0 where another check has failed */
  LLVMBasicBlockRef end;
};

static const roc_ir_inst *inst_of(const cpu_state *s, uint32_t id) {
  return &s->cg->ir->insts.items[id];
}

static uint32_t arg_of(const cpu_state *s, uint32_t id, uint32_t n) {
  return roc_ir_arg(s->cg->ir, inst_of(s, id), n);
}

/* ---- what it can do ------------------------------------------------------------------------ */

typedef struct finder {
  cpu_state *s;
  uint32_t count;
  uint32_t *owner;           /* per instruction: the statement around it, or NONE */
  bool *can, *can_var;       /* what can be part of an inspector */
  bool *needed, *needed_var; /* what is */
  uint32_t *todo;            /* needed, but not what it takes */
  uint32_t ntodo;
  bool *is_late;  /* per check: the preflight makes it in the inspector */
  bool has_items; /* items have something to do in it */
} finder;

static ROC_IR_WALKS void find_owners(finder *f) {
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, f->s->cg->ir, 0) f->owner[w.id] = roc_ir_walk_around(&w);
}

/* Checks and error(…), but not what leaves a statement. */
static bool is_check(const roc_ir_inst *inst) {
  uint16_t flags = roc_ir_op_table[inst->op].flags;
  return (flags & ROC_IRF_STOP) && !(flags & ROC_IRF_CONTROL);
}

/* How many of its operands the inspector needs: values that are only reported it does not. */
static uint32_t count_args(const roc_ir_inst *inst) {
  if (inst->op == ROC_IR_FAIL) return 0;
  return inst->op == ROC_IR_CHECK ? 1 : inst->nargs;
}

/* What takes longer than the vectors save. */
static bool is_expensive(const cpu_state *s, const roc_ir_inst *inst) {
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_MATH:
    case ROC_IR_POW:
    case ROC_IR_FDIV: return true;
    case ROC_IR_FLOORDIV:
    case ROC_IR_MOD: return inst_of(s, roc_ir_arg(s->cg->ir, inst, 1))->op != ROC_IR_CONST;
    default: return false;
  }
}

bool cpu_is_never_written(const cpu_state *s, uint32_t a) {
  const roc_ir_array *array = &s->cg->ir->arrays.items[a];
  if (array->kind == ROC_IR_ARRAY_CONST) return true;
  if (array->kind != ROC_IR_ARRAY_PARAM) return false;
  const roc_ir_param *param = &s->cg->ir->params.items[array->param];
  return !param->is_written && !param->type.is_alias;
}

static bool can_do(const finder *f, uint32_t id) {
  const cpu_state *s = f->s;
  const roc_ir_inst *inst = inst_of(s, id);
  if (f->owner[id] != ROC_IR_NONE && !f->can[f->owner[id]]) return false;
  for (uint32_t n = 0; n < count_args(inst); n++) {
    if (!f->can[arg_of(s, id, n)]) return false;
  }
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_GET: return f->can_var[inst->aux];
    case ROC_IR_LOAD: return cpu_is_never_written(s, inst->aux);
    case ROC_IR_LOOP: return s->plan.cuts[id] & ROC_IRF_CUT_GROUP; /* others may not end */
    case ROC_IR_SET:
    case ROC_IR_IF:
    case ROC_IR_BLOCK:
    case ROC_IR_FOR:
    case ROC_IR_LEAVE:
    case ROC_IR_NEXT:
    case ROC_IR_RETURN: return true;
    default: break;
  }
  bool is_pure = roc_ir_op_table[inst->op].flags & ROC_IRF_PURE;
  return is_check(inst) || (is_pure && !is_expensive(s, inst));
}

/* Starts from all that there is, and takes away until nothing changes. */
static void find_possible(finder *f) {
  const roc_ir_module *ir = f->s->cg->ir;
  for (uint32_t id = 0; id < f->count; id++) f->can[id] = f->s->plan.home[id] != ROC_CPU_NO_RUN;
  for (uint32_t v = 0; v < ir->vars.count; v++) f->can_var[v] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t id = 0; id < f->count; id++) {
      if (!f->can[id] || can_do(f, id)) continue;
      f->can[id] = false;
      changed = true;
      const roc_ir_inst *inst = inst_of(f->s, id);
      if (inst->op == ROC_IR_SET || inst->op == ROC_IR_FOR) f->can_var[inst->aux] = false;
    }
  }
}

/* ---- what it needs ------------------------------------------------------------------------- */

static void need(finder *f, uint32_t id) {
  if (f->needed[id]) return;
  f->needed[id] = true;
  f->todo[f->ntodo++] = id;
}

static void need_var(finder *f, uint32_t var) {
  if (f->needed_var[var]) return;
  f->needed_var[var] = true;
  for (uint32_t id = 0; id < f->count; id++) {
    const roc_ir_inst *inst = inst_of(f->s, id);
    bool sets = inst->op == ROC_IR_SET || inst->op == ROC_IR_FOR;
    if (sets && inst->aux == var && f->s->plan.home[id]) need(f, id);
  }
}

static void need_operands(finder *f) {
  while (f->ntodo > 0) {
    uint32_t id = f->todo[--f->ntodo];
    const roc_ir_inst *inst = inst_of(f->s, id);
    for (uint32_t n = 0; n < count_args(inst); n++) need(f, arg_of(f->s, id, n));
    if (f->owner[id] != ROC_IR_NONE) need(f, f->owner[id]);
    if (inst->op == ROC_IR_GET) need_var(f, inst->aux);
  }
}

/* Whether a loop of the group is around it. */
static bool is_in_group_loop(const finder *f, uint32_t id) {
  for (uint32_t at = f->owner[id]; at != ROC_IR_NONE; at = f->owner[at]) {
    roc_ir_op op = inst_of(f->s, at)->op;
    bool is_loop = op == ROC_IR_LOOP || op == ROC_IR_FOR;
    if (is_loop && (f->s->plan.cuts[at] & ROC_IRF_CUT_GROUP)) return true;
  }
  return false;
}

/* Whether items that take it miss a part of the inspector. */
static bool is_way_out(const finder *f, uint32_t id) {
  const roc_ir_inst *inst = inst_of(f->s, id);
  bool leaves = inst->op == ROC_IR_LEAVE || inst->op == ROC_IR_NEXT;
  if (leaves) return f->needed[inst->aux];
  bool is_awaited = f->has_items || is_in_group_loop(f, id) || (f->s->plan.cuts[id] & CPU_CUT_ONCE);
  return roc_ir_ends_region(inst) && is_awaited;
}

/* Adds the ways out; false when one depends on what the inspector does not know. */
static bool need_ways_out(finder *f) {
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t id = 0; id < f->count; id++) {
      if (!f->s->plan.home[id] || f->needed[id] || !is_way_out(f, id)) continue;
      if (!f->can[id]) return false;
      need(f, id);
      need_operands(f);
      changed = true;
    }
  }
  return true;
}

/* Whether a loop is around it that an item goes through by itself, for as long as it likes.  LLVM
 * makes no vectors of the loop's run, and an inspector would go through the loop once more. */
static bool is_in_loop_of_item(const finder *f, uint32_t id) {
  for (uint32_t at = f->owner[id]; at != ROC_IR_NONE; at = f->owner[at]) {
    const roc_ir_inst *inst = inst_of(f->s, at);
    bool is_for = inst->op == ROC_IR_FOR && !cpu_is_short_for(f->s->cg->ir, inst);
    if ((is_for || inst->op == ROC_IR_LOOP) && !f->s->plan.cuts[at]) return true;
  }
  return false;
}

/* A check that stays where it is in a run keeps its loop from becoming vectors anyway. */
static bool *find_spoiled_runs(finder *f) {
  cpu_state *s = f->s;
  bool *is_spoiled = ROC_ARENA_ARRAY(&s->cg->arena, bool, s->plan.nruns + 1);
  if (!is_spoiled) return NULL;
  for (uint32_t id = 0; id < f->count; id++) {
    const roc_ir_inst *inst = inst_of(s, id);
    if (!s->plan.home[id] || !is_check(inst) || inst->op == ROC_IR_FAIL) continue;
    if (f->can[id] && !is_in_loop_of_item(f, id)) continue;
    if (!cpu_preflight_settles(s, id) && !f->is_late[id]) is_spoiled[s->plan.home[id]] = true;
  }
  return is_spoiled;
}

/* The statement of the group in whose list it, or what it is a part of, stands; or NONE. */
static uint32_t group_owner(const finder *f, uint32_t id) {
  uint32_t at = f->owner[id];
  while (at != ROC_IR_NONE && !(f->s->plan.cuts[at] & ROC_IRF_CUT_GROUP)) at = f->owner[at];
  return at;
}

static void find_late(finder *f) {
  for (uint32_t id = 0; id < f->count; id++) {
    if (!f->s->plan.home[id] || !is_in_group_loop(f, id)) continue;
    uint32_t owner = group_owner(f, id);
    f->is_late[id] = f->can[owner] && cpu_preflight_is_late(f->s, id);
  }
}

/* What the group computes, and its ways to the checks. */
static bool need_late(finder *f, const bool *is_spoiled, bool *is_made) {
  bool any = false;
  for (uint32_t id = 0; id < f->count; id++) {
    if (!f->is_late[id] || is_spoiled[f->s->plan.home[id]]) continue;
    any = is_made[id] = true;
    need(f, group_owner(f, id));
  }
  for (uint32_t id = 0; any && id < f->count; id++) {
    bool is_set = inst_of(f->s, id)->op == ROC_IR_SET && (f->s->plan.cuts[id] & CPU_CUT_ONCE);
    if (is_set && f->s->plan.home[id]) need(f, id);
  }
  return any;
}

static bool need_checks(finder *f, bool *is_made) {
  bool *is_spoiled = find_spoiled_runs(f);
  if (!is_spoiled) return false;
  bool any = need_late(f, is_spoiled, is_made);
  for (uint32_t id = 0; id < f->count; id++) {
    if (f->is_late[id]) continue;
    const roc_ir_inst *inst = inst_of(f->s, id);
    if (!f->can[id] || !is_check(inst) || inst->op == ROC_IR_FAIL) continue;
    if (is_spoiled[f->s->plan.home[id]] || cpu_preflight_settles(f->s, id)) continue;
    any = is_made[id] = f->has_items = true;
    need(f, id);
  }
  need_operands(f);
  return any;
}

static unsigned weigh(const roc_ir_inst *inst) {
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_CONST:
    case ROC_IR_GET:
    case ROC_IR_SET: return 0;
    case ROC_IR_LOAD:
    case ROC_IR_STORE: return 2;
    case ROC_IR_ATOMIC:
    case ROC_IR_WAVE:
    case ROC_IR_POW:
    case ROC_IR_MATH: return 8;
    default: return !is_check(inst) && !roc_ir_has_regions(inst);
  }
}

/* Not where it would be most of the kernel, as when an index is a hash. */
static bool is_worthwhile(const finder *f) {
  unsigned whole = 0, part = 0, nloads = 0;
  for (uint32_t id = 0; id < f->count; id++) {
    const roc_ir_inst *inst = inst_of(f->s, id);
    if (!f->s->plan.home[id] || f->s->plan.is_uniform[id]) continue;
    whole += weigh(inst);
    if (!f->needed[id]) continue;
    part += weigh(inst);
    nloads += inst->op == ROC_IR_LOAD;
  }
  return nloads <= MAX_LOADS && 3 * part <= 2 * whole;
}

static ROC_IR_WALKS void find_stops(finder *f, bool *stops) {
  roc_ir_walk w;
  ROC_IR_FOR_EACH_INNER_FIRST(w, f->s->cg->ir, 0) {
    uint32_t around = roc_ir_walk_around(&w);
    bool is_return = w.inst->op == ROC_IR_RETURN && f->s->plan.stops[w.id];
    bool ends = is_return || w.inst->op == ROC_IR_FAIL;
    if (!roc_ir_has_regions(w.inst)) stops[w.id] = f->needed[w.id] && ends;
    if (around != ROC_IR_NONE) stops[around] |= stops[w.id];
  }
}

bool cpu_inspect_plan(cpu_state *s) {
  const roc_ir_module *ir = s->cg->ir;
  roc_arena *arena = &s->cg->arena;
  uint32_t count = ir->insts.count, nvars = ir->vars.count + 1;
  if (!ir->check || !cpu_preflight_may(s)) return true;
  finder f = {.s = s, .count = count};
  cpu_inspection *plan = ROC_ARENA_NEW(arena, cpu_inspection);
  f.owner = ROC_ARENA_ARRAY(arena, uint32_t, count + 1);
  f.todo = ROC_ARENA_ARRAY(arena, uint32_t, count + 1);
  f.can = ROC_ARENA_ARRAY(arena, bool, count + 1);
  f.can_var = ROC_ARENA_ARRAY(arena, bool, nvars);
  f.needed = ROC_ARENA_ARRAY(arena, bool, count + 1);
  f.needed_var = ROC_ARENA_ARRAY(arena, bool, nvars);
  f.is_late = ROC_ARENA_ARRAY(arena, bool, count + 1);
  bool *is_made = ROC_ARENA_ARRAY(arena, bool, count + 1);
  bool *these = ROC_ARENA_ARRAY(arena, bool, count + 1);
  bool *stops = ROC_ARENA_ARRAY(arena, bool, count + 1);
  bool *left_out = ROC_ARENA_ARRAY(arena, bool, count + 1);
  uint8_t *cell_of = ROC_ARENA_ARRAY(arena, uint8_t, count + 1);
  if (arena->failed) return false;
  find_owners(&f);
  find_possible(&f);
  find_late(&f);
  bool is_any = need_checks(&f, is_made);
  if (!is_any || !need_ways_out(&f) || !is_worthwhile(&f)) return !arena->failed;
  find_stops(&f, stops);
  for (uint32_t id = 0; id < count; id++) left_out[id] = !f.needed[id];
  *plan = (cpu_inspection){.is_check = is_made,
                           .is_late = f.is_late,
                           .these = these,
                           .left_out = left_out,
                           .stops = stops,
                           .cell_of = cell_of};
  s->inspection = plan;
  s->is_inspected = is_made;
  s->inspector_needs = f.needed;
  return true;
}

void cpu_inspect_never(cpu_state *s) {
  s->inspection = NULL;
  s->is_inspected = s->inspector_needs = NULL;
}

/* ---- its code ------------------------------------------------------------------------------ */

/* Whether index `id` is an integer of at most 32 bits out of memory, or that plus a constant. */
static bool is_narrow(const cpu_state *s, uint32_t id, worst_index *worst) {
  const roc_ir_inst *inst = inst_of(s, id);
  worst->addend = 0;
  if (inst->op == ROC_IR_ADD || inst->op == ROC_IR_SUB) {
    const roc_ir_inst *by = inst_of(s, arg_of(s, id, 1));
    bool is_small = by->op == ROC_IR_CONST && by->k.i > -MAX_ADDEND && by->k.i < MAX_ADDEND;
    if (!is_small) return false;
    worst->addend = inst->op == ROC_IR_ADD ? by->k.i : -by->k.i;
    id = arg_of(s, id, 0);
    inst = inst_of(s, id);
  }
  if (inst->op != ROC_IR_LOAD) return false;
  const roc_dtype_info *info = &roc_dtype_table[s->cg->ir->arrays.items[inst->aux].dtype];
  worst->load = id;
  return info->kind == 'i' && info->itemsize <= 4;
}

/* Whether the index is what a variable has that is set in several places, or a choice; steps: how
 * far back that is looked for.  LLVM takes 0, which is never larger, for a round that leaves the
 * largest as it is, and makes no vectors of that. */
static bool is_chosen(const cpu_state *s, uint32_t id, int steps) {
  const roc_ir_inst *inst = inst_of(s, id);
  if (inst->op == ROC_IR_SELECT) return true;
  if (inst->op == ROC_IR_GET) {
    bool is_counter = s->plan.is_counter[inst->aux] || s->plan.for_of[inst->aux] != ROC_IR_NONE;
    uint32_t set = s->plan.set_once[inst->aux];
    if (set == ROC_IR_NONE) return !is_counter;
    inst = inst_of(s, set);
  }
  bool is_sum = inst->op == ROC_IR_ADD || inst->op == ROC_IR_SUB || inst->op == ROC_IR_SET;
  for (uint32_t n = 0; is_sum && steps > 0 && n < inst->nargs; n++) {
    if (is_chosen(s, roc_ir_arg(s->cg->ir, inst, n), steps - 1)) return true;
  }
  return false;
}

static void place_check(cpu_state *s, cpu_inspection *plan, uint32_t id) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = inst_of(s, id);
  plan->cell_of[id] = NO_CELL;
  if (inst->op != ROC_IR_CHECK_INDEX || is_chosen(s, arg_of(s, id, 0), MOST_STEPS)) return;
  worst_index worst = {.array = inst->aux, .dim = (uint32_t)inst->k.i};
  bool narrow = is_narrow(s, arg_of(s, id, 0), &worst);
  if (!narrow) worst.load = ROC_IR_NONE, worst.addend = 0;
  unsigned n = 0;
  for (; n < plan->nworst; n++) {
    const worst_index *other = &plan->worst[n];
    bool is_same = other->array == worst.array && other->dim == worst.dim &&
                   other->addend == worst.addend && (other->load == ROC_IR_NONE) == !narrow;
    if (is_same) break;
  }
  if (n == MAX_CELLS) return;
  if (n == plan->nworst) {
    worst.cell = roc_cg_alloca(cg, narrow ? cg->t.i32 : cg->t.i64, "worst");
    plan->worst[plan->nworst++] = worst;
  }
  plan->cell_of[id] = (uint8_t)n;
}

static void keep_worst(cpu_state *s, uint32_t id, const worst_index *worst) {
  roc_cg *cg = s->cg;
  worst_index own;
  bool narrow = worst->load != ROC_IR_NONE;
  if (narrow) is_narrow(s, arg_of(s, id, 0), &own);
  LLVMTypeRef type = narrow ? cg->t.i32 : cg->t.i64;
  LLVMValueRef from_0 = cpu_operand(cg, narrow ? own.load : arg_of(s, id, 0));
  if (narrow) from_0 = LLVMBuildTrunc(cg->b, from_0, type, "");
  int64_t addend = worst->addend - 1;
  LLVMValueRef by = LLVMConstInt(type, (unsigned long long)addend, 1);
  LLVMValueRef args[2] = {LLVMBuildLoad2(cg->b, type, worst->cell, ""),
                          LLVMBuildAdd(cg->b, from_0, by, "")};
  LLVMBuildStore(cg->b, roc_cg_intrinsic(cg, "llvm.umax", &type, 1, args, 2), worst->cell);
}

/* An element e of 32 bits plus addend - 1 lies in -2^31 + addend - 1 … 2^31 + addend - 2, and is
 * kept modulo 2^32: what is negative is then at least 2^31 + addend - 1, which nothing else is. */
static LLVMValueRef fits(cpu_state *s, const worst_index *worst) {
  roc_cg *cg = s->cg;
  LLVMValueRef bound = roc_cg_extent(cg, worst->array, worst->dim), most;
  if (worst->load == ROC_IR_NONE) {
    most = LLVMBuildLoad2(cg->b, cg->t.i64, worst->cell, "");
  } else {
    LLVMValueRef args[2] = {bound, roc_cg_i64(cg, (INT64_C(1) << 31) + worst->addend - 1)};
    bound = roc_cg_intrinsic(cg, "llvm.umin", &cg->t.i64, 1, args, 2);
    most = LLVMBuildLoad2(cg->b, cg->t.i32, worst->cell, "");
    most = LLVMBuildZExt(cg->b, most, cg->t.i64, "");
  }
  return LLVMBuildICmp(cg->b, LLVMIntULT, most, bound, "");
}

/* Whether all has been right so far, but that nothing was checked in an extent of 0. */
static LLVMValueRef is_fine(cpu_state *s) {
  roc_cg *cg = s->cg;
  cpu_inspection *plan = s->inspection;
  LLVMValueRef bad = LLVMBuildLoad2(cg->b, cg->t.i32, plan->bad, "");
  LLVMValueRef fine = LLVMBuildICmp(cg->b, LLVMIntEQ, bad, roc_cg_i32(cg, 0), "");
  for (unsigned n = 0; n < plan->nworst; n++) {
    fine = LLVMBuildAnd(cg->b, fine, fits(s, &plan->worst[n]), "");
  }
  return fine;
}

static void note(cpu_state *s, LLVMValueRef is_bad) {
  roc_cg *cg = s->cg;
  LLVMValueRef old = LLVMBuildLoad2(cg->b, cg->t.i32, s->inspection->bad, "");
  LLVMValueRef bit = LLVMBuildZExt(cg->b, is_bad, cg->t.i32, "");
  LLVMBuildStore(cg->b, LLVMBuildOr(cg->b, old, bit, ""), s->inspection->bad);
}

/* The index of each dimension is one that the preflight knows. */
static bool is_settled_load(const cpu_state *s, uint32_t id) {
  uint32_t n = 0;
  while (n < inst_of(s, id)->nargs && cpu_preflight_computes(s, arg_of(s, id, n))) n++;
  return n == inst_of(s, id)->nargs;
}

/* An element, or 0 where there is none. */
static void load_if_there(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = inst_of(s, id);
  LLVMValueRef fits = NULL, one = roc_cg_i64(cg, 1);
  for (uint32_t n = 0; n < inst->nargs; n++) {
    LLVMValueRef from_0 = LLVMBuildSub(cg->b, cpu_operand(cg, arg_of(s, id, n)), one, "");
    LLVMValueRef extent = roc_cg_extent(cg, inst->aux, n);
    LLVMValueRef is_in = LLVMBuildICmp(cg->b, LLVMIntULT, from_0, extent, "");
    fits = fits ? LLVMBuildAnd(cg->b, fits, is_in, "") : is_in;
  }
  LLVMBasicBlockRef there = roc_cg_block(cg, "there"), join = roc_cg_block(cg, "loaded");
  LLVMBasicBlockRef blocks[2] = {LLVMGetInsertBlock(cg->b)};
  roc_cg_branch_likely(cg, fits, there, join);
  roc_cg_at(cg, there);
  LLVMValueRef values[2] = {NULL, roc_cg_load_inst(cg, inst)};
  blocks[1] = LLVMGetInsertBlock(cg->b);
  LLVMBuildBr(cg->b, join);
  roc_cg_at(cg, join);
  values[0] = LLVMConstNull(LLVMTypeOf(values[1]));
  LLVMValueRef value = LLVMBuildPhi(cg->b, LLVMTypeOf(values[1]), "");
  LLVMAddIncoming(value, values, blocks, 2);
  roc_cg_define(cg, id, value);
}

LLVMValueRef cpu_inspect_is_needless(cpu_state *s) {
  roc_cg *cg = s->cg;
  const cpu_inspection *plan = s->inspection;
  LLVMValueRef all = NULL;
  for (uint32_t id = 0; id < cg->ir->insts.count; id++) {
    const roc_ir_inst *inst = inst_of(s, id);
    if (!plan->is_check[id]) continue;
    if (plan->is_late[id] || inst->op != ROC_IR_CHECK_INDEX || !cg->widths.indices) return NULL;
    roc_ir_range index = cg->widths.indices[id];
    if (index.low < 1 || index.high >= INT32_MAX) return NULL;
    LLVMValueRef extent = roc_cg_extent(cg, inst->aux, (uint32_t)inst->k.i);
    LLVMValueRef fits = LLVMBuildICmp(cg->b, LLVMIntSGE, extent, roc_cg_i64(cg, index.high), "");
    all = all ? LLVMBuildAnd(cg->b, all, fits, "") : fits;
  }
  return all;
}

/* Where it stands, of a float; what is computed again elsewhere stays as it is. */
static bool is_rounding(const cpu_state *s, uint32_t id) {
  const roc_ir_inst *inst = inst_of(s, id);
  return (inst->op == ROC_IR_FLOOR || inst->op == ROC_IR_CEIL) && !s->plan.is_remat[id];
}

/* Integers that floats become have to fit into 32 bits here, as indices do: vectors are not
 * converted to 64.  Others are left to the cold version. */
static void round_to_32_bits(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = inst_of(s, id);
  LLVMValueRef value = cpu_operand(cg, arg_of(s, id, 0));
  LLVMTypeRef type = LLVMTypeOf(value);
  const char *name = inst->op == ROC_IR_FLOOR ? "llvm.floor" : "llvm.ceil";
  value = roc_cg_intrinsic(cg, name, &type, 1, &value, 1);
  LLVMValueRef least = LLVMConstReal(type, -0x1p31), end = LLVMConstReal(type, 0x1p31);
  LLVMValueRef fits = LLVMBuildAnd(cg->b, LLVMBuildFCmp(cg->b, LLVMRealOGE, value, least, ""),
                                   LLVMBuildFCmp(cg->b, LLVMRealOLT, value, end, ""), "");
  note(s, LLVMBuildNot(cg->b, fits, ""));
  value = LLVMBuildSelect(cg->b, fits, value, LLVMConstNull(type), "");
  value = LLVMBuildFPToSI(cg->b, value, cg->t.i32, "");
  roc_cg_define(cg, id, LLVMBuildSExt(cg->b, value, cg->t.i64, ""));
}

bool cpu_inspect_inst(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  cpu_inspection *plan = s->inspection;
  const roc_ir_inst *inst = inst_of(s, id);
  if (inst->op == ROC_IR_FAIL) {
    note(s, LLVMConstInt(cg->t.i1, 1, 0));
    roc_cg_goto(cg, cg->exit);
    return true;
  }
  if (inst->op == ROC_IR_LOAD && !is_settled_load(s, id)) {
    load_if_there(s, id);
    return true;
  }
  if (is_rounding(s, id)) {
    round_to_32_bits(s, id);
    return true;
  }
  if (!plan->is_check[id]) return false;
  if (plan->cell_of[id] != NO_CELL) {
    keep_worst(s, id, &plan->worst[plan->cell_of[id]]);
  } else {
    note(s, LLVMBuildNot(cg->b, roc_cg_check_holds(cg, inst), ""));
  }
  return true;
}

void cpu_inspect_run(cpu_state *s, const uint32_t *ids, uint32_t count) {
  cpu_inspection *plan = s->inspection;
  bool any = false;
  roc_ir_walk w;
  roc_ir_walk_begin_list(&w, s->cg->ir, ids, count);
  while (roc_ir_walk_next(&w)) {
    plan->these[w.id] = plan->is_check[w.id] && plan->is_late[w.id];
    any |= plan->these[w.id];
  }
  if (!any) return;
  LLVMValueRef holds = cpu_preflight_late(s, plan->these);
  if (holds) note(s, LLVMBuildNot(s->cg->b, holds, ""));
  roc_ir_walk_begin_list(&w, s->cg->ir, ids, count);
  while (roc_ir_walk_next(&w)) plan->these[w.id] = false;
}

/* Where a loop asks whether it is to go on, it also ends when the group is lost. */
void cpu_inspect_look(cpu_state *s) {
  LLVMBasicBlockRef on = roc_cg_block(s->cg, "fine");
  roc_cg_branch_likely(s->cg, is_fine(s), on, s->inspection->end);
  roc_cg_at(s->cg, on);
}

LLVMBasicBlockRef cpu_inspect_begin(cpu_state *s) {
  roc_cg *cg = s->cg;
  cpu_inspection *plan = s->inspection;
  plan->bad = roc_cg_alloca(cg, cg->t.i32, "bad");
  plan->end = roc_cg_block(cg, "inspected");
  LLVMBuildStore(cg->b, roc_cg_i32(cg, 0), plan->bad);
  LLVMBasicBlockRef here = LLVMGetInsertBlock(cg->b);
  s->lost = roc_cg_block(cg, "lost");
  roc_cg_at(cg, s->lost);
  LLVMBuildStore(cg->b, roc_cg_i32(cg, 1), plan->bad);
  LLVMBuildBr(cg->b, plan->end);
  roc_cg_at(cg, here);
  for (uint32_t id = 0; id < cg->ir->insts.count; id++) {
    if (!plan->is_check[id]) continue;
    if (!plan->is_late[id]) place_check(s, plan, id);
    s->is_settled[id] = true;
  }
  for (unsigned n = 0; n < plan->nworst; n++) {
    LLVMTypeRef type = plan->worst[n].load == ROC_IR_NONE ? cg->t.i64 : cg->t.i32;
    LLVMBuildStore(cg->b, LLVMConstNull(type), plan->worst[n].cell);
  }
  plan->stops_outside = s->plan.stops;
  s->plan.stops = plan->stops;
  s->left_out = plan->left_out;
  s->is_inspecting = true;
  return plan->end;
}

void cpu_inspect_end(cpu_state *s, LLVMBasicBlockRef clear, LLVMBasicBlockRef cold) {
  s->is_inspecting = false;
  s->left_out = NULL;
  s->plan.stops = s->inspection->stops_outside;
  roc_cg_at(s->cg, s->inspection->end);
  roc_cg_branch_likely(s->cg, is_fine(s), clear, cold);
}
