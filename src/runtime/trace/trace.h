/* What the files of this folder share: the records of a timeline; and what queues work records. */
#ifndef ROC_RUNTIME_TRACE_TRACE_H
#define ROC_RUNTIME_TRACE_TRACE_H

#include <sys/types.h>

#include "runtime/core/internal.h"
#include "runtime/trace.h"

enum { ROC_TRACE_NAME_BYTES = 64, ROC_TRACE_CHUNK = 512, ROC_TRACE_MOST = 1 << 20 };

typedef enum roc_rt_stream_role {
  ROC_ROLE_DEFAULT,
  ROC_ROLE_TRANSFERS,
  ROC_ROLE_OWN
} roc_rt_stream_role;

/* A span.  Times are 0 until they are known: the device writes them, so a span stays where it is
 * until its stamps are complete. */
typedef struct roc_rt_trace_span {
  roc_rt_trace_kind kind;
  bool is_dropped; /* its work was not queued */
  bool is_stamped; /* begin and end are the device's to write */
  char name[ROC_TRACE_NAME_BYTES], file[ROC_TRACE_NAME_BYTES]; /* "": launched by no script */
  uint32_t line;
  uint32_t device, stream; /* index, number from 1; 0: on a thread of the host */
  roc_rt_stream_role role;
  pid_t thread;
  roc_ndrange range; /* of a launch */
  uint64_t nbytes;   /* of a copy or fill */
  uint64_t queued_ns;
  uint64_t begin_ns, end_ns;
  struct roc_rt_trace_span *before; /* of the stream; it begins when that ends */
  roc_ticket ticket;                /* of the stamp after it */
} roc_rt_trace_span;

/* Work of a stream, around the call of the driver.  Lock held, only while roc_rt_is_traced.  begin
 * may return NULL, which end takes. */
roc_rt_trace_span *roc_rt_trace_begin(roc_rt_stream *stream, roc_rt_trace_kind kind,
                                      const char *name);
void roc_rt_trace_end(roc_rt_stream *stream, roc_rt_trace_span *span, bool is_queued);
/* Adds to a span, which may be NULL: the shape and place of a launch (`file` may be NULL). */
void roc_rt_trace_describe_launch(roc_rt_trace_span *span, const roc_ndrange *range,
                                  const char *file, uint32_t line);

/* A complete span, in the host's time. */
typedef struct roc_rt_trace_event {
  const roc_rt_trace_span *span;
  uint64_t begin_ns, end_ns;
} roc_rt_trace_event;

/* The complete spans so far; streams overlap themselves nowhere.  NULL, and *out_count 0: no
 * memory.  Until the list is freed no timeline begins, so its spans stay. */
roc_rt_trace_event *roc_rt_trace_list(size_t *out_count);
void roc_rt_trace_list_free(roc_rt_trace_event *events); /* also NULL, once a call of the other */
/* The device's name; when the timeline began; spans that had no room. */
const char *roc_rt_trace_device_name(uint32_t device);
uint64_t roc_rt_trace_start_ns(void);
uint64_t roc_rt_trace_count_lost(void);

/* Categories, by kind. */
extern const char *const roc_rt_trace_categories[ROC_TRACE_COUNT_];

void roc_rt_trace_write_json(roc_str *out);

#endif
