/* Finding the files that belong to roclua: the compiler's object and the software GPU.
 *
 * All of them are in one folder, lib/roclua/0 of a build or of an installation.  It is found from
 * the place of the object that this code is in (libroclua.so, a program that contains libroclua.a),
 * so an installation can be moved. */
#ifndef ROC_BASE_LIBRARY_H
#define ROC_BASE_LIBRARY_H

#include <limits.h>
#include <stdbool.h>

#include "base/status.h"

/* From now on that folder and no other.  Copied.  Any thread.  INVALID: it is none, its name is too
 * long, or a file has been searched for already. */
roc_status roc_library_set_folder(const char *folder, roc_error *err);

/* The path of the regular file of that name: in the folder that was set, else in $ROCLUA_LIBDIR if
 * that is set, else in the installation's.  False: there is none.  Any thread. */
bool roc_library_find(const char *name, char path[PATH_MAX]);

/* The file of the open library that has this function, through all links; false: not known. */
bool roc_library_path_of(const void *function, char path[PATH_MAX]);

/* Where roc_library_find looks, for a message. */
#define ROC_LIBRARY_PLACES \
  "looked in $ROCLUA_LIBDIR, or where that is not set in roclua/0 of the libraries' folder"

#endif
