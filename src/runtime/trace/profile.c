/* A timeline as a table: what took how long, by name. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "runtime/trace/trace.h"

typedef struct row {
  const roc_rt_trace_span *span; /* one of them: kind, name, device */
  uint64_t calls, total_ns, least_ns, most_ns, nbytes;
} row;

static bool is_of_host(const roc_rt_trace_span *span) {
  return span->stream == 0;
}

/* Order of rows that are alike: of one device, kind and name. */
static int compare_spans(const roc_rt_trace_span *a, const roc_rt_trace_span *b) {
  if (is_of_host(a) != is_of_host(b)) return is_of_host(a) ? 1 : -1;
  if (a->device != b->device) return a->device < b->device ? -1 : 1;
  if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
  return strcmp(a->name, b->name);
}

static int compare_events(const void *a, const void *b) {
  return compare_spans(((const roc_rt_trace_event *)a)->span,
                       ((const roc_rt_trace_event *)b)->span);
}

/* Devices first, then what took longest. */
static int compare_rows(const void *a, const void *b) {
  const row *x = a, *y = b;
  if (is_of_host(x->span) != is_of_host(y->span)) return is_of_host(x->span) ? 1 : -1;
  if (x->total_ns != y->total_ns) return x->total_ns > y->total_ns ? -1 : 1;
  return compare_spans(x->span, y->span);
}

static void add(row *r, const roc_rt_trace_event *event) {
  uint64_t took_ns = event->end_ns - event->begin_ns;
  if (r->calls == 0 || took_ns < r->least_ns) r->least_ns = took_ns;
  if (took_ns > r->most_ns) r->most_ns = took_ns;
  r->span = event->span;
  r->calls++;
  r->total_ns += took_ns;
  r->nbytes += event->span->nbytes;
}

static size_t group(roc_rt_trace_event *events, size_t count, row *rows) {
  size_t nrows = 0;
  qsort(events, count, sizeof *events, compare_events);
  for (size_t i = 0; i < count; i++) {
    bool is_new = i == 0 || compare_spans(events[i - 1].span, events[i].span) != 0;
    if (is_new) rows[nrows++] = (row){0};
    add(&rows[nrows - 1], &events[i]);
  }
  qsort(rows, nrows, sizeof *rows, compare_rows);
  return nrows;
}

static void put_row(roc_str *out, const row *r) {
  double mean_ms = (double)r->total_ns / (double)r->calls / 1e6;
  roc_str_printf(out, "%-16.16s %-8s %-28.28s %8llu %12.3f %10.4f %10.4f %10.4f",
                 is_of_host(r->span) ? "host" : roc_rt_trace_device_name(r->span->device),
                 roc_rt_trace_categories[r->span->kind], r->span->name,
                 (unsigned long long)r->calls, (double)r->total_ns / 1e6, mean_ms,
                 (double)r->least_ns / 1e6, (double)r->most_ns / 1e6);
  if (r->nbytes > 0 && r->total_ns > 0) {
    roc_str_printf(out, " %8.3g", (double)r->nbytes / (double)r->total_ns);
  }
  roc_str_putc(out, '\n');
}

void roc_rt_trace_summarise(roc_str *out) {
  size_t count;
  roc_rt_trace_event *events = roc_rt_trace_list(&count);
  row *rows = roc_zalloc((count + 1) * sizeof *rows);
  if (!events || !rows) out->failed = true;
  size_t nrows = events && rows ? group(events, count, rows) : 0;
  roc_str_printf(out, "%-16s %-8s %-28s %8s %12s %10s %10s %10s %8s\n", "device", "work", "name",
                 "calls", "total ms", "mean ms", "least ms", "most ms", "GB/s");
  for (size_t i = 0; i < nrows; i++) put_row(out, &rows[i]);
  uint64_t lost = roc_rt_trace_count_lost();
  if (lost > 0) roc_str_printf(out, "%llu more had no room\n", (unsigned long long)lost);
  roc_free(rows);
  roc_rt_trace_list_free(events);
}
