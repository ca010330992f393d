/* Queueing products and factors by a library of the device's vendor; see product.h.
 *
 * The library may compile and wait, so it is called without the runtime's lock, on its own queue:
 * what the work uses is noted afterwards, as of work that another library has queued. */
#include "runtime/product.h"

#include "runtime/core/internal.h"

/* What is queued: a product, or (NULL) a factorisation. */
typedef struct work {
  const roc_dev_product *product;
  const roc_dev_factoring *factoring;
  const roc_rt_use *uses;
  uint32_t nuses;
} work;

static roc_status open_library(roc_rt_device *device, bool is_solver, const char **out_name,
                               void **out_queue, roc_error *err) {
  const roc_device_ops *ops = device->driver->ops;
  roc_status (*open)(roc_device *, const char **, void **, roc_error *) =
      is_solver ? ops->solver_open : ops->library_open;
  if (open) return open(device->driver, out_name, out_queue, err);
  return roc_fail(err, ROC_UNAVAILABLE,
                  "roc.linalg uses no library on %s devices; copy the arrays to the host",
                  device->driver->kind);
}

roc_status roc_rt_product_library(roc_rt_device *device, const char **out_name, roc_error *err) {
  void *queue;
  ROC_TRY(roc_rt_check_open(err));
  return open_library(device, false, out_name, &queue, err);
}

roc_status roc_rt_solver_library(roc_rt_device *device, const char **out_name, roc_error *err) {
  void *queue;
  ROC_TRY(roc_rt_check_open(err));
  return open_library(device, true, out_name, &queue, err);
}

static roc_status prepare_locked(roc_rt_stream *stream, roc_error *err) {
  ROC_TRY(roc_rt_stream_check(stream, err));
  return roc_rt_stream_await_room(stream, NULL, err);
}

/* Lock held. */
static roc_status note_locked(roc_rt_stream *stream, roc_ticket ticket, const work *w,
                              roc_error *err) {
  ROC_TRY(roc_rt_reserve_uses(stream, w->uses, w->nuses, err));
  roc_rt_pending *pending = roc_rt_pending_begin(stream, w->nuses);
  if (!pending) return roc_fail(err, ROC_OOM, "out of memory: a library's work cannot be queued");
  roc_rt_pending_commit(stream, pending, ticket, w->uses, w->nuses);
  roc_rt_set_ordered(stream, w->uses, w->nuses);
  roc_rt_retire_before(stream, ticket);
  return ROC_OK;
}

/* Work that is not noted must be over before its memory goes. */
static roc_status submit(roc_rt_stream *stream, const work *w, roc_error *err) {
  const roc_device_ops *ops = stream->driver->device->ops;
  roc_ticket ticket;
  roc_rt_lock();
  roc_status status = prepare_locked(stream, err);
  roc_rt_unlock();
  ROC_TRY(status);
  status = w->product ? ops->multiply(stream->driver, w->product, &ticket, err)
                      : ops->factor(stream->driver, w->factoring, &ticket, err);
  roc_rt_lock();
  if (status == ROC_LOST) {
    status = roc_rt_device_set_lost(stream->device, NULL, err);
  } else if (status == ROC_OK) {
    status = note_locked(stream, ticket, w, err);
  }
  roc_rt_unlock();
  bool is_noted = status == ROC_OK || status == ROC_LOST;
  while (!is_noted &&
         roc_rt_stream_await(stream, ticket, stream->session, NULL) == ROC_INTERRUPTED) {
  }
  return status;
}

static roc_status queue_work(roc_rt_session *session, roc_rt_device *device, const work *w,
                             roc_error *err) {
  const char *name;
  void *queue;
  roc_rt_stream *stream;
  ROC_TRY(roc_rt_check_open(err));
  ROC_TRY(open_library(device, !w->product, &name, &queue, err));
  ROC_TRY(roc_rt_library_stream(session, device, queue, &stream, err));
  roc_rt_note_writes(stream, w->uses, w->nuses);
  roc_status status = roc_rt_stream_follow(stream, w->uses, w->nuses, true, err);
  if (status == ROC_OK) status = submit(stream, w, err);
  roc_rt_stream_release(stream);
  return status;
}

roc_status roc_rt_product_queue(roc_rt_session *session, roc_rt_device *device,
                                const roc_dev_product *product, const roc_rt_use uses[3],
                                roc_error *err) {
  work w = {.product = product, .uses = uses, .nuses = 3};
  return queue_work(session, device, &w, err);
}

roc_status roc_rt_factoring_size(roc_rt_device *device, const roc_dev_factoring *factoring,
                                 int64_t *out_size, roc_error *err) {
  const char *name;
  ROC_TRY(roc_rt_solver_library(device, &name, err));
  return device->driver->ops->factoring_size(device->driver, factoring, out_size, err);
}

roc_status roc_rt_factoring_queue(roc_rt_session *session, roc_rt_device *device,
                                  const roc_dev_factoring *factoring, const roc_rt_use *uses,
                                  uint32_t nuses, roc_error *err) {
  work w = {.factoring = factoring, .uses = uses, .nuses = nuses};
  return queue_work(session, device, &w, err);
}
