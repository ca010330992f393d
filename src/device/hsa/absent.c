/* Explaining the absence of a GPU; see absent.h. */
#include "device/hsa/absent.h"

#include <errno.h>
#include <glob.h>
#include <grp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KFD "/dev/kfd"
#define RENDER_NODES "/dev/dri/renderD*"

static bool is_there(const char *root, const char *path) {
  char whole[PATH_MAX];
  int length = snprintf(whole, sizeof whole, "%s%s", root, path);
  return length > 0 && length < (int)sizeof whole && access(whole, F_OK) == 0;
}

/* ---- permissions --------------------------------------------------------- */

/* `path` is what is at `file`, as messages name it. */
static roc_status fail_permission(const char *path, const struct stat *info, roc_error *err) {
  bool is_shared = (info->st_mode & S_IRGRP) && (info->st_mode & S_IWGRP) && info->st_gid != 0;
  if (!is_shared) {
    return roc_fail(err, ROC_UNAVAILABLE,
                    "no permission to read and write %s, which is for root alone: have udev give "
                    "it to the group 'render' (a rule KERNEL==\"%s\", GROUP=\"render\", "
                    "MODE=\"0660\"), add this user to that group and log in again",
                    path, strrchr(path, '/') + 1);
  }
  struct group *entry = getgrgid(info->st_gid);
  if (!entry) {
    return roc_fail(err, ROC_UNAVAILABLE,
                    "no permission to read and write %s: it is for the group with the number %u, "
                    "which has no name here; add this user to it (for a container: --group-add %u)",
                    path, (unsigned)info->st_gid, (unsigned)info->st_gid);
  }
  return roc_fail(err, ROC_UNAVAILABLE,
                  "no permission to read and write %s: add this user to the group '%s' "
                  "(usermod -aG %s <user>) and log in again",
                  path, entry->gr_name, entry->gr_name);
}

static roc_status check_usable(const char *root, const char *path, roc_error *err) {
  char whole[PATH_MAX];
  struct stat info;
  int length = snprintf(whole, sizeof whole, "%s%s", root, path);
  if (length < 0 || length >= (int)sizeof whole) errno = ENAMETOOLONG;
  if (length < (int)sizeof whole && access(whole, R_OK | W_OK) == 0) return ROC_OK;
  int why = errno;
  if ((why == EACCES || why == EPERM) && stat(whole, &info) == 0) {
    return fail_permission(path, &info, err);
  }
  return roc_fail(err, ROC_UNAVAILABLE, "%s cannot be used: %s", path, strerror(why));
}

/* ---- the kernel's side --------------------------------------------------- */

static roc_status fail_without_kfd(const char *root, roc_error *err) {
  if (!is_there(root, "/sys/module/amdgpu")) {
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

roc_status roc_hsa_check_kfd(const char *root, roc_error *err) {
  return is_there(root, KFD) ? check_usable(root, KFD, err) : fail_without_kfd(root, err);
}

roc_status roc_hsa_check_render_nodes(const char *root, roc_error *err) {
  char pattern[PATH_MAX];
  glob_t found;
  snprintf(pattern, sizeof pattern, "%s" RENDER_NODES, root);
  if (glob(pattern, 0, NULL, &found) != 0 || found.gl_pathc == 0) {
    return roc_fail(err, ROC_UNAVAILABLE,
                    "there is " KFD " but no " RENDER_NODES
                    ": the GPU's driver has not started (see what dmesg says of amdgpu), or this "
                    "is a container that was not given them (--device=/dev/dri)");
  }
  roc_status status = ROC_UNAVAILABLE;
  for (size_t i = 0; i < found.gl_pathc && status != ROC_OK; i++) {
    status = check_usable(root, found.gl_pathv[i] + strlen(root), err);
  }
  globfree(&found);
  return status;
}

roc_status roc_hsa_fail_no_gpu(uint32_t passed_over, const char *refused, roc_error *err) {
  if (passed_over == 0) {
    return roc_fail(err, ROC_UNAVAILABLE,
                    "ROCR knows of no GPU: it may be too old for this one, or an environment "
                    "variable (ROCR_VISIBLE_DEVICES) hides it; rocminfo shows what it sees");
  }
  return roc_fail(err, ROC_UNAVAILABLE,
                  "roclua does not compile for the GPU%s that ROCR finds: %s; `rocluac "
                  "--list-targets` lists the known ones",
                  passed_over == 1 ? "" : "s", refused);
}
