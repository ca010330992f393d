/* What is sorted: records, which are elements as keys, unsigned integers of the same order, alone
 * or with the places of the elements.
 *
 *   uint32_t          keys of up to 32 bits
 *   uint64_t          keys of 64 bits; or keys of up to 32 bits above places
 *   roc_sort_placed   keys of 64 bits, or many, with places
 */
#ifndef ROC_RUNTIME_SORT_RECORDS_H
#define ROC_RUNTIME_SORT_RECORDS_H

#include <stddef.h>
#include <stdint.h>

typedef struct roc_sort_placed {
  uint64_t key, place;
} roc_sort_placed;

typedef struct roc_sort_records {
  size_t bytes; /* of a record */
  /* Sorts n records stably by their keys, which begin at bit `shift`; `spare` has room for n. */
  void (*sort)(void *records, void *spare, size_t n, unsigned shift);
  /* Adds to `count` kept records those of n that come before `limit`, or all where it is NULL; gives
   * the new count. */
  size_t (*take)(void *kept, size_t count, const void *limit, const void *from, size_t n);
  /* Of the records of two sorted runs merged, those from number `first` to before `last`, to the
   * same places of `to`; of equal ones those of run a come first. */
  void (*merge)(const void *a, size_t na, const void *b, size_t nb, size_t first, size_t last,
                void *to);
} roc_sort_records;

extern const roc_sort_records roc_sort_records_32, roc_sort_records_64, roc_sort_records_placed;

#endif
