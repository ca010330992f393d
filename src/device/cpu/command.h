/* Commands of a stream: what queue.c, which keeps their order, and launch.c, which runs kernels,
 * share. */
#ifndef ROC_DEVICE_CPU_COMMAND_H
#define ROC_DEVICE_CPU_COMMAND_H

#include "base/clock.h"
#include "device/cpu/parts.h"
#include "device/cpu/queue.h"

enum { ROC_CPU_INLINE_KERNARG = 384 };

typedef enum roc_cpu_command_kind {
  ROC_CPU_LAUNCH,
  ROC_CPU_COPY,
  ROC_CPU_FILL,
  ROC_CPU_HOST_CALL,
  ROC_CPU_WAIT_FOR,
  ROC_CPU_STAMP
} roc_cpu_command_kind;

struct roc_cpu_command {
  roc_cpu_task task; /* first: the pool hands it back */
  roc_cpu_command *next;
  roc_cpu_stream *stream;
  roc_ticket ticket;
  roc_cpu_command_kind kind;
  uint64_t first, total; /* workgroups, or shares of bytes; those before are done */
  uint32_t nparts;       /* of them, for the threads */
  union {
    struct {
      roc_dev_module *module;
      roc_cpu_launch info;
      uint64_t items; /* of a workgroup */
      size_t frame_offset, scratch_bytes;
      roc_cpu_fiber *trial; /* begun on the thread that queued, and left in the middle; or NULL */
      _Atomic uint32_t useful_threads; /* as the pool was told */
      void *kernarg, *heap_kernarg;
      unsigned char inline_kernarg[ROC_CPU_INLINE_KERNARG];
    } launch;
    struct {
      char *dst;
      const char *src; /* COPY */
      size_t nbytes;
      unsigned char pattern[8];
      uint32_t pattern_bytes;
    } bytes;
    struct {
      void (*fn)(void *ud);
      void *ud;
    } call;
    struct {
      roc_cpu_stream *other;
      roc_ticket ticket;
    } wait;
    uint64_t *stamp_ns; /* STAMP */
  } as;
};

struct roc_cpu_stream {
  roc_dev_stream base;
  roc_cpu_queues *queues;
  _Atomic roc_ticket queued, completed; /* idle when equal */
  _Atomic roc_ticket cancelled;         /* launches up to this one stop */
  /* The pool's lock guards the rest. */
  roc_cpu_command *first, **last_link;
  uint32_t refs;   /* the handle, a non-empty queue, and each WAIT_FOR that names it */
  bool is_blocked; /* its first command is a WAIT_FOR that has to wait */
  roc_cpu_stream *next_blocked;
  roc_cpu_part parts[]; /* of the first command; as many as the pool has threads */
};

static inline roc_cpu_stream *roc_cpu_stream_of(roc_dev_stream *stream) {
  return (roc_cpu_stream *)stream;
}

/* Nothing queued is left to do. */
static inline bool roc_cpu_is_idle(const roc_cpu_stream *stream) {
  return atomic_load_explicit(&stream->completed, memory_order_acquire) ==
         atomic_load_explicit(&stream->queued, memory_order_relaxed);
}

/* How many threads have something to do when there are so many shares: one at least. */
static inline uint32_t roc_cpu_clamp_threads(const roc_cpu_command *command, uint64_t shares) {
  uint32_t threads = command->stream->queues->pool.size;
  return shares < 1 ? 1 : shares < threads ? (uint32_t)shares : threads;
}

/* Makes the parts of what is left of a command: it is the first, and no thread steps it. */
static inline void roc_cpu_split(roc_cpu_command *command) {
  roc_cpu_parts_set(command->stream->parts, command->nparts, command->first, command->total);
}

static inline void roc_cpu_set_threads(roc_cpu_command *command, uint32_t useful, uint32_t worth) {
  command->task.useful_threads = useful;
  command->task.worth_waking = worth;
}

/* A command for one thread, with the stream's next ticket.  NULL: out of memory. */
roc_cpu_command *roc_cpu_command_take(roc_cpu_stream *stream, roc_cpu_command_kind kind,
                                      bool (*step)(roc_cpu_task *, roc_cpu_scratch *));
/* Gives back one that was not queued. */
void roc_cpu_command_drop(roc_cpu_command *command);
void roc_cpu_command_queue(roc_cpu_command *command, roc_ticket *out_ticket);
/* The command was done on the calling thread, on an idle stream; gives it back. */
void roc_cpu_command_complete(roc_cpu_command *command, roc_ticket *out_ticket);
/* Takes part in a task that the thread has entered, until there is no more to take or it is late;
 * in the middle of a share the pool goes on with it then.  False: there is no memory to do so. */
bool roc_cpu_help(roc_cpu_command *command, uint64_t until_ns);
/* The same from where it was left. */
void roc_cpu_help_on(roc_cpu_left *left, uint64_t until_ns);
roc_status roc_cpu_command_fail_oom(roc_error *err);

#endif
