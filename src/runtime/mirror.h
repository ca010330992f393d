/* Mirrors: the memory of a host array doubled on a device, moved only when the other side needs it.
 *
 * A mirror belongs to a buffer, byte for byte, so that all views of an array share it and lie at
 * the same offsets on both sides. After roc_buffer_wait the host's memory is up to date; a wait in
 * order to write makes the device's side stale. The two sides are never stale at once. Like
 * elements, a mirror is for one thread at a time. */
#ifndef ROC_RUNTIME_MIRROR_H
#define ROC_RUNTIME_MIRROR_H

#include "runtime/buffer.h"
#include "runtime/session.h"

typedef enum roc_side { ROC_SIDE_HOST, ROC_SIDE_DEVICE } roc_side;

/* Gives a host buffer a mirror unless it has one; no device memory yet.  Its copies are work of the
 * session. */
roc_status roc_mirror_create(roc_buffer *host, roc_rt_session *session, roc_error *err);
bool roc_buffer_is_mirrored(const roc_buffer *buffer);
/* The device's side, up to date, on `device`; NULL: where it is.  Made, moved from another device
 * or copied only when needed.  Borrowed: the mirror's. */
roc_status roc_mirror_fetch(roc_buffer *host, roc_rt_device *device, roc_buffer **out_buffer,
                            roc_error *err);
/* Where the device's side is; NULL: nowhere yet. */
roc_rt_device *roc_mirror_device(const roc_buffer *host);
/* One side has changed, the other is stale.  INVALID: there is no device's side. */
roc_status roc_mirror_mark(roc_buffer *host, roc_side side, roc_error *err);
/* Brings the host's side up to date and gives the device's memory back. */
roc_status roc_mirror_end(roc_buffer *host, roc_error *err);

/* Copies made by mirrors in this process so far. */
typedef struct roc_mirror_counts {
  uint64_t to_device, to_host;
} roc_mirror_counts;
roc_mirror_counts roc_mirror_count(void);

#endif
