/* A run whose work-items go different ways, side by side in the lanes of vectors.
 *
 * The structured IR is lowered to vectors statement by statement.  A mask says which lanes are at
 * the point of the code that is emitted; what is computed has a value in every lane, and counts in
 * those of the mask.  A condition that varies splits the mask between the two branches, which run
 * one after the other; a loop goes on while a lane is in it.  Lanes that jump are kept in a mask of
 * the statement they jump to, and join there; those that return or fail are in no mask any more.
 * Conditions that all lanes share stay branches (cpu/shape.c knows them).
 *
 * Invariant: a region's code runs only while its mask has a lane, but for short ones without an
 * effect.  So what is the same in all lanes, loads included, is computed once, as for one item. */
#include <string.h>

#include "codegen/cpu/lanes.h"
#include "codegen/llvm/processor.h"
#include "ir/check_elimination.h"
#include "ir/walk.h"

static const roc_ir_inst *inst_of(const cpu_state *s, uint32_t id) {
  return &s->cg->ir->insts.items[id];
}

static uint32_t arg_of(const cpu_state *s, uint32_t id, uint32_t n) {
  return roc_ir_arg(s->cg->ir, inst_of(s, id), n);
}

static const roc_ir_ids *region_of(const cpu_state *s, uint32_t id, uint32_t r) {
  return &s->cg->ir->regions.items[inst_of(s, id)->k.region[r]];
}

static int32_t stride_of(const cpu_state *s, uint32_t id) {
  return s->shapes->insts[id];
}

/* ---- masks ------------------------------------------------------------------------------- */

static LLVMValueRef without(cpu_state *s, LLVMValueRef mask, LLVMValueRef others) {
  return LLVMBuildAnd(s->cg->b, mask, LLVMBuildNot(s->cg->b, others, ""), "");
}

/* Of integers not by their bits: LLVM would keep those for the code after the branch, as a vector of
 * bits, which such a processor has not. */
static LLVMValueRef has_lane(cpu_state *s, LLVMValueRef mask) {
  roc_cg *cg = s->cg;
  LLVMValueRef whole;
  if (s->lanes->has_bits) {
    whole = LLVMBuildBitCast(cg->b, mask, LLVMIntTypeInContext(cg->ctx, s->lanes->count), "");
  } else {
    LLVMTypeRef type = s->lanes->mask_type;
    whole = roc_cg_intrinsic(cg, "llvm.vector.reduce.or", &type, 1, &mask, 1);
  }
  return LLVMBuildICmp(cg->b, LLVMIntNE, whole, LLVMConstNull(LLVMTypeOf(whole)), "");
}

static LLVMValueRef new_cell(cpu_state *s) {
  return roc_cg_alloca(s->cg, s->lanes->mask_type, "");
}

static LLVMValueRef read_cell(cpu_state *s, LLVMValueRef cell) {
  return LLVMBuildLoad2(s->cg->b, s->lanes->mask_type, cell, "");
}

static void empty_cell(cpu_state *s, LLVMValueRef cell) {
  LLVMBuildStore(s->cg->b, LLVMConstNull(s->lanes->mask_type), cell);
}

static void join_cell(cpu_state *s, LLVMValueRef cell, LLVMValueRef mask) {
  LLVMBuildStore(s->cg->b, LLVMBuildOr(s->cg->b, read_cell(s, cell), mask, ""), cell);
}

/* ---- variables --------------------------------------------------------------------------- */

/* What is kept for another run is kept of all lanes. */
static void emit_get(cpu_state *s, uint32_t id) {
  uint32_t var = inst_of(s, id)->aux;
  LLVMValueRef value = cpu_lanes_get(s, var);
  if (s->plan.is_slotted[id] && !cpu_lanes_is_varying(s, var)) {
    value = cpu_lanes_spread(s, value, s->shapes->vars[var]);
  }
  cpu_lanes_define(s, id, value);
}

static void emit_set(cpu_state *s, uint32_t id) {
  const roc_ir_inst *inst = inst_of(s, id);
  if (cpu_lanes_is_varying(s, inst->aux)) {
    cpu_blend blend = (cpu_blend)s->shapes->blends[id];
    cpu_lanes_set(s, inst->aux, cpu_lanes_all(s, arg_of(s, id, 0)), blend);
  } else {
    roc_cg_set_var(s->cg, inst->aux, cpu_lanes_value(s, arg_of(s, id, 0)));
  }
}

/* ---- what leaves a statement --------------------------------------------------------------- */

/* Which statements have lanes that may not come to their end: they return, fail, or jump further.
 * A statement that has none ends with the mask it began with. */
static ROC_IR_WALKS void find_losses(cpu_state *s, const uint32_t *ids, uint32_t count) {
  roc_ir_walk w;
  roc_ir_walk_begin_list(&w, s->cg->ir, ids, count);
  while (roc_ir_walk_next(&w)) {
    uint16_t flags = roc_ir_op_table[w.inst->op].flags;
    bool is_jump = w.inst->op == ROC_IR_LEAVE || w.inst->op == ROC_IR_NEXT;
    if (roc_ir_has_regions(w.inst)) s->lanes->loses[w.id] = s->lanes->has_next[w.id] = false;
    if (!(flags & ROC_IRF_STOP) || cpu_is_settled(s, w.id)) continue;
    if (w.inst->op == ROC_IR_NEXT) s->lanes->has_next[w.inst->aux] = true;
    for (uint32_t f = w.depth; f-- > 1;) {
      uint32_t owner = w.frames[f].owner;
      if (is_jump && owner == w.inst->aux) break;
      s->lanes->loses[owner] = true;
    }
  }
}

/* Whether the statement keeps a mask of the lanes that come to its end. */
static bool is_tracked(const cpu_state *s, uint32_t id) {
  return s->shapes->parts[id] || s->lanes->loses[id];
}

/* ---- checks ------------------------------------------------------------------------------ */

/* The lanes of `bad` fail at instruction `id`. */
static void fail_lanes(cpu_state *s, uint32_t id, LLVMValueRef bad) {
  roc_cg *cg = s->cg;
  cpu_run *run = s->run;
  const roc_ir_inst *inst = inst_of(s, id);
  LLVMValueRef values[ROC_SITE_MAX_VALUES], bits = cpu_lanes_bits_of(s, bad);
  roc_cg_set_lanes(cg, s->lanes->count);
  cpu_fail fail = {.site = inst->aux2, .nvalues = roc_cg_check_values(cg, inst, values)};
  if (!run->code) {
    run->code = roc_cg_alloca(cg, cg->t.i32, "");
    LLVMBuildStore(run->header_b, LLVMConstNull(cg->t.i32), run->code);
  }
  for (unsigned i = 0; i < fail.nvalues; i++) {
    if (!run->values[i]) {
      run->values[i] = roc_cg_alloca(cg, cg->t.i64, "");
      LLVMBuildStore(run->header_b, LLVMConstNull(cg->t.i64), run->values[i]);
    }
    LLVMValueRef old = LLVMBuildLoad2(cg->b, cg->t.i64, run->values[i], "");
    LLVMBuildStore(cg->b, LLVMBuildSelect(cg->b, bits, values[i], old, ""), run->values[i]);
  }
  if (!roc_vec_push(&run->fails, fail)) cg->arena.failed = true;
  LLVMValueRef code = LLVMBuildLoad2(cg->b, cg->t.i32, run->code, "");
  code = LLVMBuildSelect(cg->b, bits, roc_cg_i32(cg, run->fails.count), code, "");
  LLVMBuildStore(cg->b, code, run->code);
  roc_cg_set_lanes(cg, 1);
}

/* Whether a check asks the same of all lanes. */
static bool is_same_check(const cpu_state *s, const roc_ir_inst *inst) {
  for (uint32_t i = 0; i < inst->nargs; i++) {
    if (stride_of(s, roc_ir_arg(s->cg->ir, inst, i)) != 0) return false;
  }
  return true;
}

static void emit_check(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  cpu_lanes *l = s->lanes;
  const roc_ir_inst *inst = inst_of(s, id);
  LLVMBasicBlockRef fail = roc_cg_block(cg, "lanes.fail"), ok = roc_cg_block(cg, "lanes.ok");
  LLVMValueRef bad = l->mask;
  if (is_same_check(s, inst)) {
    roc_cg_branch_likely(cg, roc_cg_check_holds(cg, inst), ok, fail);
  } else {
    roc_cg_set_lanes(cg, l->count);
    LLVMValueRef holds = roc_cg_check_holds(cg, inst);
    roc_cg_set_lanes(cg, 1);
    bad = without(s, l->mask, cpu_lanes_mask_of(s, holds));
    roc_cg_branch_likely(cg, LLVMBuildNot(cg->b, has_lane(s, bad), ""), ok, fail);
  }
  LLVMBasicBlockRef before = LLVMGetInsertBlock(cg->b);
  roc_cg_at(cg, fail);
  fail_lanes(s, id, bad);
  LLVMValueRef left = without(s, l->mask, bad);
  LLVMBuildCondBr(cg->b, has_lane(s, left), ok, l->out);
  LLVMBasicBlockRef blocks[2] = {before, LLVMGetInsertBlock(cg->b)};
  roc_cg_at(cg, ok);
  LLVMValueRef masks[2] = {l->mask, left};
  l->mask = LLVMBuildPhi(cg->b, l->mask_type, "");
  LLVMAddIncoming(l->mask, masks, blocks, 2);
}

/* ---- regions ----------------------------------------------------------------------------- */

static void emit_inst(cpu_state *s, uint32_t id);

/* Statements up to the end, or to a jump, after which the block is ended.  Goes to l->out where no
 * lane is left. */
static void emit_list(cpu_state *s, const uint32_t *ids, uint32_t count) {
  roc_cg *cg = s->cg;
  for (uint32_t i = 0; i < count && roc_cg_is_open(cg); i++) {
    emit_inst(s, ids[i]);
    bool may_be_empty = roc_ir_has_regions(inst_of(s, ids[i])) && s->lanes->loses[ids[i]];
    if (!may_be_empty || i + 1 == count || !roc_cg_is_open(cg)) continue;
    LLVMBasicBlockRef some = roc_cg_block(cg, "lanes.some");
    LLVMBuildCondBr(cg->b, has_lane(s, s->lanes->mask), some, s->lanes->out);
    roc_cg_at(cg, some);
  }
}

/* A region with `mask`; what comes to its end joins `cell` (NULL: nothing does that is not known),
 * and all goes on at `end`, or at `out` where no lane is left in it. */
static void emit_region(cpu_state *s, const roc_ir_ids *ids, LLVMValueRef mask, LLVMValueRef cell,
                        LLVMBasicBlockRef end, LLVMBasicBlockRef out) {
  cpu_lanes *l = s->lanes;
  LLVMBasicBlockRef around = l->out;
  l->mask = mask;
  l->out = out;
  emit_list(s, ids->items, ids->count);
  if (cell && roc_cg_is_open(s->cg)) join_cell(s, cell, l->mask);
  roc_cg_goto(s->cg, end);
  l->out = around;
}

/* The body of a loop: without a NEXT, no lane waits for the next iteration while others are in it. */
static void emit_body(cpu_state *s, uint32_t id, LLVMBasicBlockRef next, LLVMBasicBlockRef end) {
  cpu_lanes *l = s->lanes;
  LLVMBasicBlockRef out = l->has_next[id] ? next : end;
  emit_region(s, region_of(s, id, 0), l->mask, l->exits[id].next, next, out);
}

/* ---- IF ---------------------------------------------------------------------------------- */

enum { MAX_LIGHT = 12 }; /* operations that are executed rather than jumped over */

static bool is_heavy(const roc_ir_inst *inst) {
  bool is_division = inst->op == ROC_IR_FLOORDIV || inst->op == ROC_IR_MOD;
  return inst->op == ROC_IR_MATH || inst->op == ROC_IR_POW || is_division;
}

/* Short and without an effect, so that it may be executed by no lane. */
static bool is_light(const cpu_state *s, const roc_ir_ids *ids) {
  if (ids->count > 2 * MAX_LIGHT) return false;
  unsigned weight = 0;
  for (uint32_t i = 0; i < ids->count; i++) {
    const roc_ir_inst *inst = inst_of(s, ids->items[i]);
    bool is_jump = inst->op == ROC_IR_LEAVE || inst->op == ROC_IR_NEXT;
    bool is_move = inst->op == ROC_IR_GET || inst->op == ROC_IR_SET;
    bool is_pure = roc_ir_op_table[inst->op].flags & ROC_IRF_PURE;
    if (is_jump && !s->shapes->parts[inst->aux]) return false;
    if (!is_jump && !is_move && !is_pure && inst->op != ROC_IR_RETURN) return false;
    if (is_pure && is_heavy(inst)) return false;
    weight += is_pure && inst->op != ROC_IR_CONST && !s->plan.is_remat[ids->items[i]];
  }
  return weight <= MAX_LIGHT;
}

/* Emits a light region in line; the lanes that come to its end, NULL: none do. */
static LLVMValueRef emit_light(cpu_state *s, const roc_ir_ids *ids, LLVMValueRef mask) {
  cpu_lanes *l = s->lanes;
  l->mask = mask;
  l->jumped = false;
  for (uint32_t i = 0; i < ids->count && !l->jumped; i++) emit_inst(s, ids->items[i]);
  bool jumped = l->jumped;
  l->jumped = false;
  return jumped ? NULL : mask;
}

/* One branch of an IF that varies.  `rest`: cell of what comes to the IF's end, or NULL. */
static void emit_branch(cpu_state *s, const roc_ir_ids *ids, LLVMValueRef mask, LLVMValueRef rest) {
  roc_cg *cg = s->cg;
  cpu_lanes *l = s->lanes;
  if (is_light(s, ids)) {
    l->is_light = true;
    LLVMValueRef left = emit_light(s, ids, mask);
    l->is_light = false;
    if (rest && left) join_cell(s, rest, left);
    return;
  }
  LLVMBasicBlockRef begin = roc_cg_block(cg, "lanes.then"), end = roc_cg_block(cg, "lanes.end");
  LLVMBuildCondBr(cg->b, has_lane(s, mask), begin, end);
  roc_cg_at(cg, begin);
  emit_region(s, ids, mask, rest, end, end);
  roc_cg_at(cg, end);
}

/* Two light regions without jumps: both begin with what there was before, and what they have set is
 * put together after them. */
static bool is_side_by_side(const cpu_state *s, uint32_t id) {
  if (s->lanes->loses[id] || region_of(s, id, 1)->count == 0) return false;
  return is_light(s, region_of(s, id, 0)) && is_light(s, region_of(s, id, 1));
}

/* The varying variables that an IF's regions set. */
static uint32_t find_set_vars(const cpu_state *s, uint32_t id, uint32_t *vars) {
  uint32_t nvars = 0;
  for (uint32_t r = 0; r < 2; r++) {
    const roc_ir_ids *ids = region_of(s, id, r);
    for (uint32_t i = 0; i < ids->count; i++) {
      const roc_ir_inst *inst = inst_of(s, ids->items[i]);
      bool is_new = inst->op == ROC_IR_SET && cpu_lanes_is_varying(s, inst->aux);
      for (uint32_t n = 0; n < nvars; n++) is_new &= vars[n] != inst->aux;
      if (is_new) vars[nvars++] = inst->aux;
    }
  }
  return nvars;
}

static void emit_side_by_side(cpu_state *s, uint32_t id, LLVMValueRef cond, LLVMValueRef mask) {
  cpu_lanes *l = s->lanes;
  LLVMValueRef held[4 * MAX_LIGHT], bits = cpu_lanes_bits_of(s, cond);
  uint32_t vars[4 * MAX_LIGHT], nvars = find_set_vars(s, id, vars);
  for (uint32_t n = 0; n < nvars; n++) held[n] = cpu_lanes_swap(s, vars[n], NULL);
  l->is_side_by_side = true;
  emit_branch(s, region_of(s, id, 0), LLVMBuildAnd(s->cg->b, mask, cond, ""), NULL);
  for (uint32_t n = 0; n < nvars; n++) held[n] = cpu_lanes_swap(s, vars[n], held[n]);
  emit_branch(s, region_of(s, id, 1), without(s, mask, cond), NULL);
  l->is_side_by_side = false;
  for (uint32_t n = 0; n < nvars; n++) {
    LLVMValueRef other = cpu_lanes_swap(s, vars[n], NULL);
    cpu_lanes_swap(s, vars[n], LLVMBuildSelect(s->cg->b, bits, held[n], other, ""));
  }
}

static void emit_varying_if(cpu_state *s, uint32_t id) {
  cpu_lanes *l = s->lanes;
  LLVMValueRef before = l->mask, around = l->branch;
  LLVMValueRef cond = cpu_lanes_mask_of(s, cpu_lanes_all(s, arg_of(s, id, 0)));
  LLVMValueRef rest = l->loses[id] ? new_cell(s) : NULL;
  if (rest) empty_cell(s, rest);
  if (is_side_by_side(s, id)) {
    emit_side_by_side(s, id, cond, before);
  } else {
    LLVMValueRef no = without(s, before, cond);
    l->branch = cond;
    emit_branch(s, region_of(s, id, 0), LLVMBuildAnd(s->cg->b, before, cond, ""), rest);
    l->branch = LLVMBuildNot(s->cg->b, cond, "");
    emit_branch(s, region_of(s, id, 1), no, rest);
  }
  l->branch = around;
  l->mask = rest ? read_cell(s, rest) : before;
}

static void emit_shared_if(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  cpu_lanes *l = s->lanes;
  LLVMBasicBlockRef yes = roc_cg_block(cg, "then"), no = roc_cg_block(cg, "else");
  LLVMBasicBlockRef end = roc_cg_block(cg, "end");
  LLVMValueRef before = l->mask, rest = l->loses[id] ? new_cell(s) : NULL;
  if (rest) empty_cell(s, rest);
  LLVMBuildCondBr(cg->b, cpu_lanes_value(s, arg_of(s, id, 0)), yes, no);
  roc_cg_at(cg, yes);
  emit_region(s, region_of(s, id, 0), before, rest, end, end);
  roc_cg_at(cg, no);
  emit_region(s, region_of(s, id, 1), before, rest, end, end);
  roc_cg_at(cg, end);
  l->mask = rest ? read_cell(s, rest) : before;
}

static void emit_if(cpu_state *s, uint32_t id) {
  if (s->ways[id]) { /* the split decided it for all items */
    const roc_ir_ids *ids = region_of(s, id, s->ways[id] - 1u);
    LLVMValueRef around = s->lanes->branch;
    s->lanes->branch = NULL;
    emit_list(s, ids->items, ids->count);
    s->lanes->branch = around;
  } else if (stride_of(s, arg_of(s, id, 0)) == 0) {
    emit_shared_if(s, id);
  } else {
    emit_varying_if(s, id);
  }
}

/* ---- BLOCK, LOOP, FOR -------------------------------------------------------------------- */

/* Opens the masks of a statement that is jumped to. */
static void begin_exits(cpu_state *s, uint32_t id, LLVMBasicBlockRef leave,
                        LLVMBasicBlockRef next) {
  cpu_lanes_exits *e = &s->lanes->exits[id];
  *e = (cpu_lanes_exits){.leave_block = leave, .next_block = next};
  if (!is_tracked(s, id)) return;
  e->leave = new_cell(s);
  e->next = next ? new_cell(s) : NULL;
  empty_cell(s, e->leave);
}

/* At the statement's end. */
static void end_exits(cpu_state *s, uint32_t id, LLVMValueRef before) {
  cpu_lanes *l = s->lanes;
  l->mask = l->loses[id] ? read_cell(s, l->exits[id].leave) : before;
}

/* Adds the number of lanes of the mask to the i64 at `count`. */
static void add_lanes(cpu_state *s, LLVMValueRef count, LLVMValueRef bits) {
  roc_cg *cg = s->cg;
  LLVMTypeRef whole = LLVMIntTypeInContext(cg->ctx, s->lanes->count);
  LLVMValueRef all = LLVMBuildBitCast(cg->b, bits, whole, "");
  LLVMValueRef number = roc_cg_intrinsic(cg, "llvm.ctpop", &whole, 1, &all, 1);
  number = LLVMBuildZExt(cg->b, number, cg->t.i64, "");
  LLVMValueRef sum = LLVMBuildLoad2(cg->b, cg->t.i64, count, "");
  LLVMBuildStore(cg->b, LLVMBuildAdd(cg->b, sum, number, ""), count);
}

/* A jump to a statement around the run; false: it is none. */
static bool emit_outer_jump(cpu_state *s, const roc_ir_inst *inst) {
  cpu_lanes *l = s->lanes;
  bool is_next = inst->op == ROC_IR_NEXT;
  for (uint32_t i = 0; i < l->outer->nexits; i++) {
    const cpu_run_exit *e = &l->outer->exits[i];
    if (e->target != inst->aux || e->is_next != is_next) continue;
    add_lanes(s, e->count, cpu_lanes_mask(s));
    if (l->arrived) join_cell(s, l->arrived, l->mask);
    l->jumped = true;
    if (!l->is_light) LLVMBuildBr(s->cg->b, l->out);
    return true;
  }
  return false;
}

static void emit_jump(cpu_state *s, uint32_t id) {
  cpu_lanes *l = s->lanes;
  const roc_ir_inst *inst = inst_of(s, id);
  if (emit_outer_jump(s, inst)) return;
  bool is_next = inst->op == ROC_IR_NEXT;
  const cpu_lanes_exits *e = &l->exits[inst->aux];
  LLVMValueRef cell = is_next ? e->next : e->leave;
  if (cell) join_cell(s, cell, l->mask);
  l->jumped = true;
  if (l->is_light) return;
  bool is_together = !s->shapes->parts[inst->aux];
  LLVMBuildBr(s->cg->b, !is_together ? l->out : is_next ? e->next_block : e->leave_block);
}

static void emit_block(cpu_state *s, uint32_t id) {
  LLVMBasicBlockRef end = roc_cg_block(s->cg, "end");
  LLVMValueRef before = s->lanes->mask;
  begin_exits(s, id, end, NULL);
  emit_region(s, region_of(s, id, 0), before, s->lanes->exits[id].leave, end, end);
  roc_cg_at(s->cg, end);
  end_exits(s, id, before);
}

/* The mask of an iteration, in `cell` where it changes from one to the next. */
static void begin_iteration(cpu_state *s, uint32_t id, LLVMValueRef cell) {
  cpu_lanes *l = s->lanes;
  if (!cell) return;
  l->mask = read_cell(s, cell);
  empty_cell(s, l->exits[id].next);
}

static void emit_loop(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  cpu_lanes *l = s->lanes;
  LLVMBasicBlockRef body = roc_cg_block(cg, "loop"), next = roc_cg_block(cg, "next");
  LLVMBasicBlockRef end = roc_cg_block(cg, "end");
  LLVMValueRef before = l->mask, cell = is_tracked(s, id) ? new_cell(s) : NULL;
  begin_exits(s, id, end, next);
  if (cell) LLVMBuildStore(cg->b, before, cell);
  LLVMBuildBr(cg->b, body);
  roc_cg_at(cg, body);
  begin_iteration(s, id, cell);
  emit_body(s, id, next, end);
  roc_cg_at(cg, next);
  cpu_look(s, id, NULL);
  if (cell) {
    LLVMValueRef mask = read_cell(s, l->exits[id].next);
    LLVMBuildStore(cg->b, mask, cell);
    LLVMBuildCondBr(cg->b, has_lane(s, mask), body, end);
  } else {
    LLVMBuildBr(cg->b, body);
  }
  roc_cg_at(cg, end);
  end_exits(s, id, before);
}

/* What a FOR counts with. */
typedef struct counting {
  LLVMValueRef first, step;
  LLVMValueRef left; /* alloca: iterations; of each lane where `is_varying`, else of all */
  LLVMValueRef cell; /* NULL: the mask does not change */
  bool is_varying, is_first_varying;
  bool is_narrow; /* vectors are of 32 bits */
} counting;

static LLVMTypeRef counter_type(cpu_state *s, const counting *c, bool is_vector) {
  if (!is_vector) return LLVMInt64TypeInContext(s->cg->ctx);
  return LLVMVectorType(LLVMIntTypeInContext(s->cg->ctx, c->is_narrow ? 32 : 64), s->lanes->count);
}

/* A vector to count with. */
static LLVMValueRef counter_of(cpu_state *s, const counting *c, LLVMValueRef all) {
  return LLVMBuildTrunc(s->cg->b, all, counter_type(s, c, true), "");
}

static counting begin_counting(cpu_state *s, uint32_t id, LLVMValueRef *out_count) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = inst_of(s, id);
  counting c = {.is_first_varying = cpu_lanes_is_varying(s, inst->aux),
                .is_narrow = cpu_lanes_narrow(s, id) & ROC_IR_NARROW};
  LLVMValueRef bounds[3];
  for (uint32_t i = 0; i < 3; i++) c.is_varying |= stride_of(s, arg_of(s, id, i)) != 0;
  roc_cg_set_lanes(cg, c.is_varying ? s->lanes->count : 1);
  for (uint32_t i = 0; i < 3; i++) bounds[i] = cpu_lanes_operand(s, arg_of(s, id, i));
  *out_count = roc_cg_for_count(cg, bounds[0], bounds[1], bounds[2]);
  roc_cg_set_lanes(cg, 1);
  c.left = roc_cg_alloca(cg, counter_type(s, &c, c.is_varying), "left");
  if (c.is_varying) *out_count = counter_of(s, &c, *out_count);
  LLVMBuildStore(cg->b, *out_count, c.left);
  if (c.is_first_varying) {
    c.first = counter_of(s, &c, cpu_lanes_all(s, arg_of(s, id, 0)));
    c.step = counter_of(s, &c, cpu_lanes_all(s, arg_of(s, id, 2)));
  } else {
    c.first = cpu_lanes_value(s, arg_of(s, id, 0));
    c.step = cpu_lanes_value(s, arg_of(s, id, 2));
  }
  return c;
}

static bool is_zero_free(LLVMValueRef count) {
  return LLVMIsAConstantInt(count) && LLVMConstIntGetZExtValue(count) != 0;
}

/* The lanes of `mask` that have iterations left. */
static LLVMValueRef still_counting(cpu_state *s, LLVMValueRef left, LLVMValueRef mask) {
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(left));
  LLVMValueRef some = LLVMBuildICmp(s->cg->b, LLVMIntNE, left, zero, "");
  return LLVMBuildAnd(s->cg->b, mask, cpu_lanes_mask_of(s, some), "");
}

/* Goes on with `mask` after `left` was counted: to the body, or to the end. */
static void turn(cpu_state *s, uint32_t id, const counting *c, LLVMValueRef left, LLVMValueRef mask,
                 LLVMBasicBlockRef body, LLVMBasicBlockRef end) {
  roc_cg *cg = s->cg;
  cpu_lanes *l = s->lanes;
  LLVMValueRef leave = l->loses[id] ? l->exits[id].leave : NULL;
  if (c->is_varying) {
    LLVMValueRef on = still_counting(s, left, mask);
    if (leave) join_cell(s, leave, without(s, mask, on));
    LLVMBuildStore(cg->b, on, c->cell);
    LLVMBuildCondBr(cg->b, has_lane(s, on), body, end);
    return;
  }
  LLVMValueRef goes_on = LLVMBuildICmp(cg->b, LLVMIntNE, left, roc_cg_i64(cg, 0), "");
  if (!c->cell) {
    LLVMValueRef branch = LLVMBuildCondBr(cg->b, goes_on, body, end);
    if (cpu_is_short_for(cg->ir, inst_of(s, id))) roc_cg_unroll_whole(cg, branch);
    return;
  }
  LLVMBasicBlockRef some = roc_cg_block(cg, "for.some"), over = roc_cg_block(cg, "for.over");
  LLVMBuildStore(cg->b, mask, c->cell);
  LLVMBuildCondBr(cg->b, goes_on, some, over);
  roc_cg_at(cg, over);
  if (leave) join_cell(s, leave, mask);
  LLVMBuildBr(cg->b, end);
  roc_cg_at(cg, some);
  LLVMBuildCondBr(cg->b, has_lane(s, mask), body, end);
}

static void set_counter(cpu_state *s, uint32_t id, const counting *c, LLVMValueRef value) {
  uint32_t var = inst_of(s, id)->aux;
  LLVMTypeRef wide = LLVMVectorType(LLVMInt64TypeInContext(s->cg->ctx), s->lanes->count);
  if (c->is_first_varying) {
    cpu_blend blend = s->plan.for_of[var] != id ? CPU_BLEND_MASK : CPU_BLEND_NONE;
    if (c->is_narrow) value = LLVMBuildZExt(s->cg->b, value, wide, "");
    cpu_lanes_set(s, var, value, blend);
  } else {
    LLVMBuildStore(s->cg->b, value, roc_cg_var(s->cg, var));
  }
}

/* Each lane has its own number of iterations, which is fixed first; the counter goes on in lanes that
 * are done, where nothing reads it. */
static void emit_for(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  cpu_lanes *l = s->lanes;
  LLVMBasicBlockRef body = roc_cg_block(cg, "for"), next = roc_cg_block(cg, "next");
  LLVMBasicBlockRef end = roc_cg_block(cg, "end");
  LLVMValueRef before = l->mask, count;
  counting c = begin_counting(s, id, &count);
  LLVMTypeRef left_type = counter_type(s, &c, c.is_varying);
  LLVMTypeRef value_type = counter_type(s, &c, c.is_first_varying);
  LLVMValueRef now = roc_cg_alloca(cg, value_type, "now");
  LLVMBuildStore(cg->b, c.first, now);
  if (is_tracked(s, id)) c.cell = new_cell(s);
  begin_exits(s, id, end, next);
  bool hoists = cpu_lanes_hoists(s, id);
  LLVMBasicBlockRef enter = hoists ? roc_cg_block(cg, "for.enter") : body;
  if (is_zero_free(count) && !c.cell) {
    LLVMBuildBr(cg->b, enter);
  } else {
    turn(s, id, &c, count, before, enter, end);
  }
  if (hoists) {
    roc_cg_at(cg, enter);
    if (c.cell) l->mask = read_cell(s, c.cell);
    cpu_lanes_hoist(s, id);
    LLVMBuildBr(cg->b, body);
  }
  roc_cg_at(cg, body);
  begin_iteration(s, id, c.cell);
  LLVMValueRef value = LLVMBuildLoad2(cg->b, value_type, now, "");
  set_counter(s, id, &c, value);
  emit_body(s, id, next, end);
  roc_cg_at(cg, next);
  cpu_look(s, id, NULL);
  LLVMBuildStore(cg->b, LLVMBuildAdd(cg->b, value, c.step, ""), now);
  LLVMValueRef left = LLVMBuildLoad2(cg->b, left_type, c.left, "");
  LLVMValueRef one = roc_cg_int(left_type, 1);
  left = LLVMBuildSub(cg->b, left, one, "");
  LLVMBuildStore(cg->b, left, c.left);
  LLVMValueRef mask = c.cell ? read_cell(s, l->exits[id].next) : NULL;
  turn(s, id, &c, left, mask, body, end);
  cpu_lanes_end_hoist(s, id);
  roc_cg_at(cg, end);
  end_exits(s, id, before);
}

/* ---- instructions ------------------------------------------------------------------------ */

static void emit_inst(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = inst_of(s, id);
  if (cg->di) roc_cg_debug_place(cg, id);
  if (cpu_is_settled(s, id) || s->plan.is_remat[id]) return; /* made where it is used */
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_GET: emit_get(s, id); return;
    case ROC_IR_SET: emit_set(s, id); return;
    case ROC_IR_LOAD: {
      LLVMValueRef hoisted = s->lanes->hoisted[id];
      cpu_lanes_define(s, id, hoisted ? hoisted : cpu_lanes_load(s, id));
      return;
    }
    case ROC_IR_STORE: cpu_lanes_store(s, id); return;
    case ROC_IR_ATOMIC:
    case ROC_IR_PRINT: cpu_lanes_each(s, id); return;
    case ROC_IR_FENCE: cg->target->fence(cg, inst->k.i); return;
    case ROC_IR_CHECK_INDEX:
    case ROC_IR_CHECK_NONZERO:
    case ROC_IR_CHECK_INT:
    case ROC_IR_CHECK: emit_check(s, id); return;
    case ROC_IR_FAIL:
      fail_lanes(s, id, s->lanes->mask);
      LLVMBuildBr(cg->b, s->lanes->out);
      return;
    case ROC_IR_RETURN:
      s->lanes->jumped = true;
      if (!s->lanes->is_light) LLVMBuildBr(cg->b, s->lanes->out);
      return;
    case ROC_IR_LEAVE:
    case ROC_IR_NEXT: emit_jump(s, id); return;
    case ROC_IR_IF: emit_if(s, id); return;
    case ROC_IR_BLOCK: emit_block(s, id); return;
    case ROC_IR_LOOP: emit_loop(s, id); return;
    case ROC_IR_FOR: emit_for(s, id); return;
    case ROC_IR_FLOORDIV:
    case ROC_IR_MOD:
      if (cpu_divides(s, inst) && stride_of(s, id) == CPU_VARYING) {
        cpu_lanes_divide(s, id);
        return;
      }
      break;
    default: break;
  }
  cpu_lanes_define(s, id, cpu_lanes_compute(s, id));
}

/* ---- a run ------------------------------------------------------------------------------- */

/* The lanes that have an item, in the block before the items' code. */
static LLVMValueRef present_lanes(cpu_state *s) {
  roc_cg *cg = s->cg;
  LLVMValueRef all = roc_cg_i64(cg, s->lanes->count), args[2] = {s->run->left, all};
  LLVMValueRef left = roc_cg_intrinsic(cg, "llvm.umin", &cg->t.i64, 1, args, 2);
  left = LLVMBuildTrunc(cg->b, left, cg->t.i32, "");
  roc_cg_set_lanes(cg, s->lanes->count);
  LLVMValueRef numbers = LLVMBuildTrunc(cg->b, cpu_lanes_steps(s, 1), cg->t.i32, "");
  left = roc_cg_spread(cg, left);
  LLVMValueRef bits = LLVMBuildICmp(cg->b, LLVMIntSLT, numbers, left, "");
  roc_cg_set_lanes(cg, 1);
  return bits;
}

/* Those of them whose items have not ended. */
static LLVMValueRef live_lanes(cpu_state *s, LLVMValueRef present) {
  if (!s->needs_live || !s->may_be_dead || s->all_alive) return present;
  LLVMValueRef live = cpu_lanes_take(s, cpu_slot_item(s, &s->live), s->cg->t.i8);
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(live));
  live = LLVMBuildICmp(s->cg->b, LLVMIntNE, live, zero, "");
  return LLVMBuildAnd(s->cg->b, present, live, "");
}

/* At the end of the items: the live bytes, and how many of `began` have not come here. */
static void keep_deaths(cpu_state *s, LLVMValueRef present, LLVMValueRef began,
                        LLVMValueRef count) {
  roc_cg *cg = s->cg;
  LLVMValueRef arrived = cpu_lanes_bits_of(s, read_cell(s, s->lanes->arrived));
  LLVMTypeRef bytes = LLVMVectorType(cg->t.i8, s->lanes->count);
  LLVMValueRef lives = LLVMBuildZExt(cg->b, arrived, bytes, "");
  cpu_lanes_put(s, lives, cpu_slot_item(s, &s->live), present);
  add_lanes(s, count, without(s, began, arrived));
}

/* At the end of the items: what those that failed keep for the walk. */
static void keep_fails(cpu_state *s, LLVMValueRef present, LLVMValueRef any) {
  roc_cg *cg = s->cg;
  cpu_run *run = s->run;
  LLVMTypeRef i32 = cg->t.i32, i64 = cg->t.i64;
  if (!s->code.base) s->code = cpu_slot_new(s, i32, 1);
  for (unsigned i = 0; i < ROC_SITE_MAX_VALUES && run->values[i]; i++) {
    if (!s->fail_values[i].base) s->fail_values[i] = cpu_slot_new(s, i64, 1);
  }
  roc_cg_set_lanes(cg, s->lanes->count);
  LLVMValueRef code = LLVMBuildLoad2(cg->b, cg->t.i32, run->code, "");
  cpu_lanes_put(s, code, cpu_slot_item(s, &s->code), present);
  LLVMValueRef sum = roc_cg_intrinsic(cg, "llvm.vector.reduce.or", &cg->t.i32, 1, &code, 1);
  for (unsigned i = 0; i < ROC_SITE_MAX_VALUES && run->values[i]; i++) {
    LLVMValueRef value = LLVMBuildLoad2(cg->b, cg->t.i64, run->values[i], "");
    cpu_lanes_put(s, value, cpu_slot_item(s, &s->fail_values[i]), present);
  }
  roc_cg_set_lanes(cg, 1);
  LLVMValueRef before = LLVMBuildLoad2(cg->b, i32, any, "");
  LLVMBuildStore(cg->b, LLVMBuildOr(cg->b, before, sum, ""), any);
}

enum { MOST_SLOT_BYTES = 8 };

static cpu_lanes *lanes_of(cpu_state *s, unsigned count, bool is_narrow) {
  roc_arena *arena = &s->cg->arena;
  const roc_ir_module *ir = s->cg->ir;
  if (!s->lanes_kept) s->lanes_kept = ROC_ARENA_NEW(arena, cpu_lanes);
  cpu_lanes *l = s->lanes_kept;
  if (!l || (l->count == count && l->is_narrow == is_narrow)) return l;
  *l = (cpu_lanes){
      .count = count, .is_narrow = is_narrow, .has_bits = roc_processor_has(s->cg->tm, "avx512f")};
  s->mask_bits[count] = l->has_bits ? 1 : is_narrow ? 32 : 64;
  LLVMTypeRef part = LLVMIntTypeInContext(s->cg->ctx, s->mask_bits[count]);
  l->mask_type = LLVMVectorType(part, count);
  l->vars = ROC_ARENA_ARRAY(arena, LLVMValueRef, ir->vars.count + 1);
  l->arrays = ROC_ARENA_ARRAY(arena, LLVMValueRef, ir->arrays.count + 1);
  l->begun = ROC_ARENA_ARRAY(arena, uint32_t, ir->vars.count + 1);
  l->hoisted = ROC_ARENA_ARRAY(arena, LLVMValueRef, ir->insts.count + 1);
  l->loses = ROC_ARENA_ARRAY(arena, bool, ir->insts.count + 1);
  l->has_next = ROC_ARENA_ARRAY(arena, bool, ir->insts.count + 1);
  l->exits = ROC_ARENA_ARRAY(arena, cpu_lanes_exits, ir->insts.count + 1);
  return arena->failed ? NULL : l;
}

/* Where the builder is before the items' code: variables that live across runs, and the masks. */
static LLVMValueRef begin_lanes(cpu_state *s, const cpu_lanes_run *r, LLVMValueRef *out_present) {
  roc_cg *cg = s->cg;
  LLVMBasicBlockRef body = LLVMGetInsertBlock(cg->b);
  LLVMPositionBuilderAtEnd(cg->b, LLVMGetInsertBlock(s->run->header_b));
  *out_present = present_lanes(s);
  LLVMValueRef began = live_lanes(s, *out_present);
  for (uint32_t i = 0; i < r->nvars; i++) {
    LLVMValueRef held =
        cpu_lanes_take_slot(s, cpu_var_slot(s, r->vars[i]), s->cg->ir->vars.items[r->vars[i]].type,
                            roc_cg_width_of_var(s->cg, r->vars[i]));
    cpu_lanes_set(s, r->vars[i], held, CPU_BLEND_NONE);
  }
  if (r->ndied) empty_cell(s, s->lanes->arrived = new_cell(s));
  s->lanes->mask = cpu_lanes_mask_of(s, began);
  roc_cg_at(cg, body);
  return began;
}

static void end_lanes(cpu_state *s, const cpu_lanes_run *r, LLVMValueRef present,
                      LLVMValueRef began) {
  for (uint32_t i = 0; i < r->nvars; i++) {
    cpu_lanes_put_slot(s, cpu_var_slot(s, r->vars[i]), cpu_lanes_get(s, r->vars[i]), present);
  }
  if (s->run->fails.count) keep_fails(s, present, r->any);
  if (r->ndied) keep_deaths(s, present, began, r->ndied);
}

void cpu_emit_lanes(cpu_state *s, const cpu_lanes_run *r, cpu_run *run) {
  roc_cg *cg = s->cg;
  cpu_lanes *l = lanes_of(s, r->nlanes, r->is_narrow);
  s->nlanes = r->nlanes;
  cpu_items_begin(s, run, false);
  s->nlanes = 0;
  if (!l) {
    cg->arena.failed = true;
    cpu_items_end(s);
    return;
  }
  s->lanes = l;
  s->operand = cpu_lanes_operand;
  cg->is_speculative = true;
  find_losses(s, r->ids, r->count);
  l->outer = r;
  l->arrived = l->branch = NULL;
  LLVMValueRef present, began = begin_lanes(s, r, &present);
  LLVMBasicBlockRef end = l->out = roc_cg_block(cg, "lanes.done");
  l->jumped = l->is_light = false;
  LLVMBasicBlockRef some = roc_cg_block(cg, "lanes.begin");
  LLVMBuildCondBr(cg->b, has_lane(s, l->mask), some, end);
  roc_cg_at(cg, some);
  emit_list(s, r->ids, r->count);
  if (l->arrived && roc_cg_is_open(cg)) join_cell(s, l->arrived, l->mask);
  roc_cg_goto(cg, end);
  roc_cg_at(cg, end);
  end_lanes(s, r, present, began);
  LLVMBuildBr(cg->b, run->latch);
  roc_cg_at(cg, run->latch);
  cpu_items_end(s);
  cg->is_speculative = false;
  s->lanes = NULL;
  s->operand = NULL;
}
