/* Makes CPU code objects callable: one ORC LLJIT for the process, one resource tracker per loaded
 * object.
 *
 * The JIT links against libm, libmvec, libc and the half-precision conversions below, never against
 * the symbols of the host process, so that a kernel does not depend on what a program happens to
 * export.  The entry symbol of an object holds a field of digits; loading writes a fresh number
 * into it, since a JIT's symbols are unique. */
#include "codegen/cpu/jit.h"

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

static pthread_once_t jit_once = PTHREAD_ONCE_INIT;
static LLVMOrcLLJITRef jit;
static char jit_error[512];

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

/* True when `error` is none; else its text is kept (the first one) and it is freed. */
static bool succeeded(LLVMErrorRef error) {
  if (!error) return true;
  char *message = LLVMGetErrorMessage(error);
  if (!*jit_error) snprintf(jit_error, sizeof jit_error, "%s", message);
  LLVMDisposeErrorMessage(message);
  return false;
}

static bool add_library(LLVMOrcJITDylibRef dylib, const char *path) {
  LLVMOrcDefinitionGeneratorRef generator;
  char prefix = LLVMOrcLLJITGetGlobalPrefix(jit);
  if (!succeeded(LLVMOrcCreateDynamicLibrarySearchGeneratorForPath(&generator, path, prefix, NULL,
                                                                   NULL))) {
    return false;
  }
  LLVMOrcJITDylibAddGenerator(dylib, generator);
  return true;
}

static bool add_helpers(LLVMOrcJITDylibRef dylib) {
  LLVMOrcCSymbolMapPair pairs[NHELPERS];
  for (unsigned i = 0; i < NHELPERS; i++) {
    pairs[i].Name = LLVMOrcLLJITMangleAndIntern(jit, helpers[i].name);
    pairs[i].Sym.Address = (LLVMOrcExecutorAddress)(uintptr_t)helpers[i].fn;
    pairs[i].Sym.Flags = (LLVMJITSymbolFlags){LLVMJITSymbolGenericFlagsExported, 0};
  }
  return succeeded(LLVMOrcJITDylibDefine(dylib, LLVMOrcAbsoluteSymbols(pairs, NHELPERS)));
}

/* libmvec is missing on machines that have no vector math; kernels are compiled for what is there,
 * so its absence shows only when one is loaded that was compiled elsewhere. */
static void open_jit(void) {
  roc_machine_prepare(0);
  if (!succeeded(LLVMOrcCreateLLJIT(&jit, NULL))) return;
  LLVMOrcJITDylibRef dylib = LLVMOrcLLJITGetMainJITDylib(jit);
  bool ok =
      add_helpers(dylib) && add_library(dylib, "libm.so.6") && add_library(dylib, "libc.so.6");
  if (ok) {
    add_library(dylib, "libmvec.so.1");
    return;
  }
  LLVMErrorRef error = LLVMOrcDisposeLLJIT(jit);
  jit = NULL;
  succeeded(error);
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

static roc_status load_failed(const roc_codeobj *object, LLVMErrorRef error, roc_error *err) {
  char *message = LLVMGetErrorMessage(error);
  roc_fail(err, ROC_COMPILE, "cannot load the code of '%s': %s", object->entry, message);
  LLVMDisposeErrorMessage(message);
  return ROC_COMPILE;
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
  LLVMErrorRef error = LLVMOrcLLJITAddObjectFileWithRT(jit, tracker, buffer);
  return error ? load_failed(object, error, err) : ROC_OK;
}

roc_status roc_jit_load(const roc_codeobj *object, roc_cpu_entry *out_entry, void **out_handle,
                        roc_error *err) {
  pthread_once(&jit_once, open_jit);
  if (!jit) return roc_fail(err, ROC_UNAVAILABLE, "LLVM's JIT does not start: %s", jit_error);
  if (strlen(object->entry) != strlen(ROC_CPU_ENTRY_FIELD)) {
    return roc_fail(err, ROC_INVALID, "'%s' is not the entry of a CPU code object", object->entry);
  }
  char name[64];
  LLVMOrcJITDylibRef dylib = LLVMOrcLLJITGetMainJITDylib(jit);
  LLVMOrcResourceTrackerRef tracker = LLVMOrcJITDylibCreateResourceTracker(dylib);
  roc_status status = add_object(object, tracker, name, sizeof name, err);
  LLVMOrcExecutorAddress address = 0;
  if (!status) {
    LLVMErrorRef error = LLVMOrcLLJITLookup(jit, &address, name);
    if (error) status = load_failed(object, error, err);
  }
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
