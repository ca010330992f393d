/* Streams of the cpu devices: first-in, first-out queues whose commands run on the pool.
 *
 * A stream has one command at a time in the pool; streams overlap as far as there are threads: a
 * pool of one runs them in turns.  Where a workgroup of a launch may spin for a lower one, they are
 * handed out in increasing order to threads that run them at once, in order, so that some thread
 * has or has had it; others are handed out in parts (parts.h).  Waits for other streams and time stamps
 * take no thread.  A copy of few bytes for an idle stream runs on the calling thread instead.  So
 * does a kernel that was short the last time; if it takes longer now, a thread of the pool goes on
 * with it where the caller left it (launch.c).  A thread that waits for a stream helps with its
 * first command.  Queueing: one thread at a time per stream.  Waiting and asking: any thread. */
#ifndef ROC_DEVICE_CPU_QUEUE_H
#define ROC_DEVICE_CPU_QUEUE_H

#include <stdatomic.h>

#include "device/cpu/pool.h"
#include "device/device.h"

typedef struct roc_cpu_stream roc_cpu_stream;
typedef struct roc_cpu_command roc_cpu_command;

/* The threads that run the work of a device's streams, and what is kept for further commands. */
typedef struct roc_cpu_queues {
  roc_cpu_pool pool;
  roc_cpu_command *free_commands;
  roc_cpu_fiber *free_fibers;
} roc_cpu_queues;

/* A loaded kernel, as far as running it goes. */
struct roc_dev_module {
  roc_cpu_entry entry;
  void *handle; /* the loader's */
  uint32_t static_shared_bytes;
  uint32_t frame_fixed_bytes, frame_item_bytes;
  bool has_batches;
  bool is_in_order; /* its workgroups start in increasing order */
  bool goes_by_rows;
  uint32_t item_steps;
  _Atomic uint64_t item_ps; /* what a work-item last took, in picoseconds; 0: never run */
};

roc_status roc_cpu_stream_create(roc_device *device, roc_cpu_queues *queues,
                                 roc_cpu_stream **out_stream, roc_error *err);
void roc_cpu_stream_destroy(roc_cpu_stream *stream);
void roc_cpu_queues_deinit(roc_cpu_queues *queues); /* all streams destroyed and idle */
void roc_cpu_fibers_deinit(roc_cpu_queues *queues);
/* Launches queued on the stream so far stop soon. */
void roc_cpu_stream_interrupt(roc_dev_stream *stream);

roc_status roc_cpu_queue_launch(roc_dev_stream *stream, const roc_dev_launch *launch,
                                roc_ticket *out_ticket, roc_error *err);
bool roc_cpu_run_at_once(roc_device *device, const roc_dev_launch *launch);
roc_status roc_cpu_queue_copy(roc_dev_stream *stream, roc_devptr dst, roc_devptr src, size_t nbytes,
                              roc_copy_dir dir, roc_ticket *out_ticket, roc_error *err);
roc_status roc_cpu_queue_fill(roc_dev_stream *stream, roc_devptr dst, const void *pattern,
                              size_t pattern_bytes, size_t nbytes, roc_ticket *out_ticket,
                              roc_error *err);
roc_status roc_cpu_queue_host_call(roc_dev_stream *stream, void (*fn)(void *ud), void *ud,
                                   roc_ticket *out_ticket, roc_error *err);
roc_status roc_cpu_queue_wait_for(roc_dev_stream *stream, roc_dev_stream *other, roc_ticket ticket,
                                  roc_ticket *out_ticket, roc_error *err);
roc_status roc_cpu_queue_stamp(roc_dev_stream *stream, uint64_t *out_ns, roc_ticket *out_ticket,
                               roc_error *err);
bool roc_cpu_is_done(roc_dev_stream *stream, roc_ticket ticket);
roc_status roc_cpu_wait(roc_dev_stream *stream, roc_ticket ticket, int64_t timeout_ns,
                        bool *out_done, roc_error *err);

#endif
