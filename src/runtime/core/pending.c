/* Memory that is computed when it is needed, and memory that such computations read; see buffer.h. */
#include "runtime/core/internal.h"

void roc_buffer_set_pending(roc_buffer *buffer, void *pending, void (*release)(void *pending)) {
  buffer->pending = pending;
  buffer->release_pending = release;
}

void *roc_buffer_pending(const roc_buffer *buffer) {
  return buffer->pending;
}

bool roc_buffer_is_settled(const roc_buffer *buffer, const roc_rt_device *device) {
  return device && buffer->device == device && !buffer->pending &&
         atomic_load_explicit(&buffer->nreaders, memory_order_relaxed) == 0;
}

uint32_t roc_buffer_readers(const roc_buffer *buffer) {
  return atomic_load_explicit(&buffer->nreaders, memory_order_relaxed);
}

uint32_t roc_buffer_references(const roc_buffer *buffer) {
  return atomic_load_explicit(&buffer->refs, memory_order_relaxed);
}

void roc_buffer_count_readers(roc_buffer *buffer, int change) {
  atomic_fetch_add_explicit(&buffer->nreaders, (uint32_t)change, memory_order_relaxed);
}

bool roc_buffer_is_shared(const roc_buffer *buffer) {
  bool is_own = buffer->device ? !buffer->is_wrapped : buffer->block || buffer->lacks_memory;
  return !is_own || buffer->mirror || buffer->pin ||
         atomic_load_explicit(&buffer->is_shared, memory_order_relaxed);
}

void roc_buffer_share(roc_buffer *buffer) {
  atomic_store_explicit(&buffer->is_shared, true, memory_order_relaxed);
  roc_buffer_note_write(buffer);
}
