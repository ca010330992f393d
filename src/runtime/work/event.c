/* Recording, waiting for and timing events; see event.h.
 *
 * A record is a piece of queued work that uses one small host buffer, the time stamp; so the stamp
 * outlives an event that is dropped or recorded again meanwhile, by the rules of internal.h. */
#include "runtime/event.h"

#include "base/alloc.h"
#include "runtime/core/internal.h"

void roc_rt_event_deinit(roc_rt_event *event) {
  roc_rt_stream_release(event->stream);
  roc_buffer_release(event->time);
  *event = ROC_RT_EVENT_INIT;
}

/* ---- recording ----------------------------------------------------------- */

/* `written`: a buffer that the work before the stamp writes, or NULL. */
static roc_status record_locked(roc_rt_stream *stream, roc_buffer *time, roc_buffer *written,
                                roc_ticket *out_ticket, roc_error *err) {
  roc_rt_use uses[] = {{time, true}, {written, false}};
  uint32_t nuses = written ? 2 : 1;
  ROC_TRY(roc_rt_stream_check(stream, err));
  ROC_TRY(roc_rt_stream_await_room(stream, NULL, err));
  ROC_TRY(roc_rt_reserve_uses(stream, uses, nuses, err));
  roc_rt_pending *pending = roc_rt_pending_begin(stream, nuses);
  if (!pending) return roc_fail(err, ROC_OOM, "out of memory: an event cannot be recorded");
  roc_status status = roc_rt_queue_stamp(stream->driver, roc_buffer_host(time), out_ticket, err);
  if (status == ROC_OK) {
    uses[1].writes = true; /* a read-only buffer, too: its owner has written it */
    roc_rt_pending_commit(stream, pending, *out_ticket, uses, nuses);
    roc_rt_retire_before(stream, *out_ticket);
    return ROC_OK;
  }
  roc_rt_pending_abort(pending);
  return status == ROC_LOST ? roc_rt_device_set_lost(stream->device, NULL, err) : status;
}

roc_status roc_rt_event_record(roc_rt_event *event, roc_rt_stream *stream, roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  roc_rt_event recorded = {.stream = stream};
  ROC_TRY(roc_buffer_create_host(sizeof(uint64_t), true, &recorded.time, err));
  roc_rt_stream_retain(stream);
  roc_rt_lock();
  roc_status status = record_locked(stream, recorded.time, NULL, &recorded.ticket, err);
  roc_rt_unlock();
  roc_rt_event_deinit(status == ROC_OK ? event : &recorded);
  if (status == ROC_OK) *event = recorded;
  return status;
}

roc_status roc_rt_stream_note_write(roc_rt_stream *stream, roc_buffer *buffer, roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  roc_ticket ticket;
  roc_buffer *time;
  ROC_TRY(roc_buffer_create_host(sizeof(uint64_t), true, &time, err));
  roc_buffer_note_write(buffer);
  roc_rt_lock();
  roc_status status = record_locked(stream, time, buffer, &ticket, err);
  roc_rt_unlock();
  roc_buffer_release(time);
  return status;
}

/* ---- waiting ------------------------------------------------------------- */

roc_status roc_rt_event_query(const roc_rt_event *event, bool *out_done, roc_error *err) {
  *out_done = true;
  return event->stream ? roc_rt_stream_query(event->stream, event->ticket, out_done, err) : ROC_OK;
}

roc_status roc_rt_event_synchronize(const roc_rt_event *event, roc_error *err) {
  return event->stream ? roc_rt_stream_wait_ticket(event->stream, event->ticket, err) : ROC_OK;
}

static roc_status wait_locked(roc_rt_stream *stream, const roc_rt_event *event, roc_error *err) {
  ROC_TRY(roc_rt_stream_check(stream, err));
  ROC_TRY(roc_rt_stream_await_room(stream, NULL, err));
  ROC_TRY(roc_rt_device_check(event->stream->device, err));
  const roc_device_ops *ops = stream->driver->device->ops;
  roc_ticket ticket;
  roc_status status =
      ops->stream_wait(stream->driver, event->stream->driver, event->ticket, &ticket, err);
  if (status == ROC_LOST) return roc_rt_device_set_lost(stream->device, NULL, err);
  if (status == ROC_OK && ticket) stream->last_ticket = ticket;
  stream->trace.has_waited = true;
  return status;
}

roc_status roc_rt_stream_wait_event(roc_rt_stream *stream, const roc_rt_event *event,
                                    roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  if (!event->stream || event->stream == stream) return ROC_OK;
  if (event->stream->driver->device->ops != stream->driver->device->ops) {
    return roc_rt_stream_await(event->stream, event->ticket, stream->session, err);
  }
  roc_rt_lock();
  roc_status status = wait_locked(stream, event, err);
  roc_rt_unlock();
  return status;
}

/* ---- timing -------------------------------------------------------------- */

roc_status roc_rt_event_elapsed(const roc_rt_event *first, const roc_rt_event *last, double *out_ms,
                                roc_error *err) {
  if (!first->stream || !last->stream) {
    return roc_fail(err, ROC_INVALID, "the %s event was never recorded",
                    first->stream ? "second" : "first");
  }
  if (first->stream->device != last->stream->device) {
    return roc_fail(err, ROC_INVALID, "the events were recorded on different devices");
  }
  ROC_TRY(roc_rt_event_synchronize(first, err));
  ROC_TRY(roc_rt_event_synchronize(last, err));
  const uint64_t *begin = roc_buffer_host(first->time), *end = roc_buffer_host(last->time);
  *out_ms = (double)(int64_t)(*end - *begin) / 1e6;
  return ROC_OK;
}
