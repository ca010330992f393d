/* The runtime's lock, and when the runtime cannot be used: in a forked child and after shutdown. */
#include <pthread.h>

#include "base/alloc.h"
#include "runtime/core/pin.h"
#include "runtime/device.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool is_child, is_shut;

void roc_rt_lock(void) {
  pthread_mutex_lock(&lock);
}

/* The driver may wait for its device. */
static void end_mappings(roc_rt_mapping *dead) {
  while (dead) {
    roc_rt_mapping *m = dead;
    dead = m->next;
    roc_device *driver = m->device->driver;
    driver->ops->host_unregister(driver, m->memory);
    roc_rt_lock();
    roc_rt_device_drop(m->device);
    roc_rt_unlock();
    roc_free(m);
  }
}

void roc_rt_unlock(void) {
  roc_rt_mapping *unmapped = roc_rt_take_dead_mappings();
  roc_buffer *dead = roc_buffer_take_dead();
  pthread_mutex_unlock(&lock);
  if (unmapped) end_mappings(unmapped); /* of memory that may be among the dead */
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
