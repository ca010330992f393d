/* Code objects made executable: one ROCR executable for all kernels that are loaded of one object. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "device/hsa/driver.h"

enum { SHARED_ALIGN = 64 /* dynamic bytes begin at such a multiple after the static ones */ };

static roc_status read_symbol(roc_dev_module *module, hsa_executable_symbol_t symbol,
                              roc_error *err) {
  const struct {
    hsa_executable_symbol_info_t what;
    void *out;
  } wanted[] = {
      {HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &module->kernel_object},
      {HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &module->kernarg_bytes},
      {HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &module->group_bytes},
      {HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &module->private_bytes},
  };
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    hsa_status_t status =
        roc_hsa.hsa_executable_symbol_get_info(symbol, wanted[i].what, wanted[i].out);
    if (status != HSA_STATUS_SUCCESS)
      return roc_hsa_fail(err, status, "a kernel has no properties");
  }
  return ROC_OK;
}

static void release_code(const roc_device *device, roc_hsa_executable *code) {
  if (atomic_fetch_sub(&code->refs, 1) > 1) return;
  if (!device->is_lost) {
    if (code->hsa.handle) roc_hsa.hsa_executable_destroy(code->hsa);
    if (code->reader.handle) roc_hsa.hsa_code_object_reader_destroy(code->reader);
  }
  roc_free(code);
}

static roc_status fail_load(const roc_device *device, const roc_codeobj *object,
                            hsa_status_t status, roc_error *err) {
  roc_fail(err, ROC_INTERNAL,
           "ROCR does not load a kernel compiled for '%s' on device '%s' (%s): %s (HSA status "
           "0x%x)%s",
           object->target, device->props.name, device->props.arch, roc_hsa_status_text(status),
           (unsigned)status,
           status == HSA_STATUS_ERROR_INVALID_CODE_OBJECT
               ? "; version 6 of code objects needs ROCm 6.3, clang's -mcode-object-version=5 "
                 "serves older ones"
               : "");
  if (err) err->native = (int)status;
  return ROC_INTERNAL;
}

static hsa_status_t load_object(roc_hsa_executable *code, hsa_agent_t agent,
                                const roc_codeobj *object) {
  hsa_status_t status = roc_hsa.hsa_code_object_reader_create_from_memory(
      object->bytes, object->nbytes, &code->reader);
  if (status != HSA_STATUS_SUCCESS) return status;
  status = roc_hsa.hsa_executable_create_alt(
      HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &code->hsa);
  if (status != HSA_STATUS_SUCCESS) return status;
  status =
      roc_hsa.hsa_executable_load_agent_code_object(code->hsa, agent, code->reader, NULL, NULL);
  if (status != HSA_STATUS_SUCCESS) return status;
  return roc_hsa.hsa_executable_freeze(code->hsa, NULL);
}

static roc_status find_kernel(roc_dev_module *module, hsa_agent_t agent, const roc_codeobj *object,
                              roc_error *err) {
  char name[512];
  snprintf(name, sizeof name, "%.500s.kd", object->entry);
  hsa_executable_symbol_t symbol;
  hsa_status_t status =
      roc_hsa.hsa_executable_get_symbol_by_name(module->code->hsa, name, &agent, &symbol);
  if (status != HSA_STATUS_SUCCESS) return roc_hsa_fail(err, status, "a kernel is not in its code");
  ROC_TRY(read_symbol(module, symbol, err));
  module->dynamic_begin = (object->shared_bytes + SHARED_ALIGN - 1) / SHARED_ALIGN * SHARED_ALIGN;
  return ROC_OK;
}

/* The module of a kernel; takes a reference to the code over, on failure, too. */
static roc_status make_module(roc_device *base, roc_hsa_executable *code, const roc_codeobj *object,
                              roc_dev_module **out_module, roc_error *err) {
  roc_dev_module *module = roc_zalloc(sizeof *module);
  if (!module) {
    release_code(base, code);
    return roc_fail(err, ROC_OOM, "out of memory: cannot load a kernel");
  }
  module->code = code;
  roc_status status = find_kernel(module, roc_hsa_device_of(base)->agent, object, err);
  if (status == ROC_OK) {
    *out_module = module;
  } else {
    roc_hsa_module_unload(base, module);
  }
  return status;
}

roc_status roc_hsa_module_load(roc_device *base, const roc_codeobj *object,
                               roc_dev_module **out_module, roc_error *err) {
  roc_hsa_device *device = roc_hsa_device_of(base);
  if (base->is_lost) return roc_hsa_fail_lost(device, err);
  roc_hsa_executable *code = roc_zalloc(sizeof *code);
  if (!code) return roc_fail(err, ROC_OOM, "out of memory: cannot load a kernel");
  atomic_init(&code->refs, 1);
  hsa_status_t loaded = load_object(code, device->agent, object);
  if (loaded == HSA_STATUS_SUCCESS) return make_module(base, code, object, out_module, err);
  release_code(base, code);
  return fail_load(base, object, loaded, err);
}

roc_status roc_hsa_module_load_beside(roc_device *base, roc_dev_module *loaded,
                                      const roc_codeobj *object, roc_dev_module **out_module,
                                      roc_error *err) {
  if (base->is_lost) return roc_hsa_fail_lost(roc_hsa_device_of(base), err);
  atomic_fetch_add(&loaded->code->refs, 1);
  return make_module(base, loaded->code, object, out_module, err);
}

void roc_hsa_module_unload(roc_device *device, roc_dev_module *module) {
  release_code(device, module->code);
  roc_free(module);
}
