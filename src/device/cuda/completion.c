/* How far a stream has come.
 *
 * A launch records no event: that would cost more than the launch may.  When a ticket is asked for,
 * or CHECK_EVERY launches after the last one, a checkpoint is queued: a copy of the fault
 * slots that were used since, and an event.  When the event is done, so is every ticket up to the
 * checkpoint's, and what the kernels left is where the runtime looks for it. */
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "device/cuda/driver.h"

enum {
  SPIN_NS = 1000 * 1000, /* a wait, in however many slices, asks again and again for so long, */
  SLEEP_PART = 32,       /* and then sleeps for a part of what it has waited, */
  LONGEST_SLEEP_NS = 500 * 1000,
};

/* ---- tickets ------------------------------------------------------------- */

roc_ticket roc_cuda_issue(roc_cuda_stream *stream, const roc_dev_launch *launch) {
  roc_ticket ticket = atomic_load_explicit(&stream->issued, memory_order_relaxed) + 1;
  stream->infos[ticket % ROC_CUDA_IN_FLIGHT] = (roc_cuda_launch_info){
      .name = launch ? launch->name : NULL,
      .file = launch ? launch->file : NULL,
      .line = launch ? launch->line : 0,
      .slots_end = stream->slots.used,
  };
  atomic_store_explicit(&stream->issued, ticket, memory_order_release);
  return ticket;
}

roc_ticket roc_cuda_known_done(roc_dev_stream *base) {
  return atomic_load_explicit(&roc_cuda_stream_of(base)->completed, memory_order_acquire);
}

/* ---- fault slots: lock held, context current ------------------------------ */

static char *host_slot(const roc_cuda_slots *slots, uint64_t index) {
  return slots->host + index % ROC_CUDA_IN_FLIGHT * ROC_CUDA_SLOT_BYTES;
}

static CUdeviceptr device_slot(const roc_cuda_slots *slots, uint64_t index) {
  return slots->device + index % ROC_CUDA_IN_FLIGHT * ROC_CUDA_SLOT_BYTES;
}

/* In one copy, or two where the ring ends between. */
static CUresult queue_slot_copies(roc_cuda_stream *stream, uint64_t end) {
  roc_cuda_slots *slots = &stream->slots;
  while (slots->copied < end) {
    uint64_t count = ROC_CUDA_IN_FLIGHT - slots->copied % ROC_CUDA_IN_FLIGHT;
    if (count > end - slots->copied) count = end - slots->copied;
    CUresult result = roc_cuda.cuMemcpyAsync(
        (CUdeviceptr)(uintptr_t)host_slot(slots, slots->copied), device_slot(slots, slots->copied),
        count * ROC_CUDA_SLOT_BYTES, stream->handle);
    if (result != CUDA_SUCCESS) return result;
    slots->copied += count;
  }
  return CUDA_SUCCESS;
}

/* Hands out the records of kernels that failed, and cleans their slots for those that come. */
static CUresult read_slots(roc_cuda_stream *stream, uint64_t end) {
  roc_cuda_slots *slots = &stream->slots;
  CUresult first = CUDA_SUCCESS;
  for (; slots->read < end; slots->read++) {
    roc_fault_record record;
    memcpy(&record, host_slot(slots, slots->read), sizeof record);
    if (record.state == 0 && record.count == 0) continue;
    roc_fault_record *target = slots->targets[slots->read % ROC_CUDA_IN_FLIGHT];
    if (target) *target = record;
    CUresult result = roc_cuda.cuMemsetD8Async(device_slot(slots, slots->read), 0,
                                               ROC_CUDA_SLOT_BYTES, stream->handle);
    if (first == CUDA_SUCCESS) first = result;
  }
  return first;
}

/* ---- checkpoints: lock held, context current ------------------------------ */

static uint32_t at(const roc_cuda_stream *stream, uint32_t i) {
  return (stream->first + i) % ROC_CUDA_EVENTS;
}

/* The place of a new checkpoint; where there is no event for one, that of the newest, which then
 * comes later than it did. */
static uint32_t choose_place(const roc_cuda_stream *stream, CUevent *events) {
  uint32_t place = at(stream, stream->count);
  bool is_full = stream->count == ROC_CUDA_EVENTS;
  if (!is_full && !events[place]) {
    is_full = roc_cuda.cuEventCreate(&events[place], CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS;
    if (is_full) events[place] = NULL;
  }
  return is_full ? at(stream, stream->count - 1) : place;
}

/* The index of the oldest checkpoint that covers the ticket; count when there is none. */
static uint32_t find_checkpoint(const roc_cuda_stream *stream, roc_ticket ticket) {
  uint32_t i = 0;
  while (i < stream->count && stream->checkpoints[at(stream, i)].ticket < ticket) i++;
  return i;
}

/* Sees that some checkpoint covers the ticket. */
static CUresult record(roc_cuda_stream *stream, roc_ticket ticket) {
  if (find_checkpoint(stream, ticket) < stream->count) return CUDA_SUCCESS;
  roc_ticket issued = atomic_load_explicit(&stream->issued, memory_order_acquire);
  uint64_t slots_end = stream->infos[issued % ROC_CUDA_IN_FLIGHT].slots_end;
  CUresult result = queue_slot_copies(stream, slots_end);
  if (result != CUDA_SUCCESS) return result;
  if (stream->count == 0) stream->first = 0; /* whose event is there */
  uint32_t place = choose_place(stream, stream->events);
  result = roc_cuda.cuEventRecord(stream->events[place], stream->handle);
  if (result != CUDA_SUCCESS) return result;
  stream->checkpoints[place] = (roc_cuda_checkpoint){issued, slots_end};
  if (place == at(stream, stream->count)) stream->count++;
  return CUDA_SUCCESS;
}

static void free_jobs(roc_cuda_stream *stream, roc_ticket done) {
  while (stream->jobs && stream->jobs->ticket <= done) {
    roc_cuda_job *job = stream->jobs;
    stream->jobs = job->next;
    roc_free(job);
  }
  if (!stream->jobs) stream->last_job = &stream->jobs;
}

static void write_stamps(roc_cuda_stream *stream, roc_ticket done) {
  while (stream->stamps && stream->stamps->ticket <= done) {
    roc_cuda_stamp *stamp = stream->stamps;
    stream->stamps = stamp->next;
    *stamp->out_ns = roc_cuda_time_of(roc_cuda_owner(stream), &stamp->event);
    stamp->next = stream->free_stamps;
    stream->free_stamps = stamp;
  }
  if (!stream->stamps) stream->last_stamp = &stream->stamps;
}

static CUresult finish_first(roc_cuda_stream *stream) {
  roc_cuda_checkpoint done = stream->checkpoints[stream->first];
  CUresult result = read_slots(stream, done.slots_end);
  write_stamps(stream, done.ticket);
  free_jobs(stream, done.ticket);
  stream->first = at(stream, 1);
  stream->count--;
  atomic_store_explicit(&stream->completed, done.ticket, memory_order_release);
  return result;
}

/* Looks at the checkpoints that are out, oldest first.  SUCCESS when all are done; NOT_READY. */
static CUresult advance(roc_cuda_stream *stream) {
  while (stream->count > 0) {
    CUresult result = roc_cuda.cuEventQuery(stream->events[stream->first]);
    if (result == CUDA_SUCCESS) result = finish_first(stream);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

/* ---- asking: no lock held ------------------------------------------------- */

static bool is_known(roc_cuda_stream *stream, roc_ticket ticket) {
  return atomic_load_explicit(&stream->completed, memory_order_acquire) >= ticket;
}

CUresult roc_cuda_look(roc_cuda_stream *stream, roc_ticket ticket) {
  if (is_known(stream, ticket)) return CUDA_SUCCESS;
  bool entered = roc_cuda_enter(roc_cuda_owner(stream));
  pthread_mutex_lock(&stream->lock);
  CUresult result = is_known(stream, ticket) ? CUDA_SUCCESS : record(stream, ticket);
  if (result == CUDA_SUCCESS) result = advance(stream);
  pthread_mutex_unlock(&stream->lock);
  roc_cuda_leave(entered);
  return result;
}

/* Asks the device whether the ticket is complete.  A loss is noted. */
static roc_status ask(roc_cuda_stream *stream, roc_ticket ticket, bool *out_done, roc_error *err) {
  CUresult result = roc_cuda_look(stream, ticket);
  *out_done = is_known(stream, ticket);
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY) return ROC_OK;
  return roc_cuda_fail(roc_cuda_owner(stream), result, "the state of a stream cannot be asked for",
                       err);
}

bool roc_cuda_has_done(roc_cuda_stream *stream, roc_ticket ticket) {
  bool is_done;
  ask(stream, ticket, &is_done, NULL);
  return is_done;
}

bool roc_cuda_is_done(roc_dev_stream *base, roc_ticket ticket) {
  return roc_cuda_has_done(roc_cuda_stream_of(base), ticket);
}

void roc_cuda_check_in_passing(roc_cuda_stream *stream) {
  roc_ticket issued = atomic_load_explicit(&stream->issued, memory_order_relaxed);
  if (issued - stream->checked < ROC_CUDA_CHECK_EVERY) return;
  stream->checked = issued;
  bool entered = roc_cuda_enter(roc_cuda_owner(stream));
  pthread_mutex_lock(&stream->lock);
  /* A failure is seen again by the next question. */
  if (record(stream, issued) == CUDA_SUCCESS) advance(stream);
  pthread_mutex_unlock(&stream->lock);
  roc_cuda_leave(entered);
}

bool roc_cuda_has_room(roc_dev_stream *base, const roc_dev_module *module, uint32_t kernarg_bytes,
                       roc_ticket *out_ticket) {
  (void)module, (void)kernarg_bytes;
  roc_cuda_stream *stream = roc_cuda_stream_of(base);
  roc_ticket issued = atomic_load_explicit(&stream->issued, memory_order_relaxed);
  roc_ticket done = atomic_load_explicit(&stream->completed, memory_order_relaxed);
  if (issued - done < ROC_CUDA_IN_FLIGHT - 1 || base->device->is_lost) return true;
  *out_ticket = issued - ROC_CUDA_IN_FLIGHT / 2;
  return roc_cuda_has_done(stream, *out_ticket);
}

/* Short waits are worth a core; a long one must not keep it, but end soon after the work. */
static void rest(uint64_t begin, uint64_t deadline) {
  uint64_t now = roc_clock_ns(), waited = now - begin;
  if (waited < SPIN_NS) {
    roc_cpu_relax();
    return;
  }
  uint64_t sleep_ns = waited / SLEEP_PART, left = deadline > now ? deadline - now : 0;
  if (sleep_ns > LONGEST_SLEEP_NS) sleep_ns = LONGEST_SLEEP_NS;
  if (sleep_ns > left) sleep_ns = left;
  nanosleep(&(struct timespec){.tv_nsec = (long)sleep_ns}, NULL);
}

/* The thread's last wait, if it was over before the work: a caller that waits in slices comes back,
 * and its wait goes on from where it was. */
static _Thread_local struct {
  const roc_cuda_stream *stream;
  roc_ticket ticket;
  uint64_t begin;
} unfinished;

roc_status roc_cuda_wait(roc_dev_stream *base, roc_ticket ticket, int64_t timeout_ns,
                         bool *out_done, roc_error *err) {
  roc_cuda_stream *stream = roc_cuda_stream_of(base);
  uint64_t now = roc_clock_ns();
  uint64_t deadline = timeout_ns < 0 ? INT64_MAX : now + (uint64_t)timeout_ns;
  bool goes_on = unfinished.stream == stream && unfinished.ticket == ticket;
  uint64_t begin = goes_on ? unfinished.begin : now;
  unfinished.stream = NULL;
  for (;;) {
    if (base->device->is_lost) return roc_cuda_fail_lost(roc_cuda_owner(stream), err);
    ROC_TRY(ask(stream, ticket, out_done, err));
    if (*out_done) return ROC_OK;
    if (roc_clock_ns() >= deadline) break;
    rest(begin, deadline);
  }
  unfinished.stream = stream;
  unfinished.ticket = ticket;
  unfinished.begin = begin;
  return ROC_OK;
}

/* ---- other streams -------------------------------------------------------- */

CUresult roc_cuda_queue_wait(roc_cuda_stream *stream, roc_cuda_stream *other, roc_ticket ticket,
                             bool *out_is_theirs) {
  roc_cuda_device *theirs = roc_cuda_owner(other);
  pthread_mutex_lock(&other->lock);
  bool entered = roc_cuda_enter(theirs);
  CUresult result = record(other, ticket);
  roc_cuda_leave(entered);
  *out_is_theirs = result != CUDA_SUCCESS;
  if (result == CUDA_SUCCESS) {
    CUevent event = other->events[at(other, find_checkpoint(other, ticket))];
    result = roc_cuda.cuStreamWaitEvent(stream->handle, event, 0);
  }
  pthread_mutex_unlock(&other->lock);
  return result;
}

/* ---- stamps --------------------------------------------------------------- */

static CUresult take_stamp(roc_cuda_stream *stream, roc_cuda_stamp **out_stamp) {
  roc_cuda_stamp *stamp = stream->free_stamps;
  if (stamp) {
    stream->free_stamps = stamp->next;
  } else {
    stamp = roc_zalloc(sizeof *stamp);
    if (!stamp) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = roc_cuda.cuEventCreate(&stamp->event, CU_EVENT_DEFAULT);
    if (result != CUDA_SUCCESS) {
      roc_free(stamp);
      return result;
    }
  }
  *out_stamp = stamp;
  return CUDA_SUCCESS;
}

CUresult roc_cuda_queue_stamp(roc_cuda_stream *stream, uint64_t *out_ns, roc_ticket *out_ticket) {
  roc_cuda_stamp *stamp;
  pthread_mutex_lock(&stream->lock);
  CUresult result = take_stamp(stream, &stamp);
  if (result == CUDA_SUCCESS) {
    result = roc_cuda.cuEventRecord(stamp->event, stream->handle);
    if (result == CUDA_SUCCESS) {
      stamp->out_ns = out_ns;
      stamp->next = NULL;
      stamp->ticket = *out_ticket = roc_cuda_issue(stream, NULL);
      *stream->last_stamp = stamp;
      stream->last_stamp = &stamp->next;
    } else {
      stamp->next = stream->free_stamps;
      stream->free_stamps = stamp;
    }
  }
  pthread_mutex_unlock(&stream->lock);
  return result;
}

/* ---- the end -------------------------------------------------------------- */

static void free_stamp_list(roc_cuda_stamp *stamps, bool is_lost) {
  while (stamps) {
    roc_cuda_stamp *stamp = stamps;
    stamps = stamp->next;
    if (!is_lost) roc_cuda.cuEventDestroy(stamp->event);
    roc_free(stamp);
  }
}

/* Of a lost device one may be about to run: they go with the context. */
static void keep_jobs(roc_cuda_stream *stream) {
  roc_cuda_device *device = roc_cuda_owner(stream);
  pthread_mutex_lock(&device->lock);
  *stream->last_job = device->dead_jobs;
  device->dead_jobs = stream->jobs;
  pthread_mutex_unlock(&device->lock);
}

void roc_cuda_completion_deinit(roc_cuda_stream *stream) {
  bool is_lost = stream->base.device->is_lost;
  free_stamp_list(stream->stamps, is_lost);
  free_stamp_list(stream->free_stamps, is_lost);
  for (uint32_t i = 0; i < ROC_CUDA_EVENTS; i++) {
    if (stream->events[i] && !is_lost) roc_cuda.cuEventDestroy(stream->events[i]);
  }
  if (is_lost) {
    keep_jobs(stream);
  } else {
    free_jobs(stream, UINT64_MAX);
  }
}
