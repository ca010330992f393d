/* Reference-counted memory; see buffer.h, and internal.h for what keeps a buffer alive while work
 * uses it.
 *
 * A buffer reaches zero references only when no work uses it, so its memory goes back at once and
 * no release ever waits. */
#include "runtime/buffer.h"

#include <string.h>

#include "base/alloc.h"
#include "base/small_blocks.h"
#include "runtime/core/internal.h"
#include "runtime/device.h"

static uintptr_t align_up(uintptr_t address) {
  return (address + ROC_HOST_ALIGNMENT - 1) & ~(uintptr_t)(ROC_HOST_ALIGNMENT - 1);
}

static void init_buffer(roc_buffer *buffer, roc_devptr address, size_t nbytes) {
  memset(buffer, 0, offsetof(roc_buffer, inline_uses));
  atomic_init(&buffer->refs, 1);
  buffer->address = address;
  buffer->nbytes = nbytes;
  buffer->uses = buffer->inline_uses;
  buffer->use_capacity = ROC_RT_INLINE_USES;
}

static roc_status fail_oom(size_t nbytes, roc_error *err) {
  return roc_fail(err, ROC_OOM, "out of memory: cannot allocate %zu bytes of host memory", nbytes);
}

roc_status roc_buffer_alloc_host(roc_buffer *buffer, bool zeroed, roc_error *err) {
  size_t padded;
  if (!roc_add_size(buffer->nbytes, ROC_HOST_ALIGNMENT, &padded)) {
    return fail_oom(buffer->nbytes, err);
  }
  /* calloc leaves large blocks to the kernel's lazily zeroed pages; hence the padding by hand. */
  void *block = zeroed ? roc_zalloc_pages(padded) : roc_alloc_pages(padded, ROC_HOST_ALIGNMENT);
  if (!block) return fail_oom(buffer->nbytes, err);
  uintptr_t aligned = align_up((uintptr_t)block);
  buffer->address = (roc_devptr)aligned;
  buffer->block = block;
  buffer->lacks_memory = false;
  roc_buffer_count_bytes(buffer->nbytes, true);
  return ROC_OK;
}

static roc_status create_joint(size_t nbytes, bool zeroed, roc_buffer **out_buffer,
                               roc_error *err) {
  roc_buffer *buffer = roc_small_alloc(roc_buffer_joint_bytes(nbytes));
  if (!buffer) return fail_oom(nbytes, err);
  init_buffer(buffer, align_up((uintptr_t)(buffer + 1)), nbytes);
  buffer->block = buffer;
  if (zeroed) memset((void *)(uintptr_t)buffer->address, 0, nbytes);
  roc_buffer_count_bytes(nbytes, true);
  *out_buffer = buffer;
  return ROC_OK;
}

roc_status roc_buffer_create_host(size_t nbytes, bool zeroed, roc_buffer **out_buffer,
                                  roc_error *err) {
  if (nbytes < ROC_SMALL_BLOCK_MOST && roc_buffer_joint_bytes(nbytes) <= ROC_SMALL_BLOCK_MOST) {
    return create_joint(nbytes, zeroed, out_buffer, err);
  }
  roc_buffer *buffer = roc_small_alloc(sizeof *buffer);
  if (!buffer) return fail_oom(nbytes, err);
  init_buffer(buffer, 0, nbytes);
  roc_status status = roc_buffer_alloc_host(buffer, zeroed, err);
  if (status != ROC_OK) {
    roc_free(buffer);
    return status;
  }
  *out_buffer = buffer;
  return ROC_OK;
}

roc_status roc_buffer_create_later(roc_rt_device *device, size_t nbytes, roc_buffer **out_buffer,
                                   roc_error *err) {
  roc_buffer *buffer = roc_small_alloc(sizeof *buffer);
  if (!buffer) return fail_oom(sizeof *buffer, err);
  init_buffer(buffer, 0, nbytes);
  buffer->lacks_memory = true;
  buffer->device = device;
  if (device) roc_rt_device_retain(device);
  *out_buffer = buffer;
  return ROC_OK;
}

roc_status roc_buffer_wrap_host(void *memory, size_t nbytes, void (*release)(void *ud), void *ud,
                                roc_buffer **out_buffer, roc_error *err) {
  roc_buffer *buffer = roc_alloc(sizeof *buffer);
  if (!buffer) return fail_oom(sizeof *buffer, err);
  init_buffer(buffer, (roc_devptr)(uintptr_t)memory, nbytes);
  buffer->release = release;
  buffer->release_ud = ud;
  *out_buffer = buffer;
  return ROC_OK;
}

roc_status roc_buffer_wrap_device(roc_rt_device *device, roc_devptr address, size_t nbytes,
                                  void (*release)(void *ud), void *ud, roc_buffer **out_buffer,
                                  roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  roc_buffer *buffer = roc_alloc(sizeof *buffer);
  if (!buffer) return fail_oom(sizeof *buffer, err);
  init_buffer(buffer, address, nbytes);
  buffer->release = release;
  buffer->release_ud = ud;
  buffer->is_wrapped = true;
  buffer->device = device;
  roc_rt_device_retain(device);
  *out_buffer = buffer;
  return ROC_OK;
}

void roc_buffer_protect(roc_buffer *buffer) {
  buffer->is_read_only = true;
}

void roc_buffer_disown(roc_buffer *buffer) {
  buffer->release = NULL;
}

bool roc_buffer_is_read_only(const roc_buffer *buffer) {
  return buffer->is_read_only;
}

void roc_buffer_retain(roc_buffer *buffer) {
  atomic_fetch_add_explicit(&buffer->refs, 1, memory_order_relaxed);
}

/* What both kinds own besides their memory.  Lock held. */
static void drop_uses_and_fault(roc_buffer *buffer) {
  roc_rt_fault *fault = atomic_load_explicit(&buffer->fault, memory_order_relaxed);
  if (fault) roc_rt_fault_release(fault);
  atomic_store_explicit(&buffer->fault, NULL, memory_order_relaxed);
  if (buffer->uses != buffer->inline_uses) roc_free(buffer->uses);
  buffer->uses = buffer->inline_uses;
  buffer->use_capacity = ROC_RT_INLINE_USES;
}

/* What makes host memory more than memory.  Lock held. */
static void drop_extras(roc_buffer *buffer) {
  if (buffer->mirror) {
    roc_buffer_release_locked(buffer->mirror->device);
    roc_rt_session_drop(buffer->mirror->session);
  }
  roc_free(buffer->mirror);
  buffer->mirror = NULL;
  roc_buffer_drop_pin(buffer);
}

static bool drop_ref(roc_buffer *buffer) {
  return atomic_fetch_sub_explicit(&buffer->refs, 1, memory_order_acq_rel) == 1;
}

void roc_buffer_release_locked(roc_buffer *buffer) {
  if (!buffer || !drop_ref(buffer)) return;
  drop_uses_and_fault(buffer);
  if (buffer->device && !buffer->is_wrapped && !buffer->lacks_memory) {
    roc_rt_pool_free(buffer);
    return;
  }
  if (buffer->device) {
    if (roc_rt_in_child()) return; /* the device is the parent's */
    roc_rt_device_drop(buffer->device);
  } else {
    drop_extras(buffer);
  }
  roc_buffer_bury(buffer);
}

void roc_buffer_release(roc_buffer *buffer) {
  if (!buffer || !drop_ref(buffer)) return;
  if (buffer->pending) buffer->release_pending(buffer->pending);
  buffer->pending = NULL;
  bool is_plain = !buffer->device && buffer->uses == buffer->inline_uses && !buffer->pin &&
                  !buffer->mirror && !atomic_load_explicit(&buffer->fault, memory_order_relaxed);
  if (is_plain) {
    roc_buffer_destroy_host(buffer);
    return;
  }
  atomic_store_explicit(&buffer->refs, 1, memory_order_relaxed);
  roc_rt_lock();
  roc_buffer_release_locked(buffer);
  roc_rt_unlock();
}

bool roc_buffer_retain_live(roc_buffer *buffer) {
  uint32_t refs = atomic_load_explicit(&buffer->refs, memory_order_relaxed);
  while (refs > 0 && !atomic_compare_exchange_weak(&buffer->refs, &refs, refs + 1)) continue;
  return refs > 0;
}

roc_rt_device *roc_buffer_device(const roc_buffer *buffer) {
  return buffer->device;
}

void *roc_buffer_host(const roc_buffer *buffer) {
  if (buffer->device && !buffer->device->driver->props.host_memory) return NULL;
  return (void *)(uintptr_t)buffer->address;
}

roc_devptr roc_buffer_devptr(const roc_buffer *buffer) {
  return buffer->address;
}

size_t roc_buffer_nbytes(const roc_buffer *buffer) {
  return buffer->nbytes;
}
