/* See loop_versioning.h. Works on one region after the other, innermost first: the list of a region
 * is taken out and filled again, with the condition and both versions where a loop is worth it. */
#include "ir/loop_versioning.h"

#include <string.h>

#include "base/alloc.h"
#include "ir/build.h"
#include "ir/check_elimination.h"
#include "ir/walk.h"

enum {
  MAX_LOOP_INSTS = 256, /* larger ones are not copied */
  MAX_BODY_INSTS = 512, /* nor kernels */
  MAX_PRECONDITIONS = 12,
  MAX_CHECKS = 16,
  MAX_DEPTH = 8, /* of an index expression */
  MAX_ARGS = 16  /* of an instruction */
};

typedef struct versioner {
  roc_ir_module *m;
  roc_ir_builder b;
  uint8_t *is_inside;  /* per instruction: of the current loop */
  uint8_t *is_set;     /* per variable: assigned in it */
  uint8_t *is_dropped; /* per instruction: a check the copy does without */
  uint32_t *copies;    /* per instruction of the loop: its copy */
  uint32_t count;      /* instructions there were at the start; the tables' size */
  uint32_t var;        /* the loop's counter */
  uint32_t checks[MAX_CHECKS], nchecks, ninsts;
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
    bool is_large = ++v->ninsts > MAX_LOOP_INSTS || w.inst->nargs > MAX_ARGS;
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
  uint32_t args[MAX_ARGS];
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

static uint32_t copy_of(const versioner *v, uint32_t id) {
  return id < v->count && v->is_inside[id] ? v->copies[id] : id;
}

static void copy_region(versioner *v, uint32_t region);

static void copy_inst(versioner *v, uint32_t id) {
  roc_ir_inst inst = inst_of(v, id);
  uint32_t args[MAX_ARGS];
  if (v->is_dropped[id] || v->b.failed) return;
  for (uint32_t n = 0; n < inst.nargs; n++) args[n] = copy_of(v, arg_of(v, id, n));
  if (inst.op == ROC_IR_LEAVE || inst.op == ROC_IR_NEXT) inst.aux = copy_of(v, inst.aux);
  v->b.loc = inst.loc;
  if (!roc_ir_has_regions(&inst)) {
    v->copies[id] = roc_ir_append(&v->b, inst, args);
    return;
  }
  uint32_t copy = roc_ir_begin(&v->b, (roc_ir_op)inst.op, inst.aux, args, inst.nargs);
  v->copies[id] = copy;
  copy_region(v, inst.k.region[0]);
  if (inst.op == ROC_IR_IF) {
    roc_ir_else(&v->b, copy);
    copy_region(v, inst.k.region[1]);
  }
  roc_ir_end(&v->b, copy);
}

static void copy_region(versioner *v, uint32_t region) {
  for (uint32_t i = 0; i < v->m->regions.items[region].count; i++) {
    copy_inst(v, v->m->regions.items[region].items[i]);
  }
}

/* ---- loops ------------------------------------------------------------------------------- */

static bool push_id(versioner *v, uint32_t id) {
  if (!v->b.failed && roc_vec_push(&v->m->regions.items[v->b.region], id)) return true;
  v->b.failed = true;
  return false;
}

/* Finds the checks that can be decided in front of the loop; false when there are none. */
static bool look_at_loop(versioner *v, uint32_t id) {
  roc_ir_inst loop = inst_of(v, id);
  roc_ir_inst step = inst_of(v, arg_of(v, id, 2));
  if (step.op != ROC_IR_CONST || step.k.i == 0) return false;
  memset(v->is_inside, 0, v->count);
  memset(v->is_set, 0, v->m->vars.count);
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
  return nkept > 0;
}

static void version_loop(versioner *v, uint32_t id) {
  bool is_down = inst_of(v, arg_of(v, id, 2)).k.i < 0;
  uint32_t low = arg_of(v, id, is_down ? 1 : 0), high = arg_of(v, id, is_down ? 0 : 1);
  uint32_t all = ROC_IR_NONE;
  v->b.loc = inst_of(v, id).loc;
  for (uint32_t i = 0; i < v->nchecks; i++) all = add_check(v, all, v->checks[i], low, high);
  uint32_t choice = roc_ir_begin_if(&v->b, all);
  v->is_inside[id] = 1; /* so that jumps of the copy go to the copy */
  copy_inst(v, id);
  roc_ir_else(&v->b, choice);
  push_id(v, id);
  roc_ir_end(&v->b, choice);
}

static void version_region(versioner *v, uint32_t region) {
  roc_ir_ids old = v->m->regions.items[region];
  for (uint32_t i = 0; i < old.count; i++) {
    roc_ir_inst inst = inst_of(v, old.items[i]);
    for (uint32_t r = 0; r < roc_ir_region_count(&inst); r++) version_region(v, inst.k.region[r]);
  }
  old = v->m->regions.items[region];
  v->m->regions.items[region] = (roc_ir_ids){0};
  for (uint32_t i = 0; i < old.count && !v->b.failed; i++) {
    uint32_t id = old.items[i];
    v->b.region = region;
    if (inst_of(v, id).op == ROC_IR_FOR && look_at_loop(v, id)) {
      version_loop(v, id);
    } else {
      push_id(v, id);
    }
  }
  roc_vec_deinit(&old);
}

static bool open_versioner(versioner *v, roc_ir_module *module) {
  *v = (versioner){.m = module, .count = module->insts.count};
  v->is_inside = roc_zalloc(v->count + 1);
  v->is_dropped = roc_zalloc(v->count + 1);
  v->is_set = roc_zalloc(module->vars.count + 1);
  v->copies = roc_zalloc((v->count + 1) * sizeof *v->copies);
  roc_ir_builder_init(&v->b, module);
  return v->is_inside && v->is_dropped && v->is_set && v->copies;
}

static roc_status close_versioner(versioner *v, bool was_opened, roc_error *err) {
  roc_status status = roc_ir_builder_finish(&v->b, err);
  void *tables[] = {v->is_inside, v->is_dropped, v->is_set, v->copies};
  for (int i = 0; i < 4; i++) roc_free(tables[i]);
  return was_opened ? status : roc_fail(err, ROC_OOM, "out of memory");
}

static roc_status version_loops(roc_ir_module *module, uint32_t region, roc_error *err) {
  versioner v;
  bool is_open = open_versioner(&v, module);
  if (is_open) version_region(&v, region);
  return close_versioner(&v, is_open, err);
}

roc_status roc_ir_version_loops(roc_ir_module *module, roc_error *err) {
  return version_loops(module, 0, err);
}

/* ---- the whole kernel ---------------------------------------------------------------------- */

static bool is_same_bound(const roc_ir_precondition *a, const roc_ir_precondition *b) {
  return !a->is_lower && !b->is_lower && a->op == b->op && a->aux == b->aux && a->dim == b->dim &&
         a->k == b->k && a->step == b->step && a->begin == b->begin && a->factor == b->factor;
}

static uint32_t emit_bound(versioner *v, const roc_ir_precondition *p) {
  uint32_t bound;
  switch ((roc_ir_op)p->op) {
    case ROC_IR_EXTENT: bound = roc_ir_extent(&v->b, p->aux, (uint32_t)p->dim); break;
    case ROC_IR_PARAM: bound = roc_ir_param_value(&v->b, p->aux); break;
    case ROC_IR_CONST: return roc_ir_const_int(&v->b, p->k);
    default: bound = roc_ir_query(&v->b, (roc_ir_op)p->op, p->aux); break;
  }
  if (p->step > 1) { /* the very operations of roc_ir_facts_add_multiple */
    uint32_t step = roc_ir_const_int(&v->b, p->step);
    bound = roc_ir_binary(&v->b, ROC_IR_ADD, bound, roc_ir_const_int(&v->b, p->begin));
    bound = roc_ir_binary(&v->b, ROC_IR_FLOORDIV, bound, step);
    bound = roc_ir_binary(&v->b, ROC_IR_MUL, bound, step);
  }
  if (p->factor > 1) {
    bound = roc_ir_binary(&v->b, ROC_IR_MUL, bound, roc_ir_const_int(&v->b, p->factor));
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
    uint32_t bound = emit_bound(v, p);
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
    if (++v->ninsts > MAX_BODY_INSTS || w.inst->nargs > MAX_ARGS) return false;
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
  for (uint32_t i = 0; i < old.count; i++) copy_inst(v, old.items[i]);
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

/* A versioned loop that ends the body, under a condition of the whole launch, is a version of the
 * kernel as well.  `first`: the first instruction that this pass made. */
static void mark_last_loop(roc_ir_module *module, uint32_t first) {
  const roc_ir_ids *body = &module->regions.items[0];
  if (body->count == 0 || roc_vec_last(body) < first) return;
  roc_ir_inst *last = &module->insts.items[roc_vec_last(body)];
  if (last->op != ROC_IR_IF || !roc_ir_is_shared_by_launch(module, roc_ir_arg(module, last, 0))) {
    return;
  }
  last->aux = ROC_IR_IF_VERSIONS;
}

roc_status roc_ir_version_launch(roc_ir_module *module, roc_error *err) {
  versioner v;
  roc_ir_preconditions preconditions = {0};
  uint32_t region = 0, first = module->insts.count;
  roc_status status = roc_ir_find_preconditions(module, &preconditions, err);
  bool is_open = open_versioner(&v, module);
  bool is_worth_it =
      status == ROC_OK && preconditions.count > 0 && preconditions.count <= MAX_PRECONDITIONS;
  if (is_open && is_worth_it && look_at_body(&v, 0)) region = version_body(&v, &preconditions);
  roc_vec_deinit(&preconditions);
  roc_status closed = close_versioner(&v, is_open, err);
  if (status == ROC_OK) status = closed;
  if (status == ROC_OK) status = roc_ir_eliminate_checks_gpu(module, err);
  if (status == ROC_OK) status = version_loops(module, region, err);
  if (status == ROC_OK) mark_last_loop(module, first);
  return status;
}
