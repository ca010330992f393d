/* What the compiler said it is, kept beside the cache, so that code which is there already is found
 * without opening the compiler and LLVM.
 *
 * A note for each target holds the compiler's fingerprint and the size, time and inode of every
 * file it was made from: the compiler, LLVM, the device library (and where that one was looked for
 * first).  It counts only while all of them are as they were and the environment would find the
 * same ones; a note that is damaged or of other files is none.  Any thread. */
#ifndef ROC_JIT_VERSIONS_H
#define ROC_JIT_VERSIONS_H

#include <stdbool.h>

#include "backend/backend.h"

#define ROC_JIT_VERSIONS_PREFIX "versions-" /* of the notes' names in the cache's folder */

/* The fingerprint for `options`, of ROC_CG_FINGERPRINT_BYTES; false when nothing valid is noted. */
bool roc_jit_versions_recall(const char *folder, const roc_cg_options *options, char *out);

/* Notes it; `files` is what roc_codegen_api's files gave.  Best effort. */
void roc_jit_versions_keep(const char *folder, const roc_cg_options *options, const char *files,
                           const char *fingerprint);

#endif
