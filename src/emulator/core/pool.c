/* One lock, a list of tasks that more workers may join, and a condition each for workers and for
 * callers. */
#include "emulator/core/pool.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "base/thread.h"

struct emu_pool {
  pthread_mutex_t lock;
  pthread_cond_t work_came, worker_left;
  emu_task *first;
  bool is_stopping;
  unsigned nthreads;
  pthread_t threads[];
};

/* The oldest task that another worker may join. Lock held. */
static emu_task *find_task(emu_pool *pool) {
  for (emu_task *task = pool->first; task; task = task->next) {
    if (task->inside < task->wanted) return task;
  }
  return NULL;
}

/* No further worker may join the task. Lock held. */
static void unlist(emu_pool *pool, emu_task *task) {
  for (emu_task **link = &pool->first; *link; link = &(*link)->next) {
    if (*link != task) continue;
    *link = task->next;
    return;
  }
}

static void *work(void *ud) {
  emu_pool *pool = ud;
  pthread_mutex_lock(&pool->lock);
  while (!pool->is_stopping) {
    emu_task *task = find_task(pool);
    if (!task) {
      pthread_cond_wait(&pool->work_came, &pool->lock);
      continue;
    }
    task->inside++;
    pthread_mutex_unlock(&pool->lock);
    task->run(task);
    pthread_mutex_lock(&pool->lock);
    unlist(pool, task); /* its shares are taken */
    if (--task->inside == 0) pthread_cond_broadcast(&pool->worker_left);
  }
  pthread_mutex_unlock(&pool->lock);
  return NULL;
}

static void start_threads(emu_pool *pool, unsigned nthreads) {
  while (pool->nthreads < nthreads &&
         roc_thread_start(&pool->threads[pool->nthreads], ROC_THREAD_STACK, work, pool) == 0) {
    pool->nthreads++;
  }
}

emu_pool *emu_pool_new(unsigned nthreads) {
  size_t nbytes;
  if (!roc_mul_size(nthreads, sizeof(pthread_t), &nbytes) ||
      !roc_add_size(nbytes, sizeof(emu_pool), &nbytes)) {
    return NULL;
  }
  emu_pool *pool = roc_zalloc(nbytes);
  if (!pool) return NULL;
  pthread_mutex_init(&pool->lock, NULL);
  pthread_cond_init(&pool->work_came, NULL);
  pthread_cond_init(&pool->worker_left, NULL);
  start_threads(pool, nthreads);
  return pool;
}

void emu_pool_free(emu_pool *pool) {
  if (!pool) return;
  pthread_mutex_lock(&pool->lock);
  pool->is_stopping = true;
  pthread_cond_broadcast(&pool->work_came);
  pthread_mutex_unlock(&pool->lock);
  for (unsigned i = 0; i < pool->nthreads; i++) pthread_join(pool->threads[i], NULL);
  pthread_cond_destroy(&pool->work_came);
  pthread_cond_destroy(&pool->worker_left);
  pthread_mutex_destroy(&pool->lock);
  roc_free(pool);
}

static void call_helpers(emu_pool *pool, emu_task *task, uint32_t helpers) {
  pthread_mutex_lock(&pool->lock);
  emu_task **last = &pool->first;
  while (*last) last = &(*last)->next;
  task->wanted = helpers < pool->nthreads ? helpers : pool->nthreads;
  task->inside = 0;
  task->next = NULL;
  *last = task;
  for (uint32_t i = 0; i < task->wanted; i++) pthread_cond_signal(&pool->work_came);
  pthread_mutex_unlock(&pool->lock);
}

static void dismiss_helpers(emu_pool *pool, emu_task *task) {
  pthread_mutex_lock(&pool->lock);
  unlist(pool, task);
  while (task->inside) pthread_cond_wait(&pool->worker_left, &pool->lock);
  pthread_mutex_unlock(&pool->lock);
}

void emu_pool_run(emu_pool *pool, emu_task *task, uint32_t helpers) {
  bool has_helpers = helpers > 0 && pool->nthreads > 0;
  if (has_helpers) call_helpers(pool, task, helpers);
  task->run(task);
  if (has_helpers) dismiss_helpers(pool, task);
}
