/* Constants of 64 bits that several phis take from one block.
 *
 * LLVM 22 makes such a constant once, in the kind of register that the first of these phis needs.  When
 * that is a vector register and another phi is the same for all work-items, it turns the copy between
 * the two into an s_mov_b64 of the constant, of which the instruction keeps 32 bits: of two variables
 * that begin as math.maxinteger one begins as 4294967295.  So those phis get a value that LLVM does
 * not know to be a constant, and that is the same for all work-items in any case. */
#include <llvm-c/DebugInfo.h>

#include "base/vec.h"
#include "codegen/amdgpu.h"

/* A phi's constant and where it comes from. */
typedef struct arrival {
  LLVMValueRef phi, constant; /* NULL: dealt with */
  LLVMBasicBlockRef from;
  unsigned incoming;
} arrival;

typedef roc_vec(arrival) arrival_list;

/* Whether the constant needs more than the 32 bits of a literal, which extend without a sign.  Some
 * that need no literal count as well. */
static bool is_long(const roc_cg *cg, LLVMValueRef value) {
  if (LLVMTypeOf(value) != cg->t.i64 && LLVMTypeOf(value) != cg->t.f64) return false;
  if (!LLVMIsAConstantFP(value) && !LLVMIsAConstantInt(value)) return false;
  uint64_t bits = LLVMConstIntGetZExtValue(LLVMConstBitCast(value, cg->t.i64));
  return bits > UINT32_MAX && bits != UINT64_MAX;
}

static bool list_phi(roc_cg *cg, LLVMValueRef phi, arrival_list *list) {
  for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
    LLVMValueRef value = LLVMGetIncomingValue(phi, i);
    if (!is_long(cg, value)) continue;
    arrival a = {phi, value, LLVMGetIncomingBlock(phi, i), i};
    if (!roc_vec_push(list, a)) return false;
  }
  return true;
}

static bool list_function(roc_cg *cg, LLVMValueRef fn, arrival_list *list) {
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b)) {
    LLVMValueRef inst = LLVMGetFirstInstruction(b);
    for (; inst && LLVMIsAPHINode(inst); inst = LLVMGetNextInstruction(inst)) {
      if (!list_phi(cg, inst, list)) return false;
    }
  }
  return true;
}

/* The constant, at the end of the block. */
static LLVMValueRef make_value(roc_cg *cg, LLVMBuilderRef b, const arrival *a) {
  LLVMTypeRef i32 = cg->t.i32, pair = LLVMVectorType(i32, 2);
  uint64_t bits = LLVMConstIntGetZExtValue(LLVMConstBitCast(a->constant, cg->t.i64));
  LLVMValueRef end = LLVMGetBasicBlockTerminator(a->from);
  LLVMPositionBuilderBefore(b, end);
  LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(end));
  LLVMValueRef low = LLVMConstInt(i32, (uint32_t)bits, 0), high = LLVMConstInt(i32, bits >> 32, 0);
  high = roc_amdgpu_hide_scalar(cg, b, high);
  LLVMValueRef value = LLVMBuildInsertElement(b, LLVMGetPoison(pair), low, roc_cg_i32(cg, 0), "");
  value = LLVMBuildInsertElement(b, value, high, roc_cg_i32(cg, 1), "");
  return LLVMBuildBitCast(b, value, LLVMTypeOf(a->constant), "");
}

/* All phis that take what the first one does from where it does. */
static void part(roc_cg *cg, LLVMBuilderRef b, arrival *first, arrival *end) {
  LLVMValueRef value = NULL, constant = first->constant;
  for (arrival *a = first + 1; a < end; a++) {
    if (a->from != first->from || a->constant != constant) continue;
    if (!value) value = make_value(cg, b, first);
    LLVMSetOperand(a->phi, a->incoming, value);
    a->constant = NULL;
  }
  if (value) LLVMSetOperand(first->phi, first->incoming, value);
}

roc_status roc_amdgpu_part_constants(roc_cg *cg, roc_error *err) {
  arrival_list list = {0};
  bool has_room = true;
  for (LLVMValueRef fn = LLVMGetFirstFunction(cg->mod); fn; fn = LLVMGetNextFunction(fn)) {
    has_room = has_room && list_function(cg, fn, &list);
  }
  LLVMBuilderRef b = LLVMCreateBuilderInContext(cg->ctx);
  for (uint32_t i = 0; has_room && i < list.count; i++) {
    if (list.items[i].constant) part(cg, b, &list.items[i], list.items + list.count);
  }
  LLVMDisposeBuilder(b);
  roc_vec_deinit(&list);
  if (has_room) return ROC_OK;
  return roc_fail(err, ROC_OOM, "out of memory while compiling '%s'", cg->ir->name);
}
