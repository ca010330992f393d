/* What LLVM's analyses tell of values of a function, on AMD GPUs. */
#ifndef ROC_CODEGEN_AMDGPU_VALUE_FACTS_H
#define ROC_CODEGEN_AMDGPU_VALUE_FACTS_H

#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of what is in the function when it is first asked for. */
typedef struct roc_value_facts roc_value_facts;

roc_value_facts *roc_value_facts_make(LLVMValueRef fn, LLVMTargetMachineRef tm);
void roc_value_facts_free(roc_value_facts *facts);

/* Whether it may differ between the work-items of a wavefront. */
bool roc_value_is_divergent(roc_value_facts *facts, LLVMValueRef value);

/* Whether an integer of 64 bits is known to be below 2^32. */
bool roc_value_has_32_bits(const roc_value_facts *facts, LLVMValueRef value);

#ifdef __cplusplus
}
#endif

#endif
