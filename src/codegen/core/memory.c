/* Loads and stores: from an array and its indices, counted from 1, to an address.
 *
 * Indices are in range here (a check came before, or the kernel is unchecked and anything may
 * happen), so the arithmetic is nsw: LLVM then sees unit strides through it. */
#include "codegen/core/cg.h"
#include "ir/check_elimination.h"
#include "ir/layout.h"

LLVMValueRef roc_cg_extent(roc_cg *cg, uint32_t array, uint32_t dim) {
  return roc_cg_spread(cg, cg->arrays[array].extents[dim]);
}

bool roc_cg_is_shared(const roc_cg *cg, uint32_t array) {
  uint8_t kind = (uint8_t)cg->ir->arrays.items[array].kind;
  return kind == ROC_IR_ARRAY_SHARED || kind == ROC_IR_ARRAY_SHARED_DYNAMIC;
}

static roc_layout layout_of(const roc_cg *cg, const roc_ir_array *array) {
  return array->kind == ROC_IR_ARRAY_PARAM ? cg->ir->params.items[array->param].type.layout
                                           : ROC_LAYOUT_C;
}

/* An element count: i64, or as long as it does, i32. */
typedef struct offset {
  LLVMValueRef value;
  bool is_narrow;
} offset;

static LLVMValueRef widen(roc_cg *cg, offset o) {
  return o.is_narrow ? roc_cg_extend(cg, o.value, true) : o.value;
}

/* Offsets of work-items that access the array cannot overflow; those of others may. */
static LLVMValueRef exactly(const roc_cg *cg, LLVMValueRef value) {
  if (!cg->is_speculative && LLVMIsABinaryOperator(value)) LLVMSetNSW(value, 1);
  return value;
}

static LLVMValueRef subtract_one(roc_cg *cg, LLVMValueRef index) {
  return exactly(cg, LLVMBuildSub(cg->b, index, roc_cg_i64(cg, 1), ""));
}

static LLVMValueRef multiply(roc_cg *cg, LLVMValueRef a, LLVMValueRef b) {
  return exactly(cg, LLVMBuildMul(cg->b, a, roc_cg_spread(cg, b), ""));
}

static LLVMValueRef add(roc_cg *cg, LLVMValueRef a, LLVMValueRef b) {
  return exactly(cg, LLVMBuildAdd(cg->b, a, b, ""));
}

/* An index of which no more than the low half was computed, as a sum with 1 or a difference with a
 * constant: it is in range, so this does not wrap. NULL: it is none. */
static LLVMValueRef sum_in_range(roc_cg *cg, LLVMValueRef low) {
  enum { MOST_TAKEN = 1 << 29 };
  if (!LLVMIsABinaryOperator(low) || LLVMGetNUW(low)) return NULL;
  LLVMOpcode opcode = LLVMGetInstructionOpcode(low);
  LLVMValueRef x = LLVMGetOperand(low, 0), k = LLVMGetOperand(low, 1);
  if (!LLVMIsAConstantInt(k) || LLVMTypeOf(low) != cg->t.i32) return NULL;
  uint64_t by = LLVMConstIntGetZExtValue(k);
  if (opcode == LLVMAdd && by == 1) return roc_cg_narrow_add(cg, x, k, true);
  return opcode == LLVMSub && by < MOST_TAKEN ? roc_cg_narrow_sub(cg, x, k) : NULL;
}

/* An index that is a sum of 64 bits because it could pass 2^32, but is in range: so in 32 bits it
 * does not wrap either.  Where 1 is added, what it is added to is not negative. */
static LLVMValueRef take_index(roc_cg *cg, LLVMValueRef wide) {
  enum { MOST = 1 << 30 };
  LLVMValueRef half = LLVMIsAZExtInst(wide) ? sum_in_range(cg, LLVMGetOperand(wide, 0)) : NULL;
  if (half) return half;
  bool is_sum = LLVMIsABinaryOperator(wide) && LLVMGetInstructionOpcode(wide) == LLVMAdd &&
                LLVMIsAConstantInt(LLVMGetOperand(wide, 1));
  int64_t k = is_sum ? LLVMConstIntGetSExtValue(LLVMGetOperand(wide, 1)) : 0;
  LLVMValueRef to = is_sum ? LLVMGetOperand(wide, 0) : NULL;
  bool is_exact = to && (LLVMIsAZExtInst(to) || (LLVMIsASExtInst(to) && k == 1));
  if (!is_exact || k <= 0 || k > MOST) return roc_cg_take_low(cg, wide);
  LLVMValueRef low = roc_cg_take_low(cg, LLVMGetOperand(wide, 0));
  return roc_cg_narrow_add(cg, low, roc_cg_i32(cg, (uint32_t)k), true);
}

/* In a narrow array every index is narrow too, being in range. */
static offset index_from_0(roc_cg *cg, const roc_ir_inst *inst, uint32_t n, bool may_be_narrow) {
  LLVMValueRef index = roc_cg_operand(cg, inst, n);
  bool is_param = cg->ir->arrays.items[inst->aux].kind == ROC_IR_ARRAY_PARAM;
  bool moves =
      roc_cg_is_loop_variant(cg, roc_ir_arg(cg->ir, inst, n)) && !(is_param && cg->in_narrow_loop);
  if (!may_be_narrow || (moves && !cg->target->adds_narrow_offsets)) {
    return (offset){subtract_one(cg, index), false};
  }
  LLVMValueRef low = take_index(cg, index);
  return (offset){roc_cg_narrow_sub(cg, low, roc_cg_i32(cg, 1)), true};
}

/* sum * factor + term */
static offset multiply_add(roc_cg *cg, offset sum, LLVMValueRef factor, offset term) {
  if (sum.is_narrow) {
    LLVMValueRef low = roc_cg_take_low(cg, factor);
    sum.value = LLVMBuildNUWMul(cg->b, sum.value, low, "");
    if (LLVMIsABinaryOperator(sum.value)) LLVMSetNSW(sum.value, 1);
  } else {
    sum.value = multiply(cg, sum.value, factor);
  }
  if (sum.is_narrow && term.is_narrow) {
    sum.value = roc_cg_narrow_add(cg, sum.value, term.value, true);
    return sum;
  }
  return (offset){add(cg, widen(cg, sum), widen(cg, term)), false};
}

/* Strides may lead beyond what 32 bits count. */
static offset strided_index(roc_cg *cg, uint32_t a, const roc_ir_inst *inst, uint32_t first,
                            bool may_be_narrow) {
  LLVMValueRef sum = roc_cg_i64(cg, 0);
  for (uint32_t d = 0; d < cg->ir->arrays.items[a].rank; d++) {
    LLVMValueRef index = widen(cg, index_from_0(cg, inst, first + d, may_be_narrow));
    LLVMValueRef step = multiply(cg, index, cg->arrays[a].strides[d]);
    sum = add(cg, step, sum);
  }
  return (offset){sum, false};
}

/* Whether a loop moves an address that all items share: it stays wide, so that LLVM sees the step and
 * keeps the address itself. */
static bool is_moved_scalar(const roc_cg *cg, const roc_ir_inst *inst, uint32_t first,
                            uint32_t rank) {
  bool moves = false;
  for (uint32_t d = 0; d < rank; d++) {
    uint8_t facts = cg->narrow[roc_ir_arg(cg->ir, inst, first + d)];
    if (!(facts & ROC_IR_SCALAR)) return false;
    moves |= (facts & ROC_IR_LOOP_VARIANT) != 0;
  }
  return moves;
}

/* Elements from the array's begin. */
static offset linear_index(roc_cg *cg, uint32_t a, const roc_ir_inst *inst, uint32_t first) {
  const roc_ir_array *array = &cg->ir->arrays.items[a];
  roc_layout layout = layout_of(cg, array);
  bool may_be_narrow = cg->narrow && roc_ir_is_narrow_array(cg->ir, array) &&
                       !is_moved_scalar(cg, inst, first, array->rank);
  if (layout == ROC_LAYOUT_STRIDED) return strided_index(cg, a, inst, first, may_be_narrow);
  uint32_t rank = array->rank;
  bool is_c = layout == ROC_LAYOUT_C;
  offset sum = index_from_0(cg, inst, first + (is_c ? 0 : rank - 1), may_be_narrow);
  for (uint32_t step = 1; step < rank; step++) {
    uint32_t d = is_c ? step : rank - 1 - step;
    offset term = index_from_0(cg, inst, first + d, may_be_narrow);
    LLVMValueRef length = cg->arrays[a].lengths[d];
    sum = multiply_add(cg, sum, length ? length : cg->arrays[a].extents[d], term);
  }
  return sum;
}

/* The array takes less than 2^31 bytes, so each offset fits 32 bits as bytes, too; memory
 * instructions add such a one to a scalar base, and a constant.  The constant of the index is taken
 * out first: what is left may be larger than the offset, by less than what 32 bits leave. */
static LLVMValueRef narrow_address(roc_cg *cg, LLVMValueRef base, LLVMTypeRef element,
                                   LLVMValueRef index, size_t itemsize) {
  enum { MOST_BYTES = 1 << 30 };
  int64_t k = 0;
  if (!cg->target->adds_narrow_offsets) {
    LLVMValueRef wide = roc_cg_extend(cg, index, true);
    return LLVMBuildInBoundsGEP2(cg->b, element, base, &wide, 1, "");
  }
  LLVMValueRef rest = roc_cg_narrow_split(index, &k);
  if (k >= -MOST_BYTES / (int64_t)itemsize && k <= MOST_BYTES / (int64_t)itemsize) {
    index = rest;
  } else {
    k = 0;
  }
  LLVMValueRef bytes =
      LLVMBuildShl(cg->b, index, roc_cg_i32(cg, (uint32_t)__builtin_ctzll(itemsize)), "");
  if (LLVMIsABinaryOperator(bytes)) LLVMSetNUW(bytes, 1);
  LLVMValueRef ptr = roc_cg_byte_offset(cg, base, roc_cg_extend(cg, bytes, false));
  return k ? roc_cg_byte_offset(cg, ptr, roc_cg_i64(cg, k * (int64_t)itemsize)) : ptr;
}

LLVMValueRef roc_cg_element_index(roc_cg *cg, uint32_t a, const roc_ir_inst *inst,
                                  uint32_t first_index) {
  return widen(cg, linear_index(cg, a, inst, first_index));
}

LLVMValueRef roc_cg_address(roc_cg *cg, uint32_t a, const roc_ir_inst *inst, uint32_t first_index) {
  const roc_ir_array *array = &cg->ir->arrays.items[a];
  LLVMValueRef base = cg->arrays[a].base;
  if (!base) base = cg->target->array_base(cg, a);
  offset index = linear_index(cg, a, inst, first_index);
  LLVMTypeRef element = roc_cg_storage_type(cg, array->dtype);
  if (index.is_narrow) {
    return narrow_address(cg, base, element, index.value, roc_dtype_itemsize(array->dtype));
  }
  LLVMValueRef wide = index.value;
  if (cg->arrays[a].scale) wide = multiply(cg, wide, cg->arrays[a].scale);
  return LLVMBuildInBoundsGEP2(cg->b, element, base, &wide, 1, "");
}

LLVMValueRef roc_cg_load_inst(roc_cg *cg, const roc_ir_inst *inst) {
  roc_dtype dtype = cg->ir->arrays.items[inst->aux].dtype;
  LLVMTypeRef type = roc_cg_storage_type(cg, dtype);
  LLVMValueRef ptr = roc_cg_address(cg, inst->aux, inst, 0);
  bool untagged = cg->arrays[inst->aux].is_one_for_all;
  LLVMValueRef element =
      untagged ? LLVMBuildLoad2(cg->b, type, ptr, "") : roc_cg_load(cg, type, ptr);
  if (cg->element_align) LLVMSetAlignment(element, cg->element_align);
  return roc_cg_from_element(cg, dtype, element);
}

void roc_cg_store_inst(roc_cg *cg, const roc_ir_inst *inst) {
  roc_dtype dtype = cg->ir->arrays.items[inst->aux].dtype;
  const roc_ir_inst *source = &cg->ir->insts.items[roc_ir_arg(cg->ir, inst, 0)];
  LLVMValueRef ptr = roc_cg_address(cg, inst->aux, inst, 1);
  LLVMValueRef value = roc_cg_operand(cg, inst, 0);
  LLVMValueRef element = roc_cg_to_element(cg, dtype, (roc_value_type)source->type, value);
  bool untagged = cg->arrays[inst->aux].is_one_for_all;
  LLVMValueRef store =
      untagged ? LLVMBuildStore(cg->b, element, ptr) : roc_cg_store(cg, element, ptr);
  if (cg->element_align) LLVMSetAlignment(store, cg->element_align);
}
