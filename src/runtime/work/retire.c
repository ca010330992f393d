/* Pending work of streams: queued, and retired once it is complete.
 *
 * Retiring is the second half of every launch and copy: references are dropped, fault records and
 * print buffers are read.  The work of a stream is retired in its order, by a wait, by the next
 * launch, or by an allocation that found no memory.  All of it under the runtime's lock, none of it
 * waits. */
#include "base/alloc.h"
#include "runtime/core/internal.h"

enum { FIRST_RING = 16 };

static roc_buffer **pending_buffers(roc_rt_pending *pending) {
  return pending->more_buffers ? pending->more_buffers : pending->inline_buffers;
}

static bool grow_ring(roc_rt_stream *stream) {
  uint32_t capacity = stream->capacity ? stream->capacity * 2 : FIRST_RING;
  roc_rt_pending *ring = roc_alloc(sizeof *ring * capacity);
  if (!ring) return false;
  for (uint32_t i = 0; i < stream->count; i++) {
    ring[i] = stream->ring[(stream->first + i) & (stream->capacity - 1)];
  }
  roc_free(stream->ring);
  stream->ring = ring;
  stream->first = 0;
  stream->capacity = capacity;
  return true;
}

roc_rt_pending *roc_rt_pending_begin(roc_rt_stream *stream, uint32_t nbuffers) {
  if (stream->count == stream->capacity && !grow_ring(stream)) return NULL;
  roc_rt_pending *pending = &stream->ring[(stream->first + stream->count) & (stream->capacity - 1)];
  pending->kernel = NULL;
  pending->record = NULL;
  pending->print = NULL;
  pending->file = NULL;
  pending->line = pending->rank = 0;
  pending->nbuffers = nbuffers;
  pending->more_buffers = NULL;
  if (nbuffers > ROC_RT_INLINE_BUFFERS) {
    pending->more_buffers = roc_alloc(sizeof(roc_buffer *) * nbuffers);
    if (!pending->more_buffers) return NULL;
  }
  return pending;
}

void roc_rt_pending_abort(roc_rt_pending *pending) {
  roc_free(pending->more_buffers);
}

void roc_rt_pending_commit(roc_rt_stream *stream, roc_rt_pending *pending, roc_ticket ticket,
                           const roc_rt_use *uses, uint32_t nuses) {
  roc_buffer **buffers = pending_buffers(pending);
  pending->ticket = ticket;
  for (uint32_t i = 0; i < nuses; i++) {
    buffers[i] = uses[i].buffer;
    roc_buffer_set_use(uses[i].buffer, stream, ticket, uses[i].writes);
  }
  if (pending->kernel) pending->kernel->refs++;
  if (ticket > stream->last_ticket) stream->last_ticket = ticket; /* a stamp may come after it */
  stream->count++;
}

static void read_records(roc_rt_stream *stream, roc_rt_pending *pending) {
  if (pending->print) {
    roc_rt_read_prints(stream->session, pending->kernel->object, pending->print);
  }
  if (!pending->record) return;
  if (__atomic_load_n(&pending->record->state, __ATOMIC_ACQUIRE) == 0) return;
  roc_rt_fault *fault = roc_rt_fault_read(pending);
  if (!fault) return;
  roc_buffer **buffers = pending_buffers(pending);
  for (uint32_t i = 0; i < pending->nbuffers; i++) roc_buffer_set_fault(buffers[i], fault);
  roc_rt_stream_add_fault(stream, fault);
}

/* Work that the driver gave up, with all that was queued after it: one fault for all of it. */
static bool read_failure(roc_rt_stream *stream, roc_rt_pending *pending) {
  const roc_device_ops *ops = stream->driver->device->ops;
  roc_error why;
  uint64_t failure;
  if (!ops->find_failure || !ops->find_failure(stream->driver, pending->ticket, &failure, &why)) {
    return false;
  }
  roc_rt_fault *fault = roc_rt_stream_find_failure(stream, failure);
  if (!fault) {
    fault = roc_rt_fault_new(ROC_FAULT, pending->ticket, why.message);
    if (!fault) return true;
    fault->failure = failure;
    roc_rt_stream_add_fault(stream, fault);
  }
  fault->last = pending->ticket;
  roc_buffer **buffers = pending_buffers(pending);
  for (uint32_t i = 0; i < pending->nbuffers; i++) roc_buffer_set_fault(buffers[i], fault);
  return true;
}

/* Of a lost device: its work may still touch the memory, so the owner is not told yet. */
static bool keep_wrapped(roc_rt_device *device, roc_buffer *buffer) {
  if (!buffer || !buffer->release || buffer->is_retained) return false;
  buffer->is_retained = true;
  buffer->next = device->retained;
  device->retained = buffer;
  return true;
}

void roc_rt_release_retained(roc_rt_device *device) {
  while (device->retained) {
    roc_buffer *buffer = device->retained;
    device->retained = buffer->next;
    buffer->is_retained = false;
    roc_buffer_release_locked(buffer);
  }
}

static void retire_first(roc_rt_stream *stream, bool with_records) {
  roc_rt_pending *pending = &stream->ring[stream->first];
  if (with_records && !read_failure(stream, pending)) read_records(stream, pending);
  if (pending->record || pending->print) roc_rt_records_give_back(stream->device, pending);
  roc_buffer **buffers = pending_buffers(pending);
  /* A buffer may be there twice, so none is released before all have been looked at. */
  for (uint32_t i = 0; i < pending->nbuffers; i++) {
    if (!roc_buffer_clear_use(buffers[i], stream, pending->ticket)) buffers[i] = NULL;
  }
  for (uint32_t i = 0; i < pending->nbuffers; i++) {
    if (with_records || !keep_wrapped(stream->device, buffers[i])) {
      roc_buffer_release_locked(buffers[i]);
    }
  }
  if (pending->kernel) roc_rt_kernel_release_locked(pending->kernel);
  roc_free(pending->more_buffers);
  stream->first = (stream->first + 1) & (stream->capacity - 1);
  stream->count--;
}

/* Whether the oldest work is done.  Of a lost device nothing is (roc_rt_retire_lost), whatever its
 * driver says: it gives up what was queued, after it has set is_lost, which is read last for that. */
static bool is_first_done(const roc_rt_stream *stream, bool asks_device) {
  const roc_device *driver = stream->driver->device;
  roc_ticket first = stream->ring[stream->first].ticket;
  bool is_done = asks_device || !driver->ops->known_done
                     ? driver->ops->is_done(stream->driver, first)
                     : first <= driver->ops->known_done(stream->driver);
  return is_done && !driver->is_lost;
}

void roc_rt_retire_before(roc_rt_stream *stream, roc_ticket ticket) {
  while (stream->count > 0 && stream->ring[stream->first].ticket < ticket &&
         is_first_done(stream, false)) {
    retire_first(stream, true);
  }
}

void roc_rt_retire(roc_rt_stream *stream) {
  while (stream->count > 0 && is_first_done(stream, true)) retire_first(stream, true);
}

void roc_rt_retire_lost(roc_rt_stream *stream, const char *text) {
  roc_rt_fault *fault = stream->count > 0 ? roc_rt_fault_new(ROC_LOST, 0, text) : NULL;
  while (stream->count > 0) {
    roc_rt_pending *pending = &stream->ring[stream->first];
    roc_buffer **buffers = pending_buffers(pending);
    for (uint32_t i = 0; fault && i < pending->nbuffers; i++) {
      if (!buffers[i]->device) roc_buffer_set_fault(buffers[i], fault);
    }
    retire_first(stream, false);
  }
  if (fault) roc_rt_fault_release(fault);
}

void roc_rt_device_poll(roc_rt_device *device) {
  device->live++; /* the last stream to go would take the device along */
  for (roc_rt_stream **link = &device->streams; *link;) {
    roc_rt_stream *stream = *link;
    roc_rt_retire(stream);
    bool is_over = stream->count == 0 && atomic_load(&stream->refs) == 0;
    if (!is_over) {
      link = &stream->next;
      continue;
    }
    *link = stream->next;
    roc_rt_stream_hand_over_faults(stream);
    roc_rt_stream_destroy(stream);
  }
  roc_rt_device_drop(device);
}
