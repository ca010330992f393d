/* Finding and opening the compiler's shared object; see library.h. */
#include "jit/library.h"

#include <dlfcn.h>
#include <string.h>

#include "base/library.h"

#define LIBRARY "libroclua-codegen.so"

bool roc_jit_find_library(char path[PATH_MAX]) {
  return roc_library_find(LIBRARY, path);
}

roc_status roc_jit_open_library(const roc_codegen_api **out_api, roc_error *err) {
  char path[PATH_MAX];
  dlerror();
  void *handle = roc_jit_find_library(path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!handle) {
    const char *why = dlerror();
    bool lacks_memory = why && (strstr(why, "failed to map") || strstr(why, "allocate memory"));
    return roc_fail(err, lacks_memory ? ROC_OOM : ROC_UNAVAILABLE,
                    "cannot open the compiler, " LIBRARY ": %s (" ROC_LIBRARY_PLACES ")",
                    why ? why : "no such file");
  }
  const roc_codegen_api *(*entry)(void) = NULL;
  *(void **)&entry = dlsym(handle, "roc_codegen_entry");
  const roc_codegen_api *api = entry ? entry() : NULL;
  if (!api || api->abi != ROC_CODEGEN_ABI) {
    return roc_fail(err, ROC_UNAVAILABLE,
                    "the compiler, " LIBRARY
                    ", is of another version of roclua: install one version only");
  }
  *out_api = api;
  return ROC_OK;
}
