/* Linear algebra on stacks of matrices in host memory, by the LAPACK library that is found.
 *
 * A stack has `count` matrices, one after the other, each in C order.  LAPACK's order is Fortran's,
 * in which such a matrix is its transpose: what is computed is what gives results in C order
 * without a copy.  Stacks are not shared with other threads during a call.  Every matrix that is
 * read must be finite.  A matrix that an operation has no result for gives INVALID with a message
 * that begins after "the matrix": "is singular: …". */
#ifndef ROC_RUNTIME_LINALG_H
#define ROC_RUNTIME_LINALG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"

typedef struct roc_linalg {
  roc_dtype dtype; /* float32 or float64, of all arrays of the call */
  int64_t count;
  int64_t failed;     /* set with INVALID: the matrix's number, from 0 */
  bool is_right_side; /* set with it: one of b, not of a */
} roc_linalg;

/* The library's name, static.  UNAVAILABLE, INVALID: see linalg/library.h. */
roc_status roc_linalg_library(const char **out_name, roc_error *err);

/* The functions below overwrite what is not const.  All may be empty. */

/* Aᵢ Xᵢ = Bᵢ, a: n × n, b: Bᵢ transposed, k × n, which Xᵢ replaces, transposed. */
roc_status roc_linalg_solve(roc_linalg *stack, int64_t n, int64_t k, void *a, void *b,
                            roc_error *err);
/* a: n × n, which its inverse replaces. */
roc_status roc_linalg_inverse(roc_linalg *stack, int64_t n, void *a, roc_error *err);
/* One number each. */
roc_status roc_linalg_det(roc_linalg *stack, int64_t n, void *a, void *out, roc_error *err);
/* a: n × n, of which the lower triangle is read; L with A = L Lᵀ replaces it. */
roc_status roc_linalg_cholesky(roc_linalg *stack, int64_t n, void *a, roc_error *err);
/* a: m × n.  q: m × k, r: k × n, where k is min(m, n), or m when it is full. */
roc_status roc_linalg_qr(roc_linalg *stack, int64_t m, int64_t n, bool full, void *a, void *q,
                         void *r, roc_error *err);
/* A = U diag(s) V.  a: m × n, s: k = min(m, n) numbers, u: m × k, v: k × n; m × m and n × n when it
 * is full; u and v NULL: s alone. */
roc_status roc_linalg_svd(roc_linalg *stack, int64_t m, int64_t n, bool full, void *a, void *u,
                          void *s, void *v, roc_error *err);
/* a: n × n, of which the lower triangle is read; its columns become the eigenvectors where
 * `vectors`.  w: n eigenvalues, ascending. */
roc_status roc_linalg_eigh(roc_linalg *stack, int64_t n, bool vectors, void *a, void *w,
                           roc_error *err);
/* X with the least |A X - B|, and of those the least |X|.  a: A transposed, n × m.  b: B
 * transposed, k × max(m, n), m of each row used; X replaces it, transposed, in the first n.  s:
 * min(m, n) singular values; those below rcond times the greatest are taken for 0.  ranks: one
 * each. */
roc_status roc_linalg_lstsq(roc_linalg *stack, int64_t m, int64_t n, int64_t k, double rcond,
                            void *a, void *b, void *s, int64_t *ranks, roc_error *err);

/* A factor of products: matrices whose elements lie as `strides` say, in elements. */
typedef struct roc_linalg_factor {
  const void *elements;
  int64_t stack_stride, row_stride, column_stride; /* one of the last two is 1 */
} roc_linalg_factor;

/* How Fortran's order has a factor of rows × columns: one whose rows are contiguous as its own
 * transpose, so that c = a b is cᵀ = bᵀ aᵀ.  `stride`: from column to column there. */
typedef struct roc_linalg_layout {
  bool is_transposed; /* of what is multiplied there */
  int64_t stride;
} roc_linalg_layout;
roc_linalg_layout roc_linalg_layout_of(int64_t row_stride, int64_t column_stride, int64_t rows,
                                       int64_t columns);

/* c = a b, c: m × n in C order, over k. */
roc_status roc_linalg_multiply(roc_linalg *stack, int64_t m, int64_t n, int64_t k,
                               const roc_linalg_factor *a, const roc_linalg_factor *b, void *c,
                               roc_error *err);

#endif
