/* The emulator's thunk called as ROCR would call it, and as it would not, for
 * thunk_spec.lua.
 *
 *   emulator_thunk_test CHECK    runs the check of that name; prints "ok"
 *   emulator_thunk_test          prints the checks' names */
#include <hsakmt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emulator/include/emulator.h"
#include "emulator/thunk/thunk.h"

enum { PAGE = 4096, GPU = 1, MAX_EVENTS = 4096, MAX_QUEUES = 128, RING = 4096 };

static void fail(const char *what, int line) {
  fprintf(stderr, "emulator_thunk_test:%d: %s\n", line, what);
  exit(1);
}
#define EXPECT(condition)                         \
  do {                                            \
    if (!(condition)) fail(#condition, __LINE__); \
  } while (0)
#define WORKS(call) EXPECT((call) == HSAKMT_STATUS_SUCCESS)

/* Whether the GPU may read and write the byte. */
static bool can_touch(const void *at) {
  return emu_map_page(emu_node_at(GPU)->map, (uintptr_t)at) == (EMU_PAGE_READ | EMU_PAGE_WRITE);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void lock_range(void *begin, uint64_t nbytes) {
  HSAuint64 gpu_address;
  WORKS(hsaKmtRegisterMemory(begin, nbytes));
  WORKS(hsaKmtMapMemoryToGPU(begin, nbytes, &gpu_address));
  EXPECT(gpu_address == (uintptr_t)begin);
}

static void unlock_range(void *begin) {
  WORKS(hsaKmtUnmapMemoryToGPU(begin));
  WORKS(hsaKmtDeregisterMemory(begin));
}

/* Ranges may overlap and share pages: what one of them needs stays. */
static void check_overlaps(void) {
  static _Alignas(PAGE) char bytes[4 * PAGE];
  lock_range(bytes + 100, 2 * PAGE);
  lock_range(bytes + PAGE, 3 * PAGE);
  lock_range(bytes + 100, 2 * PAGE); /* again */
  unlock_range(bytes + 100);
  for (int i = 0; i < 4; i++) EXPECT(can_touch(bytes + i * PAGE));
  unlock_range(bytes + 100);
  EXPECT(!can_touch(bytes));
  for (int i = 1; i < 4; i++) EXPECT(can_touch(bytes + i * PAGE));
  lock_range(bytes + 10, 20);
  lock_range(bytes + 40, 20);
  unlock_range(bytes + 10);
  EXPECT(can_touch(bytes));
  unlock_range(bytes + 40);
  EXPECT(!can_touch(bytes));
  unlock_range(bytes + PAGE);
  for (int i = 0; i < 4; i++) EXPECT(!can_touch(bytes + i * PAGE));
  EXPECT(hsaKmtDeregisterMemory(bytes + PAGE) == HSAKMT_STATUS_MEMORY_NOT_REGISTERED);
  EXPECT(hsaKmtUnmapMemoryToGPU(bytes + PAGE) == HSAKMT_STATUS_INVALID_PARAMETER);
}

static void *allocate(HSAuint32 node, uint64_t nbytes, HSAKMT_STATUS want) {
  static void *address; /* one on the stack may seem to point to itself */
  HsaMemFlags flags = {.ui32 = {.NonPaged = 1, .HostAccess = 1}};
  address = NULL;
  EXPECT(hsaKmtAllocMemory(node, nbytes, flags, &address) == want);
  return address;
}

/* ROCLUA_EMULATE_MEMORY is 64 MiB. */
static void check_vram(void) {
  uint64_t half = 32 << 20;
  void *first = allocate(GPU, half, HSAKMT_STATUS_SUCCESS);
  void *second = allocate(GPU, half, HSAKMT_STATUS_SUCCESS);
  EXPECT(first != second && !can_touch(first));
  allocate(GPU, PAGE, HSAKMT_STATUS_NO_MEMORY);
  allocate(GPU, half + 1, HSAKMT_STATUS_INVALID_PARAMETER);
  WORKS(hsaKmtFreeMemory(first, half));
  EXPECT(hsaKmtFreeMemory(first, half) == HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT(hsaKmtFreeMemory((char *)second + PAGE, half) == HSAKMT_STATUS_INVALID_PARAMETER);
  first = allocate(GPU, half, HSAKMT_STATUS_SUCCESS);
  WORKS(hsaKmtFreeMemory(first, half));
  WORKS(hsaKmtFreeMemory(second, half));
}

/* ---- events ---------------------------------------------------------------------------------- */

static HsaEvent *make_event(bool is_manual) {
  HsaEventDescriptor descriptor = {.EventType = HSA_EVENTTYPE_SIGNAL};
  HsaEvent *event = NULL;
  return hsaKmtCreateEvent(&descriptor, is_manual, false, &event) == HSAKMT_STATUS_SUCCESS ? event
                                                                                           : NULL;
}

/* Each has a number and a mailbox of its own, and there are 4095. */
static void check_events(void) {
  static HsaEvent *events[MAX_EVENTS];
  static bool is_taken[MAX_EVENTS];
  for (int i = 0; i < MAX_EVENTS - 1; i++) {
    events[i] = make_event(false);
    EXPECT(events[i]);
    uint32_t id = events[i]->EventId;
    EXPECT(id > 0 && id < MAX_EVENTS && !is_taken[id]);
    is_taken[id] = true;
    EXPECT(i == 0 || events[i]->EventData.HWData2 != events[i - 1]->EventData.HWData2);
    EXPECT(can_touch((void *)(uintptr_t)events[i]->EventData.HWData2));
  }
  EXPECT(!make_event(false));
  uint32_t free_id = events[7]->EventId;
  WORKS(hsaKmtDestroyEvent(events[7]));
  events[7] = make_event(false);
  EXPECT(events[7] && events[7]->EventId == free_id);
  for (int i = 0; i < MAX_EVENTS - 1; i++) WORKS(hsaKmtDestroyEvent(events[i]));
}

/* Raised while no thread waits, an event stays raised, for one wait or until it is reset. */
static void check_raising(void) {
  HsaEvent *once = make_event(false), *manual = make_event(true);
  EXPECT(hsaKmtWaitOnEvent(once, 0) == HSAKMT_STATUS_WAIT_TIMEOUT);
  WORKS(hsaKmtSetEvent(once));
  WORKS(hsaKmtWaitOnEvent(once, 1000));
  EXPECT(hsaKmtWaitOnEvent(once, 1) == HSAKMT_STATUS_WAIT_TIMEOUT);
  WORKS(hsaKmtSetEvent(manual));
  WORKS(hsaKmtWaitOnEvent(manual, 1000));
  WORKS(hsaKmtWaitOnEvent(manual, 1000));
  WORKS(hsaKmtResetEvent(manual));
  EXPECT(hsaKmtWaitOnEvent(manual, 1) == HSAKMT_STATUS_WAIT_TIMEOUT);
  HsaEvent *both[] = {once, manual};
  WORKS(hsaKmtSetEvent(once));
  EXPECT(hsaKmtWaitOnMultipleEvents(both, 2, true, 1) == HSAKMT_STATUS_WAIT_TIMEOUT);
  WORKS(hsaKmtSetEvent(once));
  WORKS(hsaKmtWaitOnMultipleEvents(both, 2, false, 1000));
  EXPECT(hsaKmtWaitOnEvent(NULL, 1) == HSAKMT_STATUS_INVALID_HANDLE);
  WORKS(hsaKmtDestroyEvent(once));
  WORKS(hsaKmtDestroyEvent(manual));
}

/* ---- queues ---------------------------------------------------------------------------------- */

typedef struct copy_queue {
  HsaQueueResource resource;
  uint32_t *ring;
  uint64_t written; /* bytes */
} copy_queue;

static uint8_t *take_memory(uint64_t nbytes) {
  HSAuint64 gpu_address;
  void *at = allocate(0, nbytes, HSAKMT_STATUS_SUCCESS);
  WORKS(hsaKmtMapMemoryToGPU(at, nbytes, &gpu_address));
  return memset(at, 0, nbytes);
}

static bool open_queue(copy_queue *queue, uint32_t *ring) {
  *queue = (copy_queue){.ring = ring};
  return hsaKmtCreateQueue(GPU, HSA_QUEUE_SDMA, 100, HSA_QUEUE_PRIORITY_NORMAL, ring, RING, NULL,
                           &queue->resource) == HSAKMT_STATUS_SUCCESS;
}

/* Numbers and doorbells are each queue's own, a freed one is given out again, and there are 127. */
static void check_queues(void) {
  static copy_queue queues[MAX_QUEUES];
  static bool is_taken[MAX_QUEUES];
  uint32_t *ring = (uint32_t *)take_memory(RING);
  for (int i = 0; i < MAX_QUEUES - 1; i++) {
    EXPECT(open_queue(&queues[i], ring));
    uint64_t id = queues[i].resource.QueueId;
    EXPECT(id > 0 && id < MAX_QUEUES && !is_taken[id]);
    is_taken[id] = true;
    HSAuint64 *doorbell = queues[i].resource.Queue_DoorBell_aql;
    EXPECT(i == 0 || doorbell != queues[i - 1].resource.Queue_DoorBell_aql);
    EXPECT(can_touch(doorbell));
  }
  copy_queue more;
  EXPECT(!open_queue(&more, ring));
  uint64_t id = queues[3].resource.QueueId;
  WORKS(hsaKmtDestroyQueue(id));
  EXPECT(hsaKmtDestroyQueue(id) == HSAKMT_STATUS_INVALID_HANDLE);
  EXPECT(open_queue(&queues[3], ring) && queues[3].resource.QueueId == id);
  for (int i = 0; i < MAX_QUEUES - 1; i++) WORKS(hsaKmtDestroyQueue(queues[i].resource.QueueId));
  WORKS(hsaKmtFreeMemory(ring, RING));
}

static void put(copy_queue *queue, const uint32_t *dwords, unsigned n) {
  memcpy((char *)queue->ring + queue->written, dwords, 4 * (size_t)n);
  queue->written += 4 * (uint64_t)n;
  emu_store64(queue->resource.Queue_write_ptr_aql, queue->written);
}
#define PUT(queue, ...) \
  put(queue, (const uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / 4)
#define AT(address) (uint32_t)(uintptr_t)(address), (uint32_t)((uintptr_t)(address) >> 32)

static void nap(void) {
  nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void wait_until_read(const copy_queue *queue) {
  while (emu_load64(queue->resource.Queue_read_ptr_aql) != queue->written) nap();
}

/* Until it has refused a packet. */
static void expect_refusal(copy_queue *queue, const char *text) {
  char fault[512] = "";
  while (roc_emulator_fault(fault, sizeof fault) == 0) {
    EXPECT(emu_load64(queue->resource.Queue_read_ptr_aql) < queue->written);
    nap();
  }
  if (!strstr(fault, text)) fail(fault, __LINE__);
  WORKS(hsaKmtDestroyQueue(queue->resource.QueueId));
  roc_emulator_clear_fault();
}

enum { COPY = 1, FENCE = 5, TRAP = 6, POLL = 8, ATOMIC = 10, FILL = 11, TIMESTAMP = 13 };
enum { WAITS = 1u << 31, EQUAL = 3 << 28, ADD64 = 47 << 25 };

/* Each kind of packet that ROCR writes. */
static void check_packets(void) {
  uint8_t *memory = take_memory(PAGE);
  uint32_t *words = (uint32_t *)memory;
  copy_queue queue;
  EXPECT(open_queue(&queue, (uint32_t *)take_memory(RING)));
  for (int i = 0; i < 64; i++) memory[i] = (uint8_t)(i + 1);
  HsaEvent *event = make_event(false);
  PUT(&queue, 0);
  PUT(&queue, COPY, 63, 0, AT(memory), AT(memory + 1001));
  PUT(&queue, POLL | WAITS | EQUAL, AT(words + 512), 0x50, 0xf0, 0);
  PUT(&queue, FENCE, AT(words + 513), 77);
  PUT(&queue, ATOMIC | ADD64, AT(words + 514), 0xffffffff, 0xffffffff, 0, 0, 0);
  PUT(&queue, TIMESTAMP | 2 << 8, AT(words + 516));
  PUT(&queue, TRAP, event->EventId);
  emu_store64(words + 514, 1);
  nap();
  EXPECT(emu_load32(words + 513) == 0); /* it waits */
  emu_store32(words + 512, 0xabcdef5a);
  WORKS(hsaKmtWaitOnEvent(event, 60000));
  wait_until_read(&queue);
  EXPECT(memcmp(memory, memory + 1001, 64) == 0 && memory[1000] == 0);
  EXPECT(words[513] == 77 && emu_load64(words + 514) == 0 && emu_load64(words + 516) != 0);
  WORKS(hsaKmtDestroyQueue(queue.resource.QueueId));
  WORKS(hsaKmtDestroyEvent(event));
  WORKS(hsaKmtFreeMemory(queue.ring, RING));
  WORKS(hsaKmtFreeMemory(memory, PAGE));
}

/* A packet that it would have to guess at stops the queue. */
static void check_refusals(void) {
  uint8_t *memory = take_memory(PAGE);
  uint32_t *ring = (uint32_t *)take_memory(RING);
  copy_queue queue;
  EXPECT(open_queue(&queue, ring));
  PUT(&queue, POLL | WAITS | 5 << 28, AT(memory), 0, 0xffffffff, 0); /* greater or equal */
  expect_refusal(&queue, "does not know the packet 0xd0000008");
  EXPECT(open_queue(&queue, ring));
  PUT(&queue, FILL | 1u << 30, AT(memory), 0x12345678, 63);
  expect_refusal(&queue, "does not know the packet 0x4000000b");
  EXPECT(open_queue(&queue, ring));
  PUT(&queue, ATOMIC | 15u << 25, AT(memory), 1, 0, 0, 0, 0);
  expect_refusal(&queue, "does not know the packet 0x1e00000a");
  WORKS(hsaKmtFreeMemory(ring, RING));
  WORKS(hsaKmtFreeMemory(memory, PAGE));
}

/* So does one that the writer or the ring's end has cut. */
static void check_cut(void) {
  uint8_t *memory = take_memory(2 * PAGE);
  uint32_t *ring = (uint32_t *)memory;
  copy_queue queue;
  EXPECT(open_queue(&queue, ring));
  PUT(&queue, COPY, 3, 0, AT(memory + PAGE), AT(memory + PAGE + 64));
  PUT(&queue, FENCE, AT(memory + PAGE));
  expect_refusal(&queue, "does not have the end of the packet 0x00000005");
  memset(memory, 0, PAGE); /* packets that do nothing, up to the last two dwords */
  ring[RING / 4 - 2] = ATOMIC | ADD64;
  EXPECT(open_queue(&queue, ring));
  queue.written = RING + 24;
  emu_store64(queue.resource.Queue_write_ptr_aql, queue.written);
  expect_refusal(&queue, "does not have the end of the packet 0x5e00000a");
  WORKS(hsaKmtFreeMemory(memory, 2 * PAGE));
}

/* ---- clocks ---------------------------------------------------------------------------------- */

static uint64_t boot_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Newer ROCRs read the system's time by themselves, and compare it with the driver's. */
static void check_clocks(void) {
  HsaClockCounters counters;
  uint64_t before = boot_ns();
  WORKS(hsaKmtGetClockCounters(0, &counters));
  uint64_t after = boot_ns();
  EXPECT(counters.SystemClockFrequencyHz == 1000000000);
  EXPECT(counters.SystemClockCounter >= before && counters.SystemClockCounter <= after);
  EXPECT(counters.GPUClockCounter == counters.SystemClockCounter / EMU_TICK_NS);
}

/* ---- all ------------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  void (*run)(void);
} checks[] = {
    {"overlaps", check_overlaps}, {"vram", check_vram},     {"events", check_events},
    {"raising", check_raising},   {"queues", check_queues}, {"packets", check_packets},
    {"refusals", check_refusals}, {"cut", check_cut},       {"clocks", check_clocks},
};

int main(int argc, char **argv) {
  setenv("ROCLUA_EMULATE", "gfx90a", 1);
  setenv("ROCLUA_EMULATE_MEMORY", "64", 1);
  for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
    if (argc < 2) printf("%s\n", checks[i].name);
    if (argc < 2 || strcmp(argv[1], checks[i].name) != 0) continue;
    WORKS(hsaKmtOpenKFD());
    checks[i].run();
    EXPECT(roc_emulator_live() == 0);
    WORKS(hsaKmtCloseKFD());
    printf("ok\n");
  }
  return 0;
}
