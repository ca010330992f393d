/* Worker threads that share tasks; see pool.h.
 *
 * A worker without work spins for a moment before it sleeps, so that a stream of short kernels
 * costs no system call per launch; a submitter signals only as many sleepers as can help and are
 * not spinning already. */
#include "device/cpu/pool.h"

#include <errno.h>
#include <fenv.h>
#include <sched.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/thread.h"
#include "device/cpu/pinning.h"
#include "device/cpu/quota.h"

enum {
  MAX_THREADS = 1024,
  SPIN_NS = 20000,
  TURN_NS = 500000, /* of a thread at a task, before it looks whether another one has fewer */
  SCRATCH_ALIGNMENT = 64,
};

/* Held for short, by many threads at the ends of a launch: they try for a while before they sleep. */
static pthread_mutex_t lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t work_done; /* on the monotonic clock, hence made at run time */
static pthread_once_t done_once = PTHREAD_ONCE_INIT;
static uint32_t waiting_count;
/* Sleeping threads that roc_cpu_pool_unlock wakes: a call of the system takes longer than what the
 * lock is held for.  Lock held. */
static struct {
  roc_cpu_pool *pool;
  uint32_t count;
} wakes;

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

/* Those that the affinity allows, or as many as the quota of a container has time for. */
static uint32_t count_cores(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  int count = CPU_COUNT(&set);
  uint32_t cores = count < 1 ? 1 : count > MAX_THREADS ? MAX_THREADS : (uint32_t)count;
  uint32_t quota = roc_cpu_quota("/proc/self/cgroup", "/sys/fs/cgroup");
  return quota < cores ? quota : cores;
}

roc_status roc_cpu_thread_count(uint32_t *out_count, roc_error *err) {
  uint64_t count = count_cores();
  roc_status status = roc_env_number("ROCLUA_CPU_THREADS", 1, MAX_THREADS, &count, err);
  *out_count = (uint32_t)count;
  return status;
}

roc_status roc_cpu_pool_init(roc_cpu_pool *pool, uint32_t ordinal, uint32_t device_count,
                             roc_error *err) {
  uint32_t total;
  bool is_pinned;
  ROC_TRY(roc_cpu_thread_count(&total, err));
  ROC_TRY(roc_cpu_is_pinned(&is_pinned, err));
  uint32_t first = total * ordinal / device_count;
  uint32_t part = total * (ordinal + 1) / device_count - first;
  *pool = (roc_cpu_pool){.size = part ? part : 1, .is_pinned = is_pinned, .first_core = first};
  pool->last_link = &pool->first_task;
  pthread_cond_init(&pool->work_came, NULL);
  return ROC_OK;
}

void roc_cpu_pool_deinit(roc_cpu_pool *pool) {
  roc_free(pool->threads);
  pthread_cond_destroy(&pool->work_came);
}

void roc_cpu_pool_lock(void) {
  pthread_mutex_lock(&lock);
}

void roc_cpu_pool_unlock(void) {
  roc_cpu_pool *pool = wakes.pool;
  uint32_t count = wakes.count;
  wakes.count = 0;
  pthread_mutex_unlock(&lock);
  for (uint32_t i = 0; i < count; i++) pthread_cond_signal(&pool->work_came);
}

/* So many more of those that sleep, once the lock is free.  Lock held. */
static void wake(roc_cpu_pool *pool, uint32_t count) {
  for (; wakes.pool != pool && wakes.count > 0; wakes.count--) { /* of another device */
    pthread_cond_signal(&wakes.pool->work_came);
  }
  wakes.pool = pool;
  wakes.count += count;
  if (wakes.count > pool->sleeping_count) wakes.count = pool->sleeping_count;
}

/* ---- tasks --------------------------------------------------------------- */

static void unlist(roc_cpu_pool *pool, roc_cpu_task *task) {
  if (!task->is_listed) return;
  for (roc_cpu_task **link = &pool->first_task; *link; link = &(*link)->next) {
    if (*link != task) continue;
    *link = task->next;
    if (pool->last_link == &task->next) pool->last_link = link;
    break;
  }
  task->is_listed = false;
  atomic_fetch_sub_explicit(&pool->listed_count, 1, memory_order_relaxed);
}

/* For `helpers` more threads than step it already. */
static void list(roc_cpu_pool *pool, roc_cpu_task *task, uint32_t helpers) {
  task->next = NULL;
  task->is_listed = true;
  *pool->last_link = task;
  pool->last_link = &task->next;
  atomic_fetch_add_explicit(&pool->listed_count, 1, memory_order_release);
  if (helpers > pool->spinning_count) wake(pool, helpers - pool->spinning_count);
}

void roc_cpu_pool_submit(roc_cpu_pool *pool, roc_cpu_task *task) {
  task->inside = 0;
  list(pool, task, task->useful_threads);
}

void roc_cpu_pool_widen(roc_cpu_pool *pool, roc_cpu_task *task, uint32_t useful_threads) {
  task->useful_threads = useful_threads;
  bool is_of_pool = task->inside > 0; /* it may run on the thread that queued it */
  if (is_of_pool && !task->is_listed && useful_threads > task->inside) {
    list(pool, task, useful_threads - task->inside);
  }
}

bool roc_cpu_pool_enter(roc_cpu_pool *pool, roc_cpu_task *task) {
  if (!task->is_listed) return false;
  if (++task->inside >= task->useful_threads) unlist(pool, task);
  return true;
}

void roc_cpu_pool_exit(roc_cpu_pool *pool, roc_cpu_task *task, bool has_more) {
  task->inside--;
  if (!has_more) {
    unlist(pool, task);
    if (task->inside == 0) task->finish(task);
  } else {
    unlist(pool, task); /* others come first */
    list(pool, task, 1);
  }
}

void roc_cpu_pool_leave(roc_cpu_pool *pool, roc_cpu_left *left) {
  left->next = pool->first_left;
  pool->first_left = left;
  atomic_fetch_add_explicit(&pool->listed_count, 1, memory_order_release);
  wake(pool, 1);
}

roc_cpu_left *roc_cpu_pool_take_left(roc_cpu_pool *pool, const roc_cpu_task *task) {
  roc_cpu_left **link = &pool->first_left;
  while (*link && (*link)->task != task) link = &(*link)->next;
  roc_cpu_left *left = *link;
  if (!left) return NULL;
  *link = left->next;
  atomic_fetch_sub_explicit(&pool->listed_count, 1, memory_order_relaxed);
  return left;
}

/* Goes on with what another thread has left.  Lock held, given up meanwhile. */
static void go_on(roc_cpu_pool *pool) {
  roc_cpu_left *left = roc_cpu_pool_take_left(pool, pool->first_left->task);
  roc_cpu_pool_unlock();
  left->go_on(left);
  roc_cpu_pool_lock();
}

/* The listed task that the fewest threads step, of these the oldest.  Lock held. */
static roc_cpu_task *find_task(const roc_cpu_pool *pool) {
  roc_cpu_task *found = pool->first_task;
  for (roc_cpu_task *task = found; task; task = task->next) {
    if (task->inside < found->inside) found = task;
  }
  return found;
}

/* Whether a thread stays with a task: its turn is not over, or fewer step no other one. */
static bool stays(roc_cpu_pool *pool, const roc_cpu_task *task, uint64_t *turn_end_ns) {
  uint64_t now = roc_clock_ns();
  if (now < *turn_end_ns) return true;
  *turn_end_ns = now + TURN_NS;
  if (atomic_load_explicit(&pool->listed_count, memory_order_relaxed) == 0) return true;
  roc_cpu_pool_lock();
  const roc_cpu_task *other = find_task(pool);
  bool is_better_there = pool->first_left || (other && other->inside < task->inside);
  roc_cpu_pool_unlock();
  return !is_better_there;
}

/* Steps a task to its end, or for its turn, when others wait.  Lock held, given up while stepping.
 */
static void serve(roc_cpu_pool *pool, roc_cpu_task *task, roc_cpu_scratch *scratch) {
  roc_cpu_pool_enter(pool, task);
  /* Submitters count spinning threads once per task; a thread that takes one makes sure that the rest is
   * taken too. */
  if (pool->first_task) wake(pool, 1);
  roc_cpu_pool_unlock();
  uint64_t turn_end_ns = roc_clock_ns() + TURN_NS;
  bool has_more;
  do {
    has_more = task->step(task, scratch);
  } while (has_more && stays(pool, task, &turn_end_ns));
  roc_cpu_pool_lock();
  roc_cpu_pool_exit(pool, task, has_more);
}

/* ---- workers ------------------------------------------------------------- */

/* Lock held, given up meanwhile. */
static void spin_for_work(roc_cpu_pool *pool) {
  pool->spinning_count++;
  roc_cpu_pool_unlock();
  uint64_t deadline = roc_clock_ns() + SPIN_NS;
  while (atomic_load_explicit(&pool->listed_count, memory_order_acquire) == 0 &&
         roc_clock_ns() < deadline) {
    for (int i = 0; i < 16; i++) roc_cpu_relax();
  }
  roc_cpu_pool_lock();
  pool->spinning_count--;
}

static void *run_worker(void *argument) {
  roc_cpu_pool *pool = argument;
  roc_cpu_scratch scratch = {0};
  bool has_spun = true; /* a new thread has work or sleeps */
  fesetenv(FE_DFL_ENV); /* whatever the thread that starts it has set */
  roc_cpu_pool_lock();
  for (;;) {
    if (pool->first_left) {
      go_on(pool);
      has_spun = false;
    } else if (pool->first_task) {
      serve(pool, find_task(pool), &scratch);
      has_spun = false;
    } else if (pool->is_stopping) {
      break;
    } else if (!has_spun) {
      spin_for_work(pool);
      has_spun = true;
    } else {
      pool->sleeping_count++;
      pthread_cond_wait(&pool->work_came, &lock);
      pool->sleeping_count--;
    }
  }
  roc_cpu_pool_unlock();
  roc_cpu_scratch_deinit(&scratch);
  return NULL;
}

bool roc_cpu_pool_start(roc_cpu_pool *pool) {
  if (pool->thread_count > 0) return true;
  if (!pool->threads) pool->threads = roc_alloc(sizeof *pool->threads * pool->size);
  if (!pool->threads) return false;
  while (pool->thread_count < pool->size) {
    pthread_t *thread = &pool->threads[pool->thread_count];
    if (roc_thread_start(thread, ROC_THREAD_DEEP_STACK, run_worker, pool) != 0) break;
    if (pool->is_pinned) roc_cpu_pin(*thread, pool->first_core + pool->thread_count);
    pool->thread_count++;
  }
  return pool->thread_count > 0;
}

void roc_cpu_pool_stop(roc_cpu_pool *pool) {
  roc_cpu_pool_lock();
  uint32_t count = pool->thread_count;
  pool->is_stopping = true;
  pthread_cond_broadcast(&pool->work_came);
  roc_cpu_pool_unlock();
  for (uint32_t i = 0; i < count; i++) pthread_join(pool->threads[i], NULL);
  roc_cpu_pool_lock();
  pool->thread_count = 0;
  pool->is_stopping = false;
  roc_free(pool->threads);
  pool->threads = NULL;
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
