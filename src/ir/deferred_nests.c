/* See deferred_nests.h.
 *
 * The copy has to end where the nest does.  Until an index is wrong it computes what the nest does;
 * after that a loop is not entered whose bounds came from memory, nor one that something else than
 * its count ends, which also leaves where it comes to its exit.  Other loops end before their next
 * round, if no constants count them: a wrong index is often the only end that a long one has. */
#include "ir/deferred_nests.h"

#include "base/alloc.h"
#include "ir/check_elimination.h"
#include "ir/copy.h"
#include "ir/loop_versioning.h"
#include "ir/walk.h"

enum {
  MAX_NEST_INSTS = 256,
  MAX_EXTENTS = 6, /* that checks of a nest ask for */
  MAX_SAVED = 16,  /* variables */
  MAX_DIVISORS = 4,
  MAX_NESTS = 16,
  MAX_DEPTH = 8 /* of a bound */
};

/* The worst index of an extent. */
typedef struct worst {
  uint32_t array, axis, var;
} worst;

typedef struct nest {
  uint32_t id;     /* as it was */
  uint32_t region; /* of its copy */
  uint32_t copy;
  worst worsts[MAX_EXTENTS];
  uint32_t nworsts;
  uint32_t divisors[MAX_DIVISORS]; /* made in front of it, that are not to be 0 */
  uint32_t ndivisors;
  uint32_t vars[MAX_SAVED], nsets[MAX_SAVED]; /* variables that it assigns, and how often */
  uint32_t nvars;
} nest;

typedef struct deferrer {
  roc_ir_module *m;
  roc_ir_builder b;
  roc_ir_copier copier;
  uint32_t count; /* instructions there were at the start */
  nest nests[MAX_NESTS];
  uint32_t nnests;
  const nest *now;           /* whose copy is changed */
  uint32_t *nsets;           /* per variable: how many instructions assign it */
  uint32_t tick;             /* of a walk */
  uint32_t *met;             /* per instruction: the last tick that met it */
  roc_ir_ids cold;           /* loops of copies that run after a wrong index */
  uint8_t *is_ignored;       /* per instruction: a check of a copy */
  roc_ir_unproved *unproved; /* per LOAD: what keeps it in bounds without these */
  uint8_t *is_exit;          /* per instruction: an IF by which a loop leaves early */
} deferrer;

static roc_ir_inst inst_of(const deferrer *d, uint32_t id) {
  return d->m->insts.items[id];
}

static bool is_loop(const roc_ir_inst *inst) {
  return inst->op == ROC_IR_LOOP || inst->op == ROC_IR_FOR;
}

static bool push_id(deferrer *d, uint32_t id) {
  if (!d->b.failed && roc_vec_push(&d->m->regions.items[d->b.region], id)) return true;
  d->b.failed = true;
  return false;
}

/* ---- which loops ------------------------------------------------------------------------- */

/* Adds the extent of a check; false when there are too many. */
static bool add_extent(const deferrer *d, nest *n, const roc_ir_inst *check) {
  uint32_t axis = (uint32_t)check->k.i;
  for (uint32_t i = 0; i < n->nworsts; i++) {
    const worst *w = &n->worsts[i];
    if (w->axis == axis && roc_ir_is_same_extent(d->m, w->array, check->aux)) return true;
  }
  if (n->nworsts == MAX_EXTENTS) return false;
  n->worsts[n->nworsts++] = (worst){check->aux, axis, ROC_IR_NONE};
  return true;
}

/* Of a division by what was made in front of the nest: decided there. */
static bool add_divisor(const deferrer *d, nest *n, const roc_ir_inst *check) {
  uint32_t divisor = roc_ir_arg(d->m, check, 0);
  if (d->met[divisor] == d->tick || n->ndivisors == MAX_DIVISORS) return false;
  n->divisors[n->ndivisors++] = divisor;
  return true;
}

static bool add_var(nest *n, uint32_t var) {
  for (uint32_t i = 0; i < n->nvars; i++) {
    if (n->vars[i] != var) continue;
    n->nsets[i]++;
    return true;
  }
  if (n->nvars == MAX_SAVED) return false;
  n->nsets[n->nvars] = 1;
  n->vars[n->nvars++] = var;
  return true;
}

/* Takes down what the instruction does; false: the nest cannot be run again, or too much is done. */
static bool suits(const deferrer *d, nest *n, const roc_ir_inst *inst) {
  const uint16_t effects =
      ROC_IRF_WRITE | ROC_IRF_EFFECT | ROC_IRF_STOP | ROC_IRF_CUT_GROUP | ROC_IRF_CUT_WAVE;
  if (inst->nargs > ROC_IR_COPY_MAX_ARGS) return false;
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_SET: return add_var(n, inst->aux);
    case ROC_IR_CHECK_INDEX: return add_extent(d, n, inst);
    case ROC_IR_CHECK_NONZERO: return add_divisor(d, n, inst);
    case ROC_IR_LEAVE:
    case ROC_IR_NEXT: return true;
    default: return !(roc_ir_op_table[inst->op].flags & effects);
  }
}

/* Whether it can be run again from its start as if it had not run, has loops in it, and checks. */
static ROC_IR_WALKS bool reads_alone(deferrer *d, uint32_t id, nest *n) {
  uint32_t ninsts = 0, nloops = 0;
  roc_ir_walk w;
  *n = (nest){.id = id};
  d->tick++;
  ROC_IR_FOR_EACH(w, d->m, inst_of(d, id).k.region[0]) {
    bool jumps = w.inst->op == ROC_IR_LEAVE || w.inst->op == ROC_IR_NEXT;
    bool leaves = jumps && w.inst->aux != id && !roc_ir_walk_is_inside(&w, w.inst->aux);
    if (leaves || w.id >= d->count || ++ninsts > MAX_NEST_INSTS) return false;
    if (!suits(d, n, w.inst)) return false;
    d->met[w.id] = d->tick;
    nloops += is_loop(w.inst);
  }
  return nloops > 0 && n->nworsts > 0;
}

/* Of the nest. */
static ROC_IR_WALKS uint32_t list_loops(const deferrer *d, uint32_t id, uint32_t *out) {
  roc_ir_walk w;
  uint32_t count = 0;
  for (roc_ir_walk_begin_list(&w, d->m, &id, 1); roc_ir_walk_next(&w);) {
    if (is_loop(w.inst) && count < MAX_NEST_INSTS) out[count++] = w.id;
  }
  return count;
}

/* Whether the loop ends otherwise than by its count. */
static ROC_IR_WALKS bool is_left(const deferrer *d, uint32_t id) {
  roc_ir_walk w;
  if (inst_of(d, id).op == ROC_IR_LOOP) return true;
  ROC_IR_FOR_EACH(w, d->m, inst_of(d, id).k.region[0]) {
    if (w.inst->op == ROC_IR_LEAVE && w.inst->aux == id) return true;
  }
  return false;
}

static bool is_nest(deferrer *d, uint32_t id, nest *n) {
  uint32_t loops[MAX_NEST_INSTS];
  if (d->nnests == MAX_NESTS || !reads_alone(d, id, n)) return false;
  uint32_t count = list_loops(d, id, loops);
  for (uint32_t i = 0; i < count; i++) {
    if (is_left(d, loops[i]) && roc_ir_find_exit(d->m, loops[i]) == ROC_IR_NONE) return false;
  }
  return true;
}

/* ---- the copy beside the nest --------------------------------------------------------------- */

static uint32_t both(deferrer *d, uint32_t a, uint32_t b) {
  if (a == ROC_IR_NONE) return b;
  return roc_ir_select(&d->b, a, b, roc_ir_const_bool(&d->b, false));
}

static uint32_t of_extent(deferrer *d, roc_ir_op op, roc_value_type type, const worst *w,
                          const uint32_t *args, uint32_t nargs) {
  return roc_ir_emit(&d->b, op, type, w->array, 0, w->axis, args, nargs);
}

/* Whether no index was wrong so far; by comparisons of their own after the nest. */
static uint32_t emit_all_fit(deferrer *d, const nest *n, bool is_after) {
  uint32_t all = ROC_IR_NONE;
  for (uint32_t i = 0; i < n->nworsts; i++) {
    const worst *w = &n->worsts[i];
    uint32_t now = roc_ir_get(&d->b, w->var), fits;
    if (is_after) {
      fits = of_extent(d, ROC_IR_WORST_FITS, ROC_VT_BOOL, w, &now, 1);
    } else {
      fits = roc_ir_binary(&d->b, ROC_IR_ULT, now, roc_ir_extent(&d->b, w->array, w->axis));
    }
    all = both(d, all, fits);
  }
  return all;
}

/* Sets the variables that keep what was wrong; result: whether the copy may run: no extent is 0, and
 * no divisor. */
static uint32_t emit_begin(deferrer *d, nest *n) {
  uint32_t all = ROC_IR_NONE;
  for (uint32_t i = 0; i < n->nworsts; i++) {
    worst *w = &n->worsts[i];
    w->var = roc_ir_add_var(&d->b, "", ROC_VT_INT);
    roc_ir_set(&d->b, w->var, roc_ir_const_int(&d->b, 0));
    uint32_t extent = roc_ir_extent(&d->b, w->array, w->axis);
    all = both(d, all, roc_ir_binary(&d->b, ROC_IR_LE, roc_ir_const_int(&d->b, 1), extent));
  }
  for (uint32_t i = 0; i < n->ndivisors; i++) {
    uint32_t zero = roc_ir_const_int(&d->b, 0);
    all = both(d, all, roc_ir_binary(&d->b, ROC_IR_NE, n->divisors[i], zero));
  }
  return all;
}

static bool drop_divisors(void *ud, uint32_t id, roc_ir_inst *inst, uint32_t *args) {
  (void)ud, (void)id, (void)args;
  return inst->op == ROC_IR_CHECK_NONZERO;
}

/* What others assign, too, may hold something in front of the nest. */
static bool is_saved(const deferrer *d, const nest *n, uint32_t i) {
  return n->nsets[i] < d->nsets[n->vars[i]];
}

static ROC_IR_WALKS void count_sets(deferrer *d, uint32_t region) {
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, d->m, region) {
    if (w.inst->op == ROC_IR_SET) d->nsets[w.inst->aux]++;
  }
}

/* `if nothing stands in the way then the copy, and whether nothing was wrong; if something was then
 * the nest, from its start`. */
static void emit_both(deferrer *d, nest *n) {
  uint32_t saved[MAX_SAVED], is_done = roc_ir_add_var(&d->b, "", ROC_VT_BOOL);
  d->b.loc = inst_of(d, n->id).loc;
  for (uint32_t i = 0; i < n->nvars; i++) {
    if (is_saved(d, n, i)) saved[i] = roc_ir_get(&d->b, n->vars[i]);
  }
  roc_ir_set(&d->b, is_done, roc_ir_const_bool(&d->b, false));
  uint32_t first = roc_ir_begin_if(&d->b, emit_begin(d, n));
  n->region = d->b.region;
  roc_ir_copy(&d->copier, n->id);
  n->copy = d->copier.copies[n->id];
  roc_ir_set(&d->b, is_done, emit_all_fit(d, n, true));
  roc_ir_end(&d->b, first);
  uint32_t is_left = roc_ir_unary(&d->b, ROC_IR_NOT, roc_ir_get(&d->b, is_done));
  uint32_t again = roc_ir_begin_if(&d->b, is_left);
  for (uint32_t i = 0; i < n->nvars; i++) {
    if (is_saved(d, n, i)) roc_ir_set(&d->b, n->vars[i], saved[i]);
  }
  push_id(d, n->id);
  roc_ir_end(&d->b, again);
  roc_ir_forget_copies(&d->copier, &n->id, 1);
}

static void copy_nests(deferrer *d, uint32_t region, roc_ir_ids *left) {
  roc_ir_ids old = d->m->regions.items[region];
  d->m->regions.items[region] = (roc_ir_ids){0};
  for (uint32_t i = 0; i < old.count && !d->b.failed; i++) {
    uint32_t id = old.items[i];
    roc_ir_inst inst = inst_of(d, id);
    nest *n = &d->nests[d->nnests];
    d->b.region = region;
    if (is_loop(&inst) && is_nest(d, id, n)) {
      d->nnests++;
      emit_both(d, n);
      if (!roc_vec_push(left, id)) d->b.failed = true;
      continue;
    }
    push_id(d, id);
    bool chooses = inst.op == ROC_IR_IF && inst.aux == ROC_IR_IF_ALL;
    uint32_t nregions = chooses ? 1 : roc_ir_region_count(&inst);
    for (uint32_t r = 0; r < nregions; r++) copy_nests(d, inst.k.region[r], left);
  }
  roc_vec_deinit(&old);
}

/* ---- what the copies take down -------------------------------------------------------------- */

static const worst *worst_of(const deferrer *d, uint32_t array, uint32_t axis) {
  for (uint32_t i = 0; i < d->now->nworsts; i++) {
    const worst *w = &d->now->worsts[i];
    if (w->axis == axis && roc_ir_is_same_extent(d->m, w->array, array)) return w;
  }
  return NULL;
}

static void take_down(deferrer *d, const worst *w, uint32_t index) {
  uint32_t args[2] = {roc_ir_get(&d->b, w->var), index};
  roc_ir_set(&d->b, w->var, of_extent(d, ROC_IR_WORST_INDEX, ROC_VT_INT, w, args, 2));
}

static bool is_cold(const deferrer *d, uint32_t id) {
  for (uint32_t i = 0; i < d->cold.count; i++) {
    if (d->cold.items[i] == id) return true;
  }
  return false;
}

/* An index that is wrong where the loop would run. */
static uint32_t emit_wrong(deferrer *d, const roc_ir_inst *loop) {
  uint32_t wrong = roc_ir_const_int(&d->b, 0), right = roc_ir_const_int(&d->b, 1);
  if (loop->op != ROC_IR_FOR) return wrong;
  uint32_t args[3];
  for (uint32_t n = 0; n < 3; n++) args[n] = roc_ir_arg(d->m, loop, n);
  bool is_down = inst_of(d, args[2]).k.i < 0; /* it is a constant */
  uint32_t runs = roc_ir_binary(&d->b, ROC_IR_LE, args[is_down ? 1 : 0], args[is_down ? 0 : 1]);
  return roc_ir_select(&d->b, runs, wrong, right);
}

/* In place of a loop that would run after a wrong index, and report it. */
static void replace_cold(deferrer *d, uint32_t region) {
  roc_ir_ids old = d->m->regions.items[region];
  d->m->regions.items[region] = (roc_ir_ids){0};
  for (uint32_t i = 0; i < old.count && !d->b.failed; i++) {
    roc_ir_inst inst = inst_of(d, old.items[i]);
    d->b.region = region;
    d->b.loc = inst.loc;
    if (is_cold(d, old.items[i])) {
      take_down(d, &d->now->worsts[0], emit_wrong(d, &inst));
      continue;
    }
    push_id(d, old.items[i]);
    for (uint32_t r = 0; r < roc_ir_region_count(&inst); r++) replace_cold(d, inst.k.region[r]);
  }
  roc_vec_deinit(&old);
}

static ROC_IR_WALKS void mark_checks(deferrer *d, uint32_t region) {
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, d->m, region) d->is_ignored[w.id] = w.inst->op == ROC_IR_CHECK_INDEX;
}

/* Of each copy: inner loops become as they are elsewhere. */
static roc_status version_inner_loops(deferrer *d, roc_error *err) {
  roc_status status = ROC_OK;
  for (uint32_t i = 0; i < d->nnests && status == ROC_OK; i++) {
    uint32_t region = d->nests[i].region;
    status = roc_ir_version_loops_of(d->m, region, ROC_IR_LOOP, true, &d->cold, err);
    if (status != ROC_OK) break;
    status = roc_ir_version_loops_of(d->m, region, ROC_IR_FOR, true, &d->cold, err);
  }
  return status;
}

/* After that. */
static roc_status find_unproved(deferrer *d, roc_error *err) {
  for (uint32_t i = 0; i < d->nnests; i++) {
    d->now = &d->nests[i];
    replace_cold(d, d->now->region);
  }
  d->is_ignored = roc_zalloc(d->m->insts.count + 1);
  d->is_exit = roc_zalloc(d->m->insts.count + 1);
  if (d->b.failed || !d->is_ignored || !d->is_exit) return roc_fail(err, ROC_OOM, "out of memory");
  for (uint32_t i = 0; i < d->nnests; i++) mark_checks(d, d->nests[i].region);
  return roc_ir_find_unproved(d->m, d->is_ignored, &d->unproved, err);
}

/* ---- the copies without checks -------------------------------------------------------------- */

/* Whether the value may be another one after a wrong index: counters of loops that are entered are
 * not. */
static bool may_be_wrong(const deferrer *d, uint32_t id, unsigned depth) {
  roc_ir_inst inst = inst_of(d, id);
  if (depth == MAX_DEPTH) return true;
  if (inst.op == ROC_IR_GET) {
    bool is_set = false;
    for (uint32_t i = 0; i < d->now->nvars; i++) is_set |= d->now->vars[i] == inst.aux;
    return is_set;
  }
  if (!(roc_ir_op_table[inst.op].flags & ROC_IRF_PURE)) return true;
  for (uint32_t n = 0; n < inst.nargs; n++) {
    if (may_be_wrong(d, roc_ir_arg(d->m, &inst, n), depth + 1)) return true;
  }
  return false;
}

static bool needs_guard(const deferrer *d, uint32_t loop) {
  if (is_left(d, loop)) return true;
  roc_ir_inst inst = inst_of(d, loop);
  return may_be_wrong(d, roc_ir_arg(d->m, &inst, 0), 0) ||
         may_be_wrong(d, roc_ir_arg(d->m, &inst, 1), 0);
}

/* Whether something is taken down in it. */
static ROC_IR_WALKS bool has_checks(const deferrer *d, uint32_t region) {
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, d->m, region) {
    if (w.inst->op == ROC_IR_CHECK_INDEX || is_loop(w.inst)) return true;
  }
  return false;
}

static void clamp_indices(deferrer *d, uint32_t id) {
  roc_ir_inst load = inst_of(d, id);
  for (uint32_t n = 0; n < load.nargs; n++) {
    if (!(d->unproved[id].dims >> n & 1)) continue;
    uint32_t check = d->unproved[id].checks[n], index = roc_ir_arg(d->m, &load, n);
    worst of = {load.aux, n, ROC_IR_NONE};
    if (check != ROC_IR_NONE) {
      of = (worst){inst_of(d, check).aux, (uint32_t)inst_of(d, check).k.i, ROC_IR_NONE};
    }
    uint32_t clamped = of_extent(d, ROC_IR_CLAMP_INDEX, ROC_VT_INT, &of, &index, 1);
    if (!d->b.failed) d->m->operands.items[load.args + n] = clamped;
  }
}

static void clamp_assigned(deferrer *d, uint32_t id) {
  if (!d->unproved[id].dims) return;
  uint32_t args = inst_of(d, id).args, value = d->m->operands.items[args];
  roc_ir_inst check = inst_of(d, d->unproved[id].checks[0]);
  worst of = {check.aux, (uint32_t)check.k.i, ROC_IR_NONE};
  uint32_t clamped = of_extent(d, ROC_IR_CLAMP_INDEX, ROC_VT_INT, &of, &value, 1);
  if (!d->b.failed) d->m->operands.items[args] = clamped;
}

static void leave_early(deferrer *d, uint32_t id) {
  uint32_t args = inst_of(d, id).args;
  uint32_t is_bad = roc_ir_unary(&d->b, ROC_IR_NOT, emit_all_fit(d, d->now, false));
  uint32_t leaves =
      roc_ir_select(&d->b, d->m->operands.items[args], roc_ir_const_bool(&d->b, true), is_bad);
  if (!d->b.failed) d->m->operands.items[args] = leaves;
}

/* In front of what a round does. */
static void end_early(deferrer *d, uint32_t loop) {
  uint32_t is_bad = roc_ir_unary(&d->b, ROC_IR_NOT, emit_all_fit(d, d->now, false));
  uint32_t ends = roc_ir_begin_if(&d->b, is_bad);
  roc_ir_leave(&d->b, loop);
  roc_ir_end(&d->b, ends);
}

static bool is_counted_by_constants(const deferrer *d, const roc_ir_inst *loop) {
  return inst_of(d, roc_ir_arg(d->m, loop, 0)).op == ROC_IR_CONST &&
         inst_of(d, roc_ir_arg(d->m, loop, 1)).op == ROC_IR_CONST;
}

static void drop_checks(deferrer *d, uint32_t region, uint32_t ending);

static void drop_checks_of(deferrer *d, uint32_t id) {
  roc_ir_inst inst = inst_of(d, id);
  bool takes_down = is_loop(&inst) && has_checks(d, inst.k.region[0]);
  bool ends = takes_down && !is_left(d, id) && !is_counted_by_constants(d, &inst);
  bool is_guarded = is_loop(&inst) && id != d->now->copy && needs_guard(d, id);
  uint32_t guard = ROC_IR_NONE;
  d->b.loc = inst.loc;
  if (d->is_ignored[id]) {
    take_down(d, worst_of(d, inst.aux, (uint32_t)inst.k.i), roc_ir_arg(d->m, &inst, 0));
    return;
  }
  if (inst.op == ROC_IR_LOAD) clamp_indices(d, id);
  if (inst.op == ROC_IR_SET) clamp_assigned(d, id);
  if (d->is_exit[id]) leave_early(d, id);
  if (takes_down && is_left(d, id)) d->is_exit[roc_ir_find_exit(d->m, id)] = 1;
  if (is_guarded) guard = roc_ir_begin_if(&d->b, emit_all_fit(d, d->now, false));
  push_id(d, id);
  for (uint32_t r = 0; r < roc_ir_region_count(&inst); r++) {
    drop_checks(d, inst.k.region[r], ends ? id : ROC_IR_NONE);
  }
  if (is_guarded) roc_ir_end(&d->b, guard);
}

/* `ending`: the loop whose body it is and that ends early; NONE: there is none. */
static void drop_checks(deferrer *d, uint32_t region, uint32_t ending) {
  roc_ir_ids old = d->m->regions.items[region];
  d->m->regions.items[region] = (roc_ir_ids){0};
  d->b.region = region;
  if (ending != ROC_IR_NONE) end_early(d, ending);
  for (uint32_t i = 0; i < old.count && !d->b.failed; i++) {
    d->b.region = region;
    drop_checks_of(d, old.items[i]);
  }
  roc_vec_deinit(&old);
}

static roc_status defer(deferrer *d, uint32_t region, roc_ir_ids *left, roc_error *err) {
  copy_nests(d, region, left);
  if (d->b.failed || d->nnests == 0) return ROC_OK;
  ROC_TRY(version_inner_loops(d, err));
  ROC_TRY(find_unproved(d, err));
  for (uint32_t i = 0; i < d->nnests; i++) {
    d->now = &d->nests[i];
    drop_checks(d, d->now->region, ROC_IR_NONE);
  }
  return ROC_OK;
}

roc_status roc_ir_defer_nests(roc_ir_module *module, uint32_t region, roc_ir_ids *left,
                              roc_error *err) {
  deferrer *d = roc_zalloc(sizeof *d);
  if (!d) return roc_fail(err, ROC_OOM, "out of memory");
  *d = (deferrer){.m = module, .count = module->insts.count};
  d->copier = (roc_ir_copier){&d->b, roc_ir_new_copies(d->count), d->count, drop_divisors, d};
  d->met = roc_zalloc((d->count + 1) * sizeof *d->met);
  d->nsets = roc_zalloc((module->vars.count + 1) * sizeof *d->nsets);
  roc_ir_builder_init(&d->b, module);
  bool is_open = d->copier.copies && d->met && d->nsets;
  if (is_open) count_sets(d, region);
  roc_status status =
      is_open ? defer(d, region, left, err) : roc_fail(err, ROC_OOM, "out of memory");
  roc_status closed = roc_ir_builder_finish(&d->b, status == ROC_OK ? err : NULL);
  void *tables[] = {d->copier.copies, d->met, d->nsets, d->is_ignored, d->is_exit, d->unproved};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) roc_free(tables[i]);
  roc_vec_deinit(&d->cold);
  roc_free(d);
  return status == ROC_OK ? closed : status;
}
