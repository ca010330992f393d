/* Reading AMD GPU code objects: what the metadata note says of a kernel.
 *
 * A code object is an ELF shared object; its note of type 32 holds a MessagePack map with one entry
 * per kernel (LLVM's AMDGPU usage guide, "Code Object V3 and above").  Bytes are not trusted: a
 * damaged object is an error, never an access out of bounds. */
#ifndef ROC_BASE_AMDGPU_HSACO_H
#define ROC_BASE_AMDGPU_HSACO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct roc_hsaco_kernel {
  uint32_t vgprs, agprs, sgprs; /* where the two share one file, vgprs counts both */
  uint32_t vgpr_spills, sgpr_spills;
  uint32_t shared_bytes;  /* static */
  uint32_t private_bytes; /* scratch of a work-item */
  uint32_t kernarg_bytes;
  uint32_t max_workgroup;
  uint32_t wave_size;
  uint32_t has_dynamic_stack; /* 0 or 1 */
} roc_hsaco_kernel;

/* Finds the kernel of descriptor symbol `entry` ".kd".  INVALID: no such code object, or no such
 * kernel in it. */
roc_status roc_hsaco_read_kernel(const void *bytes, size_t nbytes, const char *entry,
                                 roc_hsaco_kernel *out, roc_error *err);

#endif
