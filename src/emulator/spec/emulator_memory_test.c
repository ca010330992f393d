/* Everything the emulator allocates fails once, for fuzz_spec.lua.
 *
 * A session of the thunk - memory, events, queues, a copy and a kernel - is repeated with the
 * first, the second, … allocation failing, until one comes through without meeting the failure. A
 * call must say that memory is out or work, a dispatch must end or leave a text, and nothing may be
 * left. Prints how many allocations failed. */
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsakmt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "emulator/include/emulator.h"

enum { PAGE = 4096, GPU = 1, NPACKETS = 64, NEVENTS = 40, CODE_OFFSET = 256 };

static uint64_t nth;          /* allocation that fails */
static bool is_out_of_memory; /* a call or a text has said so */

static void fail(const char *what) {
  fprintf(stderr, "emulator_memory_test: allocation %llu: %s\n", (unsigned long long)nth, what);
  exit(1);
}

/* Whether the call worked; when not, it must be for want of memory. */
static bool works(HSAKMT_STATUS status, const char *call) {
  if (status == HSAKMT_STATUS_SUCCESS) return true;
  if (status != HSAKMT_STATUS_NO_MEMORY && status != HSAKMT_STATUS_OUT_OF_RESOURCES) fail(call);
  is_out_of_memory = true;
  return false;
}
#define WORKS(call) works(call, #call)

/* ---- memory --------------------------------------------------------------------------------- */

/* Host memory that the GPU may touch; NULL when memory is out. */
static void *take_memory(uint64_t nbytes) {
  HsaMemFlags flags = {.ui32 = {.NonPaged = 1, .HostAccess = 1}};
  void *address = NULL;
  HSAuint64 gpu_address;
  if (!WORKS(hsaKmtAllocMemory(0, nbytes, flags, &address))) return NULL;
  HsaMemMapFlags map_flags = {0};
  HSAuint32 nodes[] = {GPU};
  if (WORKS(hsaKmtMapMemoryToGPUNodes(address, nbytes, &gpu_address, map_flags, 1, nodes))) {
    return memset(address, 0, nbytes);
  }
  hsaKmtFreeMemory(address, nbytes);
  return NULL;
}

static void lock_memory(void) {
  static char bytes[3 * PAGE];
  HSAuint64 gpu_address;
  if (!WORKS(hsaKmtRegisterMemory(bytes, sizeof bytes))) return;
  if (WORKS(hsaKmtMapMemoryToGPU(bytes, sizeof bytes, &gpu_address))) {
    hsaKmtUnmapMemoryToGPU(bytes);
  }
  hsaKmtDeregisterMemory(bytes);
}

/* ---- events --------------------------------------------------------------------------------- */

static void use_events(void) {
  HsaEvent *events[NEVENTS];
  HsaEventDescriptor descriptor = {.EventType = HSA_EVENTTYPE_SIGNAL};
  unsigned count = 0;
  while (count < NEVENTS && WORKS(hsaKmtCreateEvent(&descriptor, true, true, &events[count]))) {
    count++;
  }
  if (count) WORKS(hsaKmtWaitOnMultipleEvents(events, count, true, 1000));
  while (count) hsaKmtDestroyEvent(events[--count]);
}

/* ---- a kernel ------------------------------------------------------------------------------- */

/* Jumps to an address it computes, so that code is decoded twice. */
static uint64_t put_kernel(uint8_t *at) {
  static const uint32_t code[] = {
      0xbe821c00, /* s_getpc_b64 s[2:3] */
      0x80029002, /* s_add_u32 s2, s2, 16 */
      0x82038003, /* s_addc_u32 s3, s3, 0 */
      0xbe801d02, /* s_setpc_b64 s[2:3] */
      0xbf810000, /* s_endpgm */
      0xbf810000, /* the computed address */
  };
  int64_t entry = CODE_OFFSET;
  memcpy(at + 16, &entry, sizeof entry);
  memcpy(at + CODE_OFFSET, code, sizeof code);
  return (uintptr_t)at;
}

/* What a dispatch lies in. */
typedef struct room {
  _Alignas(64) hsa_kernel_dispatch_packet_t ring[NPACKETS];
  _Alignas(64) amd_queue_t queue;
  _Alignas(64) amd_signal_t done;
  _Alignas(256) uint8_t kernel[2 * CODE_OFFSET];
} room;

static bool is_done(room *at) {
  return __atomic_load_n(&at->done.value, __ATOMIC_ACQUIRE) == 0;
}

/* Until the packet's signal came, or a text says why it does not. */
static void await_dispatch(room *at) {
  char text[512];
  const struct timespec nap = {0, 200000};
  for (int i = 0; i < 50000 && !is_done(at); i++) {
    nanosleep(&nap, NULL);
    if (!roc_emulator_fault(text, sizeof text)) continue;
    if (!strstr(text, "memory")) fail(text);
    is_out_of_memory = true;
    return;
  }
  if (!is_done(at)) fail("a dispatch neither ended nor failed");
}

static void run_kernel(room *at) {
  HsaQueueResource resource = {.Queue_read_ptr_aql = (HSAuint64 *)&at->queue.read_dispatch_id,
                               .Queue_write_ptr_aql = (HSAuint64 *)&at->queue.write_dispatch_id};
  at->done.value = 1;
  at->ring[0] = (hsa_kernel_dispatch_packet_t){
      .header = HSA_PACKET_TYPE_KERNEL_DISPATCH,
      .setup = 1,
      .workgroup_size_x = 64,
      .workgroup_size_y = 1,
      .workgroup_size_z = 1,
      .grid_size_x = 256,
      .grid_size_y = 1,
      .grid_size_z = 1,
      .private_segment_size = 64,
      .kernel_object = put_kernel(at->kernel),
      .completion_signal = {(uintptr_t)&at->done},
  };
  for (int i = 1; i < NPACKETS; i++) at->ring[i].header = HSA_PACKET_TYPE_INVALID;
  if (!WORKS(hsaKmtCreateQueue(GPU, HSA_QUEUE_COMPUTE_AQL, 100, HSA_QUEUE_PRIORITY_NORMAL, at->ring,
                               sizeof at->ring, NULL, &resource))) {
    return;
  }
  __atomic_store_n(&at->queue.write_dispatch_id, 1, __ATOMIC_RELEASE);
  await_dispatch(at);
  hsaKmtDestroyQueue(resource.QueueId);
}

/* ---- sessions ------------------------------------------------------------------------------- */

static void use_thunk(void) {
  HsaSystemProperties properties;
  if (hsaKmtAcquireSystemProperties(&properties) != HSAKMT_STATUS_SUCCESS) fail("no properties");
  if (properties.NumNodes < 2) { /* ROCR finds no GPU then */
    is_out_of_memory = true;
    return;
  }
  uint64_t nbytes = (sizeof(room) + PAGE - 1) / PAGE * PAGE;
  room *at = take_memory(nbytes);
  lock_memory();
  use_events();
  if (at) {
    run_kernel(at);
    hsaKmtUnmapMemoryToGPU(at);
    hsaKmtFreeMemory(at, nbytes);
  }
}

/* Whether the failure was met: if not, it comes now. */
static bool was_met(void) {
  for (uint64_t i = 0; i < nth; i++) {
    void *block = roc_alloc(1);
    if (!block) return false;
    roc_free(block);
  }
  roc_alloc_fail_at(0);
  return true;
}

int main(void) {
  bool is_met = true;
  setenv("ROCLUA_EMULATE", "gfx90a", 1);
  setenv("ROCLUA_EMULATE_THREADS", "2", 1);
  int64_t live = roc_alloc_live();
  for (nth = 1; is_met; nth++) {
    is_out_of_memory = false;
    roc_emulator_clear_fault();
    roc_alloc_fail_at(nth);
    if (WORKS(hsaKmtOpenKFD())) {
      use_thunk();
      hsaKmtCloseKFD();
    }
    is_met = was_met();
    if (!is_met && is_out_of_memory) fail("memory was never out, but a call says so");
    if (roc_alloc_live() != live || roc_emulator_live() != 0) fail("something is left");
  }
  printf("%llu allocations failed\n", (unsigned long long)(nth - 2));
  return 0;
}
