/* Reference-counted memory; see buffer.h, and internal.h for who keeps a buffer alive while work
 * uses it.
 *
 * A buffer reaches zero references only when no work uses it, so its memory goes back at once and
 * no release ever waits. */
#include "runtime/buffer.h"

#include <string.h>

#include "base/alloc.h"
#include "runtime/core/internal.h"

enum { HOST_ALIGNMENT = 64 };

static roc_buffer *dead_buffers; /* died under the lock; destroyed after it */
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

static void init_buffer(roc_buffer *buffer, roc_devptr address, size_t nbytes) {
  memset(buffer, 0, sizeof *buffer);
  atomic_init(&buffer->refs, 1);
  buffer->address = address;
  buffer->nbytes = nbytes;
  buffer->uses = buffer->inline_uses;
  buffer->use_capacity = ROC_RT_INLINE_USES;
}

static roc_status fail_oom(size_t nbytes, roc_error *err) {
  return roc_fail(err, ROC_OOM, "out of memory: %zu bytes of host memory cannot be had", nbytes);
}

roc_status roc_buffer_create_host(size_t nbytes, bool zeroed, roc_buffer **out_buffer,
                                  roc_error *err) {
  size_t padded;
  if (!roc_add_size(nbytes, HOST_ALIGNMENT, &padded)) return fail_oom(nbytes, err);
  roc_buffer *buffer = roc_alloc(sizeof *buffer);
  if (!buffer) return fail_oom(nbytes, err);
  /* calloc leaves large blocks to the kernel's lazily zeroed pages; hence the padding by hand. */
  void *block = zeroed ? roc_zalloc(padded) : roc_alloc_aligned(padded, HOST_ALIGNMENT);
  if (!block) {
    roc_free(buffer);
    return fail_oom(nbytes, err);
  }
  uintptr_t aligned = ((uintptr_t)block + HOST_ALIGNMENT - 1) & ~(uintptr_t)(HOST_ALIGNMENT - 1);
  init_buffer(buffer, (roc_devptr)aligned, nbytes);
  buffer->block = block;
  roc_buffer_count_bytes(nbytes, true);
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

roc_status roc_buffer_create_device(roc_rt_device *device, size_t nbytes, roc_buffer **out_buffer,
                                    roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  roc_rt_lock();
  roc_status status = roc_rt_device_check(device, err);
  if (status == ROC_OK) status = roc_rt_pool_alloc(device, nbytes, out_buffer, err);
  roc_rt_unlock();
  return status;
}

void roc_buffer_retain(roc_buffer *buffer) {
  atomic_fetch_add_explicit(&buffer->refs, 1, memory_order_relaxed);
}

static void destroy_host(roc_buffer *buffer) {
  if (buffer->release) buffer->release(buffer->release_ud);
  if (buffer->block) roc_buffer_count_bytes(buffer->nbytes, false);
  roc_free(buffer->block);
  roc_free(buffer);
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
  roc_buffer_drop_mirror(buffer);
  roc_buffer_drop_pin(buffer);
}

static bool drop_ref(roc_buffer *buffer) {
  return atomic_fetch_sub_explicit(&buffer->refs, 1, memory_order_acq_rel) == 1;
}

void roc_buffer_release_locked(roc_buffer *buffer) {
  if (!buffer || !drop_ref(buffer)) return;
  drop_uses_and_fault(buffer);
  if (buffer->device) {
    roc_rt_pool_free(buffer);
  } else {
    drop_extras(buffer);
    buffer->next = dead_buffers; /* a release callback may call us again, so not under the lock */
    dead_buffers = buffer;
  }
}

void roc_buffer_release(roc_buffer *buffer) {
  if (!buffer || !drop_ref(buffer)) return;
  bool is_plain = !buffer->device && buffer->uses == buffer->inline_uses && !buffer->pin &&
                  !buffer->mirror && !atomic_load_explicit(&buffer->fault, memory_order_relaxed);
  if (is_plain) {
    destroy_host(buffer);
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

roc_buffer *roc_buffer_take_dead(void) {
  roc_buffer *dead = dead_buffers;
  dead_buffers = NULL;
  return dead;
}

void roc_buffer_destroy_dead(roc_buffer *dead) {
  while (dead) {
    roc_buffer *next = dead->next;
    destroy_host(dead);
    dead = next;
  }
}

roc_rt_device *roc_buffer_device(const roc_buffer *buffer) {
  return buffer->device;
}

void *roc_buffer_host(const roc_buffer *buffer) {
  if (buffer->device && !roc_rt_device_driver(buffer->device)->props.host_memory) return NULL;
  return (void *)(uintptr_t)buffer->address;
}

roc_devptr roc_buffer_devptr(const roc_buffer *buffer) {
  return buffer->address;
}

size_t roc_buffer_nbytes(const roc_buffer *buffer) {
  return buffer->nbytes;
}

static uint32_t count_uses(const roc_buffer *buffer) {
  return atomic_load_explicit(&buffer->nuses, memory_order_acquire);
}

static roc_rt_use_entry *find_use(roc_buffer *buffer, const roc_rt_stream *stream) {
  for (uint32_t i = 0, n = count_uses(buffer); i < n; i++) {
    if (buffer->uses[i].stream == stream) return &buffer->uses[i];
  }
  return NULL;
}

bool roc_buffer_reserve_use(roc_buffer *buffer, roc_rt_stream *stream) {
  uint32_t count = count_uses(buffer);
  if (count < buffer->use_capacity || find_use(buffer, stream)) return true;
  roc_rt_use_entry *grown = roc_alloc(sizeof *grown * 2 * buffer->use_capacity);
  if (!grown) return false;
  memcpy(grown, buffer->uses, sizeof *grown * count);
  if (buffer->uses != buffer->inline_uses) roc_free(buffer->uses);
  buffer->uses = grown;
  buffer->use_capacity *= 2;
  return true;
}

void roc_buffer_set_use(roc_buffer *buffer, roc_rt_stream *stream, roc_ticket ticket, bool writes) {
  roc_rt_use_entry *entry = find_use(buffer, stream);
  if (!entry) {
    uint32_t count = count_uses(buffer);
    entry = &buffer->uses[count];
    *entry = (roc_rt_use_entry){.stream = stream};
    roc_buffer_retain(buffer);
    atomic_store_explicit(&buffer->nuses, count + 1, memory_order_release);
  }
  entry->last = ticket;
  if (writes) entry->last_write = ticket;
}

bool roc_buffer_clear_use(roc_buffer *buffer, roc_rt_stream *stream, roc_ticket ticket) {
  roc_rt_use_entry *entry = find_use(buffer, stream);
  if (!entry) return false;
  if (entry->last > ticket) {
    /* Later reads of the same stream do not keep readers waiting. */
    if (entry->last_write <= ticket) entry->last_write = 0;
    return false;
  }
  uint32_t count = count_uses(buffer);
  *entry = buffer->uses[count - 1];
  atomic_store_explicit(&buffer->nuses, count - 1, memory_order_release);
  return true;
}

void roc_buffer_set_fault(roc_buffer *buffer, roc_rt_fault *fault) {
  roc_rt_fault *old = atomic_load_explicit(&buffer->fault, memory_order_relaxed);
  if (old && !old->is_reported) return; /* the first one is what explains the array's contents */
  if (old) roc_rt_fault_release(old);
  fault->refs++;
  atomic_store_explicit(&buffer->fault, fault, memory_order_relaxed);
}

/* The first conflicting use that is not complete; its stream comes back retained.  Lock held. */
static roc_rt_stream *find_conflict(roc_buffer *buffer, bool for_write, roc_ticket *out_ticket) {
  for (uint32_t i = 0, n = count_uses(buffer); i < n; i++) {
    roc_rt_use_entry *use = &buffer->uses[i];
    roc_ticket ticket = for_write ? use->last : use->last_write;
    if (!ticket) continue;
    atomic_fetch_add_explicit(&use->stream->refs, 1, memory_order_relaxed);
    *out_ticket = ticket;
    return use->stream;
  }
  return NULL;
}

/* Work that is complete but not retired counts: only a wait looks at what it has left behind. */
bool roc_buffer_is_busy(const roc_buffer *buffer, bool for_write) {
  if (roc_rt_in_child()) return false;
  if (atomic_load_explicit(&buffer->fault, memory_order_relaxed)) return true;
  if (buffer->mirror && roc_mirror_is_busy(buffer, for_write)) return true;
  if (count_uses(buffer) == 0) return false;
  if (for_write) return true;
  bool busy = false;
  roc_rt_lock();
  for (uint32_t i = 0, n = count_uses(buffer); i < n; i++)
    busy = busy || buffer->uses[i].last_write;
  roc_rt_unlock();
  return busy;
}

roc_status roc_buffer_report(roc_buffer *buffer, roc_error *err) {
  if (!atomic_load_explicit(&buffer->fault, memory_order_relaxed)) return ROC_OK;
  roc_status status = ROC_OK;
  roc_rt_lock();
  roc_rt_fault *fault = atomic_load_explicit(&buffer->fault, memory_order_relaxed);
  if (fault) {
    if (!fault->is_reported) status = roc_fail(err, fault->code, "%s", fault->text);
    fault->is_reported = fault->code == ROC_FAULT;
    atomic_store_explicit(&buffer->fault, NULL, memory_order_relaxed);
    roc_rt_fault_release(fault);
  }
  roc_rt_unlock();
  return status;
}

roc_status roc_buffer_await(roc_buffer *buffer, bool for_write, roc_error *err) {
  if (roc_rt_in_child()) return ROC_OK; /* nobody works on it there */
  while (count_uses(buffer) > 0) {
    roc_ticket ticket = 0;
    roc_rt_lock();
    roc_rt_stream *stream = find_conflict(buffer, for_write, &ticket);
    roc_rt_unlock();
    if (!stream) break;
    roc_status status = roc_rt_stream_await(stream, ticket, true, err);
    roc_rt_stream_release(stream);
    ROC_TRY(status);
  }
  return ROC_OK;
}

roc_status roc_buffer_wait(roc_buffer *buffer, bool for_write, roc_error *err) {
  if (roc_rt_in_child()) return ROC_OK;
  ROC_TRY(roc_buffer_await(buffer, for_write, err));
  if (buffer->mirror) ROC_TRY(roc_mirror_settle(buffer, for_write, err));
  return roc_buffer_report(buffer, err);
}
