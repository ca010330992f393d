/* The thread pool of a cpu device, started by the first task; several devices share the cores.
 *
 * A task is stepped by as many threads as are free; each step takes and runs a share of it.  A free
 * thread goes to the task that the fewest step, of these to the oldest, and from time to time looks
 * whether another one has fewer by now: so tasks share the threads, however long they take.  One
 * lock guards all pools and, in queue.c, the streams of all devices, which may wait for each other:
 * "lock held" below means this one.
 *
 * A thread without work spins for a moment before it sleeps.  A task is handed to those that spin,
 * each in a place of its own, so that they begin without the lock; all but the last thread leave a
 * task without it, too.  What was handed to a thread that the system does not run is taken back at
 * the task's end.  One place of a task is kept for the thread that will wait for it, until a first
 * share is done; so one thread of the pool never spins, and no more threads run than there are
 * cores. */
#ifndef ROC_DEVICE_CPU_POOL_H
#define ROC_DEVICE_CPU_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct roc_cpu_fiber roc_cpu_fiber;

/* A thread's own memory for kernels' frames and shared arrays; grows, never shrinks. */
typedef struct roc_cpu_scratch {
  void *memory;
  size_t capacity;
  roc_cpu_fiber *fiber; /* in which it is used; NULL: on the stack of a thread of the pool */
  uint32_t thread;      /* whose it is: 1 … of the pool's, 0 of another */
} roc_cpu_scratch;

/* 64-byte aligned; NULL when memory is out (the old block is kept). */
void *roc_cpu_scratch_get(roc_cpu_scratch *scratch, size_t nbytes);
void roc_cpu_scratch_deinit(roc_cpu_scratch *scratch);

typedef struct roc_cpu_task roc_cpu_task;
struct roc_cpu_task {
  /* Takes a share and runs it; false when nothing was left to take.  Several threads at a time,
   * lock not held. */
  bool (*step)(roc_cpu_task *task, roc_cpu_scratch *scratch);
  /* Called once, when all steps are over; lock held.  May submit tasks. */
  void (*finish)(roc_cpu_task *task);
  uint32_t useful_threads;  /* more would find nothing to do */
  uint32_t worth_waking;    /* of them: for how many a sleeping thread is woken */
  _Atomic uint32_t inside;  /* threads stepping it, or to which it is handed */
  _Atomic bool is_handed;   /* to threads that may not have begun */
  _Atomic bool keeps_place; /* for a thread that waits, until a first share is done */
  _Atomic bool is_listed;   /* there are places; written with the lock held */
  roc_cpu_task *next;
};

/* What a thread that is none of the pool's has left in the middle of a task; see
 * roc_cpu_pool_leave. */
typedef struct roc_cpu_left roc_cpu_left;
struct roc_cpu_left {
  void (*go_on)(roc_cpu_left *left); /* lock not held; ends with roc_cpu_pool_exit */
  roc_cpu_task *task;
  roc_cpu_left *next;
};

typedef struct roc_cpu_worker roc_cpu_worker;

enum {
  ROC_CPU_MAX_THREADS = 1024,
  ROC_CPU_LINE = 128, /* bytes that two cores should not write side by side */
};

typedef struct roc_cpu_pool {
  uint32_t size; /* threads it is to have; constant, as the next two */
  bool is_pinned;
  uint32_t first_core; /* of a pinned pool: the first thread's */
  roc_cpu_task *first_task, **last_link;
  roc_cpu_left *first_left;
  _Atomic uint32_t listed_count; /* tasks, and what was left */
  roc_cpu_worker *workers;
  uint32_t thread_count, sleeping_count;
  /* A bit for each worker: whether it spins.  The thread that clears it hands it something. */
  _Atomic uint64_t spinning[ROC_CPU_MAX_THREADS / 64];
  _Atomic uint32_t wakes; /* counts; what sleeping threads wait on */
  bool is_stopping;
} roc_cpu_pool;

/* ROCLUA_CPU_THREADS, else the cores we may use: what the devices have in all.  INVALID: the
 * variable is no such number. */
roc_status roc_cpu_thread_count(uint32_t *out_count, roc_error *err);

/* A pool for device `ordinal` of `device_count`: its part of ROCLUA_CPU_THREADS threads, or of the
 * cores we may use, but at least one.  INVALID: the variable is no such number. */
roc_status roc_cpu_pool_init(roc_cpu_pool *pool, uint32_t ordinal, uint32_t device_count,
                             roc_error *err);
void roc_cpu_pool_deinit(roc_cpu_pool *pool); /* stopped, or never started */

void roc_cpu_pool_lock(void);
void roc_cpu_pool_unlock(void);
/* Starts the threads unless they run.  False: the system gives none; run the work yourself.  Lock
 * held. */
bool roc_cpu_pool_start(roc_cpu_pool *pool);
void roc_cpu_pool_submit(roc_cpu_pool *pool, roc_cpu_task *task); /* lock held */
/* The threads that have something to do in a task, of which one steps it, are more now.  Lock held.
 */
void roc_cpu_pool_widen(roc_cpu_pool *pool, roc_cpu_task *task);
/* A thread that is none of the pool's takes part in a task, unless enough do: false.  Lock held. */
bool roc_cpu_pool_enter(roc_cpu_pool *pool, roc_cpu_task *task);
/* It takes part no longer; `has_more`: there was more to take, which is for others.  Lock not held.
 */
void roc_cpu_pool_exit(roc_cpu_pool *pool, roc_cpu_task *task, bool has_more);
/* It has something else to do in the middle of a step: a thread of the pool goes on there.  Lock
 * held. */
void roc_cpu_pool_leave(roc_cpu_pool *pool, roc_cpu_left *left);
/* What was left of the task and no thread goes on with yet, for the calling one; or NULL.  Lock
 * held. */
roc_cpu_left *roc_cpu_pool_take_left(roc_cpu_pool *pool, const roc_cpu_task *task);
/* Wakes the threads in roc_cpu_pool_sleep.  Lock held; costs nothing when there are none. */
void roc_cpu_pool_notify(void);
/* Sleeps until notified or the deadline (roc_clock_ns; UINT64_MAX: none).  Lock held, given up
 * meanwhile. */
void roc_cpu_pool_sleep(uint64_t deadline_ns);
/* Ends and joins the threads; no task is left.  They start again when needed.  Lock not held. */
void roc_cpu_pool_stop(roc_cpu_pool *pool);

#endif
