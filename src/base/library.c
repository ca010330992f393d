/* Search paths of roclua's own libraries; see library.h. */
#include "base/library.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/file.h"

/* The folder of the object that holds this function; "" when it cannot be told. */
static void find_own_folder(char folder[PATH_MAX]) {
  Dl_info info;
  folder[0] = '\0';
  if (!dladdr((const void *)(uintptr_t)&find_own_folder, &info) || !info.dli_fname) return;
  /* A program found through PATH is known by its bare name only. */
  const char *name = strchr(info.dli_fname, '/') ? info.dli_fname : "/proc/self/exe";
  char *slash = realpath(name, folder) ? strrchr(folder, '/') : folder;
  if (slash) *slash = '\0';
}

static bool find_below(const char *folder, const char *const *below, const char *name,
                       char path[PATH_MAX]) {
  for (; *below; below++) {
    int length = snprintf(path, PATH_MAX, "%s%s%s", folder, *below, name);
    if (length > 0 && length < PATH_MAX && roc_file_is_regular(path)) return true;
  }
  return false;
}

bool roc_library_find(const char *name, const roc_library_folders *folders, char path[PATH_MAX]) {
  char own[PATH_MAX];
  const char *given = roc_env_text("ROCLUA_LIBDIR");
  if (given) return find_below(given, folders->given, name, path);
  find_own_folder(own);
  return own[0] && find_below(own, folders->own, name, path);
}
