/* Buffers: reference-counted blocks of host or device memory, and the work that still uses them.
 *
 * An array is a view on a buffer.  Work that uses memory later than the call (a queued launch or
 * copy) notes a use; a host access waits for the uses it conflicts with, and only those.  Releasing
 * the last reference never waits: queued work holds a reference of its own to each block that it
 * uses, which is dropped when the work is retired. */
#ifndef ROC_RUNTIME_BUFFER_H
#define ROC_RUNTIME_BUFFER_H

#include "base/status.h"
#include "device/device.h"

typedef struct roc_rt_device roc_rt_device;   /* runtime/device.h */
typedef struct roc_rt_stream roc_rt_stream;   /* runtime/stream.h */
typedef struct roc_rt_session roc_rt_session; /* runtime/session.h */
typedef struct roc_buffer roc_buffer;

/* Host memory, 64-byte aligned; zeroed on demand.  One reference.  OOM. nbytes may be 0. */
roc_status roc_buffer_create_host(size_t nbytes, bool zeroed, roc_buffer **out_buffer,
                                  roc_error *err);
/* Host memory of another owner; `release(ud)` (NULL: nothing) is called once when the last use is
 * over, on the thread that finds that, without a lock.  Work of a device that is lost is over when
 * the device has been reset, or else never. */
roc_status roc_buffer_wrap_host(void *memory, size_t nbytes, void (*release)(void *ud), void *ud,
                                roc_buffer **out_buffer, roc_error *err);
/* The same of memory of the device.  LOST, CLOSED. */
roc_status roc_buffer_wrap_device(roc_rt_device *device, roc_devptr address, size_t nbytes,
                                  void (*release)(void *ud), void *ud, roc_buffer **out_buffer,
                                  roc_error *err);
/* Device memory, undefined contents. On failure retires finished work and trims the pool once
 * before reporting OOM. */
roc_status roc_buffer_create_device(roc_rt_device *device, size_t nbytes, roc_buffer **out_buffer,
                                    roc_error *err);

/* A buffer of the device's memory, or (NULL) of the host's, that has none yet: for contents that are
 * pending (below).  OOM: no room for what describes it. */
roc_status roc_buffer_create_later(roc_rt_device *device, size_t nbytes, roc_buffer **out_buffer,
                                   roc_error *err);
/* Gives such a buffer its memory, unless it has it.  OOM, LOST, CLOSED. */
roc_status roc_buffer_provide(roc_buffer *buffer, roc_error *err);
/* Other memory on the same side, with `nbytes` of the bytes, from `begin` on, that the buffer has when
 * all work on it that is queued by now is done.  The copy is queued on the stream, or (NULL, or a stream of another device)
 * apart from the script's streams, as the session's work; work queued later comes after it, where
 * the two conflict.  Host memory is copied at once. */
roc_status roc_buffer_duplicate(roc_buffer *buffer, size_t begin, size_t nbytes,
                                roc_rt_stream *stream, roc_rt_session *session,
                                roc_buffer **out_buffer, roc_error *err);

/* From now on what would write the memory fails with INVALID: waits in order to write, queued copies
 * and launches.  Of wrapped memory that no work uses yet. */
void roc_buffer_protect(roc_buffer *buffer);
/* Wrapped memory goes back to its owner now, without a call of `release`.  No work uses it. */
void roc_buffer_disown(roc_buffer *buffer);
bool roc_buffer_is_read_only(const roc_buffer *buffer);
/* INVALID, and what to do instead of writing to such memory. */
roc_status roc_buffer_fail_read_only(roc_error *err);

/* Comes before every write to memory of arrays: of the host, of work that is queued (when it is
 * queued), of a side of a mirror; and before memory is mapped, exported, registered or told by its
 * address, which others may write from then on.  Calls the hook.  Not under the runtime's lock. */
void roc_buffer_note_write(roc_buffer *buffer);
/* One a process, on any thread that writes; NULL: none.  It is set while no thread writes.  `stream`:
 * where the write is to be queued; NULL: the host, which waits before it writes, or others. */
typedef void (*roc_write_hook)(void *ud, roc_buffer *buffer, roc_rt_stream *stream);
void roc_buffer_set_write_hook(roc_write_hook hook, void *ud);
/* Another, which only observes; for the specs. */
void roc_buffer_observe_writes(roc_write_hook hook, void *ud);

/* ---- memory that is computed when it is needed ---- */

/* From now on, until it is set to NULL, the memory's contents are still to be computed by
 * `pending`, which `release` frees when the buffer goes away first.  The layer that sets it sees to
 * it that nothing reads or writes the memory before, and that no queued work holds it last. */
void roc_buffer_set_pending(roc_buffer *buffer, void *pending, void (*release)(void *pending));
void *roc_buffer_pending(const roc_buffer *buffer);
/* It is memory of the device, and nothing is pending in it or reads it. */
bool roc_buffer_is_settled(const roc_buffer *buffer, const roc_rt_device *device);
/* How many pending ones read the memory; `change` is added. */
uint32_t roc_buffer_readers(const roc_buffer *buffer);
void roc_buffer_count_readers(roc_buffer *buffer, int change);
uint32_t roc_buffer_references(const roc_buffer *buffer); /* of all kinds */
/* Something else than this state may write the memory, now or at any time: it is another owner's,
 * doubled or page-locked, or its address has been given away. */
bool roc_buffer_is_shared(const roc_buffer *buffer);
void roc_buffer_share(roc_buffer *buffer); /* notes a write */

void roc_buffer_retain(roc_buffer *buffer);  /* any thread */
void roc_buffer_release(roc_buffer *buffer); /* any thread; NULL is fine; never waits */

roc_rt_device *roc_buffer_device(const roc_buffer *buffer); /* NULL: host memory */
void *roc_buffer_host(
    const roc_buffer *buffer); /* host pointer, or NULL when the host cannot touch it */
roc_devptr roc_buffer_devptr(
    const roc_buffer *buffer); /* address for kernels (of host memory: the pointer) */
size_t roc_buffer_nbytes(const roc_buffer *buffer);
/* Bytes of all buffers that live, of host and devices; what others lent us does not count. */
size_t roc_buffer_live_bytes(void);

/* True when roc_buffer_wait has work to wait for (a read conflicts with writes, a write with all
 * uses), a fault to report or a write to refuse. Cheap. */
bool roc_buffer_is_busy(const roc_buffer *buffer, bool for_write);
/* Waits for pending writes (for_write: all uses), and reports nothing but INTERRUPTED and LOST. */
roc_status roc_buffer_await(roc_buffer *buffer, bool for_write, roc_error *err);
/* The same for the host about to touch the memory: brings it up to date where it is doubled on a
 * device (runtime/mirror.h), and reports a contained fault of the work it waited
 * for as ROC_FAULT, once.  INVALID: it is read-only, and for_write. */
roc_status roc_buffer_wait(roc_buffer *buffer, bool for_write, roc_error *err);

#endif
