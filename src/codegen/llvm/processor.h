/* What LLVM knows of x86-64 processors: names, what each of them can do, what this machine's can.
 * A list of features is their names with commas between, sorted. */
#ifndef ROC_CODEGEN_LLVM_PROCESSOR_H
#define ROC_CODEGEN_LLVM_PROCESSOR_H

#include <llvm-c/TargetMachine.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether `name` is a processor that runs 64-bit code. */
bool roc_processor_is_known(const char *name);

/* Whether code of the machine may use the feature. */
bool roc_processor_has(LLVMTargetMachineRef machine, const char *feature);

/* What a processor of that name can do and this machine's cannot. */
void roc_processor_missing(const char *name, char *out, size_t size);

#ifdef __cplusplus
}
#endif

#endif
