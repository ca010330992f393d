/* Finds memory faults of the GPUs without ROCR's callback.
 *
 * ROCR reports faults by an interrupt and a callback, and neither is sure to come:
 * HSA_ENABLE_INTERRUPT=0 turns interrupts off, and another part of the process may have registered
 * the callback. So the driver creates an event of its own in the kernel's driver, which raises it
 * together with ROCR's, and every wait that has lasted for a while looks at this event. The library
 * is the libhsakmt that ROCR has opened; a ROCR with a built-in libhsakmt does not export it, and
 * then there is no watch. */
#include <dlfcn.h>
#include <hsakmt.h>
#include <string.h>

#include "base/clock.h"
#include "device/hsa/driver.h"

#define LIBRARY "libhsakmt.so.1"

enum { PERIOD_NS = 10 * 1000 * 1000 };

static struct {
  pthread_mutex_t lock; /* guards what follows */
  __typeof__(hsaKmtCreateEvent) *create;
  __typeof__(hsaKmtDestroyEvent) *destroy;
  __typeof__(hsaKmtWaitOnEvent) *wait;
  roc_hsa_on_fault *on_fault;
  HsaEvent *event;            /* NULL: none */
  _Atomic uint64_t next_look; /* by the clock; UINT64_MAX: never */
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .next_look = UINT64_MAX};

static bool find_function(void *library, const char *name, void *out) {
  void *address = dlsym(library, name);
  memcpy(out, &address, sizeof address);
  return address != NULL;
}

/* In the library that is open already; kept open, as ROCR is. */
static bool find_functions(void) {
  if (watch.create) return true;
  void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_NOLOAD);
  return library && find_function(library, "hsaKmtWaitOnEvent", &watch.wait) &&
         find_function(library, "hsaKmtDestroyEvent", &watch.destroy) &&
         find_function(library, "hsaKmtCreateEvent", &watch.create);
}

void roc_hsa_watch_open(roc_hsa_on_fault *on_fault) {
  HsaEventDescriptor descriptor = {.EventType = HSA_EVENTTYPE_MEMORY};
  pthread_mutex_lock(&watch.lock);
  watch.on_fault = on_fault;
  bool is_made = !watch.event && find_functions() &&
                 watch.create(&descriptor, false, false, &watch.event) == HSAKMT_STATUS_SUCCESS;
  if (is_made) atomic_store(&watch.next_look, 0);
  pthread_mutex_unlock(&watch.lock);
}

void roc_hsa_watch_close(void) {
  pthread_mutex_lock(&watch.lock);
  atomic_store(&watch.next_look, UINT64_MAX);
  if (watch.event) watch.destroy(watch.event);
  watch.event = NULL;
  pthread_mutex_unlock(&watch.lock);
}

/* As ROCR translates them. */
static uint32_t reasons_of(const HsaAccessAttributeFailure *failure) {
  enum { ERROR_SRAM = 1, ERROR_DRAM, ERROR_HANG };
  uint32_t reasons = 0;
  if (failure->NotPresent) reasons |= HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT;
  if (failure->ReadOnly) reasons |= HSA_AMD_MEMORY_FAULT_READ_ONLY;
  if (failure->NoExecute) reasons |= HSA_AMD_MEMORY_FAULT_NX;
  if (failure->GpuAccess) reasons |= HSA_AMD_MEMORY_FAULT_HOST_ONLY;
  if (failure->ECC || failure->ErrorType == ERROR_DRAM) reasons |= HSA_AMD_MEMORY_FAULT_DRAMECC;
  if (failure->ErrorType == ERROR_SRAM) reasons |= HSA_AMD_MEMORY_FAULT_SRAMECC;
  if (failure->ErrorType == ERROR_HANG) reasons |= (uint32_t)HSA_AMD_MEMORY_FAULT_HANG;
  return reasons;
}

static void report_fault(const HsaMemoryAccessFault *fault, roc_hsa_on_fault *on_fault) {
  for (uint32_t i = 0; i < roc_hsa_sys.ngpus; i++) {
    uint32_t node = 0;
    hsa_status_t status =
        roc_hsa.hsa_agent_get_info(roc_hsa_sys.gpus[i], HSA_AGENT_INFO_NODE, &node);
    if (status != HSA_STATUS_SUCCESS || node != fault->NodeId) continue;
    on_fault(roc_hsa_sys.gpus[i], fault->VirtualAddress, reasons_of(&fault->Failure));
  }
}

void roc_hsa_watch_look(void) {
  uint64_t due = atomic_load_explicit(&watch.next_look, memory_order_relaxed);
  if (due == UINT64_MAX) return;
  uint64_t now = roc_clock_ns();
  if (now < due || pthread_mutex_trylock(&watch.lock) != 0) return; /* another thread looks */
  HsaMemoryAccessFault fault;
  bool has_fault = watch.event && watch.wait(watch.event, 0) == HSAKMT_STATUS_SUCCESS;
  if (has_fault) fault = watch.event->EventData.EventData.MemoryAccessFault;
  if (watch.event) atomic_store(&watch.next_look, now + PERIOD_NS);
  roc_hsa_on_fault *on_fault = watch.on_fault;
  pthread_mutex_unlock(&watch.lock);
  if (has_fault) report_fault(&fault, on_fault);
}
