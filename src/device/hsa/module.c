/* Code objects made executable: one ROCR executable per loaded kernel. */
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

static roc_status fail_load(const roc_device *device, const roc_codeobj *object,
                            hsa_status_t status, roc_error *err) {
  roc_fail(err, ROC_INTERNAL,
           "ROCR does not load a kernel compiled for '%s' on device '%s' (%s): %s (HSA status "
           "0x%x)",
           object->target, device->props.name, device->props.arch, roc_hsa_status_text(status),
           (unsigned)status);
  if (err) err->native = (int)status;
  return ROC_INTERNAL;
}

static hsa_status_t load_object(roc_dev_module *module, hsa_agent_t agent,
                                const roc_codeobj *object) {
  hsa_status_t status = roc_hsa.hsa_code_object_reader_create_from_memory(
      object->bytes, object->nbytes, &module->reader);
  if (status != HSA_STATUS_SUCCESS) return status;
  status = roc_hsa.hsa_executable_create_alt(
      HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &module->executable);
  if (status != HSA_STATUS_SUCCESS) return status;
  status = roc_hsa.hsa_executable_load_agent_code_object(module->executable, agent, module->reader,
                                                         NULL, NULL);
  if (status != HSA_STATUS_SUCCESS) return status;
  return roc_hsa.hsa_executable_freeze(module->executable, NULL);
}

static roc_status find_kernel(roc_dev_module *module, hsa_agent_t agent, const roc_codeobj *object,
                              roc_error *err) {
  char name[512];
  snprintf(name, sizeof name, "%.500s.kd", object->entry);
  hsa_executable_symbol_t symbol;
  hsa_status_t status =
      roc_hsa.hsa_executable_get_symbol_by_name(module->executable, name, &agent, &symbol);
  if (status != HSA_STATUS_SUCCESS) return roc_hsa_fail(err, status, "a kernel is not in its code");
  ROC_TRY(read_symbol(module, symbol, err));
  module->dynamic_begin = (object->shared_bytes + SHARED_ALIGN - 1) / SHARED_ALIGN * SHARED_ALIGN;
  return ROC_OK;
}

roc_status roc_hsa_module_load(roc_device *base, const roc_codeobj *object,
                               roc_dev_module **out_module, roc_error *err) {
  roc_hsa_device *device = roc_hsa_device_of(base);
  if (base->is_lost) return roc_hsa_fail_lost(device, err);
  roc_dev_module *module = roc_zalloc(sizeof *module);
  if (!module) return roc_fail(err, ROC_OOM, "out of memory: cannot load a kernel");
  hsa_status_t loaded = load_object(module, device->agent, object);
  roc_status status = loaded == HSA_STATUS_SUCCESS ? find_kernel(module, device->agent, object, err)
                                                   : fail_load(base, object, loaded, err);
  if (status != ROC_OK) {
    roc_hsa_module_unload(base, module);
    return status;
  }
  *out_module = module;
  return ROC_OK;
}

void roc_hsa_module_unload(roc_device *device, roc_dev_module *module) {
  if (!device->is_lost) {
    if (module->executable.handle) roc_hsa.hsa_executable_destroy(module->executable);
    if (module->reader.handle) roc_hsa.hsa_code_object_reader_destroy(module->reader);
  }
  roc_free(module);
}
