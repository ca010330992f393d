/* Explaining the absence of a GPU; see absent.h. */
#include "device/cuda/absent.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define CONTROL "/dev/nvidiactl"
#define PARAVIRTUAL "/dev/dxg" /* of Windows' Linux, whose libcuda has no other */

static bool is_there(const char *root, const char *path, int mode) {
  char whole[PATH_MAX];
  int length = snprintf(whole, sizeof whole, "%s%s", root, path);
  return length > 0 && length < (int)sizeof whole && access(whole, mode) == 0;
}

roc_status roc_cuda_check_nodes(const char *root, roc_error *err) {
  if (is_there(root, CONTROL, R_OK | W_OK) || is_there(root, PARAVIRTUAL, F_OK)) return ROC_OK;
  if (is_there(root, CONTROL, F_OK)) {
    return roc_fail(err, ROC_UNAVAILABLE,
                    "no permission to read and write " CONTROL
                    ": add this user to the group that it belongs to (ls -l /dev/nvidia*), and log "
                    "in again");
  }
  if (is_there(root, "/proc/driver/nvidia/version", F_OK)) {
    return roc_fail(err, ROC_UNAVAILABLE,
                    "there is no " CONTROL
                    " although the kernel module 'nvidia' is loaded: make the device files "
                    "(nvidia-modprobe), or give them to the container (--gpus all)");
  }
  return roc_fail(err, ROC_UNAVAILABLE,
                  "there is no " CONTROL
                  ": this machine has no NVIDIA GPU, or the kernel module 'nvidia' is not loaded "
                  "(modprobe nvidia)");
}
