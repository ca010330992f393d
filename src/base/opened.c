/* Opening libraries at run time; see opened.h. */
#include "base/opened.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/thread.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static roc_status find_functions(roc_opened *opened, void *handle, const char *file,
                                 roc_error *err) {
  for (size_t i = 0; i < opened->nfunctions; i++) {
    const char *symbol = opened->functions[i].symbol;
    void *address = dlsym(handle, symbol); /* of what the file depends on as well */
    if (!address) {
      return roc_fail(err, ROC_UNAVAILABLE, "%s cannot use %s, which has no function '%s'%s%s",
                      opened->purpose, file, symbol, opened->needed ? ": " : "",
                      opened->needed ? opened->needed : "");
    }
    memcpy((char *)opened->table + opened->functions[i].offset, &address, sizeof address);
  }
  return ROC_OK;
}

/* `absent`, and no message: it cannot be opened. */
static roc_status open_file(roc_opened *opened, const char *file, roc_status absent,
                            roc_error *err) {
  void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return absent;
  roc_status status = find_functions(opened, handle, file, err);
  if (status != ROC_OK) {
    dlclose(handle);
    return status;
  }
  opened->file = file;
  opened->handle = handle;
  return ROC_OK;
}

static roc_status open_given(roc_opened *opened, const char *file, roc_error *err) {
  roc_status status = open_file(opened, file, ROC_INVALID, err);
  if (status != ROC_INVALID) return status;
  return roc_fail(err, status, "%s is '%.150s', which cannot be opened", opened->variable, file);
}

static roc_status open_any(roc_opened *opened, roc_error *err) {
  const char *given = opened->variable ? roc_env_text(opened->variable) : NULL;
  if (given) return open_given(opened, given, err);
  roc_error found = ROC_ERROR_INIT; /* of a file that is there and does not serve */
  for (size_t i = 0; i < ROC_OPENED_MAX_FILES && opened->files[i]; i++) {
    roc_status status = open_file(opened, opened->files[i], ROC_UNAVAILABLE, &found);
    if (status == ROC_OK) return ROC_OK;
  }
  if (found.code != ROC_OK) {
    *err = found;
    return found.code;
  }
  return roc_fail(err, ROC_UNAVAILABLE, "%s", opened->absent);
}

roc_status roc_opened_load(roc_opened *opened, roc_error *err) {
  pthread_mutex_lock(&lock);
  if (!opened->file && opened->absence.code == ROC_OK) {
    sigset_t old;
    roc_thread_block_signals(&old); /* for the threads that the library may start */
    open_any(opened, &opened->absence);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
  }
  roc_status status = opened->file ? ROC_OK : opened->absence.code;
  if (status != ROC_OK && err) *err = opened->absence;
  pthread_mutex_unlock(&lock);
  return status;
}

const char *roc_opened_file_name(const roc_opened *opened) {
  const char *slash = strrchr(opened->file, '/');
  return slash ? slash + 1 : opened->file;
}
