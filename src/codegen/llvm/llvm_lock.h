/* A lock on LLVM: shared by code generation, on any number of threads, and exclusive for the
 * linker.
 *
 * lld resets LLVM's global options, which code generation reads, and the process's signal handlers;
 * so it runs alone. Everything else of a compile is its own (context, module, target machine), and
 * it holds a share. While a thread waits for exclusive use, no new share is given. All functions:
 * any thread, may wait for others; shares do not nest. */
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

/* Gives up what this thread holds, when LLVM will never return to it; true when it held the lock
 * exclusively. */
bool roc_llvm_lock_abandon(void);

/* The most threads that ever had a share at the same moment to compile. */
uint32_t roc_llvm_lock_most(void);

#ifdef __cplusplus
}
#endif

#endif
