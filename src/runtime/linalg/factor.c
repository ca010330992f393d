/* Systems of equations, inverses, determinants, Cholesky and QR factors; see linalg.h. */
#include <inttypes.h>
#include <string.h>

#include "runtime/linalg/call.h"

/* ---- LU factors --------------------------------------------------------------------------- */

/* Factors matrix i, as LAPACK has it: transposed.  `*out_zero`: the number of the first pivot that
 * is 0, or 0. */
static roc_status factor(roc_linalg_call *call, int64_t i, int64_t n, void *a, int64_t *out_zero,
                         roc_error *err) {
  roc_linalg_part part = {.elements = a, .rows = n, .columns = n, .stride = n};
  ROC_TRY(roc_linalg_check_finite(call, i, &part, err));
  call->f->getrf(&n, &n, a, &n, call->integers, &call->info);
  *out_zero = roc_linalg_take_info(call);
  return ROC_OK;
}

/* The same, refusing a singular matrix: the leading rows of A that depend on each other. */
static roc_status factor_regular(roc_linalg_call *call, int64_t i, int64_t n, void *a,
                                 roc_error *err) {
  int64_t zero;
  ROC_TRY(factor(call, i, n, a, &zero, err));
  if (zero == 0) return ROC_OK;
  return roc_linalg_refuse(call, i, err,
                           "is singular: pivot %" PRId64 " is 0, row %" PRId64
                           " depends on the rows before it",
                           zero, zero);
}

static roc_status solve(roc_linalg_call *call, int64_t n, int64_t k, void *a, void *b,
                        roc_error *err) {
  ROC_TRY(roc_linalg_take_integers(call, n, err));
  for (int64_t i = 0; i < call->stack->count; i++) {
    void *right = roc_linalg_at(call, b, i * k * n);
    ROC_TRY(factor_regular(call, i, n, roc_linalg_at(call, a, i * n * n), err));
    roc_linalg_part part = {right, k, n, n, .transposed = true};
    call->stack->is_right_side = true;
    ROC_TRY(roc_linalg_check_finite(call, i, &part, err));
    call->stack->is_right_side = false;
    call->f->getrs("T", &n, &k, roc_linalg_at(call, a, i * n * n), &n, call->integers, right, &n,
                   &call->info, 1);
  }
  return ROC_OK;
}

roc_status roc_linalg_solve(roc_linalg *stack, int64_t n, int64_t k, void *a, void *b,
                            roc_error *err) {
  roc_linalg_call call;
  roc_status status = roc_linalg_begin(&call, stack, n, n, n > k ? n : k, n > k ? n : k, err);
  if (status == ROC_OK && n > 0) status = solve(&call, n, k, a, b, err);
  roc_linalg_end(&call);
  return status;
}

static roc_status inverse(roc_linalg_call *call, int64_t n, void *a, roc_error *err) {
  double answer = 0;
  roc_lapack_int ask = -1;
  ROC_TRY(roc_linalg_take_integers(call, n, err));
  call->f->getri(&n, a, &n, call->integers, &answer, &ask, &call->info);
  ROC_TRY(roc_linalg_take_work(call, &answer, err));
  for (int64_t i = 0; i < call->stack->count; i++) {
    void *matrix = roc_linalg_at(call, a, i * n * n);
    ROC_TRY(factor_regular(call, i, n, matrix, err));
    call->f->getri(&n, matrix, &n, call->integers, call->work, &call->work_size, &call->info);
  }
  return ROC_OK;
}

roc_status roc_linalg_inverse(roc_linalg *stack, int64_t n, void *a, roc_error *err) {
  roc_linalg_call call;
  roc_status status = roc_linalg_begin(&call, stack, n, n, n, n, err);
  if (status == ROC_OK && n > 0) status = inverse(&call, n, a, err);
  roc_linalg_end(&call);
  return status;
}

/* The product of the pivots, negative where an odd number of rows was exchanged. */
static double product_of_pivots(const roc_linalg_call *call, int64_t n, const void *a) {
  double product = 1;
  for (int64_t i = 0; i < n; i++) {
    product *= call->stack->dtype == ROC_DT_FLOAT64 ? ((const double *)a)[i * (n + 1)]
                                                    : (double)((const float *)a)[i * (n + 1)];
    if (roc_lapack_value(call->lapack, call->integers, i) != i + 1) product = -product;
  }
  return product;
}

static roc_status det(roc_linalg_call *call, int64_t n, void *a, void *out, roc_error *err) {
  ROC_TRY(roc_linalg_take_integers(call, n, err));
  for (int64_t i = 0; i < call->stack->count; i++) {
    void *matrix = roc_linalg_at(call, a, i * n * n);
    int64_t zero = 0;
    if (n > 0) ROC_TRY(factor(call, i, n, matrix, &zero, err));
    double value = zero ? 0 : product_of_pivots(call, n, matrix);
    if (call->stack->dtype == ROC_DT_FLOAT64) {
      ((double *)out)[i] = value;
    } else {
      ((float *)out)[i] = (float)value;
    }
  }
  return ROC_OK;
}

roc_status roc_linalg_det(roc_linalg *stack, int64_t n, void *a, void *out, roc_error *err) {
  roc_linalg_call call;
  roc_status status = roc_linalg_begin(&call, stack, n, n, n, n, err);
  if (status == ROC_OK) status = det(&call, n, a, out, err);
  roc_linalg_end(&call);
  return status;
}

/* ---- Cholesky ----------------------------------------------------------------------------- */

/* L in C order is the upper factor in Fortran's. */
static roc_status cholesky(roc_linalg_call *call, int64_t n, void *a, roc_error *err) {
  for (int64_t i = 0; i < call->stack->count; i++) {
    void *matrix = roc_linalg_at(call, a, i * n * n);
    roc_linalg_part part = {matrix, n, n, n, .lower = true};
    ROC_TRY(roc_linalg_check_finite(call, i, &part, err));
    call->f->potrf("U", &n, matrix, &n, &call->info, 1);
    int64_t failed = roc_linalg_take_info(call);
    if (failed > 0) {
      return roc_linalg_refuse(call, i, err,
                               "is not positive definite: the leading %" PRId64 " x %" PRId64
                               " has no positive pivot %" PRId64,
                               failed, failed, failed);
    }
    for (int64_t row = 0; row + 1 < n; row++) {
      memset(roc_linalg_at(call, matrix, row * n + row + 1), 0,
             (size_t)(n - row - 1) * call->itemsize);
    }
  }
  return ROC_OK;
}

roc_status roc_linalg_cholesky(roc_linalg *stack, int64_t n, void *a, roc_error *err) {
  roc_linalg_call call;
  roc_status status = roc_linalg_begin(&call, stack, n, n, n, n, err);
  if (status == ROC_OK && n > 0) status = cholesky(&call, n, a, err);
  roc_linalg_end(&call);
  return status;
}

/* ---- QR ----------------------------------------------------------------------------------- */

/* m × n matrices with k reflectors; q has `width` columns, r as many rows. */
typedef struct qr_shape {
  int64_t m, n, k, width;
} qr_shape;

static roc_status take_qr_work(roc_linalg_call *call, const qr_shape *s, roc_error *err) {
  double answer = 0;
  roc_lapack_int ask = -1;
  ROC_TRY(roc_linalg_take_tau(call, s->k, err));
  call->f->gelqf(&s->n, &s->m, &answer, &s->n, call->tau, &answer, &ask, &call->info);
  ROC_TRY(roc_linalg_take_work(call, &answer, err));
  answer = 0;
  call->f->orglq(&s->width, &s->m, &s->k, &answer, &s->width, call->tau, &answer, &ask,
                 &call->info);
  return roc_linalg_take_work(call, &answer, err);
}

/* Of the factors in `a`: r is the upper triangle of its first rows, and below the diagonal are the
 * reflectors that q is made of. */
static void split_factors(const roc_linalg_call *call, const qr_shape *s, void *a, void *q,
                          void *r) {
  for (int64_t row = 0; row < s->m; row++) {
    memcpy(roc_linalg_at(call, q, row * s->width), roc_linalg_at(call, a, row * s->n),
           (size_t)s->k * call->itemsize);
  }
  memset(r, 0, (size_t)(s->width * s->n) * call->itemsize);
  for (int64_t row = 0; row < s->k; row++) {
    memcpy(roc_linalg_at(call, r, row * s->n + row), roc_linalg_at(call, a, row * s->n + row),
           (size_t)(s->n - row) * call->itemsize);
  }
}

/* A = Q R is Aᵀ = Rᵀ Qᵀ: LAPACK's LQ factors of what is Aᵀ to it. */
static roc_status qr(roc_linalg_call *call, const qr_shape *s, void *a, void *q, void *r,
                     roc_error *err) {
  if (s->k > 0) ROC_TRY(take_qr_work(call, s, err));
  for (int64_t i = 0; i < call->stack->count; i++) {
    void *matrix = roc_linalg_at(call, a, i * s->m * s->n);
    void *own_q = roc_linalg_at(call, q, i * s->m * s->width);
    void *own_r = roc_linalg_at(call, r, i * s->width * s->n);
    if (s->k == 0) {
      if (s->width > 0) roc_linalg_identity(call, own_q, s->m);
      continue;
    }
    roc_linalg_part part = {.elements = matrix, .rows = s->m, .columns = s->n, .stride = s->n};
    ROC_TRY(roc_linalg_check_finite(call, i, &part, err));
    call->f->gelqf(&s->n, &s->m, matrix, &s->n, call->tau, call->work, &call->work_size,
                   &call->info);
    split_factors(call, s, matrix, own_q, own_r);
    call->f->orglq(&s->width, &s->m, &s->k, own_q, &s->width, call->tau, call->work,
                   &call->work_size, &call->info);
  }
  return ROC_OK;
}

roc_status roc_linalg_qr(roc_linalg *stack, int64_t m, int64_t n, bool full, void *a, void *q,
                         void *r, roc_error *err) {
  roc_linalg_call call;
  qr_shape s = {m, n, m < n ? m : n, full ? m : m < n ? m : n};
  roc_status status = roc_linalg_begin(&call, stack, m, n, s.k, m > n ? m : n, err);
  if (status == ROC_OK) status = qr(&call, &s, a, q, r, err);
  roc_linalg_end(&call);
  return status;
}
