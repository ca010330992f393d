/* Recording a timeline; see runtime/trace.h.
 *
 * Spans lie in chunks, which are only added to.  The runtime's lock, which queues work, is taken
 * before the lock here. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "runtime/trace/trace.h"

typedef struct chunk {
  struct chunk *next;
  uint32_t count;
  roc_rt_trace_span spans[ROC_TRACE_CHUNK];
} chunk;

_Atomic bool roc_rt_trace_flag;

const char *const roc_rt_trace_categories[] = {
#define ROC_TRACE_KIND(name, text) text,
#include "runtime/trace/kinds.def"
#undef ROC_TRACE_KIND
};

static struct {
  pthread_mutex_t lock; /* guards what follows */
  chunk *first, *last;
  uint64_t count, lost;
  uint64_t start_ns;
  uint32_t generation; /* of timelines: what a stream remembers is of one */
  uint32_t nstreams, nreaders;
  char device_names[ROC_RT_MAX_DEVICES][ROC_TRACE_NAME_BYTES];
} timeline = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void copy_name(char *out, const char *name) {
  size_t length = name ? strlen(name) : 0, most = ROC_TRACE_NAME_BYTES - 1;
  if (length > most) {
    name += length - most; /* of a path the end tells more */
    length = most;
  }
  memcpy(out, name ? name : "", length);
  out[length] = '\0';
}

/* A span, zeroed; NULL: the timeline is over, or full.  Locked. */
static roc_rt_trace_span *add_span(roc_rt_trace_kind kind, const char *name) {
  if (!roc_rt_is_traced()) return NULL;
  chunk *last = timeline.last;
  if (!last || last->count == ROC_TRACE_CHUNK) {
    last = timeline.count < ROC_TRACE_MOST ? roc_zalloc(sizeof *last) : NULL;
    if (!last) {
      timeline.lost++;
      return NULL;
    }
    if (timeline.last) timeline.last->next = last;
    if (!timeline.first) timeline.first = last;
    timeline.last = last;
  }
  timeline.count++;
  roc_rt_trace_span *span = &last->spans[last->count++];
  span->kind = kind;
  copy_name(span->name, name);
  span->queued_ns = roc_clock_ns();
  return span;
}

void roc_rt_trace_host(roc_rt_trace_kind kind, const char *name, uint64_t begin_ns,
                       uint64_t nbytes) {
  pthread_mutex_lock(&timeline.lock);
  roc_rt_trace_span *span = add_span(kind, name);
  if (span) {
    span->thread = gettid();
    span->begin_ns = begin_ns;
    span->end_ns = span->queued_ns;
    span->nbytes = nbytes;
  }
  pthread_mutex_unlock(&timeline.lock);
}

/* ---- work of streams: the runtime's lock is held --------------------------------------------- */

static roc_rt_stream_role role_of(const roc_rt_stream *stream) {
  uint32_t index = stream->device->index;
  if (stream->session->default_streams[index] == stream) return ROC_ROLE_DEFAULT;
  return stream->session->transfer_streams[index] == stream ? ROC_ROLE_TRANSFERS : ROC_ROLE_OWN;
}

/* A span of the stream; what the stream remembers of another timeline is forgotten. */
static roc_rt_trace_span *add_stream_span(roc_rt_stream *stream, roc_rt_trace_kind kind,
                                          const char *name) {
  pthread_mutex_lock(&timeline.lock);
  if (stream->trace.generation != timeline.generation) {
    stream->trace =
        (roc_rt_stream_trace){.generation = timeline.generation, .number = ++timeline.nstreams};
    copy_name(timeline.device_names[stream->device->index], stream->device->driver->props.name);
  }
  roc_rt_trace_span *span = add_span(kind, name);
  if (span) {
    span->device = stream->device->index;
    span->stream = stream->trace.number;
    span->role = role_of(stream);
  }
  pthread_mutex_unlock(&timeline.lock);
  return span;
}

roc_rt_trace_span *roc_rt_trace_begin(roc_rt_stream *stream, roc_rt_trace_kind kind,
                                      const char *name) {
  const roc_device_ops *ops = stream->driver->device->ops;
  roc_rt_trace_span *span = add_stream_span(stream, kind, name);
  if (!span) return NULL;
  roc_rt_trace_span *before = stream->trace.last;
  if (before && !stream->trace.has_waited && !ops->is_done(stream->driver, before->ticket)) {
    span->before = before;
  } else if (roc_rt_queue_stamp(stream->driver, &span->begin_ns, &span->ticket, NULL) != ROC_OK) {
    span->is_dropped = true;
  }
  stream->trace.has_waited = false;
  return span;
}

void roc_rt_trace_describe_launch(roc_rt_trace_span *span, const roc_ndrange *range,
                                  const char *file, uint32_t line) {
  if (!span) return;
  span->range = *range;
  copy_name(span->file, file);
  span->line = line;
}

void roc_rt_trace_end(roc_rt_stream *stream, roc_rt_trace_span *span, bool is_queued) {
  if (!span) return;
  roc_ticket ticket = 0;
  bool is_stamped = is_queued && !span->is_dropped &&
                    roc_rt_queue_stamp(stream->driver, &span->end_ns, &ticket, NULL) == ROC_OK;
  span->is_dropped = !is_stamped;
  if (!is_stamped) return;
  span->is_stamped = true;
  span->ticket = stream->last_ticket = ticket;
  stream->trace.last = span;
}

void roc_rt_trace_on_stream(roc_rt_stream *stream, roc_rt_trace_kind kind, const char *name,
                            uint64_t begin_ns) {
  roc_rt_lock();
  roc_rt_trace_span *span = add_stream_span(stream, kind, name);
  if (span) {
    span->begin_ns = begin_ns;
    span->end_ns = span->queued_ns;
  }
  roc_rt_unlock();
}

/* ---- reading: locked ------------------------------------------------------------------------- */

static uint64_t load(const uint64_t *time) {
  return __atomic_load_n(time, __ATOMIC_ACQUIRE);
}

/* When the span began, by the device; 0: not known yet. */
static uint64_t begin_of(const roc_rt_trace_span *span) {
  return load(span->before ? &span->before->end_ns : &span->begin_ns);
}

static bool is_complete(const roc_rt_trace_span *span) {
  return !span->is_dropped && begin_of(span) != 0 && load(&span->end_ns) != 0;
}

/* How far the clock of each device is ahead of the host's: no work begins before it is queued, and
 * some begins soon after.  Where that explains the times, both are one clock. */
static void measure_clocks(int64_t *ahead_ns) {
  enum { SOON_NS = 100000000 };
  bool is_known[ROC_RT_MAX_DEVICES] = {false};
  for (uint32_t i = 0; i < ROC_RT_MAX_DEVICES; i++) ahead_ns[i] = 0;
  for (const chunk *c = timeline.first; c; c = c->next) {
    for (uint32_t i = 0; i < c->count; i++) {
      const roc_rt_trace_span *span = &c->spans[i];
      if (!span->is_stamped || span->before || !is_complete(span)) continue;
      int64_t late_ns = (int64_t)(begin_of(span) - span->queued_ns);
      if (!is_known[span->device] || late_ns < ahead_ns[span->device]) {
        ahead_ns[span->device] = late_ns;
      }
      is_known[span->device] = true;
    }
  }
  for (uint32_t i = 0; i < ROC_RT_MAX_DEVICES; i++) {
    if (ahead_ns[i] >= 0 && ahead_ns[i] < SOON_NS) ahead_ns[i] = 0;
  }
}

static roc_rt_trace_event place(const roc_rt_trace_span *span, const int64_t *ahead_ns,
                                uint64_t *stream_ends) {
  int64_t ahead = span->is_stamped ? ahead_ns[span->device] : 0;
  roc_rt_trace_event event = {.span = span};
  event.begin_ns = begin_of(span) - (uint64_t)ahead;
  event.end_ns = load(&span->end_ns) - (uint64_t)ahead;
  if (span->stream > 0) {
    uint64_t *end = &stream_ends[span->stream];
    if (event.begin_ns < *end) event.begin_ns = *end;
    if (event.end_ns < event.begin_ns) event.end_ns = event.begin_ns;
    *end = event.end_ns;
  }
  return event;
}

roc_rt_trace_event *roc_rt_trace_list(size_t *out_count) {
  int64_t ahead_ns[ROC_RT_MAX_DEVICES];
  size_t count = 0;
  pthread_mutex_lock(&timeline.lock);
  roc_rt_trace_event *events = roc_zalloc((timeline.count + 1) * sizeof *events);
  uint64_t *stream_ends = roc_zalloc((timeline.nstreams + 1) * sizeof *stream_ends);
  timeline.nreaders++;
  measure_clocks(ahead_ns);
  for (const chunk *c = timeline.first; events && stream_ends && c; c = c->next) {
    for (uint32_t i = 0; i < c->count; i++) {
      if (is_complete(&c->spans[i])) events[count++] = place(&c->spans[i], ahead_ns, stream_ends);
    }
  }
  pthread_mutex_unlock(&timeline.lock);
  roc_free(stream_ends);
  *out_count = count;
  return events;
}

void roc_rt_trace_list_free(roc_rt_trace_event *events) {
  roc_free(events);
  pthread_mutex_lock(&timeline.lock);
  timeline.nreaders--;
  pthread_mutex_unlock(&timeline.lock);
}

const char *roc_rt_trace_device_name(uint32_t device) {
  return timeline.device_names[device];
}

uint64_t roc_rt_trace_start_ns(void) {
  return timeline.start_ns;
}

uint64_t roc_rt_trace_count_lost(void) {
  return timeline.lost;
}

/* ---- beginning and ending -------------------------------------------------------------------- */

/* Frees the spans, but for those that a device may still write. */
static void clear(void) {
  bool is_complete_all = true;
  for (const chunk *c = timeline.first; c; c = c->next) {
    for (uint32_t i = 0; i < c->count; i++) {
      const roc_rt_trace_span *span = &c->spans[i];
      bool has_stamps = span->is_stamped || span->is_dropped;
      if (has_stamps && !is_complete(span)) is_complete_all = false;
    }
  }
  for (chunk *c = timeline.first, *next; c && is_complete_all; c = next) {
    next = c->next;
    roc_free(c);
  }
  timeline.first = timeline.last = NULL;
  timeline.count = timeline.lost = timeline.nstreams = 0;
}

roc_status roc_rt_trace_start(roc_error *err) {
  pthread_mutex_lock(&timeline.lock);
  bool is_on = atomic_load(&roc_rt_trace_flag) || timeline.nreaders > 0;
  if (!is_on) {
    clear();
    timeline.generation++;
    timeline.start_ns = roc_clock_ns();
    atomic_store(&roc_rt_trace_flag, true);
  }
  pthread_mutex_unlock(&timeline.lock);
  if (!is_on) return ROC_OK;
  return roc_fail(err, ROC_INVALID,
                  "a timeline is being recorded already; close it, or do without ROCLUA_TRACE and "
                  "ROCLUA_PROFILE");
}
