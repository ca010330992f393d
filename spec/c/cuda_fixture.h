/* What the tests of the cuda driver on the stand-in library share: a device, a kernel, and launches
 * of it.  A check that fails ends the process.  ROCLUA_CUDA_LIBRARY names the stand-in. */
#ifndef SPEC_C_CUDA_FIXTURE_H
#define SPEC_C_CUDA_FIXTURE_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/cuda/dyn.h"
#include "device/device.h"
#include "fake_cuda.h"

static roc_error err;
static roc_device *device;
static const roc_device_ops *ops = &roc_cuda_ops;
static fake_cuda *fake;

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      printf("%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, err.message); \
      fflush(stdout);                                                          \
      _Exit(EXIT_FAILURE);                                                     \
    }                                                                          \
  } while (0)
#define OK(call) CHECK((call) == ROC_OK)

/* A limit for what is no more than a moment's work, until the next call: what waits for ever ends the
 * process. */
static inline void limit_wait(void) {
  alarm(200);
}

/* ---- a device ---------------------------------------------------------------------------- */

static void find_fake(void) {
  limit_wait();
  void *handle = dlopen(getenv("ROCLUA_CUDA_LIBRARY"), RTLD_NOW);
  CHECK(handle);
  fake_cuda_get *get;
  void *address = dlsym(handle, "fake_cuda_open");
  CHECK(address);
  memcpy(&get, &address, sizeof get);
  fake = get();
}

static inline void open_device(void) {
  uint32_t count;
  OK(ops->probe(&count, &err));
  CHECK(count == 2);
  OK(ops->open(0, &device, &err));
}

static void check_balance(void) {
  for (int i = 0; i < FAKE_KINDS; i++) {
    if (fake->live((fake_cuda_kind)i))
      printf("kind %d: %d left\n", i, (int)fake->live((fake_cuda_kind)i));
    CHECK(fake->live((fake_cuda_kind)i) == 0);
  }
  CHECK(fake->violations() == 0);
}

static inline void close_device(void) {
  ops->quiesce(device);
  ops->close(device);
  check_balance();
}

static inline roc_dev_stream *new_stream(void) {
  roc_dev_stream *stream;
  OK(ops->stream_create(device, &stream, &err));
  return stream;
}

static inline void await(roc_dev_stream *stream, roc_ticket ticket) {
  bool is_done = false;
  OK(ops->wait(stream, ticket, 20000000000, &is_done, &err));
  CHECK(is_done);
}

static roc_devptr address_of(const void *ptr) {
  return (roc_devptr)(uintptr_t)ptr;
}

/* ---- a kernel ---- */

static const unsigned char ptx[] = ".version 6.0 .entry good() .entry large()";
static roc_codeobj object = {
    .target = "sm_90", .entry = "good", .bytes = ptx, .nbytes = sizeof ptx};

static const roc_ndrange line = {.grid = {1000, 1, 1}, .local = {64, 1, 1}, .rank = 1};

static roc_status launch_on(roc_dev_stream *stream, roc_dev_module *module,
                            const roc_ndrange *range, int64_t argument, roc_fault_record *fault,
                            roc_print_buffer *print, roc_ticket *out_ticket) {
  roc_dev_launch work = {.module = module,
                         .kernarg = &argument,
                         .kernarg_bytes = sizeof argument,
                         .range = range,
                         .name = "good",
                         .file = "a.lua",
                         .line = (uint32_t)argument,
                         .fault = fault,
                         .print = print};
  return ops->launch(stream, &work, out_ticket, &err);
}

#endif
