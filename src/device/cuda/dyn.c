/* Opening the driver library, and its results in words; see dyn.h. */
#include "device/cuda/dyn.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/file.h"
#include "base/library.h"
#include "device/cuda/absent.h"

#define LIBRARY "libcuda.so.1"
#define VARIABLE "ROCLUA_CUDA_LIBRARY"

roc_cuda_api roc_cuda;

static const struct {
  const char *symbol;
  size_t offset;
} functions[] = {
#define ROC_CUDA_FUNCTION(field, symbol, parameters) {#symbol, offsetof(roc_cuda_api, field)},
#include "device/cuda/cuda_api.def"
#undef ROC_CUDA_FUNCTION
};

/* ---- the library --------------------------------------------------------- */

static roc_status fail_open(const char *why, roc_error *err) {
  return roc_fail(err, ROC_UNAVAILABLE,
                  "NVIDIA's driver library cannot be opened: %s (looked for $" VARIABLE
                  ", or else for " LIBRARY
                  " where the linker looks; it comes with NVIDIA's driver, in Debian's package "
                  "libcuda1, and a container gets it from the host: --gpus all)",
                  why);
}

/* The linker would wait for the writer of a pipe. */
static roc_status open_library(void **out_handle, roc_error *err) {
  const char *given = roc_env_text(VARIABLE), *path = given ? given : LIBRARY;
  if (strchr(path, '/') && access(path, F_OK) == 0 && !roc_file_is_regular(path)) {
    return roc_fail(err, ROC_UNAVAILABLE, VARIABLE " is '%s', which is not a regular file", path);
  }
  *out_handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (*out_handle) return ROC_OK;
  const char *why = dlerror();
  return fail_open(why ? why : "no such file", err);
}

static roc_status find_functions(void *handle, roc_error *err) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    void *address = dlsym(handle, functions[i].symbol);
    if (!address) {
      return roc_fail(err, ROC_UNAVAILABLE,
                      "NVIDIA's driver library has no function '%s': it is older than CUDA 11.4 "
                      "(driver 470), or another library",
                      functions[i].symbol);
    }
    memcpy((char *)&roc_cuda + functions[i].offset, &address, sizeof address);
  }
  return ROC_OK;
}

roc_status roc_cuda_load(roc_error *err) {
  static bool is_loaded;
  if (is_loaded) return ROC_OK;
  if (!roc_env_text(VARIABLE)) ROC_TRY(roc_cuda_check_nodes("", err));
  void *handle;
  ROC_TRY(open_library(&handle, err));
  roc_status status = find_functions(handle, err);
  if (status != ROC_OK) {
    dlclose(handle);
    return status;
  }
  is_loaded = true; /* and stays open: the library's threads end with the process */
  return ROC_OK;
}

roc_status roc_cuda_describe(char *text, size_t size, roc_error *err) {
  char path[PATH_MAX];
  ROC_TRY(roc_cuda_load(err));
  bool is_known = roc_library_path_of((const void *)(uintptr_t)roc_cuda.cuInit, path);
  snprintf(text, size, "CUDA driver %s", is_known ? path : LIBRARY);
  return ROC_OK;
}

/* ---- its results --------------------------------------------------------- */

typedef enum result_kind { PLAIN, OOM, LOST } result_kind;

static const struct {
  CUresult result;
  result_kind kind;
  const char *text;
} results[] = {
#define ROC_CUDA_ERROR(name, value, kind, text) {CUDA_##name, kind, text},
#include "device/cuda/cuda_errors.def"
#undef ROC_CUDA_ERROR
};

static result_kind kind_of(CUresult result) {
  for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
    if (results[i].result == result) return results[i].kind;
  }
  return PLAIN;
}

const char *roc_cuda_text(CUresult result) {
  for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
    if (results[i].result == result) return results[i].text;
  }
  const char *text = NULL;
  if (roc_cuda.cuGetErrorString(result, &text) == CUDA_SUCCESS && text) return text;
  return "an error that the driver has no text for";
}

bool roc_cuda_is_loss(CUresult result) {
  return result != CUDA_SUCCESS && kind_of(result) == LOST;
}

static const char *name_of(CUresult result) {
  const char *name = NULL;
  if (roc_cuda.cuGetErrorName(result, &name) == CUDA_SUCCESS && name) return name;
  return "unnamed";
}

roc_status roc_cuda_fail_plainly(roc_error *err, CUresult result, const char *what) {
  roc_status status = kind_of(result) == OOM ? ROC_OOM : ROC_INTERNAL;
  roc_fail(err, status, "%s: %s (CUDA error %d, %s)", what, roc_cuda_text(result), (int)result,
           name_of(result));
  if (err) err->native = (int)result;
  return status;
}

/* What to do about a driver that does not start. */
static const struct {
  CUresult result;
  const char *advice;
} advices[] = {
    {CUDA_ERROR_NO_DEVICE, "CUDA_VISIBLE_DEVICES may hide the GPUs; nvidia-smi shows them"},
    {CUDA_ERROR_STUB_LIBRARY, "see that the linker finds the driver's own " LIBRARY " first"},
    {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "load the new kernel module, or restart the machine"},
    {CUDA_ERROR_SYSTEM_NOT_READY, "the service nvidia-fabricmanager may not be running"},
    {CUDA_ERROR_UNKNOWN, "the kernel module nvidia_uvm may not be loaded (nvidia-modprobe -u)"},
    {CUDA_ERROR_OUT_OF_MEMORY, "a limit of the address space (ulimit -v) keeps the driver out"},
};

roc_status roc_cuda_fail_start(CUresult result, roc_error *err) {
  const char *advice = "see what nvidia-smi and dmesg say";
  for (size_t i = 0; i < sizeof advices / sizeof *advices; i++) {
    if (advices[i].result == result) advice = advices[i].advice;
  }
  roc_fail(err, ROC_UNAVAILABLE, "NVIDIA's driver does not start: %s (CUDA error %d, %s); %s",
           roc_cuda_text(result), (int)result, name_of(result), advice);
  if (err) err->native = (int)result;
  return ROC_UNAVAILABLE;
}
