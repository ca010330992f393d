/* CSV files (RFC 4180) as columns: a column of integers is int64, one of numbers float64, where an
 * empty field is NaN, and any other one text. */
#ifndef ROC_RUNTIME_CSV_H
#define ROC_RUNTIME_CSV_H

#include "runtime/array.h"
#include "runtime/progress.h"

typedef enum roc_csv_kind { ROC_CSV_INT, ROC_CSV_FLOAT, ROC_CSV_TEXT } roc_csv_kind;

/* A text in the file's bytes; where it is quoted, "" stands for a quote. */
typedef struct roc_csv_text {
  const char *at;
  size_t len;
  bool is_quoted;
} roc_csv_text;

typedef struct roc_csv_column {
  roc_csv_text name;
  roc_csv_kind kind;
  roc_buffer *numbers; /* with the values, and perhaps room for more; of texts NULL */
  union {
    int64_t *ints;
    double *floats;
    roc_csv_text *texts;
  } values; /* one a row */
} roc_csv_column;

typedef struct roc_csv {
  unsigned char *bytes; /* of the file; texts lie in them */
  roc_csv_column *columns;
  size_t ncolumns, nrows;
} roc_csv;

/* Reads a regular file, whose first line holds names where `has_names`.  Blank lines are left out;
 * lines end by \n or \r\n; spaces around numbers do not count.  IO; INVALID: lines of different
 * counts of fields, a quote that does not end; OOM.  To be closed after success. */
roc_status roc_csv_read(const char *path, char separator, bool has_names, roc_rt_progress *work,
                        roc_csv *out_csv, roc_error *err);
void roc_csv_close(roc_csv *csv); /* safe on zeroed structs */
/* Writes the text without quotes to `to`, of text->len bytes, and returns its length. */
size_t roc_csv_unquote(const roc_csv_text *text, char *to);

/* A column to be written: an array of rank 1 of the host, or texts (not quoted). */
typedef struct roc_csv_source {
  roc_csv_text name;
  const roc_array *array; /* NULL: texts */
  const roc_csv_text *texts;
} roc_csv_source;

/* Writes columns of `nrows` rows each, with a line of names where `has_names`, whole or not at all.
 * Numbers are the shortest that read back as the same; NaN is an empty field. */
roc_status roc_csv_save(const char *path, char separator, bool has_names,
                        const roc_csv_source *sources, size_t nsources, int64_t nrows,
                        roc_rt_progress *work, roc_error *err);

#endif
