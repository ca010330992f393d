/* The runtime's lock, and when the runtime cannot be used: in a forked child and after shutdown. */
#include <pthread.h>

#include "runtime/core/internal.h"
#include "runtime/device.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool is_child, is_shut;

void roc_rt_lock(void) {
  pthread_mutex_lock(&lock);
}

void roc_rt_unlock(void) {
  roc_buffer *dead = roc_buffer_take_dead();
  pthread_mutex_unlock(&lock);
  if (dead) roc_buffer_destroy_dead(dead);
}

bool roc_rt_in_child(void) {
  return atomic_load_explicit(&is_child, memory_order_relaxed);
}

roc_status roc_rt_check_open(roc_error *err) {
  if (roc_rt_in_child()) {
    return roc_fail(err, ROC_CLOSED,
                    "roclua cannot be used in a forked child: its devices belong to the parent");
  }
  if (atomic_load_explicit(&is_shut, memory_order_relaxed)) {
    return roc_fail(err, ROC_CLOSED, "roclua has shut down: the process is ending");
  }
  return ROC_OK;
}

bool roc_rt_begin_shutdown(void) {
  return atomic_exchange(&is_shut, true);
}

/* ---- forks --------------------------------------------------------------- */

static void mark_child(void) {
  atomic_store(&is_child, true);
  pthread_mutex_unlock(&lock);
}

static void unlock_parent(void) {
  pthread_mutex_unlock(&lock);
}

void roc_rt_guard_forks(void) {
  pthread_atfork(roc_rt_lock, unlock_parent, mark_child);
}
