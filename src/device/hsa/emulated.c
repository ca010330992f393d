/* Finding and opening the software GPU; see emulated.h.
 *
 * ROCR asks the linker for "libhsakmt.so.1", and the linker takes a library of that name which is
 * open already, wherever it came from.  A ROCR that has its own libhsakmt built in (ROCm 6.3 and
 * later) asks for "libdtif.so" instead, where it can be told to (ROCm 7 and later). */
#include "device/hsa/emulated.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/library.h"

#define LIBRARY "libhsakmt.so.1"
#define BUILT_IN_LIBRARY "libdtif.so"

static struct {
  size_t (*fault)(char *out, size_t size);
  bool (*understands)(char *why, size_t size);
  bool (*conclude)(char *why, size_t size);
  void (*interrupt)(void);
  unsigned long long (*findings)(void);
  unsigned long long (*executed)(void);
  const char *(*chip)(unsigned index);
} emulator;

static pid_t opened_in; /* 0: not open */

static const char *asked_names(void) {
  return roc_env_text("ROCLUA_EMULATE");
}

bool roc_emulated_is_asked(void) {
  return asked_names() != NULL;
}

bool roc_emulated_is_checked(void) {
  bool is_checked = false;
  roc_env_switch("ROCLUA_EMULATE_CHECK", &is_checked, NULL);
  return roc_emulated_is_asked() && is_checked;
}

/* ---- the library ---------------------------------------------------------- */

/* Visible to all libraries: ROCR is to find its functions here. */
static void *open_library(const char *name) {
  char path[PATH_MAX];
  return roc_library_find(name, path) ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
}

/* Only a ROCR that looks its libhsakmt up cares for it; nothing is wrong when it is not there. */
static void open_built_in(void) {
  if (open_library(BUILT_IN_LIBRARY)) setenv("HSA_ENABLE_DTIF", "1", 0);
}

static roc_status find_functions(void *handle, roc_error *err) {
  const struct {
    const char *name;
    void *out;
  } wanted[] = {
      {"roc_emulator_fault", &emulator.fault},
      {"roc_emulator_understands", &emulator.understands},
      {"roc_emulator_conclude", &emulator.conclude},
      {"roc_emulator_interrupt", &emulator.interrupt},
      {"roc_emulator_findings", &emulator.findings},
      {"roc_emulator_executed", &emulator.executed},
      {"roc_emulator_chip", &emulator.chip},
  };
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    void *address = dlsym(handle, wanted[i].name);
    if (!address) {
      return roc_fail(err, ROC_UNAVAILABLE,
                      "the software GPU, " LIBRARY
                      ", is of another version of roclua (it has "
                      "no function '%s'): install one version only",
                      wanted[i].name);
    }
    memcpy(wanted[i].out, &address, sizeof address);
  }
  return ROC_OK;
}

/* ---- its GPUs ------------------------------------------------------------- */

static bool is_chip(const char *name, size_t length) {
  for (unsigned i = 0; emulator.chip(i); i++) {
    const char *chip = emulator.chip(i);
    if (strlen(chip) == length && strncmp(chip, name, length) == 0) return true;
  }
  return false;
}

static roc_status fail_unknown(const char *name, size_t length, roc_error *err) {
  char known[512] = "";
  for (unsigned i = 0; emulator.chip(i); i++) {
    size_t used = strlen(known);
    snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "", emulator.chip(i));
  }
  return roc_fail(err, ROC_UNAVAILABLE, "no GPU '%.*s' can be emulated: expected one of %s",
                  (int)length, name, known);
}

static roc_status check_names(const char *names, roc_error *err) {
  for (const char *at = names;;) {
    size_t length = strcspn(at, ",");
    if (!is_chip(at, length)) return fail_unknown(at, length, err);
    if (!at[length]) return ROC_OK;
    at += length + 1;
  }
}

static roc_status check_settings(roc_error *err) {
  char why[512];
  if (emulator.understands(why, sizeof why)) return ROC_OK;
  return roc_fail(err, ROC_UNAVAILABLE, "%s", why);
}

roc_status roc_emulated_open(roc_error *err) {
  if (opened_in) return ROC_OK;
  dlerror();
  void *handle = open_library(LIBRARY);
  if (!handle) {
    const char *why = dlerror();
    return roc_fail(err, ROC_UNAVAILABLE,
                    "the software GPU that ROCLUA_EMULATE asks for, " LIBRARY
                    ", cannot be opened: %s (" ROC_LIBRARY_PLACES ")",
                    why ? why : "no such file");
  }
  ROC_TRY(find_functions(handle, err));
  ROC_TRY(check_names(asked_names() ? asked_names() : "gfx90a", err));
  ROC_TRY(check_settings(err));
  open_built_in();
  /* each allocation a block of its own, whose contents are then known to be undefined */
  if (roc_emulated_is_checked()) setenv("HSA_DISABLE_FRAGMENT_ALLOCATOR", "1", 0);
  opened_in = getpid();
  return ROC_OK;
}

size_t roc_emulated_fault_text(char *buf, size_t size) {
  if (!opened_in) return 0;
  return emulator.fault(buf, size);
}

roc_status roc_emulated_conclude(roc_error *err) {
  char why[512];
  if (opened_in != getpid()) return ROC_OK;
  if (!emulator.conclude(why, sizeof why)) return roc_fail(err, ROC_IO, "%s", why);
  unsigned long long count = emulator.findings();
  if (!count) return ROC_OK;
  return roc_fail(err, ROC_INVALID, "%llu fault%s found in kernels, told above", count,
                  count == 1 ? "" : "s");
}

bool roc_emulated_count_executed(uint64_t *out_count) {
  if (opened_in != getpid()) return false;
  *out_count = emulator.executed();
  return true;
}

void roc_emulated_interrupt(void) {
  if (opened_in == getpid()) emulator.interrupt();
}
