/* What roc.load and roc.save share: lib_file.c chooses the format, lib_csv.c does CSV. */
#ifndef ROC_BINDINGS_ARRAY_FILE_BIND_H
#define ROC_BINDINGS_ARRAY_FILE_BIND_H

#include "bindings/support/bind.h"
#include "runtime/array.h"
#include "runtime/progress.h"

/* Whether the path ends with it, in any case, after at least one other character. */
bool roc_path_ends_with(const char *path, const char *ending);
/* Work on a file of a state, and the script's function that is told how far it is. */
typedef struct roc_file_work {
  roc_rt_progress progress;
  lua_State *L;
  int function;    /* its index; 0: none */
  bool has_raised; /* it has ended the work by an error, which is on top of the stack */
} roc_file_work;
/* The option `progress` of the table at `arg`, or nil, is pushed; gives its index, or 0. */
int roc_check_file_progress(lua_State *L, int arg);
/* The work "VERB FILE" of the state begins; to be ended before anything can raise. */
void roc_begin_file(lua_State *L, roc_file_work *work, const char *verb, const char *path,
                    int function);
/* Raises why the work has failed. */
void roc_check_file(lua_State *L, const roc_file_work *work, roc_status status,
                    const roc_error *err);
/* The work ends; raises why it has failed. */
void roc_end_file(lua_State *L, roc_file_work *work, roc_status status, const roc_error *err);
/* The host array at `arg`, once the work that writes it is complete: what takes its place there
 * keeps its memory, or is a copy of a device array; raises for anything else. */
const roc_array *roc_check_saved(lua_State *L, int arg);

typedef struct roc_csv_options {
  bool is_csv; /* by the option `format`, else by the name */
  bool has_names;
  char separator;
} roc_csv_options;

/* The options of roc.load at `arg`: nil, or a table of `format`, `header` and `separator`, beside
 * `progress`. */
roc_csv_options roc_check_csv_options(lua_State *L, int arg, const char *path);
/* Pushes a table of the file's columns.  `progress`: the index of the function that is told, or 0. */
void roc_load_csv(lua_State *L, const char *path, const roc_csv_options *options, int progress);
/* Saves the table of columns, or the array, at argument 2. */
void roc_save_csv(lua_State *L, const char *path, int progress);

#endif
