/* One run as a loop over work-items (cpu/item_loops.c).
 *
 * An item that ends early goes to the latch, never out of the loop (cpu/fails.c).  Variables that live across runs are copied
 * for all items at the loop's begin and end, so that the body works on registers. */
#include "codegen/cpu/cpu.h"
#include "codegen/llvm/processor.h"
#include "ir/walk.h"

/* ---- what is in a run ---------------------------------------------------------------------- */

typedef struct scan {
  cpu_state *s;
  roc_vec(uint32_t) vars;
  bool has_atomic;
} scan;

static void note_var(scan *c, uint32_t var) {
  if (!c->s->plan.var_slotted[var]) return;
  for (uint32_t i = 0; i < c->vars.count; i++) {
    if (c->vars.items[i] == var) return;
  }
  if (!roc_vec_push(&c->vars, var)) c->s->cg->arena.failed = true;
}

static ROC_IR_WALKS void scan_insts(scan *c, const uint32_t *ids, uint32_t count) {
  roc_ir_walk w;
  roc_ir_walk_begin_list(&w, c->s->cg->ir, ids, count);
  while (roc_ir_walk_next(&w)) {
    if (c->s->left_out && c->s->left_out[w.id]) continue;
    bool gets = w.inst->op == ROC_IR_GET && !c->s->plan.is_remat[w.id];
    if (gets || w.inst->op == ROC_IR_SET || w.inst->op == ROC_IR_FOR) note_var(c, w.inst->aux);
    bool is_atomic = w.inst->op == ROC_IR_ATOMIC && !cpu_tally_cell(c->s, w.inst);
    c->has_atomic |= is_atomic || w.inst->op == ROC_IR_PRINT;
  }
}

/* Values that are recomputed are made in the header, once, wherever they stand; a guard may be
 * decided; loops may look around. */
bool cpu_intercept(roc_cg *cg, uint32_t id) {
  if (cpu_of(cg)->left_out && cpu_of(cg)->left_out[id]) return true;
  if (cpu_of(cg)->is_inspecting && cpu_inspect_inst(cpu_of(cg), id)) return true;
  if (cpu_is_settled(cpu_of(cg), id)) return true;
  if (cpu_of(cg)->ways[id]) {
    roc_cg_region(cg, cg->ir->insts.items[id].k.region[cpu_of(cg)->ways[id] - 1]);
    return true;
  }
  if (cpu_emit_strip_end(cpu_of(cg), id)) return true;
  if (cpu_emit_spanned_loop(cpu_of(cg), id)) return true;
  if (!cpu_of(cg)->plan.is_remat[id]) {
    LLVMValueRef quotient = cpu_value_divided(cpu_of(cg), id);
    if (quotient) cpu_define(cg, id, quotient);
    return quotient || cpu_emit_looked_loop(cpu_of(cg), id);
  }
  cpu_operand(cg, id);
  return true;
}

/* ---- items that end ---------------------------------------------------------------------- */

static void begin_deaths(cpu_state *s, cpu_run *run) {
  roc_cg *cg = s->cg;
  run->dead = roc_cg_block(cg, "dead");
  run->died = cpu_new_item_cell(s, cg->t.i8, LLVMConstInt(cg->t.i8, 0, 0));
  LLVMBasicBlockRef here = LLVMGetInsertBlock(cg->b);
  roc_cg_at(cg, run->dead);
  LLVMBuildStore(cg->b, LLVMConstInt(cg->t.i8, 1, 0), run->died);
  LLVMBuildBr(cg->b, run->latch);
  roc_cg_at(cg, here);
}

/* At the latch: the live byte of all items, and the count of those that ended here. */
static void keep_deaths(cpu_state *s, cpu_run *run, LLVMValueRef count) {
  roc_cg *cg = s->cg;
  LLVMValueRef died = LLVMBuildLoad2(cg->b, cg->t.i8, run->died, "");
  LLVMValueRef lives = LLVMBuildXor(cg->b, died, LLVMConstInt(cg->t.i8, 1, 0), "");
  if (run->is_live) {
    lives = LLVMBuildAnd(cg->b, lives, LLVMBuildZExt(cg->b, run->is_live, cg->t.i8, ""), "");
  }
  roc_cg_store(cg, lives, cpu_slot_item(s, &s->live));
  LLVMValueRef sum = LLVMBuildLoad2(cg->b, cg->t.i64, count, "");
  LLVMValueRef wide = LLVMBuildZExt(cg->b, died, cg->t.i64, "");
  LLVMBuildStore(cg->b, LLVMBuildAdd(cg->b, sum, wide, ""), count);
}

static void subtract_deaths(cpu_state *s, LLVMValueRef count) {
  roc_cg *cg = s->cg;
  LLVMValueRef died = LLVMBuildLoad2(cg->b, cg->t.i64, count, "");
  for (cpu_level *level = s->level; level; level = level->outer) {
    LLVMValueRef live = LLVMBuildLoad2(cg->b, cg->t.i64, level->live_count, "");
    LLVMBuildStore(cg->b, LLVMBuildSub(cg->b, live, died, ""), level->live_count);
  }
  cpu_end_if_all_dead(s);
}

/* ---- a run ------------------------------------------------------------------------------- */

typedef roc_vec(cpu_run_exit) run_exits;

static void note_exit(cpu_state *s, uint32_t target, bool is_next, void *ud) {
  run_exits *exits = ud;
  for (uint32_t i = 0; i < exits->count; i++) {
    if (exits->items[i].target == target && exits->items[i].is_next == is_next) return;
  }
  cpu_run_exit e = {.target = target, .is_next = is_next, .saved = s->cg->exits[target]};
  e.count = roc_cg_alloca(s->cg, s->cg->t.i64, "");
  LLVMBuildStore(s->cg->b, roc_cg_i64(s->cg, 0), e.count);
  if (!roc_vec_push(exits, e)) s->cg->arena.failed = true;
}

static void begin_exit(cpu_state *s, cpu_run_exit *e) {
  roc_cg *cg = s->cg;
  LLVMBasicBlockRef here = LLVMGetInsertBlock(cg->b), landing = roc_cg_block(cg, "leave");
  roc_cg_at(cg, landing);
  LLVMValueRef count = LLVMBuildLoad2(cg->b, cg->t.i64, e->count, "");
  LLVMBuildStore(cg->b, LLVMBuildAdd(cg->b, count, roc_cg_i64(cg, 1), ""), e->count);
  LLVMBuildBr(cg->b, s->run->latch);
  if (e->is_next) {
    cg->exits[e->target].next = landing;
  } else {
    cg->exits[e->target].leave = landing;
  }
  roc_cg_at(cg, here);
}

/* After the run: when items took this exit, all of them must have; unless it leads to where the
 * others are as well. */
static void finish_exit(cpu_state *s, const cpu_run_exit *e, bool is_tail) {
  roc_cg *cg = s->cg;
  cg->exits[e->target] = e->saved;
  if (is_tail) return;
  LLVMBasicBlockRef go_on = roc_cg_block(cg, "stay"), taken = roc_cg_block(cg, "taken");
  LLVMBasicBlockRef to = e->is_next ? s->exits[e->target].next : s->exits[e->target].leave;
  LLVMValueRef count = LLVMBuildLoad2(cg->b, cg->t.i64, e->count, "");
  LLVMValueRef some = LLVMBuildICmp(cg->b, LLVMIntNE, count, roc_cg_i64(cg, 0), "");
  LLVMBuildCondBr(cg->b, some, taken, go_on);
  roc_cg_at(cg, taken);
  if (cg->ir->check) {
    LLVMBasicBlockRef split = roc_cg_block(cg, "divergent");
    LLVMValueRef live = LLVMBuildLoad2(cg->b, cg->t.i64, s->level->live_count, "");
    roc_cg_branch_likely(cg, LLVMBuildICmp(cg->b, LLVMIntEQ, count, live, ""), to, split);
    roc_cg_at(cg, split);
    cpu_diverge(s, e->target);
  } else {
    LLVMBuildBr(cg->b, to);
  }
  roc_cg_at(cg, go_on);
}

/* Whether the value depends on what memory holds, or was a float; steps: how far back it is looked
 * for. */
static bool is_irregular(const cpu_state *s, uint32_t id, int steps) {
  const roc_ir_inst *inst = &s->cg->ir->insts.items[id];
  uint32_t set = inst->op == ROC_IR_GET ? s->plan.set_once[inst->aux] : ROC_IR_NONE;
  if (inst->op == ROC_IR_LOAD || inst->op == ROC_IR_FLOOR || inst->op == ROC_IR_CEIL) return true;
  if (steps == 0) return false;
  if (set != ROC_IR_NONE) inst = &s->cg->ir->insts.items[set];
  for (uint32_t n = 0; n < inst->nargs; n++) {
    if (is_irregular(s, roc_ir_arg(s->cg->ir, inst, n), steps - 1)) return true;
  }
  return false;
}

/* An element of fewer than 32 bits at an irregular place.  No instruction gathers these, and
 * long vectors, of which LLVM makes the most, take more to be put together than they save. */
static bool picks(const cpu_state *s, const roc_ir_inst *inst) {
  enum { STEPS = 8 };
  if (inst->op != ROC_IR_LOAD) return false;
  if (roc_dtype_itemsize(s->cg->ir->arrays.items[inst->aux].dtype) >= 4) return false;
  for (uint32_t n = 0; n < inst->nargs; n++) {
    if (is_irregular(s, roc_ir_arg(s->cg->ir, inst, n), STEPS)) return true;
  }
  return false;
}

/* Whether the list does little but that. */
static ROC_IR_WALKS bool is_mostly_picks(const cpu_state *s, const uint32_t *ids, uint32_t count) {
  enum { COST = 8 /* of a pick, in operations that vectors save */ };
  uint32_t npicks = 0, nothers = 0;
  roc_ir_walk w;
  roc_ir_walk_begin_list(&w, s->cg->ir, ids, count);
  while (roc_ir_walk_next(&w)) {
    bool computes = roc_ir_op_table[w.inst->op].flags == ROC_IRF_PURE && w.inst->nargs > 0;
    npicks += picks(s, w.inst);
    nothers += computes && !s->plan.is_remat[w.id];
    if (w.inst->op == ROC_IR_MATH || w.inst->op == ROC_IR_POW) nothers += 16;
  }
  return npicks > 0 && COST * npicks >= nothers;
}

/* As cpu_slope, in loops of few rounds as well. */
static bool slope_in_loops(const cpu_state *s, uint32_t id, int64_t *slope) {
  const roc_ir_module *ir = s->cg->ir;
  const roc_ir_inst *inst = &ir->insts.items[id];
  if (cpu_slope(s, id, slope)) return true;
  *slope = 0;
  uint32_t loop = inst->op == ROC_IR_GET ? s->plan.for_of[inst->aux] : ROC_IR_NONE;
  if (loop != ROC_IR_NONE) return cpu_is_short_for(ir, &ir->insts.items[loop]);
  int64_t other;
  if (inst->op != ROC_IR_ADD && inst->op != ROC_IR_SUB) return false;
  if (!slope_in_loops(s, roc_ir_arg(ir, inst, 0), slope)) return false;
  if (!slope_in_loops(s, roc_ir_arg(ir, inst, 1), &other)) return false;
  *slope += inst->op == ROC_IR_ADD ? other : -other;
  return true;
}

/* Whether the items of a row load neighbouring elements, or one and the same. */
static bool loads_neighbours(const cpu_state *s, const roc_ir_inst *load) {
  uint32_t rank = s->cg->ir->arrays.items[load->aux].rank;
  for (uint32_t d = 0; d < rank; d++) {
    int64_t slope;
    if (!slope_in_loops(s, roc_ir_arg(s->cg->ir, load, d), &slope)) return false;
    if (slope != 0 && (slope != 1 || d + 1 < rank)) return false;
  }
  return true;
}

/* Whether the elements that the items of a row load, or store, lie further apart than vectors that
 * are put together by a few shuffles reach. */
static bool is_apart(const cpu_state *s, const roc_ir_inst *access) {
  enum { MOST = 4 };
  uint32_t rank = s->cg->ir->arrays.items[access->aux].rank;
  uint32_t first = access->op == ROC_IR_STORE ? 1 : 0;
  if (s->tuple_lengths[access->aux]) return false; /* cpu/tuples.c */
  for (uint32_t d = 0; d < rank; d++) {
    int64_t slope;
    if (!slope_in_loops(s, roc_ir_arg(s->cg->ir, access, first + d), &slope)) return true;
    if (slope != 0 && (slope > MOST || slope < -MOST || d + 1 < rank)) return true;
  }
  return false;
}

/* Whether the list does little but access such elements, which no vector does faster. */
static ROC_IR_WALKS bool is_mostly_apart(const cpu_state *s, const uint32_t *ids, uint32_t count) {
  enum { APART = 4, OTHER = 5 }; /* what a vector loses and saves, in parts */
  uint32_t naparts = 0, nothers = 0;
  roc_ir_walk w;
  roc_ir_walk_begin_list(&w, s->cg->ir, ids, count);
  while (roc_ir_walk_next(&w)) {
    bool is_access = w.inst->op == ROC_IR_LOAD || w.inst->op == ROC_IR_STORE;
    bool computes = roc_ir_op_table[w.inst->op].flags == ROC_IRF_PURE && w.inst->nargs > 0;
    if (s->left_out && s->left_out[w.id]) continue;
    if (w.inst->op == ROC_IR_MATH || w.inst->op == ROC_IR_POW) nothers += 16;
    if (is_access && is_apart(s, w.inst)) {
      naparts++;
    } else {
      nothers += is_access || (computes && !s->plan.is_remat[w.id]);
    }
  }
  return APART * naparts > OTHER * nothers;
}

/* Whether items leave a loop early in which they load elements of fewer than 32 bits that are no
 * neighbours: vectors would have a branch for each lane of each load. */
static ROC_IR_WALKS bool breaks_off(const cpu_state *s, const uint32_t *ids, uint32_t count) {
  bool loads = false, leaves = false;
  roc_ir_walk w;
  roc_ir_walk_begin_list(&w, s->cg->ir, ids, count);
  while (roc_ir_walk_next(&w)) {
    const roc_ir_inst *inst = w.inst;
    leaves |= inst->op == ROC_IR_LEAVE && s->cg->ir->insts.items[inst->aux].op == ROC_IR_FOR;
    bool is_small =
        inst->op == ROC_IR_LOAD && roc_dtype_itemsize(s->cg->ir->arrays.items[inst->aux].dtype) < 4;
    loads |= is_small && !loads_neighbours(s, inst);
  }
  return loads && leaves;
}

/* What an item does in a run. */
typedef struct weight {
  uint64_t ninsts;  /* that are not recomputed */
  bool takes_apart; /* loads of elements that are no neighbours */
  bool has_small;   /* loads of fewer than 32 bits */
  bool branches;
  bool hands_over; /* stores in memory that other items read: loads wait for a store with a mask */
} weight;

static void weigh(const cpu_state *s, const uint32_t *ids, uint32_t count, uint64_t rounds,
                  weight *w) {
  const roc_ir_module *ir = s->cg->ir;
  for (uint32_t i = 0; i < count; i++) {
    const roc_ir_inst *inst = &ir->insts.items[ids[i]];
    bool is_free = inst->op == ROC_IR_GET || inst->op == ROC_IR_SET || s->plan.is_remat[ids[i]];
    if (!is_free && !cpu_is_settled(s, ids[i])) w->ninsts += rounds;
    if (inst->op == ROC_IR_LOAD) {
      w->takes_apart |= !loads_neighbours(s, inst);
      w->has_small |= roc_dtype_itemsize(ir->arrays.items[inst->aux].dtype) < 4;
    }
    w->hands_over |=
        inst->op == ROC_IR_STORE && ir->arrays.items[inst->aux].kind != ROC_IR_ARRAY_PARAM;
    w->branches |= inst->op == ROC_IR_IF && !s->ways[ids[i]];
    uint64_t inner = rounds * (inst->op == ROC_IR_FOR ? cpu_short_rounds(ir, inst) : 1);
    for (uint32_t r = 0; r < roc_ir_region_count(inst); r++) {
      const roc_ir_ids *region = &ir->regions.items[inst->k.region[r]];
      weigh(s, region->items, region->count, inner, w);
    }
  }
}

/* Whether a condition compares what items of a workgroup are numbered by, and nothing that tells how
 * large the grid or an array is. */
static bool is_within_group(const cpu_state *s, uint32_t id, int steps) {
  enum { STEPS = 12 };
  const roc_ir_inst *inst = &s->cg->ir->insts.items[id];
  if (inst->op == ROC_IR_GLOBAL_ID || inst->op == ROC_IR_GROUP_ID || inst->op == ROC_IR_EXTENT ||
      inst->op == ROC_IR_PARAM || steps == STEPS) {
    return false;
  }
  uint32_t set = inst->op == ROC_IR_GET ? s->plan.set_once[inst->aux] : ROC_IR_NONE;
  if (set != ROC_IR_NONE) inst = &s->cg->ir->insts.items[set];
  for (uint32_t n = 0; n < inst->nargs; n++) {
    if (!is_within_group(s, roc_ir_arg(s->cg->ir, inst, n), steps + 1)) return false;
  }
  return true;
}

/* A tile without its border: no row of it is whole. */
static bool is_cut_tile(const cpu_state *s) {
  if (!s->split || s->is_rest || s->plan.nruns < 2) return false;
  for (uint32_t i = 0; i < s->split->guards.count; i++) {
    uint32_t cond = roc_ir_arg(s->cg->ir, &s->cg->ir->insts.items[s->split->guards.items[i].id], 0);
    if (!s->plan.is_uniform[cond] && is_within_group(s, cond, 0)) return true;
  }
  return false;
}

/* Rows of workgroups that have several are short.  What vectors leave of them runs item by item,
 * which takes as long as all vectors where an item does much; a mask costs each vector a little, and
 * more the more items are in one. */
static bool has_masked_end(const cpu_state *s, const uint32_t *ids, uint32_t count) {
  enum { LEAST = 16, LEAST_OF_TILE = 4 };
  weight w = {0};
  if (!s->plan.has_rows || s->is_cold || !roc_processor_has(s->cg->tm, "avx512f")) return false;
  weigh(s, ids, count, 1, &w);
  return w.ninsts >= (!w.hands_over && is_cut_tile(s) ? LEAST_OF_TILE : LEAST) && !w.takes_apart &&
         (!w.has_small || w.branches);
}

static ROC_IR_WALKS bool has_long_loop(const cpu_state *s, const uint32_t *ids, uint32_t count) {
  roc_ir_walk w;
  roc_ir_walk_begin_list(&w, s->cg->ir, ids, count);
  while (roc_ir_walk_next(&w)) {
    if (w.inst->op == ROC_IR_LOOP) return true;
    if (w.inst->op == ROC_IR_FOR && !cpu_is_short_for(s->cg->ir, w.inst)) return true;
  }
  return false;
}

/* The items one by one, as a loop that LLVM may vectorise. */
static void emit_items(cpu_state *s, const cpu_lanes_run *r, bool is_parallel, run_exits *exits,
                       cpu_run *run) {
  roc_cg *cg = s->cg;
  cpu_items_begin(s, run, is_parallel);
  bool has_long = roc_processor_has(cg->tm, "avx512f");
  bool is_slow =
      has_long && (is_mostly_picks(s, r->ids, r->count) || is_mostly_apart(s, r->ids, r->count));
  bool is_strided = s->level->kind == CPU_LEVEL_ROW && s->level->stride;
  run->is_scalar = !s->chunk.count && (is_slow || is_strided || breaks_off(s, r->ids, r->count));
  run->has_loop = has_long_loop(s, r->ids, r->count);
  run->has_masked_end = !run->is_scalar && has_masked_end(s, r->ids, r->count);
  if (r->ndied) begin_deaths(s, run);
  cg->exit = run->dead ? run->dead : run->latch;
  for (uint32_t i = 0; i < exits->count; i++) begin_exit(s, &exits->items[i]);
  for (uint32_t i = 0; i < r->nvars; i++) cpu_var_copy_in(s, r->vars[i]);
  roc_cg_insts(cg, r->ids, r->count);
  roc_cg_goto(cg, run->latch);
  if (run->fault) cpu_finish_fault(s, run);
  roc_cg_at(cg, run->latch);
  for (uint32_t i = 0; i < r->nvars; i++) cpu_var_copy_out(s, r->vars[i]);
  if (run->fails.count) cpu_keep_fail(s, run, r->any);
  if (run->died) keep_deaths(s, run, r->ndied);
  cpu_items_end(s);
}

static void emit_loop(cpu_state *s, const uint32_t *ids, uint32_t count) {
  roc_cg *cg = s->cg;
  scan found = {.s = s};
  cpu_tally_cells_begin(s, ids, count);
  scan_insts(&found, ids, count);
  run_exits exits = {0};
  cpu_find_exits(s, ids, count, note_exit, &exits);
  cpu_lanes_run r = {.ids = ids,
                     .count = count,
                     .vars = found.vars.items,
                     .nvars = found.vars.count,
                     .exits = exits.items,
                     .nexits = exits.count};
  r.any = roc_cg_alloca(cg, cg->t.i32, "");
  LLVMBuildStore(cg->b, roc_cg_i32(cg, 0), r.any);
  if (s->needs_live && cpu_plan_stops(&s->plan, ids, count)) {
    r.ndied = roc_cg_alloca(cg, cg->t.i64, "");
    LLVMBuildStore(cg->b, roc_cg_i64(cg, 0), r.ndied);
  }
  cpu_run run;
  r.nlanes = cpu_lanes_choose(s, ids, count, &r.is_narrow);
  if (r.nlanes > 1) {
    cpu_emit_lanes(s, &r, &run);
  } else {
    emit_items(s, &r, !found.has_atomic, &exits, &run);
  }
  cpu_tally_cells_end(s, ids, count);
  if (run.fails.count) cpu_walk_fails(s, &run, r.any);
  if (r.ndied) {
    s->may_be_dead = true;
    subtract_deaths(s, r.ndied);
  }
  for (uint32_t i = 0; i < exits.count; i++) {
    const cpu_run_exit *e = &exits.items[i];
    finish_exit(s, e, cpu_leads_behind(s, e->target, e->is_next, ids + count));
  }
  roc_vec_deinit(&run.fails);
  roc_vec_deinit(&exits);
  roc_vec_deinit(&found.vars);
}

/* The others, where there are some. */
static void emit_rest(cpu_state *s, const uint32_t *ids, uint32_t count) {
  roc_cg *cg = s->cg;
  LLVMBasicBlockRef rest = roc_cg_block(cg, "rest"), after = roc_cg_block(cg, "after");
  LLVMValueRef leaves = LLVMBuildLoad2(cg->b, cg->t.i1, s->split->leaves, "");
  LLVMBuildCondBr(cg->b, leaves, rest, after);
  roc_cg_at(cg, rest);
  emit_loop(s, ids, count);
  roc_cg_goto(cg, after);
  roc_cg_at(cg, after);
}

/* The items for which the guards hold, then the others. */
static void emit_split(cpu_state *s, const uint32_t *ids, uint32_t count, cpu_split *split) {
  s->split = split;
  if (split->has_rest) {
    split->leaves = roc_cg_alloca(s->cg, s->cg->t.i1, "leaves");
    LLVMBuildStore(s->cg->b, LLVMConstInt(s->cg->t.i1, 0, 0), split->leaves);
  }
  for (uint32_t i = 0; i < split->guards.count; i++) {
    s->ways[split->guards.items[i].id] = split->guards.items[i].truth ? 1 : 2;
  }
  emit_loop(s, ids, count);
  for (uint32_t i = 0; i < split->guards.count; i++) {
    const cpu_guard *guard = &split->guards.items[i];
    bool is_open = !guard->is_idle || split->is_fallible;
    if (is_open) s->ways[guard->id] = !split->is_exact ? 0 : guard->truth ? 2 : 1;
  }
  s->is_rest = true;
  if (split->has_rest) emit_rest(s, ids, count);
  s->is_rest = false;
  for (uint32_t i = 0; i < split->guards.count; i++) s->ways[split->guards.items[i].id] = 0;
  s->split = NULL;
}

static void emit_piece(cpu_state *s, const uint32_t *ids, uint32_t count) {
  cpu_split split;
  if (cpu_split_find(s, ids, count, &split)) {
    emit_split(s, ids, count, &split);
  } else {
    emit_loop(s, ids, count);
  }
  cpu_split_deinit(&split);
}

static void emit_version(cpu_state *s, const uint32_t *ids, uint32_t count) {
  const bool *left_out[CPU_MAX_PIECES];
  unsigned npieces = cpu_pieces_find(s, ids, count, left_out);
  if (npieces == 0) emit_piece(s, ids, count);
  for (unsigned p = 0; p < npieces; p++) {
    s->left_out = left_out[p];
    emit_piece(s, ids, count);
    s->left_out = NULL;
  }
}

/* Nothing but what is left out, or made where it is used. */
static bool is_empty(const cpu_state *s, const uint32_t *ids, uint32_t count) {
  uint32_t n = 0;
  while (n < count && (s->plan.is_remat[ids[n]] || (s->left_out && s->left_out[ids[n]]))) n++;
  return n == count;
}

/* After a place where items can end, a run is made twice: without a guard for groups that are
 * still whole, so that loads common to the items stay plain loads, and guarded by the live mask for
 * the others. */
void cpu_emit_run(cpu_state *s, const uint32_t *ids, uint32_t count) {
  roc_cg *cg = s->cg;
  if (is_empty(s, ids, count)) return;
  bool is_twofold = s->level->kind == CPU_LEVEL_GROUP ||
                    (s->level->kind == CPU_LEVEL_ROW && !s->level->is_single);
  if (!s->needs_live || !s->may_be_dead || !is_twofold || s->is_cold) {
    emit_version(s, ids, count);
    return;
  }
  LLVMBasicBlockRef whole = roc_cg_block(cg, "whole"), thinned = roc_cg_block(cg, "thinned");
  LLVMBasicBlockRef join = roc_cg_block(cg, "join");
  LLVMValueRef live = LLVMBuildLoad2(cg->b, cg->t.i64, s->level->live_count, "");
  LLVMValueRef is_whole = LLVMBuildICmp(cg->b, LLVMIntEQ, live, s->level->present, "");
  roc_cg_branch_likely(cg, is_whole, whole, thinned);
  roc_cg_at(cg, whole);
  s->all_alive = true;
  emit_version(s, ids, count);
  s->all_alive = false;
  roc_cg_goto(cg, join);
  roc_cg_at(cg, thinned);
  emit_version(s, ids, count);
  roc_cg_goto(cg, join);
  roc_cg_at(cg, join);
}
