/* The pool of signals; see signal.h. */
#include "device/hsa/signal.h"

#include "base/alloc.h"
#include "device/hsa/driver.h"

void roc_hsa_signals_init(roc_hsa_signals *pool) {
  pthread_mutex_init(&pool->lock, NULL);
  pool->free = NULL;
}

void roc_hsa_signals_deinit(roc_hsa_signals *pool) {
  while (pool->free) {
    roc_hsa_signal *signal = pool->free;
    pool->free = signal->next;
    roc_hsa.hsa_signal_destroy(signal->hsa);
    roc_free(signal);
  }
  pthread_mutex_destroy(&pool->lock);
}

static roc_status create(roc_hsa_signal **out_signal, roc_error *err) {
  roc_hsa_signal *signal = roc_zalloc(sizeof *signal);
  if (!signal) return roc_fail(err, ROC_OOM, "out of memory: no room for a signal");
  hsa_status_t status = roc_hsa.hsa_signal_create(1, 0, NULL, &signal->hsa);
  if (status != HSA_STATUS_SUCCESS) {
    roc_free(signal);
    return roc_hsa_fail(err, status, "a signal cannot be made");
  }
  *out_signal = signal;
  return ROC_OK;
}

roc_status roc_hsa_signal_take(roc_hsa_signals *pool, roc_hsa_signal **out_signal, roc_error *err) {
  pthread_mutex_lock(&pool->lock);
  roc_hsa_signal *signal = pool->free;
  if (signal) pool->free = signal->next;
  pthread_mutex_unlock(&pool->lock);
  if (signal) {
    roc_hsa.hsa_signal_store_relaxed(signal->hsa, 1);
  } else {
    ROC_TRY(create(&signal, err));
  }
  atomic_store_explicit(&signal->refs, 1, memory_order_relaxed);
  *out_signal = signal;
  return ROC_OK;
}

static _Atomic uint64_t under_way; /* bytes */

void roc_hsa_signal_expect(roc_hsa_signal *signal, uint64_t nbytes) {
  uint64_t before = atomic_fetch_add(&under_way, nbytes);
  atomic_store(&signal->ahead, before + nbytes);
  atomic_store(&signal->nbytes, nbytes);
}

static void end_expectation(roc_hsa_signal *signal) {
  atomic_fetch_sub(&under_way, atomic_exchange(&signal->nbytes, 0));
}

uint64_t roc_hsa_signal_patience(const roc_hsa_signal *signal) {
  const double slowest = (64 << 20) / 1e9; /* bytes in a nanosecond */
  if (atomic_load(&signal->nbytes) == 0 || roc_hsa_sys.copy_timeout_ns == 0) return UINT64_MAX;
  return roc_hsa_sys.copy_timeout_ns + (uint64_t)((double)atomic_load(&signal->ahead) / slowest);
}

void roc_hsa_signal_retain(roc_hsa_signal *signal) {
  atomic_fetch_add_explicit(&signal->refs, 1, memory_order_relaxed);
}

void roc_hsa_signal_release(roc_hsa_signals *pool, roc_hsa_signal *signal) {
  if (atomic_fetch_sub_explicit(&signal->refs, 1, memory_order_acq_rel) > 1) return;
  end_expectation(signal);
  pthread_mutex_lock(&pool->lock);
  signal->next = pool->free;
  pool->free = signal;
  pthread_mutex_unlock(&pool->lock);
}

bool roc_hsa_signal_await(hsa_signal_t signal, hsa_signal_value_t bound, uint64_t timeout_ns) {
  uint64_t ticks = roc_hsa_ns_to_ticks(timeout_ns);
  hsa_signal_value_t value = roc_hsa.hsa_signal_wait_scacquire(
      signal, HSA_SIGNAL_CONDITION_LT, bound, ticks, HSA_WAIT_STATE_BLOCKED);
  if (value >= bound) roc_hsa_watch_look();
  return value < bound;
}
