/* Loading kernels on a device; see launch.h. */
#include <string.h>

#include "base/alloc.h"
#include "runtime/core/internal.h"

roc_status roc_rt_kernel_load(roc_rt_device *device, roc_codeobj *object, const char *name,
                              roc_rt_kernel **out_kernel, roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  roc_rt_kernel *kernel = roc_zalloc(sizeof *kernel);
  size_t name_bytes = strlen(name) + 1;
  char *own_name = roc_alloc(name_bytes);
  if (!kernel || !own_name) {
    roc_free(kernel);
    roc_free(own_name);
    return roc_fail(err, ROC_OOM, "out of memory: cannot load kernel '%s'", name);
  }
  memcpy(own_name, name, name_bytes);
  kernel->refs = 1;
  kernel->device = device;
  kernel->object = object;
  kernel->name = own_name;
  roc_rt_lock();
  roc_status status = roc_rt_device_check(device, err);
  roc_device *driver = device->driver;
  if (status == ROC_OK) status = driver->ops->module_load(driver, object, &kernel->module, err);
  if (status == ROC_OK) device->live++;
  roc_rt_unlock();
  if (status != ROC_OK) {
    roc_free(own_name);
    roc_free(kernel);
    return status;
  }
  roc_rt_register_exit(); /* the compiler's object is in by now; our handler must run before its
                             destructors */
  *out_kernel = kernel;
  return ROC_OK;
}
