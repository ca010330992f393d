/* The runtime over the cpu device, from C: order, faults, prints, lifetimes, interrupts and
 * shutdown under load.
 *
 * Kernels are hand-written functions (queue_kernels.h), not compiled.  Built for every preset, so
 * that it runs under the thread and address sanitizers too.  Usage: queue_test TEST; exit status 0
 * and "ok TEST", or a message and 1. */
#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "device/cpu/quota.h"
#include "device/null/null.h"
#include "queue_kernels.h"
#include "queue_threads.h"
#include "runtime/device.h"
#include "runtime/event.h"
#include "runtime/launch.h"

/* ---- tests --------------------------------------------------------------- */

/* Many streams, each a chain whose result depends on the order. */
static void test_order(void) {
  enum { STREAMS = 8, LAUNCHES = 400, COUNT = 5000 };
  roc_rt_kernel *kernel = make_kernel(chain_kernel, false, false);
  roc_rt_stream *streams[STREAMS];
  roc_buffer *buffers[STREAMS];
  for (int s = 0; s < STREAMS; s++) {
    OK(roc_rt_stream_create(session, device, &streams[s], &err));
    buffers[s] = make_buffer(COUNT);
  }
  for (int n = 0; n < LAUNCHES; n++) {
    for (int s = 0; s < STREAMS; s++) {
      args a = {.data = roc_buffer_host(buffers[s]), .value = n + s};
      uint64_t items = n % 3 == 0 ? COUNT : 64; /* large ones queue, small ones may run inline */
      launch(streams[s], kernel, &a, items, 64, buffers[s], true);
    }
  }
  for (int s = 0; s < STREAMS; s++) {
    OK(roc_buffer_wait(buffers[s], false, &err));
    int64_t low = 0, high = 0;
    for (int n = 0; n < LAUNCHES; n++) {
      low = (low * 3 + n + s) % 1000003;
      if (n % 3 == 0) high = (high * 3 + n + s) % 1000003;
    }
    const int64_t *data = roc_buffer_host(buffers[s]);
    CHECK(data[0] == low && data[63] == low);
    CHECK(data[64] == high && data[COUNT - 1] == high);
    roc_buffer_release(buffers[s]);
    roc_rt_stream_release(streams[s]);
  }
  roc_rt_kernel_release(kernel);
}

static void test_baton(void) {
  roc_rt_kernel *kernel = make_kernel(baton_kernel, false, false);
  roc_rt_stream *streams[3];
  static _Atomic uint64_t batons[3];
  for (int round = 0; round < 5; round++) {
    for (int s = 0; s < 3; s++) {
      if (round == 0) OK(roc_rt_stream_create(session, device, &streams[s], &err));
      OK(roc_rt_stream_synchronize(streams[s], &err));
      atomic_store(&batons[s], 0);
      args a = {.shared = &batons[s]};
      launch(streams[s], kernel, &a, 3000, 1, NULL, false);
    }
  }
  for (int s = 0; s < 3; s++) {
    OK(roc_rt_stream_synchronize(streams[s], &err));
    CHECK(atomic_load(&batons[s]) == 3000);
    roc_rt_stream_release(streams[s]);
  }
  roc_rt_kernel_release(kernel);
}

/* What atomic operations would have told is missing; the record comes back clean. */
static void check_lossy_faults(roc_buffer *x) {
  roc_rt_stream *stream = default_stream(device);
  roc_rt_kernel *kernel = make_kernel(lossy_fault_kernel, true, false);
  args a = {.data = roc_buffer_host(x)};
  for (int n = 0; n < 2; n++) {
    launch(stream, kernel, &a, 4, 1, x, true);
    CHECK(roc_rt_stream_synchronize(stream, &err) == ROC_FAULT);
    CHECK(strstr(err.message, "which one is not known"));
  }
  roc_rt_kernel_release(kernel);
}

static void test_fault(void) {
  roc_rt_stream *stream = default_stream(device);
  roc_rt_kernel *bad = make_kernel(fault_kernel, true, false);
  roc_rt_kernel *good = make_kernel(add_kernel, true, false);
  roc_buffer *x = make_buffer(64), *y = make_buffer(64);
  args ax = {.data = roc_buffer_host(x), .value = 1}, ay = {.data = roc_buffer_host(y), .value = 1};
  for (int n = 0; n < 200; n++) { /* more than a block of records */
    roc_ticket failed = launch(stream, bad, &ax, 4, 1, x, true);
    launch(stream, good, &ay, 64, 64, y, true);
    roc_ticket fine = launch(stream, good, &ax, 64, 64, x, true);
    OK(roc_buffer_wait(y, true, &err)); /* the fault does not concern y */
    CHECK(roc_buffer_is_busy(x, false));
    bool own;
    if (n % 2 == 0) {
      CHECK(roc_buffer_wait(x, false, &err) == ROC_FAULT);
    } else {
      CHECK(roc_rt_stream_wait_launch(stream, failed, &own, &err) == ROC_FAULT && own);
      CHECK(roc_rt_stream_wait_launch(stream, fine, &own, NULL) == ROC_OK && !own);
    }
    CHECK(strstr(err.message, "k.lua:3: index ") == err.message);
    CHECK(strstr(err.message, "out of range 1..7 of 'y' (work-item {"));
    CHECK(strstr(err.message, "and 3 more) (launched at script.lua:42)"));
    OK(roc_buffer_wait(x, true, &err)); /* once */
    OK(roc_rt_stream_synchronize(stream, &err));
    OK(roc_rt_device_synchronize(device, session, &err));
  }
  const int64_t *data = roc_buffer_host(x);
  CHECK(data[0] == 200); /* work queued behind a fault still runs */
  check_lossy_faults(x);
  roc_buffer_release(x);
  roc_buffer_release(y);
  roc_rt_kernel_release(bad);
  roc_rt_kernel_release(good);
}

static void test_print(void) {
  roc_rt_stream *stream = default_stream(device);
  roc_rt_kernel *kernel = make_kernel(print_kernel, false, true);
  args a = {0};
  launch(stream, kernel, &a, 100, 1, NULL, false);
  launch(stream, kernel, &a, 70000, 1, NULL, false); /* 65536 records fit */
  OK(roc_rt_stream_synchronize(stream, &err));
  int64_t lines = 0, sum = 0, lost = 0;
  roc_str line = ROC_STR_INIT;
  while (roc_rt_take_print(session, &line)) {
    unsigned long long g, n;
    if (sscanf(roc_str_text(&line), "group %llu", &g) == 1) {
      lines++;
      if (lines <= 100) sum += (int64_t)g;
    } else if (sscanf(roc_str_text(&line), "roclua: %llu more lines", &n) == 1) {
      lost = (int64_t)n;
    }
    roc_str_deinit(&line);
  }
  CHECK(lines == 100 + 65536 && sum == 4950 && lost == 70000 - 65536);
  roc_rt_kernel_release(kernel);
}

static void test_memory(void) {
  roc_rt_stream *stream = default_stream(device);
  roc_rt_kernel *kernel = make_kernel(memory_kernel, false, false);
  static _Atomic uint64_t aligned_groups;
  args a = {.shared = &aligned_groups};
  roc_ndrange range = {.rank = 2};
  roc_rt_launch work = {
      .kernel = kernel, .kernarg = &a, .kernarg_bytes = sizeof a, .range = &range};
  uint64_t expected = 0;
  for (uint32_t n = 1; n <= 32; n++) {
    range.grid[0] = 100;
    range.grid[1] = 10;
    range.grid[2] = range.local[2] = 1;
    range.local[0] = n;
    range.local[1] = 33 - n;
    range.dynamic_shared_bytes = n * 100;
    roc_ticket ticket;
    OK(roc_rt_launch_queue(stream, &work, &ticket, &err));
    expected += (uint64_t)((100 + n - 1) / n) * ((10 + range.local[1] - 1) / range.local[1]);
  }
  OK(roc_rt_stream_synchronize(stream, &err));
  CHECK(atomic_load(&aligned_groups) == expected);
  roc_ticket ticket;
  range.local[0] = 2048;
  CHECK(roc_rt_launch_queue(stream, &work, &ticket, &err) == ROC_INVALID);
  range.local[0] = 32;
  range.dynamic_shared_bytes = 65536;
  CHECK(roc_rt_launch_queue(stream, &work, &ticket, &err) == ROC_INVALID);
  range.dynamic_shared_bytes = 0;
  range.grid[1] = 0;
  OK(roc_rt_launch_queue(stream, &work, &ticket, &err)); /* nothing to do */
  roc_rt_kernel_release(kernel);
}

/* Everything a launch uses may be dropped right after it. */
static void test_lifetime(void) {
  static _Atomic uint64_t counter;
  for (int n = 0; n < 300; n++) {
    roc_rt_stream *stream;
    OK(roc_rt_stream_create(session, device, &stream, &err));
    roc_rt_kernel *slow = make_kernel(slow_kernel, false, false);
    roc_rt_kernel *add = make_kernel(add_kernel, true, false);
    roc_buffer *buffer = make_buffer(10000);
    args s = {.shared = &counter, .value = 20};
    args a = {.data = roc_buffer_host(buffer), .value = 1};
    launch(stream, slow, &s, 2, 1, NULL, false);
    launch(stream, add, &a, 10000, 100, buffer, true);
    if (n % 2) roc_buffer_release(buffer);
    roc_rt_kernel_release(add);
    roc_rt_stream_release(stream);
    roc_rt_kernel_release(slow);
    if (n % 2 == 0) roc_buffer_release(buffer);
  }
  OK(roc_rt_device_synchronize(device, session, &err));
  CHECK(atomic_load(&counter) == 600);
  CHECK(atomic_load(&freed_objects) == 600);
}

static void *interrupt_soon(void *unused) {
  (void)unused;
  usleep(30000);
  CHECK(roc_rt_interrupt(&session));
  return NULL;
}

static void test_interrupt(void) {
  roc_rt_stream *stream = default_stream(device);
  roc_rt_kernel *kernel = make_kernel(slow_kernel, false, false);
  static _Atomic uint64_t counter;
  args a = {.shared = &counter, .value = 1000};
  launch(stream, kernel, &a, 1000000, 1, NULL, false);
  pthread_t thread;
  pthread_create(&thread, NULL, interrupt_soon, NULL);
  CHECK(roc_rt_stream_synchronize(stream, &err) == ROC_INTERRUPTED);
  pthread_join(thread, NULL);
  uint64_t begin = roc_clock_ns();
  OK(roc_rt_stream_synchronize(stream, &err)); /* the kernel stops at its next workgroup */
  CHECK(roc_clock_ns() - begin < 2000000000u);
  CHECK(atomic_load(&counter) < 1000000);
  uint64_t before = atomic_load(&counter);
  launch(stream, kernel, &a, 5, 1, NULL, false); /* later launches run whole */
  OK(roc_rt_stream_synchronize(stream, &err));
  CHECK(atomic_load(&counter) == before + 5);
  roc_rt_kernel_release(kernel);
}

/* Kernels round to nearest, on every thread, whatever the program has set; its modes stay. */
static void test_modes(void) {
  enum { GROUPS = 40 };
  roc_rt_stream *stream = default_stream(device);
  roc_rt_kernel *kernel = make_kernel(modes_kernel, false, false);
  roc_buffer *x = make_buffer(GROUPS);
  args a = {.data = roc_buffer_host(x)};
  CHECK(fesetround(FE_UPWARD) == 0);
  for (int round = 0; round < 3; round++) {
    memset(a.data, -1, GROUPS * sizeof *a.data);
    launch(stream, kernel, &a, GROUPS, 1, x, true);
    CHECK(fegetround() == FE_UPWARD);
    OK(roc_rt_stream_synchronize(stream, &err));
    for (int g = 0; g < GROUPS; g++) CHECK(a.data[g] == FE_TONEAREST);
  }
  CHECK(fegetround() == FE_UPWARD);
  roc_buffer_release(x);
  roc_rt_kernel_release(kernel);
}

static void write_file(const char *folder, const char *name, const char *text) {
  char path[300];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* The limits of control groups of both versions, in trees of our own. */
static void test_quota(void) {
  char root[] = "/tmp/roclua_quota_XXXXXX", groups[64], folder[64], command[128];
  CHECK(mkdtemp(root));
  snprintf(command, sizeof command, "mkdir -p %s/a/b %s/cpu/c", root, root);
  CHECK(system(command) == 0);
  snprintf(groups, sizeof groups, "%s/groups", root);
  CHECK(roc_cpu_quota(groups, root) == UINT32_MAX); /* no such file */
  write_file(root, "groups", "0::/a/b\n");
  CHECK(roc_cpu_quota(groups, root) == UINT32_MAX);
  snprintf(folder, sizeof folder, "%s/a/b", root);
  write_file(folder, "cpu.max", "max 100000\n");
  CHECK(roc_cpu_quota(groups, root) == UINT32_MAX);
  write_file(folder, "cpu.max", "350000 100000\n");
  CHECK(roc_cpu_quota(groups, root) == 4);
  write_file(root, "a/cpu.max", "50000 100000\n"); /* the group above has less */
  CHECK(roc_cpu_quota(groups, root) == 1);
  write_file(root, "cpu.max", "200000 100000\n");
  write_file(root, "groups", "0::/only/on/the/host\n");
  CHECK(roc_cpu_quota(groups, root) == 2);
  write_file(root, "groups", "5:cpuset:/a\n4:cpu,cpuacct:/c\n1:name=systemd:/a/b\n");
  snprintf(folder, sizeof folder, "%s/cpu/c", root);
  write_file(folder, "cpu.cfs_period_us", "100000\n");
  write_file(folder, "cpu.cfs_quota_us", "-1\n");
  CHECK(roc_cpu_quota(groups, root) == UINT32_MAX);
  write_file(folder, "cpu.cfs_quota_us", "300000\n");
  CHECK(roc_cpu_quota(groups, root) == 3);
  snprintf(command, sizeof command, "rm -r %s", root);
  CHECK(system(command) == 0);
}

/* Streams wait for each other through the driver; a chain of them over two streams stays in
 * order. */
static void test_wait_for(void) {
  roc_rt_kernel *slow = make_kernel(slow_kernel, false, false);
  static _Atomic uint64_t counter;
  roc_device *driver = roc_rt_device_driver(device);
  roc_dev_stream *one, *two;
  OK(driver->ops->stream_create(driver, &one, &err));
  OK(driver->ops->stream_create(driver, &two, &err));
  int64_t *block = calloc(2, sizeof *block);
  roc_ticket t1, t2 = 0, waited;
  bool done;
  int64_t values[100];
  for (int64_t n = 0; n < 100; n++) {
    values[n] = n + 1;
    OK(driver->ops->stream_wait(one, two, t2, &waited, &err));
    OK(driver->ops->copy(one, (roc_devptr)(uintptr_t)&block[0], (roc_devptr)(uintptr_t)&values[n],
                         8, ROC_COPY_H2D, &t1, &err));
    OK(driver->ops->stream_wait(two, one, t1, &waited, &err));
    OK(driver->ops->copy(two, (roc_devptr)(uintptr_t)&block[1], (roc_devptr)(uintptr_t)&block[0], 8,
                         ROC_COPY_D2D, &t2, &err));
    if (n % 10 == 0) {
      args a = {.shared = &counter, .value = 500};
      launch(default_stream(device), slow, &a, 1, 1, NULL, false);
    }
  }
  OK(driver->ops->wait(two, t2, -1, &done, &err));
  CHECK(done && block[1] == 100);
  driver->ops->stream_destroy(one);
  driver->ops->stream_destroy(two);
  free(block);
  OK(roc_rt_device_synchronize(device, session, &err));
  roc_rt_kernel_release(slow);
}

/* A kernel on one stream waits for what a kernel on another does: they run at the same time.  A
 * stream that waits for an event keeps nobody else waiting: no stream, allocation or release. */
static void test_blocked(void) {
  static _Atomic uint64_t gate;
  roc_rt_kernel *endless = make_kernel(endless_kernel, false, false);
  roc_rt_kernel *open = make_kernel(open_kernel, false, false);
  roc_rt_kernel *add = make_kernel(add_kernel, false, false);
  roc_rt_stream *one, *two, *three;
  OK(roc_rt_stream_create(session, device, &one, &err));
  OK(roc_rt_stream_create(session, device, &two, &err));
  roc_buffer *x = make_buffer(1000), *y = make_buffer(1000);
  args g = {.shared = &gate};
  args ax = {.data = roc_buffer_host(x), .value = 1}, ay = {.data = roc_buffer_host(y), .value = 1};
  for (int round = 1; round <= 20; round++) {
    roc_rt_event event = ROC_RT_EVENT_INIT, begin = ROC_RT_EVENT_INIT, end = ROC_RT_EVENT_INIT;
    atomic_store(&gate, 0);
    OK(roc_rt_event_record(&begin, one, &err));
    launch(one, endless, &g, 1, 1, NULL, false);
    OK(roc_rt_event_record(&event, one, &err));
    OK(roc_rt_stream_wait_event(two, &event, &err));
    launch(two, add, &ax, 1000, 10, x, true);
    OK(roc_rt_event_record(&end, two, &err));
    OK(roc_rt_event_record(&event, two, &err)); /* two waits for the earlier place nevertheless */
    OK(roc_rt_stream_create(session, device, &three, &err));
    launch(three, add, &ay, 1000, 10, y, true);
    OK(roc_buffer_wait(y, true, &err));
    CHECK(ay.data[999] == round && !is_done(one) && !is_done(two));
    roc_buffer_release(make_buffer(100000));
    bool done;
    OK(roc_rt_event_query(&end, &done, &err));
    CHECK(!done && ax.data[0] == round - 1);
    launch(three, open, &g, 1, 1, NULL, false);
    roc_rt_stream_release(three);
    roc_rt_event_deinit(&event);
    double ms = -1;
    if (round % 2) OK(roc_buffer_wait(x, false, &err));
    OK(roc_rt_event_elapsed(&begin, &end, &ms, &err));
    CHECK(ms > 0 && ax.data[0] == round && ax.data[999] == round);
    roc_rt_event_deinit(&begin);
    roc_rt_event_deinit(&end);
  }
  roc_buffer_release(x);
  roc_buffer_release(y);
  roc_rt_stream_release(one);
  roc_rt_stream_release(two);
  roc_rt_kernel_release(endless);
  roc_rt_kernel_release(open);
  roc_rt_kernel_release(add);
}

/* A chain of kernels on one buffer, handed from stream to stream and device to device by events
 * that are recorded again and again; then the shutdown comes while they wait for each other. */
static void test_devices(void) {
  enum { STREAMS = 4, ROUNDS = 300 };
  roc_rt_device *devices[2] = {device};
  OK(roc_rt_device_get(1, &devices[1], &err));
  CHECK(strcmp(roc_rt_device_driver(devices[1])->props.name, "cpu:2") == 0);
  roc_buffer *buffer = make_buffer(500);
  roc_rt_kernel *kernels[2];
  roc_rt_stream *streams[STREAMS];
  for (int i = 0; i < 2; i++) {
    device = devices[i];
    kernels[i] = make_kernel(chain_kernel, false, false);
  }
  for (int s = 0; s < STREAMS; s++)
    OK(roc_rt_stream_create(session, devices[s % 2], &streams[s], &err));
  roc_rt_event event = ROC_RT_EVENT_INIT;
  int64_t expected = 0;
  for (int n = 0; n < ROUNDS; n++) {
    int s = n * 7 % STREAMS;
    args a = {.data = roc_buffer_host(buffer), .value = n};
    OK(roc_rt_stream_wait_event(streams[s], &event, &err));
    launch(streams[s], kernels[s % 2], &a, 500, 50, buffer, true);
    OK(roc_rt_event_record(&event, streams[s], &err));
    expected = (expected * 3 + n) % 1000003;
    if (n % 100 == 50) OK(roc_rt_event_synchronize(&event, &err));
  }
  roc_rt_event_deinit(&event);
  OK(roc_rt_shutdown(&err));
  const int64_t *data = roc_buffer_host(buffer);
  CHECK(data[0] == expected && data[499] == expected);
  for (int s = 0; s < STREAMS; s++) roc_rt_stream_release(streams[s]);
  for (int i = 0; i < 2; i++) roc_rt_kernel_release(kernels[i]);
  roc_buffer_release(buffer);
}

/* Ends and times of events that were never recorded, that are of other devices, and of a device
 * that is lost. */
static void test_event(void) {
  roc_rt_event event = ROC_RT_EVENT_INIT, other = ROC_RT_EVENT_INIT;
  roc_rt_stream *stream = default_stream(device);
  bool done = false;
  OK(roc_rt_event_query(&event, &done, &err));
  CHECK(done);
  OK(roc_rt_event_synchronize(&event, &err));
  OK(roc_rt_stream_wait_event(stream, &event, &err));
  double ms;
  CHECK(roc_rt_event_elapsed(&event, &other, &ms, &err) == ROC_INVALID);
  OK(roc_rt_event_record(&event, stream, &err));
  OK(roc_rt_event_synchronize(&event, &err));
  open_null();
  roc_rt_stream *null_stream = default_stream(device);
  OK(roc_rt_event_record(&other, null_stream, &err));
  CHECK(roc_rt_event_elapsed(&event, &other, &ms, &err) == ROC_INVALID);
  roc_null_fail_at(ROC_NULL_HOST_CALL, 1, ROC_IO);
  roc_ticket before = other.ticket;
  CHECK(roc_rt_event_record(&other, null_stream, &err) == ROC_IO);
  CHECK(other.ticket == before); /* as it was */
  roc_null_hold(true);
  OK(roc_rt_event_record(&other, null_stream, &err));
  OK(roc_rt_event_query(&other, &done, &err));
  CHECK(!done);
  pthread_t thread;
  pthread_create(&thread, NULL, interrupt_soon, NULL);
  CHECK(roc_rt_stream_wait_event(stream, &other, &err) == ROC_INTERRUPTED); /* the host waits */
  pthread_join(thread, NULL);
  roc_null_lose();
  CHECK(roc_rt_event_query(&other, &done, &err) == ROC_LOST);
  CHECK(roc_rt_event_synchronize(&other, &err) == ROC_LOST);
  CHECK(roc_rt_event_record(&other, null_stream, &err) == ROC_LOST);
  CHECK(roc_rt_stream_wait_event(stream, &other, &err) == ROC_LOST);
  OK(roc_rt_event_synchronize(&event, &err)); /* other devices go on */
  roc_rt_event_deinit(&event);
  roc_rt_event_deinit(&other);
  roc_rt_event_deinit(&other);
  OK(roc_rt_shutdown(&err)); /* everybody knows of the loss by now */
}

static void *run_thread(void *argument) {
  roc_rt_kernel *kernel = argument;
  roc_rt_stream *stream;
  roc_error error = ROC_ERROR_INIT;
  if (roc_rt_stream_create(session, device, &stream, &error) != ROC_OK) return "stream";
  roc_buffer *buffer;
  if (roc_buffer_create_device(device, 4096 * 8, &buffer, &error) != ROC_OK) return "buffer";
  memset(roc_buffer_host(buffer), 0, 4096 * 8);
  args a = {.data = roc_buffer_host(buffer), .value = 1};
  for (int n = 0; n < 300; n++) {
    launch(stream, kernel, &a, 4096, 64, buffer, true);
    if (n % 50 == 0 && roc_buffer_wait(buffer, true, &error) != ROC_OK) return "wait";
  }
  if (roc_rt_stream_synchronize(stream, &error) != ROC_OK) return "synchronize";
  bool right = a.data[0] == 300 && a.data[4095] == 300;
  roc_buffer_release(buffer);
  roc_rt_stream_release(stream);
  return right ? NULL : "result";
}

static void test_threads(void) {
  roc_rt_kernel *kernel = make_kernel(add_kernel, true, false);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, run_thread, kernel);
  for (int i = 0; i < 4; i++) {
    void *failure;
    pthread_join(threads[i], &failure);
    CHECK(!failure);
  }
  roc_rt_kernel_release(kernel);
}

/* Ends with work queued; what it held is released only after the shutdown. */
static void test_shutdown(void) {
  static _Atomic uint64_t counter;
  roc_rt_kernel *slow = make_kernel(slow_kernel, false, false),
                *bad = make_kernel(fault_kernel, true, false);
  roc_buffer *buffer = make_buffer(10);
  roc_rt_stream *stream;
  OK(roc_rt_stream_create(session, device, &stream, &err));
  args a = {.shared = &counter, .value = 100};
  for (int n = 0; n < 50; n++) launch(stream, slow, &a, 4, 1, buffer, true);
  launch(stream, bad, &a, 1, 1, buffer, true);
  CHECK(roc_rt_shutdown(&err) == ROC_FAULT);
  CHECK(strstr(err.message, "launched at script.lua:42"));
  CHECK(atomic_load(&counter) == 200);
  OK(roc_rt_shutdown(&err));
  roc_rt_device *again;
  CHECK(roc_rt_device_get(0, &again, &err) == ROC_CLOSED);
  CHECK(roc_rt_stream_synchronize(stream, &err) == ROC_CLOSED);
  roc_buffer_release(buffer);
  roc_rt_kernel_release(slow);
  roc_rt_kernel_release(bad);
  roc_rt_stream_release(stream);
}

/* An interrupt while the shutdown waits for a kernel without end lets the process go. */
static void test_endless(void) {
  static _Atomic uint64_t is_over;
  args a = {.shared = &is_over};
  roc_rt_kernel *kernel = make_kernel(endless_kernel, false, false);
  launch(default_stream(device), kernel, &a, 1, 1, NULL, false);
  pthread_t thread;
  pthread_create(&thread, NULL, interrupt_soon, NULL);
  uint64_t begin = roc_clock_ns();
  CHECK(roc_rt_shutdown(&err) == ROC_INTERRUPTED);
  CHECK(roc_clock_ns() - begin < 10000000000u);
  pthread_join(thread, NULL);
  puts("ok endless");
  fflush(stdout);
  _exit(0); /* as a process with such a kernel ends: its threads go with it */
}

/* Returns from main with work in flight: the exit handler waits. */
static void test_exit(void) {
  static _Atomic uint64_t counter;
  args a = {.shared = &counter, .value = 100};
  roc_rt_kernel *slow = make_kernel(slow_kernel, false, false);
  launch(default_stream(device), slow, &a, 100, 1, NULL, false);
  roc_rt_kernel_release(slow);
}

static void test_fork(void) {
  static _Atomic uint64_t counter;
  args a = {.shared = &counter, .value = 100};
  roc_rt_kernel *slow = make_kernel(slow_kernel, false, false);
  roc_buffer *buffer = make_buffer(10), *host;
  launch(default_stream(device), slow, &a, 100, 1, buffer, true);
  OK(roc_buffer_create_host(100, true, &host, &err));
  pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    roc_rt_device *again;
    bool right = roc_rt_device_get(0, &again, &err) == ROC_CLOSED;
    right = right && roc_rt_stream_synchronize(default_stream(device), &err) == ROC_CLOSED;
    right = right && strstr(err.message, "forked child");
    roc_buffer_release(host);
    roc_buffer_release(buffer);
    roc_rt_kernel_release(slow);
    _exit(right ? 0 : 1);
  }
  int status;
  CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  OK(roc_rt_device_synchronize(device, session, &err));
  CHECK(atomic_load(&counter) == 100);
  roc_buffer_release(host);
  roc_buffer_release(buffer);
  roc_rt_kernel_release(slow);
}

/* A lost device: one text, waits return at once, everything can still be released. */
static void test_lost(void) {
  open_null();
  roc_rt_stream *stream = default_stream(device);
  roc_rt_kernel *kernel = make_kernel(add_kernel, true, false);
  roc_buffer *buffer;
  OK(roc_buffer_create_device(device, 80, &buffer, &err));
  roc_buffer *host;
  OK(roc_buffer_create_host(80, true, &host, &err));
  args a = {0};
  roc_null_hold(true);
  launch(stream, kernel, &a, 10, 1, buffer, true);
  launch(stream, kernel, &a, 10, 1, host, true);
  CHECK(!roc_rt_stream_is_done(stream, roc_rt_stream_last(stream)));
  roc_null_lose();
  CHECK(roc_rt_stream_synchronize(stream, &err) == ROC_LOST);
  CHECK(strstr(err.message, "by kernel 'test' launched at script.lua:42"));
  roc_error first = err, second = ROC_ERROR_INIT;
  roc_buffer *none;
  CHECK(roc_buffer_create_device(device, 80, &none, &second) == ROC_LOST);
  CHECK(strcmp(first.message, second.message) == 0);
  OK(roc_buffer_wait(buffer, true, &err)); /* nothing works on it any more */
  CHECK(roc_buffer_wait(host, false, &second) ==
        ROC_LOST); /* what it was to receive will not come */
  CHECK(strcmp(first.message, second.message) == 0);
  OK(roc_buffer_wait(host, true, NULL)); /* once */
  roc_buffer_release(host);
  OK(roc_rt_device_reset(device, session, &err));
  roc_null_hold(false);
  launch(stream, kernel, &a, 10, 1, buffer, true);
  OK(roc_rt_stream_synchronize(stream, &err));
  roc_buffer_release(buffer);
  roc_rt_kernel_release(kernel);
}

static const roc_device_ops *real_ops;

/* The device is lost between two looks of the runtime at it, and gives up what was queued. */
static bool lose_and_give_up(roc_dev_stream *stream, roc_ticket ticket) {
  (void)ticket;
  stream->device->is_lost = true;
  stream->device->ops = real_ops;
  return true;
}

static roc_status ask_query(roc_rt_stream *stream, roc_error *why) {
  bool is_done;
  return roc_rt_stream_query(stream, roc_rt_stream_last(stream), &is_done, why);
}

static roc_status ask_device(roc_rt_stream *stream, roc_error *why) {
  return roc_rt_device_synchronize(roc_rt_stream_device(stream), session, why);
}

/* Work that a lost device has given up is not taken for done, by whatever call finds it so. */
static void test_given_up(void) {
  open_null();
  roc_rt_stream *stream = default_stream(device);
  roc_device *driver = roc_rt_device_driver(device);
  roc_rt_kernel *kernel = make_kernel(add_kernel, true, false);
  roc_device_ops ops = *(real_ops = driver->ops);
  ops.is_done = lose_and_give_up;
  roc_buffer *buffer;
  OK(roc_buffer_create_device(device, 80, &buffer, &err));
  args a = {0};
  roc_status (*const calls[])(roc_rt_stream *, roc_error *) = {roc_rt_stream_synchronize, ask_query,
                                                               ask_device};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    roc_null_hold(true);
    launch(stream, kernel, &a, 10, 1, buffer, true);
    driver->ops = &ops;
    CHECK(calls[i](stream, &err) == ROC_LOST);
    CHECK(strstr(err.message, "by kernel 'test' launched at script.lua:42"));
    roc_null_hold(false);
    OK(roc_rt_device_reset(device, session, &err));
    launch(stream, kernel, &a, 10, 1, buffer, true);
    OK(roc_rt_stream_synchronize(stream, &err));
  }
  roc_buffer_release(buffer);
  roc_rt_kernel_release(kernel);
}

/* Memory of work in flight is not given back before the work is done; then it is. */
static void test_reclaim(void) {
  open_null();
  roc_rt_stream *stream = default_stream(device);
  roc_rt_kernel *kernel = make_kernel(add_kernel, false, false);
  roc_null_hold(true);
  args a = {0};
  for (int n = 0; n < 100; n++) {
    roc_buffer *buffer;
    OK(roc_buffer_create_device(device, 1000, &buffer, &err));
    launch(stream, kernel, &a, 10, 1, buffer, true);
    roc_buffer_release(buffer);
  }
  int64_t held = roc_null_live_bytes();
  CHECK(held >= 100000);
  roc_rt_device_trim(device);
  CHECK(roc_null_live_bytes() == held);
  roc_null_hold(false);
  roc_null_fail_at(ROC_NULL_ALLOC, 1, ROC_OOM); /* reclaims and tries again */
  roc_buffer *big;
  OK(roc_buffer_create_device(device, 1 << 20, &big, &err));
  CHECK(roc_null_live_bytes() < 100000 + (2 << 20) && roc_null_live_bytes() >= 1 << 20);
  roc_buffer_release(big);
  roc_rt_device_trim(device);
  CHECK(roc_null_live_bytes() == 0);
  roc_rt_kernel_release(kernel);
}

/* How long queueing takes; printed, checked only against the absurd. */
static void test_overhead(void) {
  enum { COUNT = 200000 };
  roc_rt_kernel *kernel = make_kernel(add_kernel, true, false);
  roc_rt_stream *stream = default_stream(device);
  roc_buffer *buffer = make_buffer(16);
  args a = {.data = roc_buffer_host(buffer), .value = 1};
  launch(stream, kernel, &a, 1, 1, buffer, true);
  OK(roc_rt_stream_synchronize(stream, &err));
  uint64_t begin = roc_clock_ns();
  for (int n = 0; n < COUNT; n++) launch(stream, kernel, &a, 1, 1, buffer, true);
  OK(roc_rt_stream_synchronize(stream, &err));
  uint64_t cpu_ns = (roc_clock_ns() - begin) / COUNT;
  CHECK(a.data[0] == COUNT + 1);
  roc_buffer_release(buffer);
  roc_rt_kernel_release(kernel);
  open_null();
  kernel = make_kernel(add_kernel, true, false);
  stream = default_stream(device);
  OK(roc_buffer_create_device(device, 80, &buffer, &err));
  begin = roc_clock_ns();
  for (int n = 0; n < COUNT; n++) launch(stream, kernel, &a, 1, 1, buffer, true);
  uint64_t null_ns = (roc_clock_ns() - begin) / COUNT;
  roc_buffer_release(buffer);
  roc_rt_kernel_release(kernel);
  printf("launch: cpu inline %llu ns, null %llu ns\n", (unsigned long long)cpu_ns,
         (unsigned long long)null_ns);
  CHECK(cpu_ns < 100000 && null_ns < 100000);
}

static const struct {
  const char *name;
  void (*run)(void);
  const char *variable, *value; /* of the environment */
} tests[] = {
    {"order", test_order, NULL, NULL},
    {"baton", test_baton, NULL, NULL},
    {"fault", test_fault, NULL, NULL},
    {"print", test_print, NULL, NULL},
    {"memory", test_memory, NULL, NULL},
    {"lifetime", test_lifetime, NULL, NULL},
    {"interrupt", test_interrupt, NULL, NULL},
    {"hand_over", test_hand_over, NULL, NULL},
    {"help", test_help, NULL, NULL},
    {"modes", test_modes, NULL, NULL},
    {"quota", test_quota, NULL, NULL},
    {"wait_for", test_wait_for, NULL, NULL},
    {"parts", test_parts, "ROCLUA_CPU_THREADS", "5"},
    {"shares", test_shares, "ROCLUA_CPU_THREADS", "1"},
    {"blocked", test_blocked, "ROCLUA_CPU_THREADS", "3"},
    {"event", test_event, NULL, NULL},
    {"devices", test_devices, "ROCLUA_CPU_DEVICES", "2"},
    {"threads", test_threads, NULL, NULL},
    {"shutdown", test_shutdown, NULL, NULL},
    {"endless", test_endless, NULL, NULL},
    {"exit", test_exit, NULL, NULL},
    {"fork", test_fork, NULL, NULL},
    {"lost", test_lost, NULL, NULL},
    {"given_up", test_given_up, NULL, NULL},
    {"reclaim", test_reclaim, NULL, NULL},
    {"overhead", test_overhead, NULL, NULL},
};

static void open_cpu(void) {
  uint32_t index;
  roc_cpu_set_loader(&loader);
  OK(roc_rt_session_create(&session, &session, &err));
  OK(roc_rt_device_find("cpu", &index, &err));
  OK(roc_rt_device_get(index, &device, &err));
}

int main(int argc, char **argv) {
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
    if (argc < 2) {
      puts(tests[i].name);
    } else if (strcmp(argv[1], tests[i].name) == 0) {
      if (tests[i].variable) setenv(tests[i].variable, tests[i].value, 1);
      open_cpu();
      tests[i].run();
      printf("ok %s\n", argv[1]);
      return 0;
    }
  }
  return argc < 2 ? 0 : 1;
}
