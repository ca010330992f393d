/* Reading CSV; see csv.h.
 *
 * A field is read as a number while its end is looked for.  A column begins as integers, becomes one
 * of floats in place at the first field that is no integer, and one of texts at the first that is no
 * number: then reading starts again, since what the numbers were written as is lost. */
#include "runtime/csv.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "runtime/file/csv_number.h"

typedef struct parser {
  const char *path;
  const char *at, *end;
  char separator;
  size_t line;
  roc_csv *csv;
  roc_rt_progress *work;
  const char *begin, *next_step; /* of the bytes; where to say how far it is */
  const bool *may_end;           /* by byte: it may end a field */
} parser;

enum { MAX_COLUMNS = 1 << 20, STEP_BYTES = 1 << 20 };

static bool ends_field(const parser *p, const char *at) {
  return at == p->end || *at == p->separator || *at == '\n' ||
         (*at == '\r' && at + 1 < p->end && at[1] == '\n');
}

/* The text of the field at p->at, which then is at the field's end. */
static roc_status read_text(parser *p, roc_csv_text *out, roc_error *err) {
  const char *from = p->at;
  if (from < p->end && *from == '"') {
    size_t line = p->line;
    const char *at = from + 1;
    for (; at < p->end && (*at != '"' || (at + 1 < p->end && at[1] == '"')); at++) {
      p->line += *at == '\n';
      at += *at == '"';
    }
    if (at == p->end || !ends_field(p, at + 1)) {
      return roc_fail(err, ROC_INVALID, "%s:%zu: a quote %s", p->path, line,
                      at == p->end ? "does not end" : "ends before the field does");
    }
    *out = (roc_csv_text){from + 1, (size_t)(at - from - 1), true};
    p->at = at + 1;
    return ROC_OK;
  }
  const char *at = from;
  for (;; at++) {
    while (at < p->end && !p->may_end[(unsigned char)*at]) at++;
    if (ends_field(p, at)) break;
  }
  p->at = at;
  *out = (roc_csv_text){from, (size_t)(at - from), false};
  return ROC_OK;
}

/* Goes past what ends the field; true: it was the last one of its line. */
static bool pass_end(parser *p) {
  if (p->at == p->end) return true;
  if (*p->at == p->separator) {
    p->at++;
    return false;
  }
  p->at += *p->at == '\r' ? 2 : 1;
  p->line++;
  return true;
}

static void pass_blank_lines(parser *p) {
  while (p->at < p->end && *p->at != p->separator && ends_field(p, p->at)) pass_end(p);
}

/* A text as a number: NaN of an empty one. */
static bool is_number(const roc_csv_text *text, roc_csv_number *out) {
  const char *at = text->at, *end = at + text->len;
  while (at < end && *at == ' ') at++;
  while (at < end && end[-1] == ' ') end--;
  if (at == end) {
    *out = (roc_csv_number){.f = NAN};
    return true;
  }
  return roc_csv_scan_number(at, end, out) == end;
}

static void store_number(roc_csv_column *column, size_t row, const roc_csv_number *number) {
  if (column->kind == ROC_CSV_INT && !number->is_int) {
    for (size_t i = 0; i < row; i++) {
      double f = (double)column->values.ints[i];
      column->values.floats[i] = f;
    }
    column->kind = ROC_CSV_FLOAT;
  }
  if (column->kind == ROC_CSV_INT) {
    column->values.ints[row] = number->i;
  } else {
    column->values.floats[row] = number->f;
  }
}

/* *out_is_text: the column has to become one of texts. */
static roc_status read_field(parser *p, roc_csv_column *column, size_t row, bool *out_is_text,
                             roc_error *err) {
  roc_csv_number number;
  if (column->kind == ROC_CSV_TEXT) return read_text(p, &column->values.texts[row], err);
  const char *after = roc_csv_scan_number(p->at, p->end, &number);
  if (after && ends_field(p, after)) {
    p->at = after;
  } else {
    roc_csv_text text;
    ROC_TRY(read_text(p, &text, err));
    *out_is_text = !is_number(&text, &number);
    if (*out_is_text) return ROC_OK;
  }
  store_number(column, row, &number);
  return ROC_OK;
}

static roc_status fail_count(const parser *p, size_t line, size_t nfields, roc_error *err) {
  size_t ncolumns = p->csv->ncolumns;
  if (nfields > ncolumns) {
    return roc_fail(err, ROC_INVALID,
                    "%s:%zu: the line has more than %zu fields, the count of the "
                    "first line",
                    p->path, line, ncolumns);
  }
  return roc_fail(err, ROC_INVALID, "%s:%zu: the line has %zu of %zu fields", p->path, line,
                  nfields, ncolumns);
}

static roc_status say_how_far(parser *p, roc_error *err) {
  p->next_step = p->end - p->at > STEP_BYTES ? p->at + STEP_BYTES : p->end;
  return roc_rt_progress_bytes(p->work, (uint64_t)(p->at - p->begin), (uint64_t)(p->end - p->begin),
                               err);
}

/* The rows from p->at on; *out_text is the column that has to become texts, or NULL. */
static roc_status read_rows(parser *p, roc_csv_column **out_text, roc_error *err) {
  roc_csv *csv = p->csv;
  *out_text = NULL;
  csv->nrows = 0;
  for (pass_blank_lines(p); p->at < p->end; pass_blank_lines(p)) {
    size_t line = p->line;
    bool is_last = false;
    if (p->at >= p->next_step) ROC_TRY(say_how_far(p, err));
    for (size_t i = 0; i < csv->ncolumns; i++) {
      bool is_text = false;
      if (is_last) return fail_count(p, line, i, err);
      ROC_TRY(read_field(p, &csv->columns[i], csv->nrows, &is_text, err));
      if (is_text) {
        *out_text = &csv->columns[i];
        return ROC_OK;
      }
      is_last = pass_end(p);
    }
    if (!is_last) return fail_count(p, line, csv->ncolumns + 1, err);
    csv->nrows++;
  }
  return ROC_OK;
}

/* Counts the fields of the first line and, where they are names, reads them. */
static roc_status read_names(parser *p, bool has_names, roc_error *err) {
  roc_csv *csv = p->csv;
  pass_blank_lines(p);
  const parser start = *p;
  bool is_last = p->at == p->end;
  for (roc_csv_text text; !is_last; csv->ncolumns++, is_last = pass_end(p)) {
    ROC_TRY(read_text(p, &text, err));
  }
  if (csv->ncolumns > MAX_COLUMNS) {
    return roc_fail(err, ROC_INVALID, "'%s' has %zu columns; %d are the most", p->path,
                    csv->ncolumns, MAX_COLUMNS);
  }
  csv->columns = roc_zalloc((csv->ncolumns + 1) * sizeof *csv->columns);
  if (!csv->columns) return roc_fail(err, ROC_OOM, "out of memory reading '%s'", p->path);
  *p = start;
  for (size_t i = 0; has_names && i < csv->ncolumns; i++, pass_end(p)) {
    ROC_TRY(read_text(p, &csv->columns[i].name, err));
  }
  return ROC_OK;
}

static roc_status allocate_numbers(roc_csv_column *column, size_t most, const char *path,
                                   roc_error *err) {
  if (roc_buffer_create_host(most * sizeof(double), false, &column->numbers, err) != ROC_OK) {
    return roc_fail(err, ROC_OOM, "out of memory reading '%s'", path);
  }
  column->values.ints = roc_buffer_host(column->numbers);
  return ROC_OK;
}

/* The column's numbers are lost. */
static roc_status become_texts(roc_csv_column *column, size_t most, const char *path,
                               roc_error *err) {
  roc_buffer_release(column->numbers);
  column->numbers = NULL;
  column->kind = ROC_CSV_TEXT;
  column->values.texts = roc_alloc_pages(most * sizeof(roc_csv_text), 64);
  if (column->values.texts) return ROC_OK;
  return roc_fail(err, ROC_OOM, "out of memory reading '%s'", path);
}

static size_t count_lines(const char *at, const char *end) {
  size_t n = 1;
  while ((at = memchr(at, '\n', (size_t)(end - at)))) at++, n++;
  return n;
}

static roc_status read_all(parser *p, bool has_names, roc_error *err) {
  roc_csv *csv = p->csv;
  ROC_TRY(read_names(p, has_names, err));
  size_t most = count_lines(p->at, p->end);
  for (size_t i = 0; i < csv->ncolumns; i++) {
    ROC_TRY(allocate_numbers(&csv->columns[i], most, p->path, err));
  }
  const parser start = *p;
  roc_csv_column *text;
  ROC_TRY(read_rows(p, &text, err));
  while (text) {
    ROC_TRY(become_texts(text, most, p->path, err));
    for (size_t i = 0; i < csv->ncolumns; i++) {
      if (csv->columns[i].kind == ROC_CSV_FLOAT) csv->columns[i].kind = ROC_CSV_INT;
    }
    *p = start;
    ROC_TRY(read_rows(p, &text, err));
  }
  return ROC_OK;
}

roc_status roc_csv_read(const char *path, char separator, bool has_names, roc_rt_progress *work,
                        roc_csv *out_csv, roc_error *err) {
  static const char mark[] = "\xef\xbb\xbf"; /* the byte order mark of UTF-8 */
  *out_csv = (roc_csv){0};
  size_t nbytes;
  ROC_TRY(roc_file_read(path, SIZE_MAX, &out_csv->bytes, &nbytes, err));
  const char *at = (const char *)out_csv->bytes;
  bool may_end[UCHAR_MAX + 1] = {['\n'] = true, ['\r'] = true};
  may_end[(unsigned char)separator] = true;
  parser p = {path, at, at + nbytes, separator, 1, out_csv, work, at, at, may_end};
  if (nbytes >= 3 && memcmp(at, mark, 3) == 0) p.at += 3;
  roc_status status = read_all(&p, has_names, err);
  if (status != ROC_OK) roc_csv_close(out_csv);
  return status;
}

void roc_csv_close(roc_csv *csv) {
  for (size_t i = 0; i < csv->ncolumns && csv->columns; i++) {
    roc_csv_column *column = &csv->columns[i];
    roc_buffer_release(column->numbers);
    if (column->kind == ROC_CSV_TEXT) roc_free_pages(column->values.texts);
  }
  roc_free(csv->columns);
  roc_free(csv->bytes);
  *csv = (roc_csv){0};
}

size_t roc_csv_unquote(const roc_csv_text *text, char *to) {
  size_t len = 0;
  for (size_t i = 0; i < text->len; i++) {
    to[len++] = text->at[i];
    if (text->is_quoted && text->at[i] == '"') i++;
  }
  return len;
}
