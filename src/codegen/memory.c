/* Loads and stores: from an array and its indices, counted from 1, to an address.
 *
 * Indices are in range here (a check came before, or the kernel is unchecked and anything may
 * happen), so the arithmetic is nsw: LLVM then sees unit strides through it. */
#include "codegen/cg.h"
#include "ir/layout.h"

LLVMValueRef roc_cg_extent(roc_cg *cg, uint32_t array, uint32_t dim) {
  return cg->arrays[array].extents[dim];
}

bool roc_cg_is_shared(const roc_cg *cg, uint32_t array) {
  uint8_t kind = (uint8_t)cg->ir->arrays.items[array].kind;
  return kind == ROC_IR_ARRAY_SHARED || kind == ROC_IR_ARRAY_SHARED_DYNAMIC;
}

static roc_ir_layout layout_of(const roc_cg *cg, const roc_ir_array *array) {
  return array->kind == ROC_IR_ARRAY_PARAM ? cg->ir->params.items[array->param].layout
                                           : ROC_IR_LAYOUT_C;
}

static LLVMValueRef index_from_0(roc_cg *cg, const roc_ir_inst *inst, uint32_t n) {
  return LLVMBuildNSWSub(cg->b, roc_cg_operand(cg, inst, n), roc_cg_i64(cg, 1), "");
}

static LLVMValueRef multiply_add(roc_cg *cg, LLVMValueRef sum, LLVMValueRef factor,
                                 LLVMValueRef add) {
  return LLVMBuildNSWAdd(cg->b, LLVMBuildNSWMul(cg->b, sum, factor, ""), add, "");
}

/* Elements from the array's begin. */
static LLVMValueRef linear_index(roc_cg *cg, uint32_t a, const roc_ir_inst *inst, uint32_t first) {
  const roc_ir_array *array = &cg->ir->arrays.items[a];
  const roc_cg_array *bound = &cg->arrays[a];
  roc_ir_layout layout = layout_of(cg, array);
  uint32_t rank = array->rank;
  if (layout == ROC_IR_LAYOUT_STRIDED) {
    LLVMValueRef sum = roc_cg_i64(cg, 0);
    for (uint32_t d = 0; d < rank; d++) {
      sum = multiply_add(cg, index_from_0(cg, inst, first + d), bound->strides[d], sum);
    }
    return sum;
  }
  bool is_c = layout == ROC_IR_LAYOUT_C;
  LLVMValueRef sum = index_from_0(cg, inst, first + (is_c ? 0 : rank - 1));
  for (uint32_t step = 1; step < rank; step++) {
    uint32_t d = is_c ? step : rank - 1 - step;
    sum = multiply_add(cg, sum, bound->extents[d], index_from_0(cg, inst, first + d));
  }
  return sum;
}

LLVMValueRef roc_cg_address(roc_cg *cg, uint32_t a, const roc_ir_inst *inst, uint32_t first_index) {
  const roc_ir_array *array = &cg->ir->arrays.items[a];
  LLVMValueRef base = cg->arrays[a].base;
  if (!base) base = cg->target->array_base(cg, a);
  LLVMValueRef index = linear_index(cg, a, inst, first_index);
  if (cg->arrays[a].scale) index = LLVMBuildNSWMul(cg->b, index, cg->arrays[a].scale, "");
  LLVMTypeRef element = roc_cg_storage_type(cg, array->dtype);
  return LLVMBuildInBoundsGEP2(cg->b, element, base, &index, 1, "");
}

LLVMValueRef roc_cg_load_inst(roc_cg *cg, const roc_ir_inst *inst) {
  roc_dtype dtype = cg->ir->arrays.items[inst->aux].dtype;
  LLVMTypeRef type = roc_cg_storage_type(cg, dtype);
  LLVMValueRef ptr = roc_cg_address(cg, inst->aux, inst, 0);
  bool untagged = cg->arrays[inst->aux].is_one_for_all;
  LLVMValueRef element =
      untagged ? LLVMBuildLoad2(cg->b, type, ptr, "") : roc_cg_load(cg, type, ptr);
  return roc_cg_from_element(cg, dtype, element);
}

void roc_cg_store_inst(roc_cg *cg, const roc_ir_inst *inst) {
  roc_dtype dtype = cg->ir->arrays.items[inst->aux].dtype;
  const roc_ir_inst *source = &cg->ir->insts.items[roc_ir_arg(cg->ir, inst, 0)];
  LLVMValueRef ptr = roc_cg_address(cg, inst->aux, inst, 1);
  LLVMValueRef value = roc_cg_operand(cg, inst, 0);
  LLVMValueRef element = roc_cg_to_element(cg, dtype, (roc_value_type)source->type, value);
  if (cg->arrays[inst->aux].is_one_for_all) {
    LLVMBuildStore(cg->b, element, ptr);
  } else {
    roc_cg_store(cg, element, ptr);
  }
}
