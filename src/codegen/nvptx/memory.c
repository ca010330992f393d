/* Shared and private memory of the NVPTX target (base/nvptx_abi.h), and what is read of the launch:
 * special registers and the fields that follow the arguments. */
#include <stdio.h>

#include "codegen/nvptx/nvptx.h"
#include "ir/layout.h"

LLVMValueRef roc_nvptx_read_register(roc_cg *cg, const char *name) {
  char full[64];
  snprintf(full, sizeof full, "llvm.nvvm.read.ptx.sreg.%s", name);
  return roc_cg_intrinsic(cg, full, NULL, 0, NULL, 0);
}

LLVMValueRef roc_nvptx_hidden_field(roc_cg *cg, size_t offset) {
  const roc_nvptx_state *state = roc_nvptx_state_of(cg);
  return roc_cg_field_at(cg, state->fields, state->hidden + (uint32_t)offset);
}

static bool is_all_dynamic(const roc_cg *cg) {
  return roc_nvptx_state_of(cg)->shared_bytes > ROC_NVPTX_STATIC_SHARED;
}

static LLVMValueRef make_shared(roc_cg *cg, uint64_t nbytes, const char *name,
                                LLVMLinkage linkage) {
  LLVMTypeRef type = LLVMArrayType2(cg->t.i8, nbytes);
  LLVMValueRef made = LLVMAddGlobalInAddressSpace(cg->mod, type, name, cg->target->shared_space);
  LLVMSetLinkage(made, linkage);
  LLVMSetAlignment(made, ROC_IR_SHARED_ALIGN);
  if (linkage == LLVMInternalLinkage) LLVMSetInitializer(made, LLVMGetPoison(type));
  return made;
}

static LLVMValueRef dynamic_at(roc_cg *cg, uint64_t offset) {
  roc_nvptx_state *state = roc_nvptx_state_of(cg);
  if (!state->dynamic_shared) {
    state->dynamic_shared = make_shared(cg, 0, "roc_dynamic_shared", LLVMExternalLinkage);
  }
  return roc_cg_byte_offset(cg, state->dynamic_shared, roc_cg_i64(cg, (int64_t)offset));
}

/* After the arrays. */
LLVMValueRef roc_nvptx_shared_cell(roc_cg *cg) {
  uint64_t nbytes = roc_nvptx_state_of(cg)->shared_bytes;
  if (is_all_dynamic(cg)) return dynamic_at(cg, nbytes - ROC_IR_SHARED_ALIGN);
  return make_shared(cg, sizeof(uint32_t), "roc.number", LLVMInternalLinkage);
}

static LLVMValueRef private_base(roc_cg *cg, uint32_t array) {
  const roc_ir_array *a = &cg->ir->arrays.items[array];
  LLVMTypeRef element = roc_cg_storage_type(cg, a->dtype);
  LLVMTypeRef type = LLVMArrayType2(element, (uint64_t)roc_ir_array_size(a));
  return cg->arrays[array].base = roc_cg_alloca(cg, type, a->name);
}

/* A global of its own per array, so that LLVM knows them disjoint.  None is empty: such a one would
 * be taken for dynamic memory. */
static LLVMValueRef shared_base(roc_cg *cg, uint32_t array) {
  const roc_ir_array *a = &cg->ir->arrays.items[array];
  if (is_all_dynamic(cg)) return dynamic_at(cg, roc_nvptx_state_of(cg)->shared_offsets[array]);
  uint64_t nbytes = (uint64_t)roc_ir_array_size(a) * roc_dtype_itemsize(a->dtype);
  return cg->arrays[array].base =
             make_shared(cg, nbytes ? nbytes : 1, "roc.shared", LLVMInternalLinkage);
}

/* Where the launch's own bytes begin in dynamic shared memory. */
static uint64_t dynamic_begin(const roc_cg *cg) {
  return is_all_dynamic(cg) ? roc_nvptx_state_of(cg)->shared_bytes : 0;
}

LLVMValueRef roc_nvptx_array_base(roc_cg *cg, uint32_t array) {
  const roc_ir_array *a = &cg->ir->arrays.items[array];
  if (a->kind == ROC_IR_ARRAY_PRIVATE) return private_base(cg, array);
  if (a->kind == ROC_IR_ARRAY_SHARED) return shared_base(cg, array);
  return dynamic_at(cg, dynamic_begin(cg) + (uint64_t)a->first_byte);
}

LLVMValueRef roc_nvptx_dynamic_bytes(roc_cg *cg) {
  static const char code[] = "mov.u32 $0, %dynamic_smem_size;";
  LLVMTypeRef type = LLVMFunctionType(cg->t.i32, NULL, 0, 0);
  LLVMValueRef read =
      LLVMGetInlineAsm(type, code, sizeof code - 1, "=r", 2, 0, 0, LLVMInlineAsmDialectATT, 0);
  LLVMValueRef all = LLVMBuildCall2(cg->b, type, read, NULL, 0, "");
  LLVMValueRef begin = roc_cg_i32(cg, (uint32_t)dynamic_begin(cg));
  return LLVMBuildZExt(cg->b, LLVMBuildSub(cg->b, all, begin, ""), cg->t.i64, "");
}
