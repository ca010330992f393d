/* The uses of a buffer by queued work, one entry for each stream that uses it, and the fault of
 * work that should have written it. Under the runtime's lock. */
#include <string.h>

#include "base/alloc.h"
#include "runtime/core/internal.h"

static roc_rt_use_entry *find_use(roc_buffer *buffer, const roc_rt_stream *stream) {
  for (uint32_t i = 0, n = roc_buffer_count_uses(buffer); i < n; i++) {
    if (buffer->uses[i].stream == stream) return &buffer->uses[i];
  }
  return NULL;
}

bool roc_buffer_reserve_use(roc_buffer *buffer, roc_rt_stream *stream) {
  uint32_t count = roc_buffer_count_uses(buffer);
  if (count < buffer->use_capacity || find_use(buffer, stream)) return true;
  roc_rt_use_entry *grown = roc_alloc(sizeof *grown * 2 * buffer->use_capacity);
  if (!grown) return false;
  memcpy(grown, buffer->uses, sizeof *grown * count);
  if (buffer->uses != buffer->inline_uses) roc_free(buffer->uses);
  buffer->uses = grown;
  buffer->use_capacity *= 2;
  return true;
}

roc_status roc_buffer_fail_read_only(roc_error *err) {
  return roc_fail(err, ROC_INVALID, "the array's memory is read-only: write to a copy of it");
}

roc_status roc_rt_reserve_uses(roc_rt_stream *stream, const roc_rt_use *uses, uint32_t nuses,
                               roc_error *err) {
  for (uint32_t i = 0; i < nuses; i++) {
    if (uses[i].writes && uses[i].buffer->is_read_only) return roc_buffer_fail_read_only(err);
    if (!roc_buffer_reserve_use(uses[i].buffer, stream)) {
      return roc_fail(err, ROC_OOM, "out of memory: no room for the uses of an array");
    }
  }
  return ROC_OK;
}

void roc_buffer_set_use(roc_buffer *buffer, roc_rt_stream *stream, roc_ticket ticket, bool writes) {
  roc_rt_use_entry *entry = find_use(buffer, stream);
  if (!entry) {
    uint32_t count = roc_buffer_count_uses(buffer);
    entry = &buffer->uses[count];
    *entry = (roc_rt_use_entry){.stream = stream};
    roc_buffer_retain(buffer);
    atomic_store_explicit(&buffer->nuses, count + 1, memory_order_release);
  }
  entry->last = ticket;
  if (writes) entry->last_write = ticket;
}

void roc_buffer_set_ordered(roc_buffer *buffer, roc_rt_stream *stream, bool writes) {
  roc_rt_use_entry *entry = find_use(buffer, stream);
  entry->ordered = entry->last;
  if (writes) entry->ordered_write = entry->last;
  atomic_store_explicit(&buffer->has_ordered, true, memory_order_relaxed);
}

bool roc_buffer_clear_use(roc_buffer *buffer, roc_rt_stream *stream, roc_ticket ticket) {
  roc_rt_use_entry *entry = find_use(buffer, stream);
  if (!entry) return false;
  if (entry->last > ticket) {
    /* Later reads of the same stream do not keep readers waiting. */
    if (entry->last_write <= ticket) entry->last_write = 0;
    if (entry->ordered_write <= ticket) entry->ordered_write = 0;
    if (entry->ordered <= ticket) entry->ordered = 0;
    return false;
  }
  uint32_t count = roc_buffer_count_uses(buffer);
  *entry = buffer->uses[count - 1];
  atomic_store_explicit(&buffer->nuses, count - 1, memory_order_release);
  if (count == 1) atomic_store_explicit(&buffer->has_ordered, false, memory_order_relaxed);
  return true;
}

void roc_buffer_set_fault(roc_buffer *buffer, roc_rt_fault *fault) {
  roc_rt_fault *old = atomic_load_explicit(&buffer->fault, memory_order_relaxed);
  if (old && !old->is_reported) return; /* the first one is what explains the array's contents */
  if (old) roc_rt_fault_release(old);
  fault->refs++;
  atomic_store_explicit(&buffer->fault, fault, memory_order_relaxed);
}

roc_rt_stream *roc_buffer_find_conflict(roc_buffer *buffer, bool for_write,
                                        roc_ticket *out_ticket) {
  for (uint32_t i = 0, n = roc_buffer_count_uses(buffer); i < n; i++) {
    roc_rt_use_entry *use = &buffer->uses[i];
    roc_ticket ticket = for_write ? use->last : use->last_write;
    if (!ticket) continue;
    atomic_fetch_add_explicit(&use->stream->refs, 1, memory_order_relaxed);
    *out_ticket = ticket;
    return use->stream;
  }
  return NULL;
}
