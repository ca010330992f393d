/* See early_exits.h.  Region after region, innermost first.  The statements after an IF that leaves
 * in one of its regions move to the end of its other region, whose own exits come next. */
#include "ir/early_exits.h"

#include "base/alloc.h"
#include "ir/build.h"
#include "ir/parallel_regions.h"
#include "ir/walk.h"

/* Each exit of a list nests what follows by one; MOST_NESTING * (MOST_EXITS + 1) is below
 * ROC_IR_MAX_NESTING. */
enum { MOST_EXITS = 16, MOST_NESTING = 100 };

typedef struct nester {
  roc_ir_module *m;
  roc_ir_builder b;
  const uint8_t *cuts;
  uint32_t count;   /* instructions there were at the start: entries of `cuts` */
  uint32_t *nexits; /* per BLOCK: LEAVEs to it */
} nester;

/* The jump that does what the end of a list does: RETURN, or LEAVE or NEXT of a statement. */
typedef struct exit_kind {
  roc_ir_op op;
  uint32_t target;
} exit_kind;

static const roc_ir_inst *inst_of(const nester *n, uint32_t id) {
  return &n->m->insts.items[id];
}

static roc_ir_ids *region_of(const nester *n, uint32_t id, unsigned r) {
  return &n->m->regions.items[inst_of(n, id)->k.region[r]];
}

static bool has_cut(const nester *n, uint32_t id) {
  return id < n->count && n->cuts[id];
}

static void push(nester *n, roc_ir_ids *ids, uint32_t id) {
  if (!roc_vec_push(ids, id)) n->b.failed = true;
}

/* ---- exits --------------------------------------------------------------------------------- */

static bool is_exit(const nester *n, uint32_t id, exit_kind e) {
  const roc_ir_inst *inst = inst_of(n, id);
  return inst->op == e.op && (e.op == ROC_IR_RETURN || inst->aux == e.target);
}

static bool is_plain_if(const nester *n, uint32_t id) {
  return inst_of(n, id)->op == ROC_IR_IF && inst_of(n, id)->aux == ROC_IR_IF_PLAIN;
}

/* Whether the list's last statement is the exit, whichever way control goes. */
static bool ends_in_exit(const nester *n, const roc_ir_ids *ids, exit_kind e) {
  if (!ids->count) return false;
  uint32_t last = roc_vec_last(ids);
  if (is_exit(n, last, e)) return true;
  return is_plain_if(n, last) && ends_in_exit(n, region_of(n, last, 0), e) &&
         ends_in_exit(n, region_of(n, last, 1), e);
}

static bool never_ends(const nester *n, const roc_ir_ids *ids) {
  return ids->count && roc_ir_ends_region(inst_of(n, roc_vec_last(ids)));
}

/* Which region of the IF leaves; 2: none does. */
static unsigned leaving_region(const nester *n, uint32_t id, exit_kind e) {
  unsigned r = 0;
  while (r < 2 && !(is_plain_if(n, id) && ends_in_exit(n, region_of(n, id, r), e))) r++;
  return r;
}

static bool may_move(const nester *n, const roc_ir_ids *ids, uint32_t from) {
  for (uint32_t i = from; i < ids->count; i++) {
    if (has_cut(n, ids->items[i])) return false;
  }
  return true;
}

/* `if c then else … end` is `if not c then … end`. */
static void turn_if(nester *n, uint32_t region, uint32_t id) {
  roc_ir_ids *ids = &n->m->regions.items[region];
  uint32_t cond = roc_ir_arg(n->m, inst_of(n, id), 0);
  (void)roc_vec_pop(ids); /* the IF is the last one */
  n->b.region = region;
  n->b.loc = inst_of(n, id)->loc;
  uint32_t inverse = roc_ir_unary(&n->b, ROC_IR_NOT, cond);
  if (n->b.failed) return;
  push(n, &n->m->regions.items[region], id);
  roc_ir_inst *inst = &n->m->insts.items[id];
  n->m->operands.items[inst->args] = inverse;
  uint32_t then = inst->k.region[0];
  inst->k.region[0] = inst->k.region[1];
  inst->k.region[1] = then;
}

static void nest(nester *n, uint32_t region, exit_kind e, unsigned depth);

/* Both regions of the list's last statement, an IF, end where the list does. */
static void nest_last(nester *n, uint32_t region, exit_kind e, unsigned depth) {
  uint32_t id = roc_vec_last(&n->m->regions.items[region]);
  for (unsigned r = 0; r < 2; r++) nest(n, inst_of(n, id)->k.region[r], e, depth);
  bool is_turned = !region_of(n, id, 0)->count && region_of(n, id, 1)->count;
  if (is_turned && !n->b.failed) turn_if(n, region, id);
}

static void nest(nester *n, uint32_t region, exit_kind e, unsigned depth) {
  roc_ir_ids *ids = &n->m->regions.items[region];
  if (ids->count && is_exit(n, roc_vec_last(ids), e)) {
    uint32_t last = roc_vec_pop(ids);
    if (e.op == ROC_IR_LEAVE) n->nexits[inst_of(n, last)->aux]--;
  }
  for (uint32_t i = 0; i < ids->count && !n->b.failed; i++) {
    uint32_t id = ids->items[i];
    unsigned r = leaving_region(n, id, e);
    bool is_last = i + 1 == ids->count;
    if (is_last && is_plain_if(n, id)) {
      nest_last(n, region, e, depth);
      return;
    }
    if (r == 2 || depth == MOST_EXITS || !may_move(n, ids, i)) continue;
    roc_ir_ids *other = region_of(n, id, 1 - r);
    bool is_rest_dead = never_ends(n, other) || ends_in_exit(n, other, e);
    for (uint32_t k = i + 1; k < ids->count && !is_rest_dead; k++) push(n, other, ids->items[k]);
    ids->count = i + 1;
    nest_last(n, region, e, depth + 1);
    return;
  }
}

/* ---- regions ------------------------------------------------------------------------------- */

/* Puts what is in BLOCK `ids[at]` in its place. */
static void splice(nester *n, uint32_t region, uint32_t at) {
  roc_ir_ids *ids = &n->m->regions.items[region], whole = {0};
  const roc_ir_ids *inner = region_of(n, ids->items[at], 0);
  for (uint32_t i = 0; i < at; i++) push(n, &whole, ids->items[i]);
  for (uint32_t i = 0; i < inner->count; i++) push(n, &whole, inner->items[i]);
  bool is_rest_dead = never_ends(n, inner);
  for (uint32_t i = at + 1; i < ids->count && !is_rest_dead; i++) push(n, &whole, ids->items[i]);
  roc_vec_deinit(ids);
  *ids = whole;
}

static void visit(nester *n, uint32_t region, const exit_kind *e) {
  for (uint32_t i = 0; i < n->m->regions.items[region].count && !n->b.failed; i++) {
    uint32_t id = n->m->regions.items[region].items[i];
    roc_ir_inst inst = *inst_of(n, id);
    bool is_loop = inst.op == ROC_IR_LOOP || inst.op == ROC_IR_FOR;
    exit_kind own = {is_loop ? ROC_IR_NEXT : ROC_IR_LEAVE, id};
    for (uint32_t r = 0; r < roc_ir_region_count(&inst); r++) {
      visit(n, inst.k.region[r], inst.op == ROC_IR_IF ? NULL : &own);
    }
    if (inst.op == ROC_IR_BLOCK && !n->nexits[id] && !has_cut(n, id)) {
      uint32_t ninner = region_of(n, id, 0)->count;
      splice(n, region, i);
      i += ninner - 1; /* from 0 on where there were none */
    }
  }
  if (e && !n->b.failed) nest(n, region, *e, 0);
}

/* Counts exits; whether there are any, in a nesting that leaves room for more. */
static ROC_IR_WALKS bool survey(nester *n) {
  bool any = false;
  uint32_t deepest = 0;
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, n->m, 0) {
    if (w.inst->op == ROC_IR_LEAVE) n->nexits[w.inst->aux]++;
    any |= w.inst->op == ROC_IR_LEAVE || w.inst->op == ROC_IR_NEXT || w.inst->op == ROC_IR_RETURN;
    if (w.depth > deepest) deepest = w.depth;
  }
  return any && deepest <= MOST_NESTING;
}

roc_status roc_ir_nest_early_exits(roc_ir_module *module, roc_error *err) {
  nester n = {.m = module, .count = module->insts.count};
  uint8_t *cuts;
  ROC_TRY(roc_ir_find_cuts(module, &cuts, err));
  n.cuts = cuts;
  n.nexits = roc_zalloc((n.count + 1) * sizeof *n.nexits);
  roc_ir_builder_init(&n.b, module);
  if (!n.nexits) n.b.failed = true;
  if (n.nexits && survey(&n)) visit(&n, 0, &(exit_kind){ROC_IR_RETURN, ROC_IR_NONE});
  roc_free(cuts);
  roc_free(n.nexits);
  return roc_ir_builder_finish(&n.b, err);
}
