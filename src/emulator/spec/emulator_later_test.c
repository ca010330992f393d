/* The emulator's driver library as ROCRs of later releases use it, opened by the name that they
 * open, for later_spec.lua.
 *
 *   emulator_later_test CHECK LIBRARIES    runs the check of that name; prints "ok"
 *   emulator_later_test                    prints the checks' names
 *
 * LIBRARIES is the folder of libdtif.so, DOUBLES (a macro) that of the stand-ins for ROCR. */
#include <dlfcn.h>
#include <hsakmt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAGE = 4096, GPU = 1, RING = 4096 };

static void *library;

static void fail(const char *what, int line) {
  fprintf(stderr, "emulator_later_test:%d: %s\n", line, what);
  exit(1);
}
#define EXPECT(condition)                         \
  do {                                            \
    if (!(condition)) fail(#condition, __LINE__); \
  } while (0)

/* Any of the functions, with any arguments. */
typedef HSAKMT_STATUS any_function();
static any_function *find(const char *name) {
  any_function *function = (any_function *)(uintptr_t)dlsym(library, name);
  if (!function) fail(name, __LINE__);
  return function;
}
#define CALL(name, ...) find(#name)(__VA_ARGS__)
#define WORKS(name, ...) EXPECT(CALL(name, __VA_ARGS__) == HSAKMT_STATUS_SUCCESS)

/* ---- structures ------------------------------------------------------------------------------ */

/* Lengths, and where some fields are, in words, as the headers of a release have them. */
typedef struct release {
  const char *name;
  unsigned node_words, link_words, banks_at, lds_at, vendor_at, family_at, flags_at;
} release;

static const release releases[] = {
    {"602", 89, 12, 2, 9, 18, 88, 11},
    {"603", 90, 13, 2, 9, 19, 89, 12},
    {"604", 91, 13, 3, 10, 20, 90, 12},
    {"700", 92, 13, 3, 11, 21, 91, 12},
};

static void open_as(const char *name) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/librocr_double_%s.so", DOUBLES, name);
  void *rocr = dlopen(path, RTLD_NOW);
  if (!rocr) fail(dlerror(), __LINE__);
  int (*open_driver)(any_function *) =
      (int (*)(any_function *))(uintptr_t)dlsym(rocr, "double_open");
  EXPECT(open_driver && open_driver(find("hsaKmtOpenKFD")) == HSAKMT_STATUS_SUCCESS);
}

static void check_node(const release *r) {
  enum { UNTOUCHED = 0x5a5a5a5a, ROOM = 120, VENDOR_AMD = 0x1002 };
  uint32_t node[ROOM];
  for (int i = 0; i < ROOM; i++) node[i] = UNTOUCHED;
  WORKS(hsaKmtGetNodeProperties, GPU, node);
  EXPECT(node[r->node_words - 1] != UNTOUCHED && node[r->node_words] == UNTOUCHED);
  EXPECT(node[1] != 0 && node[r->banks_at] == 3 && node[r->lds_at] == 64);
  EXPECT((node[r->vendor_at] & 0xffff) == VENDOR_AMD);
  EXPECT(node[r->family_at] == 141 && node[r->family_at - 1] == 0x1001); /* the GPU's number */
  EXPECT(node[r->family_at - 2] == 1);                                   /* XCCs */
}

/* Two links: where the second begins says how long they are. */
static void check_links(const release *r) {
  uint32_t links[3 * 16];
  memset(links, 0x5a, sizeof links);
  WORKS(hsaKmtGetNodeIoLinkProperties, GPU, 2, links);
  const uint32_t *second = links + r->link_words;
  EXPECT(links[0] == HSA_IOLINKTYPE_PCIEXPRESS && links[3] == GPU && links[4] == 0);
  EXPECT(second[0] == HSA_IOLINKTYPE_PCIEXPRESS && second[3] == GPU && second[4] == 2);
  EXPECT(second[r->flags_at] == 0xd); /* Override, and no atomics */
  EXPECT(second[r->link_words] == 0x5a5a5a5a);
}

static void check_layouts(void) {
  setenv("ROCLUA_EMULATE", "gfx90a,gfx90a", 1);
  setenv("ROCLUA_EMULATE_PCIE_ATOMICS", "0", 1);
  for (size_t i = 0; i < sizeof releases / sizeof *releases; i++) {
    open_as(releases[i].name);
    check_node(&releases[i]);
    check_links(&releases[i]);
    WORKS(hsaKmtCloseKFD);
  }
}

/* ---- functions ------------------------------------------------------------------------------- */

/* What ROCm 7 looks up, from August 2025 on. One that is missing ends its look. */
static void check_names(void) {
  static const char *const names[] = {
#define NAME(name) #name,
#include "dtif_names.def"
#undef NAME
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) find(names[i]);
  void *driver = dlopen("libhsakmt.so.1", RTLD_NOW | RTLD_NOLOAD);
  EXPECT(driver && dlsym(driver, "hsaKmtOpenKFD") && !dlsym(driver, "amdgpu_bo_free"));
}

static void check_answers(void) {
  HSAuint32 caps = 0;
  HSAuint64 frequency = 0, left = 0, less = 0;
  bool is_model = true;
  uint32_t info[100];
  void *device = NULL, *block = NULL;
  HsaMemFlags flags = {.ui32 = {.NonPaged = 1, .HostAccess = 1}};
  memset(info, 0x5a, sizeof info);
  open_as("700");
  WORKS(hsaKmtGetRuntimeCapabilities, &caps);
  EXPECT(caps >> 31); /* or ROCR writes files */
  WORKS(hsaKmtModelEnabled, &is_model);
  EXPECT(!is_model);
  WORKS(hsaKmtGetNodeWallclockFrequency, GPU, &frequency);
  EXPECT(frequency == 100000000);
  WORKS(hsaKmtGetAMDGPUDeviceHandle, GPU, &device);
  EXPECT(device && CALL(amdgpu_query_gpu_info, device, info) == 0);
  EXPECT(info[18] == 100000 && info[20] == 0x5a5a5a5a);
  WORKS(hsaKmtAvailableMemory, GPU, &left);
  EXPECT(CALL(hsaKmtAvailableMemory, 0, &left) == HSAKMT_STATUS_INVALID_NODE_UNIT);
  uint64_t nbytes = 3 * PAGE, alignment = 1 << 21;
  for (int i = 0; i < 8; i++) {
    WORKS(hsaKmtAllocMemoryAlign, GPU, nbytes, alignment, flags, &block);
    EXPECT(block && (uintptr_t)block % alignment == 0);
    memset(block, 1, nbytes);
  }
  WORKS(hsaKmtAvailableMemory, GPU, &less);
  EXPECT(left - less == 8 * nbytes);
  EXPECT(CALL(hsaKmtAllocMemoryAlign, GPU, nbytes, (uint64_t)12345, flags, &block) ==
         HSAKMT_STATUS_INVALID_PARAMETER);
  for (uint32_t split = 1 << 18; split <= 1 << 19; split <<= 1) {
    HsaMemFlags other = {.Value = flags.Value | split};
    EXPECT(CALL(hsaKmtAllocMemory, GPU, nbytes, other, &block) == HSAKMT_STATUS_NOT_SUPPORTED);
  }
  EXPECT(CALL(hsaKmtExportDMABufHandle, block) == HSAKMT_STATUS_NOT_SUPPORTED);
  WORKS(hsaKmtCloseKFD);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static uint8_t *take_memory(uint64_t nbytes) {
  HsaMemFlags flags = {.ui32 = {.NonPaged = 1, .HostAccess = 1}};
  HSAuint64 gpu_address;
  void *at = NULL;
  WORKS(hsaKmtAllocMemory, 0, nbytes, flags, &at);
  WORKS(hsaKmtMapMemoryToGPU, at, nbytes, &gpu_address);
  return at;
}

/* One packet of more than 4 MiB, to a queue of the engine that the caller names. */
static void check_large_copy(void) {
  enum { COPY = 1, BY_ENGINE = 6 };
  const uint64_t nbytes = (5 << 20) + 12;
  open_as("700");
  uint8_t *from = take_memory(8 << 20), *to = take_memory(8 << 20);
  uint32_t *ring = (uint32_t *)take_memory(RING);
  HsaQueueResource queue = {0};
  for (uint64_t i = 0; i < nbytes; i++) from[i] = (uint8_t)(i * 7 >> 3);
  memset(to, 0, 8 << 20);
  WORKS(hsaKmtCreateQueueExt, GPU, BY_ENGINE, 100, HSA_QUEUE_PRIORITY_NORMAL, 1, ring,
        (uint64_t)RING, NULL, &queue);
  uint64_t src = (uintptr_t)from, dst = (uintptr_t)to;
  const uint32_t packet[7] = {COPY,      (uint32_t)nbytes - 1, 0,        (uint32_t)src,
                              src >> 32, (uint32_t)dst,        dst >> 32};
  memcpy(ring, packet, sizeof packet);
  __atomic_store_n(queue.Queue_write_ptr_aql, sizeof packet, __ATOMIC_RELEASE);
  WORKS(hsaKmtQueueRingDoorbell, queue.QueueId);
  while (__atomic_load_n(queue.Queue_read_ptr_aql, __ATOMIC_ACQUIRE) != sizeof packet) {
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  EXPECT(memcmp(from, to, nbytes) == 0 && to[nbytes] == 0);
  WORKS(hsaKmtDestroyQueue, queue.QueueId);
  WORKS(hsaKmtCloseKFD);
}

/* ---- all ------------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  void (*run)(void);
} checks[] = {
    {"layouts", check_layouts},
    {"names", check_names},
    {"answers", check_answers},
    {"large_copy", check_large_copy},
};

int main(int argc, char **argv) {
  setenv("ROCLUA_EMULATE", "gfx90a", 1);
  setenv("ROCLUA_EMULATE_MEMORY", "64", 1);
  for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
    if (argc < 2) printf("%s\n", checks[i].name);
    if (argc < 3 || strcmp(argv[1], checks[i].name) != 0) continue;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/libdtif.so", argv[2]);
    library = dlopen(path, RTLD_NOW);
    if (!library) fail(dlerror(), __LINE__);
    checks[i].run();
    printf("ok\n");
  }
  return 0;
}
