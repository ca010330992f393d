/* The end of sessions and of the process, as far as one device goes. */
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "runtime/core/internal.h"
#include "runtime/device.h"

enum { GRACE_NS = 1000000000 };

/* ---- what is pending ----------------------------------------------------- */

/* The work that the stream does now; NULL: none.  Lock held. */
static const roc_rt_pending *find_unfinished(const roc_rt_stream *stream) {
  const roc_device_ops *ops = stream->driver->device->ops;
  for (uint32_t i = 0; i < stream->count; i++) {
    const roc_rt_pending *work = &stream->ring[(stream->first + i) & (stream->capacity - 1)];
    if (!ops->is_done(stream->driver, work->ticket)) return work;
  }
  return NULL;
}

static void describe_work(const roc_rt_pending *work, char *text, size_t size) {
  if (!work->kernel) {
    snprintf(text, size, "a copy or fill");
  } else if (work->file) {
    snprintf(text, size, "kernel '%s' (launched at %s:%u)", work->kernel->name, work->file,
             work->line);
  } else {
    snprintf(text, size, "kernel '%s'", work->kernel->name);
  }
}

bool roc_rt_device_describe_pending(roc_rt_device *device, char *text, size_t size) {
  const roc_rt_pending *work = NULL;
  roc_rt_lock();
  if (!device->driver->is_lost) {
    for (roc_rt_stream *s = device->streams; s && !work; s = s->next) work = find_unfinished(s);
  }
  if (work) describe_work(work, text, size);
  roc_rt_unlock();
  return work != NULL;
}

/* ---- waiting for the end ------------------------------------------------- */

static bool is_idle(roc_rt_device *device, const roc_rt_session *session) {
  bool idle = true;
  roc_rt_lock();
  for (roc_rt_stream *s = device->streams; s && idle; s = s->next) {
    if (session && s->session != session) continue;
    idle = device->driver->ops->is_done(s->driver, s->last_ticket);
  }
  roc_rt_unlock();
  return idle;
}

/* An interrupt stops kernels where the device can; INTERRUPTED says that one goes on. */
static roc_status await_end(roc_rt_device *device, roc_rt_session *session, roc_error *err) {
  roc_status status = roc_rt_device_await_all(device, session, session, err);
  if (status == ROC_OK && !session) { /* lost without work: no session has been told */
    roc_rt_lock();
    status = roc_rt_device_check(device, err);
    roc_rt_unlock();
  }
  if (status == ROC_OK && !is_idle(device, session)) { /* of a session that has been left */
    return roc_fail(err, ROC_INTERRUPTED, "interrupted!");
  }
  if (status != ROC_INTERRUPTED) return status;
  uint64_t deadline = roc_clock_ns() + GRACE_NS;
  while (!is_idle(device, session) && roc_clock_ns() < deadline) {
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  return is_idle(device, session) ? ROC_OK : status;
}

roc_status roc_rt_device_finish(roc_rt_device *device, roc_rt_session *session, roc_error *err) {
  bool was_told = device->lost_text[0] != '\0'; /* the call that found it lost failed */
  roc_status status = was_told ? ROC_OK : await_end(device, session, err);
  return status == ROC_OK ? roc_rt_device_take_fault(device, session, err) : status;
}

void roc_rt_device_stop(roc_rt_device *device) {
  roc_rt_lock();
  device->is_closing = true;
  roc_rt_pool_trim(device);
  if (device->driver->ops->quiesce) device->driver->ops->quiesce(device->driver);
  roc_rt_device_drop(device); /* the table's hold */
  roc_rt_unlock();
}
