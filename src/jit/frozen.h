/* Frozen kernels: launched from any number of threads, without Lua.
 *
 * A frozen kernel has the captures that its kernel had when it was taken out of its state, and
 * specialisations of its own.  A launch reads what other threads may replace without a lock: the
 * table of specialisations and the captured scalars, both immutable once they are published.  What
 * is replaced is freed when no launch is in progress.  Making a specialisation and setting a scalar
 * take the kernel's lock.  Counted; any thread. */
#ifndef ROC_JIT_FROZEN_H
#define ROC_JIT_FROZEN_H

#include "jit/ahead.h"
#include "jit/kernel.h"

typedef struct roc_jit_frozen roc_jit_frozen;

/* Takes over `kernel`, also on failure, whose captures have been read; retains captured arrays.
 * `signature`: NULL, or a type for each parameter, copied.  NULL when memory is out. */
roc_jit_frozen *roc_jit_freeze(roc_jit_kernel *kernel, const roc_arg_type *signature);
/* The same of a kernel that was compiled ahead of time, which captures nothing. */
roc_jit_frozen *roc_jit_freeze_ahead(roc_jit_ahead *ahead);
void roc_jit_frozen_retain(roc_jit_frozen *frozen);
void roc_jit_frozen_release(roc_jit_frozen *frozen); /* never waits */

const char *roc_jit_frozen_name(const roc_jit_frozen *frozen);
uint32_t roc_jit_frozen_nparams(const roc_jit_frozen *frozen);

/* The captured scalar of that name is `value` in launches from now on.  INVALID: there is none, or
 * two variables have the name. */
roc_status roc_jit_frozen_set(roc_jit_frozen *frozen, const char *name, roc_scalar value,
                              roc_error *err);

/* The memory of one launch: in the struct itself as far as that suffices. */
enum { ROC_JIT_CALL_VALUES = 24, ROC_JIT_CALL_BLOCK_BYTES = 1024 };

typedef struct roc_jit_call {
  roc_jit_frozen *frozen;
  roc_jit_value *values; /* the caller fills array, or scalar, of the first nparams */
  roc_array *views;
  roc_arg_type *classes;
  roc_rt_use *uses;
  roc_buffer **mirrored; /* the host's side of a parameter's array, or NULL */
  bool has_mirrored;
  void *heap; /* NULL: the room below suffices */
  roc_jit_value own_values[ROC_JIT_CALL_VALUES];
  roc_array own_views[ROC_JIT_CALL_VALUES];
  roc_arg_type own_classes[ROC_JIT_CALL_VALUES];
  roc_rt_use own_uses[ROC_JIT_CALL_VALUES];
  roc_buffer *own_mirrored[ROC_JIT_CALL_VALUES];
  unsigned char own_block[ROC_JIT_CALL_BLOCK_BYTES];
} roc_jit_call;

/* Prepares *call, whose contents do not matter, and zeroes the values of the parameters.  OOM. */
roc_status roc_jit_call_begin(roc_jit_frozen *frozen, roc_jit_call *call, roc_error *err);
void roc_jit_call_end(roc_jit_call *call);

/* Queues the kernel, or with `launch` NULL only makes the specialisation that the launch would
 * take.  `launch->range.local[0]` 0: a workgroup is chosen.  Host arrays are used in place where
 * the device reaches them.  INVALID names the argument; COMPILE; UNSUPPORTED: the device runs
 * kernels in Lua; otherwise as roc_rt_launch_queue. */
roc_status roc_jit_call_run(roc_jit_call *call, roc_rt_stream *stream, const roc_jit_launch *launch,
                            roc_error *err);

#endif
