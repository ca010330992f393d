/* The hsa driver through its table of ops: what a script cannot bring about.
 *
 * Takes two code objects for gfx90a with the same kernel symbol: one whose kernel does nothing, and
 * one whose kernel traps.  Usage: hsa_test TEST GOOD BAD SYMBOL; exit status 0 and "ok TEST", or a
 * message and 1.  Without arguments lists the tests.  The GPU is the one of ROCLUA_EMULATE, or a
 * real one. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "device/device.h"
#include "emulator/include/emulator.h"

static roc_error err;
static roc_device *device;
static const roc_device_ops *ops = &roc_hsa_ops;
static const char *symbol;
static roc_codeobj good_object, bad_object;
static roc_dev_module *good, *bad;

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      printf("%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, err.message); \
      exit(EXIT_FAILURE);                                                      \
    }                                                                          \
  } while (0)
#define OK(call) CHECK((call) == ROC_OK)

static void read_object(const char *path, roc_codeobj *out) {
  FILE *file = fopen(path, "rb");
  CHECK(file);
  enum { MOST = 1 << 20 };
  unsigned char *bytes = malloc(MOST);
  CHECK(bytes);
  size_t nbytes = fread(bytes, 1, MOST, file);
  fclose(file);
  *out = (roc_codeobj){.target = "gfx90a", .entry = symbol, .bytes = bytes, .nbytes = nbytes};
}

static roc_ticket launch(roc_dev_stream *stream, roc_dev_module *module, uint32_t line) {
  static const roc_ndrange range = {.grid = {64, 1, 1}, .local = {64, 1, 1}, .rank = 1};
  roc_dev_launch work = {.module = module,
                         .range = &range,
                         .name = module == bad ? "bad" : "good",
                         .file = "test.lua",
                         .line = line};
  roc_ticket ticket = 0;
  OK(ops->launch(stream, &work, &ticket, &err));
  return ticket;
}

static void await(roc_dev_stream *stream, roc_ticket ticket) {
  bool is_done = false;
  OK(ops->wait(stream, ticket, 20000000000, &is_done, &err));
  CHECK(is_done && ops->is_done(stream, ticket));
}

static bool has_failed(roc_dev_stream *stream, roc_ticket ticket) {
  uint64_t failure;
  return ops->find_failure(stream, ticket, &failure, &err);
}

static roc_dev_stream *new_stream(void) {
  roc_dev_stream *stream;
  OK(ops->stream_create(device, &stream, &err));
  return stream;
}

/* ---- tests --------------------------------------------------------------- */

static void test_order(void) {
  roc_dev_stream *stream = new_stream();
  roc_ticket last = 0;
  for (uint32_t i = 0; i < 1000; i++) {
    roc_ticket ticket = launch(stream, good, i);
    CHECK(ticket > last);
    last = ticket;
  }
  await(stream, last);
  CHECK(!has_failed(stream, last));
  ops->stream_destroy(stream);
}

static void call_after(void *ud) {
  ++*(int *)ud;
}

/* The queue stops at the kernel that traps; what is behind it fails with it, others go on. */
static void test_stop(void) {
  enum { ROUNDS = 12 };
  roc_dev_stream *stopped = new_stream(), *other = new_stream();
  int calls = 0;
  for (uint32_t round = 0; round < ROUNDS; round++) {
    roc_ticket before = launch(stopped, good, 1), culprit = launch(stopped, bad, round);
    uint64_t time = 0;
    roc_ticket stamp, waiting, behind;
    OK(ops->stamp(stopped, &time, &stamp, &err));
    OK(ops->stream_wait(other, stopped, stamp, &waiting, &err));
    roc_ticket on_other = launch(other, good, 1);
    OK(ops->host_call(stopped, call_after, &calls, &behind, &err));
    await(stopped, behind);
    await(other, on_other);
    CHECK(!has_failed(stopped, before));
    CHECK(!has_failed(other, on_other));
    CHECK(has_failed(stopped, culprit));
    char expected[80];
    snprintf(expected, sizeof expected, "kernel 'bad' launched at test.lua:%u was stopped", round);
    CHECK(strstr(err.message, expected));
    CHECK(!device->is_lost && time > 0);
    roc_ticket after = launch(stopped, good, 1);
    await(stopped, after);
    CHECK(!has_failed(stopped, after));
  }
  ops->stream_destroy(stopped);
  ops->stream_destroy(other);
}

static void hold_back(void *ud) {
  while (!__atomic_load_n((int *)ud, __ATOMIC_ACQUIRE)) continue;
}

/* One stream waits for the host while another takes more than its queue holds. */
static void test_full(void) {
  enum { LAUNCHES = 50000 };
  roc_dev_stream *held = new_stream(), *busy = new_stream();
  int is_open = 0;
  roc_ticket call, last = 0;
  OK(ops->host_call(held, hold_back, &is_open, &call, &err));
  for (uint32_t i = 0; i < 10000; i++) last = launch(held, good, i);
  roc_ticket ticket = 0;
  for (uint32_t i = 0; i < LAUNCHES; i++) ticket = launch(busy, good, i);
  await(busy, ticket);
  CHECK(!ops->is_done(held, call));
  __atomic_store_n(&is_open, 1, __ATOMIC_RELEASE);
  await(held, last);
  ops->stream_destroy(held);
  ops->stream_destroy(busy);
}

/* Two queues for three streams: one stream's wait for another queue is given up when a kernel of
 * the stream beside it stops the queue, so that the queue can be used again at once. */
static void test_shared(void) {
  roc_dev_stream *first = new_stream(), *other = new_stream(), *beside = new_stream();
  int other_open = 0, beside_open = 0;
  roc_ticket held, call, waiting;
  OK(ops->host_call(other, hold_back, &other_open, &held, &err));
  OK(ops->host_call(beside, hold_back, &beside_open, &call, &err));
  roc_ticket culprit = launch(beside, bad, 1);
  OK(ops->stream_wait(first, other, held, &waiting, &err));
  __atomic_store_n(&beside_open, 1, __ATOMIC_RELEASE);
  await(beside, culprit);
  roc_ticket after = launch(beside, good, 1);
  await(beside, after);
  CHECK(!ops->is_done(other, held) && !has_failed(beside, after));
  CHECK(has_failed(first, waiting));
  __atomic_store_n(&other_open, 1, __ATOMIC_RELEASE);
  await(other, held);
  ops->stream_destroy(first);
  ops->stream_destroy(other);
  ops->stream_destroy(beside);
}

static void sleep_second(void *unused) {
  (void)unused;
  nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
}

/* Neither having nothing to do nor waiting for the host's part of a stream burns a core, of the
 * driver or the software GPU. */
static void test_idle(void) {
  roc_dev_stream *stream = new_stream();
  await(stream, launch(stream, good, 1));
  clock_t begin = clock();
  sleep_second(NULL);
  double idle = (double)(clock() - begin) / CLOCKS_PER_SEC;
  roc_ticket ticket;
  begin = clock();
  OK(ops->host_call(stream, sleep_second, NULL, &ticket, &err));
  ticket = launch(stream, good, 1);
  await(stream, ticket);
  double waiting = (double)(clock() - begin) / CLOCKS_PER_SEC;
  printf("%.0f ms of processor time in an idle second, %.0f in one of waiting\n", idle * 1e3,
         waiting * 1e3);
  CHECK(idle < 0.5 && waiting < 0.5);
  ops->stream_destroy(stream);
}

static void test_shape(void) {
  roc_dev_stream *stream = new_stream();
  roc_ndrange range = {.grid = {(uint64_t)1 << 32, 1, 1}, .local = {64, 1, 1}, .rank = 1};
  roc_dev_launch work = {.module = good, .range = &range};
  roc_ticket ticket;
  CHECK(ops->launch(stream, &work, &ticket, &err) == ROC_INVALID);
  CHECK(strstr(err.message, "4294967296 work-items in dimension 1 are over the limit 4294967295"));
  ops->stream_destroy(stream);
}

static void test_overhead(void) {
  enum { ROUNDS = 50, LAUNCHES = 2000 };
  roc_dev_stream *stream = new_stream();
  uint64_t least = UINT64_MAX;
  for (int round = 0; round < ROUNDS; round++) {
    roc_ticket ticket = 0;
    uint64_t begin = roc_clock_ns();
    for (uint32_t i = 0; i < LAUNCHES; i++) ticket = launch(stream, good, i);
    uint64_t took = roc_clock_ns() - begin;
    if (took < least) least = took;
    await(stream, ticket);
  }
  printf("%.0f ns a launch\n", (double)least / LAUNCHES);
  CHECK(least / LAUNCHES < 20000);
  ops->stream_destroy(stream);
}

/* A failure stops the queue before the kernel ran, and the packet's signal stays as it is: the work
 * fails with the reason, and the stream goes on.  A real GPU cannot be told to fail so. */
static void check_refused(roc_emulator_failure failure, const char *reason) {
  void (*inject)(roc_emulator_failure, unsigned) = (void (*)(roc_emulator_failure, unsigned))(
      uintptr_t)dlsym(RTLD_DEFAULT, "roc_emulator_inject");
  if (!inject) return;
  roc_dev_stream *stream = new_stream();
  for (uint32_t i = 0; i < 3; i++) {
    inject(failure, 1);
    roc_ticket refused = launch(stream, good, i);
    await(stream, refused);
    CHECK(has_failed(stream, refused) && strstr(err.message, reason));
    roc_ticket next = launch(stream, good, i);
    await(stream, next);
    CHECK(!has_failed(stream, next));
  }
  ops->stream_destroy(stream);
}

/* A status of newer ROCR. */
static void test_registers(void) {
  check_refused(ROC_EMULATOR_NO_REGISTERS, "more registers than");
}

static void test_scratch(void) {
  check_refused(ROC_EMULATOR_NO_SCRATCH, "no memory for the private arrays");
}

static const struct {
  const char *name;
  void (*run)(void);
} tests[] = {{"order", test_order},       {"stop", test_stop},           {"full", test_full},
             {"shared", test_shared},     {"idle", test_idle},           {"shape", test_shape},
             {"overhead", test_overhead}, {"registers", test_registers}, {"scratch", test_scratch}};

int main(int argc, char **argv) {
  if (argc == 1) {
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) puts(tests[i].name);
    return EXIT_SUCCESS;
  }
  CHECK(argc == 5);
  symbol = argv[4];
  read_object(argv[2], &good_object);
  read_object(argv[3], &bad_object);
  uint32_t count;
  if (strcmp(argv[1], "shared") == 0) CHECK(setenv("ROCLUA_HSA_QUEUES", "2", 1) == 0);
  OK(ops->probe(&count, &err));
  OK(ops->open(0, &device, &err));
  OK(ops->module_load(device, &good_object, &good, &err));
  OK(ops->module_load(device, &bad_object, &bad, &err));
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
    if (strcmp(tests[i].name, argv[1]) == 0) tests[i].run();
  }
  ops->module_unload(device, bad);
  ops->module_unload(device, good);
  if (ops->quiesce) ops->quiesce(device);
  ops->close(device);
  printf("ok %s\n", argv[1]);
  return EXIT_SUCCESS;
}
