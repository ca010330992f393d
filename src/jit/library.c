/* Finding and opening the compiler's shared object; see library.h. */
#include "jit/library.h"

#include <dlfcn.h>

#include "base/env.h"
#include "base/library.h"

#define LIBRARY "libroclua-codegen.so"

/* From the folder of roc/core.so, of libroclua.so, or of bin/roclua. */
static const roc_library_folders folders = {
    .given = (const char *const[]){"/", NULL},
    .own = (const char *const[]){"/", "/../../../", "/../../../roclua/", "/../lib/", "/roclua/",
                                 "/../lib/roclua/", NULL},
};

bool roc_jit_find_library(char path[PATH_MAX]) {
  return roc_library_find(LIBRARY, &folders, path);
}

/* A file that is there and cannot be opened ends the search. */
static void *open_library(void) {
  char path[PATH_MAX];
  const char *given = roc_env_text("ROCLUA_LIBDIR");
  if (roc_jit_find_library(path)) return dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return given ? NULL : dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
}

roc_status roc_jit_open_library(const roc_codegen_api **out_api, roc_error *err) {
  dlerror();
  void *handle = open_library();
  if (!handle) {
    const char *why = dlerror();
    return roc_fail(err, ROC_UNAVAILABLE,
                    "cannot open the compiler, " LIBRARY
                    ": %s (looked in $ROCLUA_LIBDIR, beside roclua, "
                    "and where the system's linker looks)",
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
