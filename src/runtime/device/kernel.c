/* Loading kernels on a device; see launch.h. */
#include <string.h>

#include "base/alloc.h"
#include "runtime/core/internal.h"

/* Without the lock: the driver may compile.  On success the device is held. */
static roc_status load_module(roc_rt_device *device, const roc_codeobj *object,
                              const roc_rt_kernel *beside, roc_dev_module **out_module,
                              roc_error *err) {
  roc_device *driver = device->driver;
  roc_rt_lock();
  roc_status status = roc_rt_device_check(device, err);
  if (status == ROC_OK) device->live++;
  roc_rt_unlock();
  ROC_TRY(status);
  if (!beside) {
    status = driver->ops->module_load(driver, object, out_module, err);
  } else {
    status = driver->ops->module_load_beside(driver, beside->module, object, out_module, err);
  }
  if (status == ROC_OK) return ROC_OK;
  roc_rt_lock();
  if (status == ROC_LOST) roc_rt_device_set_lost(device, NULL, err);
  roc_rt_device_drop(device);
  roc_rt_unlock();
  return status;
}

static roc_status load_kernel(roc_rt_device *device, roc_codeobj *object, const char *name,
                              const roc_rt_kernel *beside, roc_rt_kernel **out_kernel,
                              roc_error *err) {
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
  roc_status status = load_module(device, object, beside, &kernel->module, err);
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

roc_status roc_rt_kernel_load(roc_rt_device *device, roc_codeobj *object, const char *name,
                              roc_rt_kernel **out_kernel, roc_error *err) {
  return load_kernel(device, object, name, NULL, out_kernel, err);
}

roc_status roc_rt_kernel_load_beside(const roc_rt_kernel *loaded, roc_codeobj *object,
                                     const char *name, roc_rt_kernel **out_kernel, roc_error *err) {
  if (!loaded->device->driver->ops->module_load_beside) {
    return roc_fail(err, ROC_UNSUPPORTED, "device '%s' takes no modules",
                    loaded->device->driver->props.name);
  }
  return load_kernel(loaded->device, object, name, loaded, out_kernel, err);
}
