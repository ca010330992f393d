/* Worker threads that share tasks; see pool.h.
 *
 * A worker without work spins for a moment before it sleeps, so that a stream of short kernels
 * costs no system call per launch; a submitter signals only as many sleepers as can help and are
 * not spinning already. */
#include "device/cpu/pool.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"

enum { MAX_THREADS = 1024, SPIN_NS = 20000, SCRATCH_ALIGNMENT = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_came = PTHREAD_COND_INITIALIZER;
static pthread_cond_t work_done; /* on the monotonic clock, hence made at run time */
static pthread_once_t done_once = PTHREAD_ONCE_INIT;

static roc_cpu_task *first_task, **last_link = &first_task;
static _Atomic uint32_t listed_count; /* read by spinning workers without the lock */
static uint32_t wanted_threads = 1, thread_count, sleeping_count, spinning_count, waiting_count;
static pthread_t threads[MAX_THREADS];
static bool is_stopping;

void *roc_cpu_scratch_get(roc_cpu_scratch *scratch, size_t nbytes) {
  if (nbytes <= scratch->capacity && scratch->memory) return scratch->memory;
  void *memory = roc_alloc_aligned(nbytes, SCRATCH_ALIGNMENT);
  if (!memory) return NULL;
  roc_free(scratch->memory);
  scratch->memory = memory;
  scratch->capacity = nbytes;
  return memory;
}

void roc_cpu_scratch_deinit(roc_cpu_scratch *scratch) {
  roc_free(scratch->memory);
  *scratch = (roc_cpu_scratch){0};
}

static uint32_t count_cores(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  int count = CPU_COUNT(&set);
  return count < 1 ? 1 : count > MAX_THREADS ? MAX_THREADS : (uint32_t)count;
}

roc_status roc_cpu_pool_configure(roc_error *err) {
  const char *text = getenv("ROCLUA_CPU_THREADS");
  uint32_t count = count_cores();
  if (text && *text) {
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (*end || n < 1 || n > MAX_THREADS) {
      return roc_fail(err, ROC_INVALID,
                      "ROCLUA_CPU_THREADS is '%s', expected a number from 1 to %d", text,
                      MAX_THREADS);
    }
    count = (uint32_t)n;
  }
  roc_cpu_pool_lock();
  if (thread_count == 0) wanted_threads = count;
  roc_cpu_pool_unlock();
  return ROC_OK;
}

uint32_t roc_cpu_pool_size(void) {
  return wanted_threads;
}

void roc_cpu_pool_lock(void) {
  pthread_mutex_lock(&lock);
}

void roc_cpu_pool_unlock(void) {
  pthread_mutex_unlock(&lock);
}

/* ---- tasks --------------------------------------------------------------- */

static void unlist(roc_cpu_task *task) {
  if (!task->is_listed) return;
  for (roc_cpu_task **link = &first_task; *link; link = &(*link)->next) {
    if (*link != task) continue;
    *link = task->next;
    if (last_link == &task->next) last_link = link;
    break;
  }
  task->is_listed = false;
  atomic_fetch_sub_explicit(&listed_count, 1, memory_order_relaxed);
}

void roc_cpu_pool_submit(roc_cpu_task *task) {
  task->inside = 0;
  task->next = NULL;
  task->is_listed = true;
  *last_link = task;
  last_link = &task->next;
  atomic_fetch_add_explicit(&listed_count, 1, memory_order_release);
  uint32_t helpers = spinning_count;
  for (uint32_t i = helpers; i < task->useful_threads && i - helpers < sleeping_count; i++) {
    pthread_cond_signal(&work_came);
  }
}

/* Steps a task to its end.  Lock held, given up while stepping. */
static void serve(roc_cpu_task *task, roc_cpu_scratch *scratch) {
  task->inside++;
  if (task->inside == task->useful_threads) unlist(task);
  /* Submitters count spinning threads once per task; whoever takes one sees to it that the rest is
   * taken too. */
  if (first_task && sleeping_count > 0) pthread_cond_signal(&work_came);
  roc_cpu_pool_unlock();
  while (task->step(task, scratch)) continue;
  roc_cpu_pool_lock();
  unlist(task);
  if (--task->inside == 0) task->finish(task);
}

/* ---- workers ------------------------------------------------------------- */

/* Lock held, given up meanwhile. */
static void spin_for_work(void) {
  spinning_count++;
  roc_cpu_pool_unlock();
  uint64_t deadline = roc_clock_ns() + SPIN_NS;
  while (atomic_load_explicit(&listed_count, memory_order_acquire) == 0 &&
         roc_clock_ns() < deadline) {
    for (int i = 0; i < 16; i++) roc_cpu_relax();
  }
  roc_cpu_pool_lock();
  spinning_count--;
}

static void *run_worker(void *unused) {
  (void)unused;
  roc_cpu_scratch scratch = {0};
  bool has_spun = true; /* a new thread has work or sleeps */
  roc_cpu_pool_lock();
  for (;;) {
    if (first_task) {
      serve(first_task, &scratch);
      has_spun = false;
    } else if (is_stopping) {
      break;
    } else if (!has_spun) {
      spin_for_work();
      has_spun = true;
    } else {
      sleeping_count++;
      pthread_cond_wait(&work_came, &lock);
      sleeping_count--;
    }
  }
  roc_cpu_pool_unlock();
  roc_cpu_scratch_deinit(&scratch);
  return NULL;
}

/* Signals belong to the program's own threads, but for those an instruction raises. */
static void block_signals(sigset_t *out_old) {
  sigset_t set;
  sigfillset(&set);
  sigdelset(&set, SIGSEGV);
  sigdelset(&set, SIGBUS);
  sigdelset(&set, SIGFPE);
  sigdelset(&set, SIGILL);
  pthread_sigmask(SIG_SETMASK, &set, out_old);
}

bool roc_cpu_pool_start(void) {
  if (thread_count > 0) return true;
  sigset_t old;
  block_signals(&old);
  while (thread_count < wanted_threads) {
    if (pthread_create(&threads[thread_count], NULL, run_worker, NULL) != 0) break;
    thread_count++;
  }
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return thread_count > 0;
}

void roc_cpu_pool_stop(void) {
  roc_cpu_pool_lock();
  uint32_t count = thread_count;
  is_stopping = true;
  pthread_cond_broadcast(&work_came);
  roc_cpu_pool_unlock();
  for (uint32_t i = 0; i < count; i++) pthread_join(threads[i], NULL);
  roc_cpu_pool_lock();
  thread_count = 0;
  is_stopping = false;
  roc_cpu_pool_unlock();
}

/* ---- waiters ------------------------------------------------------------- */

static void init_done(void) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&work_done, &attributes);
  pthread_condattr_destroy(&attributes);
}

void roc_cpu_pool_notify(void) {
  if (waiting_count > 0) pthread_cond_broadcast(&work_done);
}

void roc_cpu_pool_sleep(uint64_t deadline_ns) {
  pthread_once(&done_once, init_done);
  waiting_count++;
  if (deadline_ns == UINT64_MAX) {
    pthread_cond_wait(&work_done, &lock);
  } else {
    struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / 1000000000u),
                                .tv_nsec = (long)(deadline_ns % 1000000000u)};
    pthread_cond_timedwait(&work_done, &lock, &deadline);
  }
  waiting_count--;
}
