/* Shares in LLVM; see llvm_lock.h. */
#include "codegen/llvm/llvm_lock.h"

#include <pthread.h>
#include <stdatomic.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static _Atomic uint32_t count, most; /* of compiles */
static _Thread_local enum { NOTHING, SHARE, ALL } held;
static _Thread_local bool compiles;

void roc_llvm_lock_shared(bool is_compile) {
  pthread_rwlock_rdlock(&lock);
  held = SHARE;
  compiles = is_compile;
  if (!is_compile) return;
  uint32_t now = atomic_fetch_add(&count, 1) + 1, before = atomic_load(&most);
  while (before < now && !atomic_compare_exchange_weak(&most, &before, now)) {
  }
}

void roc_llvm_unlock_shared(void) {
  if (compiles) atomic_fetch_sub(&count, 1);
  held = NOTHING;
  pthread_rwlock_unlock(&lock);
}

void roc_llvm_lock_exclusive(void) {
  roc_llvm_unlock_shared();
  pthread_rwlock_wrlock(&lock);
  held = ALL;
}

void roc_llvm_unlock_exclusive(void) {
  held = NOTHING;
  pthread_rwlock_unlock(&lock);
  roc_llvm_lock_shared(compiles);
}

bool roc_llvm_lock_abandon(void) {
  bool was_alone = held == ALL;
  if (held == SHARE) roc_llvm_unlock_shared();
  if (was_alone) {
    held = NOTHING;
    pthread_rwlock_unlock(&lock);
  }
  return was_alone;
}

uint32_t roc_llvm_lock_most(void) {
  return atomic_load(&most);
}
