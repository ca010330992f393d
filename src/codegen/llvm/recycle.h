/* Small blocks of the system's allocator that this thread has freed, for its next allocations.
 *
 * LLVM takes and frees some 25,000 small blocks for a short kernel.  glibc keeps seven of a size for a
 * thread and looks for the place of each other one. */
#ifndef ROC_CODEGEN_LLVM_RECYCLE_H
#define ROC_CODEGEN_LLVM_RECYCLE_H

#include <stddef.h>

enum { ROC_RECYCLE_SIZES = 64 }; /* larger blocks are few */

/* A thread's; zeroed at first. */
typedef struct roc_spares {
  struct roc_spare *of_size[ROC_RECYCLE_SIZES];
  size_t nbytes;
} roc_spares;

/* A block of at least that size, uninitialised: one that was freed, or the system's.  NULL: out of
 * memory. */
void *roc_recycle_take(roc_spares *spares, size_t nbytes);
/* In the place of `free`, for any block of the system's allocator.  What is kept is freed when the
 * thread ends. */
void roc_recycle_give(roc_spares *spares, void *block);

#endif
