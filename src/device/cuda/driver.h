/* What the files of the cuda driver share: a device, its streams, and the context they live in.
 *
 * The runtime's lock serialises every op that queues or allocates.  Completion is asked by any
 * thread: a stream's own lock guards what that needs, and a launch takes it once in CHECK_EVERY.
 * No function here calls the driver library with anything longer than a query under such a lock.
 * Order of the locks: device, then stream; `clock_lock` is the last. */
#ifndef ROC_DEVICE_CUDA_DRIVER_H
#define ROC_DEVICE_CUDA_DRIVER_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/opened.h"
#include "device/cuda/dyn.h"
#include "device/device.h"

enum {
  ROC_CUDA_MAX_GPUS = 32,
  /* Work of a stream that is not known to be complete: the library takes some 1000 launches before
   * it waits for the GPU.  A power of two. */
  ROC_CUDA_IN_FLIGHT = 512,
  ROC_CUDA_CHECK_EVERY = 64, /* launches from one event to the next, when none is asked for */
  ROC_CUDA_EVENTS = 32,
  ROC_CUDA_FIRST_BLOCKS = 16,
};

typedef struct roc_cuda_stream roc_cuda_stream;
typedef struct roc_cuda_job roc_cuda_job;

/* What waits for an idle device: see reaper.c. */
typedef struct roc_cuda_leftover {
  struct roc_cuda_leftover *next;
  void (*give_back)(roc_device *device, void *what); /* context current */
  void *what;
} roc_cuda_leftover;

typedef struct roc_cuda_reaper {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  pthread_t thread;
  bool has_thread, is_stopping;
  roc_cuda_leftover *first;
} roc_cuda_reaper;

/* What NVIDIA's libraries need: see library.c and solver.c. */
typedef struct roc_cuda_library {
  pthread_mutex_t lock; /* guards all of it, and the calls */
  CUstream queue;
  struct cublasContext *handle;
  struct cusolverDnContext *solver;
  char name[96], solver_name[96];
} roc_cuda_library;

typedef enum roc_cuda_access { ROC_CUDA_UNASKED, ROC_CUDA_OPEN, ROC_CUDA_CLOSED } roc_cuda_access;

typedef struct roc_cuda_device {
  roc_device base;
  CUdevice handle;
  CUcontext context; /* the primary one, shared with the rest of the program */
  CUmemoryPool pool;
  CUstream memory_stream; /* all that is allocated and freed, in order; nothing there waits */
  CUevent alloc_event;    /* after the last allocation */
  /* Those that did not wait for the pool's first block: see memory.c. */
  CUdeviceptr first_blocks[ROC_CUDA_FIRST_BLOCKS];
  uint32_t first_block_count;
  bool is_alone;            /* the program sees no other GPU */
  bool launches_in_context; /* the library wants the context current: see launch.c */
  bool may_last;        /* the GPU was given what an allocation could wait for: not only copies */
  uint32_t alloc_epoch; /* counts them */
  uint32_t default_shared_bytes; /* of a workgroup, dynamic and static, without the opt-in */
  uint64_t max_pitch;
  roc_cuda_access access[ROC_CUDA_MAX_GPUS]; /* of other GPUs, by ordinal, to the pool */
  pthread_mutex_t lock;                      /* guards streams, dead_jobs and first_blocks */
  roc_cuda_stream *streams;
  roc_cuda_job *dead_jobs; /* of streams that are gone, when the device was lost */
  pthread_mutex_t clock_lock;
  CUevent clock_event; /* whose time is known */
  double clock_ns;
  roc_cuda_reaper reaper;
  roc_cuda_library library;
  struct roc_cuda_device *next; /* open ones: device_list.c */
} roc_cuda_device;

/* What a ticket was, for the message when the device is lost with it. */
typedef struct roc_cuda_launch_info {
  const char *name, *file; /* NULL: no kernel */
  uint32_t line;
  uint64_t slots_end; /* how many fault slots had been used by then */
} roc_cuda_launch_info;

/* An event after all work up to a ticket, and after the copy of its fault slots. */
typedef struct roc_cuda_checkpoint {
  roc_ticket ticket;
  uint64_t slots_end;
} roc_cuda_checkpoint;

/* The time at which the GPU came to a ticket. */
typedef struct roc_cuda_stamp {
  struct roc_cuda_stamp *next;
  roc_ticket ticket;
  CUevent event; /* with timing */
  uint64_t *out_ns;
} roc_cuda_stamp;

/* Where the kernels of a stream leave their faults: a ring in the GPU's memory, and its copy. */
enum { ROC_CUDA_SLOT_BYTES = 128 };
typedef struct roc_cuda_slots {
  CUdeviceptr device;
  char *host;                 /* page-locked */
  roc_fault_record **targets; /* of the launches; NULL: of one that was told of as failed */
  uint64_t used;              /* slots ever; the queueing thread's */
  uint64_t copied, read;      /* under the stream's lock */
} roc_cuda_slots;

enum { ROC_CUDA_STAGINGS = 2 };

struct roc_cuda_stream {
  roc_dev_stream base;
  CUstream handle;
  bool is_foreign;           /* the handle is another's */
  uint32_t alloc_epoch;      /* of the device, when the stream last waited for allocations */
  _Atomic roc_ticket issued; /* by the queueing thread */
  _Atomic roc_ticket completed;
  roc_ticket checked;          /* the queueing thread's last checkpoint */
  roc_cuda_launch_info *infos; /* by ticket */
  roc_cuda_slots slots;
  CUdeviceptr print;                /* a roc_print_buffer that launches take in turn */
  CUdeviceptr counter;              /* of workgroups, likewise */
  char *staging[ROC_CUDA_STAGINGS]; /* page-locked, small and large; copies take it in turn */
  pthread_mutex_t lock;             /* guards the rest */
  roc_cuda_checkpoint checkpoints[ROC_CUDA_EVENTS];
  CUevent events[ROC_CUDA_EVENTS]; /* of the checkpoints, made on first use but for the first */
  uint32_t first, count;
  roc_cuda_stamp *stamps, **last_stamp, *free_stamps;
  roc_cuda_job *jobs, **last_job;
  roc_cuda_stream *next; /* of the device */
};

static inline roc_cuda_device *roc_cuda_device_of(roc_device *device) {
  return (roc_cuda_device *)device;
}

static inline roc_cuda_stream *roc_cuda_stream_of(roc_dev_stream *stream) {
  return (roc_cuda_stream *)stream;
}

static inline roc_cuda_device *roc_cuda_owner(const roc_cuda_stream *stream) {
  return (roc_cuda_device *)stream->base.device;
}

/* ---- the context --------------------------------------------------------- */

/* Makes the device's context the thread's current one unless it is.  The result goes to
 * roc_cuda_leave, which restores what was: the program may use another one on this thread. */
static inline bool roc_cuda_enter(const roc_cuda_device *device) {
  CUcontext current = NULL;
  if (roc_cuda.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == device->context) {
    return false;
  }
  return roc_cuda.cuCtxPushCurrent(device->context) == CUDA_SUCCESS;
}

static inline void roc_cuda_leave(bool was_entered) {
  CUcontext ours;
  if (was_entered) roc_cuda.cuCtxPopCurrent(&ours);
}

/* ---- device_list.c: under the runtime's lock, as opening and closing are -- */

void roc_cuda_list_device(roc_cuda_device *device, bool is_open);
/* The open device of an ordinal; NULL: none. */
roc_cuda_device *roc_cuda_find_device(int ordinal);

/* ---- fault.c: any thread, no lock of the driver's held -------------------- */

/* The device's one text; LOST. */
roc_status roc_cuda_fail_lost(roc_cuda_device *device, roc_error *err);
/* Fails with what a call gave.  A loss makes the device lost, and names the kernels that may have
 * caused it. */
roc_status roc_cuda_fail(roc_cuda_device *device, CUresult result, const char *what,
                         roc_error *err);

/* ---- completion.c -------------------------------------------------------- */

/* The next ticket, of work that has been handed to the library; of a launch (NULL: other work) it
 * keeps what errors have to name. */
roc_ticket roc_cuda_issue(roc_cuda_stream *stream, const roc_dev_launch *launch);
/* After a launch, now and then: an event, and a look at what is done. */
void roc_cuda_check_in_passing(roc_cuda_stream *stream);
/* Whether the ticket is complete.  Asks the device, no lock held. */
bool roc_cuda_has_done(roc_cuda_stream *stream, roc_ticket ticket);
/* The same, for callers that hold locks: SUCCESS or NOT_READY, and a failure is the caller's to
 * tell of. */
CUresult roc_cuda_look(roc_cuda_stream *stream, roc_ticket ticket);
/* Work queued on `stream` waits for the ticket of `other`.  `stream`'s context is current.
 * *out_is_theirs: it failed on the other's device. */
CUresult roc_cuda_queue_wait(roc_cuda_stream *stream, roc_cuda_stream *other, roc_ticket ticket,
                             bool *out_is_theirs);
CUresult roc_cuda_queue_stamp(roc_cuda_stream *stream, uint64_t *out_ns, roc_ticket *out_ticket);
void roc_cuda_completion_deinit(roc_cuda_stream *stream);
/* The ops. */
bool roc_cuda_has_room(roc_dev_stream *stream, const roc_dev_module *module, uint32_t kernarg_bytes,
                       roc_ticket *out_ticket);
roc_ticket roc_cuda_known_done(roc_dev_stream *stream);
bool roc_cuda_is_done(roc_dev_stream *stream, roc_ticket ticket);
roc_status roc_cuda_wait(roc_dev_stream *stream, roc_ticket ticket, int64_t timeout_ns,
                         bool *out_done, roc_error *err);

/* ---- stream.c ------------------------------------------------------------ */

/* LOST, or sees that the stream's next work comes after all allocations.  Context current. */
roc_status roc_cuda_stream_ready(roc_cuda_stream *stream, roc_error *err);
/* NULL: the legacy default stream. */
roc_status roc_cuda_stream_adopt(roc_device *device, void *native, roc_dev_stream **out_stream,
                                 roc_error *err);
roc_status roc_cuda_stream_create(roc_device *device, roc_dev_stream **out_stream, roc_error *err);
void roc_cuda_stream_destroy(roc_dev_stream *stream);
roc_status roc_cuda_stream_wait(roc_dev_stream *stream, roc_dev_stream *other, roc_ticket ticket,
                                roc_ticket *out_ticket, roc_error *err);
roc_status roc_cuda_stamp_time(roc_dev_stream *stream, uint64_t *out_ns, roc_ticket *out_ticket,
                               roc_error *err);
void roc_cuda_watch(const roc_device *device);

/* ---- clock.c ------------------------------------------------------------- */

roc_status roc_cuda_clock_open(roc_cuda_device *device, roc_error *err);
void roc_cuda_clock_close(roc_cuda_device *device);
/* The time of an event that is done, in ns.  May exchange *event for another one. */
uint64_t roc_cuda_time_of(roc_cuda_device *device, CUevent *event);

/* ---- memory.c ------------------------------------------------------------ */

typedef enum roc_cuda_place {
  ROC_CUDA_PAGEABLE, /* host memory that the GPUs do not reach, or only in parts */
  ROC_CUDA_PINNED,
  ROC_CUDA_DEVICE
} roc_cuda_place;

/* Where a block lies, and of which GPU's memory (*out_ordinal, for DEVICE).  *nbytes becomes less
 * where PINNED memory ends, for the library, before the block does. */
CUresult roc_cuda_find_place(roc_devptr ptr, size_t *nbytes, roc_cuda_place *out_place,
                             int *out_ordinal);
/* Of another GPU than the stream's, by what roc_cuda_find_place says. */
bool roc_cuda_is_abroad(roc_cuda_stream *stream, roc_cuda_place place, int ordinal);
/* Before the stream's work uses memory of another GPU: opens each to the other, once, and waits, in
 * the stream's order, for its last allocation.  *out_reaches: false where the hardware cannot do
 * that; then the library only copies from GPU to GPU, by way of the host.  Context current. */
CUresult roc_cuda_reach(roc_cuda_stream *stream, roc_cuda_device *owner, bool *out_reaches);
/* Memory of the device in the stream's order.  Context current. */
CUresult roc_cuda_take_memory(roc_cuda_device *device, size_t nbytes, CUdeviceptr *out_ptr);
roc_status roc_cuda_open_memory(roc_cuda_device *device, roc_error *err);
void roc_cuda_close_memory(roc_cuda_device *device);
/* The ops. */
roc_status roc_cuda_alloc(roc_device *device, size_t nbytes, roc_devptr *out_ptr, roc_error *err);
void roc_cuda_free(roc_device *device, roc_devptr ptr);
roc_status roc_cuda_alloc_host(roc_device *device, size_t nbytes, void **out_ptr, roc_error *err);
void roc_cuda_free_host(roc_device *device, void *ptr);
uint64_t roc_cuda_memory_free(roc_device *device);

/* ---- library.c: the ops, and the queue's end; context current ------------ */

roc_status roc_cuda_library_open(roc_device *device, const char **out_name, void **out_queue,
                                 roc_error *err);
roc_status roc_cuda_multiply(roc_dev_stream *stream, const roc_dev_product *product,
                             roc_ticket *out_ticket, roc_error *err);
void roc_cuda_library_close(roc_cuda_device *device);

/* For solver.c: the library's lock held, context current. */
typedef struct roc_cuda_library_result {
  int result;
  roc_status status;
  const char *text;
} roc_cuda_library_result;
roc_status roc_cuda_library_fail(roc_cuda_device *device, const char *library,
                                 const roc_cuda_library_result *results, int result,
                                 const char *what, roc_error *err);
roc_status roc_cuda_library_start_queue(roc_cuda_device *device, roc_error *err);
/* Writes "cuBLAS 13.0.2 (libcublas.so.13)". */
void roc_cuda_library_describe(const char *library, int (*get_property)(int which, int *out_value),
                               const roc_opened *file, char name[96]);
/* The queue waits for memory that has been allocated before.  Like roc_cuda_stream_ready, whose
 * note of the stream the runtime's lock guards. */
roc_status roc_cuda_library_await_allocation(roc_cuda_device *device, roc_error *err);

/* ---- solver.c: the ops ---- */

roc_status roc_cuda_solver_open(roc_device *device, const char **out_name, void **out_queue,
                                roc_error *err);
roc_status roc_cuda_factoring_size(roc_device *device, const roc_dev_factoring *factoring,
                                   int64_t *out_size, roc_error *err);
roc_status roc_cuda_factor(roc_dev_stream *stream, const roc_dev_factoring *factoring,
                           roc_ticket *out_ticket, roc_error *err);

/* ---- registration.c ------------------------------------------------------ */

roc_status roc_cuda_register(roc_device *device, void *ptr, size_t nbytes, roc_devptr *out_ptr,
                             roc_error *err);
void roc_cuda_unregister(roc_device *device, void *ptr);

/* ---- job.c: what the host does in a stream's order ------------------------ */

struct roc_cuda_job {
  roc_cuda_job *next;
  roc_ticket ticket;
  /* On a thread of the library, which must not be called there. */
  void (*run)(roc_cuda_job *job);
  union {
    struct {
      void (*fn)(void *ud);
      void *ud;
    } call;
    struct {
      char *dst;
      const char *src;
      size_t nbytes;
    } bytes;
    struct {
      char *dst;
      unsigned char pattern[8];
      size_t pattern_bytes, nbytes;
    } fill;
    struct {
      char *staging;
      const char *src;
      uint64_t width, rows, layers, pitch; /* width and pitch in bytes */
      int64_t run_step, row_step, layer_step;
      uint32_t element_bytes;
    } tile;
    roc_dev_scatter scatter;
  } as;
};

/* Queues a copy of `job`.  The stream keeps it until the ticket that comes next is complete: the
 * op that queues jobs issues one, also after a failure halfway.  Context current. */
roc_status roc_cuda_queue_job(roc_cuda_stream *stream, const roc_cuda_job *job, roc_error *err);
/* Page-locked memory of the stream's own, used in the stream's order; *out_bytes: how much. */
roc_status roc_cuda_get_staging(roc_cuda_stream *stream, size_t wanted_bytes, char **out_staging,
                                size_t *out_bytes, roc_error *err);
roc_status roc_cuda_host_call(roc_dev_stream *stream, void (*fn)(void *ud), void *ud,
                              roc_ticket *out_ticket, roc_error *err);

/* ---- copy.c, fill.c, scatter.c -------------------------------------------- */

roc_status roc_cuda_copy(roc_dev_stream *stream, roc_devptr dst, roc_devptr src, size_t nbytes,
                         roc_copy_dir dir, roc_ticket *out_ticket, roc_error *err);
roc_status roc_cuda_fill(roc_dev_stream *stream, roc_devptr dst, const void *pattern,
                         size_t pattern_bytes, size_t nbytes, roc_ticket *out_ticket,
                         roc_error *err);
/* Device memory; context current. */
roc_status roc_cuda_fill_block(roc_cuda_stream *stream, CUdeviceptr dst, const void *pattern,
                               size_t pattern_bytes, size_t nbytes, roc_error *err);
roc_status roc_cuda_scatter(roc_dev_stream *stream, const roc_dev_scatter *scatter,
                            roc_ticket *out_ticket, roc_error *err);

/* ---- module.c, launch.c --------------------------------------------------- */

/* What the driver has loaded, for all kernels that are taken from it. */
typedef struct roc_cuda_code {
  CUmodule module;
  _Atomic uint32_t refs;
} roc_cuda_code;

struct roc_dev_module {
  const roc_codeobj *object; /* the runtime's */
  roc_cuda_code *code;
  CUfunction function;
  uint32_t max_workgroup; /* with its registers */
  uint32_t registers;
  uint32_t shared_bytes; /* static, as the driver counts them */
  bool has_opt_in;       /* takes more shared memory than the default */
};

roc_status roc_cuda_module_load(roc_device *device, const roc_codeobj *object,
                                roc_dev_module **out_module, roc_error *err);
roc_status roc_cuda_module_load_beside(roc_device *device, roc_dev_module *loaded,
                                       const roc_codeobj *object, roc_dev_module **out_module,
                                       roc_error *err);
void roc_cuda_module_unload(roc_device *device, roc_dev_module *module);
roc_status roc_cuda_launch(roc_dev_stream *stream, const roc_dev_launch *launch,
                           roc_ticket *out_ticket, roc_error *err);

/* ---- reaper.c ------------------------------------------------------------- */

void roc_cuda_reaper_init(roc_cuda_reaper *reaper);
/* Has `what` given back once the device is idle, and at once when the device is lost. */
void roc_cuda_reap(roc_cuda_device *device, void (*give_back)(roc_device *device, void *what),
                   void *what);
/* All work is done: gives everything back, now and from now on at once. */
void roc_cuda_reaper_stop(roc_cuda_device *device);
void roc_cuda_reaper_deinit(roc_cuda_reaper *reaper);

#endif
