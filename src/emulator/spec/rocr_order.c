/* ROCR with ThreadSanitizer told what it orders: for builds with that sanitizer.
 *
 * ROCR is not instrumented, so what the host does before it stores to a signal seems to race with
 * what the software GPU does after it has read it, and the other way round.  The functions here
 * stand in front of ROCR's of the same name and say which word of memory carries the order; the
 * software GPU's own operations on that word are instrumented.  Copies and fills, which ROCR orders
 * by words of its own, go by the two of emulator/thunk/order.h.
 *
 * As a library: ROCLUA_HSA_LIBRARY=build/tsan/lib/librocr_order.so.  What is not here comes from
 * ROCR, on which it depends. */
#include <dlfcn.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <sanitizer/tsan_interface.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

static void *find(const char *library, const char *name) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  void *address = handle ? dlsym(handle, name) : NULL;
  if (!address) {
    fprintf(stderr, "rocr_order: '%s' has no '%s': %s\n", library, name, dlerror());
    abort();
  }
  return address;
}

/* ROCR's function of that name, found once. */
#define REAL(name)                                                                \
  ({                                                                              \
    static __typeof__(&name) real;                                                \
    __typeof__(&name) known = __atomic_load_n(&real, __ATOMIC_ACQUIRE);           \
    if (!known) {                                                                 \
      known = (__typeof__(&name))(uintptr_t)find("libhsa-runtime64.so.1", #name); \
      __atomic_store_n(&real, known, __ATOMIC_RELEASE);                           \
    }                                                                             \
    known;                                                                        \
  })

/* ---- signals -------------------------------------------------------------------------------- */

static void *value_of(hsa_signal_t signal) {
  return (void *)&((amd_signal_t *)(uintptr_t)signal.handle)->value;
}

EXPORT void hsa_signal_store_screlease(hsa_signal_t signal, hsa_signal_value_t value) {
  __tsan_release(value_of(signal));
  REAL(hsa_signal_store_screlease)(signal, value);
}

EXPORT hsa_signal_value_t hsa_signal_load_scacquire(hsa_signal_t signal) {
  hsa_signal_value_t value = REAL(hsa_signal_load_scacquire)(signal);
  __tsan_acquire(value_of(signal));
  return value;
}

EXPORT hsa_signal_value_t hsa_signal_wait_scacquire(hsa_signal_t signal,
                                                    hsa_signal_condition_t condition,
                                                    hsa_signal_value_t compared, uint64_t ticks,
                                                    hsa_wait_state_t hint) {
  hsa_signal_value_t value =
      REAL(hsa_signal_wait_scacquire)(signal, condition, compared, ticks, hint);
  __tsan_acquire(value_of(signal));
  return value;
}

/* A handler that ROCR's thread calls once it has seen the signal's value. */
typedef struct handler {
  hsa_amd_signal_handler call;
  void *ud;
  hsa_signal_t signal;
} handler;

/* False, and the handler is called no more. */
static bool call_handler(hsa_signal_value_t value, void *ud) {
  handler *h = ud;
  __tsan_acquire(value_of(h->signal));
  if (h->call(value, h->ud)) return true;
  free(h);
  return false;
}

EXPORT hsa_status_t hsa_amd_signal_async_handler(hsa_signal_t signal,
                                                 hsa_signal_condition_t condition,
                                                 hsa_signal_value_t compared,
                                                 hsa_amd_signal_handler call, void *ud) {
  handler *h = malloc(sizeof *h);
  if (!h) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  *h = (handler){call, ud, signal};
  __tsan_release(value_of(signal));
  hsa_status_t status =
      REAL(hsa_amd_signal_async_handler)(signal, condition, compared, call_handler, h);
  if (status != HSA_STATUS_SUCCESS) free(h);
  return status;
}

/* ---- queues --------------------------------------------------------------------------------- */

EXPORT uint64_t hsa_queue_load_read_index_scacquire(const hsa_queue_t *queue) {
  uint64_t index = REAL(hsa_queue_load_read_index_scacquire)(queue);
  __tsan_acquire((void *)&((amd_queue_t *)queue)->read_dispatch_id);
  return index;
}

EXPORT void hsa_queue_store_write_index_screlease(const hsa_queue_t *queue, uint64_t index) {
  __tsan_release((void *)&((amd_queue_t *)queue)->write_dispatch_id);
  REAL(hsa_queue_store_write_index_screlease)(queue, index);
}

/* ---- copies and fills ----------------------------------------------------------------------- */

static char *find_word(const char *name) {
  return find("libhsakmt.so.1", name);
}

/* Before something is asked of ROCR's own queues. */
static void ask(void) {
  __tsan_release(find_word("roc_emulator_asked"));
}

/* After a call that has waited for them. */
static void have_waited(void) {
  __tsan_acquire(find_word("roc_emulator_told"));
}

EXPORT hsa_status_t hsa_amd_memory_async_copy(void *dst, hsa_agent_t dst_agent, const void *src,
                                              hsa_agent_t src_agent, size_t nbytes,
                                              uint32_t nsignals, const hsa_signal_t *signals,
                                              hsa_signal_t done) {
  ask();
  return REAL(hsa_amd_memory_async_copy)(dst, dst_agent, src, src_agent, nbytes, nsignals, signals,
                                         done);
}

EXPORT hsa_status_t hsa_amd_memory_async_copy_rect(
    const hsa_pitched_ptr_t *dst, const hsa_dim3_t *dst_at, const hsa_pitched_ptr_t *src,
    const hsa_dim3_t *src_at, const hsa_dim3_t *range, hsa_agent_t agent,
    hsa_amd_copy_direction_t direction, uint32_t nsignals, const hsa_signal_t *signals,
    hsa_signal_t done) {
  ask();
  return REAL(hsa_amd_memory_async_copy_rect)(dst, dst_at, src, src_at, range, agent, direction,
                                              nsignals, signals, done);
}

EXPORT hsa_status_t hsa_amd_memory_fill(void *address, uint32_t word, size_t count) {
  ask();
  hsa_status_t status = REAL(hsa_amd_memory_fill)(address, word, count);
  have_waited();
  return status;
}

EXPORT hsa_status_t hsa_memory_copy(void *dst, const void *src, size_t nbytes) {
  ask();
  hsa_status_t status = REAL(hsa_memory_copy)(dst, src, nbytes);
  have_waited();
  return status;
}
