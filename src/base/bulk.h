/* Copies and fills of blocks, small ones and such as no cache holds. */
#ifndef ROC_BASE_BULK_H
#define ROC_BASE_BULK_H

#include <stddef.h>
#include <stdint.h>

/* Blocks from this size on would only push everything else out of the caches. */
enum { ROC_BULK_BYTES = 16 << 20 };

/* Repeats `pattern`, the last time perhaps not all of it. */
void roc_fill(void *dst, const void *pattern, size_t pattern_bytes, size_t nbytes);

/* The same, and memcpy, by stores that neither read the lines that they write nor keep them in the
 * caches.  libc does so for large blocks, but not for the shares of one that threads take, nor for
 * patterns. */
void roc_fill_past_caches(void *dst, const void *pattern, size_t pattern_bytes, size_t nbytes);
void roc_copy_past_caches(void *dst, const void *src, size_t nbytes);

/* The same by up to `threads` threads, a part each; an element's bytes are a power of two.  Memory
 * that was not touched yet the system gives to each of them meanwhile, near its core. */
void roc_fill_by_threads(void *dst, const void *pattern, size_t pattern_bytes, size_t nbytes,
                         uint32_t threads);
void roc_copy_by_threads(void *dst, const void *src, size_t nbytes, uint32_t threads);

#endif
