/* Pins: why host memory is page-locked, and where devices see it.
 *
 * A buffer's pin exists exactly as long as it is registered or was born page-locked.  All of it is
 * under the runtime's lock. */
#ifndef ROC_RUNTIME_CORE_PIN_H
#define ROC_RUNTIME_CORE_PIN_H

#include "runtime/core/internal.h"
#include "runtime/registration.h"

struct roc_registration {
  roc_buffer *buffer;     /* NULL: over */
  roc_registration *next; /* an older one of the same buffer */
  bool has_handle;        /* else freed with its end */
};

typedef struct roc_rt_mapping {
  struct roc_rt_mapping *next;
  roc_rt_device *device; /* held open */
  void *memory;          /* the host's, */
  roc_devptr address;    /* and where the device finds it */
} roc_rt_mapping;

struct roc_rt_pin {
  roc_registration *newest;
  roc_rt_mapping *mappings;
  roc_rt_device *owner; /* whose driver gave the memory; NULL: registered only.  Held open */
};

void roc_buffer_drop_pin_if_unused(roc_buffer *buffer);
/* The registration is over; its handle, if there is one, learns of it by `buffer` being NULL. */
void roc_registration_end_locked(roc_registration *registration);

#endif
