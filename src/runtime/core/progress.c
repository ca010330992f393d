/* Lines that say how far long work is; see progress.h. */
#include "runtime/progress.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "runtime/core/internal.h"
#include "runtime/session.h"

enum { WIDTH = 79, TOLD_BYTES = 1 << 20 };

static const uint64_t after_ns = 2000000000, between_ns = 100000000, apart_ns = 500000000;

void roc_rt_session_show_progress(roc_rt_session *session) {
  session->shows_progress = true;
}

void roc_rt_progress_begin(roc_rt_progress *work, roc_rt_session *session, const char *title) {
  *work = (roc_rt_progress){.session = session, .begin_ns = roc_clock_ns()};
  snprintf(work->title, sizeof work->title, "%s", title);
  roc_rt_progress *none = NULL;
  work->has_line = session && session->shows_progress &&
                   atomic_compare_exchange_strong(&session->progress, &none, work);
}

void roc_rt_progress_begin_next(roc_rt_progress *work, roc_rt_session *session, const char *title) {
  roc_rt_progress_begin(work, session, title);
  if (!work->has_line) return;
  work->is_of_series = true;
  bool is_first = work->begin_ns - session->series.end_ns > apart_ns;
  session->series.count = is_first ? 1 : session->series.count + 1;
  if (is_first) session->series.begin_ns = work->begin_ns;
  work->begin_ns = session->series.begin_ns;
}

void roc_rt_progress_end(roc_rt_progress *work) {
  if (!work->has_line) return;
  if (work->is_of_series) work->session->series.end_ns = roc_clock_ns();
  if (work->is_shown) fputs("\r\33[K", stderr);
  fflush(stderr);
  work->has_line = work->is_shown = false;
  roc_rt_progress *own = work;
  atomic_compare_exchange_strong(&work->session->progress, &own, NULL);
}

/* Whether the line may be written now. */
static bool is_due(const roc_rt_progress *work) {
  if (!work->has_line) return false;
  uint64_t now = roc_clock_ns();
  return now - work->begin_ns >= after_ns && now - work->shown_ns >= between_ns;
}

/* A line of at most WIDTH bytes, which are at least as many as its columns: cut between characters,
 * and without control characters. */
static void cut_line(char *line) {
  size_t len = strlen(line);
  if (len > WIDTH) {
    static const char mark[] = "…";
    size_t end = WIDTH + 1 - sizeof mark;
    while (end > 0 && ((unsigned char)line[end] & 0xc0) == 0x80) end--;
    memcpy(line + end, mark, sizeof mark);
  }
  for (char *at = line; *at; at++) {
    if ((unsigned char)*at < ' ' || *at == 127) *at = ' ';
  }
}

static void write_line(roc_rt_progress *work, const char *what) {
  char line[2 * WIDTH];
  snprintf(line, sizeof line, "%s: %s", work->title, what);
  cut_line(line);
  fprintf(stderr, "\r\33[K%s", line);
  fflush(stderr);
  work->is_shown = true;
  work->shown_ns = roc_clock_ns();
}

void roc_rt_progress_say(roc_rt_progress *work, const char *what) {
  if (is_due(work)) write_line(work, what);
}

void roc_rt_progress_tick(roc_rt_progress *work) {
  if (!is_due(work)) return;
  char what[64];
  double seconds = (double)(roc_clock_ns() - work->begin_ns) / 1e9;
  unsigned long long count = work->is_of_series ? work->session->series.count : 1;
  if (count == 1) snprintf(what, sizeof what, "%.0f s", seconds);
  if (count > 1) snprintf(what, sizeof what, "%.0f s, %llu so far", seconds, count);
  write_line(work, what);
}

static bool tell(roc_rt_progress *work, uint64_t done, uint64_t total) {
  bool is_new = done < work->told || done - work->told >= TOLD_BYTES;
  if (!work->tell || !is_new) return true;
  work->told = done;
  return work->tell(work->tell_ud, done, total);
}

roc_status roc_rt_progress_bytes(roc_rt_progress *work, uint64_t done, uint64_t total,
                                 roc_error *err) {
  if (done > total) done = total; /* parts of an archive are read again */
  if (is_due(work)) {
    char what[64];
    if (total != UINT64_MAX && total > 0) {
      snprintf(what, sizeof what, "%d %%", (int)(100.0 * (double)done / (double)total));
    } else {
      snprintf(what, sizeof what, "%.0f MiB", (double)done / (1 << 20));
    }
    write_line(work, what);
  }
  bool is_over = !tell(work, done, total);
  is_over |= work->session && roc_rt_take_interrupt(work->session);
  return is_over ? roc_fail(err, ROC_INTERRUPTED, "interrupted!") : ROC_OK;
}
