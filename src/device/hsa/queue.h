/* Queues of a GPU and what is queued on them.
 *
 * Streams share a bounded number of HSA queues.  Every packet has the barrier bit, so packets of a
 * queue run one after the other; and every one (but markers) counts the queue's own signal down by
 * one when it completes.  So a ticket is a number of completions, whether it is complete is one
 * load, and waiting for it is waiting for a value: launches need no signal of their own.
 *
 * A queue that ROCR stops (an illegal instruction, a bad packet, no scratch memory) fails the work
 * that was on it; the next op replaces the HSA queue below and goes on counting.  Queueing: one
 * thread at a time.  Asking, waiting and stopping: any thread. */
#ifndef ROC_DEVICE_HSA_QUEUE_H
#define ROC_DEVICE_HSA_QUEUE_H

#include "device/device.h"
#include "device/hsa/aql_ring.h"
#include "device/hsa/kernarg_ring.h"
#include "device/hsa/signal.h"
#include "device/hsa/worker.h"

struct roc_hsa_device;
typedef struct roc_hsa_queue roc_hsa_queue;

/* What a ticket was, for the message when it is the one that stops the queue. */
typedef struct roc_hsa_launch_info {
  const char *name, *file; /* NULL: no kernel, or it has none */
  uint32_t line;
  bool is_launch;
  uint64_t kernarg_end;    /* how far the ring of kernargs was used by then */
  roc_hsa_signal *awaited; /* by a barrier; NULL: nothing but what is before it */
} roc_hsa_launch_info;

typedef struct roc_hsa_stamp {
  struct roc_hsa_stamp *next;
  roc_ticket ticket;
  roc_hsa_signal *signal; /* done just before the ticket; has the time */
  uint64_t *out_ns;
  uint64_t queued_ns; /* by ROCR's clock */
  bool is_timed;      /* the device notes the time */
  bool is_given_up;   /* it never ran, and has no time */
} roc_hsa_stamp;

typedef struct roc_hsa_failure {
  struct roc_hsa_failure *next; /* a later one */
  uint64_t number;              /* among all of the queue, from 1 */
  roc_ticket first, last;       /* last is UINT64_MAX while the queue is stopped by it */
  char text[640];
} roc_hsa_failure;

typedef struct roc_hsa_signal_ref {
  roc_ticket ticket;
  roc_hsa_signal *signal;
  bool is_stamp; /* of another queue; else it is a job's or a copy's */
} roc_hsa_signal_ref;

struct roc_hsa_queue {
  struct roc_hsa_device *device;
  struct roc_hsa_stream *streams; /* only the thread that queues uses them */
  uint32_t nstreams;
  bool has_profiling;
  roc_hsa_queue *next_foreign; /* in the device's list of those that serve foreign HSA queues */
  roc_hsa_ring ring;           /* ring.is_foreign: the HSA queue is another's, or was */
  /* Counting. */
  _Atomic uint64_t counter; /* handle of the signal: ROC_HSA_ZERO minus the tickets completed */
  _Atomic roc_ticket issued;
  _Atomic roc_ticket completed;                  /* a lower bound; stamps up to it are written */
  roc_hsa_signal *counter_signal, *old_counters; /* old ones may have waiters: kept to the end */
  roc_hsa_launch_info *launch_infos;             /* by ticket */
  uint64_t launch_info_mask;
  roc_hsa_kernarg_ring kernargs;
  /* Signals that packets look at, until the ticket is complete. */
  roc_hsa_signal_ref *signal_refs;
  uint32_t ref_first, ref_count, ref_capacity;
  roc_hsa_worker worker;
  pthread_mutex_t lock; /* guards the rest, against ROCR's thread and waiters */
  roc_hsa_stamp *stamps, **last_stamp;
  uint64_t last_time_ns; /* of a stamp: later ones have no earlier time */
  struct {
    roc_ticket ticket;           /* the next to complete, */
    bool is_awaiting;            /* which waits for a signal, or does not, */
    uint64_t lasted_ns, seen_ns; /* for how long, and when that was looked at last */
  } stall;
  _Atomic roc_ticket first_stamp;            /* UINT64_MAX: none */
  roc_hsa_failure *failures, **last_failure; /* oldest first; kept while work may be asked for */
  roc_hsa_failure spare_failure;             /* in the list when there is no memory for another */
  bool has_spare_failure;
  uint64_t failures_ever;
  _Atomic bool has_failures;
  _Atomic bool is_stopped;
};

#define ROC_HSA_ZERO ((hsa_signal_value_t)1 << 62)

/* queue.c.  Ticket 1 of a new queue is complete. */
roc_status roc_hsa_queue_create(struct roc_hsa_device *device, roc_hsa_queue **out_queue,
                                roc_error *err);
/* The same on an HSA queue that is another's, and stays open as long as the result is used. */
roc_status roc_hsa_queue_create_on(struct roc_hsa_device *device, hsa_queue_t *foreign,
                                   roc_hsa_queue **out_queue, roc_error *err);
/* A queue that has served another foreign one and has no stream any more takes this one. */
void roc_hsa_queue_move_to(roc_hsa_queue *queue, hsa_queue_t *foreign);
/* Nothing is pending, or the device is lost; then ROCR's side is left alone. Its worker has not
 * been given up. */
void roc_hsa_queue_destroy(roc_hsa_queue *queue);
/* LOST, or replaces an HSA queue that was stopped.  Before anything is queued. */
roc_status roc_hsa_queue_ready(roc_hsa_queue *queue, roc_error *err);
bool roc_hsa_queue_has_room(roc_hsa_queue *queue, uint32_t count);
/* Makes room for `count` packets; waits while the ring is full. */
roc_status roc_hsa_queue_reserve(roc_hsa_queue *queue, uint32_t count, roc_error *err);
/* The next ticket; of a launch (NULL: other work) it keeps what failures have to name, of a barrier
 * the signal that it waits for (NULL: none). */
roc_ticket roc_hsa_queue_issue(roc_hsa_queue *queue, const roc_dev_launch *launch,
                               roc_hsa_signal *awaited);
/* Room to hold one more signal; before the barrier. */
roc_status roc_hsa_queue_reserve_signal_ref(roc_hsa_queue *queue, roc_error *err);
/* A packet that waits for `signal` (NULL: for what is before it; is_stamp: from
 * roc_hsa_queue_find_stamp) and completes a ticket, in room that was reserved. The queue takes over
 * the caller's hold of the signal. */
roc_ticket roc_hsa_queue_barrier(roc_hsa_queue *queue, roc_hsa_signal *signal, bool is_stamp);

/* completion.c.  Any thread, but for the two about the counter's signal. */
hsa_signal_t roc_hsa_queue_counter(roc_hsa_queue *queue);
/* The last ticket that is complete. */
roc_ticket roc_hsa_queue_read_done(roc_hsa_queue *queue);
/* The same; it also writes the times of stamps and advances `completed`. */
roc_ticket roc_hsa_queue_refresh(roc_hsa_queue *queue);
/* Completes all that was queued, if the queue is stopped. */
void roc_hsa_queue_give_up(roc_hsa_queue *queue);
bool roc_hsa_queue_has_done(roc_hsa_queue *queue, roc_ticket ticket);
/* The ticket that completes next; the last one when all are complete. */
roc_ticket roc_hsa_queue_find_next(roc_hsa_queue *queue);
/* A new signal to count in: of a new queue, or of one that starts over. */
roc_status roc_hsa_queue_make_counter(roc_hsa_queue *queue, roc_error *err);
void roc_hsa_queue_release_counters(roc_hsa_queue *queue);

/* wait.c.  Any thread. */
/* At most timeout_ns; true when the ticket is complete, or given up with its queue or device. */
bool roc_hsa_queue_await(roc_hsa_queue *queue, roc_ticket ticket, uint64_t timeout_ns);
/* Waits for the next ticket, but not for ever. */
void roc_hsa_queue_await_progress(roc_hsa_queue *queue);

/* stamp.c */
uint64_t roc_hsa_read_clock(void); /* ROCR's, in nanoseconds */
void roc_hsa_append_stamp(roc_hsa_queue *queue, roc_hsa_stamp *stamp);
/* The signal of the stamp that has this ticket, held for the caller; NULL when there is none. */
roc_hsa_signal *roc_hsa_queue_find_stamp(roc_hsa_queue *queue, roc_ticket ticket);
/* Writes the times of the stamps up to the ticket `done`, and frees those. */
void roc_hsa_write_stamps(roc_hsa_queue *queue, roc_ticket done);
/* Wakes the queues that wait for a stamp which will not run.  The queue's lock is held. */
void roc_hsa_give_up_stamps(roc_hsa_queue *queue);
void roc_hsa_drop_stamps(roc_hsa_queue *queue);

/* failure.c */
/* ROCR stopped the queue, or the device is lost: nothing of it will complete any more. */
void roc_hsa_queue_stop(roc_hsa_queue *queue, const char *cause);
/* Work that was carried out by the host failed. */
void roc_hsa_queue_note_failure(roc_hsa_queue *queue, roc_ticket ticket, const char *text);
/* "kernel 'k' launched at f.lua:3", the work that is or was running; false when it is no kernel. */
bool roc_hsa_queue_describe_running(roc_hsa_queue *queue, char *out, size_t size);
/* The queue starts over: work that is queued from now on did not fail.  The lock is held. */
void roc_hsa_end_failures(roc_hsa_queue *queue);
void roc_hsa_drop_failures(roc_hsa_queue *queue);

/* The ops: of launch.c, */
bool roc_hsa_has_room(roc_dev_stream *stream, const roc_dev_module *module, uint32_t kernarg_bytes,
                      roc_ticket *out_ticket);
roc_status roc_hsa_launch(roc_dev_stream *stream, const roc_dev_launch *launch,
                          roc_ticket *out_ticket, roc_error *err);
/* of queue.c, */
roc_status roc_hsa_stamp_time(roc_dev_stream *stream, uint64_t *out_ns, roc_ticket *out_ticket,
                              roc_error *err);
bool roc_hsa_is_done(roc_dev_stream *stream, roc_ticket ticket);
roc_status roc_hsa_wait(roc_dev_stream *stream, roc_ticket ticket, int64_t timeout_ns,
                        bool *out_done, roc_error *err);
/* and of failure.c. */
bool roc_hsa_find_failure(roc_dev_stream *stream, roc_ticket ticket, uint64_t *out_failure,
                          roc_error *err);

#endif
