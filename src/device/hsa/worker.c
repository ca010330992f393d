/* The thread of a queue and its jobs; see worker.h. */
#include "device/hsa/worker.h"

#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "device/hsa/driver.h"

enum { SLICE_NS = 50 * 1000 * 1000, LEAVE_NS = 500 * 1000 * 1000 };

void roc_hsa_worker_init(roc_hsa_worker *worker) {
  pthread_mutex_init(&worker->lock, NULL);
  pthread_cond_init(&worker->changed, NULL);
  worker->last_link = &worker->first;
}

static bool is_given_up(const roc_hsa_queue *queue) {
  return queue->device->base.is_lost || atomic_load(&queue->is_stopped);
}

static void run_job(roc_hsa_queue *queue, roc_hsa_job *job) {
  while (!is_given_up(queue) && !roc_hsa_queue_await(queue, job->after, SLICE_NS)) continue;
  bool opens = false;
  if (!is_given_up(queue)) {
    roc_error err = ROC_ERROR_INIT;
    roc_status status = job->run(queue, job, &opens, &err);
    if (status != ROC_OK) roc_hsa_queue_note_failure(queue, job->ticket, err.message);
  }
  if (!opens) roc_hsa.hsa_signal_store_screlease(job->barrier->hsa, 0);
}

/* The next job, or NULL when the thread is to end.  Lock held. */
static roc_hsa_job *next_job(roc_hsa_worker *worker) {
  while (!worker->first && !worker->is_stopping) {
    pthread_cond_wait(&worker->changed, &worker->lock);
  }
  roc_hsa_job *job = worker->first;
  if (!job) return NULL;
  worker->first = job->next;
  if (!worker->first) worker->last_link = &worker->first;
  return job;
}

static void *worker_main(void *ud) {
  roc_hsa_queue *queue = ud;
  roc_hsa_worker *worker = &queue->worker;
  pthread_mutex_lock(&worker->lock);
  roc_hsa_job *job;
  while ((job = next_job(worker))) {
    worker->is_busy = true;
    pthread_mutex_unlock(&worker->lock);
    run_job(queue, job);
    roc_free(job);
    pthread_mutex_lock(&worker->lock);
    worker->is_busy = false;
    pthread_cond_broadcast(&worker->changed);
  }
  worker->has_left = true;
  pthread_cond_broadcast(&worker->changed);
  pthread_mutex_unlock(&worker->lock);
  return NULL;
}

roc_status roc_hsa_worker_start(roc_hsa_queue *queue, roc_error *err) {
  roc_hsa_worker *worker = &queue->worker;
  if (worker->has_thread) return ROC_OK;
  int rc = roc_thread_start(&worker->thread, ROC_THREAD_STACK, worker_main, queue);
  if (rc) {
    return roc_fail(err, ROC_UNAVAILABLE, "cannot start a thread for copies: %s", strerror(rc));
  }
  worker->has_thread = true;
  worker->has_left = false;
  return ROC_OK;
}

void roc_hsa_worker_add(roc_hsa_queue *queue, roc_hsa_job *job) {
  roc_hsa_worker *worker = &queue->worker;
  job->next = NULL;
  pthread_mutex_lock(&worker->lock);
  *worker->last_link = job;
  worker->last_link = &job->next;
  pthread_cond_broadcast(&worker->changed);
  pthread_mutex_unlock(&worker->lock);
}

/* Waits at most for a slice.  Lock held, given up meanwhile: also for a look at the GPUs. */
static void await_change(roc_hsa_worker *worker) {
  uint64_t end_ns = roc_clock_ns() + SLICE_NS;
  struct timespec end = {.tv_sec = (time_t)(end_ns / 1000000000),
                         .tv_nsec = (long)(end_ns % 1000000000)};
  if (pthread_cond_clockwait(&worker->changed, &worker->lock, CLOCK_MONOTONIC, &end) == 0) return;
  pthread_mutex_unlock(&worker->lock);
  roc_hsa_watch_look();
  pthread_mutex_lock(&worker->lock);
}

roc_status roc_hsa_worker_drain(roc_hsa_queue *queue, roc_error *err) {
  roc_hsa_worker *worker = &queue->worker;
  roc_hsa_device *device = queue->device;
  pthread_mutex_lock(&worker->lock);
  while ((worker->first || worker->is_busy) && !device->base.is_lost) await_change(worker);
  pthread_mutex_unlock(&worker->lock);
  return device->base.is_lost ? roc_hsa_fail_lost(device, err) : ROC_OK;
}

/* Whether it has left; of a lost device it may never, and is waited for no longer than LEAVE_NS.
 * Lock held. */
static bool await_leaving(roc_hsa_worker *worker, const roc_device *device) {
  uint64_t lost_since = 0;
  while (!worker->has_left) {
    if (device->is_lost && !lost_since) lost_since = roc_clock_ns();
    if (lost_since && roc_clock_ns() - lost_since > LEAVE_NS) return false;
    await_change(worker);
  }
  return true;
}

bool roc_hsa_worker_stop(roc_hsa_queue *queue) {
  roc_hsa_worker *worker = &queue->worker;
  if (!worker->has_thread) return !worker->is_given_up;
  pthread_mutex_lock(&worker->lock);
  worker->is_stopping = true;
  pthread_cond_broadcast(&worker->changed);
  worker->is_given_up = !await_leaving(worker, &queue->device->base);
  pthread_mutex_unlock(&worker->lock);
  worker->has_thread = false;
  if (worker->is_given_up) {
    pthread_detach(worker->thread);
    return false;
  }
  pthread_join(worker->thread, NULL);
  worker->is_stopping = false;
  return true;
}

void roc_hsa_worker_deinit(roc_hsa_queue *queue) {
  roc_hsa_worker *worker = &queue->worker;
  for (int i = 0; i < ROC_HSA_STAGINGS; i++) {
    if (worker->staging[i]) roc_hsa_free_host(&queue->device->base, worker->staging[i]);
  }
  pthread_cond_destroy(&worker->changed);
  pthread_mutex_destroy(&worker->lock);
}
