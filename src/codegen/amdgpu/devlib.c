/* See devlib.h.  The file is read once per process and parsed lazily per kernel: its functions are
 * linkonce_odr, so that linking brings the called ones alone. */
#include "codegen/amdgpu/devlib.h"

#include <limits.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Linker.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/file.h"

static const char *const directories[] = {
    "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode",
    "/usr/lib/aarch64-linux-gnu/amdgcn/bitcode",
    "/opt/rocm/amdgcn/bitcode",
};

enum { MAX_BYTES = 256 << 20 };

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

static bool is_ocml(LLVMValueRef fn) {
  size_t len;
  return !strncmp(LLVMGetValueName2(fn, &len), "__ocml_", 7);
}

static bool needs_library(roc_cg *cg) {
  for (LLVMValueRef fn = LLVMGetFirstFunction(cg->mod); fn; fn = LLVMGetNextFunction(fn)) {
    if (is_ocml(fn) && LLVMIsDeclaration(fn)) return true;
  }
  return false;
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

static void make_internal(roc_cg *cg) {
  unsigned always = LLVMGetEnumAttributeKindForName("alwaysinline", 12);
  unsigned never = LLVMGetEnumAttributeKindForName("noinline", 8);
  for (LLVMValueRef fn = LLVMGetFirstFunction(cg->mod); fn; fn = LLVMGetNextFunction(fn)) {
    if (!is_ocml(fn) || LLVMIsDeclaration(fn)) continue;
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    LLVMSetVisibility(fn, LLVMDefaultVisibility);
    LLVMRemoveEnumAttributeAtIndex(fn, LLVMAttributeFunctionIndex, never);
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(cg->ctx, always, 0));
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
  if (!needs_library(cg)) return ROC_OK;
  roc_status status = find_library(err);
  if (status != ROC_OK) return status == ROC_IO ? fail_missing(cg, err) : status;
  LLVMMemoryBufferRef buffer =
      LLVMCreateMemoryBufferWithMemoryRange((const char *)ocml.bytes, ocml.nbytes, "ocml", 0);
  LLVMModuleRef library;
  if (LLVMGetBitcodeModuleInContext2(cg->ctx, buffer, &library)) {
    LLVMDisposeMemoryBuffer(buffer);
    return roc_fail(err, ROC_UNAVAILABLE, "ocml.bc is no bitcode that this LLVM reads");
  }
  LLVMSetDataLayout(library, LLVMGetDataLayoutStr(cg->mod));
  LLVMSetTarget(library, LLVMGetTarget(cg->mod));
  if (LLVMLinkModules2(cg->mod, library)) {
    return roc_fail(err, ROC_COMPILE, "kernel '%s': linking ocml failed: %s", cg->ir->name,
                    roc_str_text(&cg->diagnostics));
  }
  settle_constants(cg, isa_version);
  make_internal(cg);
  return ROC_OK;
}
