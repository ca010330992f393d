/* Loops over the work-items of a group, a wavefront or a row.
 *
 * Shaped for the vectoriser: the innermost loop counts the items of a row from 0 and has one exit;
 * loops over rows, if any, stand around it. */
#include <llvm-c/DebugInfo.h>
#include <string.h>

#include "codegen/cpu/cpu.h"
#include "codegen/llvm/processor.h"

/* ---- counted loops ----------------------------------------------------------------------- */

void cpu_loop_begin(cpu_state *s, cpu_loop *loop, LLVMValueRef count, const char *name) {
  roc_cg *cg = s->cg;
  LLVMBasicBlockRef before = LLVMGetInsertBlock(cg->b);
  /* LLVM would look at what the count was computed from for each question about the loop, which is
   * much where a guard bounds it: a twentieth of the time that a short kernel takes. */
  if (!LLVMIsConstant(count)) count = LLVMBuildFreeze(cg->b, count, "");
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
  /* Where items are set at once, rows have no loop in them: LLVM would write out eight rows. */
  if (!LLVMIsConstant(loop->count)) roc_cg_keep_rolled(cg, branch);
  roc_cg_at(cg, loop->done);
  return branch;
}

/* ---- rows -------------------------------------------------------------------------------- */

static LLVMValueRef add(roc_cg *cg, LLVMValueRef a, LLVMValueRef b);
static LLVMValueRef multiply(roc_cg *cg, LLVMValueRef a, LLVMValueRef b);

LLVMValueRef cpu_count_steps(roc_cg *cg, LLVMValueRef count, LLVMValueRef step) {
  LLVMValueRef zero = roc_cg_i64(cg, 0), one = roc_cg_i64(cg, 1);
  LLVMValueRef after = LLVMBuildUDiv(cg->b, LLVMBuildSub(cg->b, count, one, ""), step, "");
  LLVMValueRef is_none = LLVMBuildICmp(cg->b, LLVMIntEQ, count, zero, "");
  return LLVMBuildSelect(cg->b, is_none, zero, LLVMBuildAdd(cg->b, after, one, ""), "");
}

/* A known number of items that is less than two vectors of 32 bits and no multiple of one would
 * have LLVM mask the vectors, also where the processor has no registers for masks. */
static LLVMValueRef hide_odd_count(cpu_state *s, LLVMValueRef count) {
  enum { LEAST = 3, MOST = 15, LANES = 4 };
  if (s->nlanes || !LLVMIsAConstantInt(count) || roc_processor_has(s->cg->tm, "avx512f"))
    return count;
  uint64_t known = LLVMConstIntGetZExtValue(count);
  if (known < LEAST || known > MOST || known % LANES == 0) return count;
  LLVMTypeRef i64 = s->cg->t.i64, type = LLVMFunctionType(i64, &i64, 1, 0);
  LLVMValueRef nothing = LLVMGetInlineAsm(type, "", 0, "=r,0", 4, 0, 0, LLVMInlineAsmDialectATT, 0);
  return LLVMBuildCall2(s->cg->b, type, nothing, &count, 1, "");
}

/* Opens the loops over `count` items of a row, the first of which is `x`, or over what the split
 * leaves of them; gives the item's distance from the first. */
static LLVMValueRef begin_row(cpu_state *s, cpu_run *run, LLVMValueRef x, LLVMValueRef count) {
  roc_cg *cg = s->cg;
  LLVMValueRef low = NULL, step = NULL;
  if (s->split) {
    cpu_place at = {x, run->y, run->z};
    cpu_range range = cpu_split_range(s, s->split, &at, count);
    low = range.low;
    LLVMValueRef end = range.end;
    if (s->is_rest) { /* those before the range, then those after it */
      cpu_loop_begin(s, &run->loops[run->nloops++], roc_cg_i64(cg, 2), "side");
      LLVMValueRef side = run->loops[run->nloops - 1].index, zero = roc_cg_i64(cg, 0);
      LLVMValueRef is_before = LLVMBuildICmp(cg->b, LLVMIntEQ, side, zero, "");
      low = LLVMBuildSelect(cg->b, is_before, range.first, range.end, "");
      end = LLVMBuildSelect(cg->b, is_before, range.low, range.last, "");
    }
    count = LLVMBuildNUWSub(cg->b, end, low, "");
    step = range.step;
    if (step) count = cpu_count_steps(cg, count, step);
  }
  LLVMValueRef turns = count, lanes = NULL;
  if (s->nlanes) {
    lanes = roc_cg_i64(cg, s->nlanes);
    turns = add(cg, count, LLVMBuildSub(cg->b, lanes, roc_cg_i64(cg, 1), ""));
    turns = LLVMBuildUDiv(cg->b, turns, lanes, "");
  }
  cpu_loop_begin(s, &run->loops[run->nloops++], hide_odd_count(s, turns), "x");
  LLVMValueRef index = run->loops[run->nloops - 1].index;
  if (lanes) {
    index = multiply(cg, index, lanes);
    run->left = LLVMBuildNUWSub(cg->b, count, index, "");
  }
  if (step) index = multiply(cg, index, step);
  bool is_first = !low || (LLVMIsAConstantInt(low) && LLVMConstIntGetZExtValue(low) == 0);
  return is_first ? index : add(cg, low, index);
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

/* Whether only a fault record tells one row of the group from another. Loops of their own for y and
 * z, which take long to compile, are then not needed. */
static bool are_rows_alike(cpu_state *s) {
  const roc_ir_ids *body = &s->cg->ir->regions.items[0];
  if (s->plan.knows_rows || s->plan.nruns != 1) return false;
  return s->is_cold || !cpu_plan_stops(&s->plan, body->items, body->count);
}

void cpu_place_row(cpu_state *s, cpu_run *run, LLVMValueRef row) {
  run->y = LLVMBuildURem(s->cg->b, row, s->count[1], "");
  run->z = LLVMBuildUDiv(s->cg->b, row, s->count[1], "");
}

static void begin_alike_rows(cpu_state *s, cpu_run *run) {
  run->nloops = 1;
  cpu_loop_begin(s, &run->loops[0], multiply(s->cg, s->count[1], s->count[2]), "row");
  cpu_place_row(s, run, run->loops[0].index);
  run->x = run->lin = begin_row(s, run, roc_cg_i64(s->cg, 0), s->count[0]);
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
  if (s->goes_by_rows) {
    run->y = run->z = roc_cg_i64(cg, 0);
    run->x = run->lin = begin_row(s, run, roc_cg_i64(cg, 0), s->count[0]);
    return;
  }
  if (are_rows_alike(s)) {
    (s->is_cold ? begin_alike_items : begin_alike_rows)(s, run);
    return;
  }
  run->nloops = 2;
  cpu_loop_begin(s, &run->loops[0], s->count[2], "z");
  run->z = run->loops[0].index;
  if (s->split && s->plan.nruns > 1 && cpu_split_has_rows(s, s->split)) {
    cpu_range rows = cpu_split_rows(s, s->split, run->z);
    LLVMValueRef count = LLVMBuildNUWSub(cg->b, rows.end, rows.low, "");
    cpu_loop_begin(s, &run->loops[1], count, "y");
    run->y = add(cg, rows.low, run->loops[1].index);
  } else {
    cpu_loop_begin(s, &run->loops[1], s->count[1], "y");
    run->y = run->loops[1].index;
  }
  LLVMValueRef row = add(cg, multiply(cg, run->z, s->local[1]), run->y);
  LLVMValueRef first = multiply(cg, row, s->local[0]);
  run->x = begin_row(s, run, roc_cg_i64(cg, 0), s->count[0]);
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

/* The items of the level's row, or rows. */
static void begin_row_items(cpu_state *s, cpu_run *run) {
  const cpu_level *level = s->level;
  LLVMValueRef first = level->row;
  run->y = level->y;
  run->z = level->z;
  if (level->rows > 1) {
    cpu_loop_begin(s, &run->loops[run->nloops++], roc_cg_i64(s->cg, level->rows), "y");
    LLVMValueRef row = run->loops[0].index;
    run->y = add(s->cg, run->y, row);
    first = add(s->cg, first, multiply(s->cg, row, s->local[0]));
  }
  LLVMValueRef offset = begin_row(s, run, level->x, level->count);
  if (level->stride) offset = multiply(s->cg, offset, level->stride);
  run->x = add(s->cg, level->x, offset);
  run->lin = add(s->cg, first, run->x);
}

/* ---- items ------------------------------------------------------------------------------- */

void cpu_items_begin(cpu_state *s, cpu_run *run, bool is_parallel) {
  roc_cg *cg = s->cg;
  *run = (cpu_run){.is_parallel = is_parallel};
  s->epoch++;
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
  if (!s->nlanes && s->needs_live && s->may_be_dead && !s->all_alive) {
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

/* Whether a loop has a known length that LLVM may take for a reason to write it out.  It would do
 * so before it makes vectors, and then put some together from elements of several rows. */
static bool is_long(const cpu_loop *loop) {
  return LLVMIsAConstantInt(loop->count) && LLVMConstIntGetZExtValue(loop->count) > 2;
}

/* llvm.loop metadata: itself; where its code begins; that accesses do not depend on each other from
 * item to item; how many vectors are in flight, as rows of a workgroup are short, and shorter still
 * in kernels of more than one dimension.  Loops with atomics, cold walks, what a split leaves and
 * loops guarded by the live mask stay scalar, which keeps the code small, and so do those that are
 * marked so.  Those of a chunk become
 * vectors in the largest kernels, too, and its rows are written out, or what it keeps would be in
 * memory. */
static void mark_loop(cpu_state *s, LLVMValueRef branch, const cpu_run *run) {
  roc_cg *cg = s->cg;
  LLVMMetadataRef none = LLVMTemporaryMDNode(cg->ctx, NULL, 0), parts[8] = {none};
  LLVMMetadataRef accesses[2] = {LLVMMDStringInContext2(cg->ctx, "llvm.loop.parallel_accesses", 27),
                                 s->parallel};
  unsigned count = 1;
  parts[count++] = loop_property(cg, "llvm.loop.align", roc_cg_i32(cg, LOOP_ALIGN));
  bool is_single = s->split && s->split->is_single;
  if (!run->is_parallel || run->is_scalar || is_single || s->is_cold ||
      (s->is_rest && !s->split->is_exact) || (run->is_live && s->level->kind == CPU_LEVEL_GROUP)) {
    const char *how = run->is_written_out ? "llvm.loop.unroll.full" : "llvm.loop.unroll.disable";
    LLVMMetadataRef whole = LLVMMDStringInContext2(cg->ctx, how, strlen(how));
    parts[count++] = loop_property(cg, "llvm.loop.vectorize.enable", LLVMConstNull(cg->t.i1));
    parts[count++] = LLVMMDNodeInContext2(cg->ctx, &whole, 1);
  } else {
    unsigned vectors = s->plan.has_rows ? 1 : 2;
    parts[count++] = LLVMMDNodeInContext2(cg->ctx, accesses, 2);
    if (s->chunk.count) { /* the loop is one turn of so many vectors, which must not be items yet */
      LLVMMetadataRef whole = LLVMMDStringInContext2(cg->ctx, "llvm.loop.unroll.disable", 24);
      LLVMValueRef lanes = roc_cg_i32(cg, s->chunk.lanes);
      LLVMValueRef yes = LLVMConstInt(cg->t.i1, 1, 0);
      parts[count++] = loop_property(cg, "llvm.loop.vectorize.enable", yes);
      parts[count++] = loop_property(cg, "llvm.loop.vectorize.width", lanes);
      parts[count++] = LLVMMDNodeInContext2(cg->ctx, &whole, 1);
      vectors = s->chunk.vectors;
    } else if (run->has_masked_end) {
      LLVMValueRef yes = LLVMConstInt(cg->t.i1, 1, 0);
      parts[count++] = loop_property(cg, "llvm.loop.vectorize.predicate.enable", yes);
    }
    if (!s->chunk.count && is_long(&run->loops[run->nloops - 1])) {
      LLVMMetadataRef whole = LLVMMDStringInContext2(cg->ctx, "llvm.loop.unroll.disable", 24);
      parts[count++] = LLVMMDNodeInContext2(cg->ctx, &whole, 1);
    }
    parts[count++] = loop_property(cg, "llvm.loop.interleave.count", roc_cg_i32(cg, vectors));
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
  for (unsigned i = run->nloops - 1; i > 0; i--) {
    branch = cpu_loop_end(s, &run->loops[i - 1]);
    if (s->chunk.rows > 1) {
      roc_cg_unroll_whole(cg, branch);
    } else if (is_long(&run->loops[i - 1])) {
      roc_cg_keep_rolled(cg, branch);
    }
  }
  cg->access_group = NULL;
  s->run = NULL;
}
