/* Blocks of arrays that have been freed, kept for the next array of about their size: to give pages
 * back to the system and to have them again, zeroed, takes longer than most operations on them.
 *
 * Any thread.  No thread waits for another: where one is in here, the other does without. */
#ifndef ROC_BASE_BLOCK_CACHE_H
#define ROC_BASE_BLOCK_CACHE_H

#include <stdbool.h>
#include <stddef.h>

/* A kept block of at least that many bytes, and not much more, or NULL. */
void *roc_block_cache_take(size_t nbytes, size_t alignment);
/* False: the block is not kept, and the caller's to free. */
bool roc_block_cache_keep(void *block);
/* Gives all blocks back to the system; how many bytes. */
size_t roc_block_cache_trim(void);

#endif
