/* Libraries that are opened at run time, when something first needs them, so that a program without
 * that need does not have to have them. */
#ifndef ROC_BASE_OPENED_H
#define ROC_BASE_OPENED_H

#include <stddef.h>

#include "base/status.h"

typedef struct roc_opened_function {
  const char *symbol;
  size_t offset; /* of its pointer in the table */
} roc_opened_function;

enum { ROC_OPENED_MAX_FILES = 4 };

/* A library: where it is searched for, and a table of functions in static memory. */
typedef struct roc_opened {
  const char *variable;                    /* of the environment: names another file; NULL: none */
  const char *files[ROC_OPENED_MAX_FILES]; /* the first that can be opened serves */
  const char *purpose;                     /* what needs it, as "a .npz file" */
  const char *absent;                      /* what to do where there is none: "install …" */
  const char *needed;                      /* which version has all functions; NULL: any */
  const roc_opened_function *functions;
  size_t nfunctions;
  void *table;
  /* From the first call on. */
  const char *file; /* that was opened; NULL: none */
  void *handle;
  roc_error absence; /* why there is none */
} roc_opened;

/* Opens the library and fills its table, once; it stays open.  Any thread.  UNAVAILABLE: there is
 * none, or it lacks a function; INVALID: the file that the variable names cannot be opened. */
roc_status roc_opened_load(roc_opened *opened, roc_error *err);

/* The last part of the file's name, for a message. */
const char *roc_opened_file_name(const roc_opened *opened);

#endif
