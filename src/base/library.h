/* Finding the libraries that belong to roclua: the compiler's, and the software GPU. */
#ifndef ROC_BASE_LIBRARY_H
#define ROC_BASE_LIBRARY_H

#include <limits.h>
#include <stdbool.h>

/* Folders to look into, in this order.  Each begins and ends with '/'; the lists end with NULL. */
typedef struct roc_library_folders {
  const char *const *given; /* below $ROCLUA_LIBDIR; where that is set, no others are looked into */
  const char *const *own;   /* below the folder of the program or library that this code is in */
} roc_library_folders;

/* The path of the first regular file of that name; false when there is none. */
bool roc_library_find(const char *name, const roc_library_folders *folders, char path[PATH_MAX]);

#endif
