/* See loop_versioning.h. Works on one region after the other, innermost first: the list of a region
 * is taken out and filled again, with the condition and both versions where a loop is worth it. */
#include "ir/loop_versioning.h"

#include <string.h>

#include "base/alloc.h"
#include "ir/check_elimination.h"
#include "ir/copy.h"
#include "ir/walk.h"

enum {
  MAX_LOOP_INSTS = 256, /* larger ones are not copied */
  MAX_BODY_INSTS = 512, /* nor kernels */
  MAX_PRECONDITIONS = 12,
  MAX_CHECKS = 16,
  MAX_DEPTH = 8,  /* of an index expression */
  MAX_WORSTS = 4, /* extents, or checks, that are deferred in one loop */
  MAX_SAVED = 16  /* variables */
};

/* The worst index of an extent, kept while checks of it are deferred; or of one check the last. */
typedef struct worst {
  uint32_t array, axis; /* the extent's */
  uint32_t check;       /* whose last index it is; NONE: it is the worst of all */
  uint32_t var;
} worst;

typedef struct versioner {
  roc_ir_module *m;
  roc_ir_builder b;
  uint8_t *is_inside;  /* per instruction: of the current loop */
  uint8_t *is_set;     /* per variable: assigned in it */
  uint8_t *is_dropped; /* per instruction: a check the copy does without */
  roc_ir_copier copier;
  uint32_t count; /* instructions there were at the start; the tables' size */
  roc_ir_op op;   /* of the loops to be versioned: FOR, or LOOP if checks are deferred */
  uint32_t var;   /* the loop's counter; NONE: it has none */
  uint32_t checks[MAX_CHECKS], nchecks, ninsts;
  uint32_t nvars;            /* there were at the start */
  bool defers;               /* checks of the loop that is copied */
  uint8_t *is_deferred;      /* per instruction: a check that is made after the loop */
  roc_ir_unproved *unproved; /* per LOAD, where only such checks prove its indices; NULL: no check
                              * is deferred */
  uint32_t *nsets;           /* per variable: how many instructions assign it */
  uint32_t *nsets_in_loop;
  uint32_t *loops; /* of the region */
  uint32_t exit;   /* the IF by which a LOOP is left early; NONE: it is not */
  worst worsts[MAX_WORSTS];
  uint32_t nworsts;
  roc_ir_ids *left; /* loops that run where what is asked in front of them does not hold */
} versioner;

static roc_ir_inst inst_of(const versioner *v, uint32_t id) {
  return v->m->insts.items[id];
}

static uint32_t arg_of(const versioner *v, uint32_t id, uint32_t n) {
  return v->m->operands.items[v->m->insts.items[id].args + n];
}

/* ---- what is in a loop ------------------------------------------------------------------- */

/* Marks the instructions of the loop's body; false when it cannot be copied. */
static ROC_IR_WALKS bool mark_body(versioner *v, uint32_t region) {
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, v->m, region) {
    if (w.id >= v->count) return false; /* made by this pass: an inner loop was versioned */
    bool meets = roc_ir_op_table[w.inst->op].flags & (ROC_IRF_CUT_GROUP | ROC_IRF_CUT_WAVE);
    bool loops = w.inst->op == ROC_IR_LOOP || w.inst->op == ROC_IR_FOR;
    bool is_large = ++v->ninsts > MAX_LOOP_INSTS || w.inst->nargs > ROC_IR_COPY_MAX_ARGS;
    if (meets || loops || is_large) return false;
    v->is_inside[w.id] = 1;
    if (w.inst->op == ROC_IR_SET) v->is_set[w.inst->aux] = 1;
    if (w.inst->op == ROC_IR_CHECK_INDEX && v->nchecks < MAX_CHECKS) v->checks[v->nchecks++] = w.id;
  }
  return true;
}

/* How a value moves with the counter. */
typedef enum monotonicity { MONOTONICITY_NONE, MONOTONICITY_UP, MONOTONICITY_OTHER } monotonicity;

static monotonicity monotonicity_of(const versioner *v, uint32_t id, unsigned depth) {
  if (id >= v->count || !v->is_inside[id]) return MONOTONICITY_NONE;
  roc_ir_inst inst = inst_of(v, id);
  if (inst.op == ROC_IR_GET && inst.aux == v->var) return MONOTONICITY_UP;
  if (inst.op == ROC_IR_GET) return v->is_set[inst.aux] ? MONOTONICITY_OTHER : MONOTONICITY_NONE;
  if (!(roc_ir_op_table[inst.op].flags & ROC_IRF_PURE) || depth == MAX_DEPTH)
    return MONOTONICITY_OTHER;
  uint32_t nup = 0;
  for (uint32_t n = 0; n < inst.nargs; n++) {
    monotonicity of_arg = monotonicity_of(v, arg_of(v, id, n), depth + 1);
    if (of_arg == MONOTONICITY_OTHER) return MONOTONICITY_OTHER;
    nup += of_arg == MONOTONICITY_UP;
  }
  if (nup == 0) return MONOTONICITY_NONE;
  bool adds = inst.op == ROC_IR_ADD && nup == 1;
  bool subtracts = inst.op == ROC_IR_SUB && nup == 1 &&
                   monotonicity_of(v, arg_of(v, id, 0), depth + 1) == MONOTONICITY_UP;
  return adds || subtracts ? MONOTONICITY_UP : MONOTONICITY_OTHER;
}

/* ---- the condition ----------------------------------------------------------------------- */

/* The value in front of the loop, with the counter at `counter`. */
static uint32_t compute(versioner *v, uint32_t id, uint32_t counter) {
  if (id >= v->count || !v->is_inside[id]) return id;
  roc_ir_inst inst = inst_of(v, id);
  if (inst.op == ROC_IR_GET && inst.aux == v->var) return counter;
  uint32_t args[ROC_IR_COPY_MAX_ARGS];
  for (uint32_t n = 0; n < inst.nargs; n++) args[n] = compute(v, arg_of(v, id, n), counter);
  return roc_ir_append(&v->b, inst, args);
}

static uint32_t both(versioner *v, uint32_t a, uint32_t b) {
  if (a == ROC_IR_NONE) return b;
  return roc_ir_select(&v->b, a, b, roc_ir_const_bool(&v->b, false));
}

static uint32_t at_most(versioner *v, uint32_t a, uint32_t b) {
  return roc_ir_binary(&v->b, ROC_IR_LE, a, b);
}

/* Sums wrap.  When the first is at least 1 and not over the last, and the last is within the
 * extent, the counter has moved by less than 2^63, so none in between has wrapped. */
static uint32_t add_check(versioner *v, uint32_t all, uint32_t check, uint32_t low, uint32_t high) {
  roc_ir_inst inst = inst_of(v, check);
  uint32_t index = arg_of(v, check, 0);
  bool moves = monotonicity_of(v, index, 0) == MONOTONICITY_UP;
  uint32_t first = compute(v, index, low), last = moves ? compute(v, index, high) : first;
  uint32_t extent = roc_ir_extent(&v->b, inst.aux, (uint32_t)inst.k.i);
  all = both(v, all, at_most(v, roc_ir_const_int(&v->b, 1), first));
  if (moves) all = both(v, all, at_most(v, first, last));
  return both(v, all, at_most(v, last, extent));
}

/* ---- the copy ---------------------------------------------------------------------------- */

/* Arrays that look at one parameter have its extents. */
bool roc_ir_is_same_extent(const roc_ir_module *m, uint32_t a, uint32_t b) {
  const roc_ir_array *x = &m->arrays.items[a], *y = &m->arrays.items[b];
  return a == b ||
         (x->kind == ROC_IR_ARRAY_PARAM && y->kind == ROC_IR_ARRAY_PARAM && x->param == y->param);
}

/* The loop's entry for the check; NULL: none yet. */
static worst *find_worst(versioner *v, uint32_t check) {
  roc_ir_inst inst = inst_of(v, check);
  for (uint32_t i = 0; i < v->nworsts; i++) {
    worst *w = &v->worsts[i];
    bool is_of_extent =
        w->axis == (uint32_t)inst.k.i && roc_ir_is_same_extent(v->m, w->array, inst.aux);
    if (w->check == ROC_IR_NONE ? is_of_extent : w->check == check) return w;
  }
  return NULL;
}

static uint32_t emit_of_extent(versioner *v, roc_ir_op op, uint32_t array, uint32_t axis,
                               const uint32_t *args, uint32_t nargs) {
  return roc_ir_emit(&v->b, op, ROC_VT_INT, array, 0, axis, args, nargs);
}

static void defer_check(versioner *v, uint32_t check, uint32_t index) {
  const worst *w = find_worst(v, check);
  bool is_last = w->check != ROC_IR_NONE;
  uint32_t args[2] = {is_last ? roc_ir_const_int(&v->b, 0) : roc_ir_get(&v->b, w->var), index};
  uint32_t now = emit_of_extent(v, ROC_IR_WORST_INDEX, w->array, w->axis, args, 2);
  roc_ir_set(&v->b, w->var, now);
}

/* To the extent of the loop's check, if there is one: so LLVM clamps once for several arrays. */
static void clamp_indices(versioner *v, uint32_t id, const roc_ir_inst *load, uint32_t *args) {
  const roc_ir_unproved *unproved = &v->unproved[id];
  for (uint32_t d = 0; d < load->nargs; d++) {
    if (!(unproved->dims >> d & 1)) continue;
    uint32_t check = unproved->checks[d], array = load->aux, axis = d;
    if (check != ROC_IR_NONE && v->is_inside[check]) {
      array = inst_of(v, check).aux;
      axis = (uint32_t)inst_of(v, check).k.i;
    }
    args[d] = emit_of_extent(v, ROC_IR_CLAMP_INDEX, array, axis, &args[d], 1);
  }
}

/* What is assigned and checked: once the index is wrong, anything may be. */
static void clamp_assigned(versioner *v, uint32_t id, uint32_t *args) {
  const roc_ir_unproved *unproved = &v->unproved[id];
  if (!unproved->dims || !v->is_deferred[unproved->checks[0]]) return;
  if (!v->is_inside[unproved->checks[0]]) return;
  roc_ir_inst check = inst_of(v, unproved->checks[0]);
  uint32_t axis = (uint32_t)check.k.i;
  args[0] = emit_of_extent(v, ROC_IR_CLAMP_INDEX, check.aux, axis, &args[0], 1);
}

/* Whether the worst index of each extent is in range. */
static uint32_t emit_worsts_fit(versioner *v, bool is_inside) {
  uint32_t all = ROC_IR_NONE;
  for (uint32_t i = 0; i < v->nworsts; i++) {
    const worst *w = &v->worsts[i];
    uint32_t now = roc_ir_get(&v->b, w->var), fits;
    if (is_inside) {
      fits = roc_ir_binary(&v->b, ROC_IR_ULT, now, roc_ir_extent(&v->b, w->array, w->axis));
    } else {
      fits = roc_ir_emit(&v->b, ROC_IR_WORST_FITS, ROC_VT_BOOL, w->array, 0, w->axis, &now, 1);
    }
    all = both(v, all, fits);
  }
  return all;
}

static bool replace(void *ud, uint32_t id, roc_ir_inst *inst, uint32_t *args) {
  versioner *v = ud;
  if (v->is_dropped[id]) return true;
  if (v->defers && id == v->exit) {
    uint32_t is_bad = roc_ir_unary(&v->b, ROC_IR_NOT, emit_worsts_fit(v, true));
    args[0] = roc_ir_select(&v->b, args[0], roc_ir_const_bool(&v->b, true), is_bad);
  }
  if (v->defers && v->is_deferred[id]) {
    defer_check(v, id, args[0]);
    return true;
  }
  if (v->defers && inst->op == ROC_IR_LOAD) clamp_indices(v, id, inst, args);
  if (v->defers && inst->op == ROC_IR_SET) clamp_assigned(v, id, args);
  return false;
}

/* ---- loops ------------------------------------------------------------------------------- */

static bool push_id(versioner *v, uint32_t id) {
  if (!v->b.failed && roc_vec_push(&v->m->regions.items[v->b.region], id)) return true;
  v->b.failed = true;
  return false;
}

/* Finds the checks that can be decided in front of the loop; false when its body cannot be
 * copied. */
static bool look_at_loop(versioner *v, uint32_t id) {
  roc_ir_inst loop = inst_of(v, id);
  if (loop.op == ROC_IR_FOR) {
    roc_ir_inst step = inst_of(v, arg_of(v, id, 2));
    if (step.op != ROC_IR_CONST || step.k.i == 0) return false;
  }
  memset(v->is_inside, 0, v->count);
  memset(v->is_set, 0, v->nvars);
  v->var = loop.op == ROC_IR_FOR ? loop.aux : ROC_IR_NONE;
  v->nchecks = v->ninsts = 0;
  if (!mark_body(v, loop.k.region[0])) return false;
  uint32_t nkept = 0;
  for (uint32_t i = 0; i < v->nchecks; i++) {
    uint32_t check = v->checks[i];
    if (monotonicity_of(v, arg_of(v, check, 0), 0) == MONOTONICITY_OTHER) continue;
    v->is_dropped[check] = 1;
    v->checks[nkept++] = check;
  }
  v->nchecks = nkept;
  return true;
}

/* ---- deferred checks ---- */

static ROC_IR_WALKS bool goes_on_inside(const roc_ir_module *m, uint32_t loop, uint32_t id) {
  roc_ir_walk w;
  for (roc_ir_walk_begin_list(&w, m, &id, 1); roc_ir_walk_next(&w);) {
    if (w.inst->op == ROC_IR_NEXT && w.inst->aux == loop) return true;
  }
  return false;
}

uint32_t roc_ir_find_exit(const roc_ir_module *m, uint32_t loop) {
  const roc_ir_ids *ids = &m->regions.items[m->insts.items[loop].k.region[0]];
  for (uint32_t i = 0; i < ids->count; i++) {
    const roc_ir_inst *inst = &m->insts.items[ids->items[i]];
    if (roc_ir_only_leaves(m, inst)) return ids->items[i];
    if (goes_on_inside(m, loop, ids->items[i])) break;
  }
  return ROC_IR_NONE;
}

/* Whether a loop only assigns variables. */
static ROC_IR_WALKS bool only_assigns(const versioner *v, uint32_t loop) {
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, v->m, inst_of(v, loop).k.region[0]) {
    const uint16_t effects = ROC_IRF_WRITE | ROC_IRF_EFFECT | ROC_IRF_STOP;
    bool goes = w.inst->op == ROC_IR_LEAVE || w.inst->op == ROC_IR_NEXT;
    bool is_of_loop = w.inst->aux == loop || v->is_inside[w.inst->aux];
    if (goes && !is_of_loop) return false;
    bool may_be = goes || w.inst->op == ROC_IR_SET || w.inst->op == ROC_IR_CHECK_INDEX;
    if (!may_be && (roc_ir_op_table[w.inst->op].flags & effects)) return false;
  }
  return true;
}

/* Whether a loop can be run again from its start, as if it had not run.  It ends when its count does,
 * or by its exit: what was loaded from a clamped index must not keep it from ending. */
static bool is_repeatable(const versioner *v, uint32_t loop) {
  bool ends = inst_of(v, loop).op == ROC_IR_FOR || roc_ir_find_exit(v->m, loop) != ROC_IR_NONE;
  return ends && only_assigns(v, loop);
}

/* Adds an entry for a check of the loop; false when there are too many. */
static bool needs_worst(versioner *v, uint32_t check, bool keeps_last) {
  if (find_worst(v, check)) return true;
  if (v->nworsts == MAX_WORSTS) return false;
  roc_ir_inst inst = inst_of(v, check);
  v->worsts[v->nworsts++] = (worst){.array = inst.aux,
                                    .axis = (uint32_t)inst.k.i,
                                    .check = keeps_last ? check : ROC_IR_NONE,
                                    .var = ROC_IR_NONE};
  return true;
}

static ROC_IR_WALKS void count_sets(const versioner *v, uint32_t region, uint32_t *nsets) {
  roc_ir_walk w;
  memset(nsets, 0, v->nvars * sizeof *nsets);
  ROC_IR_FOR_EACH(w, v->m, region) {
    if (w.inst->op == ROC_IR_SET && w.inst->aux < v->nvars) nsets[w.inst->aux]++;
  }
}

/* What a loop assigns, and others, too, may hold something in front of it. */
static bool is_saved(const versioner *v, uint32_t var) {
  return v->nsets_in_loop[var] > 0 && v->nsets_in_loop[var] < v->nsets[var];
}

static uint32_t count_saved(versioner *v, uint32_t loop) {
  uint32_t count = 0;
  count_sets(v, inst_of(v, loop).k.region[0], v->nsets_in_loop);
  for (uint32_t i = 0; i < v->nvars; i++) count += is_saved(v, i);
  return count;
}

static ROC_IR_WALKS bool list_worsts(versioner *v, uint32_t loop, bool keeps_last) {
  roc_ir_walk w;
  v->nworsts = 0;
  ROC_IR_FOR_EACH(w, v->m, inst_of(v, loop).k.region[0]) {
    if (w.inst->op != ROC_IR_CHECK_INDEX || v->is_dropped[w.id]) continue;
    if (!needs_worst(v, w.id, keeps_last)) return false;
  }
  return true;
}

/* What is kept for the loop's checks that cannot be decided in front; false: it is too much.  A loop
 * without a count comes to its exit in each round, and so before a check is made again that has
 * met a wrong index: of each check the last one tells all. */
static bool find_worsts(versioner *v, uint32_t loop) {
  bool has_exit = inst_of(v, loop).op == ROC_IR_LOOP;
  return (has_exit && list_worsts(v, loop, true)) || list_worsts(v, loop, false);
}

/* After look_at_loop: whether it has checks that cannot be decided in front and can be deferred. */
static bool defers_checks_of(versioner *v, uint32_t loop) {
  return is_repeatable(v, loop) && count_saved(v, loop) <= MAX_SAVED && find_worsts(v, loop) &&
         v->nworsts > 0;
}

static ROC_IR_WALKS void mark_deferred(versioner *v, uint32_t loop) {
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, v->m, inst_of(v, loop).k.region[0]) {
    if (w.inst->op == ROC_IR_CHECK_INDEX && !v->is_dropped[w.id]) v->is_deferred[w.id] = 1;
  }
}

static ROC_IR_WALKS uint32_t list_loops(const versioner *v, uint32_t region, uint32_t *loops) {
  roc_ir_walk w;
  uint32_t count = 0;
  ROC_IR_FOR_EACH(w, v->m, region) {
    if (w.inst->op == v->op) loops[count++] = w.id;
  }
  return count;
}

/* All loops of the region whose checks are deferred, and what then is not proved of their loads.
 * What is asked of a loop walks over it, so this is not a walk: a stack has room for one. */
static roc_status find_deferred(versioner *v, uint32_t region, roc_error *err) {
  bool defers = false;
  count_sets(v, region, v->nsets);
  uint32_t count = list_loops(v, region, v->loops);
  for (uint32_t i = 0; i < count; i++) {
    if (!look_at_loop(v, v->loops[i]) || !defers_checks_of(v, v->loops[i])) continue;
    mark_deferred(v, v->loops[i]);
    defers = true;
  }
  return defers ? roc_ir_find_unproved(v->m, v->is_deferred, &v->unproved, err) : ROC_OK;
}

/* `if conditions then the loop without checks; all is well if its indices were end; if not all is
 * well then the loop again, with checks`. */
static void version_deferring(versioner *v, uint32_t id, uint32_t all) {
  uint32_t saved[MAX_SAVED], vars[MAX_SAVED], nsaved = 0;
  uint32_t is_done = roc_ir_add_var(&v->b, "", ROC_VT_BOOL);
  for (uint32_t i = 0; i < v->nvars; i++) {
    if (!is_saved(v, i)) continue;
    vars[nsaved] = i;
    saved[nsaved++] = roc_ir_get(&v->b, i);
  }
  roc_ir_set(&v->b, is_done, roc_ir_const_bool(&v->b, false));
  for (uint32_t i = 0; i < v->nworsts; i++) {
    worst *w = &v->worsts[i];
    w->var = roc_ir_add_var(&v->b, "", ROC_VT_INT);
    roc_ir_set(&v->b, w->var, roc_ir_const_int(&v->b, 0));
    uint32_t extent = roc_ir_extent(&v->b, w->array, w->axis);
    all = both(v, all, at_most(v, roc_ir_const_int(&v->b, 1), extent));
  }
  uint32_t first = roc_ir_begin_if(&v->b, all);
  v->exit = v->op == ROC_IR_FOR ? ROC_IR_NONE : roc_ir_find_exit(v->m, id);
  v->defers = true;
  roc_ir_copy(&v->copier, id);
  v->defers = false;
  roc_ir_set(&v->b, is_done, emit_worsts_fit(v, false));
  roc_ir_end(&v->b, first);
  uint32_t is_left = roc_ir_unary(&v->b, ROC_IR_NOT, roc_ir_get(&v->b, is_done));
  uint32_t again = roc_ir_begin_if(&v->b, is_left);
  for (uint32_t i = 0; i < nsaved; i++) roc_ir_set(&v->b, vars[i], saved[i]);
  push_id(v, id);
  roc_ir_end(&v->b, again);
}

static void version_loop(versioner *v, uint32_t id) {
  uint32_t low = ROC_IR_NONE, high = ROC_IR_NONE, all = ROC_IR_NONE;
  if (v->op == ROC_IR_FOR) {
    bool is_down = inst_of(v, arg_of(v, id, 2)).k.i < 0;
    low = arg_of(v, id, is_down ? 1 : 0);
    high = arg_of(v, id, is_down ? 0 : 1);
  }
  v->b.loc = inst_of(v, id).loc;
  for (uint32_t i = 0; i < v->nchecks; i++) all = add_check(v, all, v->checks[i], low, high);
  bool defers = v->unproved && defers_checks_of(v, id);
  if (defers) {
    version_deferring(v, id, all);
  } else {
    uint32_t choice = roc_ir_begin_if(&v->b, all);
    roc_ir_copy(&v->copier, id);
    roc_ir_else(&v->b, choice);
    push_id(v, id);
    roc_ir_end(&v->b, choice);
  }
  roc_ir_forget_copies(&v->copier, &id, 1);
  if (!roc_vec_push(v->left, id)) v->b.failed = true;
}

static bool is_worth_it(versioner *v, uint32_t loop) {
  return (v->op == ROC_IR_FOR && v->nchecks > 0) || (v->unproved && defers_checks_of(v, loop));
}

/* What is there for the case that checks fail stays as it is. */
static uint32_t count_versioned(const roc_ir_inst *inst) {
  return inst->op == ROC_IR_IF && inst->aux == ROC_IR_IF_ALL ? 1 : roc_ir_region_count(inst);
}

static bool is_left(const versioner *v, uint32_t id) {
  for (uint32_t i = 0; i < v->left->count; i++) {
    if (v->left->items[i] == id) return true;
  }
  return false;
}

static void version_region(versioner *v, uint32_t region) {
  roc_ir_ids old = v->m->regions.items[region];
  for (uint32_t i = 0; i < old.count; i++) {
    roc_ir_inst inst = inst_of(v, old.items[i]);
    if (is_left(v, old.items[i])) continue;
    for (uint32_t r = 0; r < count_versioned(&inst); r++) version_region(v, inst.k.region[r]);
  }
  old = v->m->regions.items[region];
  v->m->regions.items[region] = (roc_ir_ids){0};
  for (uint32_t i = 0; i < old.count && !v->b.failed; i++) {
    uint32_t id = old.items[i];
    v->b.region = region;
    if (inst_of(v, id).op == v->op && look_at_loop(v, id) && is_worth_it(v, id)) {
      version_loop(v, id);
    } else {
      push_id(v, id);
    }
  }
  roc_vec_deinit(&old);
}

static bool open_versioner(versioner *v, roc_ir_module *module) {
  *v = (versioner){.m = module, .count = module->insts.count, .nvars = module->vars.count};
  v->is_inside = roc_zalloc(v->count + 1);
  v->is_dropped = roc_zalloc(v->count + 1);
  v->is_set = roc_zalloc(module->vars.count + 1);
  v->copier = (roc_ir_copier){&v->b, roc_ir_new_copies(v->count), v->count, replace, v};
  v->is_deferred = roc_zalloc(v->count + 1);
  v->nsets = roc_zalloc((v->nvars + 1) * sizeof *v->nsets);
  v->nsets_in_loop = roc_zalloc((v->nvars + 1) * sizeof *v->nsets_in_loop);
  v->loops = roc_zalloc((v->count + 1) * sizeof *v->loops);
  roc_ir_builder_init(&v->b, module);
  return v->is_inside && v->is_dropped && v->is_set && v->copier.copies && v->is_deferred &&
         v->nsets && v->nsets_in_loop && v->loops;
}

static roc_status close_versioner(versioner *v, bool was_opened, roc_error *err) {
  roc_status status = roc_ir_builder_finish(&v->b, err);
  void *tables[] = {v->is_inside, v->is_dropped, v->is_set,        v->copier.copies, v->is_deferred,
                    v->unproved,  v->nsets,      v->nsets_in_loop, v->loops};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) roc_free(tables[i]);
  return was_opened ? status : roc_fail(err, ROC_OOM, "out of memory");
}

roc_status roc_ir_version_loops_of(roc_ir_module *module, uint32_t region, roc_ir_op op,
                                   bool defers, roc_ir_ids *left, roc_error *err) {
  versioner v;
  roc_status status = ROC_OK;
  bool is_open = open_versioner(&v, module);
  v.left = left;
  v.op = op;
  if (is_open && defers) status = find_deferred(&v, region, err);
  if (is_open && status == ROC_OK) version_region(&v, region);
  roc_status closed = close_versioner(&v, is_open, err);
  return status == ROC_OK ? closed : status;
}

roc_status roc_ir_version_loops(roc_ir_module *module, bool defers, roc_error *err) {
  roc_ir_ids left = {0};
  roc_status status = ROC_OK;
  if (defers) status = roc_ir_version_loops_of(module, 0, ROC_IR_LOOP, defers, &left, err);
  if (status == ROC_OK) status = roc_ir_version_loops_of(module, 0, ROC_IR_FOR, defers, &left, err);
  roc_vec_deinit(&left);
  return status;
}

/* ---- the whole kernel ---------------------------------------------------------------------- */

static bool is_same_bound(const roc_ir_precondition *a, const roc_ir_precondition *b) {
  return !a->is_lower && roc_ir_has_same_bound(a, b) && a->k == b->k;
}

static uint32_t emit_launch_value(versioner *v, const roc_ir_launch_value *value) {
  switch ((roc_ir_op)value->op) {
    case ROC_IR_EXTENT: return roc_ir_extent(&v->b, value->aux, (uint32_t)value->dim);
    case ROC_IR_PARAM: return roc_ir_param_value(&v->b, value->aux);
    default: return roc_ir_query(&v->b, (roc_ir_op)value->op, value->aux);
  }
}

/* What is multiplied fits 31 bits, which is asked of products, too. */
static uint32_t emit_product(versioner *v, const roc_ir_precondition *p, uint32_t bound,
                             uint32_t *all) {
  for (uint32_t i = 0; i < ROC_IR_PRODUCT_FACTORS - 1; i++) {
    if (p->by[i].op == ROC_IR_CONST) continue;
    if (i > 0) *all = both(v, *all, at_most(v, bound, roc_ir_const_int(&v->b, INT32_MAX)));
    bound = roc_ir_binary(&v->b, ROC_IR_MUL, bound, emit_launch_value(v, &p->by[i]));
  }
  return bound;
}

/* Adds to *all what the bound takes to be right. */
static uint32_t emit_bound(versioner *v, const roc_ir_precondition *p, uint32_t *all) {
  if (p->bound.op == ROC_IR_CONST) return roc_ir_const_int(&v->b, p->k);
  uint32_t bound = emit_launch_value(v, &p->bound);
  if (p->step > 1) { /* the very operations that roc_ir_facts_is_multiple looks for */
    if (p->times > 1 || p->begin) {
      bound = roc_ir_binary(&v->b, ROC_IR_ADD, bound, roc_ir_const_int(&v->b, p->begin));
    }
    bound = roc_ir_binary(&v->b, ROC_IR_FLOORDIV, bound, roc_ir_const_int(&v->b, p->step));
    if (p->times > 1) {
      bound = roc_ir_binary(&v->b, ROC_IR_MUL, bound, roc_ir_const_int(&v->b, p->times));
    }
  }
  if (p->factor > 1) {
    bound = roc_ir_binary(&v->b, ROC_IR_MUL, bound, roc_ir_const_int(&v->b, p->factor));
  }
  bound = emit_product(v, p, bound, all);
  if (p->plus.op != ROC_IR_CONST) {
    bound = roc_ir_binary(&v->b, ROC_IR_ADD, bound, emit_launch_value(v, &p->plus));
  }
  return p->k ? roc_ir_binary(&v->b, ROC_IR_ADD, bound, roc_ir_const_int(&v->b, p->k)) : bound;
}

/* One comparison per bound, with the least of its extents. */
static uint32_t emit_preconditions(versioner *v, const roc_ir_preconditions *preconditions) {
  uint32_t all = ROC_IR_NONE;
  for (uint32_t i = 0; i < preconditions->count; i++) {
    const roc_ir_precondition *p = &preconditions->items[i];
    bool is_done = false;
    for (uint32_t j = 0; j < i; j++) is_done |= is_same_bound(&preconditions->items[j], p);
    if (is_done) continue;
    uint32_t bound = emit_bound(v, p, &all);
    if (p->is_lower) {
      all = both(v, all, at_most(v, roc_ir_const_int(&v->b, 1), bound));
      continue;
    }
    uint32_t least = roc_ir_extent(&v->b, p->array, p->axis);
    for (uint32_t j = i + 1; j < preconditions->count; j++) {
      const roc_ir_precondition *other = &preconditions->items[j];
      if (!is_same_bound(other, p)) continue;
      uint32_t extent = roc_ir_extent(&v->b, other->array, other->axis);
      least = roc_ir_binary(&v->b, ROC_IR_MIN, least, extent);
    }
    all = both(v, all, at_most(v, bound, least));
  }
  return all;
}

/* True when the body can be copied. */
static bool look_at_body(versioner *v, uint32_t region) {
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, v->m, region) {
    if (++v->ninsts > MAX_BODY_INSTS || w.inst->nargs > ROC_IR_COPY_MAX_ARGS) return false;
    v->is_inside[w.id] = 1;
  }
  return true;
}

/* Returns the region of the copy, which check_elimination.c can now free of checks. */
static uint32_t version_body(versioner *v, const roc_ir_preconditions *preconditions) {
  roc_ir_ids old = v->m->regions.items[0];
  v->m->regions.items[0] = (roc_ir_ids){0};
  v->b.region = 0;
  v->b.loc = inst_of(v, old.items[0]).loc;
  uint32_t all = emit_preconditions(v, preconditions);
  uint32_t choice = roc_ir_begin(&v->b, ROC_IR_IF, ROC_IR_IF_VERSIONS, &all, 1);
  for (uint32_t i = 0; i < old.count; i++) roc_ir_copy(&v->copier, old.items[i]);
  roc_ir_else(&v->b, choice);
  for (uint32_t i = 0; i < old.count; i++) push_id(v, old.items[i]);
  roc_ir_end(&v->b, choice);
  roc_vec_deinit(&old);
  return v->b.failed ? 0 : v->m->insts.items[choice].k.region[0];
}

bool roc_ir_is_shared_by_launch(const roc_ir_module *m, uint32_t id) {
  const roc_ir_inst *inst = &m->insts.items[id];
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_CONST:
    case ROC_IR_PARAM:
    case ROC_IR_EXTENT:
    case ROC_IR_GLOBAL_SIZE:
    case ROC_IR_LOCAL_SIZE:
    case ROC_IR_NUM_GROUPS: return true;
    case ROC_IR_ADD:
    case ROC_IR_MUL:
    case ROC_IR_FLOORDIV:
    case ROC_IR_MIN:
    case ROC_IR_LE:
    case ROC_IR_SELECT: break;
    default: return false;
  }
  for (uint32_t n = 0; n < inst->nargs; n++) {
    if (!roc_ir_is_shared_by_launch(m, roc_ir_arg(m, inst, n))) return false;
  }
  return true;
}

roc_status roc_ir_version_body(roc_ir_module *module, bool defers, uint32_t *out_region,
                               roc_error *err) {
  versioner v;
  roc_ir_preconditions preconditions = {0};
  *out_region = 0;
  roc_status status = roc_ir_find_preconditions(module, defers, &preconditions, err);
  bool is_open = open_versioner(&v, module);
  bool is_worth_it =
      status == ROC_OK && preconditions.count > 0 && preconditions.count <= MAX_PRECONDITIONS;
  if (is_open && is_worth_it && look_at_body(&v, 0)) {
    *out_region = version_body(&v, &preconditions);
  }
  roc_vec_deinit(&preconditions);
  roc_status closed = close_versioner(&v, is_open, err);
  return status == ROC_OK ? closed : status;
}
