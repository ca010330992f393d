/* A stand-in for NVIDIA's library cuBLAS on the stand-in of fake_cuda.h: a test double.
 *
 * Its products are computed on the host, in the order of the handle's stream.  FAKE_CUBLAS_FAIL=N
 * has each product give the result N, FAKE_CUBLAS_CREATE=N each handle. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "fake_cuda.h"

struct cublasContext {
  CUstream stream;
  CUcontext context;
};

#define API __attribute__((visibility("default")))
#define ROC_CUBLAS(field, symbol, parameters) API int symbol parameters;
#include "device/cuda/cublas.def"
#undef ROC_CUBLAS

enum { SUCCESS, NOT_INITIALIZED = 1, ALLOC_FAILED = 3, INVALID_VALUE = 7, INTERNAL = 14 };

/* The functions of the driver that the program has opened. */
static CUresult (*launch_host)(CUstream, CUhostFn, void *);
static CUresult (*get_current)(CUcontext *);
static const fake_cuda *control;

static bool find_driver(void) {
  const char *file = getenv("ROCLUA_CUDA_LIBRARY");
  void *driver = file ? dlopen(file, RTLD_NOW | RTLD_NOLOAD) : NULL;
  if (!driver) return false;
  *(void **)&launch_host = dlsym(driver, "cuLaunchHostFunc");
  *(void **)&get_current = dlsym(driver, "cuCtxGetCurrent");
  fake_cuda_get *get;
  *(void **)&get = dlsym(driver, "fake_cuda_open");
  if (get) control = get();
  return launch_host && get_current && control;
}

static int planned(const char *variable) {
  const char *text = getenv(variable);
  return text ? atoi(text) : SUCCESS;
}

int cublasGetProperty(int which, int *out_value) {
  static const int version[] = {13, 0, 2};
  if (which < 0 || which > 2) return INVALID_VALUE;
  *out_value = version[which];
  return SUCCESS;
}

int cublasCreate_v2(struct cublasContext **out_handle) {
  CUcontext current = NULL;
  int result = planned("FAKE_CUBLAS_CREATE");
  if (result != SUCCESS) return result;
  if (!find_driver() || get_current(&current) != CUDA_SUCCESS || !current) return NOT_INITIALIZED;
  *out_handle = calloc(1, sizeof **out_handle);
  if (!*out_handle) return ALLOC_FAILED;
  (*out_handle)->context = current;
  return SUCCESS;
}

int cublasSetMathMode(struct cublasContext *handle, int mode) {
  return handle && mode == 16 ? SUCCESS : INVALID_VALUE;
}

int cublasSetStream_v2(struct cublasContext *handle, CUstream stream) {
  handle->stream = stream;
  return SUCCESS;
}

/* ---- products --------------------------------------------------------------- */

typedef struct factor {
  CUdeviceptr elements;
  int type, stride, transposed;
  long long step;
} factor;

typedef struct product {
  int m, n, k, count, c_type, ldc;
  long long c_step;
  factor a, b;
  CUdeviceptr c;
} product;

static const roc_dtype dtypes[] = {
    [0] = ROC_DT_FLOAT32, [1] = ROC_DT_FLOAT64, [2] = ROC_DT_FLOAT16, [14] = ROC_DT_BFLOAT16};

static char *at(CUdeviceptr elements, int type, long long index) {
  size_t itemsize = roc_dtype_itemsize(dtypes[type]);
  return control->look(elements + (CUdeviceptr)index * itemsize);
}

static double load(const factor *f, int z, int row, int column) {
  long long index =
      f->transposed ? (long long)row * f->stride + column : (long long)column * f->stride + row;
  const char *place = at(f->elements, f->type, z * f->step + index);
  float single;
  double value;
  uint16_t half;
  switch (dtypes[f->type]) {
    case ROC_DT_FLOAT32: memcpy(&single, place, sizeof single); return (double)single;
    case ROC_DT_FLOAT64: memcpy(&value, place, sizeof value); return value;
    case ROC_DT_FLOAT16: memcpy(&half, place, sizeof half); return (double)roc_f32_from_f16(half);
    default: memcpy(&half, place, sizeof half); return (double)roc_f32_from_bf16(half);
  }
}

static void store(const product *p, int z, int row, int column, double value) {
  long long index = z * p->c_step + (long long)column * p->ldc + row;
  float single = (float)value;
  if (dtypes[p->c_type] == ROC_DT_FLOAT64) {
    memcpy(at(p->c, p->c_type, index), &value, sizeof value);
  } else {
    memcpy(at(p->c, p->c_type, index), &single, sizeof single);
  }
}

static void compute(void *ud) {
  product *p = ud;
  for (int z = 0; z < p->count; z++) {
    for (int i = 0; i < p->m; i++) {
      for (int j = 0; j < p->n; j++) {
        double sum = 0;
        for (int l = 0; l < p->k; l++) sum += load(&p->a, z, i, l) * load(&p->b, z, l, j);
        store(p, z, i, j, sum);
      }
    }
  }
  free(p);
}

static int queue(struct cublasContext *handle, const product *wanted) {
  CUcontext current = NULL;
  int result = planned("FAKE_CUBLAS_FAIL");
  if (result != SUCCESS) return result;
  if (get_current(&current) != CUDA_SUCCESS || current != handle->context) return INTERNAL;
  int a_rows = wanted->a.transposed ? wanted->k : wanted->m;
  int b_rows = wanted->b.transposed ? wanted->n : wanted->k;
  if (wanted->m <= 0 || wanted->n <= 0 || wanted->k <= 0 || wanted->count <= 0)
    return INVALID_VALUE;
  if (wanted->a.stride < a_rows || wanted->b.stride < b_rows || wanted->ldc < wanted->m) {
    return INVALID_VALUE;
  }
  product *p = malloc(sizeof *p);
  if (!p) return ALLOC_FAILED;
  *p = *wanted;
  return launch_host(handle->stream, compute, p) == CUDA_SUCCESS ? SUCCESS : INTERNAL;
}

/* 1 and 0, in the type of the sums. */
static bool is_plain(const void *alpha, const void *beta, int compute_type) {
  double numbers[2];
  float singles[2];
  if (compute_type == 70) {
    memcpy(&numbers[0], alpha, sizeof(double));
    memcpy(&numbers[1], beta, sizeof(double));
    return numbers[0] == 1 && numbers[1] == 0;
  }
  memcpy(&singles[0], alpha, sizeof(float));
  memcpy(&singles[1], beta, sizeof(float));
  return compute_type == 68 && singles[0] == 1 && singles[1] == 0;
}

int cublasGemmStridedBatchedEx(struct cublasContext *handle, int transa, int transb, int m, int n,
                               int k, const void *alpha, CUdeviceptr a, int a_type, int lda,
                               long long a_step, CUdeviceptr b, int b_type, int ldb,
                               long long b_step, const void *beta, CUdeviceptr c, int c_type,
                               int ldc, long long c_step, int count, int compute_type,
                               int algorithm) {
  if (!is_plain(alpha, beta, compute_type) || algorithm != -1 || a_type != b_type) {
    return INVALID_VALUE;
  }
  product p = {m,
               n,
               k,
               count,
               c_type,
               ldc,
               c_step,
               {a, a_type, lda, transa, a_step},
               {b, b_type, ldb, transb, b_step},
               c};
  return queue(handle, &p);
}

int cublasGemmEx(struct cublasContext *handle, int transa, int transb, int m, int n, int k,
                 const void *alpha, CUdeviceptr a, int a_type, int lda, CUdeviceptr b, int b_type,
                 int ldb, const void *beta, CUdeviceptr c, int c_type, int ldc, int compute_type,
                 int algorithm) {
  return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, a, a_type, lda, 0, b,
                                    b_type, ldb, 0, beta, c, c_type, ldc, 0, 1, compute_type,
                                    algorithm);
}
