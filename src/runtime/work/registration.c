/* Registrations and the mappings they stand for; see registration.h.
 *
 * Everything is under the runtime's lock, for a buffer may die on any thread; a handle learns of it
 * because its buffer pointer is cleared (core/pin.c). */
#include "runtime/registration.h"

#include "base/alloc.h"
#include "runtime/core/internal.h"
#include "runtime/core/pin.h"

static roc_status fail_oom(roc_error *err) {
  return roc_fail(err, ROC_OOM, "out of memory: an array cannot be registered");
}

/* ---- mappings: lock held ------------------------------------------------- */

/* Devices that see all host memory are told nothing. */
static bool needs_mapping(const roc_buffer *buffer, const roc_rt_device *device) {
  const roc_device *driver = device->driver;
  return buffer->nbytes > 0 && driver->ops->host_register && !driver->props.host_memory &&
         buffer->pin->owner != device;
}

static roc_status map_locked(roc_buffer *buffer, roc_rt_device *device, roc_devptr *out_address,
                             roc_error *err) {
  *out_address = buffer->address;
  if (!needs_mapping(buffer, device)) return ROC_OK;
  for (const roc_rt_mapping *m = buffer->pin->mappings; m; m = m->next) {
    *out_address = m->address;
    if (m->device == device) return ROC_OK;
  }
  roc_device *driver = device->driver;
  roc_rt_mapping *made = roc_alloc(sizeof *made);
  if (!made) return fail_oom(err);
  roc_status status = driver->ops->host_register(driver, (void *)(uintptr_t)buffer->address,
                                                 buffer->nbytes, &made->address, err);
  if (status != ROC_OK) {
    roc_free(made);
    return status == ROC_LOST ? roc_rt_device_set_lost(device, NULL, err) : status;
  }
  made->device = device;
  made->memory = (void *)(uintptr_t)buffer->address;
  made->next = buffer->pin->mappings;
  buffer->pin->mappings = made;
  device->live++;
  *out_address = made->address;
  return ROC_OK;
}

/* ---- registrations ------------------------------------------------------- */

static roc_status begin_locked(roc_buffer *buffer, roc_rt_device *device, roc_registration *r,
                               roc_error *err) {
  ROC_TRY(roc_rt_device_check(device, err));
  if (!buffer->pin) buffer->pin = roc_zalloc(sizeof *buffer->pin);
  if (!buffer->pin) return fail_oom(err);
  roc_devptr unused;
  roc_status status = map_locked(buffer, device, &unused, err);
  if (status != ROC_OK) {
    roc_buffer_drop_pin_if_unused(buffer);
    return status;
  }
  *r = (roc_registration){.buffer = buffer, .next = buffer->pin->newest, .has_handle = true};
  buffer->pin->newest = r;
  return ROC_OK;
}

roc_status roc_registration_begin(roc_buffer *buffer, roc_rt_device *device,
                                  roc_registration **out_registration, roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  roc_registration *r = roc_alloc(sizeof *r);
  if (!r) return fail_oom(err);
  roc_buffer_note_write(buffer); /* a device may reach it from now on */
  roc_rt_lock();
  roc_status status = begin_locked(buffer, device, r, err);
  roc_rt_unlock();
  if (status != ROC_OK) {
    roc_free(r);
    return status;
  }
  *out_registration = r;
  return ROC_OK;
}

void roc_registration_cancel(roc_registration *r) {
  if (!r) return;
  roc_rt_lock();
  r->has_handle = false;
  roc_registration_end_locked(r);
  roc_rt_unlock();
}

/* Waits before the last registration of the buffer ends.  A lost device has no work left. */
static roc_status await_last(roc_buffer *buffer, roc_error *err) {
  if (roc_buffer_registrations(buffer) != 1) return ROC_OK;
  roc_status status = roc_buffer_await(buffer, true, err);
  return status == ROC_LOST ? ROC_OK : status;
}

roc_status roc_registration_end(roc_registration *r, bool reports, roc_error *err) {
  roc_rt_lock();
  roc_buffer *buffer = r->buffer && roc_buffer_retain_live(r->buffer) ? r->buffer : NULL;
  roc_rt_unlock();
  if (!buffer) return ROC_OK;
  roc_status status = await_last(buffer, err);
  if (status == ROC_OK) {
    roc_rt_lock();
    if (r->buffer) roc_registration_end_locked(r);
    roc_rt_unlock();
    if (reports && !buffer->pin) status = roc_buffer_report(buffer, err);
  }
  roc_buffer_release(buffer);
  return status;
}

bool roc_registration_is_over(const roc_registration *r) {
  roc_rt_lock();
  bool is_over = !r->buffer;
  roc_rt_unlock();
  return is_over;
}

void roc_registration_free(roc_registration *r) {
  if (!r) return;
  roc_rt_lock();
  bool is_over = !r->buffer;
  r->has_handle = false;
  roc_rt_unlock();
  if (is_over) roc_free(r);
}

uint32_t roc_buffer_registrations(const roc_buffer *buffer) {
  uint32_t count = 0;
  roc_rt_lock();
  const roc_registration *r = buffer->pin ? buffer->pin->newest : NULL;
  for (; r; r = r->next) count++;
  roc_rt_unlock();
  return count;
}

roc_status roc_buffer_deregister(roc_buffer *buffer, roc_error *err) {
  ROC_TRY(await_last(buffer, err));
  roc_rt_lock();
  roc_registration *r = buffer->pin ? buffer->pin->newest : NULL;
  if (r) roc_registration_end_locked(r);
  roc_rt_unlock();
  if (!r) return roc_fail(err, ROC_INVALID, "the array is not registered");
  return buffer->pin ? ROC_OK : roc_buffer_report(buffer, err);
}

/* ---- memory that is born page-locked ------------------------------------- */

static roc_status alloc_pinned_locked(roc_rt_device *device, size_t nbytes, void **out_memory,
                                      roc_error *err) {
  ROC_TRY(roc_rt_device_check(device, err));
  roc_device *driver = device->driver;
  *out_memory = NULL;
  roc_status status = nbytes ? driver->ops->alloc_host(driver, nbytes, out_memory, err) : ROC_OK;
  if (status == ROC_LOST) return roc_rt_device_set_lost(device, NULL, err);
  if (status == ROC_OK) device->live++;
  return status;
}

roc_status roc_buffer_create_pinned(roc_rt_device *device, size_t nbytes, roc_buffer **out_buffer,
                                    roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  roc_rt_pin *pin = roc_zalloc(sizeof *pin);
  if (!pin) return fail_oom(err);
  roc_buffer *buffer;
  roc_status status = roc_buffer_wrap_host(NULL, nbytes, NULL, NULL, &buffer, err);
  if (status != ROC_OK) {
    roc_free(pin);
    return status;
  }
  void *memory = NULL;
  roc_rt_lock();
  status = alloc_pinned_locked(device, nbytes, &memory, err);
  roc_rt_unlock();
  if (status != ROC_OK) {
    roc_free(pin);
    roc_buffer_release(buffer);
    return status;
  }
  roc_buffer_count_bytes(nbytes, true);
  pin->owner = device;
  buffer->pin = pin;
  buffer->address = (roc_devptr)(uintptr_t)memory;
  *out_buffer = buffer;
  return ROC_OK;
}

/* ---- use ----------------------------------------------------------------- */

bool roc_buffer_is_mapped(const roc_buffer *buffer) {
  return buffer->pin != NULL;
}

roc_status roc_buffer_map(roc_buffer *buffer, roc_rt_device *device, roc_devptr *out_address,
                          roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  roc_rt_lock();
  roc_status status = roc_rt_device_check(device, err);
  if (status == ROC_OK) status = map_locked(buffer, device, out_address, err);
  roc_rt_unlock();
  return status;
}
