/* What the files of the hsa driver share: the machine as ROCR describes it, a device, a stream.
 *
 * ROCR is started by the first probe and shut down with the last device.  The runtime's lock
 * serialises every op that queues or allocates; ROCR's own thread runs the callbacks of fault.c,
 * and each queue may have a worker (worker.h). */
#ifndef ROC_DEVICE_HSA_DRIVER_H
#define ROC_DEVICE_HSA_DRIVER_H

#include "base/amdgpu_target.h"
#include "device/device.h"
#include "device/hsa/queue.h"
#include "device/hsa/signal.h"

enum { ROC_HSA_MAX_GPUS = 32, ROC_HSA_MAX_CPUS = 32, ROC_HSA_MAX_QUEUES = 16 };

typedef struct roc_hsa_system {
  hsa_agent_t cpu;                    /* the first one: owner of the pools below */
  hsa_agent_t cpus[ROC_HSA_MAX_CPUS]; /* all, which own memory as well (NUMA nodes) */
  uint32_t ncpus;
  hsa_amd_memory_pool_t host_pool; /* fine-grained: both sides see each other's stores */
  hsa_amd_memory_pool_t kernarg_pool;
  hsa_agent_t gpus[ROC_HSA_MAX_GPUS]; /* those we compile for; and with the same index: */
  const roc_gpu_chip *chips[ROC_HSA_MAX_GPUS];
  char targets[ROC_HSA_MAX_GPUS][64]; /* target ids */
  uint32_t ngpus;
  uint64_t tick_hz;         /* of ROCR's clock: timeouts and times of the profiler */
  uint64_t copy_timeout_ns; /* ROCLUA_HSA_COPY_TIMEOUT; 0: none */
} roc_hsa_system;

extern roc_hsa_system roc_hsa_sys; /* constant between start and shut-down */

typedef struct roc_hsa_device {
  roc_device base;
  hsa_agent_t agent;
  hsa_amd_memory_pool_t pool; /* coarse-grained memory of the GPU */
  bool has_host_pool;         /* it has none, or shares the host's: `pool` is the host's */
  roc_hsa_signals signals;
  uint32_t max_queues, queue_packets;
  _Atomic uint32_t nqueues; /* only grows; queues below it may be looked at by any thread */
  roc_hsa_queue *queues[ROC_HSA_MAX_QUEUES];
  roc_hsa_queue *foreign;    /* those of foreign HSA queues, kept to the end to be used again */
  void *staging;             /* page-locked, for small copies made on the calling thread, */
  roc_hsa_queue *long_queue; /* unless a long one is ahead of them: the last, NULL at first */
  roc_ticket long_ticket;
  _Atomic uint64_t allocated;  /* bytes given out */
  struct roc_hsa_device *next; /* in the list of open ones (device_list.c) */
} roc_hsa_device;

typedef struct roc_hsa_stream {
  roc_dev_stream base;
  roc_hsa_queue *queue;
  roc_ticket last;             /* of the work queued last */
  roc_ticket asked;            /* of the work whose failure was asked for last */
  struct roc_hsa_stream *next; /* of the queue */
} roc_hsa_stream;

static inline roc_hsa_device *roc_hsa_device_of(roc_device *device) {
  return (roc_hsa_device *)device;
}

static inline roc_hsa_stream *roc_hsa_stream_of(roc_dev_stream *stream) {
  return (roc_hsa_stream *)stream;
}

/* system.c */
uint64_t roc_hsa_ns_to_ticks(uint64_t ns);
uint64_t roc_hsa_ticks_to_ns(uint64_t ticks);

/* pools.c: a pool that has all of the flags; false, and *out_pool as it was, when there is none. */
bool roc_hsa_find_pool(hsa_agent_t agent, uint32_t flags, hsa_amd_memory_pool_t *out_pool);
/* Memory of the GPU's own. */
bool roc_hsa_find_gpu_pool(hsa_agent_t agent, hsa_amd_memory_pool_t *out_pool);

/* device_list.c */
void roc_hsa_list_device(roc_hsa_device *device, bool is_open);
/* The first of the list, whose lock is held until roc_hsa_unlock_devices. */
roc_hsa_device *roc_hsa_lock_devices(void);
void roc_hsa_unlock_devices(void);
/* The device's one text; LOST. */
roc_status roc_hsa_fail_lost(roc_hsa_device *device, roc_error *err);
/* LOST when the agent is that of an open device which is lost. */
roc_status roc_hsa_check_agent(hsa_agent_t agent, roc_error *err);

/* memory.c: the memory ops of device.h, and where an address lies. */
typedef enum roc_hsa_pointer_kind {
  ROC_HSA_PAGEABLE, /* host memory no GPU can reach */
  ROC_HSA_PINNED,   /* host memory all GPUs reach */
  ROC_HSA_DEVICE
} roc_hsa_pointer_kind;

typedef struct roc_hsa_pointer_info {
  roc_hsa_pointer_kind kind;
  bool is_locked;    /* PINNED by roc_hsa_register, not born so */
  hsa_agent_t agent; /* the owner */
  char *address;     /* as GPUs know it; the host's own for PAGEABLE */
} roc_hsa_pointer_info;

/* Any thread; one call into ROCR.  A failure leaves open whether the host may touch the memory. */
roc_status roc_hsa_find_pointer_info(const void *ptr, size_t nbytes,
                                     roc_hsa_pointer_info *out_place, roc_error *err);
/* Opens the memory of one GPU to all that can reach it; whether `agent` is one of them. */
bool roc_hsa_open_to_peers(const roc_hsa_pointer_info *place, hsa_agent_t agent);
roc_status roc_hsa_alloc(roc_device *device, size_t nbytes, roc_devptr *out_ptr, roc_error *err);
void roc_hsa_free(roc_device *device, roc_devptr ptr);
roc_status roc_hsa_alloc_host(roc_device *device, size_t nbytes, void **out_ptr, roc_error *err);
void roc_hsa_free_host(roc_device *device, void *ptr);
roc_status roc_hsa_alloc_kernargs(roc_hsa_device *device, size_t nbytes, void **out_ptr,
                                  roc_error *err);
roc_status roc_hsa_register(roc_device *device, void *ptr, size_t nbytes, roc_devptr *out_ptr,
                            roc_error *err);
void roc_hsa_unregister(roc_device *device, void *ptr);
uint64_t roc_hsa_memory_free(roc_device *device);

/* copy.c: the ops that move bytes or call the host. */
roc_status roc_hsa_copy(roc_dev_stream *stream, roc_devptr dst, roc_devptr src, size_t nbytes,
                        roc_copy_dir dir, roc_ticket *out_ticket, roc_error *err);
roc_status roc_hsa_fill(roc_dev_stream *stream, roc_devptr dst, const void *pattern,
                        size_t pattern_bytes, size_t nbytes, roc_ticket *out_ticket,
                        roc_error *err);
roc_status roc_hsa_host_call(roc_dev_stream *stream, void (*fn)(void *ud), void *ud,
                             roc_ticket *out_ticket, roc_error *err);
roc_status roc_hsa_stream_wait(roc_dev_stream *stream, roc_dev_stream *other, roc_ticket ticket,
                               roc_ticket *out_ticket, roc_error *err);

/* Steps of these, for a queue's worker.  Both agents reach both blocks; `done` is counted down. */
roc_status roc_hsa_start_copy(void *dst, hsa_agent_t dst_agent, const void *src,
                              hsa_agent_t src_agent, size_t nbytes, roc_hsa_signal *done,
                              roc_error *err);
/* Waits.  LOST when the device, or a GPU at an end of the copy, died meanwhile; the signal is then
 * given up. */
roc_status roc_hsa_finish_copy(roc_hsa_device *device, roc_hsa_signal *signal, roc_error *err);
/* Sees that the worker has its page-locked blocks. */
roc_status roc_hsa_get_stagings(roc_hsa_queue *queue, roc_error *err);
/* Fills device memory; waits, and may use the first staging block. */
roc_status roc_hsa_fill_block(roc_hsa_queue *queue, const roc_hsa_pointer_info *dst,
                              const void *pattern, size_t pattern_bytes, size_t nbytes,
                              roc_error *err);
/* Queues a copy of `job`. */
roc_status roc_hsa_queue_job(roc_hsa_stream *stream, const roc_hsa_job *job, roc_ticket *out_ticket,
                             roc_error *err);

/* scatter.c: an op, too. */
roc_status roc_hsa_scatter(roc_dev_stream *stream, const roc_dev_scatter *scatter,
                           roc_ticket *out_ticket, roc_error *err);

/* module.c */
typedef struct roc_hsa_executable {
  _Atomic uint32_t refs; /* modules of it */
  hsa_code_object_reader_t reader;
  hsa_executable_t hsa;
} roc_hsa_executable;
struct roc_dev_module {
  roc_hsa_executable *code;
  uint64_t kernel_object;
  uint32_t kernarg_bytes, private_bytes;
  uint32_t group_bytes;   /* LDS that the code itself uses, static arrays and what LLVM adds */
  uint32_t dynamic_begin; /* where those bytes begin */
};
roc_status roc_hsa_module_load(roc_device *device, const roc_codeobj *object,
                               roc_dev_module **out_module, roc_error *err);
roc_status roc_hsa_module_load_beside(roc_device *device, roc_dev_module *loaded,
                                      const roc_codeobj *object, roc_dev_module **out_module,
                                      roc_error *err);
void roc_hsa_module_unload(roc_device *device, roc_dev_module *module);

/* stall.c */
/* A wait on the queue has lasted for a slice: whether what it is at should have ended long ago.  The
 * device is then lost.  None of the driver's locks held. */
void roc_hsa_queue_check_stall(roc_hsa_queue *queue);
/* The copy that the signal stands for does not end. */
void roc_hsa_lose_by_copy(roc_hsa_device *device, const roc_hsa_signal *signal);

/* fault.c */
/* All waits end; `cause` says why, and what runs is named beside it. */
void roc_hsa_lose_device(roc_hsa_device *device, const char *cause);
roc_status roc_hsa_watch_faults(roc_error *err); /* once after each start of ROCR */
/* ROCR's callback for a queue that stopped; `queue` is the roc_hsa_queue, which may be gone. */
void roc_hsa_on_queue_error(hsa_status_t status, hsa_queue_t *source, void *queue);
/* A roc_hsa_on_fault: the agent's device is lost. */
void roc_hsa_on_memory_fault(hsa_agent_t agent, uint64_t address, uint32_t reasons);

/* watch.c: open while ROCR is. */
/* The agent has had an illegal access, for `reasons` of HSA_AMD_MEMORY_FAULT_*. */
typedef void roc_hsa_on_fault(hsa_agent_t agent, uint64_t address, uint32_t reasons);
void roc_hsa_watch_open(roc_hsa_on_fault *on_fault);
void roc_hsa_watch_close(void);
/* Passes a memory fault that ROCR has not reported to `on_fault`. Any thread, at any rate, with
 * none of the driver's locks held. */
void roc_hsa_watch_look(void);

#endif
