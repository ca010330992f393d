/* Libraries of functions in LLVM bitcode: linked into the module of a kernel that calls some of
 * them. */
#ifndef ROC_CODEGEN_LLVM_BITCODE_H
#define ROC_CODEGEN_LLVM_BITCODE_H

#include "codegen/core/cg.h"

/* Whether the module calls a function that it does not define, of those whose names begin so. */
bool roc_bitcode_is_needed(const roc_cg *cg, const char *prefix);

/* Links those functions of the library `name` that the module calls, and what they call; no others,
 * and nothing else is read of it.  UNAVAILABLE: the bytes are no bitcode that this LLVM reads. */
roc_status roc_bitcode_link(roc_cg *cg, const char *name, const void *bytes, size_t nbytes,
                            roc_error *err);

/* Makes all functions defined in the module whose names begin so its own, to be inlined. */
void roc_bitcode_make_internal(roc_cg *cg, const char *prefix);

#endif
