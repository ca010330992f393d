/* What LLVM allocates, and what happens when the system has no more memory, or the caller wants no
 * more of a compile: it fails with OOM or INTERRUPTED, and the process goes on.
 *
 * LLVM cannot report that an allocation failed: it aborts.  So all of malloc's family and C++'s new
 * in this object come to memory.c (the linker's --wrap, and new.cpp).  The blocks of a run are on a
 * list; an allocation that fails ends the run by longjmp, out of LLVM's frames, and the blocks on
 * the list are freed.  This is correct because a compile shares nothing that it changes with another
 * one (compile.c), except what LLVM protects by a lock, by the guard of a static variable or by
 * pthread_once.  While a thread holds one of these, its blocks are not listed and the run cannot
 * end; an allocation that fails then takes its block from the reserve.  LLVM's own
 * CrashRecoveryContext ends a compile by longjmp, too.  LLVM has no other way to end a compile that
 * runs, so an interrupt is an allocation that fails: LLVM allocates all the time. */
#ifndef ROC_CODEGEN_LLVM_MEMORY_H
#define ROC_CODEGEN_LLVM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs work(ud).  OOM: memory ran out in it; INTERRUPTED: options->wants_end said so at an
 * allocation.  Then it did not return, and what it had allocated is freed (not what was allocated
 * before and only changed by it).  Locks that were held before are still held.  Runs of one thread
 * do not nest. */
roc_status roc_memory_run(void (*work)(void *ud), void *ud, const roc_cg_options *options);

/* Between these two a run cannot end: for code that holds more than memory (a file, a mapping, a
 * state that later calls depend on).  They nest. */
void roc_memory_hold(void);
void roc_memory_release(void);

/* After roc_memory_release, for a block allocated before it: puts the block on the run's list. */
void roc_memory_adopt(void *block);

/* Whether the system has that many bytes now.  To be asked before roc_memory_hold, so that the
 * reserve is needed only if another thread takes the memory meanwhile. */
bool roc_memory_has(size_t nbytes);

/* Sets the function that is called when the reserve is used up, too; it must not return. */
void roc_memory_on_exhaustion(void (*stop)(void));

/* LLVM's list of notes to print in a crash; its items are on the thread's stack. */
const void *roc_memory_crash_notes(void);
void roc_memory_restore_crash_notes(const void *notes);

/* As in roc_codegen_api. */
void roc_memory_plant(uint64_t first, uint64_t last);
roc_cg_memory roc_memory_stats(void);

#ifdef __cplusplus
}
#endif

#endif
