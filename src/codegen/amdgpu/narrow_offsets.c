/* See narrow_offsets.h.  A memory instruction adds an offset of 32 bits to an array's address
 * itself, but LLVM takes only what is extended for one.  An index that is cut out of 64 bits,
 * chosen, or carried by a loop is known to fit and is not extended: it would be added in two
 * instructions and copies. */
#include "codegen/amdgpu/narrow_offsets.h"

enum {
  MOST_PHIS = 8, /* of an offset */
  MOST_DEPTH = 4
};

typedef struct narrower {
  roc_cg *cg;
  LLVMBuilderRef b;
  roc_value_facts *facts;
  LLVMValueRef phis[MOST_PHIS], halves[MOST_PHIS];
  unsigned nphis;
  bool is_cut; /* what is made has been cut out of 64 bits */
} narrower;

static unsigned find_phi(const narrower *n, LLVMValueRef value) {
  unsigned i = 0;
  while (i < n->nphis && n->phis[i] != value) i++;
  return i;
}

static bool is_select(LLVMValueRef value) {
  return LLVMIsASelectInst(value) != NULL;
}

/* Whether half_of makes it.  The phis on the way are noted. */
static bool can_halve(narrower *n, LLVMValueRef value, unsigned depth) {
  if (LLVMIsAConstantInt(value)) return LLVMConstIntGetZExtValue(value) <= UINT32_MAX;
  if (LLVMIsAZExtInst(value) || find_phi(n, value) < n->nphis) return true;
  if (depth > 0 && is_select(value)) {
    return can_halve(n, LLVMGetOperand(value, 1), depth - 1) &&
           can_halve(n, LLVMGetOperand(value, 2), depth - 1);
  }
  if (depth > 0 && LLVMIsAPHINode(value) && n->nphis < MOST_PHIS) {
    n->phis[n->nphis++] = value;
    for (unsigned i = 0; i < LLVMCountIncoming(value); i++) {
      if (!can_halve(n, LLVMGetIncomingValue(value, i), depth - 1)) return false;
    }
    return true;
  }
  return LLVMIsAInstruction(value) && roc_value_has_32_bits(n->facts, value);
}

static void go_after(const narrower *n, LLVMValueRef value) {
  LLVMValueRef next = LLVMGetNextInstruction(value);
  while (LLVMIsAPHINode(next)) next = LLVMGetNextInstruction(next);
  LLVMPositionBuilderBefore(n->b, next);
}

static LLVMValueRef half_of(narrower *n, LLVMValueRef value);

/* Of what the phi has from a block a second time, the half that it has already; NULL: there is
 * none. */
static LLVMValueRef half_from(LLVMValueRef half, LLVMBasicBlockRef block) {
  for (unsigned i = 0; i < LLVMCountIncoming(half); i++) {
    if (LLVMGetIncomingBlock(half, i) == block) return LLVMGetIncomingValue(half, i);
  }
  return NULL;
}

static LLVMValueRef half_of_phi(narrower *n, unsigned at) {
  LLVMValueRef phi = n->phis[at];
  if (n->halves[at]) return n->halves[at];
  LLVMPositionBuilderBefore(n->b, phi);
  n->halves[at] = LLVMBuildPhi(n->b, n->cg->t.i32, "");
  for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
    LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, i);
    LLVMValueRef half = half_from(n->halves[at], from);
    if (!half) half = half_of(n, LLVMGetIncomingValue(phi, i));
    LLVMAddIncoming(n->halves[at], &half, &from, 1);
  }
  return n->halves[at];
}

/* After can_halve. */
static LLVMValueRef half_of(narrower *n, LLVMValueRef value) {
  LLVMTypeRef i32 = n->cg->t.i32;
  unsigned phi = find_phi(n, value);
  if (LLVMIsAConstantInt(value)) return LLVMConstInt(i32, LLVMConstIntGetZExtValue(value), 0);
  if (phi < n->nphis) return half_of_phi(n, phi);
  if (LLVMIsAZExtInst(value)) {
    LLVMValueRef from = LLVMGetOperand(value, 0);
    if (LLVMTypeOf(from) == i32) return from;
    go_after(n, value);
    return LLVMBuildZExt(n->b, from, i32, "");
  }
  if (is_select(value)) {
    LLVMValueRef yes = half_of(n, LLVMGetOperand(value, 1));
    LLVMValueRef no = half_of(n, LLVMGetOperand(value, 2));
    go_after(n, value);
    return LLVMBuildSelect(n->b, LLVMGetOperand(value, 0), yes, no, "");
  }
  n->is_cut = true;
  go_after(n, value);
  return LLVMBuildTrunc(n->b, value, i32, "");
}

/* The sum of an array's address and what work-items do not share; false: it is none. */
static bool is_wide_sum(const narrower *n, LLVMValueRef inst) {
  if (!LLVMIsAGetElementPtrInst(inst) || LLVMGetNumOperands(inst) != 2) return false;
  LLVMValueRef by = LLVMGetOperand(inst, 1);
  bool is_wide = LLVMTypeOf(by) == n->cg->t.i64 && LLVMIsAInstruction(by);
  bool is_extended = LLVMIsAZExtInst(by) && LLVMTypeOf(LLVMGetOperand(by, 0)) == n->cg->t.i32;
  return is_wide && !is_extended && LLVMIsAArgument(LLVMGetOperand(inst, 0)) &&
         roc_value_is_divergent(n->facts, by);
}

static bool narrow_sum(narrower *n, LLVMValueRef sum) {
  LLVMValueRef by = LLVMGetOperand(sum, 1);
  n->nphis = 0;
  n->is_cut = false;
  if (!can_halve(n, by, MOST_DEPTH)) return false;
  for (unsigned i = 0; i < n->nphis; i++) n->halves[i] = NULL;
  LLVMValueRef half = half_of(n, by);
  LLVMPositionBuilderBefore(n->b, sum);
  if (n->is_cut) half = roc_amdgpu_opaque_vector(n->b, half); /* LLVM would take it for 64 bits */
  LLVMSetOperand(sum, 1, LLVMBuildZExt(n->b, half, n->cg->t.i64, ""));
  return true;
}

bool roc_amdgpu_narrow_offsets(roc_cg *cg, roc_value_facts *facts) {
  narrower n = {.cg = cg, .b = LLVMCreateBuilderInContext(cg->ctx), .facts = facts};
  bool was_any = false;
  for (LLVMBasicBlockRef at = LLVMGetFirstBasicBlock(cg->fn); at; at = LLVMGetNextBasicBlock(at)) {
    LLVMValueRef inst = LLVMGetFirstInstruction(at);
    for (; inst; inst = LLVMGetNextInstruction(inst)) {
      if (is_wide_sum(&n, inst)) was_any |= narrow_sum(&n, inst);
    }
  }
  LLVMDisposeBuilder(n.b);
  return was_any;
}
