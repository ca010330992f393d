/* Devices that are lost: the one text that every later call gets, and the end of their work. */
#include <stdio.h>

#include "runtime/core/internal.h"
#include "runtime/device.h"

/* Some kernel that was queued, the oldest of its stream: what most likely did it. */
static const roc_rt_pending *find_queued_kernel(const roc_rt_device *device) {
  for (const roc_rt_stream *s = device->streams; s; s = s->next) {
    for (uint32_t i = 0; i < s->count; i++) {
      const roc_rt_pending *work = &s->ring[(s->first + i) & (s->capacity - 1)];
      if (work->kernel) return work;
    }
  }
  return NULL;
}

static void describe_loss(roc_rt_device *device, const roc_rt_pending *work, const char *cause) {
  const roc_device *driver = device->driver;
  char by[600] = "";
  if (!cause && driver->lost_why[0]) cause = driver->lost_why;
  if (!work || !work->kernel) work = find_queued_kernel(device);
  if (driver->lost_by[0]) {
    snprintf(by, sizeof by, " by %s", driver->lost_by);
  } else if (work) {
    snprintf(by, sizeof by, " by kernel '%s' launched at %s:%u", work->kernel->name,
             work->file ? work->file : "?", work->line);
  }
  snprintf(device->lost_text, sizeof device->lost_text, "device '%s' is lost%s%s%.500s",
           device->label, by, cause ? ": " : "", cause ? cause : "");
}

static roc_status settle_loss(roc_rt_device *device, const roc_rt_pending *work, const char *cause,
                              roc_error *err) {
  device->driver->is_lost = true;
  if (!device->lost_text[0]) {
    describe_loss(device, work, cause);
    for (roc_rt_stream *s = device->streams; s; s = s->next) {
      roc_rt_retire_lost(s, device->lost_text);
    }
  }
  return roc_fail(err, ROC_LOST, "%s", device->lost_text);
}

roc_status roc_rt_device_check(roc_rt_device *device, roc_error *err) {
  if (device->is_closing) return roc_rt_check_open(err);
  return device->driver->is_lost ? settle_loss(device, NULL, NULL, err) : ROC_OK;
}

roc_status roc_rt_stream_check(const roc_rt_stream *stream, roc_error *err) {
  bool is_fine = !stream->session->is_closed && !stream->device->is_closing &&
                 !stream->device->driver->is_lost;
  if (is_fine) return ROC_OK; /* every launch comes through here */
  ROC_TRY(roc_rt_session_check(stream->session, err));
  return roc_rt_device_check(stream->device, err);
}

roc_status roc_rt_device_set_lost(roc_rt_device *device, const roc_rt_pending *work,
                                  roc_error *err) {
  char cause[512] = "";
  if (err) snprintf(cause, sizeof cause, "%.511s", err->message);
  return settle_loss(device, work, cause[0] ? cause : NULL, err);
}
