/* What the operations on stacks share: the library, room for its work, what is wrong with a
 * matrix. */
#ifndef ROC_RUNTIME_LINALG_CALL_H
#define ROC_RUNTIME_LINALG_CALL_H

#include "runtime/linalg.h"
#include "runtime/linalg/library.h"

typedef struct roc_linalg_call {
  roc_linalg *stack;
  const roc_lapack *lapack;
  const roc_lapack_functions *f; /* of the dtype */
  size_t itemsize;
  bool is_inside, is_large; /* for roc_lapack_leave */
  roc_lapack_int info;
  void *work; /* freed by roc_linalg_end */
  roc_lapack_int work_size;
  void *tau;
  roc_lapack_int *integers;
} roc_linalg_call;

/* Opens the library for matrices whose extents are at most `extent`, each of which takes about
 * rows * columns * depth multiplications.  UNSUPPORTED: its integers do not hold the extents.
 * roc_linalg_end comes after it in any case. */
roc_status roc_linalg_begin(roc_linalg_call *call, roc_linalg *stack, int64_t rows, int64_t columns,
                            int64_t depth, int64_t extent, roc_error *err);
void roc_linalg_end(roc_linalg_call *call);
/* Room of `size` elements and of `nintegers` integers. */
roc_status roc_linalg_take_tau(roc_linalg_call *call, int64_t size, roc_error *err);
roc_status roc_linalg_take_integers(roc_linalg_call *call, int64_t nintegers, roc_error *err);
/* Room for work, at least as much as before: of the size that a function has answered in `answer`,
 * an element. */
roc_status roc_linalg_take_work(roc_linalg_call *call, const void *answer, roc_error *err);

/* What the last function has told, and sets it to 0. */
int64_t roc_linalg_take_info(roc_linalg_call *call);
/* INVALID, of matrix i. */
roc_status roc_linalg_refuse(roc_linalg_call *call, int64_t i, roc_error *err, const char *format,
                             ...) __attribute__((format(printf, 4, 5)));
/* Refuses matrix i, of `rows` rows of which `columns` elements count (of row r, from 0, r + 1 at
 * most where `lower`), `stride` apart, if one of them is not finite.  `transposed`: a row is called
 * a column. */
typedef struct roc_linalg_part {
  const void *elements;
  int64_t rows, columns, stride;
  bool lower, transposed;
} roc_linalg_part;
roc_status roc_linalg_check_finite(roc_linalg_call *call, int64_t i, const roc_linalg_part *part,
                                   roc_error *err);

/* The elements from `index` on. */
static inline void *roc_linalg_at(const roc_linalg_call *call, void *elements, int64_t index) {
  return (char *)elements + index * (int64_t)call->itemsize;
}

/* The identity, n × n. */
void roc_linalg_identity(const roc_linalg_call *call, void *elements, int64_t n);

#endif
