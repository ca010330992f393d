/* The end of host buffers, and how many bytes live.
 *
 * The owner of wrapped memory is told by a callback, which may call the runtime again: so a buffer
 * that dies under the runtime's lock is destroyed after the lock has been released. */
#include "base/alloc.h"
#include "base/small_blocks.h"
#include "runtime/core/internal.h"

static _Atomic size_t live_bytes;

void roc_buffer_count_bytes(size_t nbytes, bool is_born) {
  if (is_born) {
    atomic_fetch_add_explicit(&live_bytes, nbytes, memory_order_relaxed);
  } else {
    atomic_fetch_sub_explicit(&live_bytes, nbytes, memory_order_relaxed);
  }
}

size_t roc_buffer_live_bytes(void) {
  return atomic_load_explicit(&live_bytes, memory_order_relaxed);
}

void roc_buffer_destroy_host(roc_buffer *buffer) {
  if (buffer->release) buffer->release(buffer->release_ud);
  if (buffer->block) roc_buffer_count_bytes(buffer->nbytes, false);
  bool is_joint = buffer->block == buffer;
  if (!is_joint) roc_free_pages(buffer->block);
  roc_small_free(buffer, is_joint ? roc_buffer_joint_bytes(buffer->nbytes) : sizeof *buffer);
}

void roc_buffer_destroy_dead(roc_buffer *dead) {
  while (dead) {
    roc_buffer *next = dead->next;
    roc_buffer_destroy_host(dead);
    dead = next;
  }
}
