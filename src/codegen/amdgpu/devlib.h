/* ocml, AMD's mathematical library in LLVM bitcode: linked into a kernel that calls one of its
 * functions.
 *
 * Found in $ROCLUA_BITCODE_DIR, else where Debian and ROCm put it. Only the called functions are
 * linked. */
#ifndef ROC_CODEGEN_AMDGPU_DEVLIB_H
#define ROC_CODEGEN_AMDGPU_DEVLIB_H

#include "base/file.h"
#include "codegen/core/cg.h"

/* Links ocml when the module has undefined "__ocml_" functions, and sets the constants that control
 * it. ROC_UNAVAILABLE when the library is not there: the message says which package has it. */
roc_status roc_devlib_link(roc_cg *cg, uint32_t isa_version, roc_error *err);

/* Which ocml a compile would use: what code depends on beside this program. */
void roc_devlib_identify(char out[ROC_FILE_IDENTITY_BYTES]);

/* Appends a line "IDENTITY PATH" for each place it is looked for at, up to where it is. */
void roc_devlib_files(char *out, size_t size);

#endif
