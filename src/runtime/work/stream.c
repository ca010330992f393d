/* Streams: creation, interruptible waits, and reporting of contained faults.
 *
 * A wait sleeps in the driver without the runtime's lock, in slices, so that an interrupt set by a
 * signal handler is seen; only then does it take the lock and retire what has finished. */
#include "runtime/stream.h"

#include "base/alloc.h"
#include "runtime/core/internal.h"
#include "runtime/trace.h"

enum { WAIT_SLICE_NS = 20 * 1000 * 1000 };

/* The driver's stream: a new one, or one on the queue of another library. */
static roc_status open_driver(roc_device *driver, bool is_foreign, void *native,
                              roc_dev_stream **out_stream, roc_error *err) {
  if (!is_foreign) return driver->ops->stream_create(driver, out_stream, err);
  if (driver->ops->stream_adopt) return driver->ops->stream_adopt(driver, native, out_stream, err);
  return roc_fail(err, ROC_UNSUPPORTED, "device '%s' has no queues of other libraries",
                  driver->props.name);
}

/* Lock held. */
static roc_status create_locked(roc_rt_session *session, roc_rt_device *device, bool is_foreign,
                                void *native, roc_rt_stream **out_stream, roc_error *err) {
  ROC_TRY(roc_rt_session_check(session, err));
  ROC_TRY(roc_rt_device_check(device, err));
  roc_rt_stream *stream = roc_zalloc(sizeof *stream);
  if (!stream) return roc_fail(err, ROC_OOM, "out of memory: no room for a stream");
  roc_status status = open_driver(device->driver, is_foreign, native, &stream->driver, err);
  if (status != ROC_OK) {
    roc_free(stream);
    return status;
  }
  atomic_init(&stream->refs, 1);
  stream->session = session;
  stream->device = device;
  stream->next = device->streams;
  device->streams = stream;
  device->live++;
  roc_rt_session_retain(session);
  *out_stream = stream;
  return ROC_OK;
}

/* Lock held. */
static roc_status need_default(roc_rt_session *session, roc_rt_device *device,
                               roc_rt_stream **out_stream, roc_error *err) {
  roc_rt_stream *stream = session->default_streams[device->index];
  if (!stream) {
    ROC_TRY(create_locked(session, device, false, NULL, &stream, err));
    atomic_store_explicit(&session->default_streams[device->index], stream, memory_order_release);
  }
  *out_stream = stream;
  return ROC_OK;
}

roc_rt_stream *roc_rt_session_peek_stream(const roc_rt_session *session,
                                          const roc_rt_device *device) {
  return atomic_load_explicit(&session->default_streams[device->index], memory_order_acquire);
}

roc_status roc_rt_session_stream(roc_rt_session *session, roc_rt_device *device,
                                 roc_rt_stream **out_stream, roc_error *err) {
  *out_stream = roc_rt_session_peek_stream(session, device);
  if (*out_stream) return ROC_OK;
  ROC_TRY(roc_rt_check_open(err));
  roc_rt_lock();
  roc_status status = need_default(session, device, out_stream, err);
  roc_rt_unlock();
  return status;
}

/* The default stream comes first: it inherits what others leave. */
static roc_status create(roc_rt_session *session, roc_rt_device *device, bool is_foreign,
                         void *native, roc_rt_stream **out_stream, roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  roc_rt_stream *heir;
  roc_rt_lock();
  roc_status status = need_default(session, device, &heir, err);
  if (status == ROC_OK) {
    status = create_locked(session, device, is_foreign, native, out_stream, err);
  }
  roc_rt_unlock();
  return status;
}

roc_status roc_rt_stream_create(roc_rt_session *session, roc_rt_device *device,
                                roc_rt_stream **out_stream, roc_error *err) {
  return create(session, device, false, NULL, out_stream, err);
}

roc_status roc_rt_stream_adopt(roc_rt_session *session, roc_rt_device *device, void *native,
                               roc_rt_stream **out_stream, roc_error *err) {
  return create(session, device, true, native, out_stream, err);
}

static bool is_idle(roc_rt_stream *stream) {
  roc_rt_retire(stream);
  return stream->count == 0 &&
         stream->driver->device->ops->is_done(stream->driver, stream->last_ticket);
}

roc_status roc_rt_own_stream(roc_rt_session *session, roc_rt_device *device,
                             roc_rt_stream **out_stream, roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  ROC_TRY(roc_rt_session_stream(session, device, out_stream, err));
  roc_rt_lock();
  roc_status status = roc_rt_stream_check(*out_stream, err);
  bool is_own = status == ROC_OK && is_idle(*out_stream);
  if (is_own) roc_rt_stream_retain(*out_stream);
  roc_rt_unlock();
  if (status != ROC_OK || is_own) return status;
  return roc_rt_transfer_stream(session, device, out_stream, err);
}

/* The stream at `own`, made on first need, retained. */
static roc_status need_own(roc_rt_session *session, roc_rt_device *device, bool is_foreign,
                           void *native, roc_rt_stream **own, roc_rt_stream **out_stream,
                           roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  roc_rt_lock();
  roc_status status = *own ? ROC_OK : create_locked(session, device, is_foreign, native, own, err);
  if (status == ROC_OK) {
    *out_stream = *own;
    roc_rt_stream_retain(*own);
  }
  roc_rt_unlock();
  return status;
}

roc_status roc_rt_transfer_stream(roc_rt_session *session, roc_rt_device *device,
                                  roc_rt_stream **out_stream, roc_error *err) {
  roc_rt_stream **own = &session->transfer_streams[device->index];
  return need_own(session, device, false, NULL, own, out_stream, err);
}

roc_status roc_rt_library_stream(roc_rt_session *session, roc_rt_device *device, void *queue,
                                 roc_rt_stream **out_stream, roc_error *err) {
  roc_rt_stream **own = &session->library_streams[device->index];
  return need_own(session, device, true, queue, own, out_stream, err);
}

void roc_rt_stream_retain(roc_rt_stream *stream) {
  atomic_fetch_add_explicit(&stream->refs, 1, memory_order_relaxed);
}

void roc_rt_stream_release_locked(roc_rt_stream *stream) {
  if (atomic_fetch_sub(&stream->refs, 1) == 1) roc_rt_device_poll(stream->device);
}

void roc_rt_stream_release(roc_rt_stream *stream) {
  if (!stream || roc_rt_in_child()) return;
  roc_rt_lock();
  roc_rt_stream_release_locked(stream);
  roc_rt_unlock();
}

roc_rt_session *roc_rt_stream_session(const roc_rt_stream *stream) {
  return stream->session;
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
    bool is_done = driver->ops->is_done(stream->driver, ticket);
    if (!is_done && driver->ops->watch) driver->ops->watch(driver);
    *out_done = is_done;
    status = roc_rt_device_check(stream->device, err); /* last: see roc_rt_stream_await */
  }
  if (status == ROC_OK) roc_rt_retire(stream);
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

/* Ends the kernels of the stream's session on its device, where the device can. */
static void interrupt_kernels(const roc_rt_stream *stream) {
  const roc_device_ops *ops = stream->driver->device->ops;
  if (!ops->interrupt) return;
  roc_rt_lock();
  for (roc_rt_stream *s = stream->device->streams; s; s = s->next) {
    if (s->session == stream->session) ops->interrupt(s->driver);
  }
  roc_rt_unlock();
}

static roc_status wait_in_slices(roc_rt_stream *stream, roc_ticket ticket, roc_rt_session *waiter,
                                 roc_error *err) {
  const roc_device_ops *ops = stream->driver->device->ops;
  bool is_done = ops->is_done(stream->driver, ticket);
  while (!is_done) {
    if (roc_rt_take_interrupt(waiter)) {
      interrupt_kernels(stream);
      return roc_fail(err, ROC_INTERRUPTED, "interrupted!");
    }
    ROC_TRY(ops->wait(stream->driver, ticket, WAIT_SLICE_NS, &is_done, err));
  }
  return ROC_OK;
}

roc_status roc_rt_stream_await(roc_rt_stream *stream, roc_ticket ticket, roc_rt_session *waiter,
                               roc_error *err) {
  if (stream->driver->device->is_lost) return settle_lost(stream, err);
  const roc_device_ops *ops = stream->driver->device->ops;
  bool is_traced = roc_rt_is_traced() && !ops->is_done(stream->driver, ticket);
  uint64_t begin_ns = is_traced ? roc_clock_ns() : 0;
  roc_status status = wait_in_slices(stream, ticket, waiter, err);
  if (is_traced) {
    roc_rt_trace_host(ROC_TRACE_WAIT, stream->driver->device->props.name, begin_ns, 0);
  }
  if (status == ROC_LOST) return settle_lost(stream, err);
  ROC_TRY(status);
  /* Of a device that is lost the driver gives up what was queued, and it looks done then. */
  if (stream->driver->device->is_lost) return settle_lost(stream, err);
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
    roc_status status = roc_rt_stream_await(stream, ticket, stream->session, err);
    roc_rt_lock();
    ROC_TRY(status);
    ROC_TRY(roc_rt_stream_check(stream, err));
  }
  return ROC_OK;
}

void roc_rt_session_release(roc_rt_session *session) {
  if (!session || roc_rt_in_child()) return;
  atomic_store(&session->key, NULL);
  roc_rt_lock();
  session->has_user = false;
  roc_rt_drop_prints(session);
  for (uint32_t i = 0; i < ROC_RT_MAX_DEVICES; i++) {
    roc_rt_stream *own[] = {atomic_exchange(&session->default_streams[i], NULL),
                            session->transfer_streams[i], session->library_streams[i]};
    session->transfer_streams[i] = session->library_streams[i] = NULL;
    for (int k = 0; k < 3; k++) {
      if (own[k]) roc_rt_stream_release_locked(own[k]);
    }
  }
  roc_rt_session_drop(session);
  roc_rt_unlock();
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
  ROC_TRY(roc_rt_stream_await(stream, ticket, stream->session, err));
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

roc_status roc_rt_stream_await_last(roc_rt_stream *stream, roc_error *err) {
  roc_ticket ticket = roc_rt_stream_last(stream);
  ROC_TRY(roc_rt_stream_await(stream, ticket, stream->session, err));
  roc_status status = ROC_OK;
  roc_rt_lock();
  for (uint32_t i = 0; i < stream->nfaults && status == ROC_OK; i++) {
    roc_rt_fault *fault = stream->faults[i];
    if (fault->first <= ticket && ticket <= fault->last) status = report(fault, err);
  }
  roc_rt_unlock();
  return status;
}

roc_ticket roc_rt_stream_last(roc_rt_stream *stream) {
  roc_rt_lock();
  roc_ticket ticket = stream->last_ticket;
  roc_rt_unlock();
  return ticket;
}

roc_status roc_rt_stream_settle(roc_rt_stream *stream, roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  return roc_rt_stream_await(stream, roc_rt_stream_last(stream), stream->session, err);
}

roc_status roc_rt_stream_synchronize(roc_rt_stream *stream, roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  return roc_rt_stream_wait_ticket(stream, roc_rt_stream_last(stream), err);
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
