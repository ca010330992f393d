/* NVIDIA's programs: ptxas, which assembles PTX, and nvdisasm, which prints machine code.
 *
 * Each is found on the PATH, or where CUDA's toolkit is installed.  A call waits for its program.
 * Any thread may call. */
#ifndef ROC_BASE_NVPTX_PROGRAMS_H
#define ROC_BASE_NVPTX_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "base/str.h"

enum { ROC_NVPTX_SAID_BYTES = 8192 };

/* The begin of what `ptxas -v` says of each kernel of the PTX, for a GPU such as "sm_90".  False:
 * there is no ptxas, or it fails, as one does that does not know the GPU. */
bool roc_nvptx_describe(const char *target, const void *ptx, size_t nbytes,
                        char said[ROC_NVPTX_SAID_BYTES]);

/* The machine code that ptxas makes of the PTX for the GPU: an ELF file, which NVIDIA calls a
 * cubin, added to `out`.  UNAVAILABLE: there is no ptxas; INVALID: it refuses the text or the GPU,
 * with what it says; OOM; INTERNAL: a temporary file failed. */
roc_status roc_nvptx_make_cubin(const char *target, const void *ptx, size_t nbytes, roc_str *out,
                                roc_error *err);

/* The text of that machine code by nvdisasm, added to `out`.  Errors are the same, of either
 * program. */
roc_status roc_nvptx_make_sass(const char *target, const void *ptx, size_t nbytes, roc_str *out,
                               roc_error *err);

#endif
