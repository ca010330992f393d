/* The device interface: what a driver must do, and nothing about Lua, kernels' types or arrays.
 *
 * A driver is one roc_device_ops, registered in registry.c.  Work is queued on streams; each piece
 * of work gets a ticket, a number that grows along its stream, and is complete when everything up
 * to that ticket is.  The runtime above remembers (stream, ticket) pairs per buffer and waits for
 * exactly those. Threads: ops are called by one thread at a time per device (the runtime's caller),
 * unless a comment says "any thread". No op but the waits may block for device work.  Errors: a
 * driver has one function from its codes to roc_status. */
#ifndef ROC_DEVICE_DEVICE_H
#define ROC_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/codeobj.h"
#include "base/dtype.h"
#include "base/ndrange.h"
#include "base/status.h"
#include "base/str.h"

typedef uint64_t roc_devptr;
typedef uint64_t roc_ticket; /* 0: complete since ever */

typedef struct roc_device_ops roc_device_ops;
typedef struct roc_device roc_device;         /* a driver embeds it first */
typedef struct roc_dev_stream roc_dev_stream; /* likewise */
typedef struct roc_dev_module roc_dev_module;

typedef struct roc_device_props {
  char name[128];  /* "cpu", marketing name */
  char model[128]; /* of a host's processor: its name and vector instructions; "": `name` says it */
  char arch[64];   /* its compile target: base/target.h */
  uint32_t wavefront_size;
  uint32_t compute_units;
  uint32_t max_workgroup; /* items */
  uint32_t max_workgroup_dim[3];
  uint64_t max_groups[3];
  uint64_t shared_bytes; /* of one workgroup */
  uint64_t memory_total; /* bytes */
  bool host_memory; /* kernels use host pointers as they are (cpu, sim, APUs): no copies needed */
  bool has_own_atomics; /* its atomics do not work on the host's memory unless compiled for that */
  bool lacks_host_atomics; /* nor then: the link between the two carries none */
  bool is_checked;  /* a tool watches what happens to memory: freed blocks go back to the driver */
  bool runs_in_lua; /* kernels are run by the Lua side (sim), which never calls `launch` */
} roc_device_props;

struct roc_device {
  const roc_device_ops *ops;
  const char *kind; /* "cpu", "null", … */
  uint32_t ordinal; /* among its kind, from 0 */
  roc_device_props props;
  _Atomic bool is_lost; /* set by the driver or the runtime, on any thread */
  /* What a driver that finds it lost knows: why, and which kernel did it (or "a or b"); "":
   * nothing. Written before is_lost. */
  char lost_why[512], lost_by[512];
};

struct roc_dev_stream {
  roc_device *device;
};

/* One launch.  Borrowed by the op only until it returns: the driver copies what it keeps. */
typedef struct roc_dev_launch {
  roc_dev_module *module;
  const void *kernarg; /* block laid out by the code object */
  uint32_t kernarg_bytes;
  const roc_ndrange *range; /* not empty, and within the limits of the device's properties */
  const char *name, *file;  /* for messages: of the kernel, and where it is launched (may be NULL).
                              Both outlive the work */
  uint32_t line;
  roc_fault_record *fault; /* device-visible; NULL when the kernel has no checks */
  roc_print_buffer *print; /* NULL when it has no print */
} roc_dev_launch;

/* Elements for places that lie apart, as in a strided view.  Borrowed like a launch. */
enum { ROC_DEV_MAX_RANK = 8 };
typedef struct roc_dev_scatter {
  roc_devptr dst;                     /* of element (0, 0, …) */
  const void *src;                    /* host memory, likewise; NULL: `element` goes everywhere */
  unsigned char element[8];           /* what a fill stores */
  uint32_t element_bytes;             /* 1, 2, 4 or 8 */
  uint32_t rank;                      /* axes, outermost first */
  uint64_t extents[ROC_DEV_MAX_RANK]; /* none is 0 */
  int64_t dst_steps[ROC_DEV_MAX_RANK], src_steps[ROC_DEV_MAX_RANK]; /* bytes, may be negative */
} roc_dev_scatter;

/* A product of stacks of matrices, c = a b, as BLAS has it: in Fortran's order, c without gaps. */
typedef struct roc_dev_factor {
  roc_devptr elements;
  roc_dtype dtype;
  int64_t stride, stack_stride; /* elements from column to column, from matrix to matrix */
  bool is_transposed;           /* rows are columns in memory */
} roc_dev_factor;
typedef struct roc_dev_product {
  int64_t m, n, k, count; /* c: m × n, over k; none is 0 */
  roc_dev_factor a, b;    /* of one dtype */
  roc_devptr c;
  roc_dtype dtype; /* of c, and added in it: the factors', or float32 for halves */
} roc_dev_product;

/* A step of a factorisation of stacks of matrices in Fortran order, without gaps, as LAPACK's function
 * of that name has it: of square ones n × n, but for QR and singular values, which are of m × n (of
 * gesvd, m >= n).  Triangles are the upper ones. */
typedef enum roc_dev_factoring_step {
  ROC_FACTORING_GETRF, /* matrices, pivots (int32) */
  ROC_FACTORING_GETRS, /* those, right sides of k columns; option: 1, of the transposes */
  ROC_FACTORING_POTRF, /* matrices */
  ROC_FACTORING_GEQRF, /* matrices, tau */
  ROC_FACTORING_ORGQR, /* those; k reflections */
  ROC_FACTORING_SYEVD, /* matrices, eigenvalues; option: 1, with vectors */
  ROC_FACTORING_GESVD, /* matrices, singular values, U, Vᵀ; option: 'N', 'S' or 'A' */
  ROC_FACTORING_COUNT
} roc_dev_factoring_step;
typedef struct roc_dev_stack {
  roc_devptr elements; /* 0: none */
  int64_t step;        /* bytes from matrix to matrix */
} roc_dev_stack;
enum { ROC_DEV_FACTORING_OPERANDS = 4 };
typedef struct roc_dev_factoring {
  roc_dev_factoring_step step;
  roc_dtype dtype; /* float32 or float64 */
  int option;
  int64_t m, n, k, count;
  roc_dev_stack operands[ROC_DEV_FACTORING_OPERANDS];
  roc_devptr work, info; /* info: an int32 a matrix, as LAPACK's */
  int64_t work_size;     /* elements */
} roc_dev_factoring;

typedef enum roc_copy_dir { ROC_COPY_H2D, ROC_COPY_D2H, ROC_COPY_D2D } roc_copy_dir;

struct roc_device_ops {
  const char *kind;
  bool copies_between; /* `copy` takes memory of any device of the driver */
  /* How many devices there are.  UNAVAILABLE: none, and err says why and what to do. */
  roc_status (*probe)(uint32_t *out_count, roc_error *err);
  roc_status (*open)(uint32_t ordinal, roc_device **out_device, roc_error *err);
  void (*close)(roc_device *device); /* no work is pending and nothing of it is held any more */
  /* The process ends: all work is done, none comes; joins the driver's threads.  free, unload and
   * destroy still come.  NULL: nothing to do. */
  void (*quiesce)(roc_device *device);
  roc_status (*reset)(roc_device *device, roc_error *err); /* NULL: not offered */
  uint64_t (*memory_free)(roc_device *device);

  /* Memory.  alloc: 256-byte aligned, undefined contents; OOM may succeed after frees. free: no
   * work uses it any more; any thread. */
  roc_status (*alloc)(roc_device *device, size_t nbytes, roc_devptr *out_ptr, roc_error *err);
  void (*free)(roc_device *device, roc_devptr ptr);
  /* Device-visible host memory (fault records, print buffers, pinned arrays). */
  roc_status (*alloc_host)(roc_device *device, size_t nbytes, void **out_ptr, roc_error *err);
  void (*free_host)(roc_device *device, void *ptr);
  /* Page-locks host memory and maps it.  The memory may have come from alloc_host of another
   * device.  host_unregister may wait for the device: any thread, without the caller's lock.  NULL
   * ops: host_memory devices need none. */
  roc_status (*host_register)(roc_device *device, void *ptr, size_t nbytes, roc_devptr *out_ptr,
                              roc_error *err);
  void (*host_unregister)(roc_device *device, void *ptr);

  /* Streams.  destroy: work already queued still runs; never waits. */
  roc_status (*stream_create)(roc_device *device, roc_dev_stream **out_stream, roc_error *err);
  void (*stream_destroy)(roc_dev_stream *stream);
  /* A stream that queues on the queue of another library, which goes on using it: an hsa_queue_t, a
   * CUstream.  It stays that library's, and open until the stream is destroyed and its work done.
   * INVALID: `native` is none.  NULL: not offered. */
  roc_status (*stream_adopt)(roc_device *device, void *native, roc_dev_stream **out_stream,
                             roc_error *err);

  /* Whether the stream takes a launch of the module with so many bytes of arguments (NULL, 0: other
   * work) without waiting for what is queued: false, and a ticket whose completion helps, when it
   * is full. NULL: always. */
  bool (*has_room)(roc_dev_stream *stream, const roc_dev_module *module, uint32_t kernarg_bytes,
                   roc_ticket *out_ticket);
  /* Queueing; each stores the work's ticket, and waits where there is no room. Copies: host memory
   * is the caller's to keep until the ticket completes. */
  roc_status (*copy)(roc_dev_stream *stream, roc_devptr dst, roc_devptr src, size_t nbytes,
                     roc_copy_dir dir, roc_ticket *out_ticket, roc_error *err);
  /* Repeats `pattern` (1, 2, 4 or 8 bytes) over nbytes. */
  roc_status (*fill)(roc_dev_stream *stream, roc_devptr dst, const void *pattern,
                     size_t pattern_bytes, size_t nbytes, roc_ticket *out_ticket, roc_error *err);
  /* Stores elements at places of device memory that lie apart, and touches nothing between them, as
   * one piece of work.  Such places may lie between each other, never on each other.  NULL:
   * host_memory devices need none. */
  roc_status (*scatter)(roc_dev_stream *stream, const roc_dev_scatter *scatter,
                        roc_ticket *out_ticket, roc_error *err);
  roc_status (*launch)(roc_dev_stream *stream, const roc_dev_launch *launch, roc_ticket *out_ticket,
                       roc_error *err);
  /* Runs a launch on the calling thread, beside whatever is queued: of a kernel that has no fault
   * record and no print, and uses memory that no work uses.  False: it was not run, for it may take
   * long, or nothing is known of it yet.  Any thread, without the caller's lock.  NULL: not
   * offered. */
  bool (*run_at_once)(roc_device *device, const roc_dev_launch *launch);
  /* Calls fn(ud) on some thread of the driver once all before it has run; fn must be short, may not
   * queue work. */
  roc_status (*host_call)(roc_dev_stream *stream, void (*fn)(void *ud), void *ud,
                          roc_ticket *out_ticket, roc_error *err);
  /* Work queued on `stream` after this waits for `ticket` of `other` (which may be of another
   * device of this driver, and may be destroyed before it comes to that).  The wait's own ticket: 0
   * when there is nothing to wait for. */
  roc_status (*stream_wait)(roc_dev_stream *stream, roc_dev_stream *other, roc_ticket ticket,
                            roc_ticket *out_ticket, roc_error *err);
  /* Notes the device time at which all before it was done: *out_ns is written by the time the
   * ticket completes, and the caller's to keep until then.  NULL: a host_call reads the clock. */
  roc_status (*stamp)(roc_dev_stream *stream, uint64_t *out_ns, roc_ticket *out_ticket,
                      roc_error *err);

  /* The last ticket that is known to be complete, without asking the device: for what is done in
   * passing.  Any thread.  NULL: is_done costs no more. */
  roc_ticket (*known_done)(roc_dev_stream *stream);
  /* Completion; any thread.  wait: timeout_ns < 0 waits for ever; *out_done false on timeout.  LOST
   * when the device died. */
  bool (*is_done)(roc_dev_stream *stream, roc_ticket ticket);
  roc_status (*wait)(roc_dev_stream *stream, roc_ticket ticket, int64_t timeout_ns, bool *out_done,
                     roc_error *err);
  /* Looks whether the device is lost, for threads that ask is_done again and again; waits do so by
   * themselves.  Any thread; cheap.  NULL: a device that is lost sets is_lost of its own accord. */
  void (*watch)(const roc_device *device);
  /* Why work that is over did not run to its end: its queue was stopped, or the host's part of it
   * failed. False: it did. *out_failure is the failure's number: the same for all work of the
   * stream that one failure ended, of no other failure, never 0. Asked by one thread at a time, for
   * the work of a stream in its order: an answer may be forgotten once later work was asked for.
   * Not on a lost device. NULL: work never fails alone. */
  bool (*find_failure)(roc_dev_stream *stream, roc_ticket ticket, uint64_t *out_failure,
                       roc_error *err);
  /* The last word of the tool that watches the driver's devices, once all work is over: it delivers
   * its report (IO when it cannot), and INVALID tells that it has found fault with kernels.  Any
   * thread.  NULL: there is none. */
  roc_status (*conclude)(roc_error *err);
  /* Where kernels are emulated: the instructions that all of them have executed so far, of whole
   * wavefronts.  Any thread.  False, NULL: they run on hardware. */
  bool (*count_executed)(uint64_t *out_count);
  /* The driver's library as "ROCR /usr/lib/libhsa-runtime64.so.1.5.0": opened, but not started.
   * Before or after a probe.  UNAVAILABLE: why there is none.  NULL: the driver needs none. */
  roc_status (*describe)(char *text, size_t size, roc_error *err);
  /* Asks running kernels of the stream to stop soon, wherever they are, and queued ones where it
   * can; kernels of other streams only where the device cannot tell them apart. NULL: it cannot. */
  void (*interrupt)(roc_dev_stream *stream);

  /* Products by a library of the device's vendor.  Both: any thread, without the caller's lock, for
   * the library may compile and wait.
   * library_open: opens it at the first call, with what it needs on the device.  Its name, static,
   * and the queue it works on, for stream_adopt.  UNAVAILABLE: there is none; INVALID: the one that
   * was named is none.  NULL: not offered.
   * multiply: queues the product on such a stream, by one thread at a time for a stream.  The
   * ticket counts when it fails, too.  UNSUPPORTED: the library has no such product. */
  roc_status (*library_open)(roc_device *device, const char **out_name, void **out_queue,
                             roc_error *err);
  roc_status (*multiply)(roc_dev_stream *stream, const roc_dev_product *product,
                         roc_ticket *out_ticket, roc_error *err);
  /* The same for factors; the queue is that of products where both are offered.
   * factoring_size: how many elements of work a step takes; `operands` and `work` may be 0. */
  roc_status (*solver_open)(roc_device *device, const char **out_name, void **out_queue,
                            roc_error *err);
  roc_status (*factoring_size)(roc_device *device, const roc_dev_factoring *factoring,
                               int64_t *out_size, roc_error *err);
  roc_status (*factor)(roc_dev_stream *stream, const roc_dev_factoring *factoring,
                       roc_ticket *out_ticket, roc_error *err);

  /* Code.  The object outlives the module.  load may compile: any thread, without the caller's lock.
   * unload: no launch of it is pending. */
  roc_status (*module_load)(roc_device *device, const roc_codeobj *object,
                            roc_dev_module **out_module, roc_error *err);
  void (*module_unload)(roc_device *device, roc_dev_module *module);
  /* Another kernel, object->entry, of the bytes that `loaded` was made of: both have the same global
   * variables.  NULL: not offered. */
  roc_status (*module_load_beside)(roc_device *device, roc_dev_module *loaded,
                                   const roc_codeobj *object, roc_dev_module **out_module,
                                   roc_error *err);
};

extern const roc_device_ops roc_hsa_ops, roc_cuda_ops, roc_cpu_ops, roc_sim_ops, roc_null_ops;

/* cpu: how it makes objects callable (ORC lives in the compiler's shared object; jit sets this
 * before a module is loaded). */
typedef struct roc_cpu_loader {
  roc_status (*load)(const roc_codeobj *object, roc_cpu_entry *out_entry, void **out_handle,
                     roc_error *err);
  void (*unload)(void *handle);
} roc_cpu_loader;
void roc_cpu_set_loader(const roc_cpu_loader *loader);

#endif
