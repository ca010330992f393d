/* Where masks are true: bytes of host memory, not 0. */
#ifndef ROC_RUNTIME_MASK_H
#define ROC_RUNTIME_MASK_H

#include <stddef.h>
#include <stdint.h>

size_t roc_mask_count(const unsigned char *mask, size_t n);
/* The first `count` elements, of 1, 2, 4 or 8 bytes, where the mask of n bytes is true. */
void roc_mask_take(const unsigned char *mask, size_t n, const void *elements, size_t itemsize,
                   void *out, size_t count);
/* The first `count` places, from 1, where it is true. */
void roc_mask_places(const unsigned char *mask, size_t n, int64_t *out, size_t count);

#endif
