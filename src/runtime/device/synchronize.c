/* Waiting for all streams of a device. */
#include "runtime/core/internal.h"
#include "runtime/device.h"

/* A stream after `previous` (NULL: the first), retained; gives `previous` back. */
static roc_rt_stream *next_stream(roc_rt_device *device, roc_rt_stream *previous) {
  roc_rt_lock();
  roc_rt_stream *stream = previous ? previous->next : device->streams;
  if (stream) roc_rt_stream_retain(stream);
  roc_rt_unlock();
  roc_rt_stream_release(previous);
  return stream;
}

static bool is_awaited(const roc_rt_stream *stream, const roc_rt_session *session) {
  roc_rt_lock();
  bool is_left = stream->session->is_left;
  roc_rt_unlock();
  return session ? stream->session == session : !is_left;
}

roc_status roc_rt_device_await_all(roc_rt_device *device, const roc_rt_session *session,
                                   roc_rt_session *waiter, roc_error *err) {
  roc_status status = ROC_OK;
  roc_rt_stream *stream = next_stream(device, NULL);
  while (stream) {
    if (status == ROC_OK && is_awaited(stream, session)) {
      status = roc_rt_stream_await(stream, roc_rt_stream_last(stream),
                                   waiter ? waiter : stream->session, err);
    }
    stream = next_stream(device, stream);
  }
  return status;
}

roc_status roc_rt_device_take_fault(roc_rt_device *device, const roc_rt_session *session,
                                    roc_error *err) {
  roc_rt_lock();
  roc_rt_device_poll(device);
  bool found = false;
  for (roc_rt_stream *s = device->streams; s && !found; s = s->next) {
    if (!session || s->session == session) found = roc_rt_stream_take_fault(s, err);
  }
  roc_rt_unlock();
  return found ? ROC_FAULT : ROC_OK;
}

roc_status roc_rt_device_synchronize(roc_rt_device *device, roc_rt_session *session,
                                     roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  roc_rt_lock();
  roc_status status = roc_rt_device_check(device, err);
  roc_rt_unlock();
  ROC_TRY(status);
  ROC_TRY(roc_rt_device_await_all(device, session, session, err));
  return roc_rt_device_take_fault(device, session, err);
}

uint32_t roc_rt_device_resets(roc_rt_device *device) {
  return atomic_load_explicit(&device->resets, memory_order_relaxed);
}

roc_status roc_rt_device_reset(roc_rt_device *device, roc_rt_session *waiter, roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  roc_device *driver = device->driver;
  if (!driver->ops->reset) {
    return roc_fail(err, ROC_UNSUPPORTED, "device '%s' cannot be reset: only a new process helps",
                    driver->props.name);
  }
  if (!driver->is_lost) ROC_TRY(roc_rt_device_await_all(device, NULL, waiter, err));
  roc_rt_lock();
  roc_rt_device_check(device, NULL); /* lost, and no call has been told: ends what was queued */
  roc_status status = driver->ops->reset(driver, err);
  if (status == ROC_OK) {
    driver->is_lost = false;
    atomic_fetch_add_explicit(&device->resets, 1, memory_order_relaxed);
    device->lost_text[0] = '\0';
    roc_rt_release_retained(device);
  }
  roc_rt_unlock();
  return status;
}
