/* The timeline of a process: what streams did, by the device's clock, and what the host did for
 * them, by its own.
 *
 * While it is off each place that would record tests one flag.  While it is on a piece of queued
 * work takes a stamp after it (roc_device_ops.stamp), and one before it where the stream is not
 * known to be busy up to then; nothing waits.  One timeline at a time: that of ROCLUA_TRACE and
 * ROCLUA_PROFILE, which begins with the first look for devices and ends with the process, or that of
 * roc_rt_trace_start. */
#ifndef ROC_RUNTIME_TRACE_H
#define ROC_RUNTIME_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/ndrange.h"
#include "base/status.h"
#include "base/str.h"
#include "runtime/stream.h"

typedef enum roc_rt_trace_kind {
#define ROC_TRACE_KIND(name, text) ROC_TRACE_##name,
#include "runtime/trace/kinds.def"
#undef ROC_TRACE_KIND
  ROC_TRACE_COUNT_
} roc_rt_trace_kind;

extern _Atomic bool roc_rt_trace_flag;

static inline bool roc_rt_is_traced(void) {
  return __builtin_expect(atomic_load_explicit(&roc_rt_trace_flag, memory_order_relaxed), 0);
}

/* Begins a timeline.  INVALID: there is one; OOM. */
roc_status roc_rt_trace_start(roc_error *err);
/* Ends it; `path`, when not NULL, gets the events as JSON, in the form that Perfetto and
 * chrome://tracing read.  Work that is not complete by now is left out.  IO, OOM. */
roc_status roc_rt_trace_stop(const char *path, roc_error *err);
/* Appends a table: times by kernel, direction of copies, and kind of host work, of what is complete. */
void roc_rt_trace_summarise(roc_str *out);
/* Those of the environment: begins, and at the end of the process writes what was asked for.  Any
 * number of times. */
void roc_rt_trace_open(void);
/* INVALID: ROCLUA_PROFILE is not what it may be; roc_rt_trace_open takes it for 0. */
roc_status roc_rt_trace_check_environment(roc_error *err);
roc_status roc_rt_trace_conclude(roc_error *err); /* IO, OOM */

/* What the calling thread did from `begin_ns` (roc_clock_ns) until now; the bytes that it moved, or 0.
 * Any thread; only while roc_rt_is_traced. */
void roc_rt_trace_host(roc_rt_trace_kind kind, const char *name, uint64_t begin_ns,
                       uint64_t nbytes);
/* What the host did in a stream's place (sim), from `begin_ns` until now.  Without the runtime's
 * lock. */
void roc_rt_trace_on_stream(roc_rt_stream *stream, roc_rt_trace_kind kind, const char *name,
                            uint64_t begin_ns);

#endif
