/* A queue as a whole: making, replacing and unmaking it, room, tickets and barriers; see queue.h.
 */
#include "device/hsa/queue.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "device/hsa/driver.h"

enum {
  FIRST_SIGNAL_REFS = 16,
  SLICE_NS = 100 * 1000 * 1000, /* the longest sleep of a wait before it looks at the device */
  ABANDON_NS = 1000 * 1000 * 1000,
};

/* ---- making and unmaking ------------------------------------------------- */

static roc_status open_ring(roc_hsa_queue *queue, roc_error *err) {
  roc_hsa_device *device = queue->device;
  queue->has_profiling = false;
  return roc_hsa_ring_open(&queue->ring, device->agent, device->queue_packets,
                           roc_hsa_on_queue_error, queue, err);
}

static roc_status make_parts(roc_hsa_queue *queue, hsa_queue_t *foreign, roc_error *err) {
  ROC_TRY(roc_hsa_queue_make_counter(queue, err));
  if (foreign) {
    roc_hsa_ring_adopt(&queue->ring, foreign);
  } else {
    ROC_TRY(open_ring(queue, err));
  }
  uint64_t ninfos = 2 * (queue->ring.mask + 1);
  queue->launch_info_mask = ninfos - 1;
  queue->launch_infos = roc_zalloc(sizeof *queue->launch_infos * ninfos);
  if (!queue->launch_infos) return roc_fail(err, ROC_OOM, "out of memory: no room for a queue");
  void *kernargs;
  ROC_TRY(roc_hsa_alloc_kernargs(queue->device, ROC_HSA_KERNARG_RING_BYTES, &kernargs, err));
  queue->kernargs.memory = kernargs;
  return ROC_OK;
}

static roc_status create(roc_hsa_device *device, hsa_queue_t *foreign, roc_hsa_queue **out_queue,
                         roc_error *err) {
  roc_hsa_queue *queue = roc_zalloc(sizeof *queue);
  if (!queue) return roc_fail(err, ROC_OOM, "out of memory: no room for a queue");
  queue->device = device;
  queue->last_stamp = &queue->stamps;
  queue->last_failure = &queue->failures;
  atomic_init(&queue->issued, 1);
  atomic_init(&queue->completed, 1);
  atomic_init(&queue->first_stamp, UINT64_MAX);
  pthread_mutex_init(&queue->lock, NULL);
  roc_hsa_worker_init(&queue->worker);
  roc_status status = make_parts(queue, foreign, err);
  if (status != ROC_OK) {
    roc_hsa_queue_destroy(queue);
    return status;
  }
  *out_queue = queue;
  return ROC_OK;
}

roc_status roc_hsa_queue_create(roc_hsa_device *device, roc_hsa_queue **out_queue, roc_error *err) {
  return create(device, NULL, out_queue, err);
}

roc_status roc_hsa_queue_create_on(roc_hsa_device *device, hsa_queue_t *foreign,
                                   roc_hsa_queue **out_queue, roc_error *err) {
  return create(device, foreign, out_queue, err);
}

void roc_hsa_queue_move_to(roc_hsa_queue *queue, hsa_queue_t *foreign) {
  queue->has_profiling = false;
  roc_hsa_ring_adopt(&queue->ring, foreign);
}

void roc_hsa_queue_destroy(roc_hsa_queue *queue) {
  bool is_lost = queue->device->base.is_lost;
  roc_hsa_worker_stop(queue);
  if (!is_lost) roc_hsa_ring_close(&queue->ring);
  roc_hsa_worker_deinit(queue);
  roc_hsa_drop_stamps(queue);
  roc_hsa_drop_failures(queue);
  for (uint32_t i = 0; i < queue->ref_count; i++) {
    uint32_t at = (queue->ref_first + i) % queue->ref_capacity;
    roc_hsa_signal_release(&queue->device->signals, queue->signal_refs[at].signal);
  }
  roc_hsa_queue_release_counters(queue);
  if (queue->kernargs.memory && !is_lost) {
    roc_hsa.hsa_amd_memory_pool_free(queue->kernargs.memory);
  }
  pthread_mutex_destroy(&queue->lock);
  roc_free(queue->signal_refs);
  roc_free(queue->launch_infos);
  roc_free(queue);
}

/* ---- signals that packets look at ----------------------------------------- */

static roc_hsa_signal_ref *first_signal_ref(roc_hsa_queue *queue) {
  return queue->ref_count ? &queue->signal_refs[queue->ref_first] : NULL;
}

static void drop_first_signal_ref(roc_hsa_queue *queue, bool can_reuse) {
  roc_hsa_signal *signal = first_signal_ref(queue)->signal;
  if (can_reuse) roc_hsa_signal_release(&queue->device->signals, signal);
  queue->ref_first = (queue->ref_first + 1) % queue->ref_capacity;
  queue->ref_count--;
}

/* No packet looks at them any more.  A copy may still be on its way and count its signal down; what
 * is not over in time is given up.  Another queue's stamp is that queue's to finish. */
static void drop_all_refs(roc_hsa_queue *queue) {
  uint64_t deadline = roc_clock_ns() + ABANDON_NS;
  while (queue->ref_count) {
    const roc_hsa_signal_ref *ref = first_signal_ref(queue);
    uint64_t now = roc_clock_ns();
    bool is_over = ref->is_stamp ||
                   roc_hsa_signal_await(ref->signal->hsa, 1, now < deadline ? deadline - now : 0);
    drop_first_signal_ref(queue, is_over);
  }
}

roc_status roc_hsa_queue_reserve_signal_ref(roc_hsa_queue *queue, roc_error *err) {
  roc_ticket done = atomic_load_explicit(&queue->completed, memory_order_acquire);
  while (queue->ref_count && first_signal_ref(queue)->ticket <= done)
    drop_first_signal_ref(queue, true);
  if (queue->ref_count < queue->ref_capacity) return ROC_OK;
  uint32_t capacity = queue->ref_capacity ? 2 * queue->ref_capacity : FIRST_SIGNAL_REFS;
  roc_hsa_signal_ref *signal_refs = roc_alloc(sizeof *signal_refs * capacity);
  if (!signal_refs) return roc_fail(err, ROC_OOM, "out of memory: no room for queued work");
  for (uint32_t i = 0; i < queue->ref_count; i++) {
    signal_refs[i] = queue->signal_refs[(queue->ref_first + i) % queue->ref_capacity];
  }
  roc_free(queue->signal_refs);
  queue->signal_refs = signal_refs;
  queue->ref_first = 0;
  queue->ref_capacity = capacity;
  return ROC_OK;
}

/* ---- starting over ------------------------------------------------------- */

static roc_status start_over(roc_hsa_queue *queue, roc_error *err) {
  ROC_TRY(roc_hsa_worker_drain(queue, err));
  roc_hsa_queue_give_up(queue);
  roc_hsa_ring_close(&queue->ring);
  drop_all_refs(queue);
  ROC_TRY(open_ring(queue, err));
  ROC_TRY(roc_hsa_queue_make_counter(queue, err));
  pthread_mutex_lock(&queue->lock);
  roc_hsa_end_failures(queue);
  atomic_store_explicit(&queue->is_stopped, false, memory_order_release);
  pthread_mutex_unlock(&queue->lock);
  return ROC_OK;
}

roc_status roc_hsa_queue_ready(roc_hsa_queue *queue, roc_error *err) {
  if (queue->device->base.is_lost) return roc_hsa_fail_lost(queue->device, err);
  if (!atomic_load_explicit(&queue->is_stopped, memory_order_acquire)) return ROC_OK;
  return start_over(queue, err);
}

/* ---- room and tickets ---------------------------------------------------- */

bool roc_hsa_queue_has_room(roc_hsa_queue *queue, uint32_t count) {
  if (!roc_hsa_ring_has_room(&queue->ring, count)) return false;
  /* A packet may leave the ring before it completes; its info must not be overwritten yet. */
  roc_ticket issued = atomic_load_explicit(&queue->issued, memory_order_relaxed);
  roc_ticket least =
      issued + count > queue->launch_info_mask ? issued + count - queue->launch_info_mask : 0;
  return atomic_load_explicit(&queue->completed, memory_order_relaxed) >= least ||
         roc_hsa_queue_refresh(queue) >= least;
}

roc_status roc_hsa_queue_reserve(roc_hsa_queue *queue, uint32_t count, roc_error *err) {
  while (!roc_hsa_queue_has_room(queue, count)) {
    roc_hsa_queue_await_progress(queue);
    ROC_TRY(roc_hsa_queue_ready(queue, err));
  }
  return ROC_OK;
}

roc_ticket roc_hsa_queue_issue(roc_hsa_queue *queue, const roc_dev_launch *launch,
                               roc_hsa_signal *awaited) {
  roc_ticket ticket = atomic_load_explicit(&queue->issued, memory_order_relaxed) + 1;
  queue->launch_infos[ticket & queue->launch_info_mask] = (roc_hsa_launch_info){
      .name = launch ? launch->name : NULL,
      .file = launch ? launch->file : NULL,
      .line = launch ? launch->line : 0,
      .is_launch = launch != NULL,
      .kernarg_end = queue->kernargs.head,
      .awaited = awaited,
  };
  atomic_store_explicit(&queue->issued, ticket, memory_order_release);
  return ticket;
}

roc_ticket roc_hsa_queue_barrier(roc_hsa_queue *queue, roc_hsa_signal *signal, bool is_stamp) {
  roc_ticket ticket = roc_hsa_queue_issue(queue, NULL, signal);
  if (signal) {
    uint32_t at = (queue->ref_first + queue->ref_count++) % queue->ref_capacity;
    queue->signal_refs[at] = (roc_hsa_signal_ref){ticket, signal, is_stamp};
  }
  roc_hsa_ring_publish_barrier(&queue->ring, signal ? signal->hsa : (hsa_signal_t){0},
                               roc_hsa_queue_counter(queue));
  return ticket;
}

/* ---- ops ----------------------------------------------------------------- */

/* False: the host's clock has to serve, for a signal keeps the times of its last use. */
static bool enable_profiling(roc_hsa_queue *queue) {
  if (!queue->has_profiling) {
    hsa_status_t status = roc_hsa.hsa_amd_profiling_set_profiler_enabled(queue->ring.hsa, 1);
    queue->has_profiling = status == HSA_STATUS_SUCCESS;
  }
  return queue->has_profiling;
}

/* A marker with a signal of its own, which gets the time, and a barrier that counts. */
roc_status roc_hsa_stamp_time(roc_dev_stream *base, uint64_t *out_ns, roc_ticket *out_ticket,
                              roc_error *err) {
  roc_hsa_stream *stream = roc_hsa_stream_of(base);
  roc_hsa_queue *queue = stream->queue;
  ROC_TRY(roc_hsa_queue_ready(queue, err));
  ROC_TRY(roc_hsa_queue_reserve(queue, 2, err));
  roc_hsa_stamp *stamp = roc_zalloc(sizeof *stamp);
  if (!stamp) return roc_fail(err, ROC_OOM, "out of memory: no room for an event");
  roc_status status = roc_hsa_signal_take(&queue->device->signals, &stamp->signal, err);
  if (status != ROC_OK) {
    roc_free(stamp);
    return status;
  }
  stamp->is_timed = enable_profiling(queue);
  stamp->out_ns = out_ns;
  stamp->queued_ns = roc_hsa_read_clock();
  stamp->ticket = atomic_load_explicit(&queue->issued, memory_order_relaxed) + 1;
  roc_hsa_append_stamp(queue, stamp);
  roc_hsa_ring_publish_barrier(&queue->ring, (hsa_signal_t){0}, stamp->signal->hsa);
  *out_ticket = stream->last = roc_hsa_queue_barrier(queue, NULL, false);
  return ROC_OK;
}

bool roc_hsa_is_done(roc_dev_stream *base, roc_ticket ticket) {
  return roc_hsa_queue_has_done(roc_hsa_stream_of(base)->queue, ticket);
}

roc_status roc_hsa_wait(roc_dev_stream *base, roc_ticket ticket, int64_t timeout_ns, bool *out_done,
                        roc_error *err) {
  roc_hsa_queue *queue = roc_hsa_stream_of(base)->queue;
  uint64_t now = roc_clock_ns();
  uint64_t deadline = timeout_ns < 0 ? UINT64_MAX : now + (uint64_t)timeout_ns;
  for (;;) {
    if (base->device->is_lost) return roc_hsa_fail_lost(queue->device, err);
    uint64_t left = now < deadline ? deadline - now : 0;
    *out_done = roc_hsa_queue_await(queue, ticket, left < SLICE_NS ? left : SLICE_NS);
    if (*out_done || left == 0) break;
    now = roc_clock_ns();
  }
  return base->device->is_lost ? roc_hsa_fail_lost(queue->device, err) : ROC_OK;
}
