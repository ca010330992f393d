/* Contained errors: made of a launch's fault record or of a text, and kept by the stream. Under the
 * runtime's lock. */
#include <string.h>

#include "base/alloc.h"
#include "base/site.h"
#include "runtime/core/internal.h"

void roc_rt_fault_release(roc_rt_fault *fault) {
  if (--fault->refs == 0) roc_free(fault);
}

roc_rt_fault *roc_rt_fault_new(roc_status code, roc_ticket ticket, const char *text) {
  size_t len = strlen(text);
  roc_rt_fault *fault = roc_alloc(sizeof *fault + len + 1);
  if (!fault) return NULL;
  *fault = (roc_rt_fault){.refs = 1, .code = code, .first = ticket, .last = ticket};
  memcpy(fault->text, text, len + 1);
  return fault;
}

roc_rt_fault *roc_rt_fault_read(const roc_rt_pending *pending) {
  const roc_codeobj *object = pending->kernel->object;
  roc_str text = ROC_STR_INIT;
  roc_site_format_fault(object->sites, object->nsites, pending->record, pending->rank, &text);
  if (pending->file) roc_str_printf(&text, " (launched at %s:%u)", pending->file, pending->line);
  const char *shown = text.failed ? "a kernel failed a check (no memory to say which)" : text.data;
  roc_rt_fault *fault = roc_rt_fault_new(ROC_FAULT, pending->ticket, shown);
  roc_str_deinit(&text);
  return fault;
}

/* The newest always fits: a waiter that asks about its own launch must find it. */
void roc_rt_stream_add_fault(roc_rt_stream *stream, roc_rt_fault *fault) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < stream->nfaults; i++) {
    if (stream->faults[i]->is_reported) {
      roc_rt_fault_release(stream->faults[i]);
    } else {
      stream->faults[kept++] = stream->faults[i];
    }
  }
  if (kept == ROC_RT_MAX_FAULTS) roc_rt_fault_release(stream->faults[--kept]);
  stream->faults[kept++] = fault;
  stream->nfaults = kept;
}

roc_rt_fault *roc_rt_stream_find_failure(roc_rt_stream *stream, uint64_t failure) {
  for (uint32_t i = 0; i < stream->nfaults; i++) {
    if (stream->faults[i]->failure == failure) return stream->faults[i];
  }
  return NULL;
}

void roc_rt_stream_hand_over_faults(roc_rt_stream *orphan) {
  roc_rt_stream *heir = orphan->session->default_streams[orphan->device->index];
  if (!heir || orphan->device->is_closing) return; /* the end has reported what it could */
  for (uint32_t i = 0; i < orphan->nfaults; i++) {
    orphan->faults[i]->first = ROC_RT_NO_TICKET; /* the heir counts its own, */
    orphan->faults[i]->failure = 0;              /* and its queue numbers its own */
    roc_rt_stream_add_fault(heir, orphan->faults[i]);
  }
  orphan->nfaults = 0;
}
