/* dlopen behind roc_status; see dylib.h. */
#include "base/dylib.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

roc_status roc_dylib_open(const char *path, roc_dylib **out_library, roc_error *err) {
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) {
    const char *why = dlerror();
    return roc_fail(err, ROC_UNAVAILABLE, "cannot open '%s': %s", path, why ? why : "unknown");
  }
  *out_library = handle;
  return ROC_OK;
}

roc_status roc_dylib_symbol(roc_dylib *library, const char *name, void **out_address,
                            roc_error *err) {
  *out_address = dlsym(library, name);
  if (!*out_address) return roc_fail(err, ROC_UNAVAILABLE, "symbol '%s' is missing", name);
  return ROC_OK;
}

roc_status roc_dylib_folder_of(const void *address, char *out_folder, size_t capacity,
                               roc_error *err) {
  Dl_info info;
  if (!dladdr(address, &info) || !info.dli_fname) {
    return roc_fail(err, ROC_INVALID, "the shared object of an address is unknown");
  }
  char *real = realpath(info.dli_fname, NULL);
  const char *path = real ? real : info.dli_fname;
  const char *slash = strrchr(path, '/');
  size_t len = slash ? (size_t)(slash - path) : 1;
  roc_status status = ROC_OK;
  if (len + 1 > capacity) {
    status = roc_fail(err, ROC_INVALID, "the folder of '%s' has too long a name", path);
  } else {
    memcpy(out_folder, slash ? path : ".", len);
    out_folder[len] = '\0';
  }
  free(real);
  return status;
}
