/* What the tests of queue_test.c share: checks, kernels written by hand in the place of compiled
 * ones with the loader that takes them, and short ways to launch them. */
#ifndef ROC_SPEC_QUEUE_KERNELS_H
#define ROC_SPEC_QUEUE_KERNELS_H

#include <fenv.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/device.h"
#include "runtime/launch.h"

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

static _Thread_local roc_error err;
#define OK(call)                                                                  \
  do {                                                                            \
    err.message[0] = '\0';                                                        \
    if ((call) != ROC_OK) {                                                       \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, err.message); \
      exit(1);                                                                    \
    }                                                                             \
  } while (0)

/* ---- kernels ------------------------------------------------------------- */

typedef struct args {
  int64_t *data;
  _Atomic uint64_t *shared; /* kernels' meeting point */
  int64_t value;
} args;

static const args *args_of(const void *kernarg) {
  return kernarg;
}

static void add_kernel(const void *kernarg, const roc_cpu_launch *launch, uint64_t first,
                       uint64_t end, void *shared, void *frame, roc_cpu_turn *turn) {
  (void)shared;
  (void)frame;
  (void)turn;
  for (uint64_t g = first; g < end; g++) {
    for (uint64_t i = g * launch->range.local[0];
         i < (g + 1) * launch->range.local[0] && i < launch->range.grid[0]; i++) {
      args_of(kernarg)->data[i] += args_of(kernarg)->value;
    }
  }
}

/* Spins until told, whatever it is answered. */
static void endless_kernel(const void *kernarg, const roc_cpu_launch *info, uint64_t first,
                           uint64_t end, void *shared, void *frame, roc_cpu_turn *turn) {
  (void)info;
  (void)first;
  (void)end;
  (void)shared;
  (void)frame;
  while (atomic_load(args_of(kernarg)->shared) == 0) {
    turn->ask(turn, UINT64_MAX);
    sched_yield();
  }
}

/* Counts each workgroup; number `value` waits in its middle until told. */
static void gate_kernel(const void *kernarg, const roc_cpu_launch *info, uint64_t first,
                        uint64_t end, void *shared, void *frame, roc_cpu_turn *turn) {
  const args *a = args_of(kernarg);
  (void)info;
  (void)shared;
  (void)frame;
  for (uint64_t g = first; g < end; g++) {
    atomic_fetch_add((_Atomic uint64_t *)&a->data[g], 1);
    while (g == (uint64_t)a->value && atomic_load(a->shared) == 0) turn->ask(turn, UINT64_MAX);
    if (g + 1 < end && turn->ask(turn, g + 1) == 0) return;
  }
}

/* Notes how each workgroup rounds; takes long enough to be handed over. */
static void modes_kernel(const void *kernarg, const roc_cpu_launch *info, uint64_t first,
                         uint64_t end, void *shared, void *frame, roc_cpu_turn *turn) {
  (void)info;
  (void)shared;
  (void)frame;
  for (uint64_t g = first; g < end; g++) {
    args_of(kernarg)->data[g] = fegetround();
    usleep(100);
    if (g + 1 < end && turn->ask(turn, g + 1) == 0) return;
  }
}

/* Tells it. */
static void open_kernel(const void *kernarg, const roc_cpu_launch *info, uint64_t first,
                        uint64_t end, void *shared, void *frame, roc_cpu_turn *turn) {
  (void)info;
  (void)first;
  (void)end;
  (void)shared;
  (void)frame;
  (void)turn;
  atomic_store(args_of(kernarg)->shared, 1);
}

/* Doubles and adds: any two launches out of order or lost give another result. */
static void chain_kernel(const void *kernarg, const roc_cpu_launch *launch, uint64_t first,
                         uint64_t end, void *shared, void *frame, roc_cpu_turn *turn) {
  (void)shared;
  (void)frame;
  (void)turn;
  for (uint64_t g = first; g < end; g++) {
    for (uint64_t i = g * launch->range.local[0];
         i < (g + 1) * launch->range.local[0] && i < launch->range.grid[0]; i++) {
      int64_t *x = &args_of(kernarg)->data[i];
      *x = (*x * 3 + args_of(kernarg)->value) % 1000003;
    }
  }
}

/* Groups of the lower half wait until one of the upper half has begun; shared[1]: how many had by
 * then, from shared[2] on: how often each has. */
static void halves_kernel(const void *kernarg, const roc_cpu_launch *launch, uint64_t first,
                          uint64_t end, void *shared, void *frame, roc_cpu_turn *turn) {
  (void)shared, (void)frame, (void)turn;
  _Atomic uint64_t *begun = args_of(kernarg)->shared;
  for (uint64_t g = first; g < end; g++) {
    uint64_t before = atomic_fetch_add(&begun[0], 1), none = 0;
    atomic_fetch_add(&begun[2 + g], 1);
    if (g >= launch->groups[0] / 2) atomic_compare_exchange_strong(&begun[1], &none, before + 1);
    for (int i = 0; i < 20; i++) roc_cpu_relax(); /* a launch takes too long for a trial */
    while (g < launch->groups[0] / 2 && atomic_load(&begun[1]) == 0) sched_yield();
  }
}

/* Each group spins until all lower ones have passed. */
static void baton_kernel(const void *kernarg, const roc_cpu_launch *launch, uint64_t first,
                         uint64_t end, void *shared, void *frame, roc_cpu_turn *turn) {
  (void)launch;
  (void)shared;
  (void)frame;
  (void)turn;
  _Atomic uint64_t *baton = args_of(kernarg)->shared;
  for (uint64_t g = first; g < end; g++) {
    while (atomic_load_explicit(baton, memory_order_acquire) != g) sched_yield();
    atomic_store_explicit(baton, g + 1, memory_order_release);
  }
}

static void slow_kernel(const void *kernarg, const roc_cpu_launch *launch, uint64_t first,
                        uint64_t end, void *shared, void *frame, roc_cpu_turn *turn) {
  (void)launch;
  (void)shared;
  (void)frame;
  for (uint64_t g = first; g < end; g++) {
    usleep((useconds_t)args_of(kernarg)->value);
    turn->ask(turn, UINT64_MAX); /* in the middle of a workgroup */
    atomic_fetch_add(args_of(kernarg)->shared, 1);
    if (g + 1 < end && turn->ask(turn, g + 1) == 0) return;
  }
}

/* Begins when it is told, and takes a millisecond a workgroup. */
static void long_kernel(const void *kernarg, const roc_cpu_launch *info, uint64_t first,
                        uint64_t end, void *shared, void *frame, roc_cpu_turn *turn) {
  const args *a = args_of(kernarg);
  (void)info;
  (void)shared;
  (void)frame;
  for (uint64_t g = first; g < end; g++) {
    while (atomic_load(a->shared) == 0) turn->ask(turn, UINT64_MAX);
    usleep(1000);
    __atomic_fetch_add(a->data, 1, __ATOMIC_RELAXED);
    if (g + 1 < end && turn->ask(turn, g + 1) == 0) return;
  }
}

static void fault_kernel(const void *kernarg, const roc_cpu_launch *launch, uint64_t first,
                         uint64_t end, void *shared, void *frame, roc_cpu_turn *turn) {
  (void)kernarg;
  (void)shared;
  (void)frame;
  (void)turn;
  for (uint64_t g = first; g < end; g++) {
    bool is_first = __atomic_fetch_add(&launch->fault->count, 1, __ATOMIC_RELAXED) == 0;
    __atomic_store_n(&launch->fault->state, 1, __ATOMIC_RELAXED);
    if (is_first) {
      launch->fault->item[0] = g + 1;
      launch->fault->values[0] = g + 1;
      launch->fault->values[1] = 7;
    }
  }
}

/* As over a link that loses atomic operations. */
static void lossy_fault_kernel(const void *kernarg, const roc_cpu_launch *launch, uint64_t first,
                               uint64_t end, void *shared, void *frame, roc_cpu_turn *turn) {
  (void)kernarg;
  (void)first;
  (void)end;
  (void)shared;
  (void)frame;
  (void)turn;
  __atomic_store_n(&launch->fault->state, 1, __ATOMIC_RELAXED);
}

static void print_kernel(const void *kernarg, const roc_cpu_launch *launch, uint64_t first,
                         uint64_t end, void *shared, void *frame, roc_cpu_turn *turn) {
  (void)kernarg;
  (void)shared;
  (void)frame;
  (void)turn;
  for (uint64_t g = first; g < end; g++) {
    uint32_t at = __atomic_fetch_add(&launch->print->used, 16, __ATOMIC_RELAXED);
    if (at + 16 > launch->print->capacity) {
      __atomic_fetch_add(&launch->print->lost, 1, __ATOMIC_RELAXED);
      continue;
    }
    uint32_t head[2] = {1, 1};
    memcpy(launch->print->data + at, head, sizeof head);
    memcpy(launch->print->data + at + 8, &g, sizeof g);
  }
}

/* Uses every byte of its frame and shared memory, so that sanitizers see sizes that are wrong. */
static void memory_kernel(const void *kernarg, const roc_cpu_launch *launch, uint64_t first,
                          uint64_t end, void *shared, void *frame, roc_cpu_turn *turn) {
  size_t items = (size_t)launch->range.local[0] * launch->range.local[1];
  (void)turn;
  for (uint64_t g = first; g < end; g++) {
    memset(shared, (int)g, 128 + launch->range.dynamic_shared_bytes);
    memset(frame, (int)g, 64 + 24 * items);
    bool aligned = (uintptr_t)shared % 64 == 0 && (uintptr_t)frame % 64 == 0;
    if (aligned) atomic_fetch_add(args_of(kernarg)->shared, 1);
  }
}

static roc_status load(const roc_codeobj *object, roc_cpu_entry *out_entry, void **out_handle,
                       roc_error *error) {
  (void)error;
  memcpy(out_entry, object->bytes, sizeof *out_entry);
  *out_handle = NULL;
  return ROC_OK;
}

static void unload(void *handle) {
  (void)handle;
}

static const roc_cpu_loader loader = {load, unload};

static const roc_site_piece print_pieces[] = {{"group ", ROC_VT_NONE}, {NULL, ROC_VT_INT}};
static const roc_site sites[] = {
    {.kind = ROC_SITE_INDEX, .nvalues = 2, .file = "k.lua", .line = 3, .name = "y"},
    {.kind = ROC_SITE_PRINT, .nvalues = 1, .pieces = print_pieces, .npieces = 2},
};

typedef struct test_object {
  roc_codeobj object;
  roc_cpu_entry entry;
} test_object;

static _Atomic int freed_objects;

static void free_object(roc_codeobj *object) {
  atomic_fetch_add(&freed_objects, 1);
  free(object);
}

static roc_rt_device *device;
static roc_rt_session *session;

static roc_rt_stream *default_stream(roc_rt_device *of) {
  roc_rt_stream *stream;
  OK(roc_rt_session_stream(session, of, &stream, &err));
  return stream;
}

static roc_rt_kernel *make_kernel(roc_cpu_entry entry, bool has_fault, bool has_print) {
  test_object *o = calloc(1, sizeof *o);
  o->entry = entry;
  o->object = (roc_codeobj){
      .target = "cpu",
      .entry = "k",
      .bytes = (const unsigned char *)&o->entry,
      .nbytes = sizeof o->entry,
      .sites = sites,
      .nsites = 2,
      .has_fault = has_fault,
      .has_print = has_print,
      .shared_bytes = entry == memory_kernel ? 128 : 0,
      .frame_fixed_bytes = entry == memory_kernel ? 64 : 0,
      .frame_item_bytes = entry == memory_kernel ? 24 : 0,
      .free = free_object,
  };
  roc_rt_kernel *kernel;
  OK(roc_rt_kernel_load(device, &o->object, "test", &kernel, &err));
  return kernel;
}

static roc_ticket launch(roc_rt_stream *stream, roc_rt_kernel *kernel, const args *a,
                         uint64_t items, uint32_t local, roc_buffer *buffer, bool writes) {
  roc_rt_use use = {buffer, writes};
  roc_ndrange range = {.grid = {items, 1, 1}, .local = {local, 1, 1}, .rank = 1};
  roc_rt_launch work = {
      .kernel = kernel,
      .kernarg = a,
      .kernarg_bytes = sizeof *a,
      .range = &range,
      .uses = &use,
      .nuses = buffer ? 1 : 0,
      .file = "script.lua",
      .line = 42,
  };
  roc_ticket ticket;
  OK(roc_rt_launch_queue(stream, &work, &ticket, &err));
  return ticket;
}

/* A launch on a stream of the driver's own. */
static roc_ticket launch_directly(roc_dev_stream *stream, roc_dev_module *module, args *a,
                                  uint64_t groups) {
  roc_ndrange range = {.grid = {groups, 1, 1}, .local = {1, 1, 1}, .rank = 1};
  roc_dev_launch work = {
      .module = module, .range = &range, .kernarg = a, .kernarg_bytes = sizeof *a};
  roc_ticket ticket;
  OK(stream->device->ops->launch(stream, &work, &ticket, &err));
  return ticket;
}

static roc_dev_module *load_directly(roc_device *driver, roc_cpu_entry entry) {
  roc_codeobj object = {.target = "cpu",
                        .bytes = (const unsigned char *)&entry,
                        .nbytes = sizeof entry,
                        .is_unordered = entry == halves_kernel};
  roc_dev_module *module;
  OK(driver->ops->module_load(driver, &object, &module, &err));
  return module;
}

static roc_buffer *make_buffer(size_t count) {
  roc_buffer *buffer;
  OK(roc_buffer_create_device(device, count * sizeof(int64_t), &buffer, &err));
  memset(roc_buffer_host(buffer), 0, count * sizeof(int64_t));
  return buffer;
}

static bool is_done(roc_rt_stream *stream) {
  bool done = false;
  OK(roc_rt_stream_query(stream, roc_rt_stream_last(stream), &done, &err));
  return done;
}

static void open_null(void) {
  uint32_t index;
  OK(roc_rt_device_find("null", &index, &err));
  OK(roc_rt_device_get(index, &device, &err));
}

#endif
