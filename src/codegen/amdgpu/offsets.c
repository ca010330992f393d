/* Offsets of 32 bits, beside an array's address that all work-items share, which memory
 * instructions add themselves. LLVM finds such a sum only where it is made in the block of the
 * access; elsewhere it adds 64 bits, in two vector instructions and copies. So it is made again in
 * front of each access in another block, where it costs nothing; of one that work-items do not
 * share LLVM sees no connection with the offset that it has, else it would take one sum for
 * both. */
#include "codegen/amdgpu/narrow_offsets.h"
#include "codegen/amdgpu/repair.h"
#include "codegen/amdgpu/value_facts.h"

enum {
  MOST_SUMS = 4,    /* one with the offset, then ones with constants */
  MOST_COPIES = 16, /* of offsets, in a block */
  MOST_REACHED = 64 /* blocks that are looked at */
};

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

/* Whether the block comes again without the other: in a loop what is added there once is better. */
static bool repeats_without(LLVMBasicBlockRef block, LLVMBasicBlockRef other) {
  LLVMBasicBlockRef reached[MOST_REACHED] = {block};
  unsigned count = 1;
  for (unsigned i = 0; i < count; i++) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(reached[i]);
    for (unsigned n = 0; n < LLVMGetNumSuccessors(end); n++) {
      LLVMBasicBlockRef next = LLVMGetSuccessor(end, n);
      unsigned at = 0;
      if (next == block) return true;
      while (at < count && reached[at] != next) at++;
      if (next == other || at < count) continue;
      if (count == MOST_REACHED) return true;
      reached[count++] = next;
    }
  }
  return false;
}

/* Offsets that were made again in a block. */
typedef struct copies {
  roc_value_facts *facts;
  LLVMBasicBlockRef block;
  LLVMValueRef of[MOST_COPIES], made[MOST_COPIES];
  unsigned count;
} copies;

static LLVMValueRef find_copy(const copies *in, LLVMValueRef offset) {
  for (unsigned i = 0; i < in->count; i++) {
    if (in->of[i] == offset) return in->made[i];
  }
  return NULL;
}

static LLVMValueRef copy_offset(LLVMBuilderRef b, LLVMValueRef offset, copies *in) {
  LLVMValueRef made = find_copy(in, offset);
  if (made) return made;
  LLVMBasicBlockRef from = LLVMGetInstructionParent(offset);
  bool is_hidden = from != in->block && in->count < MOST_COPIES &&
                   roc_value_is_divergent(in->facts, offset) && !repeats_without(in->block, from);
  LLVMValueRef half = LLVMGetOperand(offset, 0);
  if (is_hidden) half = roc_amdgpu_opaque_vector(b, half);
  made = copy_before(b, offset);
  LLVMSetOperand(made, 0, half);
  if (!is_hidden) return made;
  in->of[in->count] = offset;
  in->made[in->count++] = made;
  return made;
}

static void make_again(LLVMBuilderRef b, LLVMValueRef access, unsigned operand, const chain *c,
                       copies *in) {
  LLVMPositionBuilderBefore(b, access);
  LLVMValueRef offset = copy_offset(b, c->offset, in), sum = NULL;
  for (unsigned i = c->count; i-- > 0;) {
    LLVMValueRef next = copy_before(b, c->sums[i]);
    LLVMSetOperand(next, sum ? 0 : 1, sum ? sum : offset);
    sum = next;
  }
  LLVMSetOperand(access, operand, sum);
  for (unsigned i = 0; i < c->count; i++) erase_unused(c->sums[i]);
  if (!find_copy(in, c->offset)) erase_unused(c->offset);
}

static void place_in_block(roc_cg *cg, LLVMBuilderRef b, copies *in) {
  LLVMValueRef inst = LLVMGetFirstInstruction(in->block);
  for (; inst; inst = LLVMGetNextInstruction(inst)) {
    chain c;
    int operand = address_of(inst);
    if (operand < 0 || !find_chain(cg, LLVMGetOperand(inst, (unsigned)operand), &c)) continue;
    if (!is_in_block(&c, in->block)) make_again(b, inst, (unsigned)operand, &c, in);
  }
}

void roc_amdgpu_place_offsets(roc_cg *cg) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(cg->ctx);
  roc_value_facts *facts = roc_value_facts_make(cg->fn, cg->tm);
  if (roc_amdgpu_narrow_offsets(cg, facts)) {
    roc_value_facts_free(facts);
    facts = roc_value_facts_make(cg->fn, cg->tm);
  }
  for (LLVMBasicBlockRef at = LLVMGetFirstBasicBlock(cg->fn); at; at = LLVMGetNextBasicBlock(at)) {
    copies in = {.facts = facts, .block = at};
    place_in_block(cg, b, &in);
  }
  roc_value_facts_free(facts);
  LLVMDisposeBuilder(b);
}
