/* A stand-in for NVIDIA's library cuSOLVER on the stand-in of fake_cuda.h: a test double.
 *
 * Its functions are LAPACK's, on the host, in the order of the handle's stream.
 * FAKE_CUSOLVER_FAIL=N has each function give the result N, FAKE_CUSOLVER_CREATE=N each handle. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"

struct cusolverDnContext {
  CUstream stream;
  CUcontext context;
};

#define API __attribute__((visibility("default")))
#define ROC_CUSOLVER(name, parameters)  \
  API int cusolverDnS##name parameters; \
  API int cusolverDnD##name parameters;
#define ROC_CUSOLVER_ONCE(field, symbol, parameters) API int symbol parameters;
#include "device/cuda/cusolver.def"
#undef ROC_CUSOLVER
#undef ROC_CUSOLVER_ONCE

enum { SUCCESS, NOT_INITIALIZED = 1, ALLOC_FAILED = 2, INVALID_VALUE = 3, INTERNAL = 7 };
enum { LEAST_WORK = 64, OPERANDS = 6, NUMBERS = 8 };

/* The functions of the driver that the program has opened. */
static CUresult (*launch_host)(CUstream, CUhostFn, void *);
static CUresult (*get_current)(CUcontext *);
static const fake_cuda *control;
static void *lapack;

static bool find_libraries(void) {
  const char *file = getenv("ROCLUA_CUDA_LIBRARY");
  void *driver = file ? dlopen(file, RTLD_NOW | RTLD_NOLOAD) : NULL;
  if (!driver) return false;
  *(void **)&launch_host = dlsym(driver, "cuLaunchHostFunc");
  *(void **)&get_current = dlsym(driver, "cuCtxGetCurrent");
  fake_cuda_get *get;
  *(void **)&get = dlsym(driver, "fake_cuda_open");
  if (get) control = get();
  static const char *const files[] = {"libopenblas.so.0", "liblapack.so.3"};
  for (int i = 0; i < 2 && !lapack; i++) lapack = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
  return launch_host && get_current && control && lapack;
}

static int planned(const char *variable) {
  const char *text = getenv(variable);
  return text ? atoi(text) : SUCCESS;
}

int cusolverGetProperty(int which, int *out_value) {
  static const int version[] = {12, 0, 4};
  if (which < 0 || which > 2) return INVALID_VALUE;
  *out_value = version[which];
  return SUCCESS;
}

int cusolverDnCreate(struct cusolverDnContext **out_handle) {
  CUcontext current = NULL;
  int result = planned("FAKE_CUSOLVER_CREATE");
  if (result != SUCCESS) return result;
  if (!find_libraries() || get_current(&current) != CUDA_SUCCESS || !current) {
    return NOT_INITIALIZED;
  }
  *out_handle = calloc(1, sizeof **out_handle);
  if (!*out_handle) return ALLOC_FAILED;
  (*out_handle)->context = current;
  return SUCCESS;
}

int cusolverDnSetStream(struct cusolverDnContext *handle, CUstream stream) {
  handle->stream = stream;
  return SUCCESS;
}

/* ---- a call, which the stream runs -------------------------------------------------------- */

typedef struct job {
  void (*run)(struct job *job);
  void *function; /* of LAPACK, for the dtype */
  bool is_double;
  char job, uplo, trans;
  int numbers[NUMBERS];
  CUdeviceptr at[OPERANDS], info;
} job;

static void *look(const job *j, int operand) {
  return j->at[operand] ? control->look(j->at[operand]) : NULL;
}

static void set_info(const job *j, int info) {
  memcpy(control->look(j->info), &info, sizeof info);
}

static void run(void *ud) {
  job *j = ud;
  j->run(j);
  free(j);
}

static int queue(struct cusolverDnContext *handle, const job *wanted, const char *name) {
  CUcontext current = NULL;
  char symbol[16];
  int result = planned("FAKE_CUSOLVER_FAIL");
  if (result != SUCCESS) return result;
  if (get_current(&current) != CUDA_SUCCESS || current != handle->context) return INTERNAL;
  job *j = malloc(sizeof *j);
  if (!j) return ALLOC_FAILED;
  *j = *wanted;
  snprintf(symbol, sizeof symbol, "%c%s_", j->is_double ? 'd' : 's', name);
  j->function = dlsym(lapack, symbol);
  if (!j->function) {
    free(j);
    return INTERNAL;
  }
  return launch_host(handle->stream, run, j) == CUDA_SUCCESS ? SUCCESS : INTERNAL;
}

/* Room for LAPACK's own work, which this library takes elsewhere. */
static void *room(int64_t elements) {
  return calloc((size_t)(elements + LEAST_WORK), sizeof(double));
}

static void run_getrf(job *j) {
  void (*f)(int *, int *, void *, int *, int *, int *);
  int info = 0;
  memcpy(&f, &j->function, sizeof f);
  f(&j->numbers[0], &j->numbers[1], look(j, 0), &j->numbers[2], look(j, 1), &info);
  set_info(j, info);
}

static void run_getrs(job *j) {
  void (*f)(char *, int *, int *, void *, int *, int *, void *, int *, int *, size_t);
  int info = 0;
  memcpy(&f, &j->function, sizeof f);
  f(&j->trans, &j->numbers[0], &j->numbers[1], look(j, 0), &j->numbers[2], look(j, 1), look(j, 2),
    &j->numbers[3], &info, 1);
  set_info(j, info);
}

static void run_potrf(job *j) {
  void (*f)(char *, int *, void *, int *, int *, size_t);
  int info = 0;
  memcpy(&f, &j->function, sizeof f);
  f(&j->uplo, &j->numbers[0], look(j, 0), &j->numbers[1], &info, 1);
  set_info(j, info);
}

static void run_geqrf(job *j) {
  void (*f)(int *, int *, void *, int *, void *, void *, int *, int *);
  int info = 0, size = j->numbers[1] * LEAST_WORK;
  void *work = room(size);
  memcpy(&f, &j->function, sizeof f);
  f(&j->numbers[0], &j->numbers[1], look(j, 0), &j->numbers[2], look(j, 1), work, &size, &info);
  free(work);
  set_info(j, info);
}

static void run_orgqr(job *j) {
  void (*f)(int *, int *, int *, void *, int *, void *, void *, int *, int *);
  int info = 0, size = j->numbers[1] * LEAST_WORK;
  void *work = room(size);
  memcpy(&f, &j->function, sizeof f);
  f(&j->numbers[0], &j->numbers[1], &j->numbers[2], look(j, 0), &j->numbers[3], look(j, 1), work,
    &size, &info);
  free(work);
  set_info(j, info);
}

static void run_syevd(job *j) {
  void (*f)(char *, char *, int *, void *, int *, void *, void *, int *, int *, int *, int *,
            size_t, size_t);
  int n = j->numbers[0], info = 0, size = 1 + 6 * n + 2 * n * n, nintegers = 3 + 5 * n;
  void *work = room(size);
  int *integers = room(nintegers);
  memcpy(&f, &j->function, sizeof f);
  f(&j->job, &j->uplo, &n, look(j, 0), &j->numbers[1], look(j, 1), work, &size, integers,
    &nintegers, &info, 1, 1);
  free(integers);
  free(work);
  set_info(j, info);
}

static void run_gesvd(job *j) {
  void (*f)(char *, char *, int *, int *, void *, int *, void *, void *, int *, void *, int *,
            void *, int *, int *, size_t, size_t);
  int m = j->numbers[0], n = j->numbers[1], info = 0, size = 8 * (m + n) + LEAST_WORK;
  int one = 1, *ldu = j->at[2] ? &j->numbers[3] : &one, *ldvt = j->at[3] ? &j->numbers[4] : &one;
  void *work = room(size);
  memcpy(&f, &j->function, sizeof f);
  f(&j->job, &j->job, &m, &n, look(j, 0), &j->numbers[2], look(j, 1), look(j, 2), ldu, look(j, 3),
    ldvt, work, &size, &info, 1, 1);
  free(work);
  set_info(j, info);
}

/* ---- the library's functions, for both dtypes ---------------------------------------------- */

static int answer(int *out_size) {
  *out_size = LEAST_WORK;
  return SUCCESS;
}

static bool has_room(CUdeviceptr work, int size) {
  return work && size >= LEAST_WORK;
}

static char uplo_of(int uplo) {
  return uplo == 1 ? 'U' : 'L';
}

typedef struct cusolverDnContext *context;

#define FUNCTIONS(P, is_double_)                                                                   \
  int cusolverDn##P##getrf_bufferSize(context h, int m, int n, CUdeviceptr a, int lda, int *out) { \
    (void)h, (void)n, (void)a;                                                                     \
    return lda < m ? INVALID_VALUE : answer(out);                                                  \
  }                                                                                                \
  int cusolverDn##P##getrf(context h, int m, int n, CUdeviceptr a, int lda, CUdeviceptr work,      \
                           CUdeviceptr pivots, CUdeviceptr info) {                                 \
    job j = {run_getrf, .is_double = is_double_, .numbers = {m, n, lda}, .at = {a, pivots},        \
             .info = info};                                                                        \
    return work ? queue(h, &j, "getrf") : INVALID_VALUE;                                           \
  }                                                                                                \
  int cusolverDn##P##getrs(context h, int trans, int n, int nrhs, CUdeviceptr a, int lda,          \
                           CUdeviceptr pivots, CUdeviceptr b, int ldb, CUdeviceptr info) {         \
    job j = {run_getrs,    .is_double = is_double_,        .trans = trans ? 'T' : 'N',             \
             .info = info, .numbers = {n, nrhs, lda, ldb}, .at = {a, pivots, b}};                  \
    return queue(h, &j, "getrs");                                                                  \
  }                                                                                                \
  int cusolverDn##P##potrf_bufferSize(context h, int uplo, int n, CUdeviceptr a, int lda,          \
                                      int *out) {                                                  \
    (void)h, (void)uplo, (void)a;                                                                  \
    return lda < n ? INVALID_VALUE : answer(out);                                                  \
  }                                                                                                \
  int cusolverDn##P##potrf(context h, int uplo, int n, CUdeviceptr a, int lda, CUdeviceptr work,   \
                           int size, CUdeviceptr info) {                                           \
    job j = {run_potrf,                                                                            \
             .is_double = is_double_,                                                              \
             .uplo = uplo_of(uplo),                                                                \
             .numbers = {n, lda},                                                                  \
             .at = {a},                                                                            \
             .info = info};                                                                        \
    return has_room(work, size) ? queue(h, &j, "potrf") : INVALID_VALUE;                           \
  }                                                                                                \
  int cusolverDn##P##geqrf_bufferSize(context h, int m, int n, CUdeviceptr a, int lda, int *out) { \
    (void)h, (void)n, (void)a;                                                                     \
    return lda < m ? INVALID_VALUE : answer(out);                                                  \
  }                                                                                                \
  int cusolverDn##P##geqrf(context h, int m, int n, CUdeviceptr a, int lda, CUdeviceptr tau,       \
                           CUdeviceptr work, int size, CUdeviceptr info) {                         \
    job j = {run_geqrf, .is_double = is_double_, .numbers = {m, n, lda}, .at = {a, tau},           \
             .info = info};                                                                        \
    return has_room(work, size) ? queue(h, &j, "geqrf") : INVALID_VALUE;                           \
  }                                                                                                \
  int cusolverDn##P##orgqr_bufferSize(context h, int m, int n, int k, CUdeviceptr a, int lda,      \
                                      CUdeviceptr tau, int *out) {                                 \
    (void)h, (void)n, (void)k, (void)a, (void)tau;                                                 \
    return lda < m ? INVALID_VALUE : answer(out);                                                  \
  }                                                                                                \
  int cusolverDn##P##orgqr(context h, int m, int n, int k, CUdeviceptr a, int lda,                 \
                           CUdeviceptr tau, CUdeviceptr work, int size, CUdeviceptr info) {        \
    job j = {run_orgqr, .is_double = is_double_, .numbers = {m, n, k, lda}, .at = {a, tau},        \
             .info = info};                                                                        \
    return has_room(work, size) ? queue(h, &j, "orgqr") : INVALID_VALUE;                           \
  }                                                                                                \
  int cusolverDn##P##syevd_bufferSize(context h, int jobz, int uplo, int n, CUdeviceptr a,         \
                                      int lda, CUdeviceptr w, int *out) {                          \
    (void)h, (void)jobz, (void)uplo, (void)a, (void)w;                                             \
    return lda < n ? INVALID_VALUE : answer(out);                                                  \
  }                                                                                                \
  int cusolverDn##P##syevd(context h, int jobz, int uplo, int n, CUdeviceptr a, int lda,           \
                           CUdeviceptr w, CUdeviceptr work, int size, CUdeviceptr info) {          \
    job j = {run_syevd,                                                                            \
             .is_double = is_double_,                                                              \
             .job = jobz ? 'V' : 'N',                                                              \
             .uplo = uplo_of(uplo),                                                                \
             .numbers = {n, lda},                                                                  \
             .at = {a, w},                                                                         \
             .info = info};                                                                        \
    return has_room(work, size) ? queue(h, &j, "syevd") : INVALID_VALUE;                           \
  }                                                                                                \
  int cusolverDn##P##gesvd_bufferSize(context h, int m, int n, int *out) {                         \
    (void)h;                                                                                       \
    return m < n ? INVALID_VALUE : answer(out);                                                    \
  }                                                                                                \
  int cusolverDn##P##gesvd(context h, signed char jobu, signed char jobvt, int m, int n,           \
                           CUdeviceptr a, int lda, CUdeviceptr s, CUdeviceptr u, int ldu,          \
                           CUdeviceptr vt, int ldvt, CUdeviceptr work, int size,                   \
                           CUdeviceptr rwork, CUdeviceptr info) {                                  \
    (void)rwork;                                                                                   \
    job j = {run_gesvd,           .is_double = is_double_,                                         \
             .job = (char)jobu,   .numbers = {m, n, lda, ldu, ldvt},                               \
             .at = {a, s, u, vt}, .info = info};                                                   \
    bool is_fine = m >= n && jobu == jobvt && has_room(work, size);                                \
    return is_fine ? queue(h, &j, "gesvd") : INVALID_VALUE;                                        \
  }

FUNCTIONS(S, false)
FUNCTIONS(D, true)
