/* Products of matrices by NVIDIA's library cuBLAS, which is opened at the first that is asked for.
 *
 * It works on a queue of its own, as another program's library would: the runtime adopts that.  A
 * product may have the library load kernels, and wait, so it runs under a lock of its own. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/opened.h"
#include "base/thread.h"
#include "device/cuda/driver.h"

typedef struct cublas_api {
#define ROC_CUBLAS(field, symbol, parameters) int(*field) parameters;
#include "device/cuda/cublas.def"
#undef ROC_CUBLAS
} cublas_api;

static cublas_api cublas;

static const roc_opened_function functions[] = {
#define ROC_CUBLAS(field, symbol, parameters) {#symbol, offsetof(cublas_api, field)},
#include "device/cuda/cublas.def"
#undef ROC_CUBLAS
};

static roc_opened opened = {.variable = "ROCLUA_CUBLAS_LIBRARY",
                            .files = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
                                      "/usr/local/cuda/lib64/libcublas.so"},
                            .purpose = "roc.linalg",
                            .absent =
                                "roc.linalg finds no cuBLAS: install NVIDIA's libcublas, or "
                                "name a file in ROCLUA_CUBLAS_LIBRARY; or copy the arrays to "
                                "the host",
                            .needed = "cuBLAS 11 or later is needed",
                            .functions = functions,
                            .nfunctions = sizeof functions / sizeof *functions,
                            .table = &cublas};

/* The library's numbers; the source is as for cublas.def. */
enum {
  MAJOR_VERSION = 0,
  MINOR_VERSION = 1,
  PATCH_LEVEL = 2,
  OP_N = 0,
  OP_T = 1,
  COMPUTE_32F = 68,
  COMPUTE_64F = 70,
  GEMM_DEFAULT = -1,
  /* No TF32, and sums of halves stay in float32. */
  DEFAULT_MATH = 0,
  DISALLOW_REDUCED_PRECISION_REDUCTION = 16,
};

static const roc_cuda_library_result results[] = {
    {1, ROC_UNAVAILABLE, "it does not start here"},
    {3, ROC_OOM, "out of memory on the GPU"},
    {7, ROC_INTERNAL, "a value that it does not take"},
    {8, ROC_UNAVAILABLE, "it is not made for this GPU"},
    {11, ROC_INTERNAL, "the GPU's memory cannot be reached"},
    {13, ROC_INTERNAL, "the GPU does not run it"},
    {14, ROC_INTERNAL, "an error of its own"},
    {15, ROC_UNSUPPORTED, "it has no such product"},
    {16, ROC_UNAVAILABLE, "it has no license"},
    {0},
};

static const struct {
  roc_dtype dtype;
  int type; /* cudaDataType */
} types[] = {{ROC_DT_FLOAT32, 0}, {ROC_DT_FLOAT64, 1}, {ROC_DT_FLOAT16, 2}, {ROC_DT_BFLOAT16, 14}};

/* ---- what it needs on a device: the library's lock held, context current ---- */

roc_status roc_cuda_library_fail(roc_cuda_device *device, const char *library,
                                 const roc_cuda_library_result *results_of, int result,
                                 const char *what, roc_error *err) {
  CUresult state = roc_cuda.cuStreamQuery(device->library.queue);
  if (roc_cuda_is_loss(state)) return roc_cuda_fail(device, state, what, err);
  const roc_cuda_library_result unknown = {0, ROC_INTERNAL, "an error that has no text"};
  const roc_cuda_library_result *known = results_of;
  while (known->text && known->result != result) known++;
  if (!known->text) known = &unknown;
  roc_fail(err, known->status, "%s: %s (%s error %d)", what, known->text, library, result);
  if (err) err->native = result;
  return known->status;
}

static roc_status fail(roc_cuda_device *device, int result, const char *what, roc_error *err) {
  return roc_cuda_library_fail(device, "cuBLAS", results, result, what, err);
}

roc_status roc_cuda_library_start_queue(roc_cuda_device *device, roc_error *err) {
  roc_cuda_library *library = &device->library;
  if (library->queue) return ROC_OK;
  CUresult result = roc_cuda.cuStreamCreate(&library->queue, CU_STREAM_NON_BLOCKING);
  if (result == CUDA_SUCCESS) return ROC_OK;
  library->queue = NULL;
  return roc_cuda_fail(device, result, "a stream for NVIDIA's libraries cannot be made", err);
}

void roc_cuda_library_describe(const char *library, int (*get_property)(int which, int *out_value),
                               const roc_opened *file, char name[96]) {
  static const int which[] = {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL};
  int version[3] = {0};
  for (int i = 0; i < 3; i++) get_property(which[i], &version[i]);
  snprintf(name, 96, "%s %d.%d.%d (%.60s)", library, version[0], version[1], version[2],
           roc_opened_file_name(file));
}

static roc_status start_current(roc_cuda_device *device, roc_error *err) {
  ROC_TRY(roc_cuda_library_start_queue(device, err));
  struct cublasContext *handle = NULL;
  int result = cublas.create(&handle);
  if (result == 0) result = cublas.set_stream(handle, device->library.queue);
  if (result == 0) {
    result = cublas.set_math(handle, DEFAULT_MATH | DISALLOW_REDUCED_PRECISION_REDUCTION);
  }
  if (result != 0) return fail(device, result, "cuBLAS cannot be used", err);
  device->library.handle = handle;
  return ROC_OK;
}

static roc_status start(roc_cuda_device *device, roc_error *err) {
  sigset_t old;
  roc_thread_block_signals(&old);
  bool entered = roc_cuda_enter(device);
  roc_status status = start_current(device, err);
  roc_cuda_leave(entered);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (status == ROC_OK) {
    roc_cuda_library_describe("cuBLAS", cublas.get_property, &opened, device->library.name);
  }
  return status;
}

roc_status roc_cuda_library_open(roc_device *base, const char **out_name, void **out_queue,
                                 roc_error *err) {
  roc_cuda_device *device = roc_cuda_device_of(base);
  roc_cuda_library *library = &device->library;
  if (base->is_lost) return roc_cuda_fail_lost(device, err);
  ROC_TRY(roc_opened_load(&opened, err));
  pthread_mutex_lock(&library->lock);
  roc_status status = library->handle ? ROC_OK : start(device, err);
  pthread_mutex_unlock(&library->lock);
  *out_name = library->name;
  *out_queue = library->queue;
  return status;
}

/* The handle stays: at the end of a process the library may have ended before the runtime does. */
void roc_cuda_library_close(roc_cuda_device *device) {
  if (device->library.queue) roc_cuda.cuStreamDestroy(device->library.queue);
}

/* ---- products --------------------------------------------------------------- */

static int type_of(roc_dtype dtype) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    if (types[i].dtype == dtype) return types[i].type;
  }
  return -1;
}

static bool fits(const roc_dev_product *p) {
  const int64_t numbers[] = {p->m, p->n, p->k, p->count, p->a.stride, p->b.stride};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (numbers[i] > INT_MAX) return false;
  }
  return true;
}

static int call(struct cublasContext *handle, const roc_dev_product *p) {
  const double one = 1, zero = 0;
  const float one_f = 1, zero_f = 0;
  bool is_double = p->dtype == ROC_DT_FLOAT64;
  const void *alpha = is_double ? (const void *)&one : &one_f;
  const void *beta = is_double ? (const void *)&zero : &zero_f;
  int transa = p->a.is_transposed ? OP_T : OP_N, transb = p->b.is_transposed ? OP_T : OP_N;
  int m = (int)p->m, n = (int)p->n, k = (int)p->k, compute = is_double ? COMPUTE_64F : COMPUTE_32F;
  int a_type = type_of(p->a.dtype), b_type = type_of(p->b.dtype), c_type = type_of(p->dtype);
  int lda = (int)p->a.stride, ldb = (int)p->b.stride;
  if (p->count == 1) {
    return cublas.gemm(handle, transa, transb, m, n, k, alpha, p->a.elements, a_type, lda,
                       p->b.elements, b_type, ldb, beta, p->c, c_type, m, compute, GEMM_DEFAULT);
  }
  return cublas.gemm_stack(handle, transa, transb, m, n, k, alpha, p->a.elements, a_type, lda,
                           p->a.stack_stride, p->b.elements, b_type, ldb, p->b.stack_stride, beta,
                           p->c, c_type, m, p->m * p->n, (int)p->count, compute, GEMM_DEFAULT);
}

roc_status roc_cuda_library_await_allocation(roc_cuda_device *device, roc_error *err) {
  CUresult ready = roc_cuda.cuStreamWaitEvent(device->library.queue, device->alloc_event, 0);
  if (ready == CUDA_SUCCESS) return ROC_OK;
  return roc_cuda_fail(device, ready, "NVIDIA's library cannot wait for an allocation", err);
}

static roc_status multiply(roc_cuda_device *device, const roc_dev_product *p, roc_error *err) {
  ROC_TRY(roc_cuda_library_await_allocation(device, err));
  int result = call(device->library.handle, p);
  return result == 0 ? ROC_OK : fail(device, result, "cuBLAS cannot multiply", err);
}

roc_status roc_cuda_multiply(roc_dev_stream *base, const roc_dev_product *product,
                             roc_ticket *out_ticket, roc_error *err) {
  roc_cuda_stream *stream = roc_cuda_stream_of(base);
  roc_cuda_device *device = roc_cuda_owner(stream);
  *out_ticket = 0;
  if (device->base.is_lost) return roc_cuda_fail_lost(device, err);
  if (!fits(product)) {
    return roc_fail(err, ROC_UNSUPPORTED, "cuBLAS takes extents below 2^31, too small for these");
  }
  sigset_t old;
  roc_thread_block_signals(&old);
  pthread_mutex_lock(&device->library.lock);
  bool entered = roc_cuda_enter(device);
  roc_status status = multiply(device, product, err);
  *out_ticket = roc_cuda_issue(stream, NULL); /* part of it may have been queued */
  roc_cuda_leave(entered);
  pthread_mutex_unlock(&device->library.lock);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return status;
}
