/* Target machines: one a compile, kept for the next.
 *
 * Making one costs a fifth of a small compile, and LLVM changes one while it compiles, so each is
 * used by one thread at a time.  All functions: any thread. */
#ifndef ROC_CODEGEN_LLVM_MACHINE_H
#define ROC_CODEGEN_LLVM_MACHINE_H

#include <llvm-c/TargetMachine.h>

#include "base/status.h"
#include "backend/backend.h"
#include "codegen/core/target.h"
#include "codegen/llvm/emission.h"

typedef struct roc_machine {
  const roc_target *target;
  char name[48]; /* as in the options */
  int opt_level;
  uint64_t quirks_off;
  LLVMTargetMachineRef tm;
  roc_emission *emissions[ROC_COUNTERS]; /* of the target's object kind; NULL until one is needed */
  struct roc_machine *next;              /* in the pool, or among those that one thread has taken */
} roc_machine;

/* The targets that roc_machine_prepare initialises. Called when the compiler is opened; `all` stays
 * in use. */
void roc_machine_set_targets(const roc_target *const *all, unsigned count);

/* Makes LLVM's targets known and sets its options as our code needs them, once; before anything
 * else of LLVM that depends on either.  `quirks_off` of the first call holds for the process.
 * OOM. */
roc_status roc_machine_prepare(uint64_t quirks_off, roc_error *err);

/* A machine for the options, this thread's until it gives back all of them; NULL with *err filled.
 * INVALID: a quirk that is an option of LLVM is to be on, or off, and the process has it otherwise.
 */
roc_machine *roc_machine_take(const roc_target *target, const roc_cg_options *options,
                              roc_error *err);

/* The file that the machine makes of an optimised module; NULL: it makes none of that kind. */
LLVMMemoryBufferRef roc_machine_emit(roc_machine *machine, LLVMModuleRef mod,
                                     LLVMCodeGenFileType kind, roc_counters counters);

/* Gives back what this thread has taken.  After the run in which it was used (memory.h): until then,
 * the blocks that LLVM has added to a machine are on the run's list. */
void roc_machine_give_all(void);

/* In place of that, after a run that ended for lack of memory.  The blocks that the run added to a
 * machine are freed, so the machine cannot be used or freed again.  The machines of the pool are
 * freed.  After the fourth lost machine nothing is pooled any more: each run makes its own, which is
 * freed with the run. */
void roc_machine_forget_all(void);

/* Sets LLVM's global options as our code needs them.  Linking resets all of them, and then sets
 * these again. */
void roc_machine_set_options(void);

#endif
