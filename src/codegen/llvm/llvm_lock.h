/* Who uses LLVM now: code generation of any number of threads, or one linker alone.
 *
 * lld resets LLVM's global options, which code generation reads, and the process's signal handlers;
 * so it runs with nothing beside it.  Everything else of a compile is its own (context, module,
 * target machine) and holds a share.  A thread that waits to be alone lets no new one in.  All
 * functions: any thread, may wait for others; shares do not nest. */
#ifndef ROC_CODEGEN_LLVM_LLVM_LOCK_H
#define ROC_CODEGEN_LLVM_LLVM_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Around all of the back end's work but linking; is_compile: it counts for roc_llvm_lock_most. */
void roc_llvm_lock_shared(bool is_compile);
void roc_llvm_unlock_shared(void);

/* Around a run of lld, by a thread that has a share: it is given up meanwhile. */
void roc_llvm_lock_exclusive(void);
void roc_llvm_unlock_exclusive(void);

/* Gives up what this thread holds, for one that LLVM never comes back from; true when it was
 * alone. */
bool roc_llvm_lock_abandon(void);

/* The most threads that ever had a share at the same moment to compile. */
uint32_t roc_llvm_lock_most(void);

#ifdef __cplusplus
}
#endif

#endif
