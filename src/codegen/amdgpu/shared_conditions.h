/* Conditions that several branches, or a branch and a choice, go by, on AMD GPUs. */
#ifndef ROC_CODEGEN_AMDGPU_SHARED_CONDITIONS_H
#define ROC_CODEGEN_AMDGPU_SHARED_CONDITIONS_H

#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which of them get comparisons of their own, of scalar numbers, where the branches are. All are the
 * same for all work-items.
 *
 * in_loops (ROC_QUIRK_SHARED_CONDITION): those of branches in different loops.  The back end would
 * make of the condition a mask of lanes, and negate it where it branches. Equal negations become one,
 * that of a loop which lanes leave one by one: it has the bits of the lanes that were there last, and
 * the branch after the loop goes the other way for the others.
 *
 * with_selects (ROC_QUIRK_SELECT_AND_BRANCH): those of branches at the end of a block that compares
 * by vector instructions and chooses something.  Where both turn out to go by one comparison, one s_and
 * serves them, its result the branch and SCC the choice; it is removed as needless for the branch. */
typedef struct roc_shared_conditions {
  bool in_loops, with_selects;
} roc_shared_conditions;

void roc_part_shared_conditions(LLVMModuleRef mod, LLVMTargetMachineRef tm,
                                const roc_shared_conditions *which);

#ifdef __cplusplus
}
#endif

#endif
