/* The hsa driver on hardware that fails silently, and on what only newer ROCRs have: each
 * failure is one that the software GPU is told to have, or a function of ROCR that is replaced.
 *
 * Usage: hsa_silent_test TEST; exit status 0 and "ok TEST", or a message and 1.  Without arguments
 * lists the tests. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "device/hsa/driver.h"
#include "emulator/include/emulator.h"
#include "hsa_fixture.h"

enum { NBYTES = 8 << 20, SECOND = 1000000000 };

static roc_dev_stream *stream;
static roc_devptr block;
static void *host; /* page-locked: the copy engine takes all of it at once */

static void inject(roc_emulator_failure failure, unsigned count) {
  void (*set)(roc_emulator_failure, unsigned) = (void (*)(roc_emulator_failure, unsigned))(
      uintptr_t)dlsym(RTLD_DEFAULT, "roc_emulator_inject");
  CHECK(set);
  set(failure, count);
}

/* A device whose waits have that patience. */
static void open_all(uint64_t timeout_ns) {
  open_device();
  OK(ops->stream_create(device, &stream, &err));
  OK(ops->alloc(device, NBYTES, &block, &err));
  OK(ops->alloc_host(device, NBYTES, &host, &err));
  roc_hsa_sys.copy_timeout_ns = timeout_ns;
}

static void close_all(void) {
  ops->free_host(device, host);
  ops->free(device, block);
  ops->stream_destroy(stream);
  close_device();
}

/* Ends a test that cannot end as others do. */
static void leave(const char *test) {
  printf("ok %s\n", test);
  fflush(stdout);
  _Exit(EXIT_SUCCESS);
}

static void expect_lost(roc_ticket ticket, const char *text) {
  bool is_done = false;
  CHECK(ops->wait(stream, ticket, 60ll * SECOND, &is_done, &err) == ROC_LOST);
  CHECK(device->is_lost && strstr(err.message, text));
}

static roc_ticket copy_all(void) {
  roc_ticket ticket;
  OK(ops->copy(stream, block, (roc_devptr)(uintptr_t)host, NBYTES, ROC_COPY_H2D, &ticket, &err));
  return ticket;
}

/* ---- completions that are lost ------------------------------------------- */

static void test_copy(void) {
  open_all(SECOND / 5);
  inject(ROC_EMULATOR_LOST_COPY, 1);
  expect_lost(copy_all(), "a copy or fill of 8388608 bytes has not ended");
  leave("copy"); /* what the GPU has is given up */
}

/* Through page-locked blocks, by the queue's thread. */
static void test_staged_copy(void) {
  roc_ticket ticket;
  open_all(SECOND / 5);
  char *pageable = calloc(1, NBYTES);
  CHECK(pageable);
  inject(ROC_EMULATOR_LOST_COPY, 1);
  OK(ops->copy(stream, block, (roc_devptr)(uintptr_t)pageable, NBYTES, ROC_COPY_H2D, &ticket,
               &err));
  expect_lost(ticket, "a copy or fill of 1048576 bytes has not ended");
  leave("staged_copy");
}

/* A thread that only asks finds it as well. */
static void test_asking(void) {
  open_all(SECOND / 5);
  inject(ROC_EMULATOR_LOST_COPY, 1);
  roc_ticket ticket = copy_all();
  while (!device->is_lost) {
    CHECK(!ops->is_done(stream, ticket));
    ops->watch(device);
  }
  CHECK(strstr(device->lost_why, "has not ended"));
  leave("asking");
}

static void test_queue(void) {
  roc_ticket ticket;
  uint64_t time;
  open_all(SECOND / 50);
  inject(ROC_EMULATOR_LOST_QUEUE, 1);
  OK(ops->stamp(stream, &time, &ticket, &err));
  expect_lost(ticket, "a queue of the device has not begun its next work");
  leave("queue");
}

static void call_host(void *ud) {
  roc_ticket *ticket = ud;
  bool is_done = false;
  CHECK(ops->wait(stream, *ticket, 2ll * SECOND, &is_done, &err) == ROC_OK && !is_done);
}

/* The host may take its time, the queue has its own after it, and a copy that ends in time is none
 * that was lost. */
static void test_patience(void) {
  roc_ticket ticket;
  open_all(SECOND / 10); /* 1 s for the queue */
  roc_ticket never = UINT64_MAX / 2;
  OK(ops->host_call(stream, call_host, &never, &ticket, &err));
  while (!device->is_lost && !ops->is_done(stream, ticket)) ops->watch(device);
  CHECK(!device->is_lost);
  roc_hsa_sys.copy_timeout_ns = 20ull * SECOND;
  for (int i = 0; i < 20; i++) await(stream, copy_all());
  CHECK(!device->is_lost);
  close_all();
}

/* ---- times --------------------------------------------------------------- */

/* An event has the time at which the host found it complete, in order with others. */
static void test_times(void) {
  static const roc_emulator_failure failures[] = {ROC_EMULATOR_WRONG_TIME, ROC_EMULATOR_NO_TIME,
                                                  ROC_EMULATOR_BACKWARD_TIME};
  enum { COUNT = 2 * sizeof failures / sizeof *failures };
  uint64_t times[COUNT] = {0}, now, before;
  roc_ticket ticket;
  open_all(0);
  before = roc_hsa_read_clock();
  for (size_t i = 0; i < COUNT; i++) {
    inject(failures[i / 2], i % 2);
    OK(ops->stamp(stream, &times[i], &ticket, &err));
    await(stream, ticket);
  }
  now = roc_hsa_read_clock();
  for (size_t i = 0; i < COUNT; i++) {
    CHECK(times[i] + 1000000 >= before && times[i] <= now + 1000000);
    CHECK(i == 0 || times[i] >= times[i - 1]);
  }
  close_all();
}

/* ---- memory -------------------------------------------------------------- */

static hsa_agent_t other_cpu = {12345}; /* a NUMA node that ROCR does not have */
static _Atomic uint64_t copied_from;

static hsa_status_t iterate_more(hsa_status_t (*visit)(hsa_agent_t, void *), void *ud) {
  hsa_status_t status = real.hsa_iterate_agents(visit, ud);
  return status == HSA_STATUS_SUCCESS ? visit(other_cpu, ud) : status;
}

static hsa_status_t tell_of_agent(hsa_agent_t agent, hsa_agent_info_t what, void *out) {
  if (agent.handle != other_cpu.handle) return real.hsa_agent_get_info(agent, what, out);
  if (what != HSA_AGENT_INFO_DEVICE) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  *(hsa_device_type_t *)out = HSA_DEVICE_TYPE_CPU;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t move_owner(const void *ptr, hsa_amd_pointer_info_t *info,
                               void *(*alloc)(size_t), uint32_t *count, hsa_agent_t **agents) {
  hsa_status_t status = real.hsa_amd_pointer_info(ptr, info, alloc, count, agents);
  if (ptr == host) info->agentOwner = other_cpu;
  return status;
}

static hsa_status_t note_copy(void *dst, hsa_agent_t dst_agent, const void *src,
                              hsa_agent_t src_agent, size_t nbytes, uint32_t ndeps,
                              const hsa_signal_t *deps, hsa_signal_t done) {
  atomic_store(&copied_from, src_agent.handle);
  return real.hsa_amd_memory_async_copy(dst, dst_agent, src, roc_hsa_sys.cpus[0], nbytes, ndeps,
                                        deps, done);
}

/* ROCR chooses the engine by the agents of a copy: they must own the memory. */
static void test_owner(void) {
  roc_hsa.hsa_iterate_agents = iterate_more;
  roc_hsa.hsa_agent_get_info = tell_of_agent;
  open_all(0);
  roc_hsa.hsa_amd_pointer_info = move_owner;
  roc_hsa.hsa_amd_memory_async_copy = note_copy;
  await(stream, copy_all());
  CHECK(copied_from == other_cpu.handle);
  roc_hsa.hsa_amd_pointer_info = real.hsa_amd_pointer_info;
  await(stream, copy_all());
  CHECK(copied_from == roc_hsa_sys.cpu.handle);
  close_all();
}

static hsa_status_t only_reserve(const void *ptr, hsa_amd_pointer_info_t *info,
                                 void *(*alloc)(size_t), uint32_t *count, hsa_agent_t **agents) {
  enum { RESERVED_ADDR = 5 };
  hsa_status_t status = real.hsa_amd_pointer_info(ptr, info, alloc, count, agents);
  if (ptr == host) info->type = (hsa_amd_pointer_type_t)RESERVED_ADDR;
  return status;
}

/* Addresses without memory are refused before an engine meets them. */
static void test_reserved(void) {
  roc_ticket ticket;
  open_all(0);
  roc_hsa.hsa_amd_pointer_info = only_reserve;
  roc_status status =
      ops->copy(stream, block, (roc_devptr)(uintptr_t)host, NBYTES, ROC_COPY_H2D, &ticket, &err);
  CHECK(status == ROC_INVALID && strstr(err.message, "is reserved, and has no memory"));
  roc_hsa.hsa_amd_pointer_info = real.hsa_amd_pointer_info;
  close_all();
}

static int told_type;

static hsa_status_t tell_type(const void *ptr, hsa_amd_pointer_info_t *info, void *(*alloc)(size_t),
                              uint32_t *count, hsa_agent_t **agents) {
  hsa_status_t status = real.hsa_amd_pointer_info(ptr, info, alloc, count, agents);
  if (info->type == HSA_EXT_POINTER_TYPE_HSA) info->type = (hsa_amd_pointer_type_t)told_type;
  return status;
}

/* Pointer types that only newer ROCR has, and one that none has, are copied like other memory: it
 * lies where its owner is. */
static void test_kinds(void) {
  enum { VMEM = 6, UNHEARD_OF = 77, SMALL = 4096 };
  static const int kinds[] = {HSA_EXT_POINTER_TYPE_IPC, VMEM, UNHEARD_OF};
  roc_ticket ticket;
  unsigned char *bytes = host;
  open_all(20ull * SECOND);
  bytes = host;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    roc_hsa_pointer_info place;
    told_type = kinds[i];
    roc_hsa.hsa_amd_pointer_info = tell_type;
    OK(roc_hsa_find_pointer_info((void *)(uintptr_t)block, SMALL, &place, &err));
    CHECK(place.kind == ROC_HSA_DEVICE);
    OK(roc_hsa_find_pointer_info(host, SMALL, &place, &err));
    CHECK(place.kind == ROC_HSA_PINNED && place.agent.handle == roc_hsa_sys.cpu.handle);
    memset(bytes, 5 + (int)i, SMALL);
    OK(ops->copy(stream, block, (roc_devptr)(uintptr_t)host, SMALL, ROC_COPY_H2D, &ticket, &err));
    await(stream, ticket);
    memset(bytes, 0, SMALL);
    OK(ops->copy(stream, (roc_devptr)(uintptr_t)host, block, SMALL, ROC_COPY_D2H, &ticket, &err));
    await(stream, ticket);
    CHECK(bytes[0] == 5 + i && bytes[SMALL - 1] == 5 + i);
    roc_hsa.hsa_amd_pointer_info = real.hsa_amd_pointer_info;
  }
  close_all();
}

/* A pool that is fine grained in the new, wider sense alone, which is listed before the others. */
static hsa_amd_memory_pool_t wide_pool = {54321};
static _Atomic unsigned given_out;

static hsa_status_t list_more(hsa_agent_t agent,
                              hsa_status_t (*visit)(hsa_amd_memory_pool_t, void *), void *ud) {
  hsa_status_t status = visit(wide_pool, ud);
  return status == HSA_STATUS_SUCCESS ? real.hsa_amd_agent_iterate_memory_pools(agent, visit, ud)
                                      : status;
}

static hsa_status_t tell_of_pool(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t what,
                                 void *out) {
  enum { EXTENDED_SCOPE_FINE_GRAINED = 8 };
  if (pool.handle != wide_pool.handle) return real.hsa_amd_memory_pool_get_info(pool, what, out);
  switch (what) {
    case HSA_AMD_MEMORY_POOL_INFO_SEGMENT:
      *(hsa_amd_segment_t *)out = HSA_AMD_SEGMENT_GLOBAL;
      return HSA_STATUS_SUCCESS;
    case HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS:
      *(uint32_t *)out = EXTENDED_SCOPE_FINE_GRAINED;
      return HSA_STATUS_SUCCESS;
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED:
      *(bool *)out = true;
      return HSA_STATUS_SUCCESS;
    case HSA_AMD_MEMORY_POOL_INFO_SIZE: *(size_t *)out = 1 << 30; return HSA_STATUS_SUCCESS;
    default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
}

static hsa_status_t note_pool(hsa_amd_memory_pool_t pool, size_t nbytes, uint32_t flags,
                              void **out) {
  if (pool.handle == wide_pool.handle) given_out++;
  return real.hsa_amd_memory_pool_allocate(pool, nbytes, flags, out);
}

static void test_wide_pool(void) {
  roc_hsa.hsa_amd_agent_iterate_memory_pools = list_more;
  roc_hsa.hsa_amd_memory_pool_get_info = tell_of_pool;
  roc_hsa.hsa_amd_memory_pool_allocate = note_pool;
  open_all(20ull * SECOND);
  await(stream, copy_all());
  CHECK(given_out == 0);
  close_all();
}

/* ---- files --------------------------------------------------------------- */

static char wanted[8];

static hsa_status_t note_wish(void) {
  const char *wish = getenv("HSA_DISABLE_COREDUMP_ON_EXCEPTION");
  snprintf(wanted, sizeof wanted, "%s", wish ? wish : "unset");
  return real.hsa_init();
}

/* ROCR is told not to write the GPU's memory to a file, unless the user says otherwise. */
static void test_core_file(void) {
  uint32_t count;
  roc_hsa.hsa_init = note_wish;
  unsetenv("HSA_DISABLE_COREDUMP_ON_EXCEPTION");
  open_device();
  CHECK(strcmp(wanted, "1") == 0);
  close_device();
  setenv("HSA_DISABLE_COREDUMP_ON_EXCEPTION", "0", 1);
  OK(ops->probe(&count, &err));
  CHECK(strcmp(wanted, "0") == 0);
}

static const struct {
  const char *name;
  void (*run)(void);
} tests[] = {
    {"copy", test_copy},   {"staged_copy", test_staged_copy}, {"asking", test_asking},
    {"queue", test_queue}, {"patience", test_patience},       {"times", test_times},
    {"owner", test_owner}, {"reserved", test_reserved},       {"core_file", test_core_file},
    {"kinds", test_kinds}, {"wide_pool", test_wide_pool}};

int main(int argc, char **argv) {
  if (argc > 1) load_rocr();
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
    if (argc < 2) {
      puts(tests[i].name);
    } else if (strcmp(tests[i].name, argv[1]) == 0) {
      tests[i].run();
      printf("ok %s\n", argv[1]);
    }
  }
  return EXIT_SUCCESS;
}
