/* Finding and opening the compiler's shared object; see library.h. */
#include "jit/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/file.h"

#define LIBRARY "libroclua-codegen.so"

/* From the folder of roc/core.so, of libroclua.so, or of bin/roclua. */
static const char *const search_paths[] = {
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

static bool is_there(char path[PATH_MAX], const char *folder, const char *between) {
  int len = snprintf(path, PATH_MAX, "%s%s" LIBRARY, folder, between);
  return len > 0 && len < PATH_MAX && roc_file_is_regular(path);
}

bool roc_jit_find_library(char path[PATH_MAX]) {
  char folder[PATH_MAX];
  const char *given = roc_env_text("ROCLUA_LIBDIR");
  if (given) return is_there(path, given, "/");
  own_folder(folder);
  for (size_t i = 0; folder[0] && i < sizeof search_paths / sizeof *search_paths; i++) {
    if (is_there(path, folder, search_paths[i])) return true;
  }
  return false;
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
