/* The pool of target machines; see machine.h. */
#include "codegen/llvm/machine.h"

#include <llvm-c/Support.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { MOST_IDLE = 16 };

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* guards the list and the machines in it */
static roc_machine *idle;      /* the one used last comes first */

static const roc_target *const *targets; /* set once, before any compile */
static unsigned ntargets;

void roc_machine_set_targets(const roc_target *const *all, unsigned count) {
  targets = all;
  ntargets = count;
}

/* Once set, an option is not set again until it is reset: the second call changes nothing. */
void roc_machine_set_options(void) {
  /* What is left of a row behind its vectors is short: a second, narrower vector loop for it costs
   * more time to compile than it saves. */
  static const char *const options[] = {
      "roclua", "-enable-epilogue-vectorization=false",
      /* Choosing a division of 32 bits at run time for one of 64: LLVM 22 then loses the high half
       * of a numerator (-10 ~ x), and takes the low half of 4294967295 for -1. */
      "-amdgpu-bypass-slow-div=false",
      /* Products of 24 bits: where one is added to a number of 64 bits, LLVM 22 forgets to cut its
       * factors (llvm-project pull request 198729). */
      "-amdgpu-codegenprepare-mul24=false"};
  LLVMParseCommandLineOptions(sizeof options / sizeof *options, options, NULL);
}

/* glibc hands the free end of an arena back to the system, to take it again page by page at the
 * next compile (a tenth of a small one's time), when more is free than twice the largest block that
 * the process ever mapped and freed. So such a block is freed here. */
static void keep_memory(void) {
  enum { LARGEST = 4 << 20 };
  void *volatile block = malloc(LARGEST);
  free(block);
}

static void prepare(void) {
  keep_memory();
  for (unsigned i = 0; i < ntargets; i++) targets[i]->initialise();
  roc_machine_set_options();
}

void roc_machine_prepare(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, prepare);
}

static bool fits(const roc_machine *m, const roc_target *target, const roc_cg_options *options) {
  return m->target == target && m->opt_level == options->opt_level &&
         strcmp(m->name, options->target) == 0;
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

roc_machine *roc_machine_take(const roc_target *target, const roc_cg_options *options,
                              roc_error *err) {
  roc_machine_prepare();
  if (target->check_options && target->check_options(options, err) != ROC_OK) return NULL;
  roc_machine *m = take_idle(target, options);
  if (m) return m;
  m = roc_zalloc(sizeof *m);
  if (!m) {
    roc_fail(err, ROC_OOM, "out of memory for a compile");
    return NULL;
  }
  m->target = target;
  m->opt_level = options->opt_level;
  snprintf(m->name, sizeof m->name, "%s", options->target);
  m->tm = target->machine(options, err);
  if (m->tm) return m;
  roc_free(m);
  return NULL;
}

static void dispose(roc_machine *m) {
  LLVMDisposeTargetMachine(m->tm);
  roc_free(m);
}

void roc_machine_give(roc_machine *machine) {
  if (!machine) return;
  pthread_mutex_lock(&lock);
  machine->next = idle;
  idle = machine;
  roc_machine **last = &idle;
  for (unsigned n = 0; *last && n < MOST_IDLE; n++) last = &(*last)->next;
  roc_machine *surplus = *last; /* the one that waits longest; they come one at a time */
  *last = NULL;
  pthread_mutex_unlock(&lock);
  if (surplus) dispose(surplus);
}
