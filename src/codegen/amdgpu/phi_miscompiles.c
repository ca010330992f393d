/* Operands of phis that LLVM miscompiles (quirks.def).
 *
 * PHI_CONSTANT. LLVM makes a constant of 64 bits that several phis take from the same block once,
 * in the kind of register that the first of these phis needs. When that is a vector register and
 * another phi is the same for all work-items, the copy between the two becomes an s_mov_b64 of the
 * constant, of which the instruction keeps 32 bits: of two variables that begin as -100 one begins
 * as 4294967196. So those phis get a value that LLVM does not know to be a constant, the same for
 * all work-items in any case.
 *
 * PHI_FREE_VALUE. It concerns values that cost nothing to make (a conversion of 32 to 64 bits).
 * Where a phi takes one from a block, the structurizer makes it earlier, in place of a value that
 * it had left open on the path around the block. It means an if with an else; but where a third
 * path, such as that out of a loop, leads either to the phi or through the block, the phi then has
 * the third path's value after the block, too. So there the value costs an instruction.
 *
 * PHI_LOOP_SUM. A product and a sum of 64 bits, used in a loop and after it, are computed in the loop
 * and once more after it. The counter of the loop, the same for all work-items in it, is then that of
 * the last item to leave: the others get a wrong value. So the sum passes through a value that LLVM
 * knows nothing of, in the loop. */
#include <llvm-c/DebugInfo.h>
#include <stdlib.h>

#include "base/vec.h"
#include "codegen/amdgpu/amdgpu.h"
#include "codegen/core/repair.h"

/* ---- constants ---------------------------------------------------------------------------- */

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
  high = roc_amdgpu_opaque_scalar(b, high);
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

static bool part_constants(roc_cg *cg, LLVMValueRef fn, LLVMBuilderRef b) {
  arrival_list list = {0};
  bool has_room = list_function(cg, fn, &list);
  for (uint32_t i = 0; has_room && i < list.count; i++) {
    if (list.items[i].constant) part(cg, b, &list.items[i], list.items + list.count);
  }
  roc_vec_deinit(&list);
  return has_room;
}

/* ---- values that cost nothing -------------------------------------------------------------- */

/* Of integers, which costs an instruction or more: what keeps the worst index of a loop, in each of
 * its rounds. */
static bool is_min_or_max(LLVMValueRef call) {
  static const char *const names[] = {"llvm.umax", "llvm.umin", "llvm.smax", "llvm.smin"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (roc_cg_is_call_of(call, names[i])) return true;
  }
  return false;
}

/* Or may cost nothing.  Vectors are later cut into elements, each of which does. */
static bool is_free(LLVMValueRef value) {
  if (LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind) return !LLVMIsConstant(value);
  if (!LLVMIsAInstruction(value)) return false;
  switch (LLVMGetInstructionOpcode(value)) {
    case LLVMCall: return !is_min_or_max(value);
    case LLVMFNeg:
    case LLVMFreeze:
    case LLVMGetElementPtr:
    case LLVMExtractElement:
    case LLVMInsertElement:
    case LLVMShuffleVector:
    case LLVMExtractValue:
    case LLVMInsertValue: return true;
    default: return LLVMIsACastInst(value) != NULL;
  }
}

/* The blocks of a function, in the order of their addresses, and a search among them. */
typedef struct block_mark {
  LLVMBasicBlockRef block;
  uint32_t search; /* the last one that came here */
} block_mark;

typedef struct search {
  block_mark *marks;
  uint32_t count, now;
  roc_vec(LLVMBasicBlockRef) open;
  bool has_room;
} search;

static int compare_marks(const void *a, const void *b) {
  uintptr_t x = (uintptr_t)((const block_mark *)a)->block;
  uintptr_t y = (uintptr_t)((const block_mark *)b)->block;
  return (x > y) - (x < y);
}

static void open_search(search *s, roc_cg *cg, LLVMValueRef fn) {
  *s = (search){.has_room = true};
  s->marks = ROC_ARENA_ARRAY(&cg->arena, block_mark, LLVMCountBasicBlocks(fn));
  if (!s->marks) {
    s->has_room = false;
    return;
  }
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b)) {
    s->marks[s->count++] = (block_mark){.block = b};
  }
  qsort(s->marks, s->count, sizeof *s->marks, compare_marks);
}

/* Notes a block that was not met before. */
static void visit(search *s, LLVMBasicBlockRef block) {
  block_mark key = {.block = block};
  block_mark *mark = bsearch(&key, s->marks, s->count, sizeof key, compare_marks);
  if (mark->search == s->now) return;
  mark->search = s->now;
  s->has_room = s->has_room && roc_vec_push(&s->open, block);
}

/* Whether there is a way from one block to another that does not lead through `except`. */
static bool leads_to(search *s, LLVMBasicBlockRef from, LLVMBasicBlockRef to,
                     LLVMBasicBlockRef except) {
  s->now++;
  roc_vec_clear(&s->open);
  visit(s, except);
  roc_vec_clear(&s->open);
  visit(s, from);
  while (s->has_room && s->open.count) {
    LLVMBasicBlockRef block = roc_vec_pop(&s->open);
    if (block == to) return true;
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
    for (unsigned i = 0; i < LLVMGetNumSuccessors(end); i++) visit(s, LLVMGetSuccessor(end, i));
  }
  return false;
}

/* An if without an else: its way around the block has a value of its own. */
static bool is_plain_if(LLVMValueRef phi, LLVMBasicBlockRef body, LLVMBasicBlockRef around) {
  LLVMValueRef end = LLVMGetBasicBlockTerminator(around);
  if (LLVMCountIncoming(phi) != 2 || LLVMGetNumSuccessors(end) != 2) return false;
  LLVMBasicBlockRef merge = LLVMGetInstructionParent(phi);
  return (LLVMGetSuccessor(end, 0) == body && LLVMGetSuccessor(end, 1) == merge) ||
         (LLVMGetSuccessor(end, 1) == body && LLVMGetSuccessor(end, 0) == merge);
}

/* Whether another way to the phi may lead through the block that the value comes from. */
static bool has_third_way(search *s, LLVMValueRef phi, unsigned incoming) {
  LLVMBasicBlockRef body = LLVMGetIncomingBlock(phi, incoming);
  for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
    LLVMBasicBlockRef other = LLVMGetIncomingBlock(phi, i);
    if (other == body || is_plain_if(phi, body, other)) continue;
    if (leads_to(s, other, body, LLVMGetInstructionParent(phi))) return true;
  }
  return false;
}

/* ---- sums that leave a loop ---------------------------------------------------------------- */

/* Whether a phi takes a sum of 64 bits from a block of a loop that it does not belong to. */
static bool is_sum_of_loop(roc_cg *cg, search *s, LLVMValueRef phi, unsigned incoming) {
  LLVMValueRef value = LLVMGetIncomingValue(phi, incoming);
  if (LLVMTypeOf(value) != cg->t.i64) return false;
  LLVMBasicBlockRef body = LLVMGetIncomingBlock(phi, incoming);
  LLVMBasicBlockRef merge = LLVMGetInstructionParent(phi);
  if (!LLVMIsAInstruction(value) || LLVMGetInstructionOpcode(value) != LLVMAdd) return false;
  LLVMValueRef end = LLVMGetBasicBlockTerminator(body);
  for (unsigned i = 0; i < LLVMGetNumSuccessors(end); i++) {
    LLVMBasicBlockRef next = LLVMGetSuccessor(end, i);
    if (next != merge && leads_to(s, next, body, merge)) return true;
  }
  return false;
}

/* ---- both ---------------------------------------------------------------------------------- */

static void keep_in_place(roc_cg *cg, search *s, LLVMBuilderRef b, LLVMValueRef phi) {
  uint64_t off = cg->options->quirks_off;
  bool keeps_free = roc_quirk_is_on(off, ROC_QUIRK_PHI_FREE_VALUE);
  bool keeps_sums = roc_quirk_is_on(off, ROC_QUIRK_PHI_LOOP_SUM);
  for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
    LLVMValueRef value = LLVMGetIncomingValue(phi, i);
    bool is_moved = keeps_free && is_free(value) && has_third_way(s, phi, i);
    bool is_repeated = keeps_sums && is_sum_of_loop(cg, s, phi, i);
    if (!is_moved && !is_repeated) continue;
    LLVMValueRef end = LLVMGetBasicBlockTerminator(LLVMGetIncomingBlock(phi, i));
    LLVMPositionBuilderBefore(b, end);
    LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(end));
    LLVMSetOperand(phi, i, roc_amdgpu_opaque(cg, b, value));
  }
}

static bool keep_values_in_place(roc_cg *cg, LLVMValueRef fn, LLVMBuilderRef b) {
  search s;
  open_search(&s, cg, fn);
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn); block && s.has_room;
       block = LLVMGetNextBasicBlock(block)) {
    LLVMValueRef inst = LLVMGetFirstInstruction(block);
    for (; inst && LLVMIsAPHINode(inst); inst = LLVMGetNextInstruction(inst)) {
      keep_in_place(cg, &s, b, inst);
    }
  }
  roc_vec_deinit(&s.open);
  return s.has_room;
}

roc_status roc_amdgpu_repair_phis(roc_cg *cg, roc_error *err) {
  uint64_t off = cg->options->quirks_off;
  bool has_room = true;
  LLVMBuilderRef b = LLVMCreateBuilderInContext(cg->ctx);
  for (LLVMValueRef fn = LLVMGetFirstFunction(cg->mod); fn && has_room;
       fn = LLVMGetNextFunction(fn)) {
    if (LLVMIsDeclaration(fn)) continue;
    if (roc_quirk_is_on(off, ROC_QUIRK_PHI_CONSTANT)) has_room = part_constants(cg, fn, b);
    if (has_room) has_room = keep_values_in_place(cg, fn, b);
  }
  LLVMDisposeBuilder(b);
  if (has_room) return ROC_OK;
  return roc_fail(err, ROC_OOM, "out of memory while compiling '%s'", cg->ir->name);
}
