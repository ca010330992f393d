/* Worker threads that share tasks; see pool.h. */
#include "device/cpu/pool.h"

#include <fenv.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/thread.h"
#include "device/cpu/pinning.h"
#include "device/cpu/quota.h"

enum {
  SPIN_NS = 20000,
  TURN_NS = 500000, /* of a thread at a task, before it looks whether another one has fewer */
  SCRATCH_ALIGNMENT = 64,
};

struct roc_cpu_worker {
  _Alignas(ROC_CPU_LINE) _Atomic(roc_cpu_task *) handed; /* NULL: nothing */
  roc_cpu_pool *pool;
  uint32_t number;
  bool is_idle; /* has spun in vain since it worked */
  pthread_t thread;
};

/* Handed to a worker that is to look at the lists. */
static roc_cpu_task nudge;

/* Held for short, by many threads at a time: they try for a while before they sleep. */
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
  uint32_t cores = count < 1 ? 1 : (uint32_t)count;
  if (cores > ROC_CPU_MAX_THREADS) cores = ROC_CPU_MAX_THREADS;
  uint32_t quota = roc_cpu_quota("/proc/self/cgroup", "/sys/fs/cgroup");
  return quota < cores ? quota : cores;
}

roc_status roc_cpu_thread_count(uint32_t *out_count, roc_error *err) {
  uint64_t count = count_cores();
  roc_status status = roc_env_number("ROCLUA_CPU_THREADS", 1, ROC_CPU_MAX_THREADS, &count, err);
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
  return ROC_OK;
}

void roc_cpu_pool_deinit(roc_cpu_pool *pool) {
  roc_free(pool->workers);
}

void roc_cpu_pool_lock(void) {
  pthread_mutex_lock(&lock);
}

/* The lock need not be held. */
static void wake_sleepers(roc_cpu_pool *pool, uint32_t count) {
  syscall(SYS_futex, &pool->wakes, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

void roc_cpu_pool_unlock(void) {
  roc_cpu_pool *pool = wakes.pool;
  uint32_t count = wakes.count;
  wakes.count = 0;
  pthread_mutex_unlock(&lock);
  if (count > 0) wake_sleepers(pool, count);
}

/* So many more of those that sleep, once the lock is free.  Lock held. */
static void wake(roc_cpu_pool *pool, uint32_t count) {
  if (wakes.pool != pool && wakes.count > 0) { /* of another device */
    wake_sleepers(wakes.pool, wakes.count);
    wakes.count = 0;
  }
  wakes.pool = pool;
  wakes.count += count;
  if (wakes.count > pool->sleeping_count) wakes.count = pool->sleeping_count;
  if (wakes.count > 0) atomic_fetch_add_explicit(&pool->wakes, 1, memory_order_relaxed);
}

/* Until woken.  Lock held, given up meanwhile. */
static void sleep_for_work(roc_cpu_pool *pool) {
  uint32_t seen = atomic_load_explicit(&pool->wakes, memory_order_relaxed);
  pool->sleeping_count++;
  roc_cpu_pool_unlock();
  syscall(SYS_futex, &pool->wakes, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
  roc_cpu_pool_lock();
  pool->sleeping_count--;
}

/* ---- threads that spin ------------------------------------------------------- */

/* Hands the task, in which they are at once, or a nudge, to up to `count` of those that spin; gives
 * to how many.  Lock held. */
static uint32_t hand(roc_cpu_pool *pool, roc_cpu_task *task, uint32_t count) {
  uint32_t nhanded = 0;
  for (uint32_t first = 0; first < pool->thread_count && nhanded < count; first += 64) {
    _Atomic uint64_t *word = &pool->spinning[first / 64];
    uint64_t bits = atomic_load(word);
    for (; bits && nhanded < count; bits &= bits - 1) {
      uint64_t bit = bits & -bits;
      if (!(atomic_fetch_and(word, ~bit) & bit)) continue;
      roc_cpu_worker *worker = &pool->workers[first + (uint32_t)__builtin_ctzll(bit)];
      if (task != &nudge) {
        atomic_fetch_add_explicit(&task->inside, 1, memory_order_relaxed);
        atomic_store_explicit(&task->is_handed, true, memory_order_relaxed);
      }
      atomic_store_explicit(&worker->handed, task, memory_order_release);
      nhanded++;
    }
  }
  return nhanded;
}

/* Takes a task back from threads that have not begun.  By a thread that steps it; lock not held. */
static void take_back(roc_cpu_pool *pool, roc_cpu_task *task) {
  if (!atomic_load_explicit(&task->is_handed, memory_order_relaxed)) return;
  if (!atomic_exchange_explicit(&task->is_handed, false, memory_order_relaxed)) return;
  for (uint32_t i = 0; i < pool->size; i++) {
    roc_cpu_task *handed = task;
    if (atomic_load_explicit(&pool->workers[i].handed, memory_order_relaxed) == task &&
        atomic_compare_exchange_strong(&pool->workers[i].handed, &handed, &nudge)) {
      atomic_fetch_sub_explicit(&task->inside, 1, memory_order_relaxed);
    }
  }
}

/* Threads look at the lists: of those that spin, else of those that sleep.  Lock held. */
static void rouse(roc_cpu_pool *pool, uint32_t count) {
  wake(pool, count - hand(pool, &nudge, count));
}

/* What the worker is handed, or NULL when a moment is over, or there is something in the lists.
 * Lock not held. */
static roc_cpu_task *spin_for_work(roc_cpu_worker *worker) {
  roc_cpu_pool *pool = worker->pool;
  _Atomic uint64_t *word = &pool->spinning[worker->number / 64];
  uint64_t bit = (uint64_t)1 << worker->number % 64;
  uint64_t deadline = roc_clock_ns() + SPIN_NS;
  roc_cpu_task *handed = NULL;
  atomic_fetch_or(word, bit);
  if (atomic_load(&pool->listed_count) == 0) {
    while (!(handed = atomic_load_explicit(&worker->handed, memory_order_relaxed)) &&
           roc_clock_ns() < deadline) {
      for (int i = 0; i < 3; i++) roc_cpu_relax();
    }
  }
  if (!handed && (atomic_fetch_and(word, ~bit) & bit)) {
    worker->is_idle = roc_clock_ns() >= deadline;
    return NULL;
  }
  /* Else another thread has cleared the bit, and hands or has handed something. */
  while (!(handed = atomic_exchange_explicit(&worker->handed, NULL, memory_order_acquire))) {
    roc_cpu_relax();
  }
  return handed == &nudge ? NULL : handed;
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
  atomic_fetch_sub(&pool->listed_count, 1);
}

static void list(roc_cpu_pool *pool, roc_cpu_task *task) {
  task->next = NULL;
  task->is_listed = true;
  *pool->last_link = task;
  pool->last_link = &task->next;
  atomic_fetch_add(&pool->listed_count, 1);
}

/* Lists it while there are places, and gets threads: one that begins to spin sees the list, or is
 * seen here. */
static void recruit(roc_cpu_pool *pool, roc_cpu_task *task, uint32_t nkept) {
  uint32_t inside = atomic_load_explicit(&task->inside, memory_order_relaxed);
  if (inside >= task->useful_threads) return;
  if (!task->is_listed) list(pool, task);
  uint32_t places = task->useful_threads - inside;
  inside += hand(pool, task, places > nkept ? places - nkept : places);
  if (inside >= task->useful_threads) {
    unlist(pool, task);
    return;
  }
  bool keeps = inside > 0 && nkept > 0;
  atomic_store_explicit(&task->keeps_place, keeps, memory_order_relaxed);
  uint32_t coming = inside + keeps;
  if (task->worth_waking > coming) wake(pool, task->worth_waking - coming);
}

void roc_cpu_pool_submit(roc_cpu_pool *pool, roc_cpu_task *task) {
  task->inside = 0;
  task->is_handed = false;
  task->keeps_place = false;
  recruit(pool, task, 1);
}

void roc_cpu_pool_widen(roc_cpu_pool *pool, roc_cpu_task *task) {
  bool is_of_pool = task->inside > 0; /* it may run on the thread that queued it */
  if (is_of_pool) recruit(pool, task, 0);
}

bool roc_cpu_pool_enter(roc_cpu_pool *pool, roc_cpu_task *task) {
  if (!task->is_listed) return false;
  if (atomic_fetch_add_explicit(&task->inside, 1, memory_order_relaxed) + 1 >=
      task->useful_threads) {
    unlist(pool, task);
  }
  return true;
}

/* Whether a thread has left a task in which others are.  Only with the lock held does the last one
 * go, so that none comes in meanwhile. */
static bool leaves_others(roc_cpu_task *task) {
  uint32_t inside = atomic_load_explicit(&task->inside, memory_order_relaxed);
  while (inside > 1) {
    if (atomic_compare_exchange_weak_explicit(&task->inside, &inside, inside - 1,
                                              memory_order_release, memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

static void unlist_over(roc_cpu_pool *pool, roc_cpu_task *task) {
  if (!atomic_load_explicit(&task->is_listed, memory_order_relaxed)) return;
  roc_cpu_pool_lock();
  unlist(pool, task);
  roc_cpu_pool_unlock();
}

void roc_cpu_pool_exit(roc_cpu_pool *pool, roc_cpu_task *task, bool has_more) {
  if (!has_more) {
    unlist_over(pool, task); /* with the lock held, so handing it out is over */
    take_back(pool, task);
    if (leaves_others(task)) return;
  }
  roc_cpu_pool_lock();
  bool is_last = atomic_fetch_sub_explicit(&task->inside, 1, memory_order_acq_rel) == 1;
  if (has_more) {
    unlist(pool, task); /* others come first */
    list(pool, task);
    rouse(pool, 1);
  } else if (is_last) {
    unlist(pool, task);
    task->finish(task);
  }
  roc_cpu_pool_unlock();
}

void roc_cpu_pool_leave(roc_cpu_pool *pool, roc_cpu_left *left) {
  left->next = pool->first_left;
  pool->first_left = left;
  atomic_fetch_add(&pool->listed_count, 1);
  rouse(pool, 1);
}

roc_cpu_left *roc_cpu_pool_take_left(roc_cpu_pool *pool, const roc_cpu_task *task) {
  roc_cpu_left **link = &pool->first_left;
  while (*link && (*link)->task != task) link = &(*link)->next;
  roc_cpu_left *left = *link;
  if (!left) return NULL;
  *link = left->next;
  atomic_fetch_sub(&pool->listed_count, 1);
  return left;
}

/* Goes on with what another thread has left.  Lock held, given up. */
static void go_on(roc_cpu_pool *pool) {
  roc_cpu_left *left = roc_cpu_pool_take_left(pool, pool->first_left->task);
  roc_cpu_pool_unlock();
  left->go_on(left);
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

/* The place that was kept is for a thread of the pool, as none that waits has come. */
static void give_place(roc_cpu_pool *pool, roc_cpu_task *task) {
  if (!atomic_load_explicit(&task->keeps_place, memory_order_relaxed)) return;
  if (!atomic_exchange_explicit(&task->keeps_place, false, memory_order_relaxed)) return;
  roc_cpu_pool_lock();
  if (task->is_listed && task->inside < task->worth_waking) rouse(pool, 1);
  roc_cpu_pool_unlock();
}

/* Steps a task that it is in, to its end or for its turn, when others wait.  Lock not held. */
static void serve(roc_cpu_pool *pool, roc_cpu_task *task, roc_cpu_scratch *scratch) {
  uint64_t turn_end_ns = roc_clock_ns() + TURN_NS;
  bool has_more;
  do {
    has_more = task->step(task, scratch);
    if (has_more) give_place(pool, task);
  } while (has_more && stays(pool, task, &turn_end_ns));
  roc_cpu_pool_exit(pool, task, has_more);
}

/* ---- workers ------------------------------------------------------------- */

/* One thread of a pool does not spin, in whose place one does that waits. */
static bool may_spin(const roc_cpu_worker *worker) {
  return !worker->is_idle && worker->number + 1 < worker->pool->size;
}

/* Does what the lists have, or sleeps; false: the pool stops.  Lock not held. */
static bool look_for_work(roc_cpu_worker *worker, roc_cpu_scratch *scratch) {
  roc_cpu_pool *pool = worker->pool;
  roc_cpu_pool_lock();
  if (pool->first_left) {
    go_on(pool);
    worker->is_idle = false;
    return true;
  }
  if (pool->first_task) {
    roc_cpu_task *task = find_task(pool);
    roc_cpu_pool_enter(pool, task);
    roc_cpu_pool_unlock();
    serve(pool, task, scratch);
    worker->is_idle = false;
    return true;
  }
  bool is_stopping = pool->is_stopping;
  if (!is_stopping && !may_spin(worker)) sleep_for_work(pool);
  roc_cpu_pool_unlock();
  return !is_stopping;
}

static void *run_worker(void *argument) {
  roc_cpu_worker *worker = argument;
  roc_cpu_scratch scratch = {.thread = worker->number + 1};
  fesetenv(FE_DFL_ENV); /* whatever the thread that starts it has set */
  do {
    roc_cpu_task *task;
    while (may_spin(worker) && (task = spin_for_work(worker))) {
      serve(worker->pool, task, &scratch);
    }
  } while (look_for_work(worker, &scratch));
  roc_cpu_scratch_deinit(&scratch);
  return NULL;
}

bool roc_cpu_pool_start(roc_cpu_pool *pool) {
  if (pool->thread_count > 0) return true;
  size_t nbytes = sizeof *pool->workers * pool->size;
  if (!pool->workers) pool->workers = roc_alloc_aligned(nbytes, ROC_CPU_LINE);
  if (!pool->workers) return false;
  memset(pool->workers, 0, nbytes);
  while (pool->thread_count < pool->size) {
    roc_cpu_worker *worker = &pool->workers[pool->thread_count];
    worker->pool = pool;
    worker->number = pool->thread_count;
    worker->is_idle = true; /* a new thread has work or sleeps */
    if (roc_thread_start(&worker->thread, ROC_THREAD_DEEP_STACK, run_worker, worker) != 0) break;
    if (pool->is_pinned) roc_cpu_pin(worker->thread, pool->first_core + pool->thread_count);
    pool->thread_count++;
  }
  return pool->thread_count > 0;
}

void roc_cpu_pool_stop(roc_cpu_pool *pool) {
  roc_cpu_pool_lock();
  uint32_t count = pool->thread_count;
  pool->is_stopping = true;
  wake(pool, count);
  roc_cpu_pool_unlock();
  for (uint32_t i = 0; i < count; i++) pthread_join(pool->workers[i].thread, NULL);
  roc_cpu_pool_lock();
  pool->thread_count = 0;
  pool->is_stopping = false;
  roc_free(pool->workers);
  pool->workers = NULL;
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
