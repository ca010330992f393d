/* The one place through which writes to memory of arrays pass; see buffer.h. */
#include "runtime/core/internal.h"

static roc_write_hook write_hook;
static void *write_hook_ud;

void roc_buffer_set_write_hook(roc_write_hook hook, void *ud) {
  write_hook_ud = ud;
  write_hook = hook;
}

static roc_write_hook observer;
static void *observer_ud;

void roc_buffer_observe_writes(roc_write_hook hook, void *ud) {
  observer_ud = ud;
  observer = hook;
}

static void note_write(roc_buffer *buffer, roc_rt_stream *stream) {
  if (observer) observer(observer_ud, buffer, stream);
  if (write_hook) write_hook(write_hook_ud, buffer, stream);
}

void roc_buffer_note_write(roc_buffer *buffer) {
  note_write(buffer, NULL);
}

void roc_rt_note_writes(roc_rt_stream *stream, const roc_rt_use *uses, uint32_t nuses) {
  for (uint32_t i = 0; i < nuses; i++) {
    if (uses[i].writes) note_write(uses[i].buffer, stream);
  }
}
