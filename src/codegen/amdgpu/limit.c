/* The limits of ids, for LLVM's passes.
 *
 * The back end knows them by itself.  Where it alone finds that a comparison holds for all ids, it
 * miscompiles `x or y` with that comparison for y and wavefronts of 32 (ROC_QUIRK_OR_OF_TRUE): it
 * takes x for the result.  Passes that know the limits fold the comparison before. */
#include "codegen/amdgpu/amdgpu.h"

void roc_amdgpu_limit(roc_cg *cg, LLVMValueRef call, uint32_t end) {
  if (!roc_quirk_is_on(cg->options->quirks_off, ROC_QUIRK_OR_OF_TRUE)) return;
  const uint64_t low = 0, high = end;
  unsigned kind = LLVMGetEnumAttributeKindForName("range", 5);
  LLVMAttributeRef range = LLVMCreateConstantRangeAttribute(cg->ctx, kind, 32, &low, &high);
  LLVMAddCallSiteAttribute(call, LLVMAttributeReturnIndex, range);
}
