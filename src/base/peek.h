/* A look at memory that need not be there. */
#ifndef ROC_BASE_PEEK_H
#define ROC_BASE_PEEK_H

#include <stdbool.h>
#include <stddef.h>

/* Copies what lies at an address of this process; false where a load would crash.  A system call. */
bool roc_peek(const void *address, void *out, size_t nbytes);

#endif
