/* Events: a place in a stream that other streams and the host can wait for, and the device time at
 * which the stream got there.
 *
 * Lives in its owner's storage and holds the stream it was recorded on.  One that was never
 * recorded is complete and makes no wait last; recording again forgets the earlier place. */
#ifndef ROC_RUNTIME_EVENT_H
#define ROC_RUNTIME_EVENT_H

#include "runtime/stream.h"

typedef struct roc_rt_event {
  roc_rt_stream *stream; /* retained; NULL: never recorded */
  roc_ticket ticket;
  roc_buffer *time; /* a uint64_t in ns, written when the stream gets there */
} roc_rt_event;

#define ROC_RT_EVENT_INIT ((roc_rt_event){NULL, 0, NULL})

void roc_rt_event_deinit(roc_rt_event *event); /* never waits; may be called again */
/* After everything queued on `stream` so far. On failure the event is as it was. */
roc_status roc_rt_event_record(roc_rt_event *event, roc_rt_stream *stream, roc_error *err);
roc_status roc_rt_event_query(const roc_rt_event *event, bool *out_done, roc_error *err);
/* Waits for the place. FAULT, INTERRUPTED: as for roc_rt_stream_synchronize. */
roc_status roc_rt_event_synchronize(const roc_rt_event *event, roc_error *err);
/* What is queued on `stream` from now on waits for the event as it is recorded now.  Does not wait
 * itself, unless the event is of another kind of device, whose work the driver cannot wait for. */
roc_status roc_rt_stream_wait_event(roc_rt_stream *stream, const roc_rt_event *event,
                                    roc_error *err);
/* Device time from one event to the other in milliseconds; waits for both. INVALID: one was never
 * recorded, or they are of different devices. */
roc_status roc_rt_event_elapsed(const roc_rt_event *first, const roc_rt_event *last, double *out_ms,
                                roc_error *err);

#endif
