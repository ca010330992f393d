/* Queueing launches; see launch.h. */
#include "runtime/launch.h"

#include "device/common/common.h"
#include "runtime/core/internal.h"
#include "runtime/trace/trace.h"

roc_status roc_rt_fail_read_only_use(const char *kernel, roc_error *err) {
  return roc_fail(err, ROC_INVALID,
                  "kernel '%s' writes to an array whose memory is read-only: pass a copy of it",
                  kernel);
}

static roc_status reserve_uses(roc_rt_stream *stream, const roc_rt_launch *launch, roc_error *err) {
  roc_status status = roc_rt_reserve_uses(stream, launch->uses, launch->nuses, err);
  return status == ROC_INVALID ? roc_rt_fail_read_only_use(launch->kernel->name, err) : status;
}

static roc_status fail_queue_oom(const roc_rt_launch *launch, roc_error *err) {
  return roc_fail(err, ROC_OOM, "out of memory: kernel '%s' cannot be queued",
                  launch->kernel->name);
}

/* Hands the launch to the driver; everything that can fail for want of memory has happened. */
static roc_status submit_plain(roc_rt_stream *stream, const roc_rt_launch *launch,
                               roc_rt_pending *pending, roc_ticket *out_ticket, roc_error *err) {
  roc_dev_launch work = {
      .module = launch->kernel->module,
      .kernarg = launch->kernarg,
      .kernarg_bytes = launch->kernarg_bytes,
      .range = launch->range,
      .name = launch->kernel->name,
      .file = launch->file,
      .line = launch->line,
      .fault = pending->record,
      .print = pending->print,
  };
  return stream->driver->device->ops->launch(stream->driver, &work, out_ticket, err);
}

static roc_status submit_traced(roc_rt_stream *stream, const roc_rt_launch *launch,
                                roc_rt_pending *pending, roc_ticket *out_ticket, roc_error *err) {
  roc_rt_trace_span *span = roc_rt_trace_begin(stream, ROC_TRACE_LAUNCH, launch->kernel->name);
  roc_rt_trace_describe_launch(span, launch->range, launch->file, launch->line);
  roc_status status = submit_plain(stream, launch, pending, out_ticket, err);
  roc_rt_trace_end(stream, span, status == ROC_OK);
  return status;
}

static roc_status submit(roc_rt_stream *stream, const roc_rt_launch *launch,
                         roc_rt_pending *pending, roc_ticket *out_ticket, roc_error *err) {
  return (roc_rt_is_traced() ? submit_traced : submit_plain)(stream, launch, pending, out_ticket,
                                                             err);
}

static roc_status queue_locked(roc_rt_stream *stream, const roc_rt_launch *launch,
                               roc_ticket *out_ticket, roc_error *err) {
  roc_rt_device *device = stream->device;
  ROC_TRY(roc_rt_stream_check(stream, err));
  ROC_TRY(roc_rt_stream_await_room(stream, launch, err));
  ROC_TRY(reserve_uses(stream, launch, err));
  roc_rt_pending *pending = roc_rt_pending_begin(stream, launch->nuses);
  if (!pending) return fail_queue_oom(launch, err);
  const roc_codeobj *object = launch->kernel->object;
  roc_status status = ROC_OK;
  if (object->has_fault || object->has_print) {
    status = roc_rt_records_take(device, object, pending, err);
  }
  if (status == ROC_OK) status = submit(stream, launch, pending, out_ticket, err);
  if (status != ROC_OK) {
    roc_rt_records_give_back(device, pending);
    roc_rt_pending_abort(pending);
    return status == ROC_LOST ? roc_rt_device_set_lost(device, NULL, err) : status;
  }
  pending->kernel = launch->kernel;
  pending->file = launch->file;
  pending->line = launch->line;
  pending->rank = launch->range->rank;
  roc_rt_pending_commit(stream, pending, *out_ticket, launch->uses, launch->nuses);
  if (launch->is_ordered) roc_rt_set_ordered(stream, launch->uses, launch->nuses);
  roc_rt_retire_before(stream, *out_ticket);
  return ROC_OK;
}

roc_status roc_rt_launch_check(roc_rt_device *device, const roc_ndrange *range, roc_error *err) {
  return roc_device_check_range(&device->driver->props, range, 0, err);
}

roc_status roc_rt_launch_queue(roc_rt_stream *stream, const roc_rt_launch *launch,
                               roc_ticket *out_ticket, roc_error *err) {
  *out_ticket = 0;
  ROC_TRY(roc_rt_check_open(err));
  const roc_codeobj *object = launch->kernel->object;
  ROC_TRY(roc_device_check_range(&stream->driver->device->props, launch->range,
                                 object->shared_bytes, err));
  if (roc_ndrange_is_empty(launch->range)) return ROC_OK;
  roc_rt_note_writes(stream, launch->uses, launch->nuses);
  ROC_TRY(roc_rt_stream_follow(stream, launch->uses, launch->nuses, launch->is_ordered, err));
  roc_rt_lock();
  roc_status status = queue_locked(stream, launch, out_ticket, err);
  roc_rt_unlock();
  return status;
}

bool roc_rt_launch_at_once(const roc_rt_kernel *kernel, const void *kernarg,
                           const roc_ndrange *range) {
  roc_device *driver = kernel->device->driver;
  const roc_codeobj *object = kernel->object;
  if (!driver->ops->run_at_once || object->has_fault || object->has_print) return false;
  bool is_well = !atomic_load_explicit(&driver->is_lost, memory_order_relaxed);
  if (!is_well || roc_rt_is_traced() || roc_rt_check_open(NULL) != ROC_OK) return false;
  roc_dev_launch work = {.module = kernel->module,
                         .kernarg = kernarg,
                         .kernarg_bytes = object->kernarg_bytes,
                         .range = range};
  return driver->ops->run_at_once(driver, &work);
}
