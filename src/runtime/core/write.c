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

void roc_buffer_note_write(const roc_buffer *buffer) {
  if (observer) observer(observer_ud, buffer);
  if (write_hook) write_hook(write_hook_ud, buffer);
}

void roc_rt_note_writes(const roc_rt_use *uses, uint32_t nuses) {
  for (uint32_t i = 0; i < nuses; i++) {
    if (uses[i].writes) roc_buffer_note_write(uses[i].buffer);
  }
}
