/* See devlib.h.  The file is read once per process. */
#include "codegen/amdgpu/devlib.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/file.h"
#include "codegen/llvm/bitcode.h"

static const char *const directories[] = {
    "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode",
    "/usr/lib/aarch64-linux-gnu/amdgcn/bitcode",
    "/opt/rocm/amdgcn/bitcode",
};

enum { MAX_BYTES = 256 << 20 };

static const char PREFIX[] = "__ocml_"; /* of all of its functions */

/* Kept for the life of the process. */
static struct {
  unsigned char *bytes;
  size_t nbytes;
} ocml;

/* ocml.bc of one directory, when there is such a file. */
static bool is_in(const char *directory, char *path, size_t size) {
  int len = snprintf(path, size, "%s/ocml.bc", directory);
  return len > 0 && (size_t)len < size && roc_file_is_regular(path);
}

static bool locate(char *path, size_t size) {
  const char *chosen = roc_env_text("ROCLUA_BITCODE_DIR");
  if (chosen) return is_in(chosen, path, size);
  for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
    if (is_in(directories[i], path, size)) return true;
  }
  return false;
}

/* IO: there is none, or none that can be read. */
static roc_status find_library(roc_error *err) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  char path[PATH_MAX];
  roc_status status = ROC_OK;
  pthread_mutex_lock(&lock);
  if (!ocml.bytes) {
    status = locate(path, sizeof path)
                 ? roc_file_read(path, MAX_BYTES, &ocml.bytes, &ocml.nbytes, err)
                 : ROC_IO;
  }
  pthread_mutex_unlock(&lock);
  return status;
}

void roc_devlib_identify(char out[ROC_FILE_IDENTITY_BYTES]) {
  char path[PATH_MAX] = "";
  locate(path, sizeof path);
  roc_file_identity(path, out);
}

void roc_devlib_files(char *out, size_t size) {
  const char *chosen = roc_env_text("ROCLUA_BITCODE_DIR");
  const char *const *tried = chosen ? &chosen : directories;
  size_t ntried = chosen ? 1 : sizeof directories / sizeof *directories;
  char path[PATH_MAX], identity[ROC_FILE_IDENTITY_BYTES];
  for (size_t i = 0, len = strlen(out); i < ntried && len < size; i++, len = strlen(out)) {
    snprintf(path, sizeof path, "%s/ocml.bc", tried[i]);
    roc_file_identity(path, identity);
    snprintf(out + len, size - len, "%s %s\n", identity, path);
    if (roc_file_is_regular(path)) break;
  }
}

/* ocml reads its options from constants, which distributions supply per chip and not for new
 * ones. */
static void settle_constants(roc_cg *cg, uint32_t isa_version) {
  const struct {
    const char *name;
    uint32_t value;
  } constants[] = {
      {"__oclc_unsafe_math_opt", cg->ir->fastmath}, {"__oclc_daz_opt", 0},
      {"__oclc_finite_only_opt", cg->ir->fastmath}, {"__oclc_correctly_rounded_sqrt32", 1},
      {"__oclc_ISA_version", isa_version},
  };
  for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
    LLVMValueRef global = LLVMGetNamedGlobal(cg->mod, constants[i].name);
    if (!global) continue;
    LLVMSetInitializer(global, LLVMConstInt(LLVMGlobalGetValueType(global), constants[i].value, 0));
    LLVMSetGlobalConstant(global, 1);
    LLVMSetLinkage(global, LLVMInternalLinkage);
    LLVMSetVisibility(global, LLVMDefaultVisibility);
  }
}

static roc_status fail_missing(const roc_cg *cg, roc_error *err) {
  const char *chosen = roc_env_text("ROCLUA_BITCODE_DIR");
  if (chosen) {
    return roc_fail(err, ROC_UNAVAILABLE,
                    "kernel '%s' needs AMD's device library: ROCLUA_BITCODE_DIR is '%s', expected "
                    "the directory that holds ocml.bc",
                    cg->ir->name, chosen);
  }
  return roc_fail(
      err, ROC_UNAVAILABLE,
      "kernel '%s' needs AMD's device library: install the package rocm-device-libs, or let "
      "ROCLUA_BITCODE_DIR name the directory that holds ocml.bc",
      cg->ir->name);
}

roc_status roc_devlib_link(roc_cg *cg, uint32_t isa_version, roc_error *err) {
  if (!roc_bitcode_is_needed(cg, PREFIX)) return ROC_OK;
  roc_status status = find_library(err);
  if (status != ROC_OK) return status == ROC_IO ? fail_missing(cg, err) : status;
  ROC_TRY(roc_bitcode_link(cg, "ocml", ocml.bytes, ocml.nbytes, err));
  settle_constants(cg, isa_version);
  roc_bitcode_make_internal(cg, PREFIX);
  return ROC_OK;
}
