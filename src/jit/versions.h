/* The compiler's fingerprint, kept in the cache's folder, so that cached code is found without
 * opening the compiler and LLVM.
 *
 * A note for each target holds the compiler's fingerprint and the size, time and inode of every
 * file it was made from: the compiler, LLVM, the device library (and the paths where that one was
 * searched first).  It is valid only while none of them has changed and the environment would find
 * the same ones; a damaged note, or one of other files, is ignored.  Any thread. */
#ifndef ROC_JIT_VERSIONS_H
#define ROC_JIT_VERSIONS_H

#include <stdbool.h>

#include "backend/backend.h"

#define ROC_JIT_VERSIONS_PREFIX "versions-" /* of the notes' names in the cache's folder */

/* The fingerprint for `options`, of ROC_CG_FINGERPRINT_BYTES; false when there is no valid note. */
bool roc_jit_versions_recall(const char *folder, const roc_cg_options *options, char *out);

/* Stores it; `files` is what roc_codegen_api's files gave.  Best effort. */
void roc_jit_versions_keep(const char *folder, const roc_cg_options *options, const char *files,
                           const char *fingerprint);

#endif
