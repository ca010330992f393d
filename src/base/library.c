/* The folder of roclua's own files; see library.h. */
#include "base/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/env.h"
#include "base/file.h"

#ifndef ROCLUA_LIB_FOLDER /* below the prefix; the build tells */
#define ROCLUA_LIB_FOLDER "lib"
#endif

/* From the folder of libroclua.so, and of a program in bin that contains the library. */
static const char *const below_own[] = {"/roclua/0", "/../lib/roclua/0",
                                        "/../" ROCLUA_LIB_FOLDER "/roclua/0"};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char given_folder[PATH_MAX]; /* "": none */
static bool has_searched;

roc_status roc_library_set_folder(const char *folder, roc_error *err) {
  struct stat status;
  char path[PATH_MAX];
  if (!realpath(folder, path) || stat(path, &status) != 0 || !S_ISDIR(status.st_mode)) {
    return roc_fail(err, ROC_INVALID, "'%s' is no folder", folder);
  }
  pthread_mutex_lock(&lock);
  bool is_late = has_searched;
  if (!is_late) memcpy(given_folder, path, sizeof path);
  pthread_mutex_unlock(&lock);
  if (!is_late) return ROC_OK;
  return roc_fail(err, ROC_INVALID,
                  "the folder of roclua's libraries is set too late: one of them was searched for "
                  "already");
}

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

bool roc_library_path_of(const void *function, char path[PATH_MAX]) {
  Dl_info info;
  return dladdr(function, &info) && info.dli_fname && realpath(info.dli_fname, path);
}

static bool is_in(const char *folder, const char *below, const char *name, char path[PATH_MAX]) {
  int length = snprintf(path, PATH_MAX, "%s%s/%s", folder, below, name);
  return length > 0 && length < PATH_MAX && roc_file_is_regular(path);
}

static bool copy_given(char folder[PATH_MAX]) {
  pthread_mutex_lock(&lock);
  has_searched = true;
  memcpy(folder, given_folder, sizeof given_folder);
  pthread_mutex_unlock(&lock);
  return folder[0] != '\0';
}

bool roc_library_find(const char *name, char path[PATH_MAX]) {
  char folder[PATH_MAX];
  if (copy_given(folder)) return is_in(folder, "", name, path);
  const char *variable = roc_env_text("ROCLUA_LIBDIR");
  if (variable) return is_in(variable, "", name, path);
  find_own_folder(folder);
  for (size_t i = 0; folder[0] && i < sizeof below_own / sizeof *below_own; i++) {
    if (is_in(folder, below_own[i], name, path)) return true;
  }
  return false;
}
