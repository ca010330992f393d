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

typedef struct roc_machine {
  const roc_target *target;
  char name[48]; /* as in the options */
  int opt_level;
  uint64_t quirks_off;
  LLVMTargetMachineRef tm;
  struct roc_machine *next; /* while it waits for its next compile */
} roc_machine;

/* The targets that roc_machine_prepare initialises. Called when the compiler is opened; `all` stays
 * in use. */
void roc_machine_set_targets(const roc_target *const *all, unsigned count);

/* Makes LLVM's targets known and sets its options as our code needs them, once; before anything
 * else of LLVM that depends on either.  `quirks_off` of the first call holds for the process. */
void roc_machine_prepare(uint64_t quirks_off);

/* A machine for the options, this thread's until it is given back; NULL with *err filled.
 * INVALID: a quirk that is an option of LLVM is to be on, or off, and the process has it otherwise.
 */
roc_machine *roc_machine_take(const roc_target *target, const roc_cg_options *options,
                              roc_error *err);
void roc_machine_give(roc_machine *machine); /* NULL: nothing */

/* Sets LLVM's global options as our code needs them.  Linking resets all of them, and then sets
 * these again. */
void roc_machine_set_options(void);

#endif
