/* ocml, AMD's mathematical library in LLVM bitcode: linked into a kernel that calls one of its
 * functions.
 *
 * Found in $ROCLUA_BITCODE_DIR, else where Debian and ROCm put it.  Only what is called arrives. */
#ifndef ROC_CODEGEN_DEVLIB_H
#define ROC_CODEGEN_DEVLIB_H

#include "codegen/cg.h"

/* Links ocml when the module has undefined "__ocml_" functions, and settles the constants it is
 * steered by. ROC_UNAVAILABLE when the library is not there: the message says which package has it.
 */
roc_status roc_devlib_link(roc_cg *cg, uint32_t isa_version, roc_error *err);

/* Which ocml a compile would use, as a short text: what code depends on beside this program. */
void roc_devlib_describe(char *out, size_t size);

#endif
