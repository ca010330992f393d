/* Barriers, fences and wave operations of the NVPTX target.
 *
 * Instructions that meet name all lanes: one that has returned is not waited for, and one that is
 * still elsewhere is. Values cross lanes in pieces of 32 bits. Lanes count from 0 here. Reductions
 * are the same tree as on every device, so that sums of floats agree bit for bit. */
#include <string.h>

#include "codegen/core/wave_reduce.h"
#include "codegen/nvptx/nvptx.h"

enum { SCOPE_LOCAL = 1, LAST_LANE = ROC_NVPTX_WARP - 1 };

static LLVMValueRef all_lanes(roc_cg *cg) {
  return roc_cg_i32(cg, UINT32_MAX);
}

static LLVMValueRef is_zero(roc_cg *cg, LLVMValueRef bits) {
  return LLVMBuildICmp(cg->b, LLVMIntEQ, bits, roc_cg_i32(cg, 0), "");
}

static LLVMValueRef select_of(roc_cg *cg, LLVMValueRef c, LLVMValueRef yes, LLVMValueRef no) {
  return LLVMBuildSelect(cg->b, c, yes, no, "");
}

/* ---- fences and barriers ------------------------------------------------------------------- */

void roc_nvptx_fence(roc_cg *cg, int64_t scope) {
  const roc_target *target = cg->target;
  const char *sync = scope == SCOPE_LOCAL ? target->group_scope : target->device_scope;
  unsigned id = LLVMGetSyncScopeID(cg->ctx, sync, strlen(sync));
  LLVMBuildFenceSyncScope(cg->b, LLVMAtomicOrderingAcquireRelease, id, "");
}

/* Orders all memory among the items that meet. */
void roc_nvptx_meet(roc_cg *cg) {
  LLVMValueRef barrier = roc_cg_i32(cg, 0);
  roc_cg_intrinsic(cg, "llvm.nvvm.barrier.cta.sync.aligned.all", NULL, 0, &barrier, 1);
}

void roc_nvptx_barrier(roc_cg *cg, const roc_ir_inst *inst) {
  LLVMValueRef lanes = all_lanes(cg);
  if (inst->op == ROC_IR_WAVE_BARRIER) {
    roc_cg_intrinsic(cg, "llvm.nvvm.bar.warp.sync", NULL, 0, &lanes, 1);
  } else {
    roc_nvptx_meet(cg);
  }
}

/* ---- lanes ------------------------------------------------------------------------------- */

LLVMValueRef roc_nvptx_lane(roc_cg *cg) {
  return roc_nvptx_read_register(cg, "laneid");
}

static LLVMValueRef vote(roc_cg *cg, const char *name, LLVMValueRef condition) {
  LLVMValueRef args[2] = {all_lanes(cg), condition};
  return roc_cg_intrinsic(cg, name, NULL, 0, args, 2);
}

/* i32; bit 0 is the first lane. */
static LLVMValueRef ballot(roc_cg *cg, LLVMValueRef condition) {
  return vote(cg, "llvm.nvvm.vote.ballot.sync", condition);
}

static LLVMValueRef live_lanes(roc_cg *cg) {
  LLVMValueRef known = roc_nvptx_state_of(cg)->live;
  return known ? known : ballot(cg, LLVMConstInt(cg->t.i1, 1, 0));
}

/* Whether it asks which lanes are live. */
static bool needs_live(const roc_ir_inst *inst) {
  bool is_vote = inst->k.i <= ROC_IR_WAVE_ALL;
  return inst->op == ROC_IR_WAVE && !is_vote;
}

void roc_nvptx_find_live(roc_cg *cg) {
  bool is_needed = false;
  for (uint32_t i = 0; i < cg->ir->insts.count; i++) {
    is_needed |= needs_live(&cg->ir->insts.items[i]);
  }
  if (is_needed) roc_nvptx_state_of(cg)->live = live_lanes(cg);
}

LLVMValueRef roc_nvptx_wave_diverges(roc_cg *cg, LLVMValueRef condition) {
  return LLVMBuildNot(cg->b, vote(cg, "llvm.nvvm.vote.uni.sync", condition), "");
}

/* By a barrier that tells each whether the condition holds anywhere: where wavefronts differ, those
 * for which it does not find out.  It is another barrier than roc_nvptx_meet's, as a GPU wants it
 * for another kind. */
LLVMValueRef roc_nvptx_group_parts(roc_cg *cg, LLVMValueRef condition) {
  LLVMValueRef args[2] = {roc_cg_i32(cg, 1), condition};
  LLVMValueRef holds =
      roc_cg_intrinsic(cg, "llvm.nvvm.barrier.cta.red.or.aligned.all", NULL, 0, args, 2);
  return LLVMBuildAnd(cg->b, holds, LLVMBuildNot(cg->b, condition, ""), "");
}

/* The first of those that are here together, however they came to be. */
LLVMValueRef roc_nvptx_elect_lane(roc_cg *cg, LLVMValueRef *record, LLVMValueRef *out_count) {
  (void)record;
  LLVMValueRef lanes = roc_cg_intrinsic(cg, "llvm.nvvm.activemask", NULL, 0, NULL, 0);
  LLVMValueRef before = roc_nvptx_read_register(cg, "lanemask.lt");
  *out_count = roc_cg_intrinsic(cg, "llvm.ctpop", &cg->t.i32, 1, &lanes, 1);
  return is_zero(cg, LLVMBuildAnd(cg->b, lanes, before, ""));
}

/* ---- values from other lanes --------------------------------------------------------------- */

/* How a value of 32 bits comes from another lane: "idx" from lane `from`, "bfly" from the own one
 * with the bits `from` turned over. */
typedef struct move {
  const char *name;
  LLVMValueRef from;
} move;

static LLVMValueRef move_piece(roc_cg *cg, const move *m, LLVMValueRef piece) {
  LLVMValueRef args[4] = {all_lanes(cg), piece, m->from, roc_cg_i32(cg, LAST_LANE)};
  return roc_cg_intrinsic(cg, m->name, NULL, 0, args, 4);
}

static LLVMValueRef move_wide(roc_cg *cg, const move *m, LLVMValueRef bits) {
  LLVMTypeRef type = LLVMVectorType(cg->t.i32, 2);
  LLVMValueRef pieces = LLVMBuildBitCast(cg->b, bits, type, ""), moved = LLVMGetPoison(type);
  for (uint32_t n = 0; n < 2; n++) {
    LLVMValueRef at = roc_cg_i32(cg, n);
    LLVMValueRef piece = LLVMBuildExtractElement(cg->b, pieces, at, "");
    moved = LLVMBuildInsertElement(cg->b, moved, move_piece(cg, m, piece), at, "");
  }
  return LLVMBuildBitCast(cg->b, moved, cg->t.i64, "");
}

/* A value of the kernel language. */
static LLVMValueRef move_value(roc_cg *cg, const move *m, LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  if (type == cg->t.i1) {
    LLVMValueRef moved = move_piece(cg, m, LLVMBuildZExt(cg->b, value, cg->t.i32, ""));
    return LLVMBuildNot(cg->b, is_zero(cg, moved), "");
  }
  bool is_wide = type == cg->t.i64 || type == cg->t.f64;
  LLVMValueRef bits = LLVMBuildBitCast(cg->b, value, is_wide ? cg->t.i64 : cg->t.i32, "");
  LLVMValueRef moved = is_wide ? move_wide(cg, m, bits) : move_piece(cg, m, bits);
  return LLVMBuildBitCast(cg->b, moved, type, "");
}

static LLVMValueRef take_from(roc_cg *cg, LLVMValueRef value, LLVMValueRef lane) {
  const move m = {"llvm.nvvm.shfl.sync.idx.i32", lane};
  return move_value(cg, &m, value);
}

static LLVMValueRef count_zeros(roc_cg *cg, const char *name, LLVMValueRef bits) {
  LLVMValueRef args[2] = {bits, LLVMConstInt(cg->t.i1, 0, 0)};
  return roc_cg_intrinsic(cg, name, &cg->t.i32, 1, args, 2);
}

/* `lane`, i64 from 0, where it is one of the wave's up to the last live one; else the own one.
 * Those after it have no item, or one that has ended. */
static LLVMValueRef lane_or_own(roc_cg *cg, LLVMValueRef lane) {
  LLVMValueRef above = count_zeros(cg, "llvm.ctlz", live_lanes(cg));
  LLVMValueRef count = LLVMBuildSub(cg->b, roc_cg_i32(cg, ROC_NVPTX_WARP), above, "");
  LLVMValueRef wide = LLVMBuildZExt(cg->b, count, cg->t.i64, "");
  LLVMValueRef is_lane = LLVMBuildICmp(cg->b, LLVMIntULT, lane, wide, "");
  LLVMValueRef narrow = LLVMBuildTrunc(cg->b, lane, cg->t.i32, "");
  return select_of(cg, is_lane, narrow, roc_nvptx_lane(cg));
}

/* `lane`, i64 from 1, from 0 modulo the width. */
static LLVMValueRef lane_modulo(roc_cg *cg, LLVMValueRef lane) {
  LLVMValueRef from_0 = LLVMBuildSub(cg->b, lane, roc_cg_i64(cg, 1), "");
  return LLVMBuildAnd(cg->b, from_0, roc_cg_i64(cg, LAST_LANE), "");
}

static LLVMValueRef shuffle_source(roc_cg *cg, roc_ir_wave op, LLVMValueRef by) {
  LLVMValueRef own = LLVMBuildZExt(cg->b, roc_nvptx_lane(cg), cg->t.i64, "");
  switch (op) {
    case ROC_IR_WAVE_SHUFFLE_UP: return LLVMBuildSub(cg->b, own, by, "");
    case ROC_IR_WAVE_SHUFFLE_DOWN: return LLVMBuildAdd(cg->b, own, by, "");
    case ROC_IR_WAVE_SHUFFLE_XOR: return LLVMBuildXor(cg->b, own, by, "");
    default: return LLVMBuildSub(cg->b, by, roc_cg_i64(cg, 1), "");
  }
}

static LLVMValueRef shuffle(roc_cg *cg, roc_ir_wave op, LLVMValueRef value, LLVMValueRef by) {
  return take_from(cg, value, lane_or_own(cg, shuffle_source(cg, op, by)));
}

static LLVMValueRef pull(roc_cg *cg, LLVMValueRef lane, LLVMValueRef value) {
  return take_from(cg, value, lane_or_own(cg, lane_modulo(cg, lane)));
}

/* Each lane finds those that push to it: of each bit of the lanes pushed to, all lanes that have it
 * as the own number has.  The highest of them wins, and 0 comes from none. */
static LLVMValueRef push(roc_cg *cg, LLVMValueRef lane, LLVMValueRef value) {
  LLVMValueRef to = LLVMBuildTrunc(cg->b, lane_modulo(cg, lane), cg->t.i32, "");
  LLVMValueRef sources = live_lanes(cg), own = roc_nvptx_lane(cg);
  for (uint32_t bit = 1; bit < ROC_NVPTX_WARP; bit *= 2) {
    LLVMValueRef has =
        LLVMBuildNot(cg->b, is_zero(cg, LLVMBuildAnd(cg->b, to, roc_cg_i32(cg, bit), "")), "");
    LLVMValueRef with = ballot(cg, has);
    LLVMValueRef is_without = is_zero(cg, LLVMBuildAnd(cg->b, own, roc_cg_i32(cg, bit), ""));
    LLVMValueRef same = select_of(cg, is_without, LLVMBuildNot(cg->b, with, ""), with);
    sources = LLVMBuildAnd(cg->b, sources, same, "");
  }
  LLVMValueRef above = count_zeros(cg, "llvm.ctlz", sources);
  LLVMValueRef last = LLVMBuildSub(cg->b, roc_cg_i32(cg, LAST_LANE), above, "");
  LLVMValueRef moved = take_from(cg, value, last);
  return select_of(cg, is_zero(cg, sources), LLVMConstNull(LLVMTypeOf(value)), moved);
}

/* ---- reductions ---------------------------------------------------------------------------- */

/* The own value with `other`, that of the lanes which differ in the bits `step`. */
static LLVMValueRef combine_halves(roc_cg *cg, roc_ir_wave op, uint32_t step, LLVMValueRef value,
                                   LLVMValueRef other) {
  LLVMValueRef bit = LLVMBuildAnd(cg->b, roc_nvptx_lane(cg), roc_cg_i32(cg, step), "");
  LLVMValueRef is_lower = is_zero(cg, bit);
  LLVMValueRef lower = select_of(cg, is_lower, value, other);
  LLVMValueRef upper = select_of(cg, is_lower, other, value);
  bool is_symmetric = op == ROC_IR_WAVE_SUM || LLVMTypeOf(value) == cg->t.i64;
  return is_symmetric ? roc_cg_wave_combine(cg, op, value, other)
                      : roc_cg_wave_combine(cg, op, lower, upper);
}

static LLVMValueRef reduce_full(roc_cg *cg, roc_ir_wave op, LLVMValueRef value) {
  for (uint32_t step = 1; step < ROC_NVPTX_WARP; step *= 2) {
    const move m = {"llvm.nvvm.shfl.sync.bfly.i32", roc_cg_i32(cg, step)};
    value = combine_halves(cg, op, step, value, move_value(cg, &m, value));
  }
  return value;
}

/* Of the other half of a pair any live lane has the half's result; if there is none, the half
 * changes nothing. */
static LLVMValueRef reduce_live(roc_cg *cg, roc_ir_wave op, LLVMValueRef value, LLVMValueRef live) {
  LLVMValueRef nothing = roc_cg_wave_neutral(op, LLVMTypeOf(value)), own = roc_nvptx_lane(cg);
  for (uint32_t step = 1; step < ROC_NVPTX_WARP; step *= 2) {
    uint32_t lanes = (uint32_t)(((uint64_t)1 << step) - 1);
    LLVMValueRef first = LLVMBuildXor(cg->b, own, roc_cg_i32(cg, step), "");
    first = LLVMBuildAnd(cg->b, first, roc_cg_i32(cg, ~(step - 1)), "");
    LLVMValueRef half = LLVMBuildLShr(cg->b, live, first, "");
    half = LLVMBuildAnd(cg->b, half, roc_cg_i32(cg, lanes), "");
    LLVMValueRef from = LLVMBuildAdd(cg->b, first, count_zeros(cg, "llvm.cttz", half), "");
    LLVMValueRef moved = take_from(cg, value, from);
    LLVMValueRef other = select_of(cg, is_zero(cg, half), nothing, moved);
    value = combine_halves(cg, op, step, value, other);
  }
  return value;
}

static LLVMValueRef reduce(roc_cg *cg, roc_ir_wave op, LLVMValueRef value) {
  LLVMValueRef live = live_lanes(cg), results[2];
  LLVMBasicBlockRef ends[2], full = roc_cg_block(cg, "wave.full");
  LLVMBasicBlockRef some = roc_cg_block(cg, "wave.some"), done = roc_cg_block(cg, "wave.done");
  LLVMValueRef is_full = LLVMBuildICmp(cg->b, LLVMIntEQ, live, all_lanes(cg), "");
  roc_cg_branch_likely(cg, is_full, full, some);
  roc_cg_at(cg, full);
  results[0] = reduce_full(cg, op, value);
  ends[0] = LLVMGetInsertBlock(cg->b);
  LLVMBuildBr(cg->b, done);
  roc_cg_at(cg, some);
  results[1] = reduce_live(cg, op, value, live);
  ends[1] = LLVMGetInsertBlock(cg->b);
  LLVMBuildBr(cg->b, done);
  roc_cg_at(cg, done);
  LLVMValueRef result = LLVMBuildPhi(cg->b, LLVMTypeOf(value), "");
  LLVMAddIncoming(result, results, ends, 2);
  return result;
}

LLVMValueRef roc_nvptx_wave(roc_cg *cg, const roc_ir_inst *inst, LLVMValueRef *args) {
  roc_ir_wave op = (roc_ir_wave)inst->k.i;
  switch (op) {
    case ROC_IR_WAVE_BALLOT: return LLVMBuildZExt(cg->b, ballot(cg, args[0]), cg->t.i64, "");
    case ROC_IR_WAVE_ANY: return vote(cg, "llvm.nvvm.vote.any.sync", args[0]);
    case ROC_IR_WAVE_ALL: return vote(cg, "llvm.nvvm.vote.all.sync", args[0]);
    case ROC_IR_WAVE_SUM:
    case ROC_IR_WAVE_MIN:
    case ROC_IR_WAVE_MAX: return reduce(cg, op, args[0]);
    case ROC_IR_WAVE_PERMUTE: return push(cg, args[0], args[1]);
    case ROC_IR_WAVE_BPERMUTE: return pull(cg, args[0], args[1]);
    case ROC_IR_WAVE_ACTIVE_PERMUTE: {
      LLVMValueRef moved = shuffle(cg, ROC_IR_WAVE_SHUFFLE, args[0], args[1]);
      return select_of(cg, args[3], args[2], moved);
    }
    default: return shuffle(cg, op, args[0], args[1]);
  }
}
