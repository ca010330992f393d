/* Elements as records, and back. */
#ifndef ROC_RUNTIME_SORT_ELEMENTS_H
#define ROC_RUNTIME_SORT_ELEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "runtime/sort/records.h"

/* How the bits of an element become a key, and back. */
typedef struct roc_sort_keys {
  uint64_t mask;     /* all bits of an element */
  uint64_t sign;     /* its uppermost bit */
  uint64_t infinity; /* of floats: greater bits below the sign are NaN */
  uint64_t exchange; /* the bits that an order exchanges: the sign of integers, all where it
                        descends */
} roc_sort_keys;

typedef struct roc_sort_form {
  const roc_sort_records *records;
  unsigned shift; /* where keys begin */
  /* n elements of a line, from number `first` on, as records.  True: some are -0 or NaN, which keys
   * do not tell from 0, or from each other. */
  bool (*read)(const roc_sort_keys *keys, const void *line, size_t first, size_t n, void *records);
  /* Records without places as elements. */
  void (*write)(const roc_sort_keys *keys, const void *records, size_t n, void *values);
  /* The places of records, from 1, and the elements that were there in the line; either may be
   * NULL. */
  void (*write_places)(const void *records, size_t n, const void *line, void *values,
                       int64_t *places);
} roc_sort_form;

roc_sort_keys roc_sort_keys_of(roc_dtype dtype, bool is_descending);
/* For lines of n elements. */
const roc_sort_form *roc_sort_form_of(roc_dtype dtype, size_t n, bool has_places);

/* Gives the first `keep` of a line's sorted values the signs of 0 and the bits of NaN that its
 * elements have, in their order. */
void roc_sort_mend(roc_dtype dtype, const void *line, void *values, size_t keep);

#endif
