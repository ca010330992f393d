/* Offsets of 32 bits, beside an array's address that all work-items share, which memory
 * instructions add themselves. LLVM finds such a sum only where it is made in the block of the
 * access; elsewhere it adds 64 bits, in two vector instructions and copies. So it is made again in
 * front of each access in another block, where it costs nothing. */
#include "codegen/amdgpu/repair.h"

enum { MOST_SUMS = 4 /* one with the offset, then ones with constants */ };

/* Of an access's address, the access's side first. */
typedef struct chain {
  LLVMValueRef sums[MOST_SUMS], offset;
  unsigned count;
} chain;

/* The operand that is the address; -1: there is none. */
static int address_of(LLVMValueRef inst) {
  switch (LLVMGetInstructionOpcode(inst)) {
    case LLVMLoad:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg: return 0;
    case LLVMStore: return 1;
    default: return -1;
  }
}

static bool is_sum(LLVMValueRef value) {
  return LLVMIsAGetElementPtrInst(value) && LLVMGetNumOperands(value) == 2;
}

static bool find_chain(const roc_cg *cg, LLVMValueRef address, chain *out) {
  *out = (chain){.count = 0};
  for (; is_sum(address) && out->count < MOST_SUMS; address = LLVMGetOperand(address, 0)) {
    LLVMValueRef by = LLVMGetOperand(address, 1);
    out->sums[out->count++] = address;
    if (LLVMIsAConstantInt(by)) continue;
    out->offset = by;
    return LLVMIsAZExtInst(by) && LLVMTypeOf(LLVMGetOperand(by, 0)) == cg->t.i32 &&
           LLVMIsAArgument(LLVMGetOperand(address, 0));
  }
  return false;
}

static bool is_in_block(const chain *c, LLVMBasicBlockRef block) {
  bool is_inside = LLVMGetInstructionParent(c->offset) == block;
  for (unsigned i = 0; i < c->count; i++) {
    is_inside = is_inside && LLVMGetInstructionParent(c->sums[i]) == block;
  }
  return is_inside;
}

static LLVMValueRef copy_before(LLVMBuilderRef b, LLVMValueRef inst) {
  LLVMValueRef copy = LLVMInstructionClone(inst);
  LLVMInsertIntoBuilder(b, copy);
  return copy;
}

static void erase_unused(LLVMValueRef inst) {
  if (!LLVMGetFirstUse(inst)) LLVMInstructionEraseFromParent(inst);
}

static void make_again(LLVMBuilderRef b, LLVMValueRef access, unsigned operand, const chain *c) {
  LLVMPositionBuilderBefore(b, access);
  LLVMValueRef offset = copy_before(b, c->offset), sum = NULL;
  for (unsigned i = c->count; i-- > 0;) {
    LLVMValueRef next = copy_before(b, c->sums[i]);
    LLVMSetOperand(next, sum ? 0 : 1, sum ? sum : offset);
    sum = next;
  }
  LLVMSetOperand(access, operand, sum);
  for (unsigned i = 0; i < c->count; i++) erase_unused(c->sums[i]);
  erase_unused(c->offset);
}

void roc_amdgpu_place_offsets(roc_cg *cg) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(cg->ctx);
  for (LLVMBasicBlockRef at = LLVMGetFirstBasicBlock(cg->fn); at; at = LLVMGetNextBasicBlock(at)) {
    LLVMValueRef inst = LLVMGetFirstInstruction(at);
    for (; inst; inst = LLVMGetNextInstruction(inst)) {
      chain c;
      int operand = address_of(inst);
      if (operand < 0 || !find_chain(cg, LLVMGetOperand(inst, (unsigned)operand), &c)) continue;
      if (!is_in_block(&c, at)) make_again(b, inst, (unsigned)operand, &c);
    }
  }
  LLVMDisposeBuilder(b);
}
