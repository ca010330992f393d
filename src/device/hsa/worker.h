/* The host's part in a queue's work: calls, copies through page-locked staging, fills.
 *
 * One thread per queue, started by its first job.  A job runs when the queue has completed what was
 * before it; the queue meanwhile waits at a barrier, a packet that depends on the job's signal, so
 * later packets keep their order.  Copies are given to the copy engines only when they can
 * begin: one that waits there would hold up the copies of other streams. */
#ifndef ROC_DEVICE_HSA_WORKER_H
#define ROC_DEVICE_HSA_WORKER_H

#include <pthread.h>

#include "device/device.h"
#include "device/hsa/signal.h"

struct roc_hsa_queue;
typedef struct roc_hsa_job roc_hsa_job;

struct roc_hsa_job {
  roc_hsa_job *next;
  roc_ticket after, ticket; /* of the queue: what comes before, and the barrier's own */
  roc_hsa_signal *barrier;  /* the queue's */
  /* OK: the job is done.  *out_opens: the barrier will be opened by the device. */
  roc_status (*run)(struct roc_hsa_queue *queue, roc_hsa_job *job, bool *out_opens, roc_error *err);
  union {
    struct {
      char *dst;
      const char *src; /* copies */
      size_t nbytes;
      unsigned char pattern[8]; /* fills */
      uint32_t pattern_bytes;
    } bytes;
    struct {
      void (*fn)(void *ud);
      void *ud;
    } call;
    roc_dev_scatter scatter;
    struct {
      struct roc_hsa_queue *other;
      roc_ticket ticket;
    } wait;
  } as;
};

enum { ROC_HSA_STAGING_BYTES = 1 << 20, ROC_HSA_STAGINGS = 2 };

typedef struct roc_hsa_worker {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  pthread_t thread;
  bool has_thread, is_stopping, is_busy, has_left, is_given_up;
  roc_hsa_job *first, **last_link;
  void *staging[ROC_HSA_STAGINGS]; /* the thread's own; made on first need */
} roc_hsa_worker;

void roc_hsa_worker_init(roc_hsa_worker *worker);
/* Lets queued jobs finish (or be dropped: the queue is stopped) and joins the thread.  False: the
 * device is lost, and the thread has been given up in a call of ROCR that does not return; it may
 * still look at queue and device. */
bool roc_hsa_worker_stop(struct roc_hsa_queue *queue);
void roc_hsa_worker_deinit(struct roc_hsa_queue *queue);
/* Starts the thread if there is none yet.  UNAVAILABLE. */
roc_status roc_hsa_worker_start(struct roc_hsa_queue *queue, roc_error *err);
/* Takes over the job; the thread is there. */
void roc_hsa_worker_add(struct roc_hsa_queue *queue, roc_hsa_job *job);
/* Waits until no job is left: those of a stopped queue are dropped.  LOST. */
roc_status roc_hsa_worker_drain(struct roc_hsa_queue *queue, roc_error *err);

#endif
