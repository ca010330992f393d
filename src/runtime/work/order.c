/* The order of work that is queued where the script did not ask for it: what is computed later than
 * the operation in the script, and copies of memory that is about to be written.
 *
 * The script orders its streams by events, and cannot know of such work.  So this work comes after
 * all queued work that conflicts with it, on any stream, and work that is queued later comes after
 * it where the two conflict.  Streams wait on the device. */
#include "base/alloc.h"
#include "runtime/core/internal.h"
#include "runtime/event.h"

static roc_ticket conflict_of(const roc_rt_use_entry *entry, bool writes, bool is_ordered) {
  if (is_ordered) return writes ? entry->last : entry->last_write;
  return writes ? entry->ordered : entry->ordered_write;
}

/* The work of other streams that `use` conflicts with, as events of it; the caller deinits them and
 * frees the list.  NULL: there is none, or (*out_count > 0) memory is out.  Lock held. */
static roc_rt_event *list_conflicts(const roc_rt_stream *stream, const roc_rt_use *use,
                                    bool is_ordered, uint32_t *out_count) {
  roc_rt_event *events = NULL;
  *out_count = 0;
  for (uint32_t i = 0, n = roc_buffer_count_uses(use->buffer); i < n; i++) {
    const roc_rt_use_entry *entry = &use->buffer->uses[i];
    roc_ticket ticket = conflict_of(entry, use->writes, is_ordered);
    if (!ticket || entry->stream == stream) continue;
    if (!events) events = roc_alloc((n - i) * sizeof *events);
    if (events) {
      roc_rt_stream_retain(entry->stream);
      events[*out_count] = (roc_rt_event){.stream = entry->stream, .ticket = ticket};
    }
    ++*out_count;
    if (!events) break;
  }
  return events;
}

static roc_status follow(roc_rt_stream *stream, const roc_rt_use *use, bool is_ordered,
                         roc_error *err) {
  uint32_t count;
  roc_rt_lock();
  roc_rt_event *events = list_conflicts(stream, use, is_ordered, &count);
  roc_rt_unlock();
  if (count > 0 && !events) {
    return roc_fail(err, ROC_OOM, "out of memory: a stream cannot wait for an array");
  }
  roc_status status = ROC_OK;
  for (uint32_t i = 0; i < count; i++) {
    if (status == ROC_OK) status = roc_rt_stream_wait_event(stream, &events[i], err);
    roc_rt_event_deinit(&events[i]);
  }
  roc_free(events);
  return status;
}

roc_status roc_rt_stream_follow(roc_rt_stream *stream, const roc_rt_use *uses, uint32_t nuses,
                                bool is_ordered, roc_error *err) {
  for (uint32_t i = 0; i < nuses; i++) {
    roc_buffer *buffer = uses[i].buffer;
    bool may_conflict = is_ordered
                            ? roc_buffer_count_uses(buffer) > 0
                            : atomic_load_explicit(&buffer->has_ordered, memory_order_relaxed);
    if (may_conflict) ROC_TRY(follow(stream, &uses[i], is_ordered, err));
  }
  return ROC_OK;
}

roc_status roc_rt_stream_wait_buffer(roc_rt_stream *stream, roc_buffer *buffer, bool for_write,
                                     roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  roc_rt_use use = {buffer, for_write};
  return roc_rt_stream_follow(stream, &use, 1, true, err);
}

void roc_rt_set_ordered(roc_rt_stream *stream, const roc_rt_use *uses, uint32_t nuses) {
  for (uint32_t i = 0; i < nuses; i++) {
    roc_buffer_set_ordered(uses[i].buffer, stream, uses[i].writes);
  }
}
