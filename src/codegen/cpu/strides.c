/* After the optimiser: gathers and scatters of elements that lie at equal distances.
 *
 * The vectoriser makes `t[x][y]` of neighbouring x, or `x[2 * i]`, a gather.  An instruction that
 * gathers asks for its elements one after the other, and takes two to four times as long as loads
 * of them one by one that are put together; so does one that scatters.  Where the elements lie at
 * equal distances, the addresses need no vector: they are the first one and multiples of the
 * distance.  Those at addresses of any other kind, and those with a mask, stay as they are. */
#include "codegen/core/repair.h"
#include "codegen/cpu/cpu.h"
#include "codegen/cpu/strides.h"

/* ---- what lies at equal distances ---------------------------------------------------------- */

LLVMValueRef cpu_common_of(LLVMValueRef value) {
  if (!LLVMIsAShuffleVectorInst(value)) return NULL;
  LLVMValueRef insert = LLVMGetOperand(value, 0);
  for (unsigned i = 0; i < LLVMGetNumMaskElements(value); i++) {
    if (LLVMGetMaskValue(value, i) != 0) return NULL;
  }
  if (!LLVMIsAInsertElementInst(insert)) return NULL;
  LLVMValueRef at = LLVMGetOperand(insert, 2);
  bool is_first = LLVMIsAConstantInt(at) && LLVMConstIntGetZExtValue(at) == 0;
  return is_first ? LLVMGetOperand(insert, 1) : NULL;
}

static bool is_vector_of_64_bits(LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return false;
  LLVMTypeRef element = LLVMGetElementType(type);
  return LLVMGetTypeKind(element) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(element) == 64;
}

static bool stride_of_constant(LLVMValueRef value, cpu_stride *out) {
  *out = (cpu_stride){0};
  uint64_t last = 0;
  for (unsigned i = 0; i < LLVMGetVectorSize(LLVMTypeOf(value)); i++) {
    LLVMValueRef element = LLVMGetAggregateElement(value, i);
    if (!element || !LLVMIsAConstantInt(element)) return false;
    uint64_t next = LLVMConstIntGetZExtValue(element);
    if (i == 1) out->count = (int64_t)(next - last);
    if (i > 1 && next - last != (uint64_t)out->count) return false;
    last = next;
  }
  return true;
}

static bool stride_of(LLVMValueRef value, int depth, cpu_stride *out);

static bool have_same_factors(const cpu_stride *a, const cpu_stride *b) {
  bool are_same = a->nfactors == b->nfactors;
  for (unsigned i = 0; are_same && i < a->nfactors; i++) are_same = a->factors[i] == b->factors[i];
  return are_same;
}

static bool add_strides(cpu_stride a, cpu_stride b, int64_t sign, cpu_stride *out) {
  if (a.count && b.count && !have_same_factors(&a, &b)) return false;
  uint64_t count = (uint64_t)a.count + (uint64_t)b.count * (uint64_t)sign;
  *out = a.count ? a : b;
  out->count = (int64_t)count;
  return true;
}

/* Of a product of `a` and a vector of equal lanes. */
static bool scale_stride(cpu_stride a, LLVMValueRef by, cpu_stride *out) {
  LLVMValueRef common = cpu_common_of(by);
  cpu_stride flat;
  *out = a;
  if (!common && LLVMIsConstant(by) && stride_of_constant(by, &flat) && flat.count == 0) {
    uint64_t times = LLVMConstIntGetZExtValue(LLVMGetAggregateElement(by, 0));
    out->count = (int64_t)((uint64_t)a.count * times);
    return true;
  }
  if (!common || a.nfactors == sizeof a.factors / sizeof *a.factors) return false;
  out->factors[out->nfactors++] = common;
  return true;
}

/* A phi of what stands before a loop and of itself, moved by the same in all lanes. */
static bool find_counter(LLVMValueRef phi, unsigned *out_first, LLVMValueRef *out_step) {
  if (LLVMCountIncoming(phi) != 2) return false;
  for (unsigned n = 0; n < 2; n++) {
    LLVMValueRef next = LLVMGetIncomingValue(phi, n);
    if (!LLVMIsABinaryOperator(next) || LLVMGetInstructionOpcode(next) != LLVMAdd) continue;
    for (unsigned k = 0; k < 2; k++) {
      if (LLVMGetOperand(next, k) != phi) continue;
      *out_step = LLVMGetOperand(next, 1 - k);
      *out_first = 1 - n;
      cpu_stride flat;
      if (LLVMIsConstant(*out_step)) return stride_of_constant(*out_step, &flat) && !flat.count;
      return cpu_common_of(*out_step) != NULL;
    }
  }
  return false;
}

static bool stride_of_operation(LLVMValueRef value, int depth, cpu_stride *out) {
  LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
  LLVMValueRef of[2] = {LLVMGetOperand(value, 0), LLVMGetOperand(value, 1)};
  cpu_stride a, b;
  switch (opcode) {
    case LLVMOr: /* a sum */
    case LLVMAdd:
    case LLVMSub:
      if (opcode == LLVMOr && !LLVMGetIsDisjoint(value)) return false;
      if (!stride_of(of[0], depth, &a) || !stride_of(of[1], depth, &b)) return false;
      return add_strides(a, b, opcode == LLVMSub ? -1 : 1, out);
    case LLVMMul:
      if (stride_of(of[0], depth, &a) && scale_stride(a, of[1], out)) return true;
      return stride_of(of[1], depth, &b) && scale_stride(b, of[0], out);
    case LLVMShl: {
      if (!LLVMIsConstant(of[1]) || !stride_of_constant(of[1], &b) || b.count) return false;
      uint64_t by = LLVMConstIntGetZExtValue(LLVMGetAggregateElement(of[1], 0));
      if (by > 63 || !stride_of(of[0], depth, &a)) return false;
      *out = a;
      out->count = (int64_t)((uint64_t)a.count << by);
      return true;
    }
    default: return false;
  }
}

/* Of a vector of integers of 64 bits. */
static bool stride_of(LLVMValueRef value, int depth, cpu_stride *out) {
  if (!is_vector_of_64_bits(value) || depth == 0) return false;
  if (LLVMIsConstant(value)) return stride_of_constant(value, out);
  *out = (cpu_stride){0};
  if (cpu_common_of(value)) return true;
  if (LLVMIsABinaryOperator(value)) return stride_of_operation(value, depth - 1, out);
  unsigned first;
  LLVMValueRef step;
  if (!LLVMIsAPHINode(value) || !find_counter(value, &first, &step)) return false;
  return stride_of(LLVMGetIncomingValue(value, first), depth - 1, out);
}

/* A base, or addresses that have a stride, and an index. */
bool cpu_stride_of_places(cpu_rewriter *w, LLVMValueRef places, int depth, cpu_stride *out) {
  *out = (cpu_stride){0};
  if (LLVMGetTypeKind(LLVMTypeOf(places)) != LLVMVectorTypeKind) return true;
  if (!LLVMIsAGetElementPtrInst(places) || LLVMGetNumOperands(places) != 2) return false;
  LLVMValueRef index = LLVMGetOperand(places, 1);
  LLVMTypeRef type = LLVMGetGEPSourceElementType(places);
  uint64_t size = LLVMABISizeOfType(LLVMGetModuleDataLayout(w->cg->mod), type);
  cpu_stride base, by = {0};
  if (depth == 0 || !cpu_stride_of_places(w, LLVMGetOperand(places, 0), depth - 1, &base))
    return false;
  bool is_one = LLVMGetTypeKind(LLVMTypeOf(index)) != LLVMVectorTypeKind;
  if (!is_one && !stride_of(index, CPU_STRIDE_DEPTH, &by)) return false;
  by.count = (int64_t)((uint64_t)by.count * size);
  return add_strides(base, by, 1, out);
}

/* ---- the first lane ------------------------------------------------------------------------ */

static LLVMValueRef first_of(cpu_rewriter *w, LLVMValueRef value, LLVMValueRef before);

static LLVMValueRef first_of_counter(cpu_rewriter *w, LLVMValueRef phi) {
  for (uint32_t i = 0; i < w->counters.count; i++) {
    if (w->counters.items[i].phi == phi) return w->counters.items[i].first;
  }
  unsigned first;
  LLVMValueRef step;
  find_counter(phi, &first, &step);
  LLVMBasicBlockRef blocks[2] = {LLVMGetIncomingBlock(phi, first),
                                 LLVMGetIncomingBlock(phi, 1 - first)};
  LLVMValueRef ends[2] = {LLVMGetBasicBlockTerminator(blocks[0]),
                          LLVMGetBasicBlockTerminator(blocks[1])};
  LLVMValueRef values[2] = {first_of(w, LLVMGetIncomingValue(phi, first), ends[0]), NULL};
  LLVMPositionBuilderBefore(w->b, phi);
  LLVMValueRef made = LLVMBuildPhi(w->b, w->cg->t.i64, "");
  LLVMValueRef by = first_of(w, step, ends[1]);
  LLVMPositionBuilderBefore(w->b, ends[1]);
  values[1] = LLVMBuildAdd(w->b, made, by, "");
  LLVMAddIncoming(made, values, blocks, 2);
  if (!roc_vec_push(&w->counters, ((cpu_counter){phi, made}))) w->failed = true;
  return made;
}

/* The first lane of what has a stride, where `before` stands. */
static LLVMValueRef first_of(cpu_rewriter *w, LLVMValueRef value, LLVMValueRef before) {
  if (LLVMIsConstant(value)) return LLVMGetAggregateElement(value, 0);
  LLVMValueRef common = cpu_common_of(value);
  if (common) return common;
  if (LLVMIsAPHINode(value)) return first_of_counter(w, value);
  LLVMValueRef a = first_of(w, LLVMGetOperand(value, 0), before);
  LLVMValueRef b = first_of(w, LLVMGetOperand(value, 1), before);
  LLVMPositionBuilderBefore(w->b, before);
  return LLVMBuildBinOp(w->b, LLVMGetInstructionOpcode(value), a, b, "");
}

/* ---- rewriting ----------------------------------------------------------------------------- */

bool cpu_find_access(LLVMValueRef inst, cpu_access *a) {
  bool loads = roc_cg_is_call_of(inst, "llvm.masked.gather");
  if (!loads && !roc_cg_is_call_of(inst, "llvm.masked.scatter")) return false;
  unsigned n = loads ? 0 : 1;
  LLVMTypeRef type = LLVMTypeOf(loads ? inst : LLVMGetOperand(inst, 0));
  *a = (cpu_access){.call = inst,
                    .places = LLVMGetOperand(inst, n),
                    .mask = LLVMGetOperand(inst, n + 1),
                    .type = LLVMGetElementType(type),
                    .count = LLVMGetVectorSize(type),
                    .alignment = 1};
  LLVMAttributeRef align = LLVMGetCallSiteEnumAttribute(
      inst, n + 1, LLVMGetEnumAttributeKindForName("align", strlen("align")));
  if (align) a->alignment = (unsigned)LLVMGetEnumAttributeValue(align);
  a->is_whole = a->mask == LLVMConstAllOnes(LLVMTypeOf(a->mask));
  return a->count <= ROC_CG_MOST_LANES;
}

LLVMValueRef cpu_place_of(cpu_rewriter *w, LLVMValueRef first, LLVMValueRef distance,
                          unsigned lane) {
  LLVMValueRef by = LLVMBuildMul(w->b, distance, roc_cg_i64(w->cg, lane), "");
  return LLVMBuildGEP2(w->b, w->cg->t.i8, first, &by, 1, "");
}

LLVMValueRef cpu_first_place(cpu_rewriter *w, LLVMValueRef places, LLVMValueRef before) {
  if (LLVMGetTypeKind(LLVMTypeOf(places)) != LLVMVectorTypeKind) return places;
  LLVMValueRef base = cpu_first_place(w, LLVMGetOperand(places, 0), before);
  LLVMValueRef index = LLVMGetOperand(places, 1);
  bool is_one = LLVMGetTypeKind(LLVMTypeOf(index)) != LLVMVectorTypeKind;
  if (!is_one) index = first_of(w, index, before);
  LLVMPositionBuilderBefore(w->b, before);
  return LLVMBuildGEP2(w->b, LLVMGetGEPSourceElementType(places), base, &index, 1, "");
}

LLVMValueRef cpu_distance(cpu_rewriter *w, cpu_stride by) {
  LLVMValueRef all = roc_cg_i64(w->cg, by.count);
  for (unsigned i = 0; i < by.nfactors; i++) all = LLVMBuildMul(w->b, all, by.factors[i], "");
  return all;
}

static void rewrite(cpu_rewriter *w, const cpu_access *a, cpu_stride by) {
  LLVMBuilderRef b = w->b;
  bool loads = LLVMGetTypeKind(LLVMTypeOf(a->call)) == LLVMVectorTypeKind;
  LLVMValueRef first = cpu_first_place(w, a->places, a->call), distance = cpu_distance(w, by);
  LLVMValueRef all = loads ? LLVMGetPoison(LLVMTypeOf(a->call)) : LLVMGetOperand(a->call, 0);
  for (unsigned i = 0; i < a->count; i++) {
    LLVMValueRef place = cpu_place_of(w, first, distance, i), lane = roc_cg_i32(w->cg, (int)i), one;
    if (loads) {
      one = LLVMBuildLoad2(b, a->type, place, "");
      all = LLVMBuildInsertElement(b, all, one, lane, "");
    } else {
      one = LLVMBuildStore(b, LLVMBuildExtractElement(b, all, lane, ""), place);
    }
    LLVMSetAlignment(one, a->alignment);
  }
  LLVMValueRef call = a->call;
  if (loads) LLVMReplaceAllUsesWith(call, all);
  LLVMInstructionEraseFromParent(call);
}

/* A counter whose vector has no use but itself. */
static void drop_counter(LLVMValueRef phi) {
  unsigned first;
  LLVMValueRef step, next, user;
  if (!find_counter(phi, &first, &step)) return;
  next = LLVMGetIncomingValue(phi, 1 - first);
  for (LLVMUseRef use = LLVMGetFirstUse(phi); use; use = LLVMGetNextUse(use)) {
    user = LLVMGetUser(use);
    if (user != next) return;
  }
  for (LLVMUseRef use = LLVMGetFirstUse(next); use; use = LLVMGetNextUse(use)) {
    if (LLVMGetUser(use) != phi) return;
  }
  LLVMReplaceAllUsesWith(phi, LLVMGetPoison(LLVMTypeOf(phi)));
  LLVMInstructionEraseFromParent(phi);
  LLVMInstructionEraseFromParent(next);
}

/* What only the addresses took: uses before what they use. */
static void drop_unused(LLVMValueRef fn) {
  for (LLVMBasicBlockRef block = LLVMGetLastBasicBlock(fn); block;
       block = LLVMGetPreviousBasicBlock(block)) {
    for (LLVMValueRef inst = LLVMGetLastInstruction(block), before; inst; inst = before) {
      before = LLVMGetPreviousInstruction(inst);
      bool is_vector = LLVMGetTypeKind(LLVMTypeOf(inst)) == LLVMVectorTypeKind;
      bool computes = LLVMIsABinaryOperator(inst) || LLVMIsAGetElementPtrInst(inst);
      if (is_vector && computes && !LLVMGetFirstUse(inst)) LLVMInstructionEraseFromParent(inst);
    }
  }
}

static bool part_strided(cpu_rewriter *w, LLVMValueRef fn) {
  bool is_changed = false;
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn); block;
       block = LLVMGetNextBasicBlock(block)) {
    for (LLVMValueRef inst = LLVMGetFirstInstruction(block), next; inst; inst = next) {
      next = LLVMGetNextInstruction(inst);
      cpu_access a;
      cpu_stride by;
      if (!cpu_find_access(inst, &a) || !a.is_whole ||
          !cpu_stride_of_places(w, a.places, CPU_STRIDE_DEPTH, &by))
        continue;
      rewrite(w, &a, by);
      is_changed = true;
    }
  }
  return is_changed;
}

/* Whether the module has a function that gathers or scatters: most have none. */
static bool has_any(roc_cg *cg) {
  unsigned gather = LLVMLookupIntrinsicID("llvm.masked.gather", strlen("llvm.masked.gather"));
  unsigned scatter = LLVMLookupIntrinsicID("llvm.masked.scatter", strlen("llvm.masked.scatter"));
  for (LLVMValueRef fn = LLVMGetFirstFunction(cg->mod); fn; fn = LLVMGetNextFunction(fn)) {
    unsigned id = LLVMGetIntrinsicID(fn);
    if (id && (id == gather || id == scatter)) return true;
  }
  return false;
}

bool cpu_rewrite_accesses(roc_cg *cg, bool (*rewrite_function)(cpu_rewriter *w, LLVMValueRef fn)) {
  if (!has_any(cg)) return true;
  cpu_rewriter w = {.cg = cg, .b = LLVMCreateBuilderInContext(cg->ctx)};
  for (LLVMValueRef fn = LLVMGetFirstFunction(cg->mod); fn; fn = LLVMGetNextFunction(fn)) {
    roc_vec_clear(&w.counters);
    if (!rewrite_function(&w, fn)) continue;
    drop_unused(fn);
    for (uint32_t i = 0; i < w.counters.count; i++) drop_counter(w.counters.items[i].phi);
  }
  LLVMDisposeBuilder(w.b);
  roc_vec_deinit(&w.counters);
  return !w.failed;
}

bool cpu_part_strided(roc_cg *cg) {
  return cpu_rewrite_accesses(cg, part_strided);
}
