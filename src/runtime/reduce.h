/* Reductions of lines of elements in host memory, on several threads where that pays.
 *
 * They combine in the tree of lua/roc/arrays/tree.lua, so they give the bits that kernels give: a
 * chunk of 4096 elements has 64 lanes, lane l of the elements l, l + 64, …; then neighbouring lanes
 * combine in pairs, and then neighbouring chunks.  Of least and greatest elements the first of
 * equal ones stays, and a NaN wins. */
#ifndef ROC_RUNTIME_REDUCE_H
#define ROC_RUNTIME_REDUCE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/array.h"

typedef enum roc_reduction_op {
  ROC_REDUCE_SUM,     /* int64, uint64, float32 or float64, as roc_reduction_dtype says */
  ROC_REDUCE_PROD,    /* the same */
  ROC_REDUCE_MEAN,    /* the sum over the length of the line; of integers float64 */
  ROC_REDUCE_SQUARES, /* the sum of squares; of integers in float64 */
  ROC_REDUCE_NORM,    /* its root */
  ROC_REDUCE_VAR, /* the sum of the squared distances from the mean, over the length less `ddof` */
  ROC_REDUCE_STD, /* its root */
  ROC_REDUCE_DOT, /* the sum of products with the elements of `other`, as SUM */
  ROC_REDUCE_MIN, /* an element */
  ROC_REDUCE_MAX,
  ROC_REDUCE_ARGMIN, /* its place in the line, from 1: int64 */
  ROC_REDUCE_ARGMAX,
  ROC_REDUCE_ANY, /* of bool, which it gives */
  ROC_REDUCE_ALL,
  ROC_REDUCE_COUNT, /* of bool: int64 */
  ROC_REDUCE_OP_COUNT_
} roc_reduction_op;

typedef struct roc_reduction {
  roc_reduction_op op;
  const roc_array *array; /* in memory of the host, not empty */
  const roc_array *other; /* of DOT: of the array's dtype; both have one dimension, of one length */
  uint32_t axis;          /* of the lines; the rank: all elements are one, see roc_reduction_fits */
  int64_t ddof;           /* of VAR and STD: at least 0 */
  void *results;          /* of all lines, in C order of the other dimensions */
  uint32_t threads;       /* at most */
} roc_reduction;

/* False: the op does not take that dtype. */
bool roc_reduction_dtype(roc_reduction_op op, roc_dtype dtype, roc_dtype *out);
/* Whether all elements of an array are one line: they are in C order, with one stride. */
bool roc_reduction_fits(const roc_array *array);
void roc_reduce(const roc_reduction *reduction);

#endif
