/* Waiting for the work that uses a buffer, and reporting its fault. */
#include "runtime/core/internal.h"

roc_status roc_buffer_await(roc_buffer *buffer, bool for_write, roc_error *err) {
  if (roc_rt_in_child()) return ROC_OK; /* no device works on it there */
  while (roc_buffer_count_uses(buffer) > 0) {
    roc_ticket ticket = 0;
    roc_rt_lock();
    roc_rt_stream *stream = roc_buffer_find_conflict(buffer, for_write, &ticket);
    roc_rt_unlock();
    if (!stream) break;
    roc_status status = roc_rt_stream_await(stream, ticket, stream->session, err);
    roc_rt_stream_release(stream);
    ROC_TRY(status);
  }
  return ROC_OK;
}

roc_status roc_buffer_report(roc_buffer *buffer, roc_error *err) {
  if (!atomic_load_explicit(&buffer->fault, memory_order_relaxed)) return ROC_OK;
  roc_status status = ROC_OK;
  roc_rt_lock();
  roc_rt_fault *fault = atomic_load_explicit(&buffer->fault, memory_order_relaxed);
  if (fault) {
    if (!fault->is_reported) status = roc_fail(err, fault->code, "%s", fault->text);
    fault->is_reported = fault->code == ROC_FAULT;
    atomic_store_explicit(&buffer->fault, NULL, memory_order_relaxed);
    roc_rt_fault_release(fault);
  }
  roc_rt_unlock();
  return status;
}

roc_status roc_buffer_settle(roc_buffer *buffer, bool for_write, roc_error *err) {
  ROC_TRY(roc_buffer_await(buffer, for_write, err));
  return roc_buffer_report(buffer, err);
}
