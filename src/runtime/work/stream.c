/* Streams: creation, interruptible waits, and reporting of contained faults.
 *
 * A wait sleeps in the driver without the runtime's lock, in slices, so that an interrupt set by a
 * signal handler is seen; only then does it take the lock and retire what has finished. */
#include "runtime/stream.h"

#include "base/alloc.h"
#include "runtime/core/internal.h"

enum { WAIT_SLICE_NS = 20 * 1000 * 1000 };

static _Atomic bool is_interrupted;

void roc_rt_interrupt(void) {
  atomic_store(&is_interrupted, true);
}

bool roc_rt_take_interrupt(void) {
  return atomic_exchange(&is_interrupted, false);
}

roc_status roc_rt_stream_create(roc_rt_device *device, roc_rt_stream **out_stream, roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  roc_rt_stream *stream = roc_zalloc(sizeof *stream);
  if (!stream) return roc_fail(err, ROC_OOM, "out of memory: no room for a stream");
  atomic_init(&stream->refs, 1);
  stream->device = device;
  roc_rt_lock();
  roc_status status = roc_rt_device_check(device, err);
  if (status == ROC_OK) {
    status = device->driver->ops->stream_create(device->driver, &stream->driver, err);
  }
  if (status == ROC_OK) {
    stream->next = device->streams;
    device->streams = stream;
    device->live++;
  }
  roc_rt_unlock();
  if (status != ROC_OK) {
    roc_free(stream);
    return status;
  }
  *out_stream = stream;
  return ROC_OK;
}

void roc_rt_stream_retain(roc_rt_stream *stream) {
  atomic_fetch_add_explicit(&stream->refs, 1, memory_order_relaxed);
}

void roc_rt_stream_release(roc_rt_stream *stream) {
  if (!stream || roc_rt_in_child()) return;
  roc_rt_lock();
  if (atomic_fetch_sub(&stream->refs, 1) == 1) {
    roc_rt_device_poll(stream->device);
  } else {
    roc_rt_device_settle(stream->device);
  }
  roc_rt_unlock();
}

roc_rt_device *roc_rt_stream_device(const roc_rt_stream *stream) {
  return stream->device;
}

bool roc_rt_stream_is_done(roc_rt_stream *stream, roc_ticket ticket) {
  if (roc_rt_check_open(NULL) != ROC_OK) return true;
  roc_device *driver = stream->driver->device;
  if (driver->is_lost || driver->ops->is_done(stream->driver, ticket)) return true;
  if (driver->ops->watch) driver->ops->watch(driver);
  return driver->is_lost;
}

roc_status roc_rt_stream_query(roc_rt_stream *stream, roc_ticket ticket, bool *out_done,
                               roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  roc_device *driver = stream->driver->device;
  roc_rt_lock();
  roc_status status = roc_rt_device_check(stream->device, err);
  if (status == ROC_OK) {
    if (driver->ops->watch && !driver->ops->is_done(stream->driver, ticket)) {
      driver->ops->watch(driver);
    }
    status = roc_rt_device_check(stream->device, err);
  }
  if (status == ROC_OK) {
    *out_done = driver->ops->is_done(stream->driver, ticket);
    roc_rt_retire(stream);
  }
  roc_rt_unlock();
  return status;
}

/* Marks the device lost, naming the oldest work of the stream, and lets go of everything it
 * held. */
static roc_status settle_lost(roc_rt_stream *stream, roc_error *err) {
  roc_rt_lock();
  const roc_rt_pending *work = stream->count ? &stream->ring[stream->first] : NULL;
  roc_status status = roc_rt_device_set_lost(stream->device, work, err);
  roc_rt_unlock();
  return status;
}

static roc_status wait_in_slices(roc_rt_stream *stream, roc_ticket ticket, bool can_interrupt,
                                 roc_error *err) {
  const roc_device_ops *ops = stream->driver->device->ops;
  bool is_done = ops->is_done(stream->driver, ticket);
  while (!is_done) {
    if (can_interrupt && atomic_exchange(&is_interrupted, false)) {
      if (ops->interrupt) ops->interrupt(stream->driver->device);
      return roc_fail(err, ROC_INTERRUPTED, "interrupted!");
    }
    ROC_TRY(ops->wait(stream->driver, ticket, WAIT_SLICE_NS, &is_done, err));
  }
  return ROC_OK;
}

roc_status roc_rt_stream_await(roc_rt_stream *stream, roc_ticket ticket, bool can_interrupt,
                               roc_error *err) {
  if (stream->driver->device->is_lost) return settle_lost(stream, err);
  roc_status status = wait_in_slices(stream, ticket, can_interrupt, err);
  if (status == ROC_LOST) return settle_lost(stream, err);
  ROC_TRY(status);
  roc_rt_lock();
  roc_rt_retire(stream);
  roc_rt_unlock();
  return ROC_OK;
}

roc_status roc_rt_stream_await_room(roc_rt_stream *stream, const roc_rt_launch *launch,
                                    roc_error *err) {
  const roc_device_ops *ops = stream->driver->device->ops;
  const roc_dev_module *module = launch ? launch->kernel->module : NULL;
  uint32_t nbytes = launch ? launch->kernarg_bytes : 0;
  roc_ticket ticket;
  while (ops->has_room && !ops->has_room(stream->driver, module, nbytes, &ticket)) {
    roc_rt_unlock();
    roc_status status = roc_rt_stream_await(stream, ticket, true, err);
    roc_rt_lock();
    ROC_TRY(status);
    ROC_TRY(roc_rt_device_check(stream->device, err));
  }
  return ROC_OK;
}

static roc_rt_fault *first_unreported(roc_rt_stream *stream) {
  for (uint32_t i = 0; i < stream->nfaults; i++) {
    if (!stream->faults[i]->is_reported) return stream->faults[i];
  }
  return NULL;
}

static roc_status report(roc_rt_fault *fault, roc_error *err) {
  if (!fault || fault->is_reported) return ROC_OK;
  fault->is_reported = true;
  return roc_fail(err, ROC_FAULT, "%s", fault->text);
}

bool roc_rt_stream_take_fault(roc_rt_stream *stream, roc_error *err) {
  return report(first_unreported(stream), err) == ROC_FAULT;
}

/* `is_launch`: the caller has launched it, and gets its fault even if that has been reported. */
static roc_status wait_and_report(roc_rt_stream *stream, roc_ticket ticket, bool is_launch,
                                  bool *out_failed, roc_error *err) {
  *out_failed = true; /* also when we cannot tell: nothing is copied back then */
  ROC_TRY(roc_rt_check_open(err));
  ROC_TRY(roc_rt_stream_await(stream, ticket, true, err));
  roc_rt_lock();
  roc_rt_fault *own = NULL;
  for (uint32_t i = 0; i < stream->nfaults; i++) {
    if (stream->faults[i]->first <= ticket && ticket <= stream->faults[i]->last) {
      own = stream->faults[i];
    }
  }
  *out_failed = own != NULL;
  roc_rt_fault *shown = own && !own->is_reported ? own : first_unreported(stream);
  roc_status status = report(shown, err);
  if (is_launch && own && status == ROC_OK) status = roc_fail(err, ROC_FAULT, "%s", own->text);
  roc_rt_unlock();
  return status;
}

roc_status roc_rt_stream_wait_launch(roc_rt_stream *stream, roc_ticket ticket, bool *out_failed,
                                     roc_error *err) {
  return wait_and_report(stream, ticket, true, out_failed, err);
}

roc_status roc_rt_stream_wait_ticket(roc_rt_stream *stream, roc_ticket ticket, roc_error *err) {
  bool failed;
  return wait_and_report(stream, ticket, false, &failed, err);
}

roc_ticket roc_rt_stream_last(roc_rt_stream *stream) {
  roc_rt_lock();
  roc_ticket ticket = stream->last_ticket;
  roc_rt_unlock();
  return ticket;
}

roc_status roc_rt_stream_settle(roc_rt_stream *stream, roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  return roc_rt_stream_await(stream, roc_rt_stream_last(stream), true, err);
}

roc_status roc_rt_stream_synchronize(roc_rt_stream *stream, roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  return roc_rt_stream_wait_ticket(stream, roc_rt_stream_last(stream), err);
}

roc_status roc_rt_device_transfer_stream(roc_rt_device *device, roc_rt_stream **out_stream,
                                         roc_error *err) {
  roc_rt_lock();
  *out_stream = device->transfer_stream;
  if (*out_stream) roc_rt_stream_retain(*out_stream);
  roc_rt_unlock();
  if (*out_stream) return ROC_OK;
  ROC_TRY(roc_rt_stream_create(device, out_stream, err));
  roc_rt_lock();
  bool is_first = !device->transfer_stream && !device->is_closing; /* else it serves this once */
  if (is_first) {
    device->transfer_stream = *out_stream;
    roc_rt_stream_retain(*out_stream);
  }
  roc_rt_unlock();
  return ROC_OK;
}

void roc_rt_post_fault(roc_rt_stream *stream, const char *text, roc_buffer *const *buffers,
                       uint32_t nbuffers) {
  if (roc_rt_in_child()) return;
  roc_rt_lock();
  roc_rt_fault *fault = roc_rt_fault_new(ROC_FAULT, stream->last_ticket, text);
  for (uint32_t i = 0; fault && i < nbuffers; i++) roc_buffer_set_fault(buffers[i], fault);
  if (fault) roc_rt_stream_add_fault(stream, fault);
  roc_rt_unlock();
}
