/* The begin of a kernel: which group its block is, and which of its work-items there are.
 *
 * A GPU launches whole blocks, at most 65535 of them in y and z (base/nvptx_abi.h). A launch whose
 * groups are all full and not folded has no flags, and a kernel goes straight to its body then.
 *
 * Blocks begin in the order of their numbers on every GPU there is, but no document promises it. So
 * a kernel that waits for lower groups, in a loop with an atomic load, takes its block's number
 * from a counter of the launch. The last block sets it back to 0. */
#include <stddef.h>
#include <stdio.h>

#include "codegen/nvptx/nvptx.h"

static LLVMValueRef read_dim(roc_cg *cg, const char *name, unsigned dim) {
  char full[32];
  snprintf(full, sizeof full, "%s.%c", name, "xyz"[dim]);
  return roc_nvptx_read_register(cg, full);
}

static LLVMValueRef hidden_dim(roc_cg *cg, size_t offset, unsigned dim) {
  return roc_nvptx_hidden_field(cg, offset + 4 * dim);
}

/* ---- the block --------------------------------------------------------------------------- */

static bool waits_in(const roc_cg *cg, uint32_t region, bool in_loop) {
  const roc_ir_ids *ids = &cg->ir->regions.items[region];
  for (uint32_t i = 0; i < ids->count; i++) {
    const roc_ir_inst *inst = &cg->ir->insts.items[ids->items[i]];
    bool is_load = inst->op == ROC_IR_ATOMIC && inst->k.i == ROC_IR_ATOMIC_LOAD;
    if (is_load && in_loop && !roc_cg_is_shared(cg, inst->aux)) return true;
    bool is_loop = inst->op == ROC_IR_LOOP || inst->op == ROC_IR_FOR;
    for (uint32_t n = 0; n < roc_ir_region_count(inst); n++) {
      if (waits_in(cg, inst->k.region[n], in_loop || is_loop)) return true;
    }
  }
  return false;
}

bool roc_nvptx_counts_groups(const roc_cg *cg) {
  return waits_in(cg, 0, false);
}

static LLVMValueRef is_first_item(roc_cg *cg) {
  LLVMValueRef ids = read_dim(cg, "tid", 0);
  for (unsigned d = 1; d < 3; d++) ids = LLVMBuildOr(cg->b, ids, read_dim(cg, "tid", d), "");
  return LLVMBuildICmp(cg->b, LLVMIntEQ, ids, roc_cg_i32(cg, 0), "");
}

/* uinc_wrap: back to 0 after the last block. */
static void take_number(roc_cg *cg, LLVMValueRef cell, LLVMValueRef const sizes[3]) {
  LLVMTypeRef global = LLVMPointerTypeInContext(cg->ctx, cg->target->global_space);
  LLVMValueRef address = roc_nvptx_hidden_field(cg, offsetof(roc_nvptx_hidden, counter));
  LLVMValueRef counter = LLVMBuildIntToPtr(cg->b, address, global, "");
  LLVMValueRef blocks =
      LLVMBuildMul(cg->b, LLVMBuildMul(cg->b, sizes[0], sizes[1], ""), sizes[2], "");
  LLVMValueRef last = LLVMBuildSub(cg->b, blocks, roc_cg_i32(cg, 1), "");
  const char *scope = cg->target->device_scope;
  LLVMValueRef number = LLVMBuildAtomicRMWSyncScope(
      cg->b, LLVMAtomicRMWBinOpUIncWrap, counter, last, LLVMAtomicOrderingMonotonic,
      LLVMGetSyncScopeID(cg->ctx, scope, __builtin_strlen(scope)));
  LLVMBuildStore(cg->b, number, cell);
}

/* The coordinates of the block with the number that the group takes. */
static void count_block(roc_cg *cg) {
  roc_nvptx_state *state = roc_nvptx_state_of(cg);
  LLVMValueRef cell = roc_nvptx_shared_cell(cg), sizes[3];
  LLVMBasicBlockRef first = roc_cg_block(cg, "first"), all = roc_cg_block(cg, "all");
  for (unsigned d = 0; d < 3; d++) sizes[d] = read_dim(cg, "nctaid", d);
  LLVMBuildCondBr(cg->b, is_first_item(cg), first, all);
  roc_cg_at(cg, first);
  take_number(cg, cell, sizes);
  LLVMBuildBr(cg->b, all);
  roc_cg_at(cg, all);
  roc_nvptx_meet(cg);
  LLVMValueRef number = LLVMBuildLoad2(cg->b, cg->t.i32, cell, "");
  LLVMValueRef rest = LLVMBuildUDiv(cg->b, number, sizes[0], "");
  state->block[0] = LLVMBuildURem(cg->b, number, sizes[0], "");
  state->block[1] = LLVMBuildURem(cg->b, rest, sizes[1], "");
  state->block[2] = LLVMBuildUDiv(cg->b, rest, sizes[1], "");
}

static LLVMValueRef block_id(roc_cg *cg, unsigned dim) {
  LLVMValueRef taken = roc_nvptx_state_of(cg)->block[dim];
  return taken ? taken : read_dim(cg, "ctaid", dim);
}

/* ---- the group --------------------------------------------------------------------------- */

LLVMValueRef roc_nvptx_has_flag(roc_cg *cg, uint32_t flag) {
  LLVMValueRef flags = roc_nvptx_hidden_field(cg, offsetof(roc_nvptx_hidden, flags));
  LLVMValueRef bit = LLVMBuildAnd(cg->b, flags, roc_cg_i32(cg, flag), "");
  return LLVMBuildICmp(cg->b, LLVMIntNE, bit, roc_cg_i32(cg, 0), "");
}

/* Of a folded launch. */
static LLVMValueRef folded_id(roc_cg *cg, unsigned dim) {
  LLVMValueRef rows = LLVMBuildMul(cg->b, block_id(cg, 2), read_dim(cg, "nctaid", 1), "");
  LLVMValueRef number = LLVMBuildAdd(cg->b, rows, block_id(cg, 1), "");
  LLVMValueRef groups = hidden_dim(cg, offsetof(roc_nvptx_hidden, groups), 1);
  return LLVMBuildBinOp(cg->b, dim == 1 ? LLVMURem : LLVMUDiv, number, groups, "");
}

LLVMValueRef roc_nvptx_group_id(roc_cg *cg, unsigned dim) {
  LLVMValueRef known = roc_nvptx_state_of(cg)->group[dim];
  if (known) return known;
  LLVMValueRef plain = block_id(cg, dim);
  if (dim == 0) return plain;
  LLVMValueRef is_folded = roc_nvptx_has_flag(cg, ROC_NVPTX_FOLDED);
  return LLVMBuildSelect(cg->b, is_folded, folded_id(cg, dim), plain, "");
}

/* Times the work-items of a thread. */
static LLVMValueRef in_items(roc_cg *cg, LLVMValueRef threads, unsigned dim) {
  const roc_nvptx_coarse *coarse = roc_nvptx_state_of(cg)->coarse;
  return coarse && dim == 0 ? LLVMBuildNUWMul(cg->b, threads, coarse->per_thread, "") : threads;
}

static LLVMValueRef item_of(roc_cg *cg, LLVMValueRef thread, unsigned dim) {
  const roc_nvptx_coarse *coarse = roc_nvptx_state_of(cg)->coarse;
  LLVMValueRef first = in_items(cg, thread, dim);
  return coarse && dim == 0 ? LLVMBuildNUWAdd(cg->b, first, coarse->item, "") : first;
}

LLVMValueRef roc_nvptx_local_id(roc_cg *cg, unsigned dim) {
  return item_of(cg, read_dim(cg, "tid", dim), dim);
}

LLVMValueRef roc_nvptx_local_size(roc_cg *cg, unsigned dim) {
  return in_items(cg, read_dim(cg, "ntid", dim), dim);
}

/* A grid has fewer than 2^32 items in a dimension, so 32 bits hold the id. */
LLVMValueRef roc_nvptx_global_id(roc_cg *cg, unsigned dim) {
  LLVMValueRef size = read_dim(cg, "ntid", dim), thread = read_dim(cg, "tid", dim);
  LLVMValueRef begin = LLVMBuildNUWMul(cg->b, roc_nvptx_group_id(cg, dim), size, "");
  return item_of(cg, LLVMBuildNUWAdd(cg->b, begin, thread, ""), dim);
}

/* Whether the kernel asks for ids of the dimension; fault records, which also do, compute them. */
static bool uses_dim(const roc_cg *cg, unsigned dim) {
  for (uint32_t i = 0; i < cg->ir->insts.count; i++) {
    const roc_ir_inst *inst = &cg->ir->insts.items[i];
    bool is_id = inst->op == ROC_IR_GLOBAL_ID || inst->op == ROC_IR_GROUP_ID;
    if (is_id && inst->aux == dim) return true;
  }
  return false;
}

/* The ids of y and z as they come from several places. */
typedef struct ids_phi {
  LLVMValueRef ids[3]; /* [0] is not used */
} ids_phi;

static ids_phi begin_ids(roc_cg *cg) {
  ids_phi phi = {{NULL, NULL, NULL}};
  for (unsigned d = 1; d < 3; d++) phi.ids[d] = LLVMBuildPhi(cg->b, cg->t.i32, "");
  return phi;
}

static void add_ids(ids_phi *phi, LLVMValueRef const ids[3], LLVMBasicBlockRef from) {
  for (unsigned d = 1; d < 3; d++) {
    LLVMValueRef id = ids[d];
    LLVMAddIncoming(phi->ids[d], &id, &from, 1);
  }
}

/* Whether the grid has the work-item, the first one of a thread that has several. */
static LLVMValueRef is_in_grid(roc_cg *cg, LLVMValueRef const groups[3]) {
  LLVMValueRef result = LLVMConstInt(cg->t.i1, 1, 0);
  for (unsigned d = 0; d < 3; d++) {
    LLVMValueRef local = LLVMBuildZExt(cg->b, roc_nvptx_local_size(cg, d), cg->t.i64, "");
    LLVMValueRef group = LLVMBuildZExt(cg->b, groups[d], cg->t.i64, "");
    LLVMValueRef item = LLVMBuildZExt(cg->b, roc_nvptx_local_id(cg, d), cg->t.i64, "");
    LLVMValueRef id = LLVMBuildAdd(cg->b, LLVMBuildMul(cg->b, group, local, ""), item, "");
    LLVMValueRef grid = hidden_dim(cg, offsetof(roc_nvptx_hidden, grid), d);
    LLVMValueRef end = LLVMBuildZExt(cg->b, grid, cg->t.i64, "");
    result = LLVMBuildAnd(cg->b, result, LLVMBuildICmp(cg->b, LLVMIntULT, id, end, ""), "");
  }
  return result;
}

/* start -> body, or start -> unusual (-> folded) -> partial -> body or the exit. */
void roc_nvptx_begin(roc_cg *cg, LLVMBasicBlockRef body) {
  roc_nvptx_state *state = roc_nvptx_state_of(cg);
  if (state->counts_groups) count_block(cg);
  LLVMBasicBlockRef start = LLVMGetInsertBlock(cg->b), unusual = roc_cg_block(cg, "unusual");
  LLVMBasicBlockRef folded = roc_cg_block(cg, "folded"), partial = roc_cg_block(cg, "partial");
  LLVMValueRef plain[3], unfolded[3] = {NULL, NULL, NULL};
  for (unsigned d = 0; d < 3; d++) plain[d] = block_id(cg, d);
  LLVMValueRef flags = roc_nvptx_hidden_field(cg, offsetof(roc_nvptx_hidden, flags));
  if (state->coarse) flags = LLVMBuildAnd(cg->b, flags, roc_cg_i32(cg, ~ROC_NVPTX_COARSE), "");
  LLVMValueRef is_usual = LLVMBuildICmp(cg->b, LLVMIntEQ, flags, roc_cg_i32(cg, 0), "");
  roc_cg_branch_likely(cg, is_usual, body, unusual);
  roc_cg_at(cg, unusual);
  LLVMBuildCondBr(cg->b, roc_nvptx_has_flag(cg, ROC_NVPTX_FOLDED), folded, partial);
  roc_cg_at(cg, folded);
  for (unsigned d = 1; d < 3; d++) unfolded[d] = folded_id(cg, d);
  LLVMValueRef most = hidden_dim(cg, offsetof(roc_nvptx_hidden, groups), 2);
  LLVMValueRef is_group = LLVMBuildICmp(cg->b, LLVMIntULT, unfolded[2], most, "");
  LLVMBuildCondBr(cg->b, is_group, partial, cg->exit);
  roc_cg_at(cg, partial);
  ids_phi here = begin_ids(cg);
  add_ids(&here, plain, unusual);
  add_ids(&here, unfolded, folded);
  here.ids[0] = plain[0];
  LLVMBuildCondBr(cg->b, is_in_grid(cg, here.ids), body, cg->exit);
  roc_cg_at(cg, body);
  ids_phi ids = begin_ids(cg);
  add_ids(&ids, plain, start);
  add_ids(&ids, here.ids, partial);
  for (unsigned d = 1; d < 3; d++) {
    if (uses_dim(cg, d)) state->group[d] = ids.ids[d];
  }
}
