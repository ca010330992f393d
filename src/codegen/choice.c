/* A kernel that is there twice: the fast one behind a condition that the whole launch shares, the
 * slow one for when it does not hold (ir/version.h makes them, as the two ways of an IF that ends
 * the body).
 *
 * As an ordinary IF LLVM would keep masks to leave the one way and enter the other.  So the slow
 * kernel comes first, off the straight way, and what follows it finds nothing to do: the guard of
 * the fast kernel (`if i <= #y`) gets 0 for a bound, or, where there is no such guard, a flag is
 * tested.  The values that say so go through empty assembly, else LLVM would see through
 * them and make the IF again. */
#include "codegen/cg.h"
#include "ir/guard.h"

static const roc_ir_inst *inst_of(const roc_cg *cg, uint32_t id) {
  return &cg->ir->insts.items[id];
}

/* Made of extents, arguments, sizes and constants alone. */
static bool is_shared_by_launch(const roc_cg *cg, uint32_t id) {
  const roc_ir_inst *inst = inst_of(cg, id);
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_CONST:
    case ROC_IR_PARAM:
    case ROC_IR_EXTENT:
    case ROC_IR_GLOBAL_SIZE:
    case ROC_IR_LOCAL_SIZE:
    case ROC_IR_NUM_GROUPS: return true;
    case ROC_IR_ADD:
    case ROC_IR_MIN:
    case ROC_IR_LE:
    case ROC_IR_SELECT: break;
    default: return false;
  }
  for (uint32_t n = 0; n < inst->nargs; n++) {
    if (!is_shared_by_launch(cg, roc_ir_arg(cg->ir, inst, n))) return false;
  }
  return true;
}

bool roc_cg_is_choice(const roc_cg *cg, uint32_t id) {
  const roc_ir_ids *body = &cg->ir->regions.items[0];
  const roc_ir_inst *inst = inst_of(cg, id);
  return cg->narrow && cg->ir->check && inst->op == ROC_IR_IF && roc_vec_last(body) == id &&
         cg->ir->regions.items[inst->k.region[0]].count > 0 &&
         cg->ir->regions.items[inst->k.region[1]].count > 0 &&
         is_shared_by_launch(cg, roc_ir_arg(cg->ir, inst, 0));
}

/* The constant, as a uniform i32 of which LLVM knows nothing. */
static LLVMValueRef hide(roc_cg *cg, uint32_t constant) {
  LLVMTypeRef type = LLVMFunctionType(cg->t.i32, &cg->t.i32, 1, 0);
  LLVMValueRef value = roc_cg_i32(cg, constant);
  LLVMValueRef hidden = LLVMGetInlineAsm(type, "", 0, "=s,0", 4, 0, 0, LLVMInlineAsmDialectATT, 0);
  return LLVMBuildCall2(cg->b, type, hidden, &value, 1, "");
}

static bool at_least_one(const roc_cg *cg, uint32_t id) {
  const roc_ir_inst *inst = inst_of(cg, id);
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_GLOBAL_ID:
    case ROC_IR_LOCAL_ID:
    case ROC_IR_GROUP_ID: return true;
    case ROC_IR_CONST: return inst->type == ROC_VT_INT && inst->k.i >= 1;
    case ROC_IR_ADD:
      return (cg->narrow[id] & ROC_IR_NARROW) && (at_least_one(cg, roc_ir_arg(cg->ir, inst, 0)) ||
                                                  at_least_one(cg, roc_ir_arg(cg->ir, inst, 1)));
    default: return false;
  }
}

/* The bound's value where it is there before the kernel begins; else NULL. */
static LLVMValueRef early_value(roc_cg *cg, uint32_t id) {
  const roc_ir_inst *inst = inst_of(cg, id);
  if (inst->op == ROC_IR_PARAM) return cg->scalars[inst->aux];
  if (inst->op != ROC_IR_EXTENT) return NULL;
  return roc_cg_extent(cg, inst->aux, (uint32_t)inst->k.i);
}

/* The comparison `something >= 1 with a bound` that all effects of the region stand behind. */
static uint32_t find_guard(const roc_cg *cg, uint32_t region) {
  const roc_ir_ids *ids = &cg->ir->regions.items[region];
  uint32_t last = ids->count - 1;
  const roc_ir_inst *guarded = inst_of(cg, ids->items[last]);
  if (guarded->op != ROC_IR_IF || cg->ir->regions.items[guarded->k.region[1]].count) {
    return ROC_IR_NONE;
  }
  for (uint32_t i = 0; i < last; i++) {
    if (roc_ir_op_table[inst_of(cg, ids->items[i])->op].flags != ROC_IRF_PURE) return ROC_IR_NONE;
  }
  uint32_t guard = roc_ir_arg(cg->ir, guarded, 0);
  const roc_ir_inst *test = inst_of(cg, guard);
  bool compares = test->op == ROC_IR_LE && (cg->narrow[guard] & ROC_IR_NARROW);
  return compares && at_least_one(cg, roc_ir_arg(cg->ir, test, 0)) ? guard : ROC_IR_NONE;
}

/* Goes on in `to`, from the block that ends here with `here`, or from the slow kernel. */
static LLVMValueRef join(roc_cg *cg, LLVMBasicBlockRef from, LLVMValueRef here,
                         LLVMBasicBlockRef slow_end, LLVMValueRef nothing) {
  LLVMValueRef phi = LLVMBuildPhi(cg->b, cg->t.i32, "");
  LLVMAddIncoming(phi, &here, &from, 1);
  LLVMAddIncoming(phi, &nothing, &slow_end, 1);
  return phi;
}

/* The region, but that its guard compares with `bound`. */
static void emit_guarded(roc_cg *cg, uint32_t region, uint32_t guard, LLVMValueRef bound) {
  const roc_ir_ids *ids = &cg->ir->regions.items[region];
  for (uint32_t i = 0; i < ids->count; i++) {
    if (ids->items[i] != guard) {
      roc_cg_inst(cg, ids->items[i]);
      continue;
    }
    LLVMValueRef value = roc_cg_take_low(cg, roc_cg_operand(cg, inst_of(cg, guard), 0));
    cg->values[guard] = LLVMBuildICmp(cg->b, LLVMIntULE, value, bound, "");
  }
}

void roc_cg_choice(roc_cg *cg, uint32_t id) {
  const roc_ir_inst *inst = inst_of(cg, id);
  uint32_t region = inst->k.region[0], guard = find_guard(cg, region);
  LLVMValueRef bound = NULL, cond = roc_cg_operand(cg, inst, 0);
  if (guard != ROC_IR_NONE) {
    bound = early_value(cg, roc_ir_arg(cg->ir, inst_of(cg, guard), 1));
  }
  LLVMBasicBlockRef fast = roc_cg_block(cg, "fast"), slow = roc_cg_block(cg, "slow");
  LLVMBasicBlockRef exit = cg->exit, end = roc_cg_block(cg, "end");
  LLVMValueRef here = bound ? roc_cg_take_low(cg, bound) : hide(cg, 1);
  LLVMBasicBlockRef from = LLVMGetInsertBlock(cg->b);
  roc_cg_branch_likely(cg, cond, fast, slow);
  roc_cg_at(cg, slow);
  cg->exit = roc_cg_block(cg, "slow.end");
  roc_cg_shared_fault faults; /* it is there for the faults, and should not take long to compile */
  roc_cg_share_faults(cg, &faults);
  roc_cg_region(cg, inst->k.region[1]);
  roc_cg_end_shared_faults(cg);
  roc_cg_goto(cg, cg->exit);
  roc_cg_at(cg, cg->exit);
  LLVMBasicBlockRef slow_end = cg->exit;
  LLVMValueRef nothing = hide(cg, 0);
  LLVMBuildBr(cg->b, fast);
  cg->exit = end;
  roc_cg_at(cg, fast);
  LLVMValueRef joined = join(cg, from, here, slow_end, nothing);
  if (bound) {
    emit_guarded(cg, region, guard, joined);
  } else {
    LLVMBasicBlockRef body = roc_cg_block(cg, "body");
    LLVMValueRef runs = LLVMBuildICmp(cg->b, LLVMIntNE, joined, roc_cg_i32(cg, 0), "");
    LLVMBuildCondBr(cg->b, runs, body, end);
    roc_cg_at(cg, body);
    roc_cg_region(cg, region);
  }
  roc_cg_goto(cg, end);
  roc_cg_at(cg, end);
  cg->exit = exit;
}
