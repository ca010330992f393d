/* One run as a loop over work-items.
 *
 * Shaped for the vectoriser: the innermost loop counts the items of a row from 0 with one exit; an
 * item that ends early goes to the latch, never out of the loop.  A failing check leaves its number
 * and values in per-item memory, and a flag that is looked at behind the loop; only then a second,
 * cold walk fills the fault record.  Copies of variables that live across runs are made for all
 * items at the loop's begin and end, so that the body works on registers. */
#include <llvm-c/DebugInfo.h>
#include <string.h>

#include "codegen/cpu/cpu.h"

/* ---- loops ------------------------------------------------------------------------------- */

void cpu_loop_begin(cpu_state *s, cpu_loop *loop, LLVMValueRef count, const char *name) {
  roc_cg *cg = s->cg;
  LLVMBasicBlockRef before = LLVMGetInsertBlock(cg->b);
  loop->count = count;
  loop->head = roc_cg_block(cg, name);
  loop->done = roc_cg_block(cg, "done");
  LLVMValueRef any = LLVMBuildICmp(cg->b, LLVMIntNE, count, roc_cg_i64(cg, 0), "");
  LLVMBuildCondBr(cg->b, any, loop->head, loop->done);
  roc_cg_at(cg, loop->head);
  loop->index = LLVMBuildPhi(cg->b, cg->t.i64, "");
  LLVMValueRef zero = roc_cg_i64(cg, 0);
  LLVMAddIncoming(loop->index, &zero, &before, 1);
}

LLVMValueRef cpu_loop_end(cpu_state *s, cpu_loop *loop) {
  roc_cg *cg = s->cg;
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(cg->b);
  LLVMValueRef next = LLVMBuildAdd(cg->b, loop->index, roc_cg_i64(cg, 1), "");
  LLVMSetNSW(next, 1);
  LLVMSetNUW(next, 1);
  LLVMAddIncoming(loop->index, &next, &latch, 1);
  LLVMValueRef again = LLVMBuildICmp(cg->b, LLVMIntULT, next, loop->count, "");
  LLVMValueRef branch = LLVMBuildCondBr(cg->b, again, loop->head, loop->done);
  roc_cg_at(cg, loop->done);
  return branch;
}

static LLVMValueRef add(roc_cg *cg, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef sum = LLVMBuildAdd(cg->b, a, b, "");
  if (LLVMIsAInstruction(sum)) {
    LLVMSetNSW(sum, 1);
    LLVMSetNUW(sum, 1);
  }
  return sum;
}

static LLVMValueRef multiply(roc_cg *cg, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef product = LLVMBuildMul(cg->b, a, b, "");
  if (LLVMIsAInstruction(product)) {
    LLVMSetNSW(product, 1);
    LLVMSetNUW(product, 1);
  }
  return product;
}

static LLVMValueRef minimum(roc_cg *cg, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef args[2] = {a, b};
  return roc_cg_intrinsic(cg, "llvm.umin", &cg->t.i64, 1, args, 2);
}

static bool list_stops(cpu_state *s, const uint32_t *ids, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (s->plan.stops[ids[i]]) return true;
  }
  return false;
}

/* Whether only a fault record tells one row of the group from another. Loops of their own for y and
 * z, which take long to compile, are then not needed. */
static bool are_rows_alike(cpu_state *s) {
  const roc_ir_ids *body = &s->cg->ir->regions.items[0];
  if (s->plan.knows_rows || s->plan.nruns != 1) return false;
  return s->is_cold || !list_stops(s, body->items, body->count);
}

static void place_row(cpu_state *s, cpu_run *run, LLVMValueRef row) {
  run->y = LLVMBuildURem(s->cg->b, row, s->count[1], "");
  run->z = LLVMBuildUDiv(s->cg->b, row, s->count[1], "");
}

static void begin_alike_rows(cpu_state *s, cpu_run *run) {
  run->nloops = 2;
  cpu_loop_begin(s, &run->loops[0], multiply(s->cg, s->count[1], s->count[2]), "row");
  place_row(s, run, run->loops[0].index);
  cpu_loop_begin(s, &run->loops[1], s->count[0], "x");
  run->x = run->lin = run->loops[1].index;
}

/* Where nothing becomes a vector, one loop does for all rows; which one it is, finish_fault finds
 * out. */
static void begin_alike_items(cpu_state *s, cpu_run *run) {
  roc_cg *cg = s->cg;
  run->nloops = 1;
  LLVMValueRef rows = multiply(cg, s->count[1], s->count[2]), first = roc_cg_i64(cg, 0);
  cpu_loop_begin(s, &run->loops[0], multiply(cg, rows, s->count[0]), "item");
  LLVMValueRef index = run->loops[0].index;
  LLVMBasicBlockRef before = LLVMGetIncomingBlock(index, 0);
  run->x = run->lin = run->turning_x = LLVMBuildPhi(cg->b, cg->t.i64, "");
  LLVMAddIncoming(run->turning_x, &first, &before, 1);
}

/* At the latch. */
static void turn_x(cpu_state *s, const cpu_run *run) {
  roc_cg *cg = s->cg;
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(cg->b);
  LLVMValueRef next = add(cg, run->turning_x, roc_cg_i64(cg, 1));
  LLVMValueRef is_inside = LLVMBuildICmp(cg->b, LLVMIntULT, next, s->count[0], "");
  next = LLVMBuildSelect(cg->b, is_inside, next, roc_cg_i64(cg, 0), "");
  LLVMAddIncoming(run->turning_x, &next, &latch, 1);
}

/* The rows of a group: z and y outside, the present items of a row inside. */
static void begin_group_rows(cpu_state *s, cpu_run *run) {
  roc_cg *cg = s->cg;
  if (are_rows_alike(s)) {
    (s->is_cold ? begin_alike_items : begin_alike_rows)(s, run);
    return;
  }
  run->nloops = 3;
  cpu_loop_begin(s, &run->loops[0], s->count[2], "z");
  cpu_loop_begin(s, &run->loops[1], s->count[1], "y");
  run->z = run->loops[0].index;
  run->y = run->loops[1].index;
  LLVMValueRef row = add(cg, multiply(cg, run->z, s->local[1]), run->y);
  LLVMValueRef first = multiply(cg, row, s->local[0]);
  cpu_loop_begin(s, &run->loops[2], s->count[0], "x");
  run->x = run->loops[2].index;
  run->lin = add(cg, first, run->x);
}

/* The rows of a wavefront: it begins and ends anywhere in the linear order, and what a partial
 * group lacks is left out. */
static void begin_wave_rows(cpu_state *s, cpu_run *run) {
  roc_cg *cg = s->cg;
  run->nloops = 2;
  LLVMValueRef lanes = LLVMBuildSub(cg->b, s->level->limit, s->level->base, "");
  LLVMValueRef row = LLVMBuildUDiv(cg->b, s->level->base, s->local[0], "");
  LLVMValueRef last = LLVMBuildUDiv(
      cg->b, LLVMBuildSub(cg->b, s->level->limit, roc_cg_i64(cg, 1), ""), s->local[0], "");
  LLVMValueRef rows = add(cg, LLVMBuildSub(cg->b, last, row, ""), roc_cg_i64(cg, 1));
  LLVMValueRef none = roc_cg_i64(cg, 0);
  rows = LLVMBuildSelect(cg->b, LLVMBuildICmp(cg->b, LLVMIntEQ, lanes, none, ""), none, rows, "");
  cpu_loop_begin(s, &run->loops[0], rows, "row");
  row = add(cg, row, run->loops[0].index);
  run->y = LLVMBuildURem(cg->b, row, s->local[1], "");
  run->z = LLVMBuildUDiv(cg->b, row, s->local[1], "");
  LLVMValueRef row_first = multiply(cg, row, s->local[0]);
  LLVMValueRef is_later = LLVMBuildICmp(cg->b, LLVMIntUGT, row_first, s->level->base, "");
  LLVMValueRef first = LLVMBuildSelect(cg->b, is_later, row_first, s->level->base, "");
  LLVMValueRef end = minimum(cg, add(cg, row_first, s->count[0]), s->level->limit);
  LLVMValueRef present = LLVMBuildICmp(cg->b, LLVMIntULT, first, end, "");
  present =
      LLVMBuildAnd(cg->b, present, LLVMBuildICmp(cg->b, LLVMIntULT, run->y, s->count[1], ""), "");
  present =
      LLVMBuildAnd(cg->b, present, LLVMBuildICmp(cg->b, LLVMIntULT, run->z, s->count[2], ""), "");
  LLVMValueRef count =
      LLVMBuildSelect(cg->b, present, LLVMBuildSub(cg->b, end, first, ""), none, "");
  LLVMValueRef x0 = LLVMBuildSub(cg->b, first, row_first, "");
  cpu_loop_begin(s, &run->loops[1], count, "x");
  run->x = add(cg, x0, run->loops[1].index);
  run->lin = add(cg, first, run->loops[1].index);
}

/* The items of the level's row. */
static void begin_row_items(cpu_state *s, cpu_run *run) {
  const cpu_level *level = s->level;
  run->nloops = 1;
  run->y = level->y;
  run->z = level->z;
  cpu_loop_begin(s, &run->loops[0], level->count, "x");
  LLVMValueRef offset = run->loops[0].index;
  if (level->stride) offset = multiply(s->cg, offset, level->stride);
  run->x = add(s->cg, level->x, offset);
  run->lin = add(s->cg, level->row, run->x);
}

/* ---- items ------------------------------------------------------------------------------- */

void cpu_items_begin(cpu_state *s, cpu_run *run, bool is_parallel) {
  roc_cg *cg = s->cg;
  *run = (cpu_run){.epoch = ++s->epoch, .is_parallel = is_parallel};
  s->run = run;
  cg->access_group = is_parallel ? s->parallel : NULL;
  static void (*const begin[])(cpu_state *, cpu_run *) = {
      [CPU_LEVEL_GROUP] = begin_group_rows,
      [CPU_LEVEL_WAVE] = begin_wave_rows,
      [CPU_LEVEL_ROW] = begin_row_items,
  };
  begin[s->level->kind](s, run);
  run->header_b = LLVMCreateBuilderInContext(cg->ctx);
  LLVMPositionBuilderAtEnd(run->header_b, LLVMGetInsertBlock(cg->b));
  run->body = roc_cg_block(cg, "item");
  run->latch = roc_cg_block(cg, "item.end");
  if (s->needs_live && s->may_be_dead && !s->all_alive) {
    LLVMValueRef live = roc_cg_load(cg, cg->t.i8, cpu_slot_item(s, &s->live));
    run->is_live = LLVMBuildICmp(cg->b, LLVMIntNE, live, LLVMConstInt(cg->t.i8, 0, 0), "");
  }
  roc_cg_at(cg, run->body);
}

/* A property of a loop: a name and an integer. */
static LLVMMetadataRef loop_property(roc_cg *cg, const char *name, LLVMValueRef value) {
  LLVMMetadataRef parts[2] = {LLVMMDStringInContext2(cg->ctx, name, strlen(name)),
                              LLVMValueAsMetadata(value)};
  return LLVMMDNodeInContext2(cg->ctx, parts, 2);
}

/* Bytes of code at a multiple of which a loop begins: a short one then lies in one line of the
 * cache, where LLVM's own 16 let it lie across two. */
enum { LOOP_ALIGN = 32 };

/* llvm.loop metadata: itself; where its code begins; that accesses do not depend on each other from
 * item to item; how many vectors are in flight, as rows of a workgroup are short, and shorter still
 * in kernels of more than one dimension.  Loops with atomics, cold walks and loops guarded by the
 * live mask stay scalar, which keeps the code small. */
static void mark_loop(cpu_state *s, LLVMValueRef branch, const cpu_run *run) {
  roc_cg *cg = s->cg;
  LLVMMetadataRef none = LLVMTemporaryMDNode(cg->ctx, NULL, 0), parts[4] = {none};
  LLVMMetadataRef accesses[2] = {LLVMMDStringInContext2(cg->ctx, "llvm.loop.parallel_accesses", 27),
                                 s->parallel};
  unsigned count = 1;
  parts[count++] = loop_property(cg, "llvm.loop.align", roc_cg_i32(cg, LOOP_ALIGN));
  if (!run->is_parallel || (run->is_live && s->level->kind == CPU_LEVEL_GROUP)) {
    LLVMMetadataRef whole = LLVMMDStringInContext2(cg->ctx, "llvm.loop.unroll.disable", 24);
    parts[count++] = loop_property(cg, "llvm.loop.vectorize.enable", LLVMConstNull(cg->t.i1));
    parts[count++] = LLVMMDNodeInContext2(cg->ctx, &whole, 1);
  } else {
    LLVMValueRef vectors = roc_cg_i32(cg, s->plan.has_rows ? 1 : 2);
    parts[count++] = LLVMMDNodeInContext2(cg->ctx, accesses, 2);
    parts[count++] = loop_property(cg, "llvm.loop.interleave.count", vectors);
  }
  LLVMMetadataRef loop = LLVMMDNodeInContext2(cg->ctx, parts, count);
  LLVMMetadataReplaceAllUsesWith(none, loop);
  LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(cg->ctx, "llvm.loop", 9),
                  LLVMMetadataAsValue(cg->ctx, loop));
}

void cpu_items_end(cpu_state *s) {
  roc_cg *cg = s->cg;
  cpu_run *run = s->run;
  if (LLVMGetInsertBlock(cg->b) != run->latch) roc_cg_goto(cg, run->latch);
  if (run->is_live) {
    LLVMBuildCondBr(run->header_b, run->is_live, run->body, run->latch);
  } else {
    LLVMBuildBr(run->header_b, run->body);
  }
  LLVMDisposeBuilder(run->header_b);
  roc_cg_at(cg, run->latch);
  if (run->turning_x) turn_x(s, run);
  LLVMValueRef branch = cpu_loop_end(s, &run->loops[run->nloops - 1]);
  mark_loop(s, branch, run);
  for (unsigned i = run->nloops - 1; i > 0; i--) cpu_loop_end(s, &run->loops[i - 1]);
  cg->access_group = NULL;
  s->run = NULL;
}

/* ---- values ------------------------------------------------------------------------------ */

/* Emits in the block that the item's code follows, whatever the builder is at. */
static LLVMBasicBlockRef enter_header(cpu_state *s) {
  LLVMBasicBlockRef here = LLVMGetInsertBlock(s->cg->b);
  LLVMPositionBuilderAtEnd(s->cg->b, LLVMGetInsertBlock(s->run->header_b));
  return here;
}

static LLVMValueRef load_slot(cpu_state *s, uint32_t id, LLVMValueRef *out) {
  roc_cg *cg = s->cg;
  roc_value_type type = (roc_value_type)cg->ir->insts.items[id].type;
  LLVMValueRef raw =
      roc_cg_load(cg, s->value_slots[id].type, cpu_slot_item(s, &s->value_slots[id]));
  *out = type == ROC_VT_BOOL ? LLVMBuildTrunc(cg->b, raw, cg->t.i1, "") : raw;
  return *out;
}

static cpu_slot *value_slot(cpu_state *s, uint32_t id) {
  roc_value_type type = (roc_value_type)s->cg->ir->insts.items[id].type;
  if (!s->value_slots[id].base) {
    LLVMTypeRef storage = type == ROC_VT_BOOL ? s->cg->t.i8 : roc_cg_value_type(s->cg, type);
    s->value_slots[id] = cpu_slot_new(s, storage, 1);
  }
  return &s->value_slots[id];
}

/* The counter of a wide FOR may begin elsewhere for each item; the distance from there is common.
 * It is a number modulo 2^64: from the smallest integer to the largest is further than one reaches,
 * so the sum is right but may wrap. */
static LLVMValueRef recompute_counter(cpu_state *s, uint32_t var) {
  roc_cg *cg = s->cg;
  uint32_t wide = s->plan.wide_for[var];
  if (wide == ROC_IR_NONE) return LLVMBuildLoad2(cg->b, cg->t.i64, roc_cg_var(cg, var), "");
  LLVMValueRef first = cpu_operand(cg, roc_ir_arg(cg->ir, &cg->ir->insts.items[wide], 0));
  LLVMValueRef advance = LLVMBuildLoad2(cg->b, cg->t.i64, s->advances[var], "");
  return LLVMBuildAdd(cg->b, first, advance, "");
}

/* The expression of a remat value, or of a GET of a variable that is set once. */
static LLVMValueRef recompute(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  if (inst->op != ROC_IR_GET) return roc_cg_expr(cg, id);
  if (s->plan.is_counter[inst->aux]) return recompute_counter(s, inst->aux);
  return cpu_operand(cg, roc_ir_arg(cg->ir, &cg->ir->insts.items[s->plan.set_once[inst->aux]], 0));
}

LLVMValueRef cpu_operand(roc_cg *cg, uint32_t id) {
  cpu_state *s = cpu_of(cg);
  if (s->epochs[id] == s->epoch) return cg->values[id];
  LLVMValueRef value;
  LLVMBasicBlockRef here = s->run ? enter_header(s) : NULL;
  if (s->plan.is_remat[id]) {
    value = recompute(s, id);
  } else {
    value_slot(s, id);
    load_slot(s, id, &value);
  }
  if (here) roc_cg_at(cg, here);
  cg->values[id] = value;
  s->epochs[id] = s->epoch;
  return value;
}

LLVMValueRef cpu_group_value(cpu_state *s, uint32_t id) {
  s->epoch++;
  return cpu_operand(s->cg, id);
}

void cpu_define(roc_cg *cg, uint32_t id, LLVMValueRef value) {
  cpu_state *s = cpu_of(cg);
  cg->values[id] = value;
  s->epochs[id] = s->epoch;
  if (!s->plan.is_slotted[id]) return;
  bool is_bool = cg->ir->insts.items[id].type == ROC_VT_BOOL;
  LLVMValueRef raw = is_bool ? LLVMBuildZExt(cg->b, value, cg->t.i8, "") : value;
  roc_cg_store(cg, raw, cpu_slot_item(s, value_slot(s, id)));
}

/* Values that are recomputed are made in the header, once, wherever they stand; loops may look
 * around. */
bool cpu_intercept(roc_cg *cg, uint32_t id) {
  if (cpu_of(cg)->is_clear && cpu_of(cg)->is_settled[id]) return true;
  if (cpu_emit_strip_end(cpu_of(cg), id)) return true;
  if (!cpu_of(cg)->plan.is_remat[id]) return cpu_emit_looked_loop(cpu_of(cg), id);
  cpu_operand(cg, id);
  return true;
}

/* ---- variables that live across runs ----------------------------------------------------- */

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

static void scan_insts(scan *c, const uint32_t *ids, uint32_t count) {
  const roc_ir_module *ir = c->s->cg->ir;
  for (uint32_t i = 0; i < count; i++) {
    const roc_ir_inst *inst = &ir->insts.items[ids[i]];
    bool gets = inst->op == ROC_IR_GET && !c->s->plan.is_remat[ids[i]];
    if (gets || inst->op == ROC_IR_SET || inst->op == ROC_IR_FOR) note_var(c, inst->aux);
    c->has_atomic |= inst->op == ROC_IR_ATOMIC || inst->op == ROC_IR_PRINT;
    for (uint32_t r = 0; roc_ir_has_regions(inst) && r < (inst->op == ROC_IR_IF ? 2u : 1u); r++) {
      const roc_ir_ids *inner = &ir->regions.items[inst->k.region[r]];
      scan_insts(c, inner->items, inner->count);
    }
  }
}

static cpu_slot *var_slot(cpu_state *s, uint32_t var) {
  roc_value_type type = s->cg->ir->vars.items[var].type;
  if (!s->var_slots[var].base) {
    LLVMTypeRef storage = type == ROC_VT_BOOL ? s->cg->t.i8 : roc_cg_value_type(s->cg, type);
    s->var_slots[var] = cpu_slot_new(s, storage, 1);
  }
  return &s->var_slots[var];
}

LLVMValueRef cpu_var_take(cpu_state *s, uint32_t var) {
  roc_cg *cg = s->cg;
  cpu_slot *slot = var_slot(s, var);
  LLVMValueRef raw = roc_cg_load(cg, slot->type, cpu_slot_item(s, slot));
  bool is_bool = cg->ir->vars.items[var].type == ROC_VT_BOOL;
  return is_bool ? LLVMBuildTrunc(cg->b, raw, cg->t.i1, "") : raw;
}

void cpu_var_put(cpu_state *s, uint32_t var, LLVMValueRef value) {
  roc_cg *cg = s->cg;
  if (cg->ir->vars.items[var].type == ROC_VT_BOOL) {
    value = LLVMBuildZExt(cg->b, value, cg->t.i8, "");
  }
  roc_cg_store(cg, value, cpu_slot_item(s, var_slot(s, var)));
}

static void copy_var_in(cpu_state *s, uint32_t var) {
  LLVMBasicBlockRef here = enter_header(s);
  LLVMBuildStore(s->cg->b, cpu_var_take(s, var), roc_cg_var(s->cg, var));
  roc_cg_at(s->cg, here);
}

static void copy_var_out(cpu_state *s, uint32_t var) {
  roc_cg *cg = s->cg;
  roc_value_type type = cg->ir->vars.items[var].type;
  LLVMValueRef held = LLVMBuildLoad2(cg->b, roc_cg_value_type(cg, type), roc_cg_var(cg, var), "");
  cpu_var_put(s, var, held);
}

/* ---- failing checks ---------------------------------------------------------------------- */

static LLVMValueRef new_item_cell(cpu_state *s, LLVMTypeRef type, LLVMValueRef initial) {
  LLVMValueRef cell = roc_cg_alloca(s->cg, type, "");
  LLVMBuildStore(s->run->header_b, initial, cell);
  return cell;
}

/* Whether a value is the same for all items and known before the group loop. */
static bool is_invariant(cpu_state *s, LLVMValueRef value) {
  if (!LLVMIsAInstruction(value)) return true;
  return LLVMGetInstructionParent(value) == LLVMGetInsertBlock(s->cg->entry_b);
}

/* In the cold version, which nobody vectorises, an item records its fault on the spot. */
static void fail_at_once(cpu_state *s, uint32_t site, LLVMValueRef *values, unsigned nvalues) {
  roc_cg *cg = s->cg;
  cpu_run *run = s->run;
  if (!run->fault) {
    run->fault = roc_cg_block(cg, "fault");
    run->code = roc_cg_alloca(cg, cg->t.i32, "");
  }
  for (unsigned i = 0; i < nvalues; i++) {
    if (!run->values[i]) {
      run->values[i] = new_item_cell(s, cg->t.i64, roc_cg_i64(cg, 0));
    }
    LLVMBuildStore(cg->b, values[i], run->values[i]);
  }
  LLVMBuildStore(cg->b, roc_cg_i32(cg, site), run->code);
  LLVMBuildBr(cg->b, run->fault);
}

/* The block where those items arrive. */
static void finish_fault(cpu_state *s, cpu_run *run) {
  roc_cg *cg = s->cg;
  LLVMBasicBlockRef here = LLVMGetInsertBlock(cg->b);
  LLVMValueRef ids[3], values[ROC_SITE_MAX_VALUES];
  roc_cg_at(cg, run->fault);
  LLVMValueRef index = run->loops[0].index;
  if (run->turning_x) place_row(s, run, LLVMBuildUDiv(cg->b, index, s->count[0], ""));
  unsigned most = 0;
  for (; most < ROC_SITE_MAX_VALUES && run->values[most]; most++) {
    values[most] = LLVMBuildLoad2(cg->b, cg->t.i64, run->values[most], "");
  }
  for (unsigned d = 0; d < 3; d++) ids[d] = cg->target->launch_value(cg, ROC_IR_GLOBAL_ID, d);
  LLVMValueRef site = LLVMBuildLoad2(cg->b, cg->t.i32, run->code, "");
  roc_cg_record_fault(cg, site, ids, values, most);
  LLVMBuildBr(cg->b, run->dead ? run->dead : run->latch);
  roc_cg_at(cg, here);
}

void cpu_fail_hook(roc_cg *cg, uint32_t site, LLVMValueRef *values, unsigned nvalues) {
  cpu_state *s = cpu_of(cg);
  cpu_run *run = s->run;
  if (s->is_in_strip) LLVMBuildStore(cg->b, roc_cg_i64(cg, 0), s->budget); /* it has not paid */
  if (s->is_cold) {
    fail_at_once(s, site, values, nvalues);
    return;
  }
  cpu_fail fail = {.site = site, .nvalues = nvalues};
  if (!run->code) run->code = new_item_cell(s, cg->t.i32, roc_cg_i32(cg, 0));
  for (unsigned i = 0, kept = 0; i < nvalues; i++) {
    if (is_invariant(s, values[i])) {
      fail.invariant[i] = values[i];
      continue;
    }
    if (!run->values[kept]) {
      run->values[kept] = new_item_cell(s, cg->t.i64, LLVMGetPoison(cg->t.i64));
    }
    LLVMBuildStore(cg->b, values[i], run->values[kept++]);
  }
  if (!roc_vec_push(&run->fails, fail)) cg->arena.failed = true;
  LLVMBuildStore(cg->b, roc_cg_i32(cg, run->fails.count), run->code);
  roc_cg_goto(cg, run->dead ? run->dead : run->latch);
}

/* At the latch: what the item leaves behind for the walk. */
static void keep_fail(cpu_state *s, cpu_run *run, LLVMValueRef any) {
  roc_cg *cg = s->cg;
  if (!s->code.base) s->code = cpu_slot_new(s, cg->t.i32, 1);
  LLVMValueRef code = LLVMBuildLoad2(cg->b, cg->t.i32, run->code, "");
  roc_cg_store(cg, code, cpu_slot_item(s, &s->code));
  for (unsigned i = 0; i < ROC_SITE_MAX_VALUES && run->values[i]; i++) {
    if (!s->fail_values[i].base) s->fail_values[i] = cpu_slot_new(s, cg->t.i64, 1);
    LLVMValueRef value = LLVMBuildLoad2(cg->b, cg->t.i64, run->values[i], "");
    roc_cg_store(cg, value, cpu_slot_item(s, &s->fail_values[i]));
  }
  LLVMValueRef sum = LLVMBuildLoad2(cg->b, cg->t.i32, any, "");
  LLVMBuildStore(cg->b, LLVMBuildOr(cg->b, sum, code, ""), any);
}

/* In the walk, at an item that failed: site and values by its code, through cells, then the
 * record. */
static void record_item(cpu_state *s, const cpu_run *failed, LLVMValueRef code,
                        LLVMBasicBlockRef next) {
  roc_cg *cg = s->cg;
  LLVMValueRef site = roc_cg_alloca(cg, cg->t.i32, ""), cells[ROC_SITE_MAX_VALUES], ids[3];
  unsigned most = 0;
  for (uint32_t f = 0; f < failed->fails.count; f++) {
    if (failed->fails.items[f].nvalues > most) most = failed->fails.items[f].nvalues;
  }
  for (unsigned i = 0; i < most; i++) cells[i] = roc_cg_alloca(cg, cg->t.i64, "");
  LLVMBasicBlockRef join = roc_cg_block(cg, "fault");
  LLVMValueRef choose = LLVMBuildSwitch(cg->b, code, next, failed->fails.count);
  for (uint32_t f = 0; f < failed->fails.count; f++) {
    const cpu_fail *fail = &failed->fails.items[f];
    LLVMBasicBlockRef block = roc_cg_block(cg, "site");
    LLVMAddCase(choose, roc_cg_i32(cg, f + 1), block);
    roc_cg_at(cg, block);
    LLVMBuildStore(cg->b, roc_cg_i32(cg, fail->site), site);
    for (unsigned i = 0, kept = 0; i < fail->nvalues; i++) {
      LLVMValueRef value = fail->invariant[i];
      if (!value) {
        value = LLVMBuildLoad2(cg->b, cg->t.i64, cpu_slot_item(s, &s->fail_values[kept++]), "");
      }
      LLVMBuildStore(cg->b, value, cells[i]);
    }
    LLVMBuildBr(cg->b, join);
  }
  roc_cg_at(cg, join);
  LLVMValueRef values[ROC_SITE_MAX_VALUES];
  for (unsigned i = 0; i < most; i++) values[i] = LLVMBuildLoad2(cg->b, cg->t.i64, cells[i], "");
  for (unsigned d = 0; d < 3; d++) ids[d] = cg->target->launch_value(cg, ROC_IR_GLOBAL_ID, d);
  roc_cg_record_fault(cg, LLVMBuildLoad2(cg->b, cg->t.i32, site, ""), ids, values, most);
  LLVMBuildBr(cg->b, next);
}

/* Behind a run in which something failed: the second, cold walk. */
static void walk_fails(cpu_state *s, const cpu_run *failed, LLVMValueRef any) {
  roc_cg *cg = s->cg;
  LLVMBasicBlockRef cold = roc_cg_block(cg, "failed"), go_on = roc_cg_block(cg, "checked");
  LLVMValueRef sum = LLVMBuildLoad2(cg->b, cg->t.i32, any, "");
  LLVMValueRef fine = LLVMBuildICmp(cg->b, LLVMIntEQ, sum, roc_cg_i32(cg, 0), "");
  roc_cg_branch_likely(cg, fine, go_on, cold);
  roc_cg_at(cg, cold);
  bool may_be_dead = s->may_be_dead; /* the failed ones are dead by now, but have their codes */
  s->may_be_dead = false;
  cpu_run walk;
  cpu_items_begin(s, &walk, false);
  LLVMValueRef code = LLVMBuildLoad2(cg->b, cg->t.i32, cpu_slot_item(s, &s->code), "");
  record_item(s, failed, code, walk.latch);
  roc_cg_at(cg, roc_cg_block(cg, "unused"));
  LLVMBuildUnreachable(cg->b);
  cpu_items_end(s);
  s->may_be_dead = may_be_dead;
  LLVMBuildBr(cg->b, go_on);
  roc_cg_at(cg, go_on);
}

/* ---- items that end ---------------------------------------------------------------------- */

void cpu_end_if_all_dead(cpu_state *s) {
  roc_cg *cg = s->cg;
  LLVMBasicBlockRef go_on = roc_cg_block(cg, "alive");
  LLVMValueRef left = LLVMBuildLoad2(cg->b, cg->t.i64, s->level->live_count, "");
  LLVMValueRef some = LLVMBuildICmp(cg->b, LLVMIntNE, left, roc_cg_i64(cg, 0), "");
  LLVMBuildCondBr(cg->b, some, go_on, s->level->end);
  roc_cg_at(cg, go_on);
}

static void begin_deaths(cpu_state *s, cpu_run *run) {
  roc_cg *cg = s->cg;
  run->dead = roc_cg_block(cg, "dead");
  run->died = new_item_cell(s, cg->t.i8, LLVMConstInt(cg->t.i8, 0, 0));
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

/* A way out of the run to a statement around it: the items that take it are counted. */
typedef struct run_exit {
  uint32_t target;
  bool is_next;
  LLVMValueRef count;
  roc_cg_exits saved;
} run_exit;
typedef roc_vec(run_exit) run_exits;

static void note_exit(cpu_state *s, uint32_t target, bool is_next, void *ud) {
  run_exits *exits = ud;
  for (uint32_t i = 0; i < exits->count; i++) {
    if (exits->items[i].target == target && exits->items[i].is_next == is_next) return;
  }
  run_exit e = {.target = target, .is_next = is_next, .saved = s->cg->exits[target]};
  e.count = roc_cg_alloca(s->cg, s->cg->t.i64, "");
  LLVMBuildStore(s->cg->b, roc_cg_i64(s->cg, 0), e.count);
  if (!roc_vec_push(exits, e)) s->cg->arena.failed = true;
}

static void begin_exit(cpu_state *s, run_exit *e) {
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

/* Behind the run: when items took the way, all of them must have; unless it leads to where the
 * others are as well. */
static void finish_exit(cpu_state *s, const run_exit *e, bool is_tail) {
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

static void emit_version(cpu_state *s, const uint32_t *ids, uint32_t count) {
  roc_cg *cg = s->cg;
  bool deaths = s->needs_live && list_stops(s, ids, count);
  scan found = {.s = s};
  scan_insts(&found, ids, count);
  run_exits exits = {0};
  cpu_find_exits(s, ids, count, note_exit, &exits);
  LLVMValueRef any = roc_cg_alloca(cg, cg->t.i32, ""), ndied = roc_cg_alloca(cg, cg->t.i64, "");
  LLVMBuildStore(cg->b, roc_cg_i32(cg, 0), any);
  LLVMBuildStore(cg->b, roc_cg_i64(cg, 0), ndied);

  cpu_run run;
  cpu_items_begin(s, &run, !found.has_atomic);
  if (deaths) begin_deaths(s, &run);
  cg->exit = run.dead ? run.dead : run.latch;
  for (uint32_t i = 0; i < exits.count; i++) begin_exit(s, &exits.items[i]);
  for (uint32_t i = 0; i < found.vars.count; i++) copy_var_in(s, found.vars.items[i]);
  roc_cg_insts(cg, ids, count);
  roc_cg_goto(cg, run.latch);
  if (run.fault) finish_fault(s, &run);
  roc_cg_at(cg, run.latch);
  for (uint32_t i = 0; i < found.vars.count; i++) copy_var_out(s, found.vars.items[i]);
  if (run.fails.count) keep_fail(s, &run, any);
  if (run.died) keep_deaths(s, &run, ndied);
  cpu_items_end(s);

  if (run.fails.count) walk_fails(s, &run, any);
  if (deaths) {
    s->may_be_dead = true;
    subtract_deaths(s, ndied);
  }
  for (uint32_t i = 0; i < exits.count; i++) {
    const run_exit *e = &exits.items[i];
    finish_exit(s, e, cpu_leads_behind(s, e->target, e->is_next, ids + count));
  }
  roc_vec_deinit(&run.fails);
  roc_vec_deinit(&exits);
  roc_vec_deinit(&found.vars);
}

/* Behind a place where items can end, a run is made twice: without a guard for groups that are
 * still whole, so that loads common to the items stay plain loads, and guarded by the live mask for
 * the others. */
void cpu_emit_run(cpu_state *s, const uint32_t *ids, uint32_t count) {
  roc_cg *cg = s->cg;
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
