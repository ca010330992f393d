/* Small blocks that are made and freed all the time, such as what describes an array: freed ones
 * are kept for the next of their size, many more of them than malloc keeps at hand.
 *
 * Counted, and made to fail, as those of base/alloc.h.  Any thread.  No thread waits for another:
 * where one is in here, the other does without. */
#ifndef ROC_BASE_SMALL_BLOCKS_H
#define ROC_BASE_SMALL_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

enum { ROC_SMALL_BLOCK_MOST = 1024 }; /* bytes of a block that is kept */

/* Undefined contents, aligned as by malloc; NULL when memory is out. */
void *roc_small_alloc(size_t nbytes) __attribute__((malloc));
/* `nbytes`: as they were asked for.  NULL is fine. */
void roc_small_free(void *block, size_t nbytes);
/* Gives all that is kept back to malloc; whether there was any. */
bool roc_small_trim(void);

#endif
