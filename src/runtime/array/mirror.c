/* Keeping host memory and its double on a device alike; see mirror.h.
 *
 * A copy waits for the work that conflicts and ends when the bytes are there, so that a fresh side
 * is fresh for every stream. */
#include "runtime/mirror.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "runtime/array.h"
#include "runtime/array/transfer.h"
#include "runtime/core/internal.h"

static _Atomic uint64_t to_device_count, to_host_count;

roc_status roc_mirror_create(roc_buffer *host, roc_rt_session *session, roc_error *err) {
  if (host->mirror) return ROC_OK;
  if (host->is_read_only) return roc_buffer_fail_read_only(err);
  roc_buffer_note_write(host); /* which now has two sides */
  roc_mirror *made = roc_zalloc(sizeof *made);
  if (!made) return roc_fail(err, ROC_OOM, "out of memory: no room for a smart array");
  made->session = session;
  roc_rt_lock();
  roc_rt_session_retain(session);
  roc_rt_unlock();
  host->mirror = made;
  return ROC_OK;
}

bool roc_buffer_is_mirrored(const roc_buffer *buffer) {
  return buffer->mirror != NULL;
}

roc_rt_device *roc_mirror_device(const roc_buffer *host) {
  return host->mirror->device ? host->mirror->device->device : NULL;
}

/* All bytes of a buffer; borrows it. */
static roc_array bytes_of(roc_buffer *buffer, size_t nbytes) {
  return (roc_array){.buffer = buffer,
                     .dtype = ROC_DT_UINT8,
                     .rank = 1,
                     .extents = {(int64_t)nbytes},
                     .strides = {1}};
}

/* All bytes of one side to the other. */
static roc_status copy_bytes(const roc_mirror *m, roc_buffer *to, roc_buffer *from, size_t nbytes,
                             roc_error *err) {
  roc_array dst = bytes_of(to, nbytes), src = bytes_of(from, nbytes);
  ROC_TRY(roc_rt_check_open(err));
  roc_buffer_note_write(to);
  ROC_TRY(roc_buffer_settle(from, false, err));
  ROC_TRY(roc_buffer_settle(to, true, err));
  return roc_rt_transfer_now(m->session, &dst, &src, err);
}

static void drop_device(roc_mirror *m) {
  roc_buffer *device = m->device;
  m->device = NULL;
  m->is_host_stale = m->is_device_stale = false;
  roc_buffer_release(device);
}

static roc_status download(roc_buffer *host, roc_error *err) {
  roc_mirror *m = host->mirror;
  roc_status status = copy_bytes(m, host, m->device, host->nbytes, err);
  m->is_host_stale = m->is_device_stale = false;
  if (status == ROC_LOST) {
    drop_device(m); /* told once; then the host has what it last had */
  } else if (status != ROC_OK) {
    m->is_host_stale = true;
  } else {
    atomic_fetch_add(&to_host_count, 1);
  }
  return status;
}

static roc_status upload(roc_buffer *host, roc_error *err) {
  roc_mirror *m = host->mirror;
  ROC_TRY(copy_bytes(m, m->device, host, host->nbytes, err));
  m->is_device_stale = false;
  atomic_fetch_add(&to_device_count, 1);
  return ROC_OK;
}

static bool has_fault(const roc_mirror *m) {
  return m->device && atomic_load_explicit(&m->device->fault, memory_order_relaxed);
}

roc_status roc_mirror_settle(roc_buffer *host, bool for_write, roc_error *err) {
  roc_mirror *m = host->mirror;
  if (has_fault(m)) ROC_TRY(roc_buffer_settle(m->device, false, err));
  if (m->is_host_stale) ROC_TRY(download(host, err));
  if (for_write && m->device) m->is_device_stale = true;
  return ROC_OK;
}

static roc_status move_to(roc_buffer *host, roc_rt_device *device, roc_error *err) {
  roc_mirror *m = host->mirror;
  ROC_TRY(roc_mirror_settle(host, false, err));
  roc_buffer *made;
  ROC_TRY(roc_buffer_create_device(device, host->nbytes, &made, err));
  drop_device(m);
  m->device = made;
  m->is_device_stale = true;
  return ROC_OK;
}

roc_status roc_mirror_fetch(roc_buffer *host, roc_rt_device *device, roc_buffer **out_buffer,
                            roc_error *err) {
  roc_mirror *m = host->mirror;
  if (!m->device || (device && m->device->device != device)) ROC_TRY(move_to(host, device, err));
  if (m->is_device_stale) ROC_TRY(upload(host, err));
  *out_buffer = m->device;
  return ROC_OK;
}

roc_status roc_mirror_mark(roc_buffer *host, roc_side side, roc_error *err) {
  roc_mirror *m = host->mirror;
  roc_buffer_note_write(host);
  if (!m->device) {
    if (side == ROC_SIDE_HOST) return ROC_OK;
    return roc_fail(err, ROC_INVALID,
                    "the array has no side on a device yet: get(\"device\") makes it");
  }
  m->is_host_stale = side == ROC_SIDE_DEVICE;
  m->is_device_stale = side == ROC_SIDE_HOST;
  return ROC_OK;
}

static bool is_mirror_busy(const roc_buffer *host, bool for_write) {
  const roc_mirror *m = host->mirror;
  return m->is_host_stale || (for_write && m->device && !m->is_device_stale) || has_fault(m);
}

/* Whether the next wait for the buffer has a fault to report. */
static bool has_news(const roc_buffer *buffer) {
  if (!atomic_load_explicit(&buffer->fault, memory_order_relaxed)) return false;
  roc_rt_lock();
  const roc_rt_fault *fault = atomic_load_explicit(&buffer->fault, memory_order_relaxed);
  bool has = fault && !fault->is_reported;
  roc_rt_unlock();
  return has;
}

/* Work that is complete but not retired counts: only a wait reads its records. */
bool roc_buffer_is_busy(const roc_buffer *buffer, bool for_write) {
  if (for_write && buffer->is_read_only) return true;
  if (roc_rt_in_child()) return false;
  if (has_news(buffer)) return true;
  if (buffer->mirror && is_mirror_busy(buffer, for_write)) return true;
  if (roc_buffer_count_uses(buffer) == 0) return false;
  if (for_write) return true;
  bool busy = false;
  roc_rt_lock();
  for (uint32_t i = 0, n = roc_buffer_count_uses(buffer); i < n; i++)
    busy = busy || buffer->uses[i].last_write;
  roc_rt_unlock();
  return busy;
}

roc_status roc_buffer_wait(roc_buffer *buffer, bool for_write, roc_error *err) {
  if (for_write && buffer->is_read_only) return roc_buffer_fail_read_only(err);
  if (roc_rt_in_child()) return ROC_OK;
  if (for_write) roc_buffer_note_write(buffer);
  ROC_TRY(roc_buffer_await(buffer, for_write, err));
  if (buffer->mirror) ROC_TRY(roc_mirror_settle(buffer, for_write, err));
  return roc_buffer_report(buffer, err);
}

roc_status roc_mirror_end(roc_buffer *host, roc_error *err) {
  ROC_TRY(roc_buffer_wait(host, false, err));
  drop_device(host->mirror);
  return ROC_OK;
}

roc_mirror_counts roc_mirror_count(void) {
  return (roc_mirror_counts){atomic_load(&to_device_count), atomic_load(&to_host_count)};
}
