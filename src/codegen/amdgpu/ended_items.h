/* What has to hold where all work-items that came to a place have been ended there
 * (roc_amdgpu_end_items), while others of the wavefront wait for them elsewhere. */
#ifndef ROC_CODEGEN_AMDGPU_ENDED_ITEMS_H
#define ROC_CODEGEN_AMDGPU_ENDED_ITEMS_H

#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The same value, of which LLVM knows nothing; `ud` is what roc_settle_ended_items was given. */
typedef LLVMValueRef roc_hide_value(void *ud, LLVMBuilderRef b, LLVMValueRef value);

/* The code after such a place runs on without a work-item, as far as the wavefront does something as a
 * whole.  So that this does no harm, and ends:
 *
 * After a check of what all items have in common each item loads for itself: a scalar load would go
 * by the wrong index.
 * A loop that items leave together, and in which some may be ended, ends when none is left.
 * What is loaded once for all, but by a vector instruction, is not known to be the same: no item
 * loads it, so it is whatever the register had. */
void roc_settle_ended_items(LLVMModuleRef mod, LLVMTargetMachineRef tm, unsigned wave_size,
                            roc_hide_value *hide, void *ud);

#ifdef __cplusplus
}
#endif

#endif
