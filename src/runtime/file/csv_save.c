/* Writing CSV; see csv.h. */
#include <inttypes.h>
#include <string.h>

#include "base/dtype.h"
#include "runtime/csv.h"
#include "runtime/file/csv_number.h"
#include "runtime/file/stream.h"

typedef struct sheet {
  char separator;
  bool has_names;
  const roc_csv_source *sources;
  size_t nsources;
  int64_t nrows;
} sheet;

static void write_text(FILE *file, const sheet *s, const roc_csv_text *text) {
  bool needs_quotes = false;
  for (size_t i = 0; i < text->len; i++) {
    char c = text->at[i];
    needs_quotes = needs_quotes || c == s->separator || c == '"' || c == '\n' || c == '\r';
  }
  if (!needs_quotes) {
    fwrite(text->at, 1, text->len, file);
    return;
  }
  putc_unlocked('"', file);
  for (size_t i = 0; i < text->len; i++) {
    if (text->at[i] == '"') putc_unlocked('"', file);
    putc_unlocked(text->at[i], file);
  }
  putc_unlocked('"', file);
}

static void write_element(FILE *file, const roc_array *a, int64_t row) {
  roc_scalar value = roc_dtype_load(a->dtype, roc_array_at(a, &row));
  char text[ROC_CSV_NUMBER_BYTES];
  switch (value.type) {
    case ROC_VT_BOOL: fputs(value.as.b ? "1" : "0", file); break;
    case ROC_VT_INT:
      fprintf(file, a->dtype == ROC_DT_UINT64 ? "%" PRIu64 : "%" PRId64, value.as.i);
      break;
    default:
      roc_csv_print_float(value.as.f, roc_dtype_itemsize(a->dtype) < 8, text);
      fputs(text, file);
      /* So that a column of whole numbers is read back as floats. */
      if (text[0] != '\0' && !strpbrk(text, ".ein")) fputs(".0", file);
  }
}

static roc_status write_sheet(FILE *file, const char *path, void *ud, roc_error *err) {
  const sheet *s = ud;
  for (int64_t row = s->has_names ? -1 : 0; row < s->nrows; row++) {
    for (size_t i = 0; i < s->nsources; i++) {
      const roc_csv_source *source = &s->sources[i];
      if (i > 0) putc_unlocked(s->separator, file);
      if (row < 0) {
        write_text(file, s, &source->name);
      } else if (source->array) {
        write_element(file, source->array, row);
      } else {
        write_text(file, s, &source->texts[row]);
      }
    }
    putc_unlocked('\n', file);
    if (ferror(file)) return roc_stream_fail("write", path, err);
  }
  return ROC_OK;
}

roc_status roc_csv_save(const char *path, char separator, bool has_names,
                        const roc_csv_source *sources, size_t nsources, int64_t nrows,
                        roc_rt_progress *work, roc_error *err) {
  sheet s = {separator, has_names, sources, nsources, nrows};
  return roc_stream_save(path, write_sheet, &s, work, err);
}
