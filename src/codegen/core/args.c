/* Binds parameters and arrays: what a kernel is given becomes values, once, in the entry block. */
#include "codegen/core/cg.h"
#include "ir/layout.h"

/* Narrow integers lie in 0 … 2^31-1, which the nneg flag tells LLVM. */
static LLVMValueRef widen_narrow(roc_cg *cg, LLVMValueRef raw) {
  LLVMValueRef wide = LLVMBuildZExt(cg->b, raw, cg->t.i64, "");
  if (LLVMIsAInstruction(wide)) LLVMSetNNeg(wide, 1);
  return wide;
}

static LLVMValueRef bind_int(roc_cg *cg, roc_cg_field *field, uint32_t param, bool narrow,
                             uint32_t offset) {
  LLVMValueRef raw = field(cg, param, narrow ? cg->t.i32 : cg->t.i64, offset);
  return narrow ? widen_narrow(cg, raw) : raw;
}

static void bind_scalar(roc_cg *cg, roc_cg_field *field, uint32_t i, const roc_arg_slot *slot) {
  const roc_ir_param *param = &cg->ir->params.items[i];
  switch (param->type.value) {
    case ROC_VT_INT:
      cg->scalars[i] = bind_int(cg, field, i, param->type.is_narrow, slot->offset);
      break;
    case ROC_VT_BOOL: {
      LLVMValueRef raw = field(cg, i, cg->t.i8, slot->offset);
      cg->scalars[i] = LLVMBuildICmp(cg->b, LLVMIntNE, raw, LLVMConstInt(cg->t.i8, 0, 0), "");
      break;
    }
    default:
      cg->scalars[i] = field(cg, i, roc_cg_value_type(cg, param->type.value), slot->offset);
      break;
  }
}

/* Every array of the module that looks at this parameter gets the same values. */
static void bind_array(roc_cg *cg, roc_cg_field *field, uint32_t i, const roc_arg_slot *slot) {
  const roc_ir_param *param = &cg->ir->params.items[i];
  LLVMTypeRef ptr = LLVMPointerTypeInContext(cg->ctx, cg->target->global_space);
  roc_cg_array bound = {.base = field(cg, i, ptr, slot->offset)};
  uint32_t step = param->type.is_narrow ? 4 : 8;
  for (uint32_t d = 0; d < param->type.rank; d++) {
    bound.extents[d] =
        bind_int(cg, field, i, param->type.is_narrow, slot->extents_offset + d * step);
  }
  bool has_strides = roc_arg_has_strides(&param->type);
  for (uint32_t d = 0; has_strides && d < param->type.rank; d++) {
    bound.strides[d] =
        bind_int(cg, field, i, param->type.is_narrow, slot->strides_offset + d * step);
  }
  for (uint32_t a = 0; a < cg->ir->arrays.count; a++) {
    const roc_ir_array *array = &cg->ir->arrays.items[a];
    if (array->kind == ROC_IR_ARRAY_PARAM && array->param == i) cg->arrays[a] = bound;
  }
}

/* The data of a const array as a private global. */
static LLVMValueRef make_const(roc_cg *cg, const roc_ir_array *array) {
  uint64_t nbytes = (uint64_t)roc_ir_array_size(array) * roc_dtype_itemsize(array->dtype);
  LLVMValueRef data = LLVMConstDataArray(cg->t.i8, array->data, nbytes);
  LLVMValueRef global =
      LLVMAddGlobalInAddressSpace(cg->mod, LLVMTypeOf(data), "", cg->target->const_space);
  LLVMSetInitializer(global, data);
  LLVMSetGlobalConstant(global, 1);
  LLVMSetLinkage(global, LLVMPrivateLinkage);
  LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
  LLVMSetAlignment(global, 64);
  return global;
}

static void bind_local_array(roc_cg *cg, uint32_t a) {
  const roc_ir_array *array = &cg->ir->arrays.items[a];
  roc_cg_array *bound = &cg->arrays[a];
  if (array->kind == ROC_IR_ARRAY_SHARED_DYNAMIC) {
    LLVMValueRef bytes = cg->target->dynamic_bytes(cg);
    LLVMValueRef first = roc_cg_i64(cg, array->first_byte);
    LLVMValueRef fits = LLVMBuildICmp(cg->b, LLVMIntUGT, bytes, first, "");
    LLVMValueRef rest =
        LLVMBuildSelect(cg->b, fits, LLVMBuildSub(cg->b, bytes, first, ""), roc_cg_i64(cg, 0), "");
    LLVMValueRef item = roc_cg_i64(cg, (int64_t)roc_dtype_itemsize(array->dtype));
    bound->extents[0] = LLVMBuildUDiv(cg->b, rest, item, "");
    return;
  }
  for (uint32_t d = 0; d < array->rank; d++) bound->extents[d] = roc_cg_i64(cg, array->extents[d]);
  bool is_const = array->kind == ROC_IR_ARRAY_CONST;
  if (is_const && !bound->base) bound->base = make_const(cg, array);
}

void roc_cg_bind_args(roc_cg *cg, roc_cg_field *field) {
  const roc_ir_module *ir = cg->ir;
  roc_arg_slot *slots = ROC_ARENA_ARRAY(&cg->arena, roc_arg_slot, ir->params.count + 1);
  if (!slots) return;
  roc_ir_layout_args(ir, slots);
  for (uint32_t i = 0; i < ir->params.count; i++) {
    (roc_arg_is_array(&ir->params.items[i].type) ? bind_array : bind_scalar)(cg, field, i,
                                                                             &slots[i]);
  }
  for (uint32_t a = 0; a < ir->arrays.count; a++) {
    if (ir->arrays.items[a].kind != ROC_IR_ARRAY_PARAM) bind_local_array(cg, a);
  }
}
