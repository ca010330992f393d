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
  MAX_DEPTH = 8 /* of an index expression */
};

typedef struct versioner {
  roc_ir_module *m;
  roc_ir_builder b;
  uint8_t *is_inside;  /* per instruction: of the current loop */
  uint8_t *is_set;     /* per variable: assigned in it */
  uint8_t *is_dropped; /* per instruction: a check the copy does without */
  roc_ir_copier copier;
  uint32_t count; /* instructions there were at the start; the tables' size */
  uint32_t var;   /* the loop's counter */
  uint32_t checks[MAX_CHECKS], nchecks, ninsts;
  uint32_t nvars;   /* there were at the start */
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

static bool replace(void *ud, uint32_t id, roc_ir_inst *inst, uint32_t *args) {
  const versioner *v = ud;
  (void)inst, (void)args;
  return v->is_dropped[id];
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
  roc_ir_inst step = inst_of(v, arg_of(v, id, 2));
  if (step.op != ROC_IR_CONST || step.k.i == 0) return false;
  memset(v->is_inside, 0, v->count);
  memset(v->is_set, 0, v->nvars);
  v->var = loop.aux;
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

static void version_loop(versioner *v, uint32_t id) {
  uint32_t all = ROC_IR_NONE;
  bool is_down = inst_of(v, arg_of(v, id, 2)).k.i < 0;
  uint32_t low = arg_of(v, id, is_down ? 1 : 0), high = arg_of(v, id, is_down ? 0 : 1);
  v->b.loc = inst_of(v, id).loc;
  for (uint32_t i = 0; i < v->nchecks; i++) all = add_check(v, all, v->checks[i], low, high);
  uint32_t choice = roc_ir_begin_if(&v->b, all);
  roc_ir_copy(&v->copier, id);
  roc_ir_else(&v->b, choice);
  push_id(v, id);
  roc_ir_end(&v->b, choice);
  roc_ir_forget_copies(&v->copier, &id, 1);
  if (!roc_vec_push(v->left, id)) v->b.failed = true;
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
    if (inst_of(v, id).op == ROC_IR_FOR && look_at_loop(v, id) && v->nchecks > 0) {
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
  roc_ir_builder_init(&v->b, module);
  return v->is_inside && v->is_dropped && v->is_set && v->copier.copies;
}

static roc_status close_versioner(versioner *v, bool was_opened, roc_error *err) {
  roc_status status = roc_ir_builder_finish(&v->b, err);
  void *tables[] = {v->is_inside, v->is_dropped, v->is_set, v->copier.copies};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) roc_free(tables[i]);
  return was_opened ? status : roc_fail(err, ROC_OOM, "out of memory");
}

roc_status roc_ir_version_loops(roc_ir_module *module, uint32_t region, roc_error *err) {
  versioner v;
  roc_ir_ids left = {0};
  bool is_open = open_versioner(&v, module);
  v.left = &left;
  if (is_open) version_region(&v, region);
  roc_vec_deinit(&left);
  return close_versioner(&v, is_open, err);
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

roc_status roc_ir_version_body(roc_ir_module *module, uint32_t *out_region, roc_error *err) {
  versioner v;
  roc_ir_preconditions preconditions = {0};
  *out_region = 0;
  roc_status status = roc_ir_find_preconditions(module, &preconditions, err);
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
