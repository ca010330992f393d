/* After the optimiser: masks as integers, on processors that have no registers for bits.
 *
 * The optimiser makes every mask a vector of bits.  Without AVX-512 the back end keeps such a
 * vector from block to block, and what is made of two of them, in narrower elements than what was
 * compared, which it packs and unpacks on the way.  So a mask that is a phi, or made of others,
 * becomes integers, 0 or -1, as wide as the masks of its lanes are (cpu/lanes.c); what else takes a
 * mask compares those with 0, in its own block, which is no instruction there. */
#include "codegen/core/repair.h"
#include "codegen/cpu/lanes.h"

typedef struct widener {
  roc_cg *cg;
  LLVMBuilderRef b;
  roc_vec(LLVMValueRef) masks; /* that become integers, */
  roc_vec(LLVMValueRef) wides; /* and these; NULL: not made yet */
  bool failed;
} widener;

/* The type of the integers; NULL: it is no mask of lanes. */
static LLVMTypeRef wide_type(const widener *w, LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return NULL;
  LLVMTypeRef element = LLVMGetElementType(type);
  bool is_bit =
      LLVMGetTypeKind(element) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(element) == 1;
  unsigned count = LLVMGetVectorSize(type);
  unsigned bits = count > ROC_CG_MOST_LANES ? 0 : cpu_of(w->cg)->mask_bits[count];
  return is_bit && bits ? LLVMVectorType(LLVMIntTypeInContext(w->cg->ctx, bits), count) : NULL;
}

static bool is_logic(LLVMValueRef inst) {
  if (!LLVMIsABinaryOperator(inst)) return false;
  LLVMOpcode opcode = LLVMGetInstructionOpcode(inst);
  return opcode == LLVMAnd || opcode == LLVMOr || opcode == LLVMXor;
}

static bool is_made_of_masks(LLVMValueRef inst) {
  return LLVMIsAPHINode(inst) || is_logic(inst);
}

/* The bits of a mask as one integer, which is compared with 0. */
static bool is_question(LLVMValueRef inst) {
  if (!LLVMIsABitCastInst(inst)) return false;
  for (LLVMUseRef use = LLVMGetFirstUse(inst); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (!LLVMIsAICmpInst(user) || !LLVMIsNull(LLVMGetOperand(user, 1))) return false;
    LLVMIntPredicate predicate = LLVMGetICmpPredicate(user);
    if (predicate != LLVMIntEQ && predicate != LLVMIntNE) return false;
  }
  return true;
}

static bool is_better_wide(LLVMValueRef mask) {
  if (is_made_of_masks(mask)) return true;
  for (LLVMUseRef use = LLVMGetFirstUse(mask); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (is_made_of_masks(user) || is_question(user)) return true;
    if (LLVMGetInstructionParent(user) != LLVMGetInstructionParent(mask)) return true;
  }
  return false;
}

static void find_masks(widener *w, LLVMValueRef fn) {
  roc_vec_clear(&w->masks);
  roc_vec_clear(&w->wides);
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn); block;
       block = LLVMGetNextBasicBlock(block)) {
    for (LLVMValueRef inst = LLVMGetFirstInstruction(block); inst;
         inst = LLVMGetNextInstruction(inst)) {
      if (!wide_type(w, inst) || !is_better_wide(inst)) continue;
      if (!roc_vec_push(&w->masks, inst) || !roc_vec_push(&w->wides, NULL)) w->failed = true;
    }
  }
}

/* What a mask is as integers, where the builder is; NULL: not made yet. */
static LLVMValueRef wide_of(widener *w, LLVMValueRef mask) {
  for (uint32_t i = 0; i < w->masks.count; i++) {
    if (w->masks.items[i] == mask) return w->wides.items[i];
  }
  return LLVMBuildSExt(w->b, mask, wide_type(w, mask), "");
}

static LLVMValueRef make_logic(widener *w, LLVMValueRef mask) {
  LLVMPositionBuilderBefore(w->b, mask);
  LLVMValueRef a = wide_of(w, LLVMGetOperand(mask, 0)), b = wide_of(w, LLVMGetOperand(mask, 1));
  return a && b ? LLVMBuildBinOp(w->b, LLVMGetInstructionOpcode(mask), a, b, "") : NULL;
}

static LLVMValueRef make_wide(widener *w, LLVMValueRef mask) {
  if (is_logic(mask)) return make_logic(w, mask);
  LLVMPositionBuilderBefore(w->b, LLVMIsAPHINode(mask) ? mask : LLVMGetNextInstruction(mask));
  if (LLVMIsAPHINode(mask)) return LLVMBuildPhi(w->b, wide_type(w, mask), "");
  return LLVMBuildSExt(w->b, mask, wide_type(w, mask), "");
}

/* In the order in which one needs the other, which blocks need not have. */
static void make_all(widener *w) {
  for (bool makes = true; makes;) {
    makes = false;
    for (uint32_t i = 0; i < w->masks.count; i++) {
      if (w->wides.items[i]) continue;
      w->wides.items[i] = make_wide(w, w->masks.items[i]);
      makes |= w->wides.items[i] != NULL;
    }
  }
}

/* What a phi has from a block already, of which several ways may come; or NULL. */
static LLVMValueRef known_from(LLVMValueRef phi, LLVMBasicBlockRef from) {
  for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
    if (LLVMGetIncomingBlock(phi, i) == from) return LLVMGetIncomingValue(phi, i);
  }
  return NULL;
}

static void fill_phi(widener *w, LLVMValueRef mask, LLVMValueRef wide) {
  for (unsigned i = 0; i < LLVMCountIncoming(mask); i++) {
    LLVMBasicBlockRef from = LLVMGetIncomingBlock(mask, i);
    LLVMPositionBuilderBefore(w->b, LLVMGetBasicBlockTerminator(from));
    LLVMValueRef value = known_from(wide, from);
    if (!value) value = wide_of(w, LLVMGetIncomingValue(mask, i));
    LLVMAddIncoming(wide, &value, &from, 1);
  }
}

/* ---- what takes them ------------------------------------------------------------------------ */

static LLVMValueRef first_after_phis(LLVMBasicBlockRef block) {
  LLVMValueRef inst = LLVMGetFirstInstruction(block);
  while (LLVMIsAPHINode(inst)) inst = LLVMGetNextInstruction(inst);
  return inst;
}

/* Whether a lane of a mask is set: by the integers as a whole. */
static void ask_wide(widener *w, LLVMValueRef question, LLVMValueRef wide) {
  LLVMTypeRef type = LLVMTypeOf(wide);
  for (LLVMUseRef use; (use = LLVMGetFirstUse(question));) {
    LLVMValueRef compare = LLVMGetUser(use);
    LLVMPositionBuilderBefore(w->b, compare);
    unsigned id = LLVMLookupIntrinsicID("llvm.vector.reduce.or", strlen("llvm.vector.reduce.or"));
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(w->cg->mod, id, &type, 1);
    LLVMTypeRef fn_type = LLVMIntrinsicGetType(w->cg->ctx, id, &type, 1);
    LLVMValueRef any = LLVMBuildCall2(w->b, fn_type, fn, &wide, 1, "");
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(any));
    roc_cg_replace(compare, LLVMBuildICmp(w->b, LLVMGetICmpPredicate(compare), any, zero, ""));
  }
  LLVMInstructionEraseFromParent(question);
}

/* An instruction that takes the bits of a mask and should take them from the integers; NULL: there is
 * none.  Of a comparison, those of its block have them already. */
static LLVMValueRef next_taker(const widener *w, LLVMValueRef mask) {
  for (LLVMUseRef use = LLVMGetFirstUse(mask); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    bool is_here = LLVMGetInstructionParent(user) == LLVMGetInstructionParent(mask);
    if (is_made_of_masks(user) && wide_type(w, user)) continue;
    if (is_question(user) || is_made_of_masks(mask) || !is_here) return user;
  }
  return NULL;
}

static void set_operands(LLVMValueRef user, LLVMValueRef from, LLVMValueRef to) {
  for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(user); i++) {
    if (LLVMGetOperand(user, i) == from) LLVMSetOperand(user, i, to);
  }
}

/* Each block that takes the bits of a mask compares its integers once. */
static void serve_takers(widener *w, LLVMValueRef mask, LLVMValueRef wide) {
  for (LLVMValueRef user; (user = next_taker(w, mask));) {
    if (is_question(user)) {
      ask_wide(w, user, wide);
      continue;
    }
    LLVMBasicBlockRef block = LLVMGetInstructionParent(user);
    bool is_here = block == LLVMGetInstructionParent(mask) && !LLVMIsAPHINode(mask);
    LLVMValueRef at = is_here ? LLVMGetNextInstruction(mask) : first_after_phis(block);
    LLVMPositionBuilderBefore(w->b, at);
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(wide));
    LLVMValueRef bits = LLVMBuildICmp(w->b, LLVMIntSLT, wide, zero, "");
    for (LLVMValueRef inst = at; inst; inst = LLVMGetNextInstruction(inst)) {
      bool is_wide = is_made_of_masks(inst) && wide_type(w, inst);
      if (!is_wide && !is_question(inst)) set_operands(inst, mask, bits);
    }
  }
}

static void remove_narrow(widener *w) {
  for (uint32_t i = 0; i < w->masks.count; i++) {
    LLVMValueRef mask = w->masks.items[i];
    if (is_made_of_masks(mask)) LLVMReplaceAllUsesWith(mask, LLVMGetPoison(LLVMTypeOf(mask)));
  }
  for (uint32_t i = 0; i < w->masks.count; i++) {
    if (is_made_of_masks(w->masks.items[i])) LLVMInstructionEraseFromParent(w->masks.items[i]);
  }
}

static void widen_masks(widener *w, LLVMValueRef fn) {
  find_masks(w, fn);
  if (w->failed || !w->masks.count) return;
  make_all(w);
  for (uint32_t i = 0; i < w->masks.count; i++) {
    if (LLVMIsAPHINode(w->masks.items[i])) fill_phi(w, w->masks.items[i], w->wides.items[i]);
  }
  for (uint32_t i = 0; i < w->masks.count; i++) {
    serve_takers(w, w->masks.items[i], w->wides.items[i]);
  }
  remove_narrow(w);
}

void cpu_widen_masks(roc_cg *cg) {
  const cpu_state *s = cpu_of(cg);
  if (!s->lanes_kept || s->lanes_kept->has_bits) return;
  widener w = {.cg = cg, .b = LLVMCreateBuilderInContext(cg->ctx)};
  for (LLVMValueRef fn = LLVMGetFirstFunction(cg->mod); fn && !w.failed;
       fn = LLVMGetNextFunction(fn)) {
    widen_masks(&w, fn);
  }
  roc_vec_deinit(&w.masks);
  roc_vec_deinit(&w.wides);
  LLVMDisposeBuilder(w.b);
  if (w.failed) cg->arena.failed = true;
}
