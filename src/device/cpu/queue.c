/* Commands, their order and their shares; see queue.h. */
#include "device/cpu/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bulk.h"
#include "device/cpu/command.h"

enum {
  INLINE_BYTES = 256 * 1024, /* copies and fills up to this run on the caller of an idle stream */
  SHARE_BYTES = 1 << 20,     /* of a copy or fill that is spread over threads */
};

static roc_cpu_stream *blocked_streams; /* of all devices; lock held */

/* ---- streams ------------------------------------------------------------- */

roc_status roc_cpu_stream_create(roc_device *device, roc_cpu_queues *queues,
                                 roc_cpu_stream **out_stream, roc_error *err) {
  size_t nbytes = sizeof(roc_cpu_stream) + sizeof(roc_cpu_part) * queues->pool.size;
  roc_cpu_stream *stream = roc_alloc_aligned(nbytes, _Alignof(roc_cpu_stream));
  if (!stream) return roc_fail(err, ROC_OOM, "out of memory: no room for a stream");
  memset(stream, 0, nbytes);
  stream->base.device = device;
  stream->queues = queues;
  stream->last_link = &stream->first;
  stream->refs = 1;
  *out_stream = stream;
  return ROC_OK;
}

/* Lock held. */
static void drop_stream(roc_cpu_stream *stream) {
  if (--stream->refs == 0) roc_free(stream);
}

void roc_cpu_stream_destroy(roc_cpu_stream *stream) {
  roc_cpu_pool_lock();
  drop_stream(stream);
  roc_cpu_pool_unlock();
}

void roc_cpu_queues_deinit(roc_cpu_queues *queues) {
  while (queues->free_commands) {
    roc_cpu_command *command = queues->free_commands;
    queues->free_commands = command->next;
    roc_free(command);
  }
  roc_cpu_pool_deinit(&queues->pool);
}

void roc_cpu_stream_interrupt(roc_dev_stream *stream) {
  roc_cpu_stream *s = roc_cpu_stream_of(stream);
  atomic_store(&s->cancelled, atomic_load(&s->queued));
}

bool roc_cpu_is_done(roc_dev_stream *stream, roc_ticket ticket) {
  return atomic_load_explicit(&roc_cpu_stream_of(stream)->completed, memory_order_acquire) >=
         ticket;
}

/* ---- running shares ------------------------------------------------------ */

static void run_bytes(const roc_cpu_command *command, size_t offset, size_t nbytes) {
  char *dst = command->as.bytes.dst + offset;
  bool is_bulk = command->total > 1 && command->as.bytes.nbytes >= ROC_BULK_BYTES;
  if (command->kind == ROC_CPU_FILL) {
    void (*fill)(void *, const void *, size_t, size_t) = is_bulk ? roc_fill_past_caches : roc_fill;
    fill(dst, command->as.bytes.pattern, command->as.bytes.pattern_bytes, nbytes);
  } else if (is_bulk) {
    roc_copy_past_caches(dst, command->as.bytes.src + offset, nbytes);
  } else {
    memmove(dst, command->as.bytes.src + offset, nbytes);
  }
}

static uint64_t choose_one(const void *ud, uint64_t left) {
  (void)ud;
  (void)left;
  return 1;
}

static bool take_one(roc_cpu_command *command, const roc_cpu_scratch *scratch,
                     roc_cpu_share *out_share) {
  return roc_cpu_parts_take(command->stream->parts, command->nparts, scratch->thread, choose_one,
                            NULL, out_share);
}

static bool step_bytes(roc_cpu_task *task, roc_cpu_scratch *scratch) {
  roc_cpu_command *command = (roc_cpu_command *)task;
  roc_cpu_share share;
  if (!take_one(command, scratch, &share)) return false;
  size_t offset = share.first * SHARE_BYTES, nbytes = command->as.bytes.nbytes;
  if (command->total == 1) {
    run_bytes(command, 0, nbytes);
  } else {
    run_bytes(command, offset, nbytes - offset < SHARE_BYTES ? nbytes - offset : SHARE_BYTES);
  }
  return true;
}

static bool step_host_call(roc_cpu_task *task, roc_cpu_scratch *scratch) {
  roc_cpu_command *command = (roc_cpu_command *)task;
  roc_cpu_share share;
  if (!take_one(command, scratch, &share)) return false;
  command->as.call.fn(command->as.call.ud);
  return true;
}

/* ---- order --------------------------------------------------------------- */

static void free_command(roc_cpu_command *command) {
  roc_cpu_queues *queues = command->stream->queues;
  if (command->kind == ROC_CPU_LAUNCH) roc_free(command->as.launch.heap_kernarg);
  command->next = queues->free_commands;
  queues->free_commands = command;
}

/* Takes the finished first command off its stream.  Lock held; the stream may be gone afterwards
 * when its queue is empty. */
static bool pop_first(roc_cpu_stream *stream) {
  roc_cpu_command *command = stream->first;
  stream->first = command->next;
  bool is_empty = !stream->first;
  if (is_empty) stream->last_link = &stream->first;
  atomic_store_explicit(&stream->completed, command->ticket, memory_order_release);
  roc_cpu_stream *other = command->kind == ROC_CPU_WAIT_FOR ? command->as.wait.other : NULL;
  free_command(command);
  if (other) drop_stream(other);
  if (is_empty) drop_stream(stream);
  return !is_empty;
}

static void block_stream(roc_cpu_stream *stream) {
  stream->is_blocked = true;
  stream->next_blocked = blocked_streams;
  blocked_streams = stream;
}

static bool has_to_wait(const roc_cpu_command *command) {
  return !roc_cpu_is_done(&command->as.wait.other->base, command->as.wait.ticket);
}

/* Starts the first command; waits that are over and stamps complete on the way.  Lock held. */
static void start_first(roc_cpu_stream *stream) {
  for (;;) {
    roc_cpu_command *first = stream->first;
    if (first->kind == ROC_CPU_WAIT_FOR) {
      if (has_to_wait(first)) {
        block_stream(stream);
        return;
      }
    } else if (first->kind == ROC_CPU_STAMP) {
      *first->as.stamp_ns = roc_clock_ns();
    } else {
      roc_cpu_split(first);
      roc_cpu_pool_submit(&stream->queues->pool, &first->task);
      return;
    }
    if (!pop_first(stream)) return;
  }
}

/* Streams whose wait is over go on; each may free others, so begin again.  Lock held. */
static void wake_blocked(void) {
  roc_cpu_stream **link = &blocked_streams;
  while (*link) {
    roc_cpu_stream *stream = *link;
    if (has_to_wait(stream->first)) {
      link = &stream->next_blocked;
      continue;
    }
    *link = stream->next_blocked;
    stream->is_blocked = false;
    start_first(stream);
    link = &blocked_streams;
  }
}

static void finish_command(roc_cpu_task *task) {
  roc_cpu_stream *stream = ((roc_cpu_command *)task)->stream;
  if (pop_first(stream)) start_first(stream);
  if (blocked_streams) wake_blocked();
  roc_cpu_pool_notify();
}

static void append(roc_cpu_command *command) {
  roc_cpu_stream *stream = command->stream;
  bool was_empty = !stream->first;
  command->next = NULL;
  *stream->last_link = command;
  stream->last_link = &command->next;
  if (was_empty) {
    stream->refs++;
    start_first(stream);
  }
}

/* ---- queueing ------------------------------------------------------------ */

static roc_ticket next_ticket(roc_cpu_stream *stream) {
  return atomic_load_explicit(&stream->queued, memory_order_relaxed) + 1;
}

/* The work was done on the calling thread. */
static void complete_inline(roc_cpu_stream *stream, roc_ticket ticket) {
  atomic_store_explicit(&stream->queued, ticket, memory_order_relaxed);
  atomic_store_explicit(&stream->completed, ticket, memory_order_release);
}

roc_cpu_command *roc_cpu_command_take(roc_cpu_stream *stream, roc_cpu_command_kind kind,
                                      bool (*step)(roc_cpu_task *, roc_cpu_scratch *)) {
  roc_cpu_pool_lock();
  roc_cpu_command *command = stream->queues->free_commands;
  if (command) stream->queues->free_commands = command->next;
  roc_cpu_pool_unlock();
  if (!command) command = roc_alloc(sizeof *command);
  if (!command) return NULL;
  command->task = (roc_cpu_task){
      .step = step, .finish = finish_command, .useful_threads = 1, .worth_waking = 1};
  command->stream = stream;
  command->kind = kind;
  command->ticket = next_ticket(stream);
  command->first = 0;
  command->total = command->nparts = 1;
  return command;
}

roc_status roc_cpu_command_fail_oom(roc_error *err) {
  return roc_fail(err, ROC_OOM, "out of memory: no room for a queued command");
}

void roc_cpu_command_drop(roc_cpu_command *command) {
  roc_cpu_pool_lock();
  free_command(command);
  roc_cpu_pool_unlock();
}

void roc_cpu_command_complete(roc_cpu_command *command, roc_ticket *out_ticket) {
  *out_ticket = command->ticket;
  complete_inline(command->stream, command->ticket);
  roc_cpu_command_drop(command);
}

/* The system gave no thread: everything runs here, so the queue is empty and nothing has to be
 * waited for. */
static void run_here(roc_cpu_command *command) {
  if (command->kind == ROC_CPU_WAIT_FOR) {
    roc_cpu_pool_lock();
    drop_stream(command->as.wait.other);
    roc_cpu_pool_unlock();
  } else if (command->kind == ROC_CPU_STAMP) {
    *command->as.stamp_ns = roc_clock_ns();
  } else {
    roc_cpu_scratch scratch = {0};
    roc_cpu_split(command);
    while (command->task.step(&command->task, &scratch)) continue;
    roc_cpu_scratch_deinit(&scratch);
  }
}

void roc_cpu_command_queue(roc_cpu_command *command, roc_ticket *out_ticket) {
  *out_ticket = command->ticket;
  roc_cpu_pool_lock();
  bool has_threads = roc_cpu_pool_start(&command->stream->queues->pool);
  if (has_threads) {
    atomic_store_explicit(&command->stream->queued, command->ticket, memory_order_relaxed);
    append(command);
  }
  roc_cpu_pool_unlock();
  if (has_threads) return;
  run_here(command);
  roc_cpu_command_complete(command, out_ticket);
}

/* Fills in the parts of a copy or fill that say where and how much. */
static void describe_bytes(roc_cpu_command *command, roc_devptr dst, roc_devptr src,
                           size_t nbytes) {
  command->as.bytes.dst = (char *)(uintptr_t)dst;
  command->as.bytes.src = (const char *)(uintptr_t)src;
  command->as.bytes.nbytes = nbytes;
  /* Overlapping blocks cannot be moved in shares. */
  bool overlap = command->kind == ROC_CPU_COPY && dst < src + nbytes && src < dst + nbytes;
  command->total = overlap ? 1 : nbytes / SHARE_BYTES + (nbytes % SHARE_BYTES != 0);
  uint32_t threads = roc_cpu_clamp_threads(command, command->total);
  roc_cpu_set_threads(command, threads, threads);
  command->nparts = threads;
}

roc_status roc_cpu_queue_copy(roc_dev_stream *base, roc_devptr dst, roc_devptr src, size_t nbytes,
                              roc_copy_dir dir, roc_ticket *out_ticket, roc_error *err) {
  (void)dir;
  roc_cpu_stream *stream = roc_cpu_stream_of(base);
  if (nbytes <= INLINE_BYTES && roc_cpu_is_idle(stream)) {
    if (nbytes) memmove((void *)(uintptr_t)dst, (const void *)(uintptr_t)src, nbytes);
    *out_ticket = next_ticket(stream);
    complete_inline(stream, *out_ticket);
    return ROC_OK;
  }
  roc_cpu_command *command = roc_cpu_command_take(stream, ROC_CPU_COPY, step_bytes);
  if (!command) return roc_cpu_command_fail_oom(err);
  describe_bytes(command, dst, src, nbytes);
  roc_cpu_command_queue(command, out_ticket);
  return ROC_OK;
}

roc_status roc_cpu_queue_fill(roc_dev_stream *base, roc_devptr dst, const void *pattern,
                              size_t pattern_bytes, size_t nbytes, roc_ticket *out_ticket,
                              roc_error *err) {
  roc_cpu_stream *stream = roc_cpu_stream_of(base);
  if (nbytes <= INLINE_BYTES && roc_cpu_is_idle(stream)) {
    roc_fill((void *)(uintptr_t)dst, pattern, pattern_bytes, nbytes);
    *out_ticket = next_ticket(stream);
    complete_inline(stream, *out_ticket);
    return ROC_OK;
  }
  roc_cpu_command *command = roc_cpu_command_take(stream, ROC_CPU_FILL, step_bytes);
  if (!command) return roc_cpu_command_fail_oom(err);
  memcpy(command->as.bytes.pattern, pattern, pattern_bytes);
  command->as.bytes.pattern_bytes = (uint32_t)pattern_bytes;
  describe_bytes(command, dst, 0, nbytes);
  roc_cpu_command_queue(command, out_ticket);
  return ROC_OK;
}

roc_status roc_cpu_queue_host_call(roc_dev_stream *base, void (*fn)(void *ud), void *ud,
                                   roc_ticket *out_ticket, roc_error *err) {
  roc_cpu_command *command =
      roc_cpu_command_take(roc_cpu_stream_of(base), ROC_CPU_HOST_CALL, step_host_call);
  if (!command) return roc_cpu_command_fail_oom(err);
  command->as.call.fn = fn;
  command->as.call.ud = ud;
  roc_cpu_command_queue(command, out_ticket);
  return ROC_OK;
}

roc_status roc_cpu_queue_wait_for(roc_dev_stream *base, roc_dev_stream *other, roc_ticket ticket,
                                  roc_ticket *out_ticket, roc_error *err) {
  *out_ticket = 0;
  if (base == other || roc_cpu_is_done(other, ticket)) return ROC_OK;
  roc_cpu_command *command = roc_cpu_command_take(roc_cpu_stream_of(base), ROC_CPU_WAIT_FOR, NULL);
  if (!command) return roc_cpu_command_fail_oom(err);
  command->as.wait.other = roc_cpu_stream_of(other);
  command->as.wait.ticket = ticket;
  roc_cpu_pool_lock();
  roc_cpu_stream_of(other)->refs++;
  roc_cpu_pool_unlock();
  roc_cpu_command_queue(command, out_ticket);
  return ROC_OK;
}

roc_status roc_cpu_queue_stamp(roc_dev_stream *base, uint64_t *out_ns, roc_ticket *out_ticket,
                               roc_error *err) {
  roc_cpu_stream *stream = roc_cpu_stream_of(base);
  if (roc_cpu_is_idle(stream)) {
    *out_ns = roc_clock_ns();
    *out_ticket = next_ticket(stream);
    complete_inline(stream, *out_ticket);
    return ROC_OK;
  }
  roc_cpu_command *command = roc_cpu_command_take(stream, ROC_CPU_STAMP, NULL);
  if (!command) return roc_cpu_command_fail_oom(err);
  command->as.stamp_ns = out_ns;
  roc_cpu_command_queue(command, out_ticket);
  return ROC_OK;
}
