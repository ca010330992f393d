/* Opening ROCR and explaining its absence; see dyn.h. */
#include "device/hsa/dyn.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/library.h"
#include "device/hsa/absent.h"
#include "device/hsa/emulated.h"

#define LIBRARY "libhsa-runtime64.so.1"

roc_hsa_api roc_hsa;

static const struct {
  const char *name;
  size_t offset;
} symbols[] = {
#define ROC_HSA_SYMBOL(name) {#name, offsetof(roc_hsa_api, name)},
#include "device/hsa/hsa_api.def"
#undef ROC_HSA_SYMBOL
};

/* ---- the library --------------------------------------------------------- */

/* The linker would wait for the writer of a pipe. */
static void *try_library(const char *path, char *why, size_t size) {
  if (strchr(path, '/') && access(path, F_OK) == 0 && !roc_file_is_regular(path)) {
    snprintf(why, size, "'%s' is not a regular file", path);
    return NULL;
  }
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const char *said = handle ? NULL : dlerror();
  if (!handle) snprintf(why, size, "%s", said ? said : "no such file");
  return handle;
}

static void *try_folder(const char *folder, const char *below, char *why, size_t size) {
  char path[PATH_MAX];
  int length = snprintf(path, sizeof path, "%s%s/" LIBRARY, folder, below);
  if (length < 0 || length >= (int)sizeof path || !roc_file_is_regular(path)) return NULL;
  return try_library(path, why, size);
}

/* `why`: of the file that is there and cannot be opened, else what the linker says of the name. */
static void *open_library(char *why, size_t size) {
  const char *given = getenv("ROCLUA_HSA_LIBRARY"), *rocm = getenv("ROCM_PATH");
  if (given && *given) return try_library(given, why, size);
  void *handle = rocm && *rocm ? try_folder(rocm, "/lib", why, size) : NULL;
  if (!handle) handle = try_library(LIBRARY, why, size);
  return handle ? handle : try_folder("/opt/rocm/lib", "", why, size);
}

static roc_status fail_open(const char *why, roc_error *err) {
  return roc_fail(
      err, ROC_UNAVAILABLE,
      "AMD's runtime ROCR cannot be opened: %s (looked for $ROCLUA_HSA_LIBRARY, or else "
      "for " LIBRARY
      " in $ROCM_PATH/lib, where the linker looks, and in /opt/rocm/lib; install Debian's "
      "libhsa-runtime64-1, or ROCm's hsa-rocr)",
      why);
}

static roc_status find_symbols(void *handle, roc_error *err) {
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    void *address = dlsym(handle, symbols[i].name);
    if (!address) {
      return roc_fail(err, ROC_UNAVAILABLE,
                      LIBRARY
                      " has no function '%s': it is older than ROCm 5.0, or not AMD's runtime",
                      symbols[i].name);
    }
    memcpy((char *)&roc_hsa + symbols[i].offset, &address, sizeof address);
  }
  return ROC_OK;
}

roc_status roc_hsa_load(roc_error *err) {
  static bool is_loaded;
  if (is_loaded) return ROC_OK;
  if (roc_emulated_is_asked()) {
    ROC_TRY(roc_emulated_open(err));
  } else {
    ROC_TRY(roc_hsa_check_kfd("", err));
  }
  char why[512] = "";
  void *handle = open_library(why, sizeof why);
  if (!handle) return fail_open(why, err);
  ROC_TRY(find_symbols(handle, err)); /* kept open: ROCR's threads never end for good */
  is_loaded = true;
  return ROC_OK;
}

roc_status roc_hsa_describe(char *text, size_t size, roc_error *err) {
  char path[PATH_MAX];
  ROC_TRY(roc_hsa_load(err));
  bool is_known = roc_library_path_of((const void *)(uintptr_t)roc_hsa.hsa_init, path);
  snprintf(text, size, "ROCR %s", is_known ? path : LIBRARY);
  return ROC_OK;
}

/* ---- its errors ---------------------------------------------------------- */

const char *roc_hsa_status_text(hsa_status_t status) {
  const char *text = NULL;
  if (roc_hsa.hsa_status_string(status, &text) != HSA_STATUS_SUCCESS || !text) {
    return "an error that ROCR has no text for";
  }
  return text;
}

roc_status roc_hsa_fail(roc_error *err, hsa_status_t status, const char *what) {
  bool is_oom = status == HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  roc_fail(err, is_oom ? ROC_OOM : ROC_INTERNAL, "%s: %s (HSA status 0x%x)", what,
           roc_hsa_status_text(status), (unsigned)status);
  if (err) err->native = (int)status;
  return is_oom ? ROC_OOM : ROC_INTERNAL;
}

static const char gpu_advice[] =
    "see that this process may open /dev/kfd (a container's rules may forbid it), that ROCR is not "
    "older than the kernel's amdgpu wants, and what dmesg says of amdgpu";
static const char emulated_advice[] =
    "see that this ROCR takes a software GPU: one of ROCm 6 that has its driver's library built in "
    "does not, and one of ROCm 7 does unless HSA_ENABLE_DTIF=0";

roc_status roc_hsa_fail_init(hsa_status_t status, roc_error *err) {
  bool is_emulated = roc_emulated_is_asked();
  if (!is_emulated) ROC_TRY(roc_hsa_check_render_nodes("", err));
  roc_fail(err, ROC_UNAVAILABLE, "AMD's runtime ROCR does not start: %s (HSA status 0x%x); %s",
           roc_hsa_status_text(status), (unsigned)status,
           is_emulated ? emulated_advice : gpu_advice);
  if (err) err->native = (int)status;
  return ROC_UNAVAILABLE;
}
