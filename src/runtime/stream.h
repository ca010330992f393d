/* Streams: ordered queues of work on one device, with waits that can be interrupted, contained
 * faults and kernel prints.
 *
 * Reference-counted.  A launch's fault record and print buffer are looked at when a wait passes its
 * ticket: prints are queued for the session's user (roc_rt_take_print), the fault is kept by the stream
 * and every buffer the kernel uses and reported by the first wait that concerns one of them. */
#ifndef ROC_RUNTIME_STREAM_H
#define ROC_RUNTIME_STREAM_H

#include "base/status.h"
#include "base/str.h"
#include "runtime/array.h"
#include "runtime/device.h"
#include "runtime/session.h"

/* OOM, LOST, CLOSED. */
roc_status roc_rt_stream_create(roc_rt_session *session, roc_rt_device *device,
                                roc_rt_stream **out_stream, roc_error *err);
/* A stream on the queue of another library, a CUstream (NULL: the legacy default one) or an
 * hsa_queue_t: it stays that library's, which goes on using it, and open until the stream is released
 * and its work done.  INVALID: it is none; UNSUPPORTED: the device has no such queues. */
roc_status roc_rt_stream_adopt(roc_rt_session *session, roc_rt_device *device, void *native,
                               roc_rt_stream **out_stream, roc_error *err);
/* The session's stream for work on the device that waits for no unrelated work of its other streams,
 * retained: its default stream while nothing is queued on that.  OOM, LOST, CLOSED. */
roc_status roc_rt_own_stream(roc_rt_session *session, roc_rt_device *device,
                             roc_rt_stream **out_stream, roc_error *err);
void roc_rt_stream_retain(roc_rt_stream *stream);
void roc_rt_stream_release(roc_rt_stream *stream); /* never waits */
roc_rt_device *roc_rt_stream_device(const roc_rt_stream *stream);
roc_rt_session *roc_rt_stream_session(const roc_rt_stream *stream); /* borrowed: the stream's */
/* The ticket of the work queued last, waits for events included. */
roc_ticket roc_rt_stream_last(roc_rt_stream *stream);
/* Whether nothing up to `ticket` is still to come; of a lost or closed device nothing is. */
bool roc_rt_stream_is_done(roc_rt_stream *stream, roc_ticket ticket);
/* The same, and takes note of what has finished (prints, faults). LOST, CLOSED. */
roc_status roc_rt_stream_query(roc_rt_stream *stream, roc_ticket ticket, bool *out_done,
                               roc_error *err);
/* Waits for all queued so far and reports no fault: it stays for the next wait.  INTERRUPTED. */
roc_status roc_rt_stream_settle(roc_rt_stream *stream, roc_error *err);
/* Waits for all queued so far. FAULT: a contained error, reported once. INTERRUPTED:
 * by an interrupt of the stream's session. */
roc_status roc_rt_stream_synchronize(roc_rt_stream *stream, roc_error *err);
roc_status roc_rt_stream_wait_ticket(roc_rt_stream *stream, roc_ticket ticket, roc_error *err);
/* The same for one launch; *out_failed tells whether that very launch left a fault (or could not be
 * waited for), in which case nothing may be copied back.  FAULT may also report an earlier,
 * unreported fault of the stream. */
roc_status roc_rt_stream_wait_launch(roc_rt_stream *stream, roc_ticket ticket, bool *out_failed,
                                     roc_error *err);

/* What others have queued on the stream's queue so far writes the buffer: later waits for the buffer
 * and work on the stream come after it.  OOM, LOST, CLOSED. */
roc_status roc_rt_stream_note_write(roc_rt_stream *stream, roc_buffer *buffer, roc_error *err);
/* What is queued on the stream from now on, by others too, comes after the queued work that uses the
 * buffer (for_write: all of it; else what writes it).  Does not wait itself, unless that work is on
 * another kind of device.  OOM, LOST, CLOSED. */
roc_status roc_rt_stream_wait_buffer(roc_rt_stream *stream, roc_buffer *buffer, bool for_write,
                                     roc_error *err);

/* For kernels the host has run itself (sim): the fault one left on the stream and on the buffers it
 * uses; given out by the next waits like those of queued work. */
void roc_rt_post_fault(roc_rt_stream *stream, const char *text, roc_buffer *const *buffers,
                       uint32_t nbuffers);

/* Queued copies between arrays of equal shape and dtype (checked); strided hosts are packed through
 * a staging block. */
roc_status roc_rt_copy(roc_rt_stream *stream, const roc_array *dst, const roc_array *src,
                       roc_error *err);
roc_status roc_rt_fill(roc_rt_stream *stream, const roc_array *dst, const void *element,
                       roc_error *err);

/* The same from the host's side, as work of the session: wait for the work that conflicts, do it apart from any queue, and
 * return when it is done.  FAULT, INTERRUPTED: of the waits; nothing is copied then. */
roc_status roc_rt_copy_now(roc_rt_session *session, const roc_array *dst, const roc_array *src,
                           roc_error *err);
roc_status roc_rt_fill_now(roc_rt_session *session, const roc_array *dst, const void *element,
                           roc_error *err);

#endif
