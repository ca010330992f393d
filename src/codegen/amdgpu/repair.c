/* Rewrites what LLVM would get wrong (amdgpu/repair.h).  The optimiser would undo the rewrites, so
 * they are made after it. */
#include "codegen/amdgpu/repair.h"

#include <llvm-c/DebugInfo.h>

static bool repair(roc_cg *cg, LLVMBuilderRef b, const roc_amdgpu_form *form, LLVMValueRef inst) {
  for (; form->matches; form++) {
    if (!roc_quirk_is_on(cg->options->quirks_off, form->quirk)) continue;
    if (!form->matches(cg, inst)) continue;
    LLVMPositionBuilderBefore(b, inst);
    LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(inst));
    form->rewrite(cg, b, inst);
    return true;
  }
  return false;
}

roc_status roc_amdgpu_repair(roc_cg *cg, roc_error *err) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(cg->ctx);
  for (LLVMValueRef fn = LLVMGetFirstFunction(cg->mod); fn; fn = LLVMGetNextFunction(fn)) {
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn); block;
         block = LLVMGetNextBasicBlock(block)) {
      for (LLVMValueRef inst = LLVMGetFirstInstruction(block), next; inst; inst = next) {
        next = LLVMGetNextInstruction(inst);
        if (!repair(cg, b, roc_amdgpu_float_forms, inst)) {
          repair(cg, b, roc_amdgpu_integer_forms, inst);
        }
      }
    }
  }
  LLVMDisposeBuilder(b);
  return roc_amdgpu_repair_phis(cg, err);
}
