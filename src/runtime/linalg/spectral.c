/* Singular values, eigenvalues, least squares, and products; see linalg.h. */
#include <string.h>

#include "runtime/linalg/call.h"

static const char not_converged[] = "has singular values that LAPACK's iteration does not find";

/* ---- singular values ---------------------------------------------------------------------- */

typedef struct svd_shape {
  int64_t m, n, k;
  int64_t u_columns, v_rows;
  char job; /* gesdd's: all vectors, as many as there are values, none */
} svd_shape;

/* A = U S V is Aᵀ = Vᵀ S Uᵀ, so LAPACK's left vectors are V in C order, and its right ones U. */
static void decompose(roc_linalg_call *call, const svd_shape *s, void *a, void *u, void *values,
                      void *v, roc_lapack_int size) {
  roc_lapack_int ldu = s->n > 0 ? s->n : 1, ldvt = s->u_columns > 0 ? s->u_columns : 1;
  call->f->gesdd(&s->job, &s->n, &s->m, a, &ldu, values, v, &ldu, u, &ldvt,
                 size < 0 ? values : call->work, &size, call->integers, &call->info, 1);
}

static roc_status svd(roc_linalg_call *call, const svd_shape *s, void *a, void *u, void *values,
                      void *v, roc_error *err) {
  double answer = 0;
  if (s->k > 0) {
    ROC_TRY(roc_linalg_take_integers(call, 8 * s->k, err));
    decompose(call, s, a, u, &answer, v, -1);
    ROC_TRY(roc_linalg_take_work(call, &answer, err));
  }
  for (int64_t i = 0; i < call->stack->count; i++) {
    void *own_u = u ? roc_linalg_at(call, u, i * s->m * s->u_columns) : NULL;
    void *own_v = v ? roc_linalg_at(call, v, i * s->v_rows * s->n) : NULL;
    if (s->k == 0) {
      if (u && s->u_columns > 0) roc_linalg_identity(call, own_u, s->m);
      if (v && s->v_rows > 0) roc_linalg_identity(call, own_v, s->n);
      continue;
    }
    void *matrix = roc_linalg_at(call, a, i * s->m * s->n);
    roc_linalg_part part = {.elements = matrix, .rows = s->m, .columns = s->n, .stride = s->n};
    ROC_TRY(roc_linalg_check_finite(call, i, &part, err));
    decompose(call, s, matrix, own_u, roc_linalg_at(call, values, i * s->k), own_v,
              call->work_size);
    if (roc_linalg_take_info(call) != 0) {
      return roc_linalg_refuse(call, i, err, "%s", not_converged);
    }
  }
  return ROC_OK;
}

roc_status roc_linalg_svd(roc_linalg *stack, int64_t m, int64_t n, bool full, void *a, void *u,
                          void *s, void *v, roc_error *err) {
  roc_linalg_call call;
  int64_t k = m < n ? m : n;
  svd_shape shape = {m, n, k, full ? m : k, full ? n : k, !u ? 'N' : full ? 'A' : 'S'};
  roc_status status = roc_linalg_begin(&call, stack, m, n, k, m > n ? m : n, err);
  if (status == ROC_OK) status = svd(&call, &shape, a, u, s, v, err);
  roc_linalg_end(&call);
  return status;
}

/* ---- eigenvalues -------------------------------------------------------------------------- */

static void transpose(const roc_linalg_call *call, void *a, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = i + 1; j < n; j++) {
      char element[sizeof(double)];
      void *upper = roc_linalg_at(call, a, i * n + j), *lower = roc_linalg_at(call, a, j * n + i);
      memcpy(element, upper, call->itemsize);
      memcpy(upper, lower, call->itemsize);
      memcpy(lower, element, call->itemsize);
    }
  }
}

/* The lower triangle in C order is the upper one in Fortran's. */
static roc_status eigh(roc_linalg_call *call, int64_t n, bool vectors, void *a, void *w,
                       roc_error *err) {
  const char *job = vectors ? "V" : "N";
  double answer = 0;
  roc_lapack_int ask = -1, integers = 0;
  call->f->syevd(job, "U", &n, a, &n, w, &answer, &ask, &integers, &ask, &call->info, 1, 1);
  ROC_TRY(roc_linalg_take_work(call, &answer, err));
  integers = roc_lapack_value(call->lapack, &integers, 0);
  ROC_TRY(roc_linalg_take_integers(call, integers, err));
  for (int64_t i = 0; i < call->stack->count; i++) {
    void *matrix = roc_linalg_at(call, a, i * n * n);
    roc_linalg_part part = {matrix, n, n, n, .lower = true};
    ROC_TRY(roc_linalg_check_finite(call, i, &part, err));
    call->f->syevd(job, "U", &n, matrix, &n, roc_linalg_at(call, w, i * n), call->work,
                   &call->work_size, call->integers, &integers, &call->info, 1, 1);
    if (roc_linalg_take_info(call) != 0) {
      return roc_linalg_refuse(call, i, err,
                               "has eigenvalues that LAPACK's iteration does not find");
    }
    if (vectors) transpose(call, matrix, n);
  }
  return ROC_OK;
}

roc_status roc_linalg_eigh(roc_linalg *stack, int64_t n, bool vectors, void *a, void *w,
                           roc_error *err) {
  roc_linalg_call call;
  roc_status status = roc_linalg_begin(&call, stack, n, n, n, n, err);
  if (status == ROC_OK && n > 0) status = eigh(&call, n, vectors, a, w, err);
  roc_linalg_end(&call);
  return status;
}

/* ---- least squares ------------------------------------------------------------------------ */

typedef struct lstsq_shape {
  int64_t m, n, k, ldb;
  double rcond;
} lstsq_shape;

static void least(roc_linalg_call *call, const lstsq_shape *s, void *a, void *b, void *values,
                  roc_lapack_int *rank, void *work, roc_lapack_int size) {
  float rcond = (float)s->rcond;
  const void *bound = call->stack->dtype == ROC_DT_FLOAT64 ? (const void *)&s->rcond : &rcond;
  call->f->gelsd(&s->m, &s->n, &s->k, a, &s->m, b, &s->ldb, values, bound, rank, work, &size,
                 call->integers, &call->info);
}

static roc_status lstsq(roc_linalg_call *call, const lstsq_shape *s, void *a, void *b, void *values,
                        int64_t *ranks, roc_error *err) {
  int64_t least_extent = s->m < s->n ? s->m : s->n;
  double answer = 0;
  roc_lapack_int rank = 0;
  ROC_TRY(roc_linalg_take_integers(call, 1, err));
  call->integers[0] = 0;
  least(call, s, a, b, values, &rank, &answer, -1);
  ROC_TRY(roc_linalg_take_work(call, &answer, err));
  ROC_TRY(roc_linalg_take_integers(call, roc_lapack_value(call->lapack, call->integers, 0), err));
  for (int64_t i = 0; i < call->stack->count; i++) {
    void *matrix = roc_linalg_at(call, a, i * s->m * s->n);
    void *right = roc_linalg_at(call, b, i * s->k * s->ldb);
    roc_linalg_part part = {matrix, s->n, s->m, s->m, .transposed = true};
    ROC_TRY(roc_linalg_check_finite(call, i, &part, err));
    part = (roc_linalg_part){right, s->k, s->m, s->ldb, .transposed = true};
    call->stack->is_right_side = true;
    ROC_TRY(roc_linalg_check_finite(call, i, &part, err));
    call->stack->is_right_side = false;
    least(call, s, matrix, right, roc_linalg_at(call, values, i * least_extent), &rank, call->work,
          call->work_size);
    if (roc_linalg_take_info(call) != 0) {
      return roc_linalg_refuse(call, i, err, "%s", not_converged);
    }
    ranks[i] = roc_lapack_value(call->lapack, &rank, 0);
  }
  return ROC_OK;
}

roc_status roc_linalg_lstsq(roc_linalg *stack, int64_t m, int64_t n, int64_t k, double rcond,
                            void *a, void *b, void *s, int64_t *ranks, roc_error *err) {
  roc_linalg_call call;
  lstsq_shape shape = {m, n, k, m > n ? m : n, rcond};
  roc_status status =
      roc_linalg_begin(&call, stack, m, n, m < n ? m : n, shape.ldb > k ? shape.ldb : k, err);
  if (status == ROC_OK && m > 0 && n > 0) {
    status = lstsq(&call, &shape, a, b, s, ranks, err);
  } else if (status == ROC_OK) { /* without equations, the least x is 0 */
    memset(b, 0, (size_t)(stack->count * k * shape.ldb) * call.itemsize);
    memset(ranks, 0, (size_t)stack->count * sizeof *ranks);
  }
  roc_linalg_end(&call);
  return status;
}

/* ---- products ----------------------------------------------------------------------------- */

roc_linalg_layout roc_linalg_layout_of(int64_t row_stride, int64_t column_stride, int64_t rows,
                                       int64_t columns) {
  bool is_plain = column_stride == 1;
  int64_t least = is_plain ? columns : rows, stride = is_plain ? row_stride : column_stride;
  return (roc_linalg_layout){!is_plain, stride > least ? stride : least};
}

static roc_linalg_layout layout_of(const roc_linalg_factor *f, int64_t rows, int64_t columns) {
  return roc_linalg_layout_of(f->row_stride, f->column_stride, rows, columns);
}

/* C = A B is Cᵀ = Bᵀ Aᵀ. */
roc_status roc_linalg_multiply(roc_linalg *stack, int64_t m, int64_t n, int64_t k,
                               const roc_linalg_factor *a, const roc_linalg_factor *b, void *c,
                               roc_error *err) {
  roc_linalg_call call;
  roc_linalg_layout left = layout_of(a, m, k), right = layout_of(b, k, n);
  int64_t extent = left.stride > right.stride ? left.stride : right.stride;
  if (extent < m) extent = m;
  roc_status status = roc_linalg_begin(&call, stack, m, n, k, extent > n ? extent : n, err);
  bool is_double = stack->dtype == ROC_DT_FLOAT64;
  const double one = 1, zero = 0;
  const float one_f = 1, zero_f = 0;
  for (int64_t i = 0; status == ROC_OK && i < stack->count; i++) {
    const char *own_a = (const char *)a->elements + i * a->stack_stride * (int64_t)call.itemsize;
    const char *own_b = (const char *)b->elements + i * b->stack_stride * (int64_t)call.itemsize;
    call.f->gemm(right.is_transposed ? "T" : "N", left.is_transposed ? "T" : "N", &n, &m, &k,
                 is_double ? (const void *)&one : &one_f, own_b, &right.stride, own_a, &left.stride,
                 is_double ? (const void *)&zero : &zero_f, roc_linalg_at(&call, c, i * m * n), &n,
                 1, 1);
  }
  roc_linalg_end(&call);
  return status;
}
