/* Opening ROCR and explaining its absence; see dyn.h. */
#include "device/hsa/dyn.h"

#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/hsa/emulated.h"

#define KFD "/dev/kfd"
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

/* ---- the kernel's side --------------------------------------------------- */

static roc_status fail_without_kfd(roc_error *err) {
  if (access("/sys/module/amdgpu", F_OK) != 0) {
    return roc_fail(err, ROC_UNAVAILABLE,
                    "there is no " KFD
                    ": this machine has no AMD GPU, or the kernel module "
                    "'amdgpu' is not loaded (modprobe amdgpu)");
  }
  return roc_fail(err, ROC_UNAVAILABLE,
                  "there is no " KFD
                  " although the kernel module 'amdgpu' is loaded: its compute "
                  "part (CONFIG_HSA_AMD) is missing, or this is a container that was not given it "
                  "(--device=/dev/kfd --device=/dev/dri)");
}

static roc_status fail_kfd_permission(roc_error *err) {
  const char *group = "render";
  struct stat info;
  struct group *entry = stat(KFD, &info) == 0 ? getgrgid(info.st_gid) : NULL;
  if (entry) group = entry->gr_name;
  return roc_fail(err, ROC_UNAVAILABLE,
                  "no permission to read and write " KFD
                  ": add this user to the group '%s' "
                  "(usermod -aG %s <user>) and log in again",
                  group, group);
}

static roc_status check_kfd(roc_error *err) {
  if (access(KFD, R_OK | W_OK) == 0) return ROC_OK;
  if (errno == ENOENT) return fail_without_kfd(err);
  if (errno == EACCES || errno == EPERM) return fail_kfd_permission(err);
  return roc_fail(err, ROC_UNAVAILABLE, KFD " cannot be used: %s", strerror(errno));
}

/* ---- the library --------------------------------------------------------- */

static void *open_library(void) {
  static const char *const names[] = {LIBRARY, "/opt/rocm/lib/" LIBRARY};
  const char *given = getenv("ROCLUA_HSA_LIBRARY");
  if (given && *given) return dlopen(given, RTLD_NOW | RTLD_LOCAL);
  void *handle = NULL;
  for (size_t i = 0; !handle && i < sizeof names / sizeof *names; i++) {
    handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  }
  return handle;
}

static roc_status fail_open(roc_error *err) {
  const char *why = dlerror();
  return roc_fail(
      err, ROC_UNAVAILABLE,
      "AMD's runtime ROCR cannot be opened: %s (looked for $ROCLUA_HSA_LIBRARY, or else "
      "for " LIBRARY
      " where the linker looks and in /opt/rocm/lib; install Debian's "
      "libhsa-runtime64-1, or ROCm's hsa-rocr)",
      why ? why : "no such file");
}

static roc_status find_symbols(void *handle, roc_error *err) {
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    void *address = dlsym(handle, symbols[i].name);
    if (!address) {
      return roc_fail(err, ROC_UNAVAILABLE,
                      LIBRARY " has no function '%s': it is older than ROCm 5.0", symbols[i].name);
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
    ROC_TRY(check_kfd(err));
  }
  void *handle = open_library();
  if (!handle) return fail_open(err);
  ROC_TRY(find_symbols(handle, err)); /* kept open: ROCR's threads never end for good */
  is_loaded = true;
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

roc_status roc_hsa_fail_init(hsa_status_t status, roc_error *err) {
  roc_fail(
      err, ROC_UNAVAILABLE,
      "AMD's runtime ROCR does not start: %s (HSA status 0x%x); see that this user may use " KFD
      " and /dev/dri/renderD*, that ROCR is not older than the kernel's amdgpu wants, and "
      "what dmesg says of amdgpu",
      roc_hsa_status_text(status), (unsigned)status);
  if (err) err->native = (int)status;
  return ROC_UNAVAILABLE;
}
