/* Copies between arrays, with mirrors brought up to date first; see stream.h. */
#include "runtime/array/transfer.h"
#include "runtime/core/internal.h"
#include "runtime/device.h"

static roc_status check_alike(const roc_array *dst, const roc_array *src, roc_error *err) {
  if (dst->dtype != src->dtype) {
    return roc_fail(err, ROC_INVALID, "cannot copy %s elements into an array of %s",
                    roc_dtype_name(src->dtype), roc_dtype_name(dst->dtype));
  }
  if (!roc_array_same_shape(dst, src)) {
    return roc_fail(err, ROC_INVALID, "cannot copy between arrays of different shapes");
  }
  return ROC_OK;
}

roc_status roc_rt_copy(roc_rt_stream *stream, const roc_array *dst, const roc_array *src,
                       roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  ROC_TRY(check_alike(dst, src, err));
  if (roc_array_size(dst) == 0) return ROC_OK;
  if (src->buffer->mirror) ROC_TRY(roc_mirror_settle(src->buffer, false, err));
  if (dst->buffer->mirror) ROC_TRY(roc_mirror_settle(dst->buffer, true, err));
  return roc_rt_transfer(stream, dst, src, err);
}

roc_status roc_rt_copy_now(roc_rt_session *session, const roc_array *dst, const roc_array *src,
                           roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  ROC_TRY(roc_rt_session_check(session, err));
  ROC_TRY(check_alike(dst, src, err));
  ROC_TRY(roc_buffer_wait(src->buffer, false, err));
  ROC_TRY(roc_buffer_wait(dst->buffer, true, err));
  return roc_rt_transfer_now(session, dst, src, err);
}

roc_status roc_rt_fill_now(roc_rt_session *session, const roc_array *dst, const void *element,
                           roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  ROC_TRY(roc_rt_session_check(session, err));
  ROC_TRY(roc_buffer_wait(dst->buffer, true, err));
  return roc_rt_transfer_fill_now(session, dst, element, err);
}
