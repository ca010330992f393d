/* Code objects made executable: one module of the driver's for all kernels that are loaded of one
 * object. */
#include "base/alloc.h"
#include "device/cuda/driver.h"

enum { LOG_BYTES = 1200 };

/* A byte 0 ends it (base/nvptx_abi.h). What the driver compiles it to, the driver keeps on disk itself.
 * Its linker would give the image out, but compiles a kernel as one that others may be linked to, in
 * up to twice the registers. */
static CUresult load_ptx(const void *ptx, CUmodule *out_module, char *log, size_t log_bytes) {
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, (void *)(uintptr_t)(log_bytes - 1)};
  return roc_cuda.cuModuleLoadDataEx(out_module, ptx, 2, options, values);
}

static roc_status fail_load(roc_cuda_device *device, const roc_codeobj *object, CUresult result,
                            const char *log, roc_error *err) {
  if (roc_cuda_is_loss(result)) return roc_cuda_fail(device, result, "", err);
  roc_status status = result == CUDA_ERROR_OUT_OF_MEMORY ? ROC_OOM : ROC_INTERNAL;
  roc_fail(err, status,
           "NVIDIA's driver does not load a kernel compiled for '%s' on device '%s' (%s): %s (CUDA "
           "error %d)%s%s",
           object->target, device->base.props.name, device->base.props.arch, roc_cuda_text(result),
           (int)result, log[0] ? ": " : "", log);
  if (err) err->native = (int)result;
  return status;
}

/* Asking makes the library load the function now: it would wait for a kernel that runs if it did so
 * at the first launch. */
static CUresult read_function(roc_dev_module *module, const char *entry) {
  const struct {
    CUfunction_attribute attribute;
    uint32_t *out;
  } wanted[] = {
      {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &module->max_workgroup},
      {CU_FUNC_ATTRIBUTE_NUM_REGS, &module->registers},
      {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &module->shared_bytes},
  };
  CUresult result = roc_cuda.cuModuleGetFunction(&module->function, module->code->module, entry);
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted && result == CUDA_SUCCESS; i++) {
    int value = 0;
    result = roc_cuda.cuFuncGetAttribute(&value, wanted[i].attribute, module->function);
    *wanted[i].out = (uint32_t)value;
  }
  return result;
}

static void unload(roc_device *base, void *module) {
  if (!base->is_lost) roc_cuda.cuModuleUnload(module); /* else it goes with the context */
}

static void release_code(roc_cuda_device *device, roc_cuda_code *code) {
  if (atomic_fetch_sub(&code->refs, 1) > 1) return;
  if (code->module) roc_cuda_reap(device, unload, code->module);
  roc_free(code);
}

static roc_status load_code(roc_cuda_device *device, const roc_codeobj *object, roc_cuda_code *code,
                            roc_error *err) {
  char log[LOG_BYTES] = "";
  CUresult result = load_ptx(object->bytes, &code->module, log, sizeof log);
  if (result == CUDA_SUCCESS) return ROC_OK;
  code->module = NULL;
  return fail_load(device, object, result, log, err);
}

static roc_status load_current(roc_cuda_device *device, const roc_codeobj *object,
                               roc_dev_module *module, roc_error *err) {
  if (!module->code->module) ROC_TRY(load_code(device, object, module->code, err));
  CUresult result = read_function(module, object->entry);
  return result == CUDA_SUCCESS ? ROC_OK : fail_load(device, object, result, "", err);
}

/* The module of a kernel; takes a reference to the code over, on failure, too. */
static roc_status make_module(roc_cuda_device *device, roc_cuda_code *code,
                              const roc_codeobj *object, roc_dev_module **out_module,
                              roc_error *err) {
  roc_dev_module *module = roc_zalloc(sizeof *module);
  if (!module) {
    release_code(device, code);
    return roc_fail(err, ROC_OOM, "out of memory: cannot load a kernel");
  }
  module->object = object;
  module->code = code;
  bool entered = roc_cuda_enter(device);
  roc_status status = load_current(device, object, module, err);
  roc_cuda_leave(entered);
  if (status == ROC_OK) {
    *out_module = module;
  } else {
    roc_cuda_module_unload(&device->base, module);
  }
  return status;
}

roc_status roc_cuda_module_load(roc_device *base, const roc_codeobj *object,
                                roc_dev_module **out_module, roc_error *err) {
  roc_cuda_device *device = roc_cuda_device_of(base);
  if (base->is_lost) return roc_cuda_fail_lost(device, err);
  roc_cuda_code *code = roc_zalloc(sizeof *code);
  if (!code) return roc_fail(err, ROC_OOM, "out of memory: cannot load a kernel");
  atomic_init(&code->refs, 1);
  return make_module(device, code, object, out_module, err);
}

roc_status roc_cuda_module_load_beside(roc_device *base, roc_dev_module *loaded,
                                       const roc_codeobj *object, roc_dev_module **out_module,
                                       roc_error *err) {
  roc_cuda_device *device = roc_cuda_device_of(base);
  if (base->is_lost) return roc_cuda_fail_lost(device, err);
  atomic_fetch_add(&loaded->code->refs, 1);
  return make_module(device, loaded->code, object, out_module, err);
}

void roc_cuda_module_unload(roc_device *base, roc_dev_module *module) {
  release_code(roc_cuda_device_of(base), module->code);
  roc_free(module);
}
