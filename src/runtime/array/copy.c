/* Copies between arrays, with mirrors brought up to date first; see stream.h. */
#include <string.h>

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
  roc_status status;
  bool is_free = !roc_buffer_is_busy(dst->buffer, true);
  if (is_free && roc_rt_transfer_after_writer(session, dst, src, &status, err)) return status;
  ROC_TRY(roc_buffer_wait(src->buffer, false, err));
  ROC_TRY(roc_buffer_wait(dst->buffer, true, err));
  return roc_rt_transfer_now(session, dst, src, err);
}

static roc_status duplicate_host(const roc_buffer *buffer, size_t begin, size_t nbytes,
                                 roc_buffer **out_buffer, roc_error *err) {
  ROC_TRY(roc_buffer_create_host(nbytes, false, out_buffer, err));
  memcpy(roc_buffer_host(*out_buffer), (char *)roc_buffer_host(buffer) + begin, nbytes);
  return ROC_OK;
}

static roc_status duplicate_on(roc_rt_stream *stream, roc_buffer *buffer, size_t begin,
                               size_t nbytes, roc_buffer **out_buffer, roc_error *err) {
  ROC_TRY(roc_buffer_create_device(buffer->device, nbytes, out_buffer, err));
  if (nbytes == 0) return ROC_OK;
  roc_status status = roc_rt_transfer_ordered(stream, *out_buffer, buffer, begin, err);
  if (status != ROC_OK) roc_buffer_release(*out_buffer);
  return status;
}

roc_status roc_buffer_duplicate(roc_buffer *buffer, size_t begin, size_t nbytes,
                                roc_rt_stream *stream, roc_rt_session *session,
                                roc_buffer **out_buffer, roc_error *err) {
  if (!buffer->device) return duplicate_host(buffer, begin, nbytes, out_buffer, err);
  if (stream && stream->device == buffer->device) {
    return duplicate_on(stream, buffer, begin, nbytes, out_buffer, err);
  }
  ROC_TRY(roc_rt_own_stream(session, buffer->device, &stream, err));
  roc_status status = duplicate_on(stream, buffer, begin, nbytes, out_buffer, err);
  roc_rt_stream_release(stream);
  return status;
}

roc_status roc_rt_fill_now(roc_rt_session *session, const roc_array *dst, const void *element,
                           roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  ROC_TRY(roc_rt_session_check(session, err));
  ROC_TRY(roc_buffer_wait(dst->buffer, true, err));
  return roc_rt_transfer_fill_now(session, dst, element, err);
}
