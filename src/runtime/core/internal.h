/* What the runtime's folders share, and no other layer includes.
 *
 * One lock guards everything below: uses of buffers, streams' pending work, pools, faults, prints.
 * It is held for short work only, never across a wait; driver ops that queue or allocate run under
 * it, which is what serialises them.
 *
 * Every piece of queued work is a roc_rt_pending of its stream.  It owns a reference to its kernel;
 * each buffer it uses has an entry for the stream, which owns a reference to the buffer.  So
 * nothing is freed while a device may touch it.  Work is retired, in order, once its ticket is
 * complete: by waits, by later launches on the stream, and before an allocation is called failed.
 *
 * Invariant: a buffer has an entry for a stream exactly as long as that stream has a pending that
 * uses the buffer. */
#ifndef ROC_RUNTIME_CORE_INTERNAL_H
#define ROC_RUNTIME_CORE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/buffer.h"
#include "runtime/launch.h"
#include "runtime/session.h"
#include "runtime/stream.h"

enum {
  ROC_RT_INLINE_USES = 4,    /* streams that use one buffer at a time, before the heap is asked */
  ROC_RT_INLINE_BUFFERS = 8, /* buffers of one launch, likewise */
  ROC_RT_MAX_FAULTS = 16,    /* unreported faults a stream remembers */
  ROC_RT_POOL_CLASSES = 160, /* four to a power of two, from 256 bytes */
  ROC_RT_MAX_DEVICES = 64,
};

#define ROC_RT_NO_TICKET UINT64_MAX /* of no work: above all tickets */

/* A contained error: kept by its stream and by each buffer the kernel used, reported by the
 * first wait. */
typedef struct roc_rt_fault {
  uint32_t refs;   /* under the lock */
  roc_status code; /* FAULT; LOST: what the buffer was to receive will not come, each is told */
  bool is_reported;
  /* Of the work that failed by it, in its stream: more than one when a queue stopped.
   * ROC_RT_NO_TICKET in `first`: that stream is gone, and another keeps the fault. */
  roc_ticket first, last;
  uint64_t failure; /* the driver's number of it, in its stream; 0: not the driver's */
  char text[];
} roc_rt_fault;

typedef struct roc_rt_use_entry {
  roc_rt_stream *stream;
  roc_ticket last, last_write;       /* 0: none */
  roc_ticket ordered, ordered_write; /* the same of work that other streams wait for (order.c) */
} roc_rt_use_entry;

struct roc_buffer {
  _Atomic uint32_t refs;
  _Atomic uint32_t nuses; /* read without the lock by roc_buffer_is_busy */
  uint32_t use_capacity;
  uint32_t pool_class;   /* device memory */
  roc_rt_device *device; /* NULL: host memory */
  roc_devptr address;
  size_t nbytes;
  size_t block_bytes;        /* device memory: what the driver gave, at least nbytes */
  void *block;               /* host memory: what to free, the buffer itself where it is a part of
                                that block; NULL when wrapped */
  bool is_wrapped;           /* device memory that another owner allocated */
  bool is_retained;          /* in device->retained */
  bool lacks_memory;         /* roc_buffer_provide gives it some */
  bool is_read_only;         /* wrapped memory that may not be written */
  void (*release)(void *ud); /* wrapped memory */
  void *release_ud;
  roc_rt_use_entry *uses;        /* inline_uses, or a heap block */
  _Atomic bool has_ordered;      /* in some entry; read without the lock */
  _Atomic(roc_rt_fault *) fault; /* owns a reference */
  struct roc_rt_pin *pin;        /* core/pin.h; NULL: ordinary memory */
  struct roc_mirror *mirror;     /* array/mirror.c; NULL: none */
  void *pending;                 /* core/pending.c; NULL: memory as any other */
  void (*release_pending)(void *pending);
  _Atomic uint32_t nreaders;
  _Atomic bool is_shared;
  roc_buffer *next; /* in the pool's list, or among the dead */
  roc_rt_use_entry inline_uses[ROC_RT_INLINE_USES];
};

/* The memory of a host buffer doubled on a device. */
typedef struct roc_mirror {
  roc_rt_session *session; /* counted: copies run on its transfer streams */
  roc_buffer *device;      /* NULL: no memory there yet */
  bool is_host_stale, is_device_stale;
} roc_mirror;

typedef struct roc_rt_pending {
  roc_ticket ticket;
  roc_rt_kernel *kernel; /* NULL: a copy or fill */
  roc_fault_record *record;
  roc_print_buffer *print;
  const char *file;
  uint32_t line, rank;
  uint32_t nbuffers;
  roc_buffer **more_buffers; /* NULL: inline_buffers */
  roc_buffer *inline_buffers[ROC_RT_INLINE_BUFFERS];
} roc_rt_pending;

/* What a stream remembers of a timeline (runtime/trace.h). */
typedef struct roc_rt_stream_trace {
  uint32_t generation, number; /* of the timeline; of the stream in it */
  struct roc_rt_trace_span *last;
  bool has_waited; /* for another stream, since then */
} roc_rt_stream_trace;

struct roc_rt_stream {
  _Atomic uint32_t refs;   /* 0: orphaned, lives until its work is retired */
  roc_rt_session *session; /* counted */
  roc_rt_device *device;
  roc_dev_stream *driver;
  roc_ticket last_ticket; /* of the work queued last */
  roc_rt_pending *ring;   /* capacity is a power of two */
  uint32_t first, count, capacity;
  roc_rt_fault *faults[ROC_RT_MAX_FAULTS]; /* oldest first; unreported when they came in */
  uint32_t nfaults;
  roc_rt_stream_trace trace;
  roc_rt_stream *next; /* of the device */
};

typedef struct roc_rt_print roc_rt_print; /* core/print.c */

struct roc_rt_session {
  _Atomic(const void *) key; /* NULL: no user */
  _Atomic bool is_interrupted;
  _Atomic(void *) running; /* what the user runs on that thread: a work-item of sim */
  _Atomic pthread_t running_on;
  bool shows_progress;
  _Atomic(struct roc_rt_progress *) progress; /* which has the line on the terminal */
  struct {
    uint64_t begin_ns, end_ns, count;
  } series;             /* of work that came one after the other; for that which has the line */
  roc_rt_session *next; /* in the list of all, for good */
  /* The lock guards the rest. */
  uint32_t refs;          /* the user, streams, mirrors; 0: to be used again */
  bool has_user;          /* which takes the prints */
  _Atomic bool is_closed; /* takes no more work */
  bool is_left; /* its user gave up the wait for its work: no end of the process waits for it */
  roc_rt_print *first_print, **last_print; /* oldest first */
  /* By the device's index; each is made on first need. */
  _Atomic(roc_rt_stream *) default_streams[ROC_RT_MAX_DEVICES]; /* read without the lock */
  roc_rt_stream *transfer_streams[ROC_RT_MAX_DEVICES]; /* copies that wait for no other work */
  roc_rt_stream *library_streams[ROC_RT_MAX_DEVICES];  /* on the queue of the vendor's library */
};

struct roc_rt_kernel {
  uint32_t refs; /* under the lock */
  roc_rt_device *device;
  roc_dev_module *module;
  roc_codeobj *object; /* owned: object->free with the kernel (jit drops specialisations while
                          launches are pending) */
  char *name;
};

/* Blocks of device-visible host memory for records; blocks of one device, never shrunk before it
 * closes. */
typedef struct roc_rt_record_block roc_rt_record_block;
typedef struct roc_rt_print_slot roc_rt_print_slot;

struct roc_rt_device {
  roc_device *driver;
  uint32_t index;
  char label[192];       /* constant once it is open */
  roc_rt_device **entry; /* of the table of devices; NULL again when it has closed */
  uint32_t live;         /* the table until shutdown, buffers, streams and kernels hold it open */
  roc_rt_stream *streams;
  roc_buffer *pool[ROC_RT_POOL_CLASSES];
  size_t pooled_bytes, pool_limit_bytes;
  size_t used_bytes;    /* blocks of buffers that live */
  roc_buffer *retained; /* wrapped memory that work used when the device was lost, by `next` */
  roc_rt_record_block *record_blocks;
  roc_fault_record *free_records; /* linked through their first bytes; the rest is zero */
  roc_rt_print_slot *free_prints;
  bool is_closing;
  _Atomic uint32_t resets;
  char lost_text[1400]; /* the one error a lost device raises; "" while it is well */
};

/* ---- core ---------------------------------------------------------------- */

/* lock.c */
void roc_rt_lock(void);
void roc_rt_unlock(void); /* then ends mappings and destroys buffers that died under the lock */
bool roc_rt_in_child(void);
void roc_rt_guard_forks(void);    /* once: a fork waits for the lock */
bool roc_rt_begin_shutdown(void); /* from now on closed; whether it was before */

/* Where host memory begins, in bytes. */
enum { ROC_HOST_ALIGNMENT = 64 };

/* The block of a host buffer whose memory is a part of it. */
static inline size_t roc_buffer_joint_bytes(size_t nbytes) {
  return sizeof(roc_buffer) + ROC_HOST_ALIGNMENT + nbytes;
}

/* host_memory.c */
void roc_buffer_count_bytes(size_t nbytes, bool is_born); /* any thread, lock or not */
void roc_buffer_destroy_host(roc_buffer *buffer);         /* without the lock */
void roc_buffer_bury(roc_buffer *buffer);                 /* lock held: destroyed after it */
void roc_buffer_destroy_dead(roc_buffer *dead);           /* without the lock */

/* record.c.  Lock held for all. */
roc_status roc_rt_records_take(roc_rt_device *device, const roc_codeobj *object,
                               roc_rt_pending *pending, roc_error *err);
void roc_rt_records_give_back(roc_rt_device *device, roc_rt_pending *pending);
void roc_rt_records_deinit(roc_rt_device *device);
/* Room for so many bytes that the device writes and the host reads; not given back: until the
 * device closes, no other use has it. */
enum { ROC_RT_ROOM_BYTES = 128 };
roc_status roc_rt_room_take(roc_rt_device *device, void **out_room, roc_error *err);
void roc_rt_room_give_back(roc_rt_device *device, void *room);

/* session.c.  Lock held for all. */
static inline void roc_rt_session_retain(roc_rt_session *session) {
  session->refs++;
}
static inline void roc_rt_session_drop(roc_rt_session *session) {
  session->refs--;
}
roc_status roc_rt_session_check(const roc_rt_session *session, roc_error *err); /* CLOSED */
/* Without the lock: it takes no more work from now on; false: so it was.  Its user gives up the
 * wait for its work. */
bool roc_rt_session_begin_end(roc_rt_session *session);
void roc_rt_session_leave(roc_rt_session *session);

/* print.c.  Lock held: keeps the lines for the session's user; drops those it has not taken. */
void roc_rt_read_prints(roc_rt_session *session, const roc_codeobj *object,
                        const roc_print_buffer *print);
void roc_rt_drop_prints(roc_rt_session *session);

/* fault.c.  Lock held for all. */
roc_rt_fault *roc_rt_fault_new(roc_status code, roc_ticket ticket, const char *text);
roc_rt_fault *roc_rt_fault_read(const roc_rt_pending *pending); /* of a launch that left a record */
void roc_rt_fault_release(roc_rt_fault *fault);
void roc_rt_stream_add_fault(roc_rt_stream *stream, roc_rt_fault *fault); /* takes it over */
/* The stream's fault that has this number of the driver's; NULL: none. */
roc_rt_fault *roc_rt_stream_find_failure(roc_rt_stream *stream, uint64_t failure);
/* A stream's unreported faults go to the session's default stream, where the next wait or the
 * session's end finds them. */
void roc_rt_stream_hand_over_faults(roc_rt_stream *orphan);

/* stamp.c: queues a stamp of the device's time, or of the host's where the device has none.  Lock
 * held. */
roc_status roc_rt_queue_stamp(roc_dev_stream *stream, uint64_t *out_ns, roc_ticket *out_ticket,
                              roc_error *err);

/* hold.c.  Lock held for all; release.c takes it first. */
/* Drops one hold; the last after shutdown closes the driver's device. */
void roc_rt_device_drop(roc_rt_device *device);
void roc_rt_stream_destroy(roc_rt_stream *stream); /* unlinked by the caller */
void roc_rt_kernel_release_locked(roc_rt_kernel *kernel);
/* A mapping that is over still holds its device: lock.c takes and ends it without the lock. */
struct roc_rt_mapping;
void roc_rt_bury_mapping(struct roc_rt_mapping *mapping);

/* pool.c.  Lock held for all. */
/* The smallest class that holds nbytes; ROC_RT_POOL_CLASSES when none does. */
uint32_t roc_rt_pool_class(size_t nbytes);
size_t roc_rt_pool_block_bytes(size_t nbytes, uint32_t class_index);
/* A freed block of the class that holds nbytes; NULL: none. */
roc_buffer *roc_rt_pool_take(roc_rt_device *device, uint32_t class_index, size_t nbytes);
/* A zeroed buffer with a new block of roc_rt_pool_block_bytes at its address becomes one of the
 * device's. */
void roc_rt_pool_adopt(roc_buffer *buffer, roc_rt_device *device, size_t nbytes,
                       uint32_t class_index);
void roc_rt_pool_free(roc_buffer *buffer);
void roc_rt_pool_trim(roc_rt_device *device);

/* pin.c.  Lock held: the buffer is gone, and so are its registrations and mappings. */
typedef struct roc_rt_pin roc_rt_pin;
void roc_buffer_drop_pin(roc_buffer *buffer);

/* buffer.c */
/* Gives a buffer of host memory, which has none, its block. */
roc_status roc_buffer_alloc_host(roc_buffer *buffer, bool zeroed, roc_error *err);
void roc_buffer_release_locked(roc_buffer *buffer); /* lock held */
/* One more reference, unless the last one has gone. */
bool roc_buffer_retain_live(roc_buffer *buffer);

/* write.c.  Lock not held: of all that a piece of work on the stream writes. */
void roc_rt_note_writes(roc_rt_stream *stream, const roc_rt_use *uses, uint32_t nuses);

/* use.c.  Lock held for all but the first. */
static inline uint32_t roc_buffer_count_uses(const roc_buffer *buffer) {
  return atomic_load_explicit(&buffer->nuses, memory_order_acquire);
}
bool roc_buffer_reserve_use(roc_buffer *buffer, roc_rt_stream *stream);
/* Of all buffers that a piece of work uses.  INVALID: it writes one that is read-only; OOM. */
roc_status roc_rt_reserve_uses(roc_rt_stream *stream, const roc_rt_use *uses, uint32_t nuses,
                               roc_error *err);
void roc_buffer_set_use(roc_buffer *buffer, roc_rt_stream *stream, roc_ticket ticket, bool writes);
/* From now on other streams wait for the use, which is the stream's last. */
void roc_buffer_set_ordered(roc_buffer *buffer, roc_rt_stream *stream, bool writes);
/* Work up to `ticket` is over.  True when that was all: the caller then releases the reference that
 * the entry held. */
bool roc_buffer_clear_use(roc_buffer *buffer, roc_rt_stream *stream, roc_ticket ticket);
/* The first use that conflicts and is not retired; its stream comes back retained.  NULL: none. */
roc_rt_stream *roc_buffer_find_conflict(roc_buffer *buffer, bool for_write, roc_ticket *out_ticket);
void roc_buffer_set_fault(roc_buffer *buffer, roc_rt_fault *fault);

/* ---- work ---------------------------------------------------------------- */

/* retire.c.  Lock held for all. */
/* Room for one more pending with `nbuffers` buffers; NULL when memory is out.  Not part of the ring
 * until committed. */
roc_rt_pending *roc_rt_pending_begin(roc_rt_stream *stream, uint32_t nbuffers);
void roc_rt_pending_abort(roc_rt_pending *pending);
/* Notes the uses, takes the references and appends. `pending` is the one begun last. */
void roc_rt_pending_commit(roc_rt_stream *stream, roc_rt_pending *pending, roc_ticket ticket,
                           const roc_rt_use *uses, uint32_t nuses);
/* Retires the leading pendings whose work is complete. */
void roc_rt_retire(roc_rt_stream *stream);
/* The same for those before `ticket`, the one just queued: what both use changes no hands.  In
 * passing: only what is known to be complete. */
void roc_rt_retire_before(roc_rt_stream *stream, roc_ticket ticket);
/* Retires all, complete or not: the device is lost.  Host memory that was in use keeps `text` as
 * its fault. */
void roc_rt_retire_lost(roc_rt_stream *stream, const char *text);
/* Of a device that was lost and is new again: wrapped memory goes back to its owners. */
void roc_rt_release_retained(roc_rt_device *device);
/* Retires on all streams of the device and frees orphaned streams that have nothing left. */
void roc_rt_device_poll(roc_rt_device *device);

/* loss.c.  Lock held. */
/* CLOSED, or LOST with the device's one text. */
roc_status roc_rt_device_check(roc_rt_device *device, roc_error *err);
/* The same for the stream's session and its device. */
roc_status roc_rt_stream_check(const roc_rt_stream *stream, roc_error *err);
/* Remembers that the device is lost and why; fills err with the text every later call gets. */
roc_status roc_rt_device_set_lost(roc_rt_device *device, const roc_rt_pending *work,
                                  roc_error *err);

/* stream.c */
/* Waits without reporting a fault.  Lock not held; the caller holds a reference to the stream. An
 * interrupt of `waiter`, mostly the stream's session, ends the wait, and the kernels of the session
 * on that device. */
roc_status roc_rt_stream_await(roc_rt_stream *stream, roc_ticket ticket, roc_rt_session *waiter,
                               roc_error *err);
/* Waits for the work queued last, and reports its fault alone. */
roc_status roc_rt_stream_await_last(roc_rt_stream *stream, roc_error *err);
/* Lock held. */
void roc_rt_stream_release_locked(roc_rt_stream *stream);
/* Waits until the driver takes the launch (NULL: other work) without waiting itself, which could
 * not be interrupted.  Called before work is queued: the lock is held, and given up meanwhile.
 * INTERRUPTED, LOST, CLOSED. */
roc_status roc_rt_stream_await_room(roc_rt_stream *stream, const roc_rt_launch *launch,
                                    roc_error *err);
/* Oldest unreported fault, marked reported; lock held. */
bool roc_rt_stream_take_fault(roc_rt_stream *stream, roc_error *err);
/* The session's stream for copies on behalf of the host, retained.  Lock not held. */
roc_status roc_rt_transfer_stream(roc_rt_session *session, roc_rt_device *device,
                                  roc_rt_stream **out_stream, roc_error *err);
/* The same on the queue of the library of the device's vendor, for what that computes. */
roc_status roc_rt_library_stream(roc_rt_session *session, roc_rt_device *device, void *queue,
                                 roc_rt_stream **out_stream, roc_error *err);

/* order.c: work that no stream of the script is to be ordered for by the script. */
/* Puts the stream after work on other streams that conflicts with these uses: if the work to come is
 * ordered, after all of it, else after what is ordered.  Lock not held.  OOM, LOST, CLOSED. */
roc_status roc_rt_stream_follow(roc_rt_stream *stream, const roc_rt_use *uses, uint32_t nuses,
                                bool is_ordered, roc_error *err);
/* Notes that the work just committed is ordered.  Lock held. */
void roc_rt_set_ordered(roc_rt_stream *stream, const roc_rt_use *uses, uint32_t nuses);

/* buffer_wait.c.  Without the lock. */
/* Reports the buffer's fault unless it has been reported; the buffer forgets it either way. */
roc_status roc_buffer_report(roc_buffer *buffer, roc_error *err);
/* roc_buffer_wait without a look at the mirror. */
roc_status roc_buffer_settle(roc_buffer *buffer, bool for_write, roc_error *err);

/* ---- array --------------------------------------------------------------- */

/* mirror.c.  Brings host memory up to date, for_write: and makes the device's side stale.  Lock not
 * held. */
roc_status roc_mirror_settle(roc_buffer *host, bool for_write, roc_error *err);

/* ---- device -------------------------------------------------------------- */

/* device.c: runs roc_rt_shutdown before the destructors of everything loaded so far. */
void roc_rt_register_exit(void);

/* synchronize.c.  Without the lock. */
/* Waits for the streams of the session, or, NULL, for those of all sessions that are not left; an
 * interrupt of `waiter` ends the wait, or, NULL, that of each stream's own session. */
roc_status roc_rt_device_await_all(roc_rt_device *device, const roc_rt_session *session,
                                   roc_rt_session *waiter, roc_error *err);
/* FAULT: the oldest fault of some stream that has not been reported; of the session, or, NULL, of
 * all. */
roc_status roc_rt_device_take_fault(roc_rt_device *device, const roc_rt_session *session,
                                    roc_error *err);

/* end.c.  Without the lock. */
/* What the device works on; as roc_rt_describe_pending. */
bool roc_rt_device_describe_pending(roc_rt_device *device, char *text, size_t size);
/* All work of the session, or, NULL, of all, is done; the first fault that was not reported comes
 * back.  INTERRUPTED: some work goes on. */
roc_status roc_rt_device_finish(roc_rt_device *device, roc_rt_session *session, roc_error *err);
void roc_rt_device_stop(roc_rt_device *device); /* drops the table's hold */

#endif
