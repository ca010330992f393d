/* See records.h. */
#include "runtime/sort/records.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/sort/vectors.h"

enum {
  RADIX_LEAST = 192,    /* records that are sorted by digits */
  BUCKETS_LEAST = 1024, /* that are put into buckets */
  FEW_BITS = 8,         /* of a digit */
  DIGIT_BITS = 11,      /* of a digit, of many records: the counts stay in the first cache */
  MANY = 1 << 13,
  CACHED_BYTES = 1 << 20, /* of records that stay in a core's caches */
  PASSES_MOST = 4,        /* more are not quicker than buckets */
  PASSES_FEW = 1          /* are quicker than vectors */
};

static inline uint64_t choose(bool takes_b, uint64_t b, uint64_t a) {
  return a ^ ((a ^ b) & -(uint64_t)takes_b);
}

static inline roc_sort_placed choose_placed(bool takes_b, roc_sort_placed b, roc_sort_placed a) {
  return (roc_sort_placed){choose(takes_b, b.key, a.key), choose(takes_b, b.place, a.place)};
}

#define RECORD uint32_t
#define KEY(record) (record)
#define CHOOSE(takes_b, b, a) ((RECORD)choose(takes_b, b, a))
#define NAME(name) name##_32
#define SORT_VECTORS roc_sort_vectors_32
#define MERGE_VECTORS roc_merge_vectors_32
#include "runtime/sort/records.def"
#undef RECORD
#undef NAME
#undef SORT_VECTORS
#undef MERGE_VECTORS

#define RECORD uint64_t
#define NAME(name) name##_64
#define SORT_VECTORS roc_sort_vectors_64
#define MERGE_VECTORS roc_merge_vectors_64
#include "runtime/sort/records.def"
#undef RECORD
#undef KEY
#undef CHOOSE
#undef NAME
#undef SORT_VECTORS
#undef MERGE_VECTORS

#define RECORD roc_sort_placed
#define KEY(record) ((record).key)
#define CHOOSE choose_placed
#define NAME(name) name##_placed
#define SORT_VECTORS(records, spare, n, other) false
#define MERGE_VECTORS(a, na, b, nb, to) false
#include "runtime/sort/records.def"
