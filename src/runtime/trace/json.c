/* A timeline as JSON: the "trace event format" of chrome://tracing, which Perfetto reads, too.
 *
 * The host is process 1, with its threads; each device is a process, and its streams are threads of
 * that.  Times are microseconds since the timeline began. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "runtime/trace/trace.h"

enum { HOST = 1, FIRST_DEVICE = 10 };

static void put_text(roc_str *out, const char *text) {
  roc_str_putc(out, '"');
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\') {
      roc_str_printf(out, "\\%c", c);
    } else if (c < 0x20) {
      roc_str_printf(out, "\\u%04x", c);
    } else {
      roc_str_putc(out, (char)c);
    }
  }
  roc_str_putc(out, '"');
}

static void put_name(roc_str *out, const char *what, unsigned process, unsigned thread,
                     const char *name) {
  roc_str_printf(out,
                 "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":", what,
                 process, thread);
  put_text(out, name);
  roc_str_puts(out, "}},\n");
}

static unsigned process_of(const roc_rt_trace_span *span) {
  return span->stream > 0 ? FIRST_DEVICE + span->device : HOST;
}

static unsigned thread_of(const roc_rt_trace_span *span) {
  return span->stream > 0 ? span->stream : (unsigned)span->thread;
}

static void put_thread_name(roc_str *out, const roc_rt_trace_span *span) {
  static const char *const roles[] = {"default stream", "transfers", "stream"};
  char name[64];
  if (span->stream > 0) {
    snprintf(name, sizeof name, "%s %u", roles[span->role], span->stream);
  } else if (span->thread == getpid()) {
    snprintf(name, sizeof name, "main thread");
  } else {
    snprintf(name, sizeof name, "thread %d", (int)span->thread);
  }
  put_name(out, "thread_name", process_of(span), thread_of(span), name);
}

/* Names each process and thread once: events of one are looked for among those before. */
static void put_names(roc_str *out, const roc_rt_trace_event *events, size_t count) {
  size_t ntold = 0;
  struct told {
    unsigned process, thread;
  } *told = roc_zalloc((count + 1) * sizeof *told);
  if (!told) {
    out->failed = true;
    return;
  }
  put_name(out, "process_name", HOST, 0, "host");
  for (size_t i = 0; i < count; i++) {
    const roc_rt_trace_span *span = events[i].span;
    unsigned process = process_of(span), thread = thread_of(span);
    bool has_process = process == HOST, has_thread = false;
    for (size_t k = 0; k < ntold && !has_thread; k++) {
      has_process |= told[k].process == process;
      has_thread = told[k].process == process && told[k].thread == thread;
    }
    if (has_thread) continue;
    told[ntold++] = (struct told){process, thread};
    if (!has_process) {
      put_name(out, "process_name", process, 0, roc_rt_trace_device_name(span->device));
    }
    put_thread_name(out, span);
  }
  roc_free(told);
}

static void put_extents(roc_str *out, const char *name, const uint64_t *extents, uint32_t rank) {
  roc_str_printf(out, ",\"%s\":[", name);
  for (uint32_t i = 0; i < rank; i++) {
    roc_str_printf(out, "%s%llu", i > 0 ? "," : "", (unsigned long long)extents[i]);
  }
  roc_str_putc(out, ']');
}

static void put_arguments(roc_str *out, const roc_rt_trace_event *event) {
  const roc_rt_trace_span *span = event->span;
  uint64_t took_ns = event->end_ns - event->begin_ns;
  roc_str_printf(out, "{\"queued\":%.3f",
                 (double)(int64_t)(span->queued_ns - roc_rt_trace_start_ns()) / 1e3);
  if (span->file[0] != '\0') {
    char place[ROC_TRACE_NAME_BYTES + 16];
    snprintf(place, sizeof place, "%s:%u", span->file, span->line);
    roc_str_puts(out, ",\"at\":");
    put_text(out, place);
  }
  if (span->range.rank > 0) {
    uint64_t workgroup[3] = {span->range.local[0], span->range.local[1], span->range.local[2]};
    put_extents(out, "items", span->range.grid, span->range.rank);
    put_extents(out, "workgroup", workgroup, span->range.rank);
  }
  if (span->nbytes > 0) {
    roc_str_printf(out, ",\"bytes\":%llu", (unsigned long long)span->nbytes);
    if (took_ns > 0) {
      roc_str_printf(out, ",\"GB/s\":%.3f", (double)span->nbytes / (double)took_ns);
    }
  }
  roc_str_putc(out, '}');
}

static void put_event(roc_str *out, const roc_rt_trace_event *event) {
  const roc_rt_trace_span *span = event->span;
  roc_str_puts(out, "{\"ph\":\"X\",\"name\":");
  put_text(out, span->name);
  roc_str_printf(out, ",\"cat\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"args\":",
                 roc_rt_trace_categories[span->kind], process_of(span), thread_of(span),
                 (double)(int64_t)(event->begin_ns - roc_rt_trace_start_ns()) / 1e3,
                 (double)(event->end_ns - event->begin_ns) / 1e3);
  put_arguments(out, event);
  roc_str_puts(out, "},\n");
}

void roc_rt_trace_write_json(roc_str *out) {
  size_t count;
  roc_rt_trace_event *events = roc_rt_trace_list(&count);
  roc_str_puts(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
  put_names(out, events, count);
  for (size_t i = 0; i < count; i++) put_event(out, &events[i]);
  roc_str_printf(out,
                 "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":%d,\"args\":{\"labels\":"
                 "\"%llu events had no room\"}}\n]}\n",
                 HOST, (unsigned long long)roc_rt_trace_count_lost());
  if (!events) out->failed = true;
  roc_rt_trace_list_free(events);
}
