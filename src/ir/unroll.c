/* See unroll.h.  A loop's rounds are copies of its body in which the counter is a constant; loops in
 * it are unrolled on the way. */
#include "ir/unroll.h"

#include "base/alloc.h"
#include "ir/copy.h"
#include "ir/walk.h"

enum {
  MAX_ROUNDS = 16,
  MAX_PRIVATE = 8,  /* of a loop that accesses private arrays */
  MAX_INSTS = 1024, /* of all rounds of a loop, and of those in it */
  MAX_ALL = 4096    /* of a kernel */
};

typedef struct unroller {
  roc_ir_module *m;
  roc_ir_builder b;
  roc_ir_copier copier;
  uint32_t *counter; /* per variable: the constant that it is in the current round, or NONE */
  uint32_t nmade;
} unroller;

static const roc_ir_inst *inst_of(const unroller *u, uint32_t id) {
  return &u->m->insts.items[id];
}

/* 0: they are not known, or too many. */
static uint32_t rounds_of(const unroller *u, const roc_ir_inst *loop) {
  int64_t bounds[3], span;
  for (uint32_t n = 0; n < 3; n++) {
    const roc_ir_inst *bound = inst_of(u, roc_ir_arg(u->m, loop, n));
    if (bound->op != ROC_IR_CONST) return 0;
    bounds[n] = bound->k.i;
  }
  if (bounds[2] <= 0 || __builtin_sub_overflow(bounds[1], bounds[0], &span) || span < 0) return 0;
  uint64_t rounds = (uint64_t)span / (uint64_t)bounds[2] + 1;
  return rounds <= MAX_ROUNDS ? (uint32_t)rounds : 0;
}

/* A jump from an inner loop keeps both: that one would become its rounds as well. */
static bool stays(const unroller *u, const roc_ir_walk *w) {
  const uint16_t meets = ROC_IRF_CUT_GROUP | ROC_IRF_CUT_WAVE;
  const roc_ir_inst *inst = w->inst;
  if (inst->op == ROC_IR_LEAVE || inst->op == ROC_IR_NEXT) {
    return inst_of(u, inst->aux)->op != ROC_IR_BLOCK || !roc_ir_walk_is_inside(w, inst->aux);
  }
  bool stops = roc_ir_op_table[inst->op].flags & (ROC_IRF_STOP | meets);
  return stops || inst->nargs > ROC_IR_COPY_MAX_ARGS || w->id >= u->copier.count;
}

static ROC_IR_WALKS uint32_t size_of_body(const unroller *u, uint32_t loop) {
  roc_ir_walk w;
  uint32_t size = 0;
  ROC_IR_FOR_EACH(w, u->m, inst_of(u, loop)->k.region[0]) {
    if (++size > MAX_INSTS || stays(u, &w)) return MAX_INSTS + 1;
    uint32_t inner = w.inst->op == ROC_IR_FOR ? rounds_of(u, w.inst) : 0;
    if (w.inst->op == ROC_IR_LOOP || (w.inst->op == ROC_IR_FOR && !inner)) return MAX_INSTS + 1;
  }
  return size;
}

/* The instructions of the region with its loops unrolled. */
static uint32_t unrolled_size(const unroller *u, uint32_t region) {
  const roc_ir_ids *ids = &u->m->regions.items[region];
  uint32_t size = 0;
  for (uint32_t i = 0; i < ids->count && size <= MAX_INSTS; i++) {
    const roc_ir_inst *inst = inst_of(u, ids->items[i]);
    uint32_t rounds = inst->op == ROC_IR_FOR ? rounds_of(u, inst) : 1, inner = 1;
    for (uint32_t r = 0; r < roc_ir_region_count(inst); r++) {
      inner += unrolled_size(u, inst->k.region[r]);
    }
    size += rounds * inner;
  }
  return size;
}

/* LLVM makes registers of private arrays, and then knows better what a round costs. */
static ROC_IR_WALKS bool has_private(const unroller *u, uint32_t loop) {
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, u->m, inst_of(u, loop)->k.region[0]) {
    bool accesses = w.inst->op == ROC_IR_LOAD || w.inst->op == ROC_IR_STORE;
    if (accesses && u->m->arrays.items[w.inst->aux].kind == ROC_IR_ARRAY_PRIVATE) return true;
  }
  return false;
}

static bool is_short(unroller *u, uint32_t id) {
  const roc_ir_inst *inst = inst_of(u, id);
  uint32_t rounds = inst->op == ROC_IR_FOR ? rounds_of(u, inst) : 0;
  if (!rounds || size_of_body(u, id) > MAX_INSTS) return false;
  if (rounds > MAX_PRIVATE && has_private(u, id)) return false;
  uint32_t size = rounds * unrolled_size(u, inst->k.region[0]);
  if (size > MAX_INSTS || u->nmade + size > MAX_ALL) return false;
  u->nmade += size;
  return true;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static void copy_rounds(unroller *u, roc_ir_inst loop) {
  int64_t first = inst_of(u, roc_ir_arg(u->m, &loop, 0))->k.i;
  int64_t step = inst_of(u, roc_ir_arg(u->m, &loop, 2))->k.i;
  uint32_t rounds = rounds_of(u, &loop), before = u->counter[loop.aux];
  for (uint32_t round = 0; round < rounds; round++) {
    u->counter[loop.aux] = roc_ir_const_int(&u->b, first + (int64_t)round * step);
    roc_ir_copy_region(&u->copier, loop.k.region[0]);
  }
  u->counter[loop.aux] = before;
}

/* A sum with a constant below 0 is a difference, so that neither operand is. */
static void prefer_difference(unroller *u, roc_ir_inst *inst, uint32_t *args) {
  if (inst->op != ROC_IR_ADD || inst->type != ROC_VT_INT) return;
  for (uint32_t n = 0; n < 2; n++) {
    const roc_ir_inst *k = inst_of(u, args[n]);
    if (k->op != ROC_IR_CONST || k->k.i >= 0 || k->k.i == INT64_MIN) continue;
    args[0] = args[1 - n];
    args[1] = roc_ir_const_int(&u->b, -k->k.i);
    inst->op = ROC_IR_SUB;
    return;
  }
}

static bool replace(void *ud, uint32_t id, roc_ir_inst *inst, uint32_t *args) {
  unroller *u = ud;
  if (inst->op == ROC_IR_FOR) {
    copy_rounds(u, *inst);
    return true;
  }
  if (inst->op == ROC_IR_GET && u->counter[inst->aux] != ROC_IR_NONE) {
    u->copier.copies[id] = u->counter[inst->aux];
    return true;
  }
  prefer_difference(u, inst, args);
  return false;
}

static void unroll_region(unroller *u, uint32_t region) {
  roc_ir_ids old = u->m->regions.items[region];
  u->m->regions.items[region] = (roc_ir_ids){0};
  for (uint32_t i = 0; i < old.count && !u->b.failed; i++) {
    uint32_t id = old.items[i];
    u->b.region = region;
    if (is_short(u, id)) {
      u->b.loc = inst_of(u, id)->loc;
      copy_rounds(u, *inst_of(u, id));
      continue;
    }
    if (!roc_vec_push(&u->m->regions.items[region], id)) u->b.failed = true;
    roc_ir_inst inst = *inst_of(u, id);
    for (uint32_t r = 0; r < roc_ir_region_count(&inst); r++) unroll_region(u, inst.k.region[r]);
  }
  roc_vec_deinit(&old);
}

roc_status roc_ir_unroll_short_loops(roc_ir_module *module, roc_error *err) {
  unroller u = {.m = module};
  uint32_t count = module->insts.count, nvars = module->vars.count;
  roc_ir_builder_init(&u.b, module);
  u.copier = (roc_ir_copier){&u.b, roc_ir_new_copies(count), count, replace, &u};
  u.counter = roc_alloc((nvars + 1) * sizeof *u.counter);
  bool is_made = u.copier.copies && u.counter;
  for (uint32_t i = 0; is_made && i < nvars; i++) u.counter[i] = ROC_IR_NONE;
  if (is_made) unroll_region(&u, 0);
  roc_free(u.copier.copies);
  roc_free(u.counter);
  roc_status status = roc_ir_builder_finish(&u.b, err);
  return is_made ? status : roc_fail(err, ROC_OOM, "out of memory");
}
