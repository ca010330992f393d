/* What roc.load and roc.save share: lib_file.c chooses the format, lib_csv.c does CSV. */
#ifndef ROC_BINDINGS_ARRAY_FILE_BIND_H
#define ROC_BINDINGS_ARRAY_FILE_BIND_H

#include "bindings/support/bind.h"
#include "runtime/array.h"
#include "runtime/progress.h"

/* Whether the path ends with it, in any case, after at least one other character. */
bool roc_path_ends_with(const char *path, const char *ending);
/* The work "VERB FILE" of the state begins; to be ended before anything can raise. */
void roc_begin_file(lua_State *L, roc_rt_progress *work, const char *verb, const char *path);
/* The host array at `arg` (a copy of a device array takes its place), once the work that writes it is
 * complete; raises for anything else. */
const roc_array *roc_check_saved(lua_State *L, int arg);

typedef struct roc_csv_options {
  bool is_csv; /* by the option `format`, else by the name */
  bool has_names;
  char separator;
} roc_csv_options;

/* The options of roc.load at `arg`: nil, or a table of `format`, `header` and `separator`. */
roc_csv_options roc_check_csv_options(lua_State *L, int arg, const char *path);
/* Pushes a table of the file's columns. */
void roc_load_csv(lua_State *L, const char *path, const roc_csv_options *options);
/* Saves the table of columns, or the array, at argument 2. */
void roc_save_csv(lua_State *L, const char *path);

#endif
