/* Sorting lines of elements in host memory, on several threads where that pays.
 *
 * The order is the one of roc/arrays/sorting.lua: ascending or descending, NaN last in either
 * direction, equal elements (-0 and 0, all NaN) in the order in which they were. */
#ifndef ROC_RUNTIME_SORT_H
#define ROC_RUNTIME_SORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"

typedef struct roc_sort {
  roc_dtype dtype;
  bool is_descending;
  const void *from; /* `lines` lines of n elements, one after the other */
  int64_t lines, n;
  int64_t keep;     /* how many results of a line are wanted: its first ones, at most n */
  void *values;     /* lines of `keep` elements; NULL: not wanted */
  int64_t *places;  /* where they were in their line, from 1; NULL: not wanted */
  uint32_t threads; /* at most */
} roc_sort;

/* OOM: the results are undefined. */
roc_status roc_sort_lines(const roc_sort *sort, roc_error *err);

#endif
