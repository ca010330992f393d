/* Registered host memory: page-locked and mapped for devices, so that copies of it are asynchronous
 * and kernels use it in place.
 *
 * What is registered is a buffer, the memory of an array and of all views on it. Registrations
 * nest: the memory stays mapped until the last one ends, or until the buffer is gone, whichever is
 * first; a registration keeps no buffer alive. Memory of roc_buffer_create_pinned is mapped all its
 * life. A device is told of the memory when it is registered on it, any other one on first use. */
#ifndef ROC_RUNTIME_REGISTRATION_H
#define ROC_RUNTIME_REGISTRATION_H

#include "runtime/buffer.h"

/* One call of roc.register for one array. */
typedef struct roc_registration roc_registration;

/* Registers host memory and maps it for `device`.  On failure nothing has changed.  The result is
 * the caller's, to be given to roc_registration_free. */
roc_status roc_registration_begin(roc_buffer *buffer, roc_rt_device *device,
                                  roc_registration **out_registration, roc_error *err);
/* Takes back one that no work has seen, and frees the handle.  NULL is fine. */
void roc_registration_cancel(roc_registration *registration);
/* Undoes it, unless that has happened.  The last one of a buffer waits for the work that uses the
 * memory and, when `reports`, returns the FAULT of that work, after all is done.  INTERRUPTED:
 * still registered. */
roc_status roc_registration_end(roc_registration *registration, bool reports, roc_error *err);
bool roc_registration_is_over(const roc_registration *registration);
/* Forgets the handle; undoes nothing.  NULL is fine; never waits. */
void roc_registration_free(roc_registration *registration);

/* How many registrations of a buffer have not ended. */
uint32_t roc_buffer_registrations(const roc_buffer *buffer);
/* Ends the newest one, as roc_registration_end does; INVALID when there is none. */
roc_status roc_buffer_deregister(roc_buffer *buffer, roc_error *err);

/* Page-locked memory, 64-byte aligned at least, undefined contents.  OOM. */
roc_status roc_buffer_create_pinned(roc_rt_device *device, size_t nbytes, roc_buffer **out_buffer,
                                    roc_error *err);

/* True when kernels use this host memory in place: it is registered, or was made so. */
bool roc_buffer_is_mapped(const roc_buffer *buffer);
/* Where kernels of `device` find the begin of a mapped buffer. */
roc_status roc_buffer_map(roc_buffer *buffer, roc_rt_device *device, roc_devptr *out_address,
                          roc_error *err);

#endif
