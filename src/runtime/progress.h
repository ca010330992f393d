/* Progress: a line on the terminal that says how far long work of a session is, and a function that
 * is told.
 *
 * Only sessions of roclua and rocluac have a line, where stderr is a terminal; from two seconds on, and
 * at most ten times a second.  Of work within other work only the outer one has a line.  All calls
 * for one piece of work come from one thread. */
#ifndef ROC_RUNTIME_PROGRESS_H
#define ROC_RUNTIME_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "runtime/device.h"

enum { ROC_RT_PROGRESS_TITLE_BYTES = 64 };

/* Is told how many bytes of `total` (UINT64_MAX: not known) are read, or written; false ends the
 * work. */
typedef bool roc_rt_progress_tell(void *ud, uint64_t done, uint64_t total);

typedef struct roc_rt_progress {
  roc_rt_session *session; /* NULL: it has no line */
  bool has_line, is_shown;
  bool is_of_series; /* of the session's: one of many */
  uint64_t begin_ns, shown_ns;
  roc_rt_progress_tell *tell; /* at each MiB or so; NULL: none.  Set after the work has begun */
  void *tell_ud;
  uint64_t told; /* how many bytes */
  char title[ROC_RT_PROGRESS_TITLE_BYTES];
} roc_rt_progress;

/* Work of the session has a line from now on. */
void roc_rt_session_show_progress(roc_rt_session *session);

/* The work of that name begins ("load x.npy"; a copy, which may be cut off).  `session` NULL: work
 * that has no line, and that no interrupt ends. */
void roc_rt_progress_begin(roc_rt_progress *work, roc_rt_session *session, const char *title);
/* The same of one of many pieces of work, which is counted with those that came shortly before. */
void roc_rt_progress_begin_next(roc_rt_progress *work, roc_rt_session *session, const char *title);
/* The work goes on with `what`: "title: what". */
void roc_rt_progress_say(roc_rt_progress *work, const char *what);
/* `done` of `total` bytes (UINT64_MAX: not known) are read, or written.  INTERRUPTED: there was an
 * interrupt of the session, which is taken, or the function that is told ends the work. */
roc_status roc_rt_progress_bytes(roc_rt_progress *work, uint64_t done, uint64_t total,
                                 roc_error *err);
/* The work goes on: "title: 4 s", or of many "title: 4 s, 37 so far". */
void roc_rt_progress_tick(roc_rt_progress *work);
/* The work is complete, or has failed: takes the line away.  After roc_rt_progress_begin always. */
void roc_rt_progress_end(roc_rt_progress *work);

#endif
