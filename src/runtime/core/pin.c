/* The end of registrations and mappings; see pin.h.
 *
 * A driver may wait for its device before memory is no longer page-locked.  So mappings that are
 * over are ended after the runtime's lock has been released (lock.c), before the memory goes. */
#include "runtime/core/pin.h"

#include "base/alloc.h"

static void unmap_all(roc_buffer *buffer) {
  while (buffer->pin->mappings) {
    roc_rt_mapping *m = buffer->pin->mappings;
    buffer->pin->mappings = m->next;
    roc_rt_bury_mapping(m);
  }
}

void roc_buffer_drop_pin_if_unused(roc_buffer *buffer) {
  roc_rt_pin *pin = buffer->pin;
  if (pin->newest || pin->owner) return;
  unmap_all(buffer);
  buffer->pin = NULL;
  roc_free(pin);
}

void roc_registration_end_locked(roc_registration *r) {
  roc_registration **link = &r->buffer->pin->newest;
  while (*link != r) link = &(*link)->next;
  *link = r->next;
  roc_buffer *buffer = r->buffer;
  r->buffer = NULL;
  if (!r->has_handle) roc_free(r);
  roc_buffer_drop_pin_if_unused(buffer);
}

void roc_buffer_drop_pin(roc_buffer *buffer) {
  if (!buffer->pin || roc_rt_in_child()) return; /* in a child: the driver's are the parent's */
  roc_rt_device *owner = buffer->pin->owner;
  buffer->pin->owner = NULL;
  unmap_all(buffer);
  roc_device *driver = owner ? owner->driver : NULL;
  if (driver && buffer->nbytes > 0) {
    driver->ops->free_host(driver, (void *)(uintptr_t)buffer->address);
    roc_buffer_count_bytes(buffer->nbytes, false);
  }
  if (owner) roc_rt_device_drop(owner);
  while (buffer->pin && buffer->pin->newest) roc_registration_end_locked(buffer->pin->newest);
  if (buffer->pin) roc_buffer_drop_pin_if_unused(buffer);
}
