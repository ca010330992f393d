/* Tests of queue_test.c about how threads share what is queued: parts of a launch, help of the
 * thread that waits, launches that are left in the middle, turns of streams. */
#ifndef ROC_SPEC_QUEUE_THREADS_H
#define ROC_SPEC_QUEUE_THREADS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "queue_kernels.h"
#include "runtime/device.h"
#include "runtime/launch.h"

/* Threads begin at parts of their own where the order of the workgroups does not matter: one of the
 * upper half begins before the lower half has.  Each workgroup runs once. */
static void test_parts(void) {
  enum { GROUPS = 4000, ROUNDS = 50 };
  static _Atomic uint64_t begun[2 + GROUPS];
  roc_device *driver = roc_rt_device_driver(device);
  roc_dev_module *module = load_directly(driver, halves_kernel);
  roc_dev_stream *stream;
  OK(driver->ops->stream_create(driver, &stream, &err));
  args a = {.shared = begun};
  for (uint64_t round = 1; round <= ROUNDS; round++) {
    bool done;
    atomic_store(&begun[0], 0);
    atomic_store(&begun[1], round == 1); /* which tells how long it takes */
    roc_ticket ticket = launch_directly(stream, module, &a, GROUPS);
    OK(driver->ops->wait(stream, ticket, -1, &done, &err));
    CHECK(done && atomic_load(&begun[1]) < GROUPS / 2);
    for (int g = 0; g < GROUPS; g++) CHECK(atomic_load(&begun[2 + g]) == round);
  }
  driver->ops->stream_destroy(stream);
  driver->ops->module_unload(driver, module);
}

/* While all threads of the pool are held, the thread that waits runs what it waits for, and leaves
 * it in the middle when its time is over. */
static void test_help(void) {
  enum { MOST_HOLDERS = 64, GROUPS = 40, MS = 1000 * 1000 };
  static _Atomic uint64_t closed, gate, counter, passed[2], seen[GROUPS];
  roc_device *driver = roc_rt_device_driver(device);
  roc_dev_module *hold = load_directly(driver, gate_kernel);
  roc_dev_module *slow = load_directly(driver, slow_kernel);
  roc_dev_module *halt = load_directly(driver, gate_kernel);
  uint32_t holders = driver->props.compute_units;
  CHECK(holders <= MOST_HOLDERS);
  roc_dev_stream *held[MOST_HOLDERS], *stream;
  roc_ticket tickets[MOST_HOLDERS], ticket;
  bool done;
  OK(driver->ops->stream_create(driver, &stream, &err));

  args take_long = {.shared = &counter, .value = 2000};
  ticket = launch_directly(stream, slow, &take_long, 1);
  OK(driver->ops->wait(stream, ticket, -1, &done, &err));
  args stop = {.data = (int64_t *)seen, .shared = &gate, .value = GROUPS / 2};
  ticket = launch_directly(stream, halt, &stop, GROUPS);
  OK(driver->ops->wait(stream, ticket, 20 * MS, &done, &err));
  CHECK(!done);
  atomic_store(&gate, 1);
  OK(driver->ops->wait(stream, ticket, -1, &done, &err));
  CHECK(done); /* neither of the two is short any more */
  atomic_store(&gate, 0);

  args keep = {.data = (int64_t *)passed, .shared = &closed};
  for (uint32_t h = 0; h < holders; h++) {
    OK(driver->ops->stream_create(driver, &held[h], &err));
    tickets[h] = launch_directly(held[h], hold, &keep, 1);
  }
  ticket = launch_directly(stream, slow, &take_long, 20);
  do {
    OK(driver->ops->wait(stream, ticket, 5 * MS, &done, &err));
  } while (!done);
  CHECK(atomic_load(&counter) == 21);
  ticket = launch_directly(stream, halt, &stop, GROUPS);
  OK(driver->ops->wait(stream, ticket, 5 * MS, &done, &err));
  CHECK(!done);
  for (uint32_t h = 0; h < holders; h++) CHECK(!driver->ops->is_done(held[h], tickets[h]));
  atomic_store(&closed, 1);
  atomic_store(&gate, 1);
  OK(driver->ops->wait(stream, ticket, -1, &done, &err));
  CHECK(done);
  for (int g = 0; g < GROUPS; g++) CHECK(atomic_load(&seen[g]) == 2);
  for (uint32_t h = 0; h < holders; h++) {
    OK(driver->ops->wait(held[h], tickets[h], -1, &done, &err));
    driver->ops->stream_destroy(held[h]);
  }
  driver->ops->stream_destroy(stream);
  driver->ops->module_unload(driver, hold);
  driver->ops->module_unload(driver, slow);
  driver->ops->module_unload(driver, halt);
}

/* A workgroup waits for the host while it may be on the thread that launches: that has to come
 * back, and each workgroup runs once. */
static void test_hand_over(void) {
  enum { GROUPS = 40, ROUNDS = 50 };
  static _Atomic uint64_t gate;
  static _Atomic uint64_t passed[GROUPS];
  roc_rt_stream *stream = default_stream(device);
  roc_rt_kernel *kernel = make_kernel(gate_kernel, false, false);
  roc_rt_kernel *chain = make_kernel(chain_kernel, false, false);
  roc_buffer *x = make_buffer(1);
  args a = {.data = (int64_t *)passed, .shared = &gate};
  int64_t expected = 0;
  for (int round = 0; round < ROUNDS; round++) {
    a.value = round % GROUPS; /* which of them waits */
    atomic_store(&gate, 1);
    for (int w = 0; w < 3; w++) { /* short ones: the next is tried again on this thread */
      launch(stream, kernel, &a, GROUPS, 1, NULL, false);
      OK(roc_rt_stream_synchronize(stream, &err));
    }
    atomic_store(&gate, 0);
    launch(stream, kernel, &a, GROUPS, 1, NULL, false);
    args b = {.data = roc_buffer_host(x), .value = round};
    launch(stream, chain, &b, 1, 1, x, true);
    CHECK(!is_done(stream));
    atomic_store(&gate, 1);
    OK(roc_rt_stream_synchronize(stream, &err));
    expected = (expected * 3 + round) % 1000003;
    CHECK(b.data[0] == expected);
    for (int g = 0; g < GROUPS; g++) CHECK(atomic_exchange(&passed[g], 0) == 4);
  }
  roc_buffer_release(x);
  roc_rt_kernel_release(kernel);
  roc_rt_kernel_release(chain);
}

typedef struct count {
  const int64_t *now;
  int64_t seen;
} count;

static void note_count(void *ud) {
  count *c = ud;
  c->seen = __atomic_load_n(c->now, __ATOMIC_RELAXED);
}

/* The one thread of the pool goes to what another stream has queued before it has run all of a long
 * launch, and comes back. */
static void test_shares(void) {
  enum { GROUPS = 100 };
  static _Atomic uint64_t gate;
  static int64_t counter;
  roc_device *driver = roc_rt_device_driver(device);
  CHECK(driver->props.compute_units == 1);
  roc_dev_module *module = load_directly(driver, long_kernel);
  roc_dev_stream *one, *two;
  OK(driver->ops->stream_create(driver, &one, &err));
  OK(driver->ops->stream_create(driver, &two, &err));
  args a = {.data = &counter, .shared = &gate};
  count c = {&counter, -1};
  roc_ticket long_ticket, call_ticket;
  bool done;
  long_ticket = launch_directly(one, module, &a, GROUPS);
  OK(driver->ops->host_call(two, note_count, &c, &call_ticket, &err));
  atomic_store(&gate, 1);
  OK(driver->ops->wait(two, call_ticket, -1, &done, &err));
  CHECK(c.seen >= 0 && c.seen < GROUPS);
  OK(driver->ops->wait(one, long_ticket, -1, &done, &err));
  CHECK(__atomic_load_n(&counter, __ATOMIC_RELAXED) == GROUPS);
  driver->ops->stream_destroy(one);
  driver->ops->stream_destroy(two);
  driver->ops->module_unload(driver, module);
}

#endif
