/* The libraries of file formats, opened at the first file that needs one, so that a program that has
 * no such file does not need them: minizip (with zlib below it) for .npz, libpng for PNG. */
#ifndef ROC_RUNTIME_FILE_OPENED_H
#define ROC_RUNTIME_FILE_OPENED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct roc_opened_function {
  const char *symbol;
  size_t offset; /* of its pointer in the table */
} roc_opened_function;

/* A library, a table of functions in static memory, and what the library is needed for. */
typedef struct roc_opened {
  const char *file, *package, *purpose;
  const roc_opened_function *functions;
  size_t nfunctions;
  void *table;
  bool is_open;
} roc_opened;

/* Opens the library and fills its table, once; it stays open.  Any thread.  UNAVAILABLE: it is not
 * installed, or lacks a function; the message names the package. */
roc_status roc_opened_load(roc_opened *opened, roc_error *err);

#endif
