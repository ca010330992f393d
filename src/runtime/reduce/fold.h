/* How the elements of one class combine: of sums and products uint64 (integers wrap), float32 and
 * float64, of least and greatest elements int64, too. */
#ifndef ROC_RUNTIME_REDUCE_FOLD_H
#define ROC_RUNTIME_REDUCE_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"

enum { FOLD_CHUNK = 4096, FOLD_LANES = 64 };

typedef struct fold_functions {
  /* a chunk of one line, at least one element */
  void (*chunk)(const void *x, size_t n, bool is_product, void *out);
  /* the sum of a chunk's products with another one's elements */
  void (*dot)(const void *x, const void *y, size_t n, void *out);
  /* acc = acc + x, or acc * x, of n neighbouring lines */
  void (*row)(void *acc, const void *x, size_t n, bool is_product);
  /* combines neighbouring rows in pairs until one is left, the first */
  void (*rows)(void *rows, size_t count, size_t width, bool is_product);
  void (*product)(const void *a, const void *b, size_t n, void *out); /* which may be one of them */
  /* the squares of x less its centre: one for all, or (is_row) one for each */
  void (*distance)(const void *x, const void *center, bool is_row, size_t n, void *out);
  /* sets *best to the first element that comes before it and the others, *at_best (or NULL) to its
   * place, of which `first` is that of element 0; `is_new`: there is no best yet */
  void (*extreme_chunk)(const void *x, size_t n, bool is_max, bool is_new, int64_t first,
                        void *best, int64_t *at_best);
  /* the same of a row of neighbouring lines; places are unsigned integers of the class's size, or
   * NULL */
  void (*extreme_row)(void *best, void *at_best, const void *row, size_t n, bool is_max,
                      uint64_t at);
} fold_functions;

/* Of int64, uint64, float32 or float64, in the instructions that this processor has. */
const fold_functions *roc_fold_functions_of(roc_dtype cls);

/* n elements of a dtype, `stride` elements apart, as elements of a class: that of its sums, of
 * integers and bool int64 or uint64, or float64 for integers. */
typedef void (*roc_fold_convert)(const void *from, int64_t stride, size_t n, void *to);
roc_fold_convert roc_fold_convert_of(roc_dtype dtype, roc_dtype cls);

#endif
