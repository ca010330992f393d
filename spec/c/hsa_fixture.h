/* What the tests of the hsa driver between its ops and ROCR share: the driver's table of ROCR's
 * functions, which they put their own into, a device, and several.  A check that fails ends the
 * process.  The GPUs are those of ROCLUA_EMULATE. */
#ifndef SPEC_C_HSA_FIXTURE_H
#define SPEC_C_HSA_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>

#include "device/device.h"
#include "device/hsa/dyn.h"

static roc_error err;
static roc_device *device;
static const roc_device_ops *ops = &roc_hsa_ops;
static roc_hsa_api real; /* as ROCR has them */

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      printf("%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, err.message); \
      fflush(stdout);                                                          \
      _Exit(EXIT_FAILURE);                                                     \
    }                                                                          \
  } while (0)
#define OK(call) CHECK((call) == ROC_OK)

static void load_rocr(void) {
  OK(roc_hsa_load(&err));
  real = roc_hsa;
}

static void open_device(void) {
  uint32_t count;
  OK(ops->probe(&count, &err));
  OK(ops->open(0, &device, &err));
}

static void close_device(void) {
  ops->quiesce(device);
  ops->close(device);
}

static void await(roc_dev_stream *stream, roc_ticket ticket) {
  bool is_done = false;
  OK(ops->wait(stream, ticket, 20000000000, &is_done, &err));
  CHECK(is_done);
}

static inline bool has_failed(roc_dev_stream *stream, roc_ticket ticket) {
  uint64_t failure;
  return ops->find_failure(stream, ticket, &failure, &err);
}

enum { GPUS = 3, PEER_BYTES = 3 << 20 };

/* Each with a stream, and a block of memory. */
static roc_device *gpus[GPUS];
static roc_dev_stream *gpu_streams[GPUS];
static roc_devptr gpu_blocks[GPUS];

static inline void open_devices(void) {
  uint32_t count;
  OK(ops->probe(&count, &err));
  CHECK(count == GPUS);
  for (uint32_t i = 0; i < GPUS; i++) {
    OK(ops->open(i, &gpus[i], &err));
    OK(ops->stream_create(gpus[i], &gpu_streams[i], &err));
    OK(ops->alloc(gpus[i], PEER_BYTES, &gpu_blocks[i], &err));
  }
}

#endif
