/* See counted_loops.h.  Region after region, innermost first: the list of a region is taken out and
 * filled again, with a FOR in place of each LOOP that counts.
 *
 * The FOR has a counter of its own.  So what the loop's variable is afterwards must not be read:
 * it is set in front of the loop, in the same region, and read between that and the loop's end. */
#include "ir/counted_loops.h"

#include "base/alloc.h"
#include "ir/build.h"
#include "ir/range.h"
#include "ir/walk.h"

enum { MAX_DEPTH = 8 /* of a bound or a step */ };

/* Extents are smaller, and a launch with more work-items or workgroups never ends. */
static const int64_t max_extent = (int64_t)1 << 48, max_size = (int64_t)1 << 62;

typedef struct counter {
  roc_ir_module *m;
  roc_ir_builder b;
  uint32_t count;    /* instructions there were at the start; the tables' size */
  uint32_t *order;   /* per instruction: its place in the text */
  uint32_t *last_of; /* per instruction with regions: the place of the last one in it */
} counter;

/* A LOOP that counts: it goes on while `var` <= `bound`, or < where is_strict. */
typedef struct counted {
  uint32_t loop, var, bound, step;
  uint32_t end_at; /* of the IF that ends it, in its region */
  bool is_strict;
} counted;

static const roc_ir_inst *inst_of(const counter *c, uint32_t id) {
  return &c->m->insts.items[id];
}

static uint32_t arg_of(const counter *c, uint32_t id, uint32_t n) {
  return roc_ir_arg(c->m, inst_of(c, id), n);
}

static roc_ir_ids *body_of(const counter *c, uint32_t loop) {
  return &c->m->regions.items[inst_of(c, loop)->k.region[0]];
}

static bool is_get(const counter *c, uint32_t id, uint32_t var) {
  return inst_of(c, id)->op == ROC_IR_GET && inst_of(c, id)->aux == var;
}

static bool is_inside(const counter *c, uint32_t loop, uint32_t id) {
  return id < c->count && c->order[id] > c->order[loop] && c->order[id] <= c->last_of[loop];
}

static ROC_IR_WALKS void number_insts(counter *c) {
  roc_ir_walk w;
  uint32_t n = 0;
  roc_ir_walk_begin(&w, c->m, 0);
  while (roc_ir_walk_step(&w)) {
    if (w.is_end) {
      c->last_of[w.id] = n;
    } else {
      c->order[w.id] = ++n;
    }
  }
}

/* ---- what stays the same ------------------------------------------------------------------- */

static ROC_IR_WALKS bool is_set_in(const counter *c, uint32_t loop, uint32_t var) {
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, c->m, inst_of(c, loop)->k.region[0]) {
    bool sets = w.inst->op == ROC_IR_SET || w.inst->op == ROC_IR_FOR;
    if (sets && w.inst->aux == var) return true;
  }
  return false;
}

/* Whether the value can be computed in front of the loop. */
static bool is_invariant(const counter *c, uint32_t loop, uint32_t id, unsigned depth) {
  if (!is_inside(c, loop, id)) return true;
  const roc_ir_inst *inst = inst_of(c, id);
  if (inst->op == ROC_IR_GET) return !is_set_in(c, loop, inst->aux);
  if (!(roc_ir_op_table[inst->op].flags & ROC_IRF_PURE) || depth == MAX_DEPTH) return false;
  if (inst->nargs > 2) return false;
  for (uint32_t n = 0; n < inst->nargs; n++) {
    if (!is_invariant(c, loop, arg_of(c, id, n), depth + 1)) return false;
  }
  return true;
}

static uint32_t compute(counter *c, uint32_t loop, uint32_t id) {
  if (!is_inside(c, loop, id)) return id;
  roc_ir_inst inst = *inst_of(c, id);
  uint32_t args[2];
  for (uint32_t n = 0; n < inst.nargs; n++) args[n] = compute(c, loop, arg_of(c, id, n));
  return roc_ir_append(&c->b, inst, args);
}

static roc_ir_range range_of(const counter *c, uint32_t id, unsigned depth) {
  const roc_ir_inst *inst = inst_of(c, id);
  roc_ir_range args[2];
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_CONST: return (roc_ir_range){inst->k.i, inst->k.i};
    case ROC_IR_EXTENT: return (roc_ir_range){0, max_extent};
    case ROC_IR_PARAM:
      if (!c->m->params.items[inst->aux].type.is_narrow) return roc_ir_range_all;
      return (roc_ir_range){0, UINT32_MAX};
    case ROC_IR_GLOBAL_ID:
    case ROC_IR_LOCAL_ID:
    case ROC_IR_GROUP_ID:
    case ROC_IR_GLOBAL_SIZE:
    case ROC_IR_LOCAL_SIZE:
    case ROC_IR_NUM_GROUPS: return (roc_ir_range){1, max_size};
    case ROC_IR_ADD:
    case ROC_IR_SUB:
    case ROC_IR_MUL:
    case ROC_IR_MIN:
    case ROC_IR_MAX:
    case ROC_IR_FLOORDIV: break;
    default: return roc_ir_range_all;
  }
  if (depth == MAX_DEPTH) return roc_ir_range_all;
  for (uint32_t n = 0; n < 2; n++) args[n] = range_of(c, arg_of(c, id, n), depth + 1);
  return roc_ir_range_apply((roc_ir_op)inst->op, inst->aux, args);
}

/* ---- the form ------------------------------------------------------------------------------ */

/* Whether IF `id` does nothing but end the loop, once a variable has passed a bound. */
static bool is_end(const counter *c, counted *k, uint32_t id) {
  const roc_ir_inst *inst = inst_of(c, id);
  if (inst->op != ROC_IR_IF || c->m->regions.items[inst->k.region[1]].count) return false;
  const roc_ir_ids *then = &c->m->regions.items[inst->k.region[0]];
  if (then->count != 1 || inst_of(c, then->items[0])->op != ROC_IR_LEAVE ||
      inst_of(c, then->items[0])->aux != k->loop) {
    return false;
  }
  uint32_t cond = arg_of(c, id, 0);
  bool goes_on = inst_of(c, cond)->op == ROC_IR_NOT; /* where the comparison holds */
  if (goes_on) cond = arg_of(c, cond, 0);
  const roc_ir_inst *compare = inst_of(c, cond);
  if (compare->op != ROC_IR_LE && compare->op != ROC_IR_LT) return false;
  uint32_t get = arg_of(c, cond, !goes_on);
  k->bound = arg_of(c, cond, goes_on);
  k->is_strict = (compare->op == ROC_IR_LT) == goes_on;
  k->var = inst_of(c, get)->aux;
  return inst_of(c, get)->op == ROC_IR_GET && inst_of(c, get)->type == ROC_VT_INT &&
         is_inside(c, k->loop, get);
}

/* The end stands in front of all that the loop does. */
static bool find_end(const counter *c, counted *k) {
  const roc_ir_ids *ids = body_of(c, k->loop);
  for (k->end_at = 0; k->end_at < ids->count; k->end_at++) {
    uint32_t id = ids->items[k->end_at];
    const roc_ir_inst *inst = inst_of(c, id);
    if (inst->op == ROC_IR_IF) return is_end(c, k, id);
    if (inst->op != ROC_IR_GET && !(roc_ir_op_table[inst->op].flags & ROC_IRF_PURE)) return false;
  }
  return false;
}

/* The last thing it does is to add the step to the counter, which is not set elsewhere in it; no
 * NEXT leaves that out. */
static ROC_IR_WALKS bool find_step(const counter *c, counted *k) {
  const roc_ir_ids *ids = body_of(c, k->loop);
  uint32_t set = ids->items[ids->count - 1], nsets = 0;
  if (inst_of(c, set)->op != ROC_IR_SET || inst_of(c, set)->aux != k->var) return false;
  uint32_t sum = arg_of(c, set, 0);
  if (inst_of(c, sum)->op != ROC_IR_ADD) return false;
  for (uint32_t n = 0; n < 2; n++) {
    if (is_get(c, arg_of(c, sum, n), k->var)) k->step = arg_of(c, sum, !n);
  }
  if (k->step == ROC_IR_NONE || !is_inside(c, k->loop, sum)) return false;
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, c->m, inst_of(c, k->loop)->k.region[0]) {
    bool sets = w.inst->op == ROC_IR_SET || w.inst->op == ROC_IR_FOR;
    nsets += sets && w.inst->aux == k->var;
    if (w.inst->op == ROC_IR_NEXT && w.inst->aux == k->loop) return false;
  }
  return nsets == 1;
}

/* No sum wraps on the way to the bound, nor does the bound less one. */
static bool is_safe(const counter *c, const counted *k) {
  roc_ir_range bound = range_of(c, k->bound, 0), step = range_of(c, k->step, 0);
  return step.low >= 1 && bound.low > INT64_MIN && bound.high <= INT64_MAX - step.high;
}

/* Whether the variable is set before the loop, which is the `at`th of `ids`, and read nowhere but
 * between that and the loop's end. */
static ROC_IR_WALKS bool is_local(const counter *c, const counted *k, const roc_ir_ids *ids,
                                  uint32_t at) {
  uint32_t set = at;
  while (set > 0) {
    const roc_ir_inst *inst = inst_of(c, ids->items[--set]);
    if (inst->op == ROC_IR_SET && inst->aux == k->var) break;
    if (set == 0) return false;
  }
  if (at == 0) return false;
  uint32_t first = c->order[ids->items[set]], last = c->last_of[k->loop];
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, c->m, 0) {
    if (!is_get(c, w.id, k->var)) continue;
    if (w.id >= c->count || c->order[w.id] < first || c->order[w.id] > last) return false;
  }
  return true;
}

static bool is_counted(const counter *c, counted *k, const roc_ir_ids *ids, uint32_t at) {
  uint32_t id = ids->items[at];
  *k = (counted){.loop = id, .step = ROC_IR_NONE};
  return inst_of(c, id)->op == ROC_IR_LOOP && find_end(c, k) && find_step(c, k) &&
         is_invariant(c, id, k->bound, 0) && is_invariant(c, id, k->step, 0) && is_safe(c, k) &&
         is_local(c, k, ids, at);
}

/* ---- the FOR ------------------------------------------------------------------------------- */

static bool push_id(counter *c, uint32_t id) {
  if (!c->b.failed && roc_vec_push(&c->m->regions.items[c->b.region], id)) return true;
  c->b.failed = true;
  return false;
}

/* What the body reads of the variable is the FOR's counter; what left the LOOP leaves the FOR. */
static ROC_IR_WALKS void redirect(counter *c, const counted *k, uint32_t var, uint32_t loop) {
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, c->m, inst_of(c, k->loop)->k.region[0]) {
    roc_ir_inst *inst = &c->m->insts.items[w.id];
    if (is_get(c, w.id, k->var)) inst->aux = var;
    if (inst->op == ROC_IR_LEAVE && inst->aux == k->loop) inst->aux = loop;
  }
}

static void make_for(counter *c, const counted *k) {
  roc_ir_builder *b = &c->b;
  b->loc = inst_of(c, k->loop)->loc;
  uint32_t first = roc_ir_get(b, k->var), last = compute(c, k->loop, k->bound);
  uint32_t step = compute(c, k->loop, k->step);
  if (k->is_strict) last = roc_ir_binary(b, ROC_IR_SUB, last, roc_ir_const_int(b, 1));
  uint32_t var = roc_ir_add_var(b, c->m->vars.items[k->var].name, ROC_VT_INT);
  uint32_t loop = roc_ir_begin_for(b, var, first, last, step);
  if (b->failed) return;
  redirect(c, k, var, loop);
  const roc_ir_ids *ids = body_of(c, k->loop);
  for (uint32_t i = 0; i + 1 < ids->count; i++) {
    if (i != k->end_at) push_id(c, ids->items[i]);
  }
  roc_ir_end(b, loop);
}

static void visit_region(counter *c, uint32_t region) {
  for (uint32_t i = 0; i < c->m->regions.items[region].count; i++) {
    roc_ir_inst inst = *inst_of(c, c->m->regions.items[region].items[i]);
    for (uint32_t r = 0; r < roc_ir_region_count(&inst); r++) visit_region(c, inst.k.region[r]);
  }
  roc_ir_ids old = c->m->regions.items[region];
  counted k;
  bool any = false;
  for (uint32_t i = 0; i < old.count && !any; i++) any = is_counted(c, &k, &old, i);
  if (!any || c->b.failed) return;
  bool *is_for = roc_zalloc(old.count);
  counted *found = roc_zalloc(old.count * sizeof *found);
  c->b.failed = !is_for || !found;
  for (uint32_t i = 0; i < old.count && !c->b.failed; i++) {
    is_for[i] = is_counted(c, &found[i], &old, i);
  }
  if (!c->b.failed) {
    c->m->regions.items[region] = (roc_ir_ids){0};
    c->b.region = region;
    for (uint32_t i = 0; i < old.count; i++) {
      if (is_for[i]) {
        make_for(c, &found[i]);
      } else {
        push_id(c, old.items[i]);
      }
    }
    roc_vec_deinit(&old);
  }
  roc_free(is_for);
  roc_free(found);
}

static bool has_loops(const roc_ir_module *m) {
  for (uint32_t i = 0; i < m->insts.count; i++) {
    if (m->insts.items[i].op == ROC_IR_LOOP) return true;
  }
  return false;
}

roc_status roc_ir_count_loops(roc_ir_module *module, bool *out_changed, roc_error *err) {
  *out_changed = false;
  if (!has_loops(module)) return ROC_OK;
  counter c = {.m = module, .count = module->insts.count};
  roc_ir_builder_init(&c.b, module);
  c.order = roc_zalloc((c.count + 1) * sizeof *c.order);
  c.last_of = roc_zalloc((c.count + 1) * sizeof *c.last_of);
  bool is_allocated = c.order && c.last_of;
  if (is_allocated) {
    number_insts(&c);
    visit_region(&c, 0);
    *out_changed = module->insts.count > c.count;
  }
  roc_status status = roc_ir_builder_finish(&c.b, err);
  roc_free(c.order);
  roc_free(c.last_of);
  return is_allocated ? status : roc_fail(err, ROC_OOM, "out of memory");
}
