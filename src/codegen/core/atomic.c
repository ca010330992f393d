/* Atomics: relaxed, at device scope on global arrays and workgroup scope on shared ones.
 *
 * Where one thread runs the whole workgroup, shared memory needs no atomic instruction.  What LLVM
 * has no instruction for with our semantics (float min and max) is a compare-exchange loop. */
#include "codegen/core/cg.h"

typedef struct atomic_op {
  roc_ir_atomic kind;
  uint32_t array;
  roc_dtype dtype;
  LLVMTypeRef type; /* of an element */
  LLVMValueRef ptr;
  LLVMValueRef value[2]; /* as elements */
} atomic_op;

static const LLVMAtomicRMWBinOp int_ops[ROC_IR_ATOMIC_COUNT_] = {
    [ROC_IR_ATOMIC_ADD] = LLVMAtomicRMWBinOpAdd,
    [ROC_IR_ATOMIC_SUB] = LLVMAtomicRMWBinOpSub,
    [ROC_IR_ATOMIC_MIN] = LLVMAtomicRMWBinOpMin,
    [ROC_IR_ATOMIC_MAX] = LLVMAtomicRMWBinOpMax,
    [ROC_IR_ATOMIC_EXCH] = LLVMAtomicRMWBinOpXchg,
    [ROC_IR_ATOMIC_AND] = LLVMAtomicRMWBinOpAnd,
    [ROC_IR_ATOMIC_OR] = LLVMAtomicRMWBinOpOr,
    [ROC_IR_ATOMIC_XOR] = LLVMAtomicRMWBinOpXor,
    [ROC_IR_ATOMIC_INC] = LLVMAtomicRMWBinOpUIncWrap,
    [ROC_IR_ATOMIC_DEC] = LLVMAtomicRMWBinOpUDecWrap,
};

static bool is_float(const atomic_op *a) {
  return roc_dtype_table[a->dtype].kind == 'f';
}

/* min and max order an unsigned element type as unsigned, as numba.cuda does, though a kernel reads
 * a uint64 as the integer of its bits. */
static bool is_unsigned(const atomic_op *a) {
  return roc_dtype_table[a->dtype].kind == 'u';
}

static const char *scope_of(roc_cg *cg, const atomic_op *a) {
  if (roc_cg_is_shared(cg, a->array)) return cg->target->group_scope;
  const roc_ir_param *param = &cg->ir->params.items[cg->ir->arrays.items[a->array].param];
  return param->type.is_host_memory ? cg->target->system_scope : cg->target->device_scope;
}

static unsigned scope_id(roc_cg *cg, const char *scope) {
  return LLVMGetSyncScopeID(cg->ctx, scope, __builtin_strlen(scope));
}

static LLVMValueRef mark(roc_cg *cg, const atomic_op *a, LLVMValueRef inst) {
  if (cg->target->mark_atomic) cg->target->mark_atomic(cg, inst, a->array);
  return inst;
}

/* ---- the new value, for plain operations and compare-exchange loops ----------------------- */

static LLVMValueRef combine_wrap(roc_cg *cg, const atomic_op *a, LLVMValueRef old) {
  LLVMValueRef zero = LLVMConstNull(a->type), one = LLVMConstInt(a->type, 1, 0), v = a->value[0];
  if (a->kind == ROC_IR_ATOMIC_INC) {
    LLVMValueRef over = LLVMBuildICmp(cg->b, LLVMIntUGE, old, v, "");
    return LLVMBuildSelect(cg->b, over, zero, LLVMBuildAdd(cg->b, old, one, ""), "");
  }
  LLVMValueRef over = LLVMBuildOr(cg->b, LLVMBuildICmp(cg->b, LLVMIntEQ, old, zero, ""),
                                  LLVMBuildICmp(cg->b, LLVMIntUGT, old, v, ""), "");
  return LLVMBuildSelect(cg->b, over, v, LLVMBuildSub(cg->b, old, one, ""), "");
}

static LLVMValueRef combine_minmax(roc_cg *cg, const atomic_op *a, LLVMValueRef old) {
  bool is_min = a->kind == ROC_IR_ATOMIC_MIN;
  LLVMValueRef less = is_min ? a->value[0] : old, more = is_min ? old : a->value[0];
  LLVMIntPredicate p = is_unsigned(a) ? LLVMIntULT : LLVMIntSLT;
  LLVMValueRef takes = is_float(a) ? LLVMBuildFCmp(cg->b, LLVMRealOLT, less, more, "")
                                   : LLVMBuildICmp(cg->b, p, less, more, "");
  return LLVMBuildSelect(cg->b, takes, a->value[0], old, "");
}

static LLVMValueRef combine_cas(roc_cg *cg, const atomic_op *a, LLVMValueRef old) {
  LLVMTypeRef bits = LLVMIntTypeInContext(cg->ctx, (unsigned)roc_dtype_itemsize(a->dtype) * 8);
  LLVMValueRef is = LLVMBuildBitCast(cg->b, old, bits, "");
  LLVMValueRef wants = LLVMBuildBitCast(cg->b, a->value[0], bits, "");
  LLVMValueRef same = LLVMBuildICmp(cg->b, LLVMIntEQ, is, wants, "");
  return LLVMBuildSelect(cg->b, same, a->value[1], old, "");
}

static LLVMValueRef combine(roc_cg *cg, const atomic_op *a, LLVMValueRef old) {
  LLVMValueRef v = a->value[0];
  switch (a->kind) {
    case ROC_IR_ATOMIC_ADD:
      return is_float(a) ? LLVMBuildFAdd(cg->b, old, v, "") : LLVMBuildAdd(cg->b, old, v, "");
    case ROC_IR_ATOMIC_SUB:
      return is_float(a) ? LLVMBuildFSub(cg->b, old, v, "") : LLVMBuildSub(cg->b, old, v, "");
    case ROC_IR_ATOMIC_MIN:
    case ROC_IR_ATOMIC_MAX: return combine_minmax(cg, a, old);
    case ROC_IR_ATOMIC_AND: return LLVMBuildAnd(cg->b, old, v, "");
    case ROC_IR_ATOMIC_OR: return LLVMBuildOr(cg->b, old, v, "");
    case ROC_IR_ATOMIC_XOR: return LLVMBuildXor(cg->b, old, v, "");
    case ROC_IR_ATOMIC_CAS: return combine_cas(cg, a, old);
    case ROC_IR_ATOMIC_INC:
    case ROC_IR_ATOMIC_DEC: return combine_wrap(cg, a, old);
    case ROC_IR_ATOMIC_LOAD: return old;
    default: return v; /* EXCH, STORE */
  }
}

/* ---- instructions ------------------------------------------------------------------------ */

static LLVMValueRef emit_plain(roc_cg *cg, const atomic_op *a) {
  LLVMValueRef old = LLVMBuildLoad2(cg->b, a->type, a->ptr, "");
  if (a->kind != ROC_IR_ATOMIC_LOAD) LLVMBuildStore(cg->b, combine(cg, a, old), a->ptr);
  return old;
}

static LLVMValueRef emit_rmw(roc_cg *cg, const atomic_op *a) {
  LLVMAtomicRMWBinOp op = int_ops[a->kind];
  if (is_float(a) && a->kind == ROC_IR_ATOMIC_ADD) op = LLVMAtomicRMWBinOpFAdd;
  LLVMValueRef value = a->value[0];
  if (is_float(a) && a->kind == ROC_IR_ATOMIC_SUB) { /* GPUs have the one instruction alone */
    op = LLVMAtomicRMWBinOpFAdd;
    value = LLVMBuildFNeg(cg->b, value, "");
  }
  if (is_unsigned(a) && a->kind == ROC_IR_ATOMIC_MIN) op = LLVMAtomicRMWBinOpUMin;
  if (is_unsigned(a) && a->kind == ROC_IR_ATOMIC_MAX) op = LLVMAtomicRMWBinOpUMax;
  return mark(cg, a,
              LLVMBuildAtomicRMWSyncScope(cg->b, op, a->ptr, value, LLVMAtomicOrderingMonotonic,
                                          scope_id(cg, scope_of(cg, a))));
}

static LLVMValueRef exchange(roc_cg *cg, const atomic_op *a, LLVMValueRef expected,
                             LLVMValueRef desired) {
  return mark(
      cg, a,
      LLVMBuildAtomicCmpXchgSyncScope(cg->b, a->ptr, expected, desired, LLVMAtomicOrderingMonotonic,
                                      LLVMAtomicOrderingMonotonic, scope_id(cg, scope_of(cg, a))));
}

static LLVMTypeRef bits_type(roc_cg *cg, const atomic_op *a) {
  return LLVMIntTypeInContext(cg->ctx, (unsigned)roc_dtype_itemsize(a->dtype) * 8);
}

static LLVMValueRef emit_cas(roc_cg *cg, const atomic_op *a) {
  LLVMTypeRef bits = bits_type(cg, a);
  LLVMValueRef expected = LLVMBuildBitCast(cg->b, a->value[0], bits, "");
  LLVMValueRef desired = LLVMBuildBitCast(cg->b, a->value[1], bits, "");
  LLVMValueRef old = LLVMBuildExtractValue(cg->b, exchange(cg, a, expected, desired), 0, "");
  return LLVMBuildBitCast(cg->b, old, a->type, "");
}

static LLVMValueRef atomic_load(roc_cg *cg, const atomic_op *a) {
  LLVMValueRef load = LLVMBuildLoad2(cg->b, a->type, a->ptr, "");
  LLVMSetOrdering(load, LLVMAtomicOrderingMonotonic);
  LLVMSetAtomicSyncScopeID(load, scope_id(cg, scope_of(cg, a)));
  return load;
}

static LLVMValueRef atomic_store(roc_cg *cg, const atomic_op *a) {
  LLVMValueRef store = LLVMBuildStore(cg->b, a->value[0], a->ptr);
  LLVMSetOrdering(store, LLVMAtomicOrderingMonotonic);
  bool is_split = cg->target->splits_stores &&
                  roc_quirk_is_on(cg->options->quirks_off, ROC_QUIRK_SPLIT_ATOMIC_STORE);
  LLVMSetVolatile(store, is_split);
  LLVMSetAtomicSyncScopeID(store, scope_id(cg, scope_of(cg, a)));
  return NULL;
}

static LLVMValueRef emit_cas_loop(roc_cg *cg, const atomic_op *a) {
  LLVMTypeRef bits = bits_type(cg, a);
  LLVMValueRef first = LLVMBuildBitCast(cg->b, atomic_load(cg, a), bits, "");
  LLVMBasicBlockRef before = LLVMGetInsertBlock(cg->b);
  LLVMBasicBlockRef loop = roc_cg_block(cg, "atomic"), done = roc_cg_block(cg, "atomic.done");
  LLVMBuildBr(cg->b, loop);
  roc_cg_at(cg, loop);
  LLVMValueRef seen = LLVMBuildPhi(cg->b, bits, "");
  LLVMValueRef old = LLVMBuildBitCast(cg->b, seen, a->type, "");
  LLVMValueRef desired = LLVMBuildBitCast(cg->b, combine(cg, a, old), bits, "");
  LLVMValueRef pair = exchange(cg, a, seen, desired);
  LLVMValueRef now = LLVMBuildExtractValue(cg->b, pair, 0, "");
  LLVMBuildCondBr(cg->b, LLVMBuildExtractValue(cg->b, pair, 1, ""), done, loop);
  LLVMValueRef incoming[2] = {first, now};
  LLVMBasicBlockRef blocks[2] = {before, loop};
  LLVMAddIncoming(seen, incoming, blocks, 2);
  roc_cg_at(cg, done);
  return old;
}

static LLVMValueRef emit_atomic(roc_cg *cg, const atomic_op *a) {
  if (roc_cg_is_shared(cg, a->array) && !cg->target->facts->is_simt) return emit_plain(cg, a);
  switch (a->kind) {
    case ROC_IR_ATOMIC_LOAD: return atomic_load(cg, a);
    case ROC_IR_ATOMIC_STORE: return atomic_store(cg, a);
    case ROC_IR_ATOMIC_CAS: return emit_cas(cg, a);
    case ROC_IR_ATOMIC_MIN:
    case ROC_IR_ATOMIC_MAX: return is_float(a) ? emit_cas_loop(cg, a) : emit_rmw(cg, a);
    default: return emit_rmw(cg, a);
  }
}

/* Without an instruction in a place of the target's, where that is told; its old value is unused. */
static LLVMValueRef emit_apart(roc_cg *cg, const atomic_op *a, LLVMValueRef place,
                               LLVMValueRef is_apart) {
  LLVMBasicBlockRef apart = roc_cg_block(cg, "apart"), common = roc_cg_block(cg, "common");
  LLVMBasicBlockRef join = roc_cg_block(cg, "atomic.done");
  LLVMBuildCondBr(cg->b, is_apart, apart, common);
  roc_cg_at(cg, apart);
  atomic_op own = *a;
  own.ptr = place;
  emit_plain(cg, &own);
  LLVMBuildBr(cg->b, join);
  roc_cg_at(cg, common);
  emit_atomic(cg, a);
  LLVMBuildBr(cg->b, join);
  roc_cg_at(cg, join);
  return LLVMGetPoison(a->type);
}

void roc_cg_atomic_update(roc_cg *cg, roc_ir_atomic kind, uint32_t array, LLVMValueRef ptr,
                          LLVMValueRef value) {
  atomic_op a = {.kind = kind, .array = array, .ptr = ptr, .value = {value}};
  a.dtype = cg->ir->arrays.items[array].dtype;
  a.type = roc_cg_storage_type(cg, a.dtype);
  emit_atomic(cg, &a);
}

LLVMValueRef roc_cg_atomic(roc_cg *cg, const roc_ir_inst *inst) {
  uint32_t rank = cg->ir->arrays.items[inst->aux].rank;
  atomic_op a = {.kind = (roc_ir_atomic)inst->k.i, .array = inst->aux};
  a.dtype = cg->ir->arrays.items[inst->aux].dtype;
  a.type = roc_cg_storage_type(cg, a.dtype);
  a.ptr = roc_cg_address(cg, inst->aux, inst, 0);
  for (uint32_t i = 0; rank + i < inst->nargs && i < 2; i++) {
    const roc_ir_inst *source = &cg->ir->insts.items[roc_ir_arg(cg->ir, inst, rank + i)];
    a.value[i] = roc_cg_to_element(cg, a.dtype, (roc_value_type)source->type,
                                   roc_cg_operand(cg, inst, rank + i));
  }
  LLVMValueRef is_apart = NULL;
  LLVMValueRef place =
      cg->target->atomic_place ? cg->target->atomic_place(cg, inst, &is_apart) : NULL;
  LLVMValueRef old = place ? emit_apart(cg, &a, place, is_apart) : emit_atomic(cg, &a);
  return a.kind == ROC_IR_ATOMIC_STORE ? NULL : roc_cg_from_element(cg, a.dtype, old);
}
