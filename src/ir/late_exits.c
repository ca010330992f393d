/* See late_exits.h.  A loop is looked at as a whole first; when it suits, its regions are filled
 * again, but for those that lie in a block as they are. */
#include "ir/late_exits.h"

#include "base/alloc.h"
#include "ir/build.h"
#include "ir/combined_checks.h"
#include "ir/parallel_regions.h"
#include "ir/uniform.h"
#include "ir/walk.h"

typedef struct delayer {
  roc_ir_module *m;
  roc_ir_builder b;
  roc_ir_uniform uniform;
  uint8_t *cuts;
  uint32_t count; /* instructions there were at the start, the tables' size */
  uint32_t tick;
  uint32_t *inside;    /* per instruction: the tick of the last part that it stands in */
  uint32_t *set, nset; /* variables that it assigns, which are the same for all items */
  uint32_t loop, dead; /* the current loop, and its variable */
  roc_ir_late_blocks *out;
} delayer;

static const roc_ir_inst *inst_of(const delayer *d, uint32_t id) {
  return &d->m->insts.items[id];
}

static bool is_jump(const roc_ir_inst *inst) {
  return inst->op == ROC_IR_LEAVE || inst->op == ROC_IR_NEXT;
}

static bool is_loop(const roc_ir_inst *inst) {
  return inst->op == ROC_IR_LOOP || inst->op == ROC_IR_FOR;
}

static bool is_check(const roc_ir_inst *inst) {
  return inst->op == ROC_IR_CHECK_INDEX || inst->op == ROC_IR_CHECK_NONZERO ||
         inst->op == ROC_IR_CHECK_INT;
}

/* ---- whether a loop suits -------------------------------------------------------------------- */

/* Ends items in another way, or lets them work together beside barriers. */
static bool is_unsuitable(const roc_ir_inst *inst) {
  bool stops =
      (roc_ir_op_table[inst->op].flags & ROC_IRF_STOP) && !is_check(inst) && !is_jump(inst);
  return stops || (roc_ir_op_table[inst->op].flags & ROC_IRF_CUT_WAVE);
}

/* Whether the way that decides over a barrier is one for all the workgroup. */
static bool is_steered_together(const delayer *d, uint32_t id) {
  const roc_ir_inst *inst = inst_of(d, id);
  if (is_jump(inst) && d->cuts[inst->aux]) return d->uniform.control[id] == ROC_IR_UNIFORM_GROUP;
  bool decides = (inst->op == ROC_IR_IF || inst->op == ROC_IR_FOR) && d->cuts[id];
  return !decides || d->uniform.insts[id] == ROC_IR_UNIFORM_GROUP;
}

static ROC_IR_WALKS bool has_suitable_insts(const delayer *d, uint32_t region) {
  roc_ir_walk w;
  uint32_t nchecks = 0;
  ROC_IR_FOR_EACH(w, d->m, region) {
    if (w.id >= d->count || is_unsuitable(w.inst) || !is_steered_together(d, w.id)) return false;
    nchecks += is_check(w.inst);
  }
  return nchecks > 0;
}

/* An IF that jumps past a barrier. */
static ROC_IR_WALKS bool jumps_past_cuts(const delayer *d, uint32_t id) {
  const roc_ir_inst *inst = inst_of(d, id);
  roc_ir_walk w;
  if (inst->op != ROC_IR_IF) return false;
  ROC_IR_FOR_EACH(w, d->m, inst->k.region[0]) {
    if (is_jump(w.inst) && d->cuts[w.inst->aux]) return true;
  }
  ROC_IR_FOR_EACH(w, d->m, inst->k.region[1]) {
    if (is_jump(w.inst) && d->cuts[w.inst->aux]) return true;
  }
  return false;
}

/* What stays outside of blocks because all items take part in it. */
static bool is_frame(const delayer *d, uint32_t id) {
  const roc_ir_inst *inst = inst_of(d, id);
  return d->cuts[id] || (is_jump(inst) && d->cuts[inst->aux]) || jumps_past_cuts(d, id);
}

/* What a dead item must not do, or what may depend on that. */
static bool acts(const roc_ir_inst *inst) {
  const uint16_t effects = ROC_IRF_WRITE | ROC_IRF_EFFECT | ROC_IRF_CONTROL;
  if (inst->op == ROC_IR_SET) return false;
  return inst->op == ROC_IR_LOAD || (roc_ir_op_table[inst->op].flags & effects);
}

/* From the first that acts of those at `at`, up to the frame, to the last; false: there is none. */
static bool find_part(const delayer *d, const roc_ir_ids *ids, uint32_t at, uint32_t *begin,
                      uint32_t *end) {
  *begin = *end = at;
  for (uint32_t i = at; i < ids->count && !is_frame(d, ids->items[i]); i++) {
    if (!acts(inst_of(d, ids->items[i]))) continue;
    if (*end == at) *begin = i;
    *end = i + 1;
  }
  return *end > at;
}

static ROC_IR_WALKS void enter_part(delayer *d, const uint32_t *ids, uint32_t count) {
  roc_ir_walk w;
  d->tick++;
  d->nset = 0;
  roc_ir_walk_begin_list(&w, d->m, ids, count);
  while (roc_ir_walk_next(&w)) {
    d->inside[w.id] = d->tick;
    bool may_steer =
        w.inst->op == ROC_IR_SET && d->uniform.vars[w.inst->aux] == ROC_IR_UNIFORM_GROUP;
    if (may_steer) d->set[d->nset++] = w.inst->aux;
  }
}

/* Whether the rest of the loop reads what the part assigns, if that is the same for all items: it may
 * steer. */
static ROC_IR_WALKS bool may_steer(const delayer *d) {
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, d->m, inst_of(d, d->loop)->k.region[0]) {
    if (w.inst->op != ROC_IR_GET || d->inside[w.id] == d->tick) continue;
    for (uint32_t i = 0; i < d->nset; i++) {
      if (d->set[i] == w.inst->aux) return true;
    }
  }
  return false;
}

static ROC_IR_WALKS bool is_used_by(const delayer *d, const uint32_t *ids, uint32_t count) {
  roc_ir_walk w;
  roc_ir_walk_begin_list(&w, d->m, ids, count);
  while (roc_ir_walk_next(&w)) {
    for (uint32_t n = 0; n < w.inst->nargs; n++) {
      if (d->inside[roc_ir_arg(d->m, w.inst, n)] == d->tick) return true;
    }
  }
  return false;
}

static bool has_suitable_parts(delayer *d, uint32_t region) {
  const roc_ir_ids *ids = &d->m->regions.items[region];
  uint32_t begin, end;
  for (uint32_t i = 0; i < ids->count; i++) {
    if (is_frame(d, ids->items[i])) {
      const roc_ir_inst *inst = inst_of(d, ids->items[i]);
      for (uint32_t r = 0; r < roc_ir_region_count(inst); r++) {
        if (!has_suitable_parts(d, inst->k.region[r])) return false;
      }
    } else if (find_part(d, ids, i, &begin, &end)) {
      enter_part(d, ids->items + begin, end - begin);
      if (may_steer(d) || is_used_by(d, ids->items + end, ids->count - end)) return false;
      i = end - 1;
    }
  }
  return true;
}

/* ---- the blocks ------------------------------------------------------------------------------ */

static void push_id(delayer *d, uint32_t id) {
  if (!d->b.failed && !roc_vec_push(&d->m->regions.items[d->b.region], id)) d->b.failed = true;
}

static uint32_t emit_is_dead(delayer *d) {
  uint32_t dead = roc_ir_get(&d->b, d->dead);
  return roc_ir_binary(&d->b, ROC_IR_NE, dead, roc_ir_const_int(&d->b, 0));
}

/* A wavefront whose items have all failed takes part in no round that is left: there may be 2^50. */
static void emit_end_of_wavefront(delayer *d) {
  uint32_t is_dead = emit_is_dead(d);
  uint32_t ends = roc_ir_begin(&d->b, ROC_IR_IF, ROC_IR_IF_ALL, &is_dead, 1);
  roc_ir_return(&d->b);
  roc_ir_end(&d->b, ends);
}

static void emit_block(delayer *d, const uint32_t *ids, uint32_t count) {
  d->b.loc = inst_of(d, ids[0])->loc;
  uint32_t block = roc_ir_begin_block(&d->b);
  uint32_t leaves = roc_ir_begin_if(&d->b, emit_is_dead(d));
  roc_ir_leave(&d->b, block);
  roc_ir_end(&d->b, leaves);
  for (uint32_t i = 0; i < count; i++) push_id(d, ids[i]);
  roc_ir_end(&d->b, block);
  if (!roc_vec_push(d->out, ((roc_ir_late_block){block, d->dead}))) d->b.failed = true;
}

static void emit_blocks(delayer *d, uint32_t region, bool is_of_loop) {
  roc_ir_ids old = d->m->regions.items[region];
  uint32_t begin, end;
  d->m->regions.items[region] = (roc_ir_ids){0};
  d->b.region = region;
  if (is_of_loop) emit_end_of_wavefront(d);
  for (uint32_t i = 0; i < old.count && !d->b.failed; i++) {
    d->b.region = region;
    if (is_frame(d, old.items[i])) {
      roc_ir_inst inst = *inst_of(d, old.items[i]);
      push_id(d, old.items[i]);
      for (uint32_t r = 0; r < roc_ir_region_count(&inst); r++) {
        emit_blocks(d, inst.k.region[r], is_loop(&inst));
      }
    } else if (find_part(d, &old, i, &begin, &end)) {
      for (; i < begin; i++) push_id(d, old.items[i]);
      emit_block(d, old.items + begin, end - begin);
      i = end - 1;
    } else {
      push_id(d, old.items[i]);
    }
  }
  roc_vec_deinit(&old);
}

static void delay_loop(delayer *d, uint32_t id) {
  uint32_t region = d->b.region;
  d->b.loc = inst_of(d, id)->loc;
  d->dead = roc_ir_add_var(&d->b, "", ROC_VT_INT);
  roc_ir_set(&d->b, d->dead, roc_ir_const_int(&d->b, 0));
  push_id(d, id);
  emit_blocks(d, inst_of(d, id)->k.region[0], true);
  d->b.region = region;
  d->b.loc = inst_of(d, id)->loc;
  uint32_t ends = roc_ir_begin_if(&d->b, emit_is_dead(d));
  roc_ir_return(&d->b);
  roc_ir_end(&d->b, ends);
}

static bool is_suitable(delayer *d, uint32_t id) {
  const roc_ir_inst *inst = inst_of(d, id);
  if (!is_loop(inst) || !(d->cuts[id] & ROC_IRF_CUT_GROUP)) return false;
  d->loop = id;
  bool is_together = inst->op == ROC_IR_LOOP || d->uniform.insts[id] == ROC_IR_UNIFORM_GROUP;
  return is_together && has_suitable_insts(d, inst->k.region[0]) &&
         has_suitable_parts(d, inst->k.region[0]);
}

static void delay_region(delayer *d, uint32_t region) {
  roc_ir_ids old = d->m->regions.items[region];
  d->m->regions.items[region] = (roc_ir_ids){0};
  for (uint32_t i = 0; i < old.count && !d->b.failed; i++) {
    roc_ir_inst inst = *inst_of(d, old.items[i]);
    d->b.region = region;
    if (is_suitable(d, old.items[i])) {
      delay_loop(d, old.items[i]);
      continue;
    }
    push_id(d, old.items[i]);
    for (uint32_t r = 0; inst.op == ROC_IR_IF && r < 2; r++) delay_region(d, inst.k.region[r]);
  }
  roc_vec_deinit(&old);
}

static bool has_loop_with_barrier(const roc_ir_module *m, const uint8_t *cuts) {
  for (uint32_t i = 0; i < m->insts.count; i++) {
    uint8_t op = m->insts.items[i].op;
    if ((op == ROC_IR_LOOP || op == ROC_IR_FOR) && (cuts[i] & ROC_IRF_CUT_GROUP)) return true;
  }
  return false;
}

static roc_status delay(delayer *d, uint32_t region, roc_error *err) {
  ROC_TRY(roc_ir_find_cuts(d->m, &d->cuts, err));
  if (!has_loop_with_barrier(d->m, d->cuts)) return ROC_OK;
  ROC_TRY(roc_ir_uniform_init(&d->uniform, d->m, err));
  d->inside = roc_zalloc((d->count + 1) * sizeof *d->inside);
  d->set = roc_alloc((d->count + 1) * sizeof *d->set);
  if (!d->inside || !d->set) return roc_fail(err, ROC_OOM, "out of memory");
  delay_region(d, region);
  return ROC_OK;
}

roc_status roc_ir_delay_exits(roc_ir_module *module, uint32_t region, roc_ir_late_blocks *out,
                              roc_error *err) {
  delayer d = {.m = module, .count = module->insts.count, .out = out};
  roc_ir_builder_init(&d.b, module);
  roc_status status = delay(&d, region, err);
  roc_status built = roc_ir_builder_finish(&d.b, err);
  roc_ir_uniform_deinit(&d.uniform);
  roc_free(d.cuts);
  roc_free(d.inside);
  roc_free(d.set);
  return status == ROC_OK ? built : status;
}

/* ---- their checks ---------------------------------------------------------------------------- */

static void emit_fault(roc_ir_builder *b, const roc_ir_inst *check, const roc_ir_late_block *in) {
  uint32_t values[2], nvalues = 0;
  if (check->op != ROC_IR_CHECK_NONZERO) values[nvalues++] = roc_ir_arg(b->module, check, 0);
  if (check->op == ROC_IR_CHECK_INDEX) {
    values[nvalues++] = roc_ir_extent(b, check->aux, (uint32_t)check->k.i);
  }
  roc_ir_report(b, ROC_IR_FAULT, check->aux2, values, nvalues);
  /* Not 0, which LLVM does not know: of a constant it would keep a mask in every round. */
  roc_ir_set(b, in->dead, roc_ir_query(b, ROC_IR_GLOBAL_SIZE, 0));
  roc_ir_leave(b, in->block);
}

static void lower_region(roc_ir_builder *b, uint32_t region, const roc_ir_late_block *in) {
  roc_ir_module *m = b->module;
  roc_ir_ids old = m->regions.items[region];
  m->regions.items[region] = (roc_ir_ids){0};
  for (uint32_t i = 0; i < old.count && !b->failed; i++) {
    roc_ir_inst inst = m->insts.items[old.items[i]];
    b->region = region;
    b->loc = inst.loc;
    if (is_check(&inst)) {
      uint32_t holds = roc_ir_emit_check_condition(b, old.items[i]);
      uint32_t fails = roc_ir_begin_if(b, roc_ir_unary(b, ROC_IR_NOT, holds));
      emit_fault(b, &inst, in);
      roc_ir_end(b, fails);
      continue;
    }
    if (!roc_vec_push(&m->regions.items[region], old.items[i])) b->failed = true;
    for (uint32_t r = 0; r < roc_ir_region_count(&inst); r++) lower_region(b, inst.k.region[r], in);
  }
  roc_vec_deinit(&old);
}

roc_status roc_ir_lower_late_checks(roc_ir_module *module, const roc_ir_late_blocks *blocks,
                                    roc_error *err) {
  roc_ir_builder b;
  roc_ir_builder_init(&b, module);
  for (uint32_t i = 0; i < blocks->count && !b.failed; i++) {
    const roc_ir_late_block *in = &blocks->items[i];
    lower_region(&b, module->insts.items[in->block].k.region[0], in);
  }
  return roc_ir_builder_finish(&b, err);
}
