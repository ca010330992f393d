/* CPU code objects in this process's memory; functions of roc_codegen_api. */
#ifndef ROC_CODEGEN_CPU_JIT_H
#define ROC_CODEGEN_CPU_JIT_H

#include "backend/backend.h"

roc_status roc_jit_load(const roc_codeobj *object, roc_cpu_entry *out_entry, void **out_handle,
                        roc_error *err);
void roc_jit_unload(void *handle);

#endif
