/* Sorting unsigned integers by vectors, on processors that have AVX-512, those of 32 bits with AVX2, too. */
#ifndef ROC_RUNTIME_SORT_VECTORS_H
#define ROC_RUNTIME_SORT_VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sorts n numbers; `spare` has room for as many.  What this takes too long for is left to `other`,
 * which sorts its first argument with as much room.  False: this processor has no such vectors, and
 * nothing has happened. */
bool roc_sort_vectors_32(uint32_t *numbers, uint32_t *spare, size_t n,
                         void (*other)(uint32_t *numbers, uint32_t *spare, size_t n));
bool roc_sort_vectors_64(uint64_t *numbers, uint64_t *spare, size_t n,
                         void (*other)(uint64_t *numbers, uint64_t *spare, size_t n));

/* Merges two sorted runs; false as above. */
bool roc_merge_vectors_32(const uint32_t *a, size_t na, const uint32_t *b, size_t nb, uint32_t *to);
bool roc_merge_vectors_64(const uint64_t *a, size_t na, const uint64_t *b, size_t nb, uint64_t *to);

#endif
