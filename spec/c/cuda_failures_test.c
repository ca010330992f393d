/* The cuda driver when calls of the driver library fail: all functions, with all results, and our
 * own allocations; and on a library that wants a launch's context current.
 *
 * The library is the stand-in of fake_cuda.h; ROCLUA_CUDA_LIBRARY names it.  Usage:
 * cuda_failures_test TEST; exit status 0 and "ok TEST", or a message and 1.  Without arguments lists
 * the tests. */
#include "base/alloc.h"
#include "cuda_fixture.h"
#include "scatter_views.h"

/* ---- failures ------------------------------------------------------------------------------------------------ */

static void add_one(void *ud) {
  ++*(int *)ud;
}

static bool went_well(roc_status status) {
  CHECK(status == ROC_OK || err.message[0]);
  return status == ROC_OK;
}

/* Waits for what has been queued.  An error of the wait is one of the library's. */
static bool ended_well(roc_dev_stream *stream, roc_status status, const roc_ticket *ticket) {
  bool is_done = false;
  if (!went_well(status)) return false;
  if (!went_well(ops->wait(stream, *ticket, 20000000000, &is_done, &err))) {
    if (!device->is_lost) ops->wait(stream, *ticket, 20000000000, &is_done, &err);
    return false;
  }
  CHECK(is_done);
  return true;
}

static bool use_memory(roc_dev_stream *stream) {
  enum { N = 200000 };
  static unsigned char there[N], back[N];
  roc_devptr block, mapped;
  roc_ticket ticket = 0;
  void *pinned = NULL;
  if (!went_well(ops->alloc(device, N, &block, &err))) return false;
  bool ok = true;
  for (int i = 0; i < N; i++) there[i] = (unsigned char)roc_draw(256);
  ok = ended_well(stream,
                  ops->copy(stream, block, address_of(there), N, ROC_COPY_H2D, &ticket, &err),
                  &ticket) &&
       ok;
  bool came = ended_well(
      stream, ops->copy(stream, address_of(back), block, N, ROC_COPY_D2H, &ticket, &err), &ticket);
  if (ok && came) CHECK(memcmp(there, back, N) == 0);
  ok = came && ok;
  ok = ended_well(stream,
                  ops->copy(stream, block, block + 100, N - 100, ROC_COPY_D2D, &ticket, &err),
                  &ticket) &&
       ok;
  ok = ended_well(stream, ops->fill(stream, block, "abcdefgh", 8, N, &ticket, &err), &ticket) && ok;
  ok = ended_well(stream, ops->fill(stream, block, "ab", 2, N, &ticket, &err), &ticket) && ok;
  ok = ended_well(stream, ops->fill(stream, block, "abcd", 4, N, &ticket, &err), &ticket) && ok;
  roc_dev_scatter s = {.dst = block,
                       .element_bytes = 4,
                       .rank = 3,
                       .extents = {5, 6, 7},
                       .element = "abc",
                       .dst_steps = {4096, 128, 8}};
  ok = ended_well(stream, ops->scatter(stream, &s, &ticket, &err), &ticket) && ok;
  s.rank = 1;
  ok = ended_well(stream, ops->scatter(stream, &s, &ticket, &err), &ticket) && ok;
  bool is_pinned = went_well(ops->alloc_host(device, 1000, &pinned, &err));
  if (is_pinned) ops->free_host(device, pinned);
  bool is_registered = went_well(ops->host_register(device, there + 5, 100000, &mapped, &err));
  if (is_registered) ops->host_unregister(device, there + 5);
  ops->memory_free(device);
  roc_devptr too_large;
  ok = ops->alloc(device, (size_t)1 << 30, &too_large, &err) != ROC_OK && ok;
  ops->free(device, block);
  return ok && is_pinned && is_registered;
}

static bool use_kernel(roc_dev_stream *stream, roc_dev_stream *other) {
  roc_dev_module *module;
  if (!went_well(ops->module_load(device, &object, &module, &err))) return false;
  roc_ticket ticket = 0, stamp = 0, waiting = 0;
  uint64_t time = 0;
  int calls = 0;
  static roc_fault_record record;
  void *memory = NULL;
  bool ok = true;
  roc_ndrange shared = line;
  shared.dynamic_shared_bytes = 100 << 10;
  ok = ended_well(stream, launch_on(stream, module, &shared, 1, &record, NULL, &ticket), &ticket);
  bool has_print = went_well(
      ops->alloc_host(device, sizeof(roc_print_buffer) + ROC_PRINT_CAPACITY, &memory, &err));
  if (has_print) {
    *(roc_print_buffer *)memory = (roc_print_buffer){.capacity = ROC_PRINT_CAPACITY};
    ok = ended_well(stream, launch_on(stream, module, &line, 2, NULL, memory, &ticket), &ticket) &&
         ok;
    ops->free_host(device, memory);
  }
  bool is_stamped = went_well(ops->stamp(stream, &time, &stamp, &err));
  if (is_stamped) {
    ok = went_well(ops->stream_wait(other, stream, stamp, &waiting, &err)) && ok;
    ok = ended_well(stream, ROC_OK, &stamp) && ok;
  }
  ok = ended_well(other, ops->host_call(other, add_one, &calls, &ticket, &err), &ticket) && ok;
  ops->watch(device);
  ops->module_unload(device, module);
  return ok && has_print && is_stamped;
}

/* A copy to another GPU. */
static bool use_peer(roc_dev_stream *stream) {
  roc_device *other;
  roc_devptr here = 0, there = 0;
  roc_ticket ticket = 0;
  if (!went_well(ops->open(1, &other, &err))) return false;
  bool ok = went_well(ops->alloc(device, 1000, &here, &err));
  ok = ok && went_well(ops->alloc(other, 1000, &there, &err));
  ok = ok && ended_well(stream, ops->copy(stream, there, here, 1000, ROC_COPY_D2D, &ticket, &err),
                        &ticket);
  if (here) ops->free(device, here);
  if (there) ops->free(other, there);
  ops->quiesce(other);
  ops->close(other);
  return ok;
}

/* All that a device is used for, from its opening to its end; whether all of it worked. */
static bool use_device(bool *out_lost) {
  uint32_t count;
  limit_wait();
  *out_lost = false;
  if (!went_well(ops->probe(&count, &err))) return false;
  if (!went_well(ops->open(0, &device, &err))) return false;
  roc_dev_stream *streams[2] = {NULL, NULL};
  bool ok = true;
  for (int i = 0; i < 2; i++) ok = went_well(ops->stream_create(device, &streams[i], &err)) && ok;
  if (ok) ok = use_memory(streams[0]) && ok;
  if (streams[0] && streams[1]) ok = use_kernel(streams[0], streams[1]) && ok;
  if (streams[0]) ok = use_peer(streams[0]) && ok;
  *out_lost = device->is_lost;
  if (device->is_lost) {
    CHECK(ops->reset(device, &err) == ROC_UNSUPPORTED &&
          strstr(err.message, "only a new process helps"));
  }
  for (int i = 0; i < 2; i++) {
    if (streams[i]) ops->stream_destroy(streams[i]);
  }
  ops->quiesce(device);
  ops->close(device);
  return ok;
}

/* A few of many: the first ones, and the last. */
static uint64_t next_of(uint64_t nth, uint64_t most) {
  return nth < 4 || nth + 1 >= most ? nth + 1 : nth * 2 < most ? nth * 2 : most;
}

static const struct {
  CUresult result;
  bool is_loss;
} results[] = {
#define PLAIN false
#define OOM false
#define LOST true
#define ROC_CUDA_ERROR(name, value, kind, text) {CUDA_##name, kind},
#include "device/cuda/cuda_errors.def"
#undef ROC_CUDA_ERROR
#undef PLAIN
#undef OOM
#undef LOST
};

/* How often the calls fail here that cannot be told from a context that is lost otherwise. */
static void try_failure(fake_cuda_call call, uint64_t nth, size_t which, unsigned *failed) {
  bool is_lost;
  int64_t held = roc_alloc_live();
  fake->fail(call, nth, results[which].result);
  bool ok = use_device(&is_lost);
  fake->fail(call, 0, CUDA_SUCCESS);
  *failed += !ok;
  bool is_balanced = roc_alloc_live() == held;
  for (int i = 0; i < FAKE_KINDS; i++)
    is_balanced = is_balanced && fake->live((fake_cuda_kind)i) == 0;
  /* A context that is not made current is one that is gone. */
  bool can_lose = results[which].is_loss || call == FAKE_cuCtxPushCurrent;
  if (!is_balanced || (is_lost && !can_lose) || fake->violations()) {
    printf("%s, call %llu, result %d: %lld blocks, lost %d;", fake->name(call),
           (unsigned long long)nth, (int)results[which].result,
           (long long)(roc_alloc_live() - held), is_lost);
    for (int i = 0; i < FAKE_KINDS; i++) printf(" %lld", (long long)fake->live((fake_cuda_kind)i));
    printf("\n");
    CHECK(!"is balanced, and lost only by a loss");
  }
}

/* Whichever function fails, at whichever call, with whatever result: each op works or says why it
 * does not, all waits end, nothing leaks, only a loss loses the device, and the next one works. */
static void test_failures(void) {
  bool is_lost;
  uint64_t most[FAKE_CALLS], before[FAKE_CALLS];
  CHECK(use_device(&is_lost));
  for (int i = 0; i < FAKE_CALLS; i++) before[i] = fake->calls((fake_cuda_call)i);
  CHECK(use_device(&is_lost));
  for (int i = 0; i < FAKE_CALLS; i++) most[i] = fake->calls((fake_cuda_call)i) - before[i];
  for (int i = 0; i < FAKE_CALLS; i++) {
    unsigned failed = 0, tried = 0;
    for (uint64_t nth = 1; nth <= most[i]; nth = next_of(nth, most[i])) {
      bool is_first = nth == 1; /* with every result; later ones with three */
      for (size_t r = 1; r < sizeof results / sizeof *results; r++) {
        CUresult result = results[r].result;
        bool is_taken = is_first || result == CUDA_ERROR_OUT_OF_MEMORY ||
                        result == CUDA_ERROR_ILLEGAL_ADDRESS || result == CUDA_ERROR_INVALID_VALUE;
        if (!is_taken || result == CUDA_ERROR_NOT_READY) continue;
        tried++;
        try_failure((fake_cuda_call)i, nth, r, &failed);
      }
    }
    printf("%-28s %5llu calls, %u of %u failures seen\n", fake->name((fake_cuda_call)i),
           (unsigned long long)most[i], failed, tried);
  }
  CHECK(use_device(&is_lost) && !is_lost);
  check_balance();
}

/* The same for our own allocations. */
static void test_memory(void) {
  bool is_lost;
  CHECK(use_device(&is_lost));
  int64_t held = roc_alloc_live();
  for (uint64_t nth = 1; nth < 40; nth++) {
    roc_alloc_fail_at(nth);
    use_device(&is_lost);
    roc_alloc_fail_at(0);
    CHECK(!is_lost && roc_alloc_live() == held);
  }
  CHECK(use_device(&is_lost));
  check_balance();
}

/* ---- launches of a library that wants their context ---- */

/* A library that wants the context current for a launch, as older ones may, gets it so, and the
 * thread's is as it was. */
static void launch_in_context(bool has_other) {
  open_device();
  CUcontext context, theirs;
  CHECK(roc_cuda.cuDevicePrimaryCtxRetain(&theirs, 1) == CUDA_SUCCESS);
  roc_dev_stream *stream = new_stream();
  roc_dev_module *module;
  roc_ticket ticket;
  OK(ops->module_load(device, &object, &module, &err));
  OK(launch_on(stream, module, &line, 1, NULL, NULL, &ticket));
  if (has_other) roc_cuda.cuCtxPushCurrent(theirs);
  for (int i = 0; i < 3; i++) {
    OK(launch_on(stream, module, &line, i, NULL, NULL, &ticket));
    CHECK(roc_cuda.cuCtxGetCurrent(&context) == CUDA_SUCCESS);
    CHECK(context == (has_other ? theirs : NULL));
  }
  await(stream, ticket);
  if (has_other) roc_cuda.cuCtxPopCurrent(&context);
  roc_cuda.cuDevicePrimaryCtxRelease(1);
  ops->module_unload(device, module);
  ops->stream_destroy(stream);
  close_device();
}

static void test_launch_context(void) {
  setenv("FAKE_CUDA_LAUNCH_CURRENT", "1", 1);
  launch_in_context(false);
  launch_in_context(true);
  unsetenv("FAKE_CUDA_LAUNCH_CURRENT");
}

/* ---- the tests ---- */

static const struct {
  const char *name;
  void (*run)(void);
} tests[] = {
    {"failures", test_failures},
    {"memory", test_memory},
    {"launch_context", test_launch_context},
};

int main(int argc, char **argv) {
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
    if (argc < 2) {
      puts(tests[i].name);
    } else if (strcmp(argv[1], tests[i].name) == 0) {
      find_fake();
      tests[i].run();
      printf("ok %s\n", tests[i].name);
      return EXIT_SUCCESS;
    }
  }
  return argc < 2 ? EXIT_SUCCESS : EXIT_FAILURE;
}
