/* A stand-in for NVIDIA's driver library, for tests of src/device/cuda: a test double.
 *
 * libfake_cuda.so has the functions of device/cuda/cuda_api.def.  They keep books, copy and fill
 * memory for real, in the order of streams and on a thread of their own, and run no kernel.  Each
 * can be made to fail.  What a program must not do with the real library (copy pageable memory on a
 * busy stream, call it from a host function, touch memory of the device, use a block before its
 * allocation in the order of streams) is counted and printed.
 *
 * Environment, for programs that do not know it: FAKE_CUDA_DEVICES (2), FAKE_CUDA_VERSION (13000),
 * FAKE_CUDA_FAIL=FUNCTION:NTH:RESULT (0th: each call), FAKE_CUDA_REPORT=FILE (written at the end of
 * the process), FAKE_CUDA_AWAIT=FILE (which a context's end waits for), FAKE_CUDA_LAUNCHES=FILE (a
 * line each: function, blocks, threads, bytes of shared memory, and the arguments' bytes as
 * hexadecimal digits). */
#ifndef SPEC_C_FAKE_CUDA_H
#define SPEC_C_FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/cuda/cuda_driver.h"

typedef enum fake_cuda_call {
#define ROC_CUDA_FUNCTION(field, symbol, parameters) FAKE_##field,
#include "device/cuda/cuda_api.def"
#undef ROC_CUDA_FUNCTION
  FAKE_CALLS
} fake_cuda_call;

typedef enum fake_cuda_kind {
  FAKE_CONTEXT,
  FAKE_STREAM,
  FAKE_EVENT,
  FAKE_MODULE,
  FAKE_POOL,
  FAKE_MEMORY,
  FAKE_HOST_MEMORY,
  FAKE_REGISTERED,
  FAKE_KINDS
} fake_cuda_kind;

typedef struct fake_cuda_launch {
  const char *function;
  unsigned grid[3], block[3], shared_bytes;
  const unsigned char *arguments;
  size_t argument_bytes;
} fake_cuda_launch;

typedef struct fake_cuda {
  /* The nth call of it from now (1: the next) gives `result`; 0 disarms. A result that ends a
   * context ends the current one. */
  void (*fail)(fake_cuda_call call, uint64_t nth, CUresult result);
  uint64_t (*calls)(fake_cuda_call call);
  int64_t (*live)(fake_cuda_kind kind);
  /* What is queued stays undone. */
  void (*hold)(bool is_held);
  /* The context of a device is in this error from now on, as after a fault of a kernel. */
  void (*lose)(int device, CUresult result);
  /* Things that must not be done, so far. */
  uint64_t (*violations)(void);
  /* Calls that would have waited for work that was queued: unloading and the like. */
  uint64_t (*waits)(void);
  /* The host's view of device memory; NULL: not such memory. */
  void *(*look)(CUdeviceptr ptr);
  /* Called in a launch's turn, in the place of the kernel.  NULL: nothing. */
  void (*on_kernel)(const fake_cuda_launch *launch);
  const char *(*name)(fake_cuda_call call);
} fake_cuda;

/* The one of the library, by dlsym. */
typedef fake_cuda *fake_cuda_get(void);

#endif
