/* Failures that tests ask for; see include/emulator.h. */
#include "emulator/thunk/thunk.h"

static _Atomic unsigned planned[ROC_EMULATOR_FAILURES];

ROC_EMULATOR_API void roc_emulator_inject(roc_emulator_failure failure, unsigned count) {
  atomic_store(&planned[failure], count);
}

bool emu_fails(roc_emulator_failure failure) {
  unsigned count = atomic_load(&planned[failure]);
  while (count > 0 && !atomic_compare_exchange_weak(&planned[failure], &count, count - 1)) continue;
  return count > 0;
}
