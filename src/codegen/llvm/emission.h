/* LLVM's passes from a module to the bytes of a file.
 *
 * Scheduling them takes as long as running them over a short kernel, so they are kept for the next
 * module (machine.h). */
#ifndef ROC_CODEGEN_LLVM_EMISSION_H
#define ROC_CODEGEN_LLVM_EMISSION_H

#include <llvm-c/TargetMachine.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct roc_emission roc_emission;

/* Whether the counters of loops are replaced by the addresses that are computed from them. */
typedef enum roc_counters { ROC_COUNTERS_REDUCED, ROC_COUNTERS_KEPT, ROC_COUNTERS } roc_counters;

/* The passes of a machine, which must outlive them.  NULL: the machine has no such files. */
roc_emission *roc_emission_new(LLVMTargetMachineRef tm, LLVMCodeGenFileType kind,
                               roc_counters counters);
/* The file is the caller's. */
LLVMMemoryBufferRef roc_emission_run(roc_emission *emission, LLVMModuleRef mod);
void roc_emission_free(roc_emission *emission);

#ifdef __cplusplus
}
#endif

#endif
