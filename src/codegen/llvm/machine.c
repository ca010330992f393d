/* The pool of target machines; see machine.h. */
#include "codegen/llvm/machine.h"

#include <llvm-c/Support.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "codegen/core/quirk_table.h"
#include "codegen/llvm/memory.h"

enum { MOST_IDLE = 16, MOST_LOST = 4 };

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* guards the list and the machines in it */
static roc_machine *idle;      /* the one used last comes first */

static roc_machine *lost; /* never used again */
static unsigned nlost;    /* of them */

static _Thread_local roc_machine *reused, *made; /* those that this thread has */

static const roc_target *const *targets; /* set once, before any compile */
static unsigned ntargets;

void roc_machine_set_targets(const roc_target *const *all, unsigned count) {
  targets = all;
  ntargets = count;
}

static uint64_t options_off; /* the quirks that LLVM's options were set without; written once */

/* Options that are set for a quirk. */
static const struct {
  roc_quirk quirk;
  const char *option;
} quirk_options[] = {
    {ROC_QUIRK_BYPASS_SLOW_DIVISION, "-amdgpu-bypass-slow-div=false"},
    {ROC_QUIRK_MUL24, "-amdgpu-codegenprepare-mul24=false"},
};
enum { QUIRK_OPTIONS = sizeof quirk_options / sizeof *quirk_options };

/* Once set, an option is not set again until it is reset: the second call changes nothing. */
void roc_machine_set_options(void) {
  /* What is left of a row after its vectors is short: a second, narrower vector loop for it costs
   * more time to compile than it saves. */
  const char *options[2 + QUIRK_OPTIONS] = {"roclua", "-enable-epilogue-vectorization=false"};
  int count = 2;
  for (unsigned i = 0; i < QUIRK_OPTIONS; i++) {
    if (!roc_quirk_is_on(options_off, quirk_options[i].quirk)) continue;
    options[count++] = quirk_options[i].option;
  }
  LLVMParseCommandLineOptions(count, options, NULL);
}

/* glibc hands the free end of an arena back to the system, to take it again page by page at the
 * next compile (a tenth of a small one's time), when more is free than twice the largest block that
 * the process ever mapped and freed. So such a block is freed here. */
static void keep_memory(void) {
  enum { LARGEST = 4 << 20 };
  void *volatile block = malloc(LARGEST);
  free(block);
}

/* What LLVM registers is there for good and cannot be done by halves. */
enum { PREPARE_BYTES = 6 << 20 };

static void prepare(void) {
  keep_memory();
  for (unsigned i = 0; i < ntargets; i++) targets[i]->initialise();
  roc_machine_set_options();
}

roc_status roc_machine_prepare(uint64_t quirks_off, roc_error *err) {
  static pthread_mutex_t preparing = PTHREAD_MUTEX_INITIALIZER;
  static bool is_prepared;
  pthread_mutex_lock(&preparing);
  if (!is_prepared && roc_memory_has(PREPARE_BYTES)) {
    options_off = quirks_off & roc_quirk_options();
    prepare();
    is_prepared = true;
  }
  roc_status status =
      is_prepared ? ROC_OK : roc_fail(err, ROC_OOM, "out of memory for starting the compiler");
  pthread_mutex_unlock(&preparing);
  return status;
}

static bool fits(const roc_machine *m, const roc_target *target, const roc_cg_options *options) {
  return m->target == target && m->opt_level == options->opt_level &&
         m->quirks_off == options->quirks_off && strcmp(m->name, options->target) == 0;
}

static roc_machine *take_idle(const roc_target *target, const roc_cg_options *options) {
  pthread_mutex_lock(&lock);
  roc_machine **at = &idle;
  while (*at && !fits(*at, target, options)) at = &(*at)->next;
  roc_machine *found = *at;
  if (found) *at = found->next;
  pthread_mutex_unlock(&lock);
  return found;
}

static roc_machine *push(roc_machine **list, roc_machine *m) {
  m->next = *list;
  *list = m;
  return m;
}

static roc_machine *pop(roc_machine **list) {
  roc_machine *m = *list;
  if (m) *list = m->next;
  return m;
}

roc_machine *roc_machine_take(const roc_target *target, const roc_cg_options *options,
                              roc_error *err) {
  if (roc_machine_prepare(options->quirks_off, err) != ROC_OK) return NULL;
  if ((options->quirks_off & roc_quirk_options()) != options_off) {
    roc_fail(err, ROC_INVALID, "a quirk that is an option of LLVM is turned off too late");
    return NULL;
  }
  if (target->check_options && target->check_options(options, err) != ROC_OK) return NULL;
  roc_machine *m = take_idle(target, options);
  if (m) return push(&reused, m);
  m = roc_zalloc(sizeof *m);
  if (!m) {
    roc_fail(err, ROC_OOM, "out of memory for a compile");
    return NULL;
  }
  m->target = target;
  m->opt_level = options->opt_level;
  m->quirks_off = options->quirks_off;
  snprintf(m->name, sizeof m->name, "%s", options->target);
  m->tm = target->machine(options, err);
  if (m->tm) return push(&made, m);
  roc_free(m);
  return NULL;
}

/* LLVM's printer of PTX does not forget the functions of a module whose shared arrays it prints inside
 * them, so that one at the same address would get them, too. */
static bool forgets_modules(LLVMCodeGenFileType kind) {
  return kind == LLVMObjectFile;
}

LLVMMemoryBufferRef roc_machine_emit(roc_machine *machine, LLVMModuleRef mod,
                                     LLVMCodeGenFileType kind, roc_counters counters) {
  bool is_kept = kind == machine->target->object_kind && forgets_modules(kind);
  roc_emission *own = NULL, **emission = is_kept ? &machine->emissions[counters] : &own;
  if (!*emission) *emission = roc_emission_new(machine->tm, kind, counters);
  LLVMMemoryBufferRef file = *emission ? roc_emission_run(*emission, mod) : NULL;
  if (own) roc_emission_free(own);
  return file;
}

static void dispose(roc_machine *m) {
  for (unsigned c = 0; c < ROC_COUNTERS; c++) {
    if (m->emissions[c]) roc_emission_free(m->emissions[c]);
  }
  LLVMDisposeTargetMachine(m->tm);
  roc_free(m);
}

static void give(roc_machine *machine) {
  pthread_mutex_lock(&lock);
  push(&idle, machine);
  unsigned most = nlost < MOST_LOST ? MOST_IDLE : 0;
  roc_machine **last = &idle;
  for (unsigned n = 0; *last && n < most; n++) last = &(*last)->next;
  roc_machine *surplus = *last; /* the one that waits longest; they come one at a time */
  *last = NULL;
  pthread_mutex_unlock(&lock);
  if (surplus) dispose(surplus);
}

void roc_machine_give_all(void) {
  roc_machine *m;
  while ((m = pop(&reused))) give(m);
  while ((m = pop(&made))) give(m);
}

void roc_machine_forget_all(void) {
  roc_machine *m;
  pthread_mutex_lock(&lock);
  while ((m = pop(&reused))) {
    push(&lost, m);
    nlost++;
  }
  made = NULL;
  roc_machine *list = idle;
  idle = NULL;
  pthread_mutex_unlock(&lock);
  while ((m = pop(&list))) dispose(m);
}
