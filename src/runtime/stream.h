/* Streams: ordered queues of work on one device, with waits that can be interrupted, contained
 * faults and kernel prints.
 *
 * Reference-counted.  A launch's fault record and print buffer are looked at when a wait passes its
 * ticket: prints are queued for the Lua thread (roc_rt_take_print), the fault is kept by the stream
 * and every buffer the kernel uses and reported by the first wait that concerns one of them. */
#ifndef ROC_RUNTIME_STREAM_H
#define ROC_RUNTIME_STREAM_H

#include "base/status.h"
#include "base/str.h"
#include "runtime/array.h"
#include "runtime/device.h"

roc_status roc_rt_stream_create(roc_rt_device *device, roc_rt_stream **out_stream, roc_error *err);
void roc_rt_stream_retain(roc_rt_stream *stream);
void roc_rt_stream_release(roc_rt_stream *stream); /* never waits */
roc_rt_device *roc_rt_stream_device(const roc_rt_stream *stream);
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
 * roc_rt_interrupt was called. */
roc_status roc_rt_stream_synchronize(roc_rt_stream *stream, roc_error *err);
roc_status roc_rt_stream_wait_ticket(roc_rt_stream *stream, roc_ticket ticket, roc_error *err);
/* The same for one launch; *out_failed tells whether that very launch left a fault (or could not be
 * waited for), in which case nothing may be copied back.  FAULT may also report an earlier,
 * unreported fault of the stream. */
roc_status roc_rt_stream_wait_launch(roc_rt_stream *stream, roc_ticket ticket, bool *out_failed,
                                     roc_error *err);

/* Signal-safe: makes the wait in progress (or the next one) return INTERRUPTED. */
void roc_rt_interrupt(void);
/* Takes back an interrupt that no wait has seen; true if there was one.  Any thread. */
bool roc_rt_take_interrupt(void);

/* Lines printed by kernels whose waits have passed, oldest first.  False when there is none.  One
 * line without newline. */
bool roc_rt_take_print(roc_str *out_line);
bool roc_rt_has_print(void); /* no lock: one atomic load */

/* For kernels the host has run itself (sim): a line it printed, how many it printed beyond what a
 * launch keeps, and the fault it left on the stream and on the buffers it uses; given out by the
 * next waits like those of queued work. */
void roc_rt_post_print(const char *text, size_t len);
void roc_rt_post_lost_prints(uint32_t count);
void roc_rt_post_fault(roc_rt_stream *stream, const char *text, roc_buffer *const *buffers,
                       uint32_t nbuffers);

/* Queued copies between arrays of equal shape and dtype (checked); strided hosts are packed through
 * a staging block. */
roc_status roc_rt_copy(roc_rt_stream *stream, const roc_array *dst, const roc_array *src,
                       roc_error *err);
roc_status roc_rt_fill(roc_rt_stream *stream, const roc_array *dst, const void *element,
                       roc_error *err);

/* The same from the host's side: wait for the work that conflicts, do it apart from any queue, and
 * return when it is done.  FAULT, INTERRUPTED: of the waits; nothing is copied then. */
roc_status roc_rt_copy_now(const roc_array *dst, const roc_array *src, roc_error *err);
roc_status roc_rt_fill_now(const roc_array *dst, const void *element, roc_error *err);

#endif
