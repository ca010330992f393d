/* Launching: checks the grid, keeps what the kernel uses alive, queues it, notes the uses. */
#ifndef ROC_RUNTIME_LAUNCH_H
#define ROC_RUNTIME_LAUNCH_H

#include "base/codeobj.h"
#include "base/ndrange.h"
#include "runtime/stream.h"

/* A code object loaded on one device. */
typedef struct roc_rt_kernel roc_rt_kernel;
/* On success the kernel owns `object` and frees it (object->free) with itself, once no launch is
 * pending; on failure it stays the caller's. */
roc_status roc_rt_kernel_load(roc_rt_device *device, roc_codeobj *object, const char *name,
                              roc_rt_kernel **out_kernel, roc_error *err);
/* The same for another kernel of the bytes that `loaded` was made of, on its device: the two share
 * their global variables. */
roc_status roc_rt_kernel_load_beside(const roc_rt_kernel *loaded, roc_codeobj *object,
                                     const char *name, roc_rt_kernel **out_kernel, roc_error *err);
void roc_rt_kernel_release(roc_rt_kernel *kernel); /* pending launches keep it; never waits */

typedef struct roc_rt_use {
  roc_buffer *buffer;
  bool writes;
} roc_rt_use;

typedef struct roc_rt_launch {
  roc_rt_kernel *kernel;
  const void *kernarg;
  uint32_t kernarg_bytes;
  const roc_ndrange *range; /* borrowed for the call */
  const roc_rt_use *uses;
  uint32_t nuses;
  /* The script does not say where it runs: it comes after all queued work that conflicts with it, on
   * any stream, and later work that conflicts comes after it. */
  bool is_ordered;
  const char *file; /* the launch's place in the script, for fault messages: static or interned for
                       the process */
  uint32_t line;
} roc_rt_launch;

/* INVALID when the device cannot have such workgroups: for kernels that the host runs itself, of
 * which it knows only the dynamic part of shared memory. */
roc_status roc_rt_launch_check(roc_rt_device *device, const roc_ndrange *range, roc_error *err);
/* INVALID: the kernel of that name writes to a read-only array. */
roc_status roc_rt_fail_read_only_use(const char *kernel, roc_error *err);
/* Errors before anything is queued: INVALID (workgroup or grid over a limit, shared bytes, a use
 * that writes a read-only buffer), LOST, OOM. An empty range queues nothing. No allocation on the common path, and no wait but on a
 * stream whose driver's queue is full (INTERRUPTED). */
roc_status roc_rt_launch_queue(roc_rt_stream *stream, const roc_rt_launch *launch,
                               roc_ticket *out_ticket, roc_error *err);

/* Runs the kernel before it returns, on the calling thread, where its memory is the host's, no
 * queued work uses any of it, and the kernel can neither fail nor print.  False: it was not run,
 * and is to be queued, which tells why if it cannot be.  Allocates nothing. */
bool roc_rt_launch_at_once(const roc_rt_kernel *kernel, const void *kernarg,
                           const roc_ndrange *range);

#endif
