/* Events that ROCR reports: memory faults (which watch.c also finds) and queues that stopped.
 *
 * ROCR's callbacks run on a thread of ROCR. They never call Lua or take the runtime's lock: they
 * store a text and wake the threads that wait. A stopped queue fails its own work only. After a
 * memory fault the state of the GPU is unknown, so the device is lost. */
#include <stdio.h>
#include <string.h>

#include "device/hsa/driver.h"
#include "device/hsa/emulated.h"

/* Appends ": " and the software GPU's own description of the fault, if the GPU is one. */
static void append_emulated(char *text, size_t size) {
  char more[400];
  size_t used = strlen(text);
  if (roc_emulated_fault_text(more, sizeof more) > 0 && used < size) {
    snprintf(text + used, size - used, ": %s", more);
  }
}

/* ---- queues -------------------------------------------------------------- */

enum { STATUS_OUT_OF_REGISTERS = 45 /* of newer headers */ };

/* What ROCR's codes mean when they come with a queue, and what to do. */
static const struct {
  uint32_t status;
  const char *text;
} stops[] = {
    {HSA_STATUS_ERROR_OUT_OF_RESOURCES,
     "no memory for the private arrays and spills of its work-items; smaller private arrays or a "
     "smaller workgroup may do"},
    {HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction"},
    {HSA_STATUS_ERROR_EXCEPTION, "an exception on the device, such as a trap"},
    {HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION, "an access outside of any address space"},
    {HSA_STATUS_ERROR_MEMORY_FAULT, "an illegal access to memory"},
    {HSA_STATUS_ERROR_INVALID_ALLOCATION, "more shared memory than the device has"},
    {HSA_STATUS_ERROR_INVALID_ARGUMENT, "a workgroup the device cannot run"},
    {STATUS_OUT_OF_REGISTERS, "more registers than the device has for a workgroup"},
};

static const char *explain_stop(hsa_status_t status) {
  for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
    if (stops[i].status == (uint32_t)status) return stops[i].text;
  }
  return roc_hsa_status_text(status);
}

/* ---- devices ------------------------------------------------------------- */

/* Names the kernels that run: the fault does not say which of them caused it. */
static void name_suspects(roc_hsa_device *device) {
  char *text = device->base.lost_by, kernel[256];
  size_t used = 0, size = sizeof device->base.lost_by;
  for (uint32_t i = 0; i < atomic_load(&device->nqueues) && used < size; i++) {
    if (!roc_hsa_queue_describe_running(device->queues[i], kernel, sizeof kernel)) continue;
    if (strstr(text, kernel)) continue;
    used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " or " : "", kernel);
  }
}

void roc_hsa_lose_device(roc_hsa_device *device, const char *cause) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* ROCR may tell on several threads */
  pthread_mutex_lock(&lock);
  bool is_first = !device->base.is_lost;
  if (is_first) {
    snprintf(device->base.lost_why, sizeof device->base.lost_why, "%s", cause);
    name_suspects(device);
    device->base.is_lost = true;
  }
  pthread_mutex_unlock(&lock);
  if (!is_first) return;
  for (uint32_t i = 0; i < atomic_load(&device->nqueues); i++) {
    roc_hsa_queue_stop(device->queues[i], cause);
  }
}

/* The one of the devices that has the queue; NULL: none.  The devices are locked. */
static roc_hsa_device *find_owner(roc_hsa_device *devices, const void *queue) {
  for (roc_hsa_device *d = devices; d; d = d->next) {
    for (uint32_t i = 0; i < atomic_load(&d->nqueues); i++) {
      if (d->queues[i] == queue) return d;
    }
  }
  return NULL;
}

/* A lost device is closed without its HSA queues, and ROCR may still tell of one of them. */
void roc_hsa_on_queue_error(hsa_status_t status, hsa_queue_t *source, void *queue) {
  (void)source;
  if (status == HSA_STATUS_SUCCESS) return;
  char text[512];
  snprintf(text, sizeof text, "%s (HSA status 0x%x)", explain_stop(status), (unsigned)status);
  append_emulated(text, sizeof text);
  roc_hsa_device *owner = find_owner(roc_hsa_lock_devices(), queue);
  if (owner && (uint32_t)status == HSA_STATUS_ERROR_MEMORY_FAULT) {
    roc_hsa_lose_device(owner, text);
  } else if (owner) {
    roc_hsa_queue_stop(queue, text);
  }
  roc_hsa_unlock_devices();
}

static const struct {
  uint32_t mask;
  const char *text;
} reasons[] = {
    {HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT, "nothing is mapped there"},
    {HSA_AMD_MEMORY_FAULT_READ_ONLY, "it is read-only"},
    {HSA_AMD_MEMORY_FAULT_NX, "it is not executable"},
    {HSA_AMD_MEMORY_FAULT_HOST_ONLY, "it is the host's alone"},
    {HSA_AMD_MEMORY_FAULT_DRAMECC, "a memory error (ECC)"},
    {HSA_AMD_MEMORY_FAULT_SRAMECC, "a register error (ECC)"},
    {(uint32_t)HSA_AMD_MEMORY_FAULT_HANG, "the GPU hung and was reset"},
};

static void lose_agent(hsa_agent_t agent, char *text, size_t size) {
  append_emulated(text, size);
  for (roc_hsa_device *d = roc_hsa_lock_devices(); d; d = d->next) {
    if (d->agent.handle == agent.handle) roc_hsa_lose_device(d, text);
  }
  roc_hsa_unlock_devices();
}

void roc_hsa_on_memory_fault(hsa_agent_t agent, uint64_t address, uint32_t mask) {
  char text[512];
  const char *reason = "no reason given";
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
    if (mask & reasons[i].mask) reason = reasons[i].text;
  }
  snprintf(text, sizeof text, "illegal access to memory at 0x%llx (%s)",
           (unsigned long long)address, reason);
  lose_agent(agent, text, sizeof text);
}

/* Every event has the agent first.  Any answer but success would end the process. */
static hsa_status_t on_system_event(const hsa_amd_event_t *event, void *unused) {
  (void)unused;
  const hsa_amd_gpu_memory_fault_info_t *fault = &event->memory_fault;
  char text[512] = "the GPU was reset after a hardware exception or an error of its memory";
  if (event->event_type == HSA_AMD_GPU_MEMORY_FAULT_EVENT) {
    roc_hsa_on_memory_fault(fault->agent, fault->virtual_address, fault->fault_reason_mask);
  } else {
    lose_agent(fault->agent, text, sizeof text);
  }
  return HSA_STATUS_SUCCESS;
}

/* Another part of the process may have a handler already: the watch (watch.c) finds faults then. */
roc_status roc_hsa_watch_faults(roc_error *err) {
  hsa_status_t status = roc_hsa.hsa_amd_register_system_event_handler(on_system_event, NULL);
  if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_ERROR) return ROC_OK;
  return roc_hsa_fail(err, status, "ROCR refuses to tell of memory faults");
}
