/* Makes CPU code objects callable: one ORC LLJIT for the process, one resource tracker per loaded
 * object.
 *
 * The JIT links against libm, libmvec, libc and the half-precision conversions below, never against
 * the symbols of the host process, so that a kernel does not depend on what a program happens to
 * export.  The entry symbol of an object holds a field of digits; loading writes a fresh number
 * into it, since a JIT's symbols are unique. */
#include "codegen/cpu/jit.h"

#include <errno.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "codegen/cpu/cpu.h"
#include "codegen/llvm/machine.h"
#include "codegen/llvm/memory.h"
#include "codegen/llvm/processor.h"

static LLVMOrcLLJITRef jit; /* set once */

/* What the JIT takes to open and to load an object: by measurement, and as much again.  It is shared,
 * so that what it does is done whole. */
enum { LOAD_BYTES = 1 << 20, LOAD_BYTES_PER_BYTE = 8 };

/* ---- conversions that a CPU without the instruction calls for ------------------------------ */

static _Float16 half_of_double(double d) {
  uint16_t bits = roc_f16_from_f64(d);
  _Float16 half;
  memcpy(&half, &bits, sizeof half);
  return half;
}
static _Float16 half_of_float(float f) {
  return half_of_double((double)f);
}
static float float_of_half(_Float16 half) {
  uint16_t bits;
  memcpy(&bits, &half, sizeof bits);
  return roc_f32_from_f16(bits);
}

typedef void (*any_function)(void);
static const struct {
  const char *name;
  any_function fn;
} helpers[] = {
    {"__truncdfhf2", (any_function)half_of_double},
    {"__truncsfhf2", (any_function)half_of_float},
    {"__extendhfsf2", (any_function)float_of_half},
};
enum { NHELPERS = sizeof helpers / sizeof *helpers };

/* ---- the JIT ----------------------------------------------------------------------------- */

/* OK when `error` is none; else it is freed, and its text follows `what`. */
static roc_status check(LLVMErrorRef error, const char *what, roc_status status, roc_error *err) {
  if (!error) return ROC_OK;
  char *message = LLVMGetErrorMessage(error);
  if (strstr(message, strerror(ENOMEM))) status = ROC_OOM;
  roc_fail(err, status, "%s: %s", what, message);
  LLVMDisposeErrorMessage(message);
  return status;
}

static roc_status check_opening(LLVMErrorRef error, roc_error *err) {
  return check(error, "LLVM's JIT does not start", ROC_UNAVAILABLE, err);
}

static roc_status add_library(LLVMOrcLLJITRef made, const char *path, roc_error *err) {
  LLVMOrcDefinitionGeneratorRef generator;
  char prefix = LLVMOrcLLJITGetGlobalPrefix(made);
  ROC_TRY(check_opening(
      LLVMOrcCreateDynamicLibrarySearchGeneratorForPath(&generator, path, prefix, NULL, NULL),
      err));
  LLVMOrcJITDylibAddGenerator(LLVMOrcLLJITGetMainJITDylib(made), generator);
  return ROC_OK;
}

static roc_status add_helpers(LLVMOrcLLJITRef made, roc_error *err) {
  LLVMOrcCSymbolMapPair pairs[NHELPERS];
  for (unsigned i = 0; i < NHELPERS; i++) {
    pairs[i].Name = LLVMOrcLLJITMangleAndIntern(made, helpers[i].name);
    pairs[i].Sym.Address = (LLVMOrcExecutorAddress)(uintptr_t)helpers[i].fn;
    pairs[i].Sym.Flags = (LLVMJITSymbolFlags){LLVMJITSymbolGenericFlagsExported, 0};
  }
  return check_opening(LLVMOrcJITDylibDefine(LLVMOrcLLJITGetMainJITDylib(made),
                                             LLVMOrcAbsoluteSymbols(pairs, NHELPERS)),
                       err);
}

/* libmvec is missing on machines that have no vector math; kernels are compiled for what is there,
 * so its absence shows only when one is loaded that was compiled elsewhere. */
static roc_status add_symbols(LLVMOrcLLJITRef made, roc_error *err) {
  ROC_TRY(add_helpers(made, err));
  ROC_TRY(add_library(made, "libm.so.6", err));
  ROC_TRY(add_library(made, "libc.so.6", err));
  add_library(made, "libmvec.so.1", NULL);
  return ROC_OK;
}

static roc_status open_jit(roc_error *err) {
  LLVMOrcLLJITRef made;
  ROC_TRY(roc_machine_prepare(0, err));
  ROC_TRY(check_opening(LLVMOrcCreateLLJIT(&made, NULL), err));
  roc_status status = add_symbols(made, err);
  if (status == ROC_OK) {
    jit = made;
  } else {
    LLVMConsumeError(LLVMOrcDisposeLLJIT(made));
  }
  return status;
}

/* One that fails is tried again by the next load. */
static roc_status ensure_jit(roc_error *err) {
  static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&opening);
  roc_status status = jit ? ROC_OK : open_jit(err);
  pthread_mutex_unlock(&opening);
  return status;
}

/* ---- loading ----------------------------------------------------------------------------- */

/* Writes a fresh number into the field of every occurrence of the entry's name; stores the new
 * name. */
static void number_entry(char *bytes, size_t nbytes, const char *entry, char *name, size_t size) {
  static _Atomic uint64_t serial;
  size_t len = strlen(entry);
  snprintf(name, size, ROC_CPU_ENTRY_PREFIX "%016llx", (unsigned long long)++serial);
  for (char *at = bytes; (at = memmem(at, nbytes - (size_t)(at - bytes), entry, len)); at += len) {
    memcpy(at, name, len);
  }
}

static roc_status check_loading(const roc_codeobj *object, LLVMErrorRef error, roc_error *err) {
  char what[128];
  snprintf(what, sizeof what, "cannot load the code of '%s'", object->entry);
  return check(error, what, ROC_COMPILE, err);
}

static roc_status add_object(const roc_codeobj *object, LLVMOrcResourceTrackerRef tracker,
                             char *name, size_t size, roc_error *err) {
  char *bytes = roc_alloc(object->nbytes);
  if (!bytes) return roc_fail(err, ROC_OOM, "out of memory while loading '%s'", object->entry);
  memcpy(bytes, object->bytes, object->nbytes);
  number_entry(bytes, object->nbytes, object->entry, name, size);
  LLVMMemoryBufferRef buffer =
      LLVMCreateMemoryBufferWithMemoryRangeCopy(bytes, object->nbytes, name);
  roc_free(bytes);
  return check_loading(object, LLVMOrcLLJITAddObjectFileWithRT(jit, tracker, buffer), err);
}

/* Code for a named processor uses what that one has. */
static roc_status check_processor(const roc_codeobj *object, roc_error *err) {
  const char *colon = strchr(object->target, ':');
  char missing[256] = "";
  if (colon) roc_processor_missing(colon + 1, missing, sizeof missing);
  if (!*missing) return ROC_OK;
  return roc_fail(err, ROC_UNSUPPORTED, "code for '%s' uses what this processor lacks: %s",
                  object->target, missing);
}

roc_status roc_jit_load(const roc_codeobj *object, roc_cpu_entry *out_entry, void **out_handle,
                        roc_error *err) {
  if (!roc_memory_has(LOAD_BYTES + object->nbytes * LOAD_BYTES_PER_BYTE)) {
    return roc_fail(err, ROC_OOM, "out of memory while loading '%s'", object->entry);
  }
  ROC_TRY(ensure_jit(err));
  ROC_TRY(check_processor(object, err));
  if (strlen(object->entry) != strlen(ROC_CPU_ENTRY_FIELD)) {
    return roc_fail(err, ROC_INVALID, "'%s' is not the entry of a CPU code object", object->entry);
  }
  char name[64];
  LLVMOrcJITDylibRef dylib = LLVMOrcLLJITGetMainJITDylib(jit);
  LLVMOrcResourceTrackerRef tracker = LLVMOrcJITDylibCreateResourceTracker(dylib);
  roc_status status = add_object(object, tracker, name, sizeof name, err);
  LLVMOrcExecutorAddress address = 0;
  if (!status) status = check_loading(object, LLVMOrcLLJITLookup(jit, &address, name), err);
  if (status) {
    roc_jit_unload(tracker);
    return status;
  }
  *out_entry = (roc_cpu_entry)(uintptr_t)address;
  *out_handle = tracker;
  return ROC_OK;
}

void roc_jit_unload(void *handle) {
  LLVMOrcResourceTrackerRef tracker = handle;
  LLVMErrorRef error = LLVMOrcResourceTrackerRemove(tracker);
  if (error) LLVMConsumeError(error);
  LLVMOrcReleaseResourceTracker(tracker);
}
