/* See targets.h. */
#include "codegen/targets.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "codegen/llvm/machine.h"

static const roc_target *const targets[] = {
#define ROC_TARGET(family, llvm) &roc_target_##family,
#include "base/targets.def"
#undef ROC_TARGET
};
enum { NTARGETS = sizeof targets / sizeof *targets };

void roc_targets_register(void) {
  roc_machine_set_targets(targets, NTARGETS);
}

const roc_target *roc_target_find(const char *name) {
  for (unsigned i = 0; i < NTARGETS; i++) {
    if (targets[i]->accepts(name)) return targets[i];
  }
  return NULL;
}

static char complaint[1024];

__attribute__((format(printf, 1, 2))) static void add_to_complaint(const char *format, ...) {
  size_t len = strlen(complaint);
  va_list args;
  va_start(args, format);
  vsnprintf(complaint + len, sizeof complaint - len, format, args);
  va_end(args);
}

static void write_complaint(void) {
  add_to_complaint("no such compile target; there are");
  for (unsigned i = 0; i < NTARGETS; i++) {
    const roc_target_facts *facts = targets[i]->facts;
    const char *name;
    for (unsigned n = 0; (name = facts->name_at(n)); n++) {
      add_to_complaint("%s %s", i + n ? "," : "", name);
    }
    add_to_complaint(" (%s)", facts->name_note);
  }
}

const char *roc_target_check(const char *name) {
  if (roc_target_find(name)) return "";
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, write_complaint);
  return complaint;
}
