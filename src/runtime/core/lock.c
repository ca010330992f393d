/* The runtime's lock, and when the runtime cannot be used: in a forked child and after shutdown. */
#include <pthread.h>

#include "base/alloc.h"
#include "runtime/core/pin.h"
#include "runtime/device.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* What died while it was held, and ends after it. */
static roc_rt_mapping *dead_mappings;
static roc_buffer *dead_buffers;
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

void roc_rt_bury_mapping(roc_rt_mapping *mapping) {
  mapping->next = dead_mappings;
  dead_mappings = mapping;
}

void roc_buffer_bury(roc_buffer *buffer) {
  buffer->next = dead_buffers;
  dead_buffers = buffer;
}

static __attribute__((noinline)) void unlock_and_end_dead(void) {
  roc_rt_mapping *unmapped = dead_mappings;
  roc_buffer *dead = dead_buffers;
  dead_mappings = NULL;
  dead_buffers = NULL;
  pthread_mutex_unlock(&lock);
  end_mappings(unmapped); /* of memory that may be among the dead */
  roc_buffer_destroy_dead(dead);
}

void roc_rt_unlock(void) {
  if (dead_mappings || dead_buffers) {
    unlock_and_end_dead();
  } else {
    pthread_mutex_unlock(&lock);
  }
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
