/* Reading code objects for NVIDIA GPUs: what their text says of a kernel, and what NVIDIA's
 * assembler says of it, where there is one. */
#ifndef ROC_BASE_NVPTX_PTX_H
#define ROC_BASE_NVPTX_PTX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/codeobj.h"
#include "base/status.h"

typedef struct roc_ptx_kernel {
  uint32_t max_workgroup;
  bool is_assembled; /* the following are known; ROC_TARGET_UNKNOWN otherwise */
  uint64_t registers, private_bytes;
  uint64_t spills; /* bytes stored to private memory for lack of registers */
} roc_ptx_kernel;

/* What the text says; the rest is not known.  INVALID: no such kernel in it. */
roc_status roc_ptx_read_kernel(const roc_codeobj *object, roc_ptx_kernel *out, roc_error *err);

/* Adds what `ptxas` says, found on the PATH or where CUDA's toolkit is installed; changes nothing
 * where there is none, or it does not know the GPU.  Waits for that program. */
void roc_ptx_assemble(const roc_codeobj *object, roc_ptx_kernel *kernel);

#endif
