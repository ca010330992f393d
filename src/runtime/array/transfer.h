/* Copies and fills between arrays whose memory is up to date: those of copy.c, without a look at
 * mirrors.
 *
 * The arrays of a copy have one shape and one dtype. */
#ifndef ROC_RUNTIME_ARRAY_TRANSFER_H
#define ROC_RUNTIME_ARRAY_TRANSFER_H

#include "runtime/array.h"
#include "runtime/stream.h"

/* Queues the copy. */
roc_status roc_rt_transfer(roc_rt_stream *stream, const roc_array *dst, const roc_array *src,
                           roc_error *err);
/* Fills device memory with bytes of other memory of the device, from `begin` on, as ordered work (see
 * launch.h). */
roc_status roc_rt_transfer_ordered(roc_rt_stream *stream, roc_buffer *dst, roc_buffer *src,
                                   size_t begin, roc_error *err);
/* Copies and fills apart from any stream of the caller, after the work that conflicts is done; end
 * when the elements are there. */
roc_status roc_rt_transfer_now(roc_rt_session *session, const roc_array *dst, const roc_array *src,
                               roc_error *err);
roc_status roc_rt_transfer_fill_now(roc_rt_session *session, const roc_array *dst,
                                    const void *element, roc_error *err);

/* A few bytes of device memory for host memory that no work uses, after the work that writes them,
 * where that is the last of its stream: one wait for both.  False: it is another copy. */
bool roc_rt_transfer_after_writer(roc_rt_session *session, const roc_array *dst,
                                  const roc_array *src, roc_status *out_status, roc_error *err);

#endif
