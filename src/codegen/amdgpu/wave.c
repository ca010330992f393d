/* Barriers, fences and wave operations of the AMDGPU target.
 *
 * Values cross lanes in pieces of 32 bits. Lanes count from 0 here. Reductions are the same tree as
 * on every device, so that sums of floats agree bit for bit. */
#include <string.h>

#include "codegen/core/wave_reduce.h"
#include "codegen/amdgpu/amdgpu.h"

enum { SCOPE_LOCAL = 1, SCOPE_GLOBAL = 2 };

/* ---- fences ------------------------------------------------------------------------------ */

/* Tells that only accesses of one address space need ordering: the others' counters are not waited
 * for. */
static void restrict_fence(roc_cg *cg, LLVMValueRef fence, const char *space) {
  static const char key[] = "amdgpu-synchronize-as";
  LLVMMetadataRef pair[2] = {LLVMMDStringInContext2(cg->ctx, key, sizeof key - 1),
                             LLVMMDStringInContext2(cg->ctx, space, strlen(space))};
  LLVMMetadataRef node = LLVMMDNodeInContext2(cg->ctx, pair, 2);
  LLVMSetMetadata(fence, LLVMGetMDKindIDInContext(cg->ctx, "mmra", 4),
                  LLVMMetadataAsValue(cg->ctx, node));
}

static void build_fence(roc_cg *cg, LLVMAtomicOrdering ordering, const char *sync, int64_t memory) {
  unsigned scope = LLVMGetSyncScopeID(cg->ctx, sync, strlen(sync));
  LLVMValueRef fence = LLVMBuildFenceSyncScope(cg->b, ordering, scope, "");
  if (memory == SCOPE_LOCAL) restrict_fence(cg, fence, "local");
  if (memory == SCOPE_GLOBAL) restrict_fence(cg, fence, "global");
}

/* For ROC_QUIRK_RELEASE_WAIT. */
static void wait_for_stores(roc_cg *cg) {
  enum { VMCNT_0_ONLY = 0x0f70 };
  uint32_t version = roc_amdgpu_state_of(cg)->chip->isa_version;
  LLVMValueRef counters = roc_cg_i32(cg, VMCNT_0_ONLY);
  if (version < 9400 || version >= 10000) return;
  if (!roc_quirk_is_on(cg->options->quirks_off, ROC_QUIRK_RELEASE_WAIT)) return;
  roc_cg_intrinsic(cg, "llvm.amdgcn.s.waitcnt", NULL, 0, &counters, 1);
}

void roc_amdgpu_fence(roc_cg *cg, int64_t scope) {
  bool is_local = scope == SCOPE_LOCAL;
  build_fence(cg, LLVMAtomicOrderingAcquireRelease, is_local ? "workgroup" : "agent", scope);
  if (!is_local) wait_for_stores(cg);
}

void roc_amdgpu_barrier(roc_cg *cg, const roc_ir_inst *inst) {
  bool is_wave = inst->op == ROC_IR_WAVE_BARRIER;
  const char *sync = is_wave ? "wavefront" : "workgroup";
  int64_t memory = is_wave ? SCOPE_LOCAL | SCOPE_GLOBAL : inst->k.i;
  build_fence(cg, LLVMAtomicOrderingRelease, sync, memory);
  roc_cg_intrinsic(cg, is_wave ? "llvm.amdgcn.wave.barrier" : "llvm.amdgcn.s.barrier", NULL, 0,
                   NULL, 0);
  build_fence(cg, LLVMAtomicOrderingAcquire, sync, memory);
}

/* ---- lanes ------------------------------------------------------------------------------- */

static uint32_t wave_size(roc_cg *cg) {
  return roc_amdgpu_state_of(cg)->chip->wave_size;
}

/* How many of the lanes come before this one, i32. */
static LLVMValueRef count_before(roc_cg *cg, LLVMValueRef low_lanes, LLVMValueRef high_lanes) {
  LLVMValueRef args[2] = {low_lanes, roc_cg_i32(cg, 0)};
  LLVMValueRef count = roc_cg_intrinsic(cg, "llvm.amdgcn.mbcnt.lo", NULL, 0, args, 2);
  if (wave_size(cg) > 32) {
    args[0] = high_lanes;
    args[1] = count;
    count = roc_cg_intrinsic(cg, "llvm.amdgcn.mbcnt.hi", NULL, 0, args, 2);
  }
  roc_amdgpu_limit(cg, count, wave_size(cg));
  return count;
}

LLVMValueRef roc_amdgpu_lane(roc_cg *cg) {
  LLVMValueRef all = roc_cg_i32(cg, UINT32_MAX);
  return count_before(cg, all, all);
}

/* A lane's 32-bit piece to another, one way or the other. */
typedef LLVMValueRef move_piece(roc_cg *cg, LLVMValueRef piece, LLVMValueRef lane);

static LLVMValueRef move_by_address(roc_cg *cg, const char *name, LLVMValueRef piece,
                                    LLVMValueRef lane) {
  LLVMValueRef args[2] = {LLVMBuildShl(cg->b, lane, roc_cg_i32(cg, 2), ""), piece};
  return roc_cg_intrinsic(cg, name, NULL, 0, args, 2);
}

static LLVMValueRef read_lane(roc_cg *cg, LLVMValueRef piece, LLVMValueRef lane) {
  LLVMValueRef args[2] = {piece, lane};
  return roc_cg_intrinsic(cg, "llvm.amdgcn.readlane", &cg->t.i32, 1, args, 2);
}

static LLVMValueRef flag(roc_cg *cg, bool is_set) {
  return LLVMConstInt(cg->t.i1, is_set, 0);
}

/* i64; bit 0 is the first lane. */
static LLVMValueRef ballot(roc_cg *cg, LLVMValueRef value) {
  LLVMTypeRef type = wave_size(cg) == 32 ? cg->t.i32 : cg->t.i64;
  LLVMValueRef bits = roc_cg_intrinsic(cg, "llvm.amdgcn.ballot", &type, 1, &value, 1);
  return type == cg->t.i64 ? bits : LLVMBuildZExt(cg->b, bits, cg->t.i64, "");
}

static LLVMValueRef is_zero(roc_cg *cg, LLVMValueRef bits) {
  return LLVMBuildICmp(cg->b, LLVMIntEQ, bits, roc_cg_i64(cg, 0), "");
}

LLVMValueRef roc_amdgpu_holds_for_all(roc_cg *cg, LLVMValueRef condition) {
  LLVMValueRef lanes = ballot(cg, LLVMBuildNot(cg->b, condition, ""));
  return is_zero(cg, lanes);
}

LLVMValueRef roc_amdgpu_wave_diverges(roc_cg *cg, LLVMValueRef condition) {
  LLVMValueRef yes = ballot(cg, condition);
  LLVMValueRef no = ballot(cg, LLVMBuildNot(cg->b, condition, ""));
  LLVMValueRef has_yes = LLVMBuildNot(cg->b, is_zero(cg, yes), "");
  return LLVMBuildAnd(cg->b, has_yes, LLVMBuildNot(cg->b, is_zero(cg, no), ""), "");
}

static LLVMValueRef say(roc_cg *cg, LLVMValueRef cell, LLVMValueRef value) {
  LLVMValueRef access =
      value ? LLVMBuildStore(cg->b, value, cell) : LLVMBuildLoad2(cg->b, cg->t.i32, cell, "");
  LLVMSetOrdering(access, LLVMAtomicOrderingMonotonic);
  LLVMSetAtomicSyncScopeID(access, LLVMGetSyncScopeID(cg->ctx, "workgroup", 9));
  return access;
}

/* Each wavefront writes its value and reads, after a barrier, the value that was written last:
 * where values differ, some wavefront reads another's. Two cells take turns: a wavefront that
 * writes the next one has read the one before. */
LLVMValueRef roc_amdgpu_group_parts(roc_cg *cg, LLVMValueRef condition) {
  roc_amdgpu_state *state = roc_amdgpu_state_of(cg);
  if (!state->agreed) return NULL;
  LLVMValueRef at = LLVMBuildLoad2(cg->b, cg->t.i32, state->agreed_at, "");
  LLVMValueRef next = LLVMBuildXor(cg->b, at, roc_cg_i32(cg, 4), "");
  LLVMBuildStore(cg->b, next, state->agreed_at);
  LLVMValueRef cell = LLVMBuildInBoundsGEP2(cg->b, cg->t.i8, state->agreed, &at, 1, "");
  LLVMValueRef own = LLVMBuildZExt(cg->b, condition, cg->t.i32, "");
  say(cg, cell, own);
  build_fence(cg, LLVMAtomicOrderingRelease, "workgroup", SCOPE_LOCAL);
  roc_cg_intrinsic(cg, "llvm.amdgcn.s.barrier", NULL, 0, NULL, 0);
  build_fence(cg, LLVMAtomicOrderingAcquire, "workgroup", SCOPE_LOCAL);
  return LLVMBuildICmp(cg->b, LLVMIntNE, say(cg, cell, NULL), own, "");
}

/* LLVM would do the same for an atomic at an address that all items share, and more: each of them
 * would learn what it had found there. So the address is opaque to it. */
LLVMValueRef roc_amdgpu_elect_lane(roc_cg *cg, LLVMValueRef *record, LLVMValueRef *out_count) {
  LLVMValueRef lanes = ballot(cg, flag(cg, true));
  LLVMValueRef low = LLVMBuildTrunc(cg->b, lanes, cg->t.i32, "");
  LLVMValueRef above = LLVMBuildLShr(cg->b, lanes, roc_cg_i64(cg, 32), "");
  LLVMValueRef high = LLVMBuildTrunc(cg->b, above, cg->t.i32, "");
  LLVMValueRef count = roc_cg_intrinsic(cg, "llvm.ctpop", &cg->t.i64, 1, &lanes, 1);
  *out_count = LLVMBuildTrunc(cg->b, count, cg->t.i32, "");
  *record = roc_amdgpu_opaque(cg, cg->b, *record);
  return LLVMBuildICmp(cg->b, LLVMIntEQ, count_before(cg, low, high), roc_cg_i32(cg, 0), "");
}

static LLVMValueRef first_lane(roc_cg *cg, LLVMValueRef lanes) {
  LLVMValueRef args[2] = {lanes, LLVMConstInt(cg->t.i1, 1, 0)};
  LLVMValueRef lane = roc_cg_intrinsic(cg, "llvm.cttz", &cg->t.i64, 1, args, 2);
  return LLVMBuildTrunc(cg->b, lane, cg->t.i32, "");
}

static LLVMValueRef without_first(roc_cg *cg, LLVMValueRef lanes) {
  LLVMValueRef less = LLVMBuildSub(cg->b, lanes, roc_cg_i64(cg, 1), "");
  return LLVMBuildAnd(cg->b, lanes, less, "");
}

/* From gfx10 on a wavefront of 64 is two halves for ds_permute and ds_bpermute. */
static bool is_in_halves(roc_cg *cg) {
  return wave_size(cg) == 64 && roc_amdgpu_state_of(cg)->chip->isa_version >= 10000;
}

/* A loop over live lanes: what is left to do and what has come of it. */
typedef struct lane_loop {
  LLVMBasicBlockRef before, body, done;
  LLVMValueRef left, result;
} lane_loop;

static lane_loop open_lane_loop(roc_cg *cg) {
  LLVMValueRef all = ballot(cg, flag(cg, true)), zero = roc_cg_i32(cg, 0);
  lane_loop loop = {.before = LLVMGetInsertBlock(cg->b), .body = roc_cg_block(cg, "lanes")};
  loop.done = roc_cg_block(cg, "lanes.done");
  LLVMBuildBr(cg->b, loop.body);
  roc_cg_at(cg, loop.body);
  loop.left = LLVMBuildPhi(cg->b, cg->t.i64, "");
  loop.result = LLVMBuildPhi(cg->b, cg->t.i32, "");
  LLVMAddIncoming(loop.left, &all, &loop.before, 1);
  LLVMAddIncoming(loop.result, &zero, &loop.before, 1);
  return loop;
}

static LLVMValueRef close_lane_loop(roc_cg *cg, const lane_loop *loop, LLVMValueRef left,
                                    LLVMValueRef result) {
  LLVMBasicBlockRef end = LLVMGetInsertBlock(cg->b);
  LLVMBuildCondBr(cg->b, is_zero(cg, left), loop->done, loop->body);
  LLVMAddIncoming(loop->left, &left, &end, 1);
  LLVMAddIncoming(loop->result, &result, &end, 1);
  roc_cg_at(cg, loop->done);
  return result;
}

/* One round per lane that is read from. */
static LLVMValueRef pull_across(roc_cg *cg, LLVMValueRef piece, LLVMValueRef lane) {
  lane_loop loop = open_lane_loop(cg);
  LLVMValueRef source = read_lane(cg, lane, first_lane(cg, loop.left));
  LLVMValueRef value = read_lane(cg, piece, source);
  LLVMValueRef is_mine = LLVMBuildICmp(cg->b, LLVMIntEQ, lane, source, "");
  LLVMValueRef result = LLVMBuildSelect(cg->b, is_mine, value, loop.result, "");
  LLVMValueRef others = LLVMBuildNot(cg->b, ballot(cg, is_mine), "");
  return close_lane_loop(cg, &loop, LLVMBuildAnd(cg->b, loop.left, others, ""), result);
}

/* One round per live lane, from the first to the last, which so wins. */
static LLVMValueRef push_across(roc_cg *cg, LLVMValueRef piece, LLVMValueRef lane) {
  lane_loop loop = open_lane_loop(cg);
  LLVMValueRef from = first_lane(cg, loop.left);
  LLVMValueRef value = read_lane(cg, piece, from), to = read_lane(cg, lane, from);
  LLVMValueRef is_mine = LLVMBuildICmp(cg->b, LLVMIntEQ, roc_amdgpu_lane(cg), to, "");
  LLVMValueRef result = LLVMBuildSelect(cg->b, is_mine, value, loop.result, "");
  return close_lane_loop(cg, &loop, without_first(cg, loop.left), result);
}

static LLVMValueRef pull(roc_cg *cg, LLVMValueRef piece, LLVMValueRef lane) {
  if (is_in_halves(cg)) return pull_across(cg, piece, lane);
  return move_by_address(cg, "llvm.amdgcn.ds.bpermute", piece, lane);
}

/* What all push to one lane differs by lane, which LLVM does not know (ROC_QUIRK_UNIFORM_PUSH). */
static LLVMValueRef push(roc_cg *cg, LLVMValueRef piece, LLVMValueRef lane) {
  if (is_in_halves(cg)) return push_across(cg, piece, lane);
  bool is_on = roc_quirk_is_on(cg->options->quirks_off, ROC_QUIRK_UNIFORM_PUSH);
  if (is_on) lane = roc_amdgpu_opaque(cg, cg->b, lane);
  return move_by_address(cg, "llvm.amdgcn.ds.permute", piece, lane);
}

static LLVMValueRef move_wide(roc_cg *cg, LLVMValueRef bits, LLVMValueRef lane, move_piece *move) {
  LLVMValueRef shift = roc_cg_i64(cg, 32);
  LLVMValueRef low = move(cg, LLVMBuildTrunc(cg->b, bits, cg->t.i32, ""), lane);
  LLVMValueRef upper = LLVMBuildLShr(cg->b, bits, shift, "");
  LLVMValueRef high = move(cg, LLVMBuildTrunc(cg->b, upper, cg->t.i32, ""), lane);
  LLVMValueRef wide = LLVMBuildShl(cg->b, LLVMBuildZExt(cg->b, high, cg->t.i64, ""), shift, "");
  return LLVMBuildOr(cg->b, wide, LLVMBuildZExt(cg->b, low, cg->t.i64, ""), "");
}

/* A value of the kernel language to another lane. */
static LLVMValueRef move_value(roc_cg *cg, LLVMValueRef value, LLVMValueRef lane,
                               move_piece *move) {
  LLVMTypeRef type = LLVMTypeOf(value);
  if (type == cg->t.i1) {
    LLVMValueRef moved = move(cg, LLVMBuildZExt(cg->b, value, cg->t.i32, ""), lane);
    return LLVMBuildICmp(cg->b, LLVMIntNE, moved, roc_cg_i32(cg, 0), "");
  }
  bool is_wide = type == cg->t.i64 || type == cg->t.f64;
  LLVMValueRef bits = LLVMBuildBitCast(cg->b, value, is_wide ? cg->t.i64 : cg->t.i32, "");
  LLVMValueRef moved = is_wide ? move_wide(cg, bits, lane, move) : move(cg, bits, lane);
  return LLVMBuildBitCast(cg->b, moved, type, "");
}

/* ---- shuffles ---------------------------------------------------------------------------- */

/* Lanes up to the last live one, i64: those after it have no item, or one that has ended. */
static LLVMValueRef count_lanes(roc_cg *cg) {
  LLVMValueRef args[2] = {ballot(cg, flag(cg, true)), flag(cg, true)};
  LLVMValueRef unused = roc_cg_intrinsic(cg, "llvm.ctlz", &cg->t.i64, 1, args, 2);
  return LLVMBuildSub(cg->b, roc_cg_i64(cg, 64), unused, "");
}

/* `lane`, i64 from 0, where it is one of the wave's; else the own one. */
static LLVMValueRef lane_or_own(roc_cg *cg, LLVMValueRef lane) {
  LLVMValueRef is_lane = LLVMBuildICmp(cg->b, LLVMIntULT, lane, count_lanes(cg), "");
  LLVMValueRef narrow = LLVMBuildTrunc(cg->b, lane, cg->t.i32, "");
  return LLVMBuildSelect(cg->b, is_lane, narrow, roc_amdgpu_lane(cg), "");
}

/* `lane`, i64 from 0, modulo the width. */
static LLVMValueRef lane_modulo(roc_cg *cg, LLVMValueRef lane) {
  LLVMValueRef narrow = LLVMBuildTrunc(cg->b, lane, cg->t.i32, "");
  return LLVMBuildAnd(cg->b, narrow, roc_cg_i32(cg, wave_size(cg) - 1), "");
}

static LLVMValueRef from_1_to_0(roc_cg *cg, LLVMValueRef lane) {
  return LLVMBuildSub(cg->b, lane, roc_cg_i64(cg, 1), "");
}

static LLVMValueRef shuffle_source(roc_cg *cg, roc_ir_wave op, LLVMValueRef by) {
  LLVMValueRef own = LLVMBuildZExt(cg->b, roc_amdgpu_lane(cg), cg->t.i64, "");
  switch (op) {
    case ROC_IR_WAVE_SHUFFLE_UP: return LLVMBuildSub(cg->b, own, by, "");
    case ROC_IR_WAVE_SHUFFLE_DOWN: return LLVMBuildAdd(cg->b, own, by, "");
    case ROC_IR_WAVE_SHUFFLE_XOR: return LLVMBuildXor(cg->b, own, by, "");
    default: return from_1_to_0(cg, by);
  }
}

static LLVMValueRef shuffle(roc_cg *cg, roc_ir_wave op, LLVMValueRef value, LLVMValueRef by) {
  return move_value(cg, value, lane_or_own(cg, shuffle_source(cg, op, by)), pull);
}

/* ---- reductions ---------------------------------------------------------------------------- */

/* A tree over neighbours, then neighbouring pairs, … (ir.h), in the whole wavefront, where
 * lanes that are not live count as a value that changes nothing.  Its upper half of a pair has the
 * result.  Within a row of 16 lanes, and from row to row on gfx9, DPP moves; elsewhere permlane. */

enum { DPP_ROW_SHR = 0x110, DPP_ROW_BCAST15 = 0x142, DPP_ROW_BCAST31 = 0x143 };
enum { ALL_BANKS = 15, ALL_ROWS = 15, ODD_ROWS = 10, UPPER_ROWS = 12, ROW_LANES = 16 };

/* A reduction in progress. */
typedef struct reduction {
  roc_ir_wave op;
  LLVMValueRef value;
  LLVMValueRef nothing[2]; /* low and high piece, or the one */
  int control, rows;       /* of the move by DPP */
} reduction;

static LLVMValueRef leave_whole_wave(roc_cg *cg, LLVMValueRef bits) {
  LLVMTypeRef type = LLVMTypeOf(bits);
  return roc_cg_intrinsic(cg, "llvm.amdgcn.strict.wwm", &type, 1, &bits, 1);
}

static LLVMTypeRef bits_of(roc_cg *cg, LLVMTypeRef type) {
  return type == cg->t.i64 || type == cg->t.f64 ? cg->t.i64 : cg->t.i32;
}

static LLVMValueRef piece_of(roc_cg *cg, LLVMValueRef bits, uint32_t n) {
  if (LLVMTypeOf(bits) == cg->t.i32) return bits;
  LLVMValueRef pieces = LLVMBuildBitCast(cg->b, bits, LLVMVectorType(cg->t.i32, 2), "");
  return LLVMBuildExtractElement(cg->b, pieces, roc_cg_i32(cg, n), "");
}

/* By way of a vector, which takes no constant: see opaque_identity. */
static LLVMValueRef join_pieces(roc_cg *cg, LLVMValueRef low, LLVMValueRef high) {
  LLVMValueRef pieces = LLVMGetPoison(LLVMVectorType(cg->t.i32, 2));
  pieces = LLVMBuildInsertElement(cg->b, pieces, low, roc_cg_i32(cg, 0), "");
  pieces = LLVMBuildInsertElement(cg->b, pieces, high, roc_cg_i32(cg, 1), "");
  return LLVMBuildBitCast(cg->b, pieces, cg->t.i64, "");
}

/* In scalar registers that nothing else has (ROC_QUIRK_WHOLE_WAVE_CONSTANT): LLVM would give one
 * vector register to equal constants inside and outside of the whole wavefront's instructions, and
 * to what a constant outside becomes a part of. Then the instructions inside overwrite that in
 * lanes that are not live. */
static void opaque_identity(roc_cg *cg, reduction *r, LLVMValueRef bits) {
  bool is_on = roc_quirk_is_on(cg->options->quirks_off, ROC_QUIRK_WHOLE_WAVE_CONSTANT);
  for (uint32_t n = 0; n < (LLVMTypeOf(bits) == cg->t.i32 ? 1 : 2); n++) {
    LLVMValueRef piece = piece_of(cg, bits, n);
    r->nothing[n] = is_on ? roc_amdgpu_opaque_scalar(cg->b, piece) : piece;
  }
}

/* The value by way of empty assembly, so that it is made before the instructions for which EXEC is
 * the whole wavefront (ROC_QUIRK_WHOLE_WAVE_BALLOT): a ballot reads EXEC. */
static LLVMValueRef make_before(roc_cg *cg, LLVMValueRef bits) {
  if (!roc_quirk_is_on(cg->options->quirks_off, ROC_QUIRK_WHOLE_WAVE_BALLOT)) return bits;
  LLVMTypeRef type = LLVMTypeOf(bits), same = LLVMFunctionType(type, &type, 1, 0);
  LLVMValueRef made = LLVMGetInlineAsm(same, "", 0, "=v,0", 4, 1, 0, LLVMInlineAsmDialectATT, 0);
  return LLVMBuildCall2(cg->b, same, made, &bits, 1, "");
}

static LLVMValueRef enter_whole_wave(roc_cg *cg, const reduction *r, LLVMValueRef bits) {
  LLVMTypeRef type = LLVMTypeOf(bits);
  bool is_one = type == cg->t.i32;
  LLVMValueRef nothing = is_one ? r->nothing[0] : join_pieces(cg, r->nothing[0], r->nothing[1]);
  LLVMValueRef args[2] = {make_before(cg, bits), nothing};
  return roc_cg_intrinsic(cg, "llvm.amdgcn.set.inactive", &type, 1, args, 2);
}

static LLVMValueRef move_by_dpp(roc_cg *cg, const reduction *r, LLVMValueRef piece,
                                LLVMValueRef nothing) {
  LLVMValueRef args[6] = {nothing,
                          piece,
                          roc_cg_i32(cg, (uint32_t)r->control),
                          roc_cg_i32(cg, (uint32_t)r->rows),
                          roc_cg_i32(cg, ALL_BANKS),
                          flag(cg, false)};
  return roc_cg_intrinsic(cg, "llvm.amdgcn.update.dpp", &cg->t.i32, 1, args, 6);
}

/* The last lane of the other row of 16. */
static LLVMValueRef move_by_permlane(roc_cg *cg, const reduction *r, LLVMValueRef piece,
                                     LLVMValueRef nothing) {
  LLVMValueRef last = roc_cg_i32(cg, UINT32_MAX);
  LLVMValueRef args[6] = {piece, piece, last, last, flag(cg, false), flag(cg, false)};
  (void)r, (void)nothing;
  return roc_cg_intrinsic(cg, "llvm.amdgcn.permlanex16", &cg->t.i32, 1, args, 6);
}

typedef LLVMValueRef move_row(roc_cg *cg, const reduction *r, LLVMValueRef piece,
                              LLVMValueRef nothing);

/* Each lane's value with, before it, the one that `move` brings. */
static void combine_moved(roc_cg *cg, reduction *r, move_row *move) {
  LLVMTypeRef type = LLVMTypeOf(r->value), bits_type = bits_of(cg, type);
  LLVMValueRef bits = LLVMBuildBitCast(cg->b, r->value, bits_type, "");
  LLVMValueRef moved = move(cg, r, piece_of(cg, bits, 0), r->nothing[0]);
  if (bits_type == cg->t.i64) {
    moved = join_pieces(cg, moved, move(cg, r, piece_of(cg, bits, 1), r->nothing[1]));
  }
  r->value = roc_cg_wave_combine(cg, r->op, LLVMBuildBitCast(cg->b, moved, type, ""), r->value);
}

static void combine_by_dpp(roc_cg *cg, reduction *r, int control, int rows) {
  r->control = control;
  r->rows = rows;
  combine_moved(cg, r, move_by_dpp);
}

static LLVMValueRef value_of_lane(roc_cg *cg, const reduction *r, uint32_t lane) {
  return move_value(cg, r->value, roc_cg_i32(cg, lane), read_lane);
}

static LLVMValueRef reduce(roc_cg *cg, roc_ir_wave op, LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value), bits_type = bits_of(cg, type);
  reduction r = {.op = op};
  opaque_identity(cg, &r, LLVMConstBitCast(roc_cg_wave_neutral(op, type), bits_type));
  LLVMValueRef bits = enter_whole_wave(cg, &r, LLVMBuildBitCast(cg->b, value, bits_type, ""));
  r.value = LLVMBuildBitCast(cg->b, bits, type, "");
  for (int lanes = 1; lanes < ROW_LANES; lanes *= 2) {
    combine_by_dpp(cg, &r, DPP_ROW_SHR | lanes, ALL_ROWS);
  }
  bool has_permlane = roc_amdgpu_state_of(cg)->chip->isa_version >= 10000;
  if (has_permlane) {
    combine_moved(cg, &r, move_by_permlane);
  } else {
    combine_by_dpp(cg, &r, DPP_ROW_BCAST15, ODD_ROWS);
    combine_by_dpp(cg, &r, DPP_ROW_BCAST31, UPPER_ROWS);
  }
  uint32_t width = wave_size(cg);
  LLVMValueRef result = value_of_lane(cg, &r, width - 1);
  if (has_permlane && width == 64) {
    result = roc_cg_wave_combine(cg, op, value_of_lane(cg, &r, width / 2 - 1), result);
  }
  bits = leave_whole_wave(cg, LLVMBuildBitCast(cg->b, result, bits_type, ""));
  return LLVMBuildBitCast(cg->b, bits, type, "");
}

LLVMValueRef roc_amdgpu_wave(roc_cg *cg, const roc_ir_inst *inst, LLVMValueRef *args) {
  roc_ir_wave op = (roc_ir_wave)inst->k.i;
  switch (op) {
    case ROC_IR_WAVE_BALLOT: return ballot(cg, args[0]);
    case ROC_IR_WAVE_ANY: return LLVMBuildNot(cg->b, is_zero(cg, ballot(cg, args[0])), "");
    case ROC_IR_WAVE_ALL: return is_zero(cg, ballot(cg, LLVMBuildNot(cg->b, args[0], "")));
    case ROC_IR_WAVE_SUM:
    case ROC_IR_WAVE_MIN:
    case ROC_IR_WAVE_MAX: return reduce(cg, op, args[0]);
    case ROC_IR_WAVE_PERMUTE:
      return move_value(cg, args[1], lane_modulo(cg, from_1_to_0(cg, args[0])), push);
    case ROC_IR_WAVE_BPERMUTE: {
      LLVMValueRef lane = lane_modulo(cg, from_1_to_0(cg, args[0]));
      lane = lane_or_own(cg, LLVMBuildZExt(cg->b, lane, cg->t.i64, ""));
      return move_value(cg, args[1], lane, pull);
    }
    case ROC_IR_WAVE_ACTIVE_PERMUTE: {
      LLVMValueRef moved = shuffle(cg, ROC_IR_WAVE_SHUFFLE, args[0], args[1]);
      return LLVMBuildSelect(cg->b, args[3], args[2], moved, "");
    }
    default: return shuffle(cg, op, args[0], args[1]);
  }
}

/* For every work-item of the wavefront. Convergent, so that LLVM lets all come to it first. As a
 * call with side effects it follows all stores; to say that it clobbers memory, too, would have
 * LLVM look that word up among the names of all registers, a fifth of a small compile. */
void roc_amdgpu_end_wave(roc_cg *cg) {
  static const char *const attributes[] = {"convergent", "noduplicate", "nounwind"};
  static const char code[] = "s_endpgm";
  LLVMTypeRef type = LLVMFunctionType(cg->t.none, NULL, 0, 0);
  LLVMValueRef end =
      LLVMGetInlineAsm(type, code, sizeof code - 1, "", 0, 1, 0, LLVMInlineAsmDialectATT, 0);
  LLVMValueRef call = LLVMBuildCall2(cg->b, type, end, NULL, 0, "");
  for (int i = 0; i < 3; i++) {
    unsigned kind = LLVMGetEnumAttributeKindForName(attributes[i], strlen(attributes[i]));
    LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex,
                             LLVMCreateEnumAttribute(cg->ctx, kind, 0));
  }
}
