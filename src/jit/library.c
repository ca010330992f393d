/* Finding and opening the compiler's shared object; see library.h. */
#include "jit/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libroclua-codegen.so"

/* From the folder of roc/core.so, of libroclua.so, or of bin/roclua. */
static const char *const near_us[] = {
    "/", "/../../../", "/../../../roclua/", "/../lib/", "/roclua/", "/../lib/roclua/",
};

/* The folder of the object that holds this function; "" when it cannot be told. */
static void own_folder(char folder[PATH_MAX]) {
  Dl_info info;
  char path[PATH_MAX];
  folder[0] = '\0';
  if (!dladdr((const void *)(uintptr_t)&roc_jit_open_library, &info) || !info.dli_fname) return;
  /* A program found through PATH is known by its bare name only. */
  const char *name = strchr(info.dli_fname, '/') ? info.dli_fname : "/proc/self/exe";
  if (!realpath(name, path)) return;
  char *slash = strrchr(path, '/');
  if (!slash) return;
  *slash = '\0';
  strcpy(folder, path);
}

/* A file that is not there is passed over; one that is there and cannot be opened ends the
 * search. */
static void *try_file(const char *path, bool *found) {
  if (access(path, F_OK) != 0) return NULL;
  *found = true;
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *search(bool *found) {
  char folder[PATH_MAX], path[PATH_MAX + 64];
  const char *given = getenv("ROCLUA_LIBDIR");
  if (given && *given) {
    snprintf(path, sizeof path, "%s/" LIBRARY, given);
    return try_file(path, found);
  }
  own_folder(folder);
  for (size_t i = 0; folder[0] && i < sizeof near_us / sizeof *near_us; i++) {
    snprintf(path, sizeof path, "%s%s" LIBRARY, folder, near_us[i]);
    void *handle = try_file(path, found);
    if (*found) return handle;
  }
  return dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
}

roc_status roc_jit_open_library(const roc_codegen_api **out_api, roc_error *err) {
  bool found = false;
  dlerror();
  void *handle = search(&found);
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
