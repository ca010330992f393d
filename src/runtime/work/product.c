/* Queueing products by a library of the device's vendor; see product.h.
 *
 * The library may compile and wait, so it is called without the runtime's lock, on its own queue:
 * what the product uses is noted afterwards, as of work that another library has queued. */
#include "runtime/product.h"

#include "runtime/core/internal.h"

enum { NUSES = 3 };

static roc_status open_library(roc_rt_device *device, const char **out_name, void **out_queue,
                               roc_error *err) {
  const roc_device_ops *ops = device->driver->ops;
  if (ops->library_open) return ops->library_open(device->driver, out_name, out_queue, err);
  return roc_fail(err, ROC_UNAVAILABLE,
                  "roc.linalg uses no library on %s devices; copy the arrays to the host",
                  device->driver->kind);
}

roc_status roc_rt_product_library(roc_rt_device *device, const char **out_name, roc_error *err) {
  void *queue;
  ROC_TRY(roc_rt_check_open(err));
  return open_library(device, out_name, &queue, err);
}

static roc_status prepare_locked(roc_rt_stream *stream, roc_error *err) {
  ROC_TRY(roc_rt_stream_check(stream, err));
  return roc_rt_stream_await_room(stream, NULL, err);
}

/* Lock held. */
static roc_status note_locked(roc_rt_stream *stream, roc_ticket ticket, const roc_rt_use *uses,
                              roc_error *err) {
  ROC_TRY(roc_rt_reserve_uses(stream, uses, NUSES, err));
  roc_rt_pending *pending = roc_rt_pending_begin(stream, NUSES);
  if (!pending) return roc_fail(err, ROC_OOM, "out of memory: a product cannot be queued");
  roc_rt_pending_commit(stream, pending, ticket, uses, NUSES);
  roc_rt_set_ordered(stream, uses, NUSES);
  roc_rt_retire_before(stream, ticket);
  return ROC_OK;
}

/* Work that is not noted must be over before its memory goes. */
static roc_status submit(roc_rt_stream *stream, const roc_dev_product *product,
                         const roc_rt_use *uses, roc_error *err) {
  const roc_device_ops *ops = stream->driver->device->ops;
  roc_ticket ticket;
  roc_rt_lock();
  roc_status status = prepare_locked(stream, err);
  roc_rt_unlock();
  ROC_TRY(status);
  status = ops->multiply(stream->driver, product, &ticket, err);
  roc_rt_lock();
  if (status == ROC_LOST) {
    status = roc_rt_device_set_lost(stream->device, NULL, err);
  } else if (status == ROC_OK) {
    status = note_locked(stream, ticket, uses, err);
  }
  roc_rt_unlock();
  bool is_noted = status == ROC_OK || status == ROC_LOST;
  while (!is_noted &&
         roc_rt_stream_await(stream, ticket, stream->session, NULL) == ROC_INTERRUPTED) {
  }
  return status;
}

roc_status roc_rt_product_queue(roc_rt_session *session, roc_rt_device *device,
                                const roc_dev_product *product, const roc_rt_use uses[3],
                                roc_error *err) {
  const char *name;
  void *queue;
  roc_rt_stream *stream;
  ROC_TRY(roc_rt_check_open(err));
  ROC_TRY(open_library(device, &name, &queue, err));
  ROC_TRY(roc_rt_library_stream(session, device, queue, &stream, err));
  roc_rt_note_writes(stream, uses, NUSES);
  roc_status status = roc_rt_stream_follow(stream, uses, NUSES, true, err);
  if (status == ROC_OK) status = submit(stream, product, uses, err);
  roc_rt_stream_release(stream);
  return status;
}
