/* See sort.h.  Threads take lines; where there are fewer lines than threads, each line is cut into
 * parts, which threads sort and then merge in pairs.
 *
 * Where few results of a line are wanted, the others are not sorted: block by block of the line, those
 * elements are kept that come before the last of the first ones so far. */
#include "runtime/sort.h"

#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "runtime/sort/elements.h"

enum {
  PART_LEAST = 1 << 16, /* elements of a thread: fewer do not pay */
  SELECTED_PART = 4,    /* of a line, up to which its first elements are selected */
  BLOCK_LEAST = 128     /* elements of a line that are looked at together */
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
  size_t block;                    /* elements of a line at a time; 0: whole lines are sorted */
  size_t room;                     /* records of a part, and as many spare ones */
  size_t counts[ROC_THREAD_PARTS]; /* of the part's first elements */
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

/* ---- the first elements ------------------------------------------------------------------ */

/* Keeps the first `keep` of elements `begin` to before `end` of a line, sorted, in the records, whose
 * number it gives. */
static size_t select_first(const job *j, int64_t line, size_t begin, size_t end, char *records,
                           char *spare, bool *has_ties) {
  const roc_sort_records *type = j->form->records;
  size_t keep = (size_t)j->sort->keep, count = 0;
  const char *limit = NULL;
  for (size_t at = begin; at < end; at += j->block) {
    size_t n = end - at < j->block ? end - at : j->block;
    *has_ties |= j->form->read(&j->keys, line_at(j, line), at, n, spare);
    count = type->take(records, count, limit, spare, n);
    if (count + j->block <= j->room && at + n < end) continue;
    type->sort(records, spare, count, j->form->shift);
    if (count < keep) continue;
    count = keep;
    limit = records + (keep - 1) * type->bytes;
  }
  return count;
}

static void select_part(void *ud, uint32_t part) {
  job *j = ud;
  size_t n = (size_t)j->sort->n, room = part * j->room * j->form->records->bytes;
  j->has_ties[part] = false;
  j->counts[part] = select_first(j, j->line, begin_of(j, n, part), begin_of(j, n, part + 1),
                                 j->records + room, j->spare + room, &j->has_ties[part]);
}

/* The first elements of the parts, in their order, are sorted together. */
static void select_line(job *j) {
  size_t bytes = j->form->records->bytes, count = 0;
  bool has_ties = false;
  roc_thread_each(j->parts, select_part, j);
  for (uint32_t i = 0; i < j->parts; i++) {
    memmove(j->records + count * bytes, j->records + i * j->room * bytes, j->counts[i] * bytes);
    count += j->counts[i];
    has_ties |= j->has_ties[i];
  }
  j->form->records->sort(j->records, j->spare, count, j->form->shift);
  store(j, j->line, j->records, 0, count);
  if (has_ties) mend(j, j->line);
}

/* ---- many lines -------------------------------------------------------------------------- */

static void sort_lines(void *ud, uint32_t part) {
  const job *j = ud;
  size_t n = (size_t)j->sort->n, lines = (size_t)j->sort->lines;
  size_t room = part * j->room * j->form->records->bytes;
  char *records = j->records + room, *spare = j->spare + room;
  size_t end = begin_of(j, lines, part + 1);
  for (size_t line = begin_of(j, lines, part); line < end; line++) {
    bool has_ties = false;
    if (j->block > 0) {
      select_first(j, (int64_t)line, 0, n, records, spare, &has_ties);
    } else {
      has_ties = j->form->read(&j->keys, line_at(j, (int64_t)line), 0, n, records);
      j->form->records->sort(records, spare, n, j->form->shift);
    }
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
  if (j->block > 0) {
    select_line(j);
    return;
  }
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

/* Whether lines are sorted or their first elements selected, and the memory that a part takes. */
static void choose_form(job *j, bool is_cut) {
  size_t n = (size_t)j->sort->n, keep = (size_t)j->sort->keep;
  j->block = keep > BLOCK_LEAST ? keep : BLOCK_LEAST;
  if (n / SELECTED_PART >= j->block) {
    j->room = keep + 2 * j->block;
  } else {
    j->block = 0;
    j->room = is_cut ? n / j->parts + 1 : n;
  }
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
  choose_form(&j, is_cut);
  size_t count = 0, nbytes = 0;
  if (roc_mul_size(j.room, j.parts, &count) &&
      roc_mul_size(count, 2 * j.form->records->bytes, &nbytes)) {
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
  roc_free_pages(memory);
  return ROC_OK;
}
