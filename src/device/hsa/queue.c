/* Packets, tickets, and what becomes of them when a queue stops; see queue.h. */
#include "device/hsa/queue.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "device/hsa/driver.h"

enum {
  KERNARG_RING_BYTES = 2 << 20,
  MAX_KERNARG_BYTES = KERNARG_RING_BYTES / 2,
  MAX_PACKETS = 2, /* of one piece of work */
  KERNARG_ALIGN = 64,
  FIRST_SIGNAL_REFS = 16,
  SLICE_NS = 100 * 1000 * 1000, /* how long a wait looks away: what ends it also wakes it */
  ABANDON_NS = 1000 * 1000 * 1000,
};

/* Low half of a packet's first word: type, barrier bit, fences. */
enum {
  DISPATCH_HEADER = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                    1 << HSA_PACKET_HEADER_BARRIER |
                    HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                    HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE,
  /* Every dispatch fences for itself. */
  GATE_HEADER =
      HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER,
};

/* ---- counting ------------------------------------------------------------ */

static hsa_signal_t counter_of(roc_hsa_queue *queue) {
  return (hsa_signal_t){atomic_load_explicit(&queue->counter, memory_order_acquire)};
}

/* What a stopped queue completes behind its end does not count. */
static roc_ticket read_done(roc_hsa_queue *queue) {
  roc_ticket issued = atomic_load_explicit(&queue->issued, memory_order_acquire);
  roc_ticket done =
      (roc_ticket)(ROC_HSA_ZERO - roc_hsa.hsa_signal_load_scacquire(counter_of(queue)));
  return done < issued ? done : issued;
}

/* By ROCR's clock, which the times of the device are given in. */
static uint64_t read_clock(void) {
  uint64_t ticks = 0;
  hsa_status_t status = roc_hsa.hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &ticks);
  return status == HSA_STATUS_SUCCESS ? roc_hsa_ticks_to_ns(ticks) : roc_clock_ns();
}

static uint64_t time_of(roc_hsa_queue *queue, const roc_hsa_stamp *stamp) {
  hsa_amd_profiling_dispatch_time_t time = {0};
  if (!stamp->is_timed || stamp->is_given_up) return read_clock();
  hsa_status_t status =
      roc_hsa.hsa_amd_profiling_get_dispatch_time(queue->device->agent, stamp->signal->hsa, &time);
  if (status != HSA_STATUS_SUCCESS || !time.end) return read_clock();
  return roc_hsa_ticks_to_ns(time.end);
}

static void write_stamps(roc_hsa_queue *queue, roc_ticket done) {
  pthread_mutex_lock(&queue->lock);
  while (queue->stamps && queue->stamps->ticket <= done) {
    roc_hsa_stamp *stamp = queue->stamps;
    queue->stamps = stamp->next;
    *stamp->out_ns = time_of(queue, stamp);
    roc_hsa_signal_release(&queue->device->signals, stamp->signal);
    roc_free(stamp);
  }
  if (!queue->stamps) queue->last_stamp = &queue->stamps;
  atomic_store(&queue->first_stamp, queue->stamps ? queue->stamps->ticket : UINT64_MAX);
  pthread_mutex_unlock(&queue->lock);
}

static roc_ticket refresh(roc_hsa_queue *queue) {
  roc_ticket done = read_done(queue);
  if (done >= atomic_load_explicit(&queue->first_stamp, memory_order_acquire)) {
    write_stamps(queue, done);
  }
  roc_ticket known = atomic_load_explicit(&queue->completed, memory_order_relaxed);
  while (known < done &&
         !atomic_compare_exchange_weak_explicit(&queue->completed, &known, done,
                                                memory_order_release, memory_order_relaxed)) {
    continue;
  }
  return done;
}

/* Other queues may wait for it. */
static void give_up_stamp(roc_hsa_stamp *stamp) {
  if (roc_hsa.hsa_signal_load_scacquire(stamp->signal->hsa) == 0) return;
  stamp->is_given_up = true;
  roc_hsa.hsa_signal_store_screlease(stamp->signal->hsa, 0);
}

/* All that was queued counts as over; it may have grown since the queue stopped.  Nothing does once
 * the queue has been started over: who found it stopped may come late. */
static void give_up(roc_hsa_queue *queue) {
  pthread_mutex_lock(&queue->lock);
  if (atomic_load(&queue->is_stopped)) {
    for (roc_hsa_stamp *s = queue->stamps; s; s = s->next) give_up_stamp(s);
    hsa_signal_value_t value = ROC_HSA_ZERO - (hsa_signal_value_t)atomic_load(&queue->issued);
    roc_hsa.hsa_signal_store_screlease(counter_of(queue), value);
  }
  pthread_mutex_unlock(&queue->lock);
}

bool roc_hsa_queue_has_done(roc_hsa_queue *queue, roc_ticket ticket) {
  if (atomic_load_explicit(&queue->completed, memory_order_acquire) >= ticket) return true;
  if (refresh(queue) >= ticket) return true;
  if (!atomic_load_explicit(&queue->is_stopped, memory_order_acquire)) return false;
  give_up(queue);
  return refresh(queue) >= ticket;
}

bool roc_hsa_queue_await(roc_hsa_queue *queue, roc_ticket ticket, uint64_t timeout_ns) {
  if (roc_hsa_queue_has_done(queue, ticket)) return true;
  hsa_signal_value_t bound = ROC_HSA_ZERO - (hsa_signal_value_t)ticket + 1;
  roc_hsa_signal_await(counter_of(queue), bound, timeout_ns);
  return roc_hsa_queue_has_done(queue, ticket);
}

/* ---- failures ------------------------------------------------------------ */

bool roc_hsa_queue_describe_running(roc_hsa_queue *queue, char *out, size_t size) {
  roc_ticket next = read_done(queue) + 1;
  if (!queue->launch_infos || next > atomic_load(&queue->issued)) return false;
  const roc_hsa_launch_info *note = &queue->launch_infos[next & queue->launch_info_mask];
  if (!note->name) return false;
  if (note->file) {
    snprintf(out, size, "kernel '%.80s' launched at %.120s:%u", note->name, note->file, note->line);
  } else {
    snprintf(out, size, "kernel '%.80s'", note->name);
  }
  return true;
}

/* Without memory for one, the spare one tells of it, and then the last one does as well: work that
 * failed is never taken for done. */
static roc_hsa_failure *new_failure(roc_hsa_queue *queue) {
  roc_hsa_failure *failure = roc_alloc(sizeof *failure);
  if (failure || queue->has_spare_failure) return failure;
  queue->has_spare_failure = true;
  return &queue->spare_failure;
}

/* The lock is held.  `who` and `how`: "" or what goes before the cause. */
static void add_failure(roc_hsa_queue *queue, roc_ticket first, roc_ticket last, const char *who,
                        const char *how, const char *cause) {
  roc_hsa_failure *failure = new_failure(queue);
  if (failure) {
    *failure = (roc_hsa_failure){.number = ++queue->failures_ever, .first = first, .last = last};
    snprintf(failure->text, sizeof failure->text, "%s%s%.*s", who, how, *how ? 300 : 500, cause);
    *queue->last_failure = failure;
    queue->last_failure = &failure->next;
  } else {
    for (failure = queue->failures; failure->next;) failure = failure->next;
    if (first < failure->first) failure->first = first;
    if (last > failure->last) failure->last = last;
  }
  atomic_store_explicit(&queue->has_failures, true, memory_order_release);
}

static void free_failure(roc_hsa_queue *queue, roc_hsa_failure *failure) {
  if (failure == &queue->spare_failure) {
    queue->has_spare_failure = false;
  } else {
    roc_free(failure);
  }
}

static void drop_failures(roc_hsa_queue *queue) {
  while (queue->failures) {
    roc_hsa_failure *failure = queue->failures;
    queue->failures = failure->next;
    free_failure(queue, failure);
  }
}

/* Whether a stream may still ask for work that it ended, or queues such work. */
static bool is_failure_needed(const roc_hsa_queue *queue, const roc_hsa_failure *failure) {
  if (failure->last == UINT64_MAX) return true;
  for (const roc_hsa_stream *s = queue->streams; s; s = s->next) {
    if (failure->first <= s->last && failure->last > s->asked) return true;
  }
  return false;
}

/* The lock is held. */
static void forget_failures(roc_hsa_queue *queue) {
  roc_hsa_failure **link = &queue->failures;
  while (*link) {
    roc_hsa_failure *failure = *link;
    if (is_failure_needed(queue, failure)) {
      link = &failure->next;
    } else {
      *link = failure->next;
      free_failure(queue, failure);
    }
  }
  queue->last_failure = link;
  atomic_store_explicit(&queue->has_failures, queue->failures != NULL, memory_order_relaxed);
}

/* The queue was started over: what is queued from now on is not its affair. */
static void end_failures(roc_hsa_queue *queue) {
  for (roc_hsa_failure *failure = queue->failures; failure; failure = failure->next) {
    if (failure->last == UINT64_MAX) failure->last = atomic_load(&queue->issued);
  }
}

void roc_hsa_queue_stop(roc_hsa_queue *queue, const char *cause) {
  char who[256] = "";
  pthread_mutex_lock(&queue->lock);
  bool is_first = !atomic_load(&queue->is_stopped);
  if (is_first) {
    bool is_kernel = roc_hsa_queue_describe_running(queue, who, sizeof who);
    add_failure(queue, read_done(queue) + 1, UINT64_MAX, is_kernel ? who : "",
                is_kernel ? " was stopped by the device: " : "a stream was stopped: ", cause);
    atomic_store_explicit(&queue->is_stopped, true, memory_order_release);
  }
  pthread_mutex_unlock(&queue->lock);
  if (is_first) give_up(queue);
}

void roc_hsa_queue_note_failure(roc_hsa_queue *queue, roc_ticket ticket, const char *text) {
  pthread_mutex_lock(&queue->lock);
  add_failure(queue, ticket, ticket, "", "", text);
  pthread_mutex_unlock(&queue->lock);
}

bool roc_hsa_find_failure(roc_dev_stream *base, roc_ticket ticket, uint64_t *out_failure,
                          roc_error *err) {
  roc_hsa_stream *stream = roc_hsa_stream_of(base);
  roc_hsa_queue *queue = stream->queue;
  if (ticket > stream->asked) stream->asked = ticket;
  if (!atomic_load_explicit(&queue->has_failures, memory_order_acquire)) return false;
  pthread_mutex_lock(&queue->lock);
  roc_hsa_failure *failure = queue->failures;
  while (failure && !(failure->first <= ticket && ticket <= failure->last)) {
    failure = failure->next;
  }
  bool is_found = failure != NULL;
  if (is_found) {
    *out_failure = failure->number;
    roc_fail(err, ROC_FAULT, "%s", failure->text);
  }
  forget_failures(queue);
  pthread_mutex_unlock(&queue->lock);
  return is_found;
}

/* ---- making and unmaking ------------------------------------------------- */

static roc_status make_counter(roc_hsa_queue *queue, roc_error *err) {
  roc_hsa_signal *signal;
  ROC_TRY(roc_hsa_signal_take(&queue->device->signals, &signal, err));
  hsa_signal_value_t value = ROC_HSA_ZERO - (hsa_signal_value_t)atomic_load(&queue->issued);
  roc_hsa.hsa_signal_store_relaxed(signal->hsa, value);
  if (queue->counter_signal) {
    queue->counter_signal->next = queue->old_counters;
    queue->old_counters = queue->counter_signal;
  }
  queue->counter_signal = signal;
  atomic_store_explicit(&queue->counter, signal->hsa.handle, memory_order_release);
  return ROC_OK;
}

static roc_status open_ring(roc_hsa_queue *queue, roc_error *err) {
  roc_hsa_device *device = queue->device;
  hsa_status_t status =
      roc_hsa.hsa_queue_create(device->agent, device->queue_packets, HSA_QUEUE_TYPE_MULTI,
                               roc_hsa_on_queue_error, queue, UINT32_MAX, UINT32_MAX, &queue->hsa);
  if (status != HSA_STATUS_SUCCESS) return roc_hsa_fail(err, status, "a queue cannot be made");
  queue->mask = queue->hsa->size - 1;
  queue->write = queue->read = 0;
  queue->has_profiling = false;
  return ROC_OK;
}

static roc_status make_parts(roc_hsa_queue *queue, roc_error *err) {
  ROC_TRY(make_counter(queue, err));
  ROC_TRY(open_ring(queue, err));
  uint64_t nnotes = 2 * (queue->mask + 1);
  queue->launch_info_mask = nnotes - 1;
  queue->launch_infos = roc_zalloc(sizeof *queue->launch_infos * nnotes);
  if (!queue->launch_infos) return roc_fail(err, ROC_OOM, "out of memory: no room for a queue");
  void *kernargs;
  ROC_TRY(roc_hsa_alloc_kernargs(queue->device, KERNARG_RING_BYTES, &kernargs, err));
  queue->kernargs = kernargs;
  return ROC_OK;
}

roc_status roc_hsa_queue_create(roc_hsa_device *device, roc_hsa_queue **out_queue, roc_error *err) {
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
  roc_status status = make_parts(queue, err);
  if (status != ROC_OK) {
    roc_hsa_queue_destroy(queue);
    return status;
  }
  *out_queue = queue;
  return ROC_OK;
}

static void release_counters(roc_hsa_queue *queue) {
  roc_hsa_signals *pool = &queue->device->signals;
  while (queue->old_counters) {
    roc_hsa_signal *signal = queue->old_counters;
    queue->old_counters = signal->next;
    roc_hsa_signal_release(pool, signal);
  }
  if (queue->counter_signal) roc_hsa_signal_release(pool, queue->counter_signal);
}

static void drop_stamps(roc_hsa_queue *queue) {
  while (queue->stamps) {
    roc_hsa_stamp *stamp = queue->stamps;
    queue->stamps = stamp->next;
    roc_hsa_signal_release(&queue->device->signals, stamp->signal);
    roc_free(stamp);
  }
}

void roc_hsa_queue_destroy(roc_hsa_queue *queue) {
  bool is_lost = queue->device->base.is_lost;
  roc_hsa_worker_stop(queue);
  if (queue->hsa && !is_lost) roc_hsa.hsa_queue_destroy(queue->hsa);
  roc_hsa_worker_deinit(queue);
  drop_stamps(queue);
  drop_failures(queue);
  for (uint32_t i = 0; i < queue->ref_count; i++) {
    uint32_t at = (queue->ref_first + i) % queue->ref_capacity;
    roc_hsa_signal_release(&queue->device->signals, queue->signal_refs[at].signal);
  }
  release_counters(queue);
  if (queue->kernargs && !is_lost) roc_hsa.hsa_amd_memory_pool_free(queue->kernargs);
  pthread_mutex_destroy(&queue->lock);
  roc_free(queue->signal_refs);
  roc_free(queue->launch_infos);
  roc_free(queue);
}

/* ---- stopping and starting over ------------------------------------------ */

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
static void drop_all_holds(roc_hsa_queue *queue) {
  uint64_t deadline = roc_clock_ns() + ABANDON_NS;
  while (queue->ref_count) {
    const roc_hsa_signal_ref *ref = first_signal_ref(queue);
    uint64_t now = roc_clock_ns();
    bool is_over = ref->is_stamp ||
                   roc_hsa_signal_await(ref->signal->hsa, 1, now < deadline ? deadline - now : 0);
    drop_first_signal_ref(queue, is_over);
  }
}

static roc_status start_over(roc_hsa_queue *queue, roc_error *err) {
  ROC_TRY(roc_hsa_worker_drain(queue, err));
  give_up(queue);
  if (queue->hsa) roc_hsa.hsa_queue_destroy(queue->hsa);
  queue->hsa = NULL;
  drop_all_holds(queue);
  ROC_TRY(open_ring(queue, err));
  ROC_TRY(make_counter(queue, err));
  pthread_mutex_lock(&queue->lock);
  end_failures(queue);
  atomic_store_explicit(&queue->is_stopped, false, memory_order_release);
  pthread_mutex_unlock(&queue->lock);
  return ROC_OK;
}

roc_status roc_hsa_queue_ready(roc_hsa_queue *queue, roc_error *err) {
  if (queue->device->base.is_lost) return roc_hsa_fail_lost(queue->device, err);
  if (!atomic_load_explicit(&queue->is_stopped, memory_order_acquire)) return ROC_OK;
  return start_over(queue, err);
}

/* ---- room ---------------------------------------------------------------- */

/* The ticket that completes next; the last one when all have. */
static roc_ticket find_next(roc_hsa_queue *queue) {
  roc_ticket next = read_done(queue) + 1;
  roc_ticket issued = atomic_load_explicit(&queue->issued, memory_order_relaxed);
  return next < issued ? next : issued;
}

static void await_progress(roc_hsa_queue *queue) {
  roc_hsa_queue_await(queue, find_next(queue), SLICE_NS);
}

static bool has_room(roc_hsa_queue *queue, uint32_t count) {
  if (queue->write + count - queue->read > queue->mask + 1) {
    queue->read = roc_hsa.hsa_queue_load_read_index_scacquire(queue->hsa);
    if (queue->write + count - queue->read > queue->mask + 1) return false;
  }
  /* A packet may leave the ring before it completes; its note must not be overwritten yet. */
  roc_ticket issued = atomic_load_explicit(&queue->issued, memory_order_relaxed);
  roc_ticket least =
      issued + count > queue->launch_info_mask ? issued + count - queue->launch_info_mask : 0;
  return atomic_load_explicit(&queue->completed, memory_order_relaxed) >= least ||
         refresh(queue) >= least;
}

roc_status roc_hsa_queue_reserve(roc_hsa_queue *queue, uint32_t count, roc_error *err) {
  while (!has_room(queue, count)) {
    await_progress(queue);
    ROC_TRY(roc_hsa_queue_ready(queue, err));
  }
  return ROC_OK;
}

/* The tail moves to where completed work has left it; launches that failed leave no note. */
static void free_kernargs(roc_hsa_queue *queue) {
  roc_ticket done = refresh(queue);
  const roc_hsa_launch_info *note = &queue->launch_infos[done & queue->launch_info_mask];
  bool is_idle = done == atomic_load_explicit(&queue->issued, memory_order_relaxed);
  uint64_t end = is_idle ? queue->kernarg_head : note->kernarg_end;
  if (end > queue->kernarg_tail) queue->kernarg_tail = end;
}

/* Where the next nbytes of the ring begin and end; they do not wrap around. */
static uint64_t place_kernargs(const roc_hsa_queue *queue, uint32_t nbytes, uint64_t *out_end) {
  uint64_t need = ((uint64_t)nbytes + KERNARG_ALIGN - 1) & ~(uint64_t)(KERNARG_ALIGN - 1);
  uint64_t at = queue->kernarg_head % KERNARG_RING_BYTES;
  uint64_t skip = at + need > KERNARG_RING_BYTES ? KERNARG_RING_BYTES - at : 0;
  *out_end = queue->kernarg_head + skip + need;
  return queue->kernarg_head + skip;
}

/* What is queued leaves the ring free up to there. */
static bool is_kernarg_free(roc_hsa_queue *queue, uint64_t end) {
  if (end - queue->kernarg_tail <= KERNARG_RING_BYTES) return true;
  free_kernargs(queue);
  return end - queue->kernarg_tail <= KERNARG_RING_BYTES;
}

/* nbytes of the ring, at *out; in room that stays the caller's until the next ticket completes. */
static roc_status take_kernargs(roc_hsa_queue *queue, uint32_t nbytes, unsigned char **out,
                                roc_error *err) {
  if (nbytes > MAX_KERNARG_BYTES) {
    return roc_fail(err, ROC_INVALID, "a kernel's arguments take %u bytes, over the limit %d",
                    nbytes, MAX_KERNARG_BYTES);
  }
  uint64_t end, begin = place_kernargs(queue, nbytes, &end);
  while (!is_kernarg_free(queue, end)) {
    await_progress(queue);
    ROC_TRY(roc_hsa_queue_ready(queue, err));
  }
  *out = queue->kernargs + begin % KERNARG_RING_BYTES;
  queue->kernarg_head = end;
  return ROC_OK;
}

/* ---- packets ------------------------------------------------------------- */

static void *next_packet(roc_hsa_queue *queue) {
  return (hsa_kernel_dispatch_packet_t *)queue->hsa->base_address + (queue->write & queue->mask);
}

/* The first word last: it makes the packet valid. */
static void publish(roc_hsa_queue *queue, void *packet, uint32_t header, uint32_t setup) {
  uint64_t index = queue->write++;
  __atomic_store_n((uint32_t *)packet, header | setup << 16, __ATOMIC_RELEASE);
  roc_hsa.hsa_queue_store_write_index_screlease(queue->hsa, queue->write);
  roc_hsa.hsa_signal_store_screlease(queue->hsa->doorbell_signal, (hsa_signal_value_t)index);
}

/* The next ticket, and its note. */
static roc_ticket issue(roc_hsa_queue *queue, const roc_dev_launch *launch) {
  roc_ticket ticket = atomic_load_explicit(&queue->issued, memory_order_relaxed) + 1;
  queue->launch_infos[ticket & queue->launch_info_mask] = (roc_hsa_launch_info){
      .name = launch ? launch->name : NULL,
      .file = launch ? launch->file : NULL,
      .line = launch ? launch->line : 0,
      .kernarg_end = queue->kernarg_head,
  };
  atomic_store_explicit(&queue->issued, ticket, memory_order_release);
  return ticket;
}

static void publish_barrier(roc_hsa_queue *queue, hsa_signal_t dependency,
                            hsa_signal_t completion) {
  hsa_barrier_and_packet_t *packet = next_packet(queue);
  memset((char *)packet + 4, 0, sizeof *packet - 4);
  packet->dep_signal[0] = dependency;
  packet->completion_signal = completion;
  publish(queue, packet, GATE_HEADER, 0);
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

roc_ticket roc_hsa_queue_barrier(roc_hsa_queue *queue, roc_hsa_signal *signal, bool is_stamp) {
  roc_ticket ticket = issue(queue, NULL);
  if (signal) {
    uint32_t at = (queue->ref_first + queue->ref_count++) % queue->ref_capacity;
    queue->signal_refs[at] = (roc_hsa_signal_ref){ticket, signal, is_stamp};
  }
  publish_barrier(queue, signal ? signal->hsa : (hsa_signal_t){0}, counter_of(queue));
  return ticket;
}

/* ---- launches ------------------------------------------------------------ */

static roc_status check_grid(const roc_hsa_queue *queue, const uint64_t grid[3], roc_error *err) {
  for (int d = 0; d < 3; d++) {
    if (grid[d] <= UINT32_MAX) continue;
    return roc_fail(err, ROC_INVALID,
                    "%llu work-items in dimension %d are over the limit %u of device '%s'",
                    (unsigned long long)grid[d], d + 1, UINT32_MAX, queue->device->base.props.name);
  }
  return ROC_OK;
}

static void copy_kernargs(unsigned char *block, const roc_dev_launch *launch) {
  const void *reports[2] = {launch->fault, launch->print};
  if (launch->kernarg_bytes) memcpy(block, launch->kernarg, launch->kernarg_bytes);
  memcpy(block + launch->kernarg_bytes, reports, sizeof reports);
}

/* A kernel without dynamic arrays may have private ones that the compiler moved to LDS: more than
 * the launch's dynamic bytes make of it. */
static uint32_t group_bytes(const roc_dev_module *module, uint32_t dynamic_bytes) {
  uint32_t sum = dynamic_bytes ? module->dynamic_begin + dynamic_bytes : 0;
  return sum > module->group_bytes ? sum : module->group_bytes;
}

/* Bytes of the ring that a launch takes: its arguments, where its reports go, and what the module
 * wants beyond. */
static uint32_t count_kernargs(const roc_dev_module *module, uint32_t kernarg_bytes) {
  uint32_t nbytes = kernarg_bytes + 2 * (uint32_t)sizeof(void *);
  return nbytes > module->kernarg_bytes ? nbytes : module->kernarg_bytes;
}

bool roc_hsa_has_room(roc_dev_stream *base, const roc_dev_module *module, uint32_t kernarg_bytes,
                      roc_ticket *out_ticket) {
  roc_hsa_queue *queue = roc_hsa_stream_of(base)->queue;
  uint32_t nbytes = module ? count_kernargs(module, kernarg_bytes) : 0;
  if (base->device->is_lost || atomic_load(&queue->is_stopped) || nbytes > MAX_KERNARG_BYTES) {
    return true; /* for the op to say so, or to start over */
  }
  uint64_t end;
  place_kernargs(queue, nbytes, &end);
  if (has_room(queue, MAX_PACKETS) && is_kernarg_free(queue, end)) return true;
  *out_ticket = find_next(queue);
  return false;
}

roc_status roc_hsa_launch(roc_dev_stream *base, const roc_dev_launch *launch,
                          roc_ticket *out_ticket, roc_error *err) {
  roc_hsa_stream *stream = roc_hsa_stream_of(base);
  roc_hsa_queue *queue = stream->queue;
  const roc_dev_module *module = launch->module;
  ROC_TRY(check_grid(queue, launch->grid, err));
  ROC_TRY(roc_hsa_queue_ready(queue, err));
  unsigned char *kernargs = NULL;
  ROC_TRY(take_kernargs(queue, count_kernargs(module, launch->kernarg_bytes), &kernargs, err));
  ROC_TRY(roc_hsa_queue_reserve(queue, 1, err));
  copy_kernargs(kernargs, launch);
  hsa_kernel_dispatch_packet_t *packet = next_packet(queue);
  packet->workgroup_size_x = (uint16_t)launch->local[0];
  packet->workgroup_size_y = (uint16_t)launch->local[1];
  packet->workgroup_size_z = (uint16_t)launch->local[2];
  packet->reserved0 = 0;
  packet->grid_size_x = (uint32_t)launch->grid[0];
  packet->grid_size_y = (uint32_t)launch->grid[1];
  packet->grid_size_z = (uint32_t)launch->grid[2];
  packet->private_segment_size = module->private_bytes;
  packet->group_segment_size = group_bytes(module, launch->dynamic_shared_bytes);
  packet->kernel_object = module->kernel_object;
  packet->kernarg_address = kernargs;
  packet->reserved2 = 0;
  packet->completion_signal = counter_of(queue);
  *out_ticket = stream->last = issue(queue, launch);
  publish(queue, packet, DISPATCH_HEADER,
          launch->rank << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS);
  return ROC_OK;
}

/* ---- times --------------------------------------------------------------- */

/* False: the host's clock has to serve, for a signal keeps the times of its last use. */
static bool enable_profiling(roc_hsa_queue *queue) {
  if (!queue->has_profiling) {
    hsa_status_t status = roc_hsa.hsa_amd_profiling_set_profiler_enabled(queue->hsa, 1);
    queue->has_profiling = status == HSA_STATUS_SUCCESS;
  }
  return queue->has_profiling;
}

static void append_stamp(roc_hsa_queue *queue, roc_hsa_stamp *stamp) {
  pthread_mutex_lock(&queue->lock);
  *queue->last_stamp = stamp;
  queue->last_stamp = &stamp->next;
  if (queue->stamps == stamp) atomic_store(&queue->first_stamp, stamp->ticket);
  if (atomic_load(&queue->is_stopped)) give_up_stamp(stamp);
  pthread_mutex_unlock(&queue->lock);
}

/* A marker with a signal of its own, which gets the time, and a gate that counts. */
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
  stamp->ticket = atomic_load_explicit(&queue->issued, memory_order_relaxed) + 1;
  append_stamp(queue, stamp);
  publish_barrier(queue, (hsa_signal_t){0}, stamp->signal->hsa);
  *out_ticket = stream->last = roc_hsa_queue_barrier(queue, NULL, false);
  return ROC_OK;
}

roc_hsa_signal *roc_hsa_queue_find_stamp(roc_hsa_queue *queue, roc_ticket ticket) {
  roc_hsa_signal *signal = NULL;
  pthread_mutex_lock(&queue->lock);
  for (roc_hsa_stamp *s = queue->stamps; s && !signal; s = s->next) {
    if (s->ticket == ticket) signal = s->signal;
  }
  if (signal) roc_hsa_signal_retain(signal);
  pthread_mutex_unlock(&queue->lock);
  return signal;
}

/* ---- asking -------------------------------------------------------------- */

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
