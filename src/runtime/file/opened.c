/* Opening the libraries of file formats; see opened.h. */
#include "runtime/file/opened.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static roc_status load(roc_opened *opened, roc_error *err) {
  if (opened->is_open) return ROC_OK;
  void *handle = dlopen(opened->file, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    return roc_fail(err, ROC_UNAVAILABLE, "%s needs %s, which cannot be opened: install %s",
                    opened->purpose, opened->file, opened->package);
  }
  for (size_t i = 0; i < opened->nfunctions; i++) {
    void *address = dlsym(handle, opened->functions[i].symbol);
    if (!address) {
      dlclose(handle);
      return roc_fail(err, ROC_UNAVAILABLE, "%s needs %s, which has no function '%s'",
                      opened->purpose, opened->file, opened->functions[i].symbol);
    }
    memcpy((char *)opened->table + opened->functions[i].offset, &address, sizeof address);
  }
  opened->is_open = true;
  return ROC_OK;
}

roc_status roc_opened_load(roc_opened *opened, roc_error *err) {
  pthread_mutex_lock(&lock);
  roc_status status = load(opened, err);
  pthread_mutex_unlock(&lock);
  return status;
}
