/* Factors of matrices by NVIDIA's library cuSOLVER, which is opened at the first that is asked for.
 *
 * It works on the queue of cuBLAS, under the same lock (library.c). */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/opened.h"
#include "base/thread.h"
#include "device/cuda/driver.h"

typedef struct solver_functions {
#define ROC_CUSOLVER(name, parameters) int(*name) parameters;
#define ROC_CUSOLVER_ONCE(field, symbol, parameters)
#include "device/cuda/cusolver.def"
#undef ROC_CUSOLVER
#undef ROC_CUSOLVER_ONCE
} solver_functions;

typedef struct cusolver_api {
  solver_functions float32, float64;
#define ROC_CUSOLVER(name, parameters)
#define ROC_CUSOLVER_ONCE(field, symbol, parameters) int(*field) parameters;
#include "device/cuda/cusolver.def"
#undef ROC_CUSOLVER
#undef ROC_CUSOLVER_ONCE
} cusolver_api;

static cusolver_api cusolver;

static const roc_opened_function functions[] = {
#define ROC_CUSOLVER(name, parameters)                         \
  {"cusolverDnS" #name, offsetof(cusolver_api, float32.name)}, \
      {"cusolverDnD" #name, offsetof(cusolver_api, float64.name)},
#define ROC_CUSOLVER_ONCE(field, symbol, parameters) {#symbol, offsetof(cusolver_api, field)},
#include "device/cuda/cusolver.def"
#undef ROC_CUSOLVER
#undef ROC_CUSOLVER_ONCE
};

static roc_opened opened = {.variable = "ROCLUA_CUSOLVER_LIBRARY",
                            .files = {"libcusolver.so.12", "libcusolver.so.11", "libcusolver.so.10",
                                      "/usr/local/cuda/lib64/libcusolver.so"},
                            .purpose = "roc.linalg",
                            .absent =
                                "roc.linalg finds no cuSOLVER: install NVIDIA's libcusolver, "
                                "or name a file in ROCLUA_CUSOLVER_LIBRARY; or copy the "
                                "arrays to the host",
                            .needed = "cuSOLVER 10 or later is needed",
                            .functions = functions,
                            .nfunctions = sizeof functions / sizeof *functions,
                            .table = &cusolver};

static const roc_cuda_library_result results[] = {
    {1, ROC_UNAVAILABLE, "it does not start here"},
    {2, ROC_OOM, "out of memory on the GPU"},
    {3, ROC_INTERNAL, "a value that it does not take"},
    {4, ROC_UNAVAILABLE, "it is not made for this GPU"},
    {5, ROC_INTERNAL, "the GPU's memory cannot be reached"},
    {6, ROC_INTERNAL, "the GPU does not run it"},
    {7, ROC_INTERNAL, "an error of its own"},
    {9, ROC_UNSUPPORTED, "it has no such function"},
    {11, ROC_UNAVAILABLE, "it has no license"},
    {0},
};

static roc_status fail(roc_cuda_device *device, int result, const char *what, roc_error *err) {
  return roc_cuda_library_fail(device, "cuSOLVER", results, result, what, err);
}

/* ---- what it needs on a device: the library's lock held, context current ---- */

static roc_status start_current(roc_cuda_device *device, roc_error *err) {
  struct cusolverDnContext *handle = NULL;
  ROC_TRY(roc_cuda_library_start_queue(device, err));
  int result = cusolver.create(&handle);
  if (result == 0) result = cusolver.set_stream(handle, device->library.queue);
  if (result != 0) return fail(device, result, "cuSOLVER cannot be used", err);
  device->library.solver = handle;
  roc_cuda_library_describe("cuSOLVER", cusolver.get_property, &opened,
                            device->library.solver_name);
  return ROC_OK;
}

/* Runs a function with the signals blocked, under the library's lock, in the device's context. */
static roc_status run(roc_cuda_device *device,
                      roc_status (*function)(roc_cuda_device *device, const roc_dev_factoring *f,
                                             int64_t *out_size, roc_error *err),
                      const roc_dev_factoring *f, int64_t *out_size, roc_error *err) {
  sigset_t old;
  roc_thread_block_signals(&old);
  pthread_mutex_lock(&device->library.lock);
  bool entered = roc_cuda_enter(device);
  roc_status status = function(device, f, out_size, err);
  roc_cuda_leave(entered);
  pthread_mutex_unlock(&device->library.lock);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return status;
}

static roc_status start(roc_cuda_device *device, const roc_dev_factoring *f, int64_t *out_size,
                        roc_error *err) {
  (void)f, (void)out_size;
  return device->library.solver ? ROC_OK : start_current(device, err);
}

roc_status roc_cuda_solver_open(roc_device *base, const char **out_name, void **out_queue,
                                roc_error *err) {
  roc_cuda_device *device = roc_cuda_device_of(base);
  if (base->is_lost) return roc_cuda_fail_lost(device, err);
  ROC_TRY(roc_opened_load(&opened, err));
  roc_status status = run(device, start, NULL, NULL, err);
  *out_name = device->library.solver_name;
  *out_queue = device->library.queue;
  return status;
}

/* ---- the steps -------------------------------------------------------------- */

enum { UPPER = 1 };

/* What a step is called with. */
typedef struct call {
  struct cusolverDnContext *handle;
  const solver_functions *f;
  const roc_dev_factoring *what;
  int m, n, k, size;
  roc_devptr at[ROC_DEV_FACTORING_OPERANDS]; /* of one matrix */
  roc_devptr work, info;
} call;

static int getrf_size(const call *c, int *out) {
  return c->f->getrf_bufferSize(c->handle, c->n, c->n, c->at[0], c->n, out);
}
static int getrf(const call *c) {
  return c->f->getrf(c->handle, c->n, c->n, c->at[0], c->n, c->work, c->at[1], c->info);
}

static int getrs_size(const call *c, int *out) {
  (void)c;
  *out = 0;
  return 0;
}
static int getrs(const call *c) {
  return c->f->getrs(c->handle, c->what->option, c->n, c->k, c->at[0], c->n, c->at[1], c->at[2],
                     c->n, c->info);
}

static int potrf_size(const call *c, int *out) {
  return c->f->potrf_bufferSize(c->handle, UPPER, c->n, c->at[0], c->n, out);
}
static int potrf(const call *c) {
  return c->f->potrf(c->handle, UPPER, c->n, c->at[0], c->n, c->work, c->size, c->info);
}

static int geqrf_size(const call *c, int *out) {
  return c->f->geqrf_bufferSize(c->handle, c->m, c->n, c->at[0], c->m, out);
}
static int geqrf(const call *c) {
  return c->f->geqrf(c->handle, c->m, c->n, c->at[0], c->m, c->at[1], c->work, c->size, c->info);
}

static int orgqr_size(const call *c, int *out) {
  return c->f->orgqr_bufferSize(c->handle, c->m, c->n, c->k, c->at[0], c->m, c->at[1], out);
}
static int orgqr(const call *c) {
  return c->f->orgqr(c->handle, c->m, c->n, c->k, c->at[0], c->m, c->at[1], c->work, c->size,
                     c->info);
}

static int syevd_size(const call *c, int *out) {
  return c->f->syevd_bufferSize(c->handle, c->what->option, UPPER, c->n, c->at[0], c->n, c->at[1],
                                out);
}
static int syevd(const call *c) {
  return c->f->syevd(c->handle, c->what->option, UPPER, c->n, c->at[0], c->n, c->at[1], c->work,
                     c->size, c->info);
}

static int gesvd_size(const call *c, int *out) {
  return c->f->gesvd_bufferSize(c->handle, c->m, c->n, out);
}
static int gesvd(const call *c) {
  signed char job = (signed char)c->what->option;
  return c->f->gesvd(c->handle, job, job, c->m, c->n, c->at[0], c->m, c->at[1], c->at[2], c->m,
                     c->at[3], c->n, c->work, c->size, 0, c->info);
}

static const struct {
  int (*size)(const call *c, int *out);
  int (*run)(const call *c);
  const char *what;
} steps[] = {
    [ROC_FACTORING_GETRF] = {getrf_size, getrf, "cuSOLVER cannot factor"},
    [ROC_FACTORING_GETRS] = {getrs_size, getrs, "cuSOLVER cannot solve"},
    [ROC_FACTORING_POTRF] = {potrf_size, potrf, "cuSOLVER cannot find the Cholesky factor"},
    [ROC_FACTORING_GEQRF] = {geqrf_size, geqrf, "cuSOLVER cannot find QR factors"},
    [ROC_FACTORING_ORGQR] = {orgqr_size, orgqr, "cuSOLVER cannot make Q"},
    [ROC_FACTORING_SYEVD] = {syevd_size, syevd, "cuSOLVER cannot find eigenvalues"},
    [ROC_FACTORING_GESVD] = {gesvd_size, gesvd, "cuSOLVER cannot find singular values"},
};

static roc_status begin(roc_cuda_device *device, const roc_dev_factoring *f, call *c,
                        roc_error *err) {
  if (f->m > INT_MAX || f->n > INT_MAX || f->k > INT_MAX || f->work_size > INT_MAX) {
    return roc_fail(err, ROC_UNSUPPORTED, "cuSOLVER takes extents below 2^31");
  }
  *c = (call){.handle = device->library.solver,
              .f = f->dtype == ROC_DT_FLOAT64 ? &cusolver.float64 : &cusolver.float32,
              .what = f,
              .m = (int)f->m,
              .n = (int)f->n,
              .k = (int)f->k,
              .size = (int)f->work_size,
              .work = f->work};
  return ROC_OK;
}

static roc_status measure(roc_cuda_device *device, const roc_dev_factoring *f, int64_t *out_size,
                          roc_error *err) {
  call c;
  int size = 0;
  ROC_TRY(begin(device, f, &c, err));
  int result = steps[f->step].size(&c, &size);
  if (result != 0) return fail(device, result, steps[f->step].what, err);
  *out_size = size;
  return ROC_OK;
}

roc_status roc_cuda_factoring_size(roc_device *base, const roc_dev_factoring *f, int64_t *out_size,
                                   roc_error *err) {
  return run(roc_cuda_device_of(base), measure, f, out_size, err);
}

/* Matrix after matrix. */
static roc_status queue(roc_cuda_device *device, const roc_dev_factoring *f, int64_t *out_size,
                        roc_error *err) {
  (void)out_size;
  call c;
  ROC_TRY(begin(device, f, &c, err));
  ROC_TRY(roc_cuda_library_await_allocation(device, err));
  for (int64_t i = 0; i < f->count; i++) {
    for (int o = 0; o < ROC_DEV_FACTORING_OPERANDS; o++) {
      const roc_dev_stack *s = &f->operands[o];
      c.at[o] = s->elements ? s->elements + (roc_devptr)(i * s->step) : 0;
    }
    c.info = f->info + (roc_devptr)i * sizeof(int32_t);
    int result = steps[f->step].run(&c);
    if (result != 0) return fail(device, result, steps[f->step].what, err);
  }
  return ROC_OK;
}

roc_status roc_cuda_factor(roc_dev_stream *base, const roc_dev_factoring *f, roc_ticket *out_ticket,
                           roc_error *err) {
  roc_cuda_stream *stream = roc_cuda_stream_of(base);
  roc_cuda_device *device = roc_cuda_owner(stream);
  *out_ticket = 0;
  if (device->base.is_lost) return roc_cuda_fail_lost(device, err);
  roc_status status = run(device, queue, f, NULL, err);
  bool entered = roc_cuda_enter(device);
  *out_ticket = roc_cuda_issue(stream, NULL); /* part of it may have been queued */
  roc_cuda_leave(entered);
  return status;
}
