/* Conditions of branches in several loops, on AMD GPUs (ROC_QUIRK_SHARED_CONDITION). */
#ifndef ROC_CODEGEN_AMDGPU_SHARED_CONDITIONS_H
#define ROC_CODEGEN_AMDGPU_SHARED_CONDITIONS_H

#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A condition that is the same for all work-items and that branches of different loops take from
 * outside of their blocks: each of these branches gets a comparison of its own, of scalar numbers,
 * which no optimisation moves or joins.
 *
 * The back end would make of the condition a mask of lanes, and negate it where it branches. Equal
 * negations become one, that of a loop which lanes leave one by one: it has the bits of the lanes
 * that were there last, and the branch after the loop goes the other way for the others. */
void roc_part_shared_conditions(LLVMModuleRef mod, LLVMTargetMachineRef tm);

#ifdef __cplusplus
}
#endif

#endif
