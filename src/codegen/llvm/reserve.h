/* The memory that is used when the system has none: part of this object, so that it is there from
 * the moment when the object is opened.  A page that was never used takes room in the address space
 * alone.  Any thread. */
#ifndef ROC_CODEGEN_LLVM_RESERVE_H
#define ROC_CODEGEN_LLVM_RESERVE_H

#include <stdbool.h>
#include <stddef.h>

/* A block aligned as malloc's; NULL: there is not so much left. */
void *roc_reserve_take(size_t nbytes);
void roc_reserve_give(void *block);
bool roc_reserve_owns(const void *block);

/* Where the block ends. */
void *roc_reserve_end(void *block);

/* Bytes taken now, and at most. */
void roc_reserve_stats(size_t *out_bytes, size_t *out_most);

#endif
