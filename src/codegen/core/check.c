/* Checks and prints: what a kernel reports through the fault record and the print buffer
 * (base/site.h). */
#include "codegen/core/cg.h"

static LLVMValueRef field_at(roc_cg *cg, LLVMValueRef base, uint64_t offset) {
  return roc_cg_byte_offset(cg, base, roc_cg_i64(cg, (int64_t)offset));
}

static unsigned system_scope(roc_cg *cg) {
  const char *scope = cg->target->system_scope;
  return LLVMGetSyncScopeID(cg->ctx, scope, __builtin_strlen(scope));
}

static LLVMValueRef add_u32(roc_cg *cg, LLVMValueRef base, uint64_t offset, LLVMValueRef amount) {
  return LLVMBuildAtomicRMWSyncScope(cg->b, LLVMAtomicRMWBinOpAdd, field_at(cg, base, offset),
                                     amount, LLVMAtomicOrderingMonotonic, system_scope(cg));
}

static void mark_failed(roc_cg *cg, LLVMValueRef record) {
  LLVMValueRef state = field_at(cg, record, offsetof(roc_fault_record, state));
  LLVMValueRef store = LLVMBuildStore(cg->b, roc_cg_i32(cg, 1), state);
  LLVMSetOrdering(store, LLVMAtomicOrderingMonotonic);
  LLVMSetAtomicSyncScopeID(store, system_scope(cg));
}

/* Where the fields are written, by the item that does so for others or for itself. */
static void fill_record(roc_cg *cg, LLVMValueRef record, LLVMValueRef site, LLVMValueRef ids[3],
                        LLVMValueRef *values, unsigned nvalues) {
  LLVMBuildStore(cg->b, site, field_at(cg, record, offsetof(roc_fault_record, site)));
  for (unsigned d = 0; d < 3; d++) {
    LLVMBuildStore(cg->b, ids[d], field_at(cg, record, offsetof(roc_fault_record, item) + 8 * d));
  }
  for (unsigned i = 0; i < nvalues; i++) {
    LLVMBuildStore(cg->b, values[i],
                   field_at(cg, record, offsetof(roc_fault_record, values) + 8 * i));
  }
}

void roc_cg_record_fault(roc_cg *cg, LLVMValueRef site, LLVMValueRef ids[3], LLVMValueRef *values,
                         unsigned nvalues) {
  LLVMBasicBlockRef fill = roc_cg_block(cg, "fault.fill"), done = roc_cg_block(cg, "fault.done");
  LLVMValueRef record = cg->fault, count = roc_cg_i32(cg, 1);
  cg->has_fault = true;
  if (cg->target->elect_lane) {
    LLVMBasicBlockRef chosen = roc_cg_block(cg, "fault.chosen");
    LLVMBuildCondBr(cg->b, cg->target->elect_lane(cg, &record, &count), chosen, done);
    roc_cg_at(cg, chosen);
  }
  LLVMValueRef before = add_u32(cg, record, offsetof(roc_fault_record, count), count);
  mark_failed(cg, record);
  LLVMValueRef is_first = LLVMBuildICmp(cg->b, LLVMIntEQ, before, roc_cg_i32(cg, 0), "");
  LLVMBuildCondBr(cg->b, is_first, fill, done);
  roc_cg_at(cg, fill);
  fill_record(cg, record, site, ids, values, nvalues);
  LLVMBuildBr(cg->b, done);
  roc_cg_at(cg, done);
}

static void record_item(roc_cg *cg, LLVMValueRef site, LLVMValueRef *values, unsigned nvalues) {
  LLVMValueRef ids[3];
  for (unsigned d = 0; d < 3; d++) ids[d] = cg->target->launch_value(cg, ROC_IR_GLOBAL_ID, d);
  roc_cg_record_fault(cg, site, ids, values, nvalues);
}

static void record_here(roc_cg *cg, LLVMValueRef site, LLVMValueRef *values, unsigned nvalues) {
  record_item(cg, site, values, nvalues);
  LLVMBuildBr(cg->b, cg->exit);
}

void roc_cg_share_faults(roc_cg *cg, roc_cg_shared_fault *shared) {
  LLVMBasicBlockRef here = LLVMGetInsertBlock(cg->b);
  shared->block = roc_cg_block(cg, "fault");
  roc_cg_at(cg, shared->block);
  shared->site = LLVMBuildPhi(cg->b, cg->t.i32, "");
  for (int i = 0; i < ROC_CG_SHARED_VALUES; i++) {
    shared->values[i] = LLVMBuildPhi(cg->b, cg->t.i64, "");
  }
  roc_cg_at(cg, here);
  cg->shared_fault = shared;
}

void roc_cg_end_shared_faults(roc_cg *cg) {
  roc_cg_shared_fault *shared = cg->shared_fault;
  LLVMBasicBlockRef here = LLVMGetInsertBlock(cg->b);
  cg->shared_fault = NULL;
  if (LLVMCountIncoming(shared->site) == 0) {
    LLVMDeleteBasicBlock(shared->block);
    return;
  }
  roc_cg_at(cg, shared->block);
  record_here(cg, shared->site, shared->values, ROC_CG_SHARED_VALUES);
  roc_cg_at(cg, here);
}

/* Values a site does not have are not looked at. */
static void go_to_shared(roc_cg *cg, uint32_t site, LLVMValueRef *values, unsigned nvalues) {
  const roc_cg_shared_fault *shared = cg->shared_fault;
  LLVMBasicBlockRef from = LLVMGetInsertBlock(cg->b);
  LLVMValueRef number = roc_cg_i32(cg, site), none = roc_cg_i64(cg, 0);
  LLVMAddIncoming(shared->site, &number, &from, 1);
  for (unsigned i = 0; i < ROC_CG_SHARED_VALUES; i++) {
    LLVMAddIncoming(shared->values[i], i < nvalues ? &values[i] : &none, &from, 1);
  }
  LLVMBuildBr(cg->b, shared->block);
}

void roc_cg_fail(roc_cg *cg, uint32_t site, LLVMValueRef *values, unsigned nvalues) {
  if (cg->target->fail) {
    cg->target->fail(cg, site, values, nvalues);
    return;
  }
  if (cg->shared_fault && nvalues <= ROC_CG_SHARED_VALUES) {
    go_to_shared(cg, site, values, nvalues);
    return;
  }
  record_here(cg, roc_cg_i32(cg, site), values, nvalues);
}

/* The operands from `first` on, as record bits. */
static unsigned record_values(roc_cg *cg, const roc_ir_inst *inst, uint32_t first,
                              LLVMValueRef values[ROC_SITE_MAX_VALUES]) {
  unsigned count = 0;
  for (uint32_t i = first; i < inst->nargs && count < ROC_SITE_MAX_VALUES; i++) {
    const roc_ir_inst *source = &cg->ir->insts.items[roc_ir_arg(cg->ir, inst, i)];
    values[count++] =
        roc_cg_record_bits(cg, (roc_value_type)source->type, roc_cg_operand(cg, inst, i));
  }
  return count;
}

static LLVMValueRef fits_integer(roc_cg *cg, LLVMValueRef f) {
  LLVMTypeRef type = LLVMTypeOf(f);
  LLVMValueRef above = LLVMBuildFCmp(cg->b, LLVMRealOGE, f, LLVMConstReal(type, -0x1p63), "");
  LLVMValueRef below = LLVMBuildFCmp(cg->b, LLVMRealOLT, f, LLVMConstReal(type, 0x1p63), "");
  return LLVMBuildAnd(cg->b, above, below, "");
}

LLVMValueRef roc_cg_check_holds(roc_cg *cg, const roc_ir_inst *inst) {
  LLVMValueRef x = roc_cg_operand(cg, inst, 0);
  switch (inst->op) {
    case ROC_IR_CHECK_INDEX: return roc_cg_index_fits(cg, inst, x);
    case ROC_IR_CHECK_NONZERO: return LLVMBuildICmp(cg->b, LLVMIntNE, x, roc_cg_i64(cg, 0), "");
    case ROC_IR_CHECK_INT: return fits_integer(cg, x);
    default: return x;
  }
}

unsigned roc_cg_check_values(roc_cg *cg, const roc_ir_inst *inst,
                             LLVMValueRef values[ROC_SITE_MAX_VALUES]) {
  switch (inst->op) {
    case ROC_IR_CHECK_INDEX:
      values[0] = roc_cg_operand(cg, inst, 0);
      values[1] = roc_cg_extent(cg, inst->aux, (uint32_t)inst->k.i);
      return 2;
    case ROC_IR_CHECK_NONZERO: return 0;
    default: return record_values(cg, inst, inst->op == ROC_IR_CHECK, values);
  }
}

void roc_cg_check(roc_cg *cg, uint32_t id) {
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  LLVMValueRef values[ROC_SITE_MAX_VALUES];
  if (inst->op == ROC_IR_FAIL) {
    roc_cg_fail(cg, inst->aux2, values, roc_cg_check_values(cg, inst, values));
    return;
  }
  LLVMBasicBlockRef fail = roc_cg_block(cg, "fail"), ok = roc_cg_block(cg, "ok");
  roc_cg_branch_likely(cg, roc_cg_check_holds(cg, inst), ok, fail);
  roc_cg_at(cg, fail);
  roc_cg_fail(cg, inst->aux2, values, roc_cg_check_values(cg, inst, values));
  roc_cg_at(cg, ok);
}

void roc_cg_note_fault(roc_cg *cg, const roc_ir_inst *inst) {
  LLVMValueRef values[ROC_SITE_MAX_VALUES];
  unsigned count = record_values(cg, inst, 0, values);
  record_item(cg, roc_cg_i32(cg, inst->aux2), values, count);
}

void roc_cg_print(roc_cg *cg, const roc_ir_inst *inst) {
  LLVMValueRef values[ROC_SITE_MAX_VALUES];
  unsigned count = record_values(cg, inst, 0, values);
  LLVMValueRef nbytes = roc_cg_i32(cg, 8 + 8 * count);
  LLVMBasicBlockRef fits = roc_cg_block(cg, "print"), lost = roc_cg_block(cg, "print.lost");
  LLVMBasicBlockRef done = roc_cg_block(cg, "print.done");
  LLVMValueRef capacity = LLVMBuildLoad2(
      cg->b, cg->t.i32, field_at(cg, cg->print, offsetof(roc_print_buffer, capacity)), "");
  LLVMValueRef begin = add_u32(cg, cg->print, offsetof(roc_print_buffer, used), nbytes);
  LLVMValueRef wide = LLVMBuildZExt(cg->b, begin, cg->t.i64, "");
  LLVMValueRef end = LLVMBuildAdd(cg->b, wide, roc_cg_i64(cg, 8 + 8 * (int64_t)count), "");
  LLVMValueRef limit = LLVMBuildZExt(cg->b, capacity, cg->t.i64, "");
  LLVMBuildCondBr(cg->b, LLVMBuildICmp(cg->b, LLVMIntULE, end, limit, ""), fits, lost);
  roc_cg_at(cg, lost);
  add_u32(cg, cg->print, offsetof(roc_print_buffer, lost), roc_cg_i32(cg, 1));
  LLVMBuildBr(cg->b, done);
  roc_cg_at(cg, fits);
  LLVMValueRef record =
      roc_cg_byte_offset(cg, field_at(cg, cg->print, offsetof(roc_print_buffer, data)), wide);
  LLVMBuildStore(cg->b, roc_cg_i32(cg, inst->aux2), record);
  LLVMBuildStore(cg->b, roc_cg_i32(cg, count), field_at(cg, record, 4));
  for (unsigned i = 0; i < count; i++) {
    LLVMBuildStore(cg->b, values[i], field_at(cg, record, 8 + 8 * i));
  }
  LLVMBuildBr(cg->b, done);
  roc_cg_at(cg, done);
}
