/* Control flow of one work-item: structured regions become basic blocks.
 *
 * On a GPU this is the whole kernel; on the CPU it is the body of an item loop, and what a barrier
 * cuts is handled above (cpu/regions.c).  Invariant: after an instruction that leaves its region
 * the current block is ended, and the rest of the list is not emitted. */
#include <llvm-c/DebugInfo.h>
#include <string.h>

#include "codegen/core/cg.h"
#include "ir/check_elimination.h"
#include "ir/layout.h"
#include "ir/walk.h"

enum {
  MAX_UNROLLED = 12288,        /* instructions of the IR, some ten for each that is executed */
  MAX_REGISTER_ELEMENTS = 128, /* of a private array that may be in registers */
  SHORT_LOOP = 8,              /* rounds, of windows and components */
  MAX_SHORT = 1024,            /* instructions of all rounds of such a loop */
  LONG_LOOP = 64,
  JOINED_ROUNDS = 4,
  MAX_JOINED = 64, /* instructions of a round that is joined with others */
  OVERLAPPED_ROUNDS = 8,
  MAX_OVERLAPPED = 24 /* instructions of a round that asks memory together with others */
};

static ROC_IR_WALKS bool is_accessed_outside(const roc_cg *cg, uint32_t array, uint32_t control) {
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, cg->ir, 0) {
    bool is_access = w.inst->op == ROC_IR_LOAD || w.inst->op == ROC_IR_STORE;
    if (is_access && w.inst->aux == array && !roc_ir_walk_is_inside(&w, control)) return true;
  }
  return false;
}

/* Each version of a kernel has private arrays of its own: so the one without checks can have them
 * in registers, whatever the other does. */
static void forget_private_arrays(roc_cg *cg, uint32_t versions) {
  for (uint32_t a = 0; a < cg->ir->arrays.count; a++) {
    const roc_ir_array *array = &cg->ir->arrays.items[a];
    if (array->kind != ROC_IR_ARRAY_PRIVATE || !cg->target->unrolls) continue;
    bool is_small = (uint64_t)roc_ir_array_size(array) <= MAX_REGISTER_ELEMENTS;
    if (is_small && !is_accessed_outside(cg, a, versions)) cg->arrays[a].base = NULL;
  }
}

/* By the wavefront as a whole, where the target has such. */
static void emit_if_all(roc_cg *cg, uint32_t id) {
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  LLVMValueRef cond = roc_cg_operand(cg, inst, 0);
  LLVMBasicBlockRef yes = roc_cg_block(cg, "all"), no = roc_cg_block(cg, "some");
  LLVMBasicBlockRef end = roc_cg_block(cg, "end");
  if (cg->target->holds_for_all) cond = cg->target->holds_for_all(cg, cond);
  roc_cg_branch_likely(cg, cond, yes, no);
  roc_cg_at(cg, yes);
  roc_cg_region(cg, inst->k.region[0]);
  roc_cg_goto(cg, end);
  roc_cg_at(cg, no);
  cg->nsome++;
  roc_cg_region(cg, inst->k.region[1]);
  cg->nsome--;
  roc_cg_goto(cg, end);
  roc_cg_at(cg, end);
}

static void emit_if(roc_cg *cg, uint32_t id) {
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  LLVMValueRef cond = roc_cg_operand(cg, inst, 0);
  roc_cg_check_divergence(cg, id, cond);
  bool has_else = cg->ir->regions.items[inst->k.region[1]].count > 0;
  LLVMBasicBlockRef yes = roc_cg_block(cg, "then"), end = roc_cg_block(cg, "end");
  LLVMBasicBlockRef no = has_else ? roc_cg_block(cg, "else") : end;
  LLVMBuildCondBr(cg->b, cond, yes, no);
  roc_cg_at(cg, yes);
  roc_cg_region(cg, inst->k.region[0]);
  roc_cg_goto(cg, end);
  if (has_else) {
    roc_cg_at(cg, no);
    if (inst->aux == ROC_IR_IF_VERSIONS) forget_private_arrays(cg, id);
    roc_cg_region(cg, inst->k.region[1]);
    roc_cg_goto(cg, end);
  }
  roc_cg_at(cg, end);
}

static void emit_if_of_kind(roc_cg *cg, uint32_t id) {
  bool shares = cg->ir->insts.items[id].aux == ROC_IR_IF_ALL;
  if (roc_cg_is_versioned_kernel(cg, id)) {
    roc_cg_kernel_versions(cg, id);
  } else if (roc_cg_is_final_choice(cg, id)) {
    roc_cg_final_choice(cg, id);
  } else {
    shares ? emit_if_all(cg, id) : emit_if(cg, id);
  }
}

static void emit_block(roc_cg *cg, uint32_t id) {
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  LLVMBasicBlockRef end = roc_cg_block(cg, "end");
  cg->exits[id].leave = end;
  roc_cg_region(cg, inst->k.region[0]);
  roc_cg_goto(cg, end);
  roc_cg_at(cg, end);
}

static void emit_loop(roc_cg *cg, uint32_t id) {
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  LLVMBasicBlockRef body = roc_cg_block(cg, "loop"), end = roc_cg_block(cg, "end");
  cg->exits[id] = (roc_cg_exits){.leave = end, .next = body};
  LLVMBuildBr(cg->b, body);
  roc_cg_at(cg, body);
  roc_cg_region(cg, inst->k.region[0]);
  roc_cg_goto(cg, body);
  roc_cg_at(cg, end);
}

/* Whether the value may be `n`; what was widened holds no integer that takes 64 bits. */
static bool may_be(LLVMValueRef value, int64_t n) {
  if (LLVMIsAConstantInt(value)) return LLVMConstIntGetSExtValue(value) == n;
  bool was_widened = LLVMIsAZExtInst(value) || LLVMIsASExtInst(value);
  return !was_widened || (n >= INT32_MIN && n <= INT32_MAX);
}

/* Whether a loop from `first` to `last` may go through all integers, 2^64 of them. */
static bool may_be_endless(LLVMValueRef first, LLVMValueRef last, LLVMValueRef step) {
  bool may_be_by_one = may_be(step, 1) || may_be(step, -1);
  return may_be_by_one && ((may_be(first, INT64_MIN) && may_be(last, INT64_MAX)) ||
                           (may_be(first, INT64_MAX) && may_be(last, INT64_MIN)));
}

/* forprep of lvm.c: the count is fixed first, as an unsigned number that cannot overflow; 0 when
 * the loop does not run. That of all integers counts as one less: it never ends. */
LLVMValueRef roc_cg_for_count(roc_cg *cg, LLVMValueRef first, LLVMValueRef last,
                              LLVMValueRef step) {
  LLVMBuilderRef b = cg->b;
  LLVMValueRef zero = roc_cg_i64(cg, 0), one = roc_cg_i64(cg, 1);
  LLVMValueRef up = LLVMBuildICmp(b, LLVMIntSGT, step, zero, "");
  LLVMValueRef runs_up = LLVMBuildICmp(b, LLVMIntSLE, first, last, "");
  LLVMValueRef runs_down = LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntSLT, step, zero, ""),
                                        LLVMBuildICmp(b, LLVMIntSGE, first, last, ""), "");
  LLVMValueRef runs = LLVMBuildSelect(b, up, runs_up, runs_down, "");
  LLVMValueRef span_up = LLVMBuildSub(b, last, first, "");
  LLVMValueRef span_down = LLVMBuildSub(b, first, last, "");
  LLVMValueRef span = LLVMBuildSelect(b, up, span_up, span_down, "");
  LLVMValueRef size = LLVMBuildSelect(b, up, step, LLVMBuildNeg(b, step, ""), "");
  LLVMValueRef is_zero = LLVMBuildICmp(b, LLVMIntEQ, size, zero, "");
  size = LLVMBuildSelect(b, is_zero, one, size, "");
  LLVMValueRef behind[2] = {LLVMBuildUDiv(b, span, size, ""), roc_cg_i64(cg, -2)};
  if (may_be_endless(first, last, step)) {
    behind[0] = roc_cg_intrinsic(cg, "llvm.umin", &cg->t.i64, 1, behind, 2);
  }
  return LLVMBuildSelect(b, runs, LLVMBuildAdd(b, behind[0], one, ""), zero, "");
}

static ROC_IR_WALKS bool has_checks(const roc_cg *cg, uint32_t region) {
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, cg->ir, region) {
    if (w.inst->op == ROC_IR_CHECK_INDEX) return true;
  }
  return false;
}

/* `count`: how many rounds become one; 0 where the word needs no number. */
static void tell_unroller(roc_cg *cg, LLVMValueRef branch, const char *what, uint32_t count) {
  LLVMMetadataRef words[2] = {LLVMMDStringInContext2(cg->ctx, what, strlen(what)),
                              LLVMValueAsMetadata(roc_cg_i32(cg, count))};
  LLVMMetadataRef self = LLVMTemporaryMDNode(cg->ctx, NULL, 0);
  LLVMMetadataRef parts[2] = {self, LLVMMDNodeInContext2(cg->ctx, words, count ? 2 : 1)};
  LLVMMetadataRef loop = LLVMMDNodeInContext2(cg->ctx, parts, 2);
  LLVMMetadataReplaceAllUsesWith(self, loop);
  LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(cg->ctx, "llvm.loop", 9),
                  LLVMMetadataAsValue(cg->ctx, loop));
}

void roc_cg_keep_rolled(roc_cg *cg, LLVMValueRef branch) {
  tell_unroller(cg, branch, "llvm.loop.unroll.disable", 0);
}

void roc_cg_keep_single(roc_cg *cg, LLVMValueRef branch) {
  tell_unroller(cg, branch, "llvm.loop.interleave.count", 1);
}

void roc_cg_unroll_whole(roc_cg *cg, LLVMValueRef branch) {
  tell_unroller(cg, branch, "llvm.loop.unroll.full", 0);
}

/* The rounds of a loop with constant bounds; 0: they are not known, or many. */
static uint64_t constant_rounds(const roc_cg *cg, const roc_ir_inst *loop) {
  int64_t bounds[3], span;
  for (uint32_t n = 0; n < 3; n++) {
    const roc_ir_inst *bound = &cg->ir->insts.items[roc_ir_arg(cg->ir, loop, n)];
    if (bound->op != ROC_IR_CONST) return 0;
    bounds[n] = bound->k.i;
  }
  if (bounds[2] <= 0 || __builtin_sub_overflow(bounds[1], bounds[0], &span) || span < 0) return 0;
  uint64_t rounds = (uint64_t)span / (uint64_t)bounds[2] + 1;
  return rounds <= MAX_UNROLLED ? rounds : 0;
}

/* The instructions of a region when its loops are unrolled; above MAX_UNROLLED where there is one
 * that cannot be. */
static uint64_t unrolled_size(const roc_cg *cg, uint32_t region) {
  const roc_ir_ids *ids = &cg->ir->regions.items[region];
  uint64_t size = 0;
  for (uint32_t i = 0; i < ids->count && size <= MAX_UNROLLED; i++) {
    const roc_ir_inst *inst = &cg->ir->insts.items[ids->items[i]];
    if (inst->op == ROC_IR_LOOP || inst->op == ROC_IR_BARRIER) return MAX_UNROLLED + 1;
    uint64_t rounds = inst->op == ROC_IR_FOR ? constant_rounds(cg, inst) : 1, inner = 1;
    for (uint32_t n = 0; n < roc_ir_region_count(inst); n++) {
      inner += unrolled_size(cg, inst->k.region[n]);
    }
    size += rounds ? rounds * inner : MAX_UNROLLED + 1;
  }
  return size;
}

static ROC_IR_WALKS bool uses_private_array(const roc_cg *cg, uint32_t region) {
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, cg->ir, region) {
    bool is_access = w.inst->op == ROC_IR_LOAD || w.inst->op == ROC_IR_STORE;
    if (is_access && cg->ir->arrays.items[w.inst->aux].kind == ROC_IR_ARRAY_PRIVATE) return true;
  }
  return false;
}

/* Whether there are no loops and conditions in the region, and at most so many instructions. */
static bool is_straight(const roc_cg *cg, uint32_t region, uint32_t most) {
  uint32_t count = cg->ir->regions.items[region].count;
  return count <= most && unrolled_size(cg, region) == count;
}

static bool loads_argument(const roc_cg *cg, uint32_t region) {
  const roc_ir_ids *ids = &cg->ir->regions.items[region];
  for (uint32_t i = 0; i < ids->count; i++) {
    const roc_ir_inst *inst = &cg->ir->insts.items[ids->items[i]];
    bool is_load = inst->op == ROC_IR_LOAD;
    if (is_load && cg->ir->arrays.items[inst->aux].kind == ROC_IR_ARRAY_PARAM) return true;
  }
  return false;
}

/* Private arrays become registers where all their indices are constants, and what one round loads
 * is on its way while the one before computes. What a short loop computes of its counter is known,
 * which LLVM's estimate of its size does not see. Of a long loop of straight code a few rounds share
 * the counter's instructions; LLVM does that with smaller ones. Short rounds that load from an
 * argument, of a loop of unknown length, go together, so that their loads are on their way at once:
 * how many is said here, as later compilers would go by the registers that code around it takes. */
static void unroll(roc_cg *cg, const roc_ir_inst *loop, LLVMValueRef branch) {
  uint32_t body = loop->k.region[0];
  uint64_t rounds = constant_rounds(cg, loop), size = rounds ? unrolled_size(cg, body) : 0;
  bool is_short = rounds && rounds <= SHORT_LOOP && rounds * size <= MAX_SHORT;
  if (is_short || (rounds && rounds * size <= MAX_UNROLLED && uses_private_array(cg, body))) {
    roc_cg_unroll_whole(cg, branch);
  } else if (rounds >= LONG_LOOP && rounds % JOINED_ROUNDS == 0 &&
             is_straight(cg, body, MAX_JOINED)) {
    tell_unroller(cg, branch, "llvm.loop.unroll.count", JOINED_ROUNDS);
  } else if (!rounds && is_straight(cg, body, MAX_OVERLAPPED) && loads_argument(cg, body)) {
    tell_unroller(cg, branch, "llvm.loop.unroll.count", OVERLAPPED_ROUNDS);
  }
}

/* A loop's variable, or what is left to run of it, while code is made. */
typedef struct counting {
  LLVMValueRef runs;  /* whether the body is entered at all */
  LLVMValueRef first; /* of the variable, and of what is counted down, or NULL */
  LLVMValueRef count;
  LLVMValueRef last; /* NULL: the count decides */
  LLVMValueRef step;
  LLVMIntPredicate goes_on; /* next goes_on last */
  bool is_signed, wraps;    /* of the sum with the step */
  bool to_last;             /* it goes on until the variable is the last one */
  bool may_be_negative;     /* the variable, of 32 bits */
} counting;

/* In 32 bits the value after the last one does not wrap, or saturates, and no last one is that large:
 * so it is compared with the last one, and there is no count to be found, which takes a division,
 * nor to be kept. */
static counting count_narrow(roc_cg *cg, const roc_ir_inst *inst, uint8_t facts) {
  bool is_down = facts & ROC_IR_NARROW_SIGNED;
  counting c = {.is_signed = is_down,
                .wraps = facts & ROC_IR_WRAPS,
                .goes_on = is_down ? LLVMIntSGE : LLVMIntULE};
  c.first = roc_cg_take_low(cg, roc_cg_operand(cg, inst, 0));
  c.last = roc_cg_take_low(cg, roc_cg_operand(cg, inst, 1));
  c.step = roc_cg_take_low(cg, roc_cg_operand(cg, inst, 2));
  /* A sum that saturates costs no more, and keeps LLVM from carrying addresses of 64 bits. */
  if (!is_down && cg->target->adds_narrow_offsets) c.wraps |= !LLVMIsAConstantInt(c.step);
  LLVMIntPredicate enters = facts & ROC_IR_INT32 ? LLVMIntSLE : c.goes_on;
  c.runs = LLVMBuildICmp(cg->b, enters, c.first, c.last, "");
  return c;
}

/* The halves tell apart all values from the first to the last one, if the loop runs at all. */
static counting count_low(roc_cg *cg, const roc_ir_inst *inst, uint8_t facts) {
  LLVMValueRef bounds[3];
  for (uint32_t n = 0; n < 3; n++) bounds[n] = roc_cg_operand(cg, inst, n);
  bool is_down = LLVMConstIntGetSExtValue(roc_cg_constant(bounds[2])) < 0;
  counting c = {.goes_on = is_down ? LLVMIntSGE : LLVMIntSLE,
                .is_signed = true,
                .to_last = facts & ROC_IR_LOW,
                .may_be_negative = true};
  c.runs = LLVMBuildICmp(cg->b, c.goes_on, bounds[0], bounds[1], "");
  c.first = roc_cg_take_low(cg, bounds[0]);
  c.last = roc_cg_take_low(cg, bounds[1]);
  c.step = roc_cg_take_low(cg, bounds[2]);
  return c;
}

static counting count_wide(roc_cg *cg, const roc_ir_inst *inst) {
  counting c = {
      .first = roc_cg_operand(cg, inst, 0), .step = roc_cg_operand(cg, inst, 2), .is_signed = true};
  c.count = roc_cg_for_count(cg, c.first, roc_cg_operand(cg, inst, 1), c.step);
  c.runs = LLVMBuildICmp(cg->b, LLVMIntNE, c.count, roc_cg_i64(cg, 0), "");
  return c;
}

/* At the end of the body: the variable's next value, unused after the last, and whether it runs. */
static LLVMValueRef count_on(roc_cg *cg, const counting *c, LLVMValueRef value, LLVMValueRef left,
                             LLVMValueRef *next) {
  LLVMValueRef addends[2] = {value, c->step};
  if (c->to_last) {
    *next = LLVMBuildAdd(cg->b, value, c->step, "");
    return LLVMBuildICmp(cg->b, LLVMIntNE, value, c->last, "");
  }
  *next = c->wraps ? roc_cg_intrinsic(cg, "llvm.uadd.sat", &cg->t.i32, 1, addends, 2)
                   : LLVMBuildAdd(cg->b, value, c->step, "");
  if (LLVMIsABinaryOperator(*next)) {
    c->is_signed ? LLVMSetNSW(*next, 1) : LLVMSetNUW(*next, 1);
  }
  if (c->last) return LLVMBuildICmp(cg->b, c->goes_on, *next, c->last, "");
  return LLVMBuildICmp(cg->b, LLVMIntNE, left, roc_cg_i64(cg, 0), "");
}

/* The IF by which a round ends the loop early, if it comes to that in any case, and after it to
 * nothing; NONE: there is none.  Where items meet in the loop it is checked whether they leave
 * together. */
static ROC_IR_WALKS uint32_t last_exit(const roc_cg *cg, uint32_t loop) {
  uint32_t region = cg->ir->insts.items[loop].k.region[0];
  const roc_ir_ids *ids = &cg->ir->regions.items[region];
  if (ids->count == 0 || !cg->target->facts->defers_checks) return ROC_IR_NONE;
  const roc_ir_inst *last = &cg->ir->insts.items[roc_vec_last(ids)];
  if (!roc_ir_only_leaves(cg->ir, last)) return ROC_IR_NONE;
  const roc_ir_ids *leaves = &cg->ir->regions.items[last->k.region[0]];
  if (cg->ir->insts.items[roc_vec_last(leaves)].aux != loop) return ROC_IR_NONE;
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, cg->ir, region) {
    bool meets = roc_ir_op_table[w.inst->op].flags & (ROC_IRF_CUT_GROUP | ROC_IRF_CUT_WAVE);
    if (meets || (w.inst->op == ROC_IR_NEXT && w.inst->aux == loop)) return ROC_IR_NONE;
  }
  return roc_vec_last(ids);
}

/* Result: whether the loop is left after the round, which one branch decides together with the
 * count; NULL: the count alone does. */
static LLVMValueRef emit_round(roc_cg *cg, uint32_t loop) {
  uint32_t region = cg->ir->insts.items[loop].k.region[0], exit = last_exit(cg, loop);
  if (exit == ROC_IR_NONE) {
    roc_cg_region(cg, region);
    return NULL;
  }
  const roc_ir_ids *ids = &cg->ir->regions.items[region];
  roc_cg_insts(cg, ids->items, ids->count - 1);
  if (!roc_cg_is_open(cg)) return NULL;
  return roc_cg_operand(cg, &cg->ir->insts.items[exit], 0);
}

static void emit_for(roc_cg *cg, uint32_t id) {
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  uint8_t facts = cg->narrow ? cg->narrow[id] : 0;
  /* Without narrow offsets addresses are wide, and what moves them, unless it may be negative: then
   * it is carried in 32 bits, and offsets in arguments are computed in 32, too. */
  bool may_be_negative = !(facts & ROC_IR_NARROW) && cg->target->facts->is_simt;
  if (!cg->target->adds_narrow_offsets && !may_be_negative) facts = 0;
  counting c = facts & ROC_IR_NARROW                 ? count_narrow(cg, inst, facts)
               : facts & (ROC_IR_LOW | ROC_IR_INT32) ? count_low(cg, inst, facts)
                                                     : count_wide(cg, inst);
  roc_cg_check_divergence(cg, id, c.runs);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(cg->b);
  LLVMBasicBlockRef body = roc_cg_block(cg, "for"), next = roc_cg_block(cg, "next");
  LLVMBasicBlockRef end = roc_cg_block(cg, "end");
  cg->exits[id] = (roc_cg_exits){.leave = end, .next = next};
  LLVMBuildCondBr(cg->b, c.runs, body, end);
  roc_cg_at(cg, body);
  LLVMValueRef left = c.count ? LLVMBuildPhi(cg->b, cg->t.i64, "left") : NULL, left_next = NULL;
  LLVMValueRef value = LLVMBuildPhi(cg->b, LLVMTypeOf(c.first), cg->ir->vars.items[inst->aux].name);
  LLVMValueRef held = c.count             ? value
                      : c.may_be_negative ? LLVMBuildSExt(cg->b, value, cg->t.i64, "")
                                          : roc_cg_extend(cg, value, true);
  roc_cg_set_var(cg, inst->aux, held);
  bool was_narrow = cg->in_narrow_loop;
  cg->in_narrow_loop = c.may_be_negative;
  LLVMValueRef is_left = emit_round(cg, id);
  cg->in_narrow_loop = was_narrow;
  roc_cg_goto(cg, next);
  roc_cg_at(cg, next);
  if (left) left_next = LLVMBuildSub(cg->b, left, roc_cg_i64(cg, 1), "");
  LLVMValueRef value_next, again = count_on(cg, &c, value, left_next, &value_next);
  if (is_left) again = LLVMBuildAnd(cg->b, again, LLVMBuildNot(cg->b, is_left, ""), "");
  roc_cg_check_divergence(cg, id, again);
  next = LLVMGetInsertBlock(cg->b);
  LLVMValueRef branch = LLVMBuildCondBr(cg->b, again, body, end);
  if (cg->target->facts->is_simt && has_checks(cg, inst->k.region[0])) {
    roc_cg_keep_rolled(cg, branch); /* left anywhere: unrolled, its code would only multiply */
  } else if (cg->target->unrolls) {
    unroll(cg, inst, branch);
  } else if (cg->target->is_straightened && cg->target->is_straightened(cg, inst)) {
    roc_cg_unroll_whole(cg, branch);
  }
  LLVMBasicBlockRef blocks[2] = {before, next};
  if (left) LLVMAddIncoming(left, (LLVMValueRef[2]){c.count, left_next}, blocks, 2);
  LLVMAddIncoming(value, (LLVMValueRef[2]){c.first, value_next}, blocks, 2);
  roc_cg_at(cg, end);
}

/* Statements and everything that is no pure expression.  False when it is none of them. */
static bool emit_statement(roc_cg *cg, uint32_t id) {
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  LLVMValueRef args[4] = {NULL, NULL, NULL, NULL}, value;
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_GET: roc_cg_define(cg, id, roc_cg_get_var(cg, inst->aux)); return true;
    case ROC_IR_SET: roc_cg_set_var(cg, inst->aux, roc_cg_operand(cg, inst, 0)); return true;
    case ROC_IR_LOAD: roc_cg_define(cg, id, roc_cg_load_inst(cg, inst)); return true;
    case ROC_IR_STORE: roc_cg_store_inst(cg, inst); return true;
    case ROC_IR_ATOMIC:
      value = roc_cg_atomic(cg, inst);
      if (value) roc_cg_define(cg, id, value);
      return true;
    case ROC_IR_FENCE: cg->target->fence(cg, inst->k.i); return true;
    case ROC_IR_BARRIER:
    case ROC_IR_WAVE_BARRIER: cg->target->barrier(cg, inst); return true;
    case ROC_IR_WAVE:
      for (uint32_t i = 0; i < inst->nargs && i < 4; i++) args[i] = roc_cg_operand(cg, inst, i);
      roc_cg_define(cg, id, cg->target->wave(cg, inst, args));
      return true;
    case ROC_IR_CHECK_INDEX:
    case ROC_IR_CHECK_NONZERO:
    case ROC_IR_CHECK_INT:
    case ROC_IR_CHECK:
    case ROC_IR_FAIL: roc_cg_check(cg, id); return true;
    case ROC_IR_FAULT: roc_cg_note_fault(cg, inst); return true;
    case ROC_IR_PRINT: roc_cg_print(cg, inst); return true;
    case ROC_IR_IF: emit_if_of_kind(cg, id); return true;
    case ROC_IR_BLOCK: emit_block(cg, id); return true;
    case ROC_IR_LOOP: emit_loop(cg, id); return true;
    case ROC_IR_FOR: emit_for(cg, id); return true;
    case ROC_IR_LEAVE: roc_cg_goto(cg, cg->exits[inst->aux].leave); return true;
    case ROC_IR_NEXT: roc_cg_goto(cg, cg->exits[inst->aux].next); return true;
    case ROC_IR_RETURN: roc_cg_goto(cg, cg->exit); return true;
    default: return false;
  }
}

void roc_cg_inst(roc_cg *cg, uint32_t id) {
  if (cg->di) roc_cg_debug_place(cg, id);
  if (cg->target->intercept && cg->target->intercept(cg, id)) return;
  if (!emit_statement(cg, id)) roc_cg_define(cg, id, roc_cg_expr(cg, id));
}

void roc_cg_insts(roc_cg *cg, const uint32_t *ids, uint32_t count) {
  for (uint32_t i = 0; i < count && roc_cg_is_open(cg); i++) roc_cg_inst(cg, ids[i]);
}

void roc_cg_region(roc_cg *cg, uint32_t region) {
  const roc_ir_ids *ids = &cg->ir->regions.items[region];
  roc_cg_insts(cg, ids->items, ids->count);
  if (region && region == cg->last_region) roc_cg_end_region(cg);
}
