/* See sort.h.  Threads take lines; where there are fewer lines than threads, each line is cut into
 * parts, which threads sort and then merge in pairs. */
#include "runtime/sort.h"

#include "base/alloc.h"
#include "base/thread.h"
#include "runtime/sort/elements.h"

enum {
  PART_LEAST = 1 << 16 /* elements of a thread: fewer do not pay */
};

typedef struct job {
  const roc_sort *sort;
  const roc_sort_form *form;
  roc_sort_keys keys;
  char *records, *spare;
  int64_t line;                    /* that is sorted in parts */
  uint32_t parts;                  /* a power of two where a line is cut, else of all lines */
  uint32_t width;                  /* parts of a run that are merged with the next run */
  bool has_ties[ROC_THREAD_PARTS]; /* the part of the line has -0 or NaN */
} job;

/* Where part i of n things begins. */
static size_t begin_of(const job *j, size_t n, size_t i) {
  return n / j->parts * i + n % j->parts * i / j->parts;
}

static const char *line_at(const job *j, int64_t line) {
  const roc_sort *s = j->sort;
  return (const char *)s->from + (size_t)(line * s->n) * roc_dtype_itemsize(s->dtype);
}

/* Stores results `first` to before `last` of a line. */
static void store(const job *j, int64_t line, const char *records, size_t first, size_t last) {
  const roc_sort *s = j->sort;
  size_t itemsize = roc_dtype_itemsize(s->dtype), keep = (size_t)s->keep;
  if (last > keep) last = keep;
  if (first >= last) return;
  size_t at = (size_t)line * keep + first;
  char *values = s->values ? (char *)s->values + at * itemsize : NULL;
  const char *from = records + first * j->form->records->bytes;
  if (j->form->write) {
    j->form->write(&j->keys, from, last - first, values);
  } else {
    j->form->write_places(from, last - first, line_at(j, line), values,
                          s->places ? s->places + at : NULL);
  }
}

static void mend(const job *j, int64_t line) {
  const roc_sort *s = j->sort;
  roc_sort_mend(s->dtype, line_at(j, line),
                (char *)s->values + (size_t)(line * s->keep) * roc_dtype_itemsize(s->dtype),
                (size_t)s->keep);
}

/* ---- many lines -------------------------------------------------------------------------- */

static void sort_lines(void *ud, uint32_t part) {
  const job *j = ud;
  size_t n = (size_t)j->sort->n, lines = (size_t)j->sort->lines;
  size_t room = (size_t)part * n * j->form->records->bytes;
  char *records = j->records + room, *spare = j->spare + room;
  size_t end = begin_of(j, lines, part + 1);
  for (size_t line = begin_of(j, lines, part); line < end; line++) {
    bool has_ties = j->form->read(&j->keys, line_at(j, (int64_t)line), 0, n, records);
    j->form->records->sort(records, spare, n, j->form->shift);
    store(j, (int64_t)line, records, 0, n);
    if (has_ties) mend(j, (int64_t)line);
  }
}

/* ---- a line in parts --------------------------------------------------------------------- */

static void sort_part(void *ud, uint32_t part) {
  job *j = ud;
  size_t n = (size_t)j->sort->n, bytes = j->form->records->bytes;
  size_t begin = begin_of(j, n, part), end = begin_of(j, n, part + 1);
  char *records = j->records + begin * bytes;
  j->has_ties[part] = j->form->read(&j->keys, line_at(j, j->line), begin, end - begin, records);
  j->form->records->sort(records, j->spare + begin * bytes, end - begin, j->form->shift);
}

/* The part's share of the merge of the two runs that it is in. */
static void merge_part(void *ud, uint32_t part) {
  const job *j = ud;
  size_t n = (size_t)j->sort->n, bytes = j->form->records->bytes;
  size_t run = part / (2 * j->width) * (2 * j->width);
  size_t a = begin_of(j, n, run), b = begin_of(j, n, run + j->width);
  size_t end = begin_of(j, n, run + 2 * j->width);
  j->form->records->merge(j->records + a * bytes, b - a, j->records + b * bytes, end - b,
                          begin_of(j, n, part) - a, begin_of(j, n, part + 1) - a,
                          j->spare + a * bytes);
}

static void store_part(void *ud, uint32_t part) {
  const job *j = ud;
  size_t n = (size_t)j->sort->n;
  store(j, j->line, j->records, begin_of(j, n, part), begin_of(j, n, part + 1));
}

static void sort_line(job *j) {
  roc_thread_each(j->parts, sort_part, j);
  for (j->width = 1; j->width < j->parts; j->width *= 2) {
    roc_thread_each(j->parts, merge_part, j);
    char *merged = j->spare;
    j->spare = j->records;
    j->records = merged;
  }
  roc_thread_each(j->parts, store_part, j);
  bool has_ties = false;
  for (uint32_t i = 0; i < j->parts; i++) has_ties |= j->has_ties[i];
  if (has_ties) mend(j, j->line);
}

/* ---- all --------------------------------------------------------------------------------- */

static uint32_t parts_of(const roc_sort *sort) {
  uint64_t size = (uint64_t)sort->lines * (uint64_t)sort->n, most = size / PART_LEAST;
  if (most > sort->threads) most = sort->threads;
  return most < 1 ? 1 : most > ROC_THREAD_PARTS ? ROC_THREAD_PARTS : (uint32_t)most;
}

roc_status roc_sort_lines(const roc_sort *sort, roc_error *err) {
  if (sort->lines == 0 || sort->keep == 0) return ROC_OK;
  bool has_places = sort->places != NULL;
  job j = {.sort = sort,
           .form = roc_sort_form_of(sort->dtype, (size_t)sort->n, has_places),
           .keys = roc_sort_keys_of(sort->dtype, sort->is_descending),
           .parts = parts_of(sort)};
  bool is_cut = (uint64_t)sort->lines < j.parts;
  while (is_cut && (j.parts & (j.parts - 1)) != 0) j.parts &= j.parts - 1;
  size_t count = (size_t)sort->n * (is_cut ? 1 : j.parts), nbytes = 0;
  if (roc_mul_size(count, 2 * j.form->records->bytes, &nbytes)) {
    j.records = roc_alloc_pages(nbytes, 64);
  }
  if (!j.records) return roc_fail(err, ROC_OOM, "out of memory for the records of a sort");
  char *memory = j.records;
  j.spare = memory + nbytes / 2;
  if (is_cut) {
    for (j.line = 0; j.line < sort->lines; j.line++) sort_line(&j);
  } else {
    roc_thread_each(j.parts, sort_lines, &j);
  }
  roc_free(memory);
  return ROC_OK;
}
