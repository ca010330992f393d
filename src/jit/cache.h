/* Code objects kept on disk between runs, so that a second run of a script compiles nothing.
 *
 * One file an object in $XDG_CACHE_HOME/roclua (~/.cache/roclua), named after the content hash of
 * everything the code depends on: the IR's text, target, options, and the versions of compiler,
 * LLVM, device libraries and, for "cpu", the processor. Best effort: a cache that cannot be read or
 * written is as if it were empty, and a damaged file is compiled again and replaced. Files are
 * written atomically, so that processes may share them. ROCLUA_CACHE=off turns it off;
 * ROCLUA_CACHE_MB bounds its size (256): the least recently used entries are deleted. Any
 * thread. */
#ifndef ROC_JIT_CACHE_H
#define ROC_JIT_CACHE_H

#include "backend/backend.h"
#include "base/str.h"

/* Like roc_jit_compile, but from the cache where possible; *times (not NULL) is then all 0. */
roc_status roc_jit_build(const roc_ir_module *module, const roc_cg_options *options,
                         roc_codeobj **out_object, roc_cg_times *times, roc_error *err);

/* A text that a process has kept under that key, found in the same folder by the hash of the key.
 * False: there is none, or its file is damaged. */
bool roc_jit_cache_recall(const char *key, size_t nkey, roc_str *out);
/* Keeps it, where there is a cache: best effort. */
void roc_jit_cache_keep(const char *key, size_t nkey, const char *text, size_t len);

/* This process's hits and misses, for specs and benchmarks. */
typedef struct roc_jit_cache_stats {
  uint64_t hits, misses, stores, evictions;
} roc_jit_cache_stats;
roc_jit_cache_stats roc_jit_cache_get_stats(void);

#endif
