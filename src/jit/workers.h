/* The compiler threads: everything that touches LLVM, and the front end, runs on one of them.
 *
 * A thread is made when no thread is idle for a piece of work, up to the number of processors; each
 * has a stack of its own, large enough for deep recursion.  Callers wait.  When LLVM ends with a
 * fatal error the current work is marked failed with LLVM's message and its thread is parked for
 * good inside LLVM; the others go on.  Any thread may call. */
#ifndef ROC_JIT_WORKERS_H
#define ROC_JIT_WORKERS_H

#include "base/status.h"
#include "runtime/progress.h"

/* Runs fn(ud) on a compiler thread and waits for it; `work` (NULL: none) says each second that it
 * goes on.  Not to be called from such a thread.
 * COMPILE, OOM: LLVM died in it, the message says of what.  UNAVAILABLE: no thread, or a process made by
 * fork.  CLOSED: the process is ending. */
roc_status roc_jit_run(void (*fn)(void *ud), void *ud, roc_rt_progress *work, roc_error *err);

/* Work without a waiter; embedded in the object it works on. */
typedef struct roc_jit_background_job {
  void (*run)(struct roc_jit_background_job *self);
  struct roc_jit_background_job *next; /* the workers' */
} roc_jit_background_job;

/* Has job->run(job) called by a compiler thread before its next piece of work.  Never waits,
 * never allocates. */
void roc_jit_run_later(roc_jit_background_job *job);

/* For LLVM's handler of fatal errors, on the thread that met one and will never return: fails
 * the thread's current work with `status` and a copy of `message`. */
void roc_jit_worker_dies(roc_status status, const char *message);

/* Registers a function with atexit that waits for current work and starts no more.  Called after a
 * library that compiler threads use was opened, so that this runs before its destructors do. */
void roc_jit_stop_before_exit(void);

#endif
