/* Commands, their order and their shares; see queue.h. */
#include "device/cpu/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bulk.h"
#include "base/clock.h"
#include "device/common/common.h"

enum {
  INLINE_KERNARG = 384,
  INLINE_BYTES = 256 * 1024, /* copies and fills up to this run on the caller of an idle stream */
  INLINE_NS = 20000,         /* likewise launches expected to take less; they hand over after it */
  SHARE_BYTES = 1 << 20,     /* of a copy or fill that is spread over threads */
  BATCH_ITEMS = 4096,        /* work-items of the first dimension */
  BATCH_BYTES = 1 << 16,     /* of frames and shared memory */
  SHARE_MIN_NS = 3000,       /* of a launch: well over the price of taking it */
  SHARE_MAX_NS = 1000000,    /* of a launch: how late an interrupt may come */
  WAIT_SPIN_NS = 15000,
  FIRST_STEPS = 1 << 12, /* of a kernel before it asks whether to go on: some microseconds */
  MOST_STEPS = 1 << 30,
  ASK_NS = 500000,        /* how often it should ask: an interrupt comes no later */
  MERGE_STEPS = 1 << 16,  /* of workgroups that run as one: some 30 microseconds at most */
  INLINE_STEPS = 1 << 14, /* of a workgroup on the calling thread, at most */
};

typedef enum command_kind { LAUNCH, COPY, FILL, HOST_CALL, WAIT_FOR, STAMP } command_kind;

struct roc_cpu_command {
  roc_cpu_task task; /* first: the pool hands it back */
  roc_cpu_command *next;
  roc_cpu_stream *stream;
  roc_ticket ticket;
  command_kind kind;
  uint64_t total;         /* workgroups, or shares of bytes */
  _Atomic uint64_t taken; /* of them */
  union {
    struct {
      roc_dev_module *module;
      roc_cpu_launch info;
      uint64_t items; /* of a workgroup */
      size_t frame_offset, scratch_bytes;
      void *kernarg, *heap_kernarg;
      unsigned char inline_kernarg[INLINE_KERNARG];
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
  roc_cpu_stream *next;
  roc_cpu_stream *next_blocked;
};

static roc_cpu_stream *blocked_streams; /* of all devices; lock held */

static roc_cpu_stream *stream_of(roc_dev_stream *stream) {
  return (roc_cpu_stream *)stream;
}

/* ---- streams ------------------------------------------------------------- */

roc_status roc_cpu_stream_create(roc_device *device, roc_cpu_queues *queues,
                                 roc_cpu_stream **out_stream, roc_error *err) {
  roc_cpu_stream *stream = roc_zalloc(sizeof *stream);
  if (!stream) return roc_fail(err, ROC_OOM, "out of memory: no room for a stream");
  stream->base.device = device;
  stream->queues = queues;
  stream->last_link = &stream->first;
  stream->refs = 1;
  roc_cpu_pool_lock();
  stream->next = queues->streams;
  queues->streams = stream;
  atomic_fetch_add_explicit(&queues->stream_count, 1, memory_order_relaxed);
  roc_cpu_pool_unlock();
  *out_stream = stream;
  return ROC_OK;
}

/* Lock held. */
static void drop_stream(roc_cpu_stream *stream) {
  if (--stream->refs > 0) return;
  roc_cpu_stream **link = &stream->queues->streams;
  while (*link != stream) link = &(*link)->next;
  *link = stream->next;
  atomic_fetch_sub_explicit(&stream->queues->stream_count, 1, memory_order_relaxed);
  roc_free(stream);
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
  roc_cpu_scratch_deinit(&queues->caller_scratch);
  roc_cpu_pool_deinit(&queues->pool);
}

void roc_cpu_stream_interrupt(roc_dev_stream *stream) {
  roc_cpu_stream *s = stream_of(stream);
  atomic_store(&s->cancelled, atomic_load(&s->queued));
}

bool roc_cpu_is_done(roc_dev_stream *stream, roc_ticket ticket) {
  return atomic_load_explicit(&stream_of(stream)->completed, memory_order_acquire) >= ticket;
}

static bool is_idle(const roc_cpu_stream *stream) {
  return atomic_load_explicit(&stream->completed, memory_order_acquire) ==
         atomic_load_explicit(&stream->queued, memory_order_relaxed);
}

roc_status roc_cpu_wait(roc_dev_stream *stream, roc_ticket ticket, int64_t timeout_ns,
                        bool *out_done, roc_error *err) {
  (void)err;
  uint64_t now = roc_clock_ns();
  uint64_t deadline = timeout_ns < 0 ? UINT64_MAX : now + (uint64_t)timeout_ns;
  uint64_t spin_end = now + WAIT_SPIN_NS < deadline ? now + WAIT_SPIN_NS : deadline;
  while (!(*out_done = roc_cpu_is_done(stream, ticket)) && roc_clock_ns() < spin_end) {
    for (int i = 0; i < 16; i++) roc_cpu_relax();
  }
  if (*out_done) return ROC_OK;
  roc_cpu_pool_lock();
  while (!(*out_done = roc_cpu_is_done(stream, ticket)) && roc_clock_ns() < deadline) {
    roc_cpu_pool_sleep(deadline);
  }
  roc_cpu_pool_unlock();
  return ROC_OK;
}

/* ---- running shares ------------------------------------------------------ */

static size_t round_up_64(size_t nbytes) {
  return (nbytes + 63) / 64 * 64;
}

static bool is_cancelled(roc_cpu_command *command) {
  return command->ticket <= atomic_load_explicit(&command->stream->cancelled, memory_order_relaxed);
}

/* A thread's turn at the workgroups of a launch. */
typedef struct turn {
  roc_cpu_turn base;
  roc_cpu_command *command;
  uint64_t begin_ns, asked_ns;
  uint64_t next; /* the first workgroup that it leaves to others */
} turn;

/* A kernel asks: how many steps it may take before it asks again, from how long it took for the
 * last. */
static uint64_t ask(roc_cpu_turn *base, uint64_t next) {
  (void)next;
  turn *t = (turn *)base;
  if (is_cancelled(t->command)) return 0;
  uint64_t now = roc_clock_ns(), took_ns = now - t->asked_ns;
  t->asked_ns = now;
  if (took_ns < ASK_NS / 2 && base->budget < MOST_STEPS) base->budget *= 2;
  if (took_ns > ASK_NS && base->budget > FIRST_STEPS) base->budget /= 2;
  return base->budget;
}

/* The same on the calling thread, which has other things to do: ends between two workgroups. */
static uint64_t ask_caller(roc_cpu_turn *base, uint64_t next) {
  turn *t = (turn *)base;
  uint64_t budget = ask(base, next);
  if (next == UINT64_MAX || !budget || t->asked_ns - t->begin_ns < INLINE_NS) return budget;
  t->next = next;
  return 0;
}

/* Groups first … end-1, and what an item took; gives the first group that was left, or end. */
static uint64_t run_groups(roc_cpu_command *command, uint64_t first, uint64_t end, void *memory,
                           uint64_t (*asks)(roc_cpu_turn *, uint64_t)) {
  roc_dev_module *module = command->as.launch.module;
  turn t = {.base = {FIRST_STEPS, asks}, .command = command, .next = end};
  t.begin_ns = t.asked_ns = roc_clock_ns();
  module->entry(command->as.launch.kernarg, &command->as.launch.info, first, end, memory,
                (char *)memory + command->as.launch.frame_offset, &t.base);
  if (t.next > first) {
    uint64_t items = (t.next - first) * command->as.launch.items;
    uint64_t item_ps = (roc_clock_ns() - t.begin_ns) * 1000 / items;
    atomic_store_explicit(&module->item_ps, item_ps ? item_ps : 1, memory_order_relaxed);
  }
  return t.next < end ? t.next : end;
}

/* Expected time of a workgroup in picoseconds; 0: unknown. */
static uint64_t expect_group_ps(const roc_cpu_command *command) {
  uint64_t item_ps =
      atomic_load_explicit(&command->as.launch.module->item_ps, memory_order_relaxed);
  uint64_t group_ps;
  return __builtin_mul_overflow(item_ps, command->as.launch.items, &group_ps) ? UINT64_MAX
                                                                              : group_ps;
}

/* How many groups to take of those left: shrinking towards the end for balance, within the bounds
 * of time. */
static uint64_t choose_share(const roc_cpu_command *command, uint64_t left) {
  uint64_t group_ps = expect_group_ps(command);
  if (group_ps == 0) return 1;
  uint64_t least = SHARE_MIN_NS * (uint64_t)1000 / group_ps;
  uint64_t most = SHARE_MAX_NS * (uint64_t)1000 / group_ps;
  uint64_t size = command->stream->queues->pool.size, share = left / (2 * size);
  uint64_t batch = command->as.launch.info.batch, even = (left + size - 1) / size;
  if (batch > even) batch = even;
  if (share < batch) share = batch;
  if (share > most) share = most;
  if (share < least) share = least;
  if (share < 1) share = 1;
  return share < left ? share : left;
}

static bool step_launch(roc_cpu_task *task, roc_cpu_scratch *scratch) {
  roc_cpu_command *command = (roc_cpu_command *)task;
  void *memory = roc_cpu_scratch_get(scratch, command->as.launch.scratch_bytes);
  while (!memory) { /* the size was checked at launch: others will give memory back */
    if (is_cancelled(command)) return false;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    memory = roc_cpu_scratch_get(scratch, command->as.launch.scratch_bytes);
  }
  uint64_t first = atomic_load_explicit(&command->taken, memory_order_relaxed), share;
  do {
    if (first >= command->total || is_cancelled(command)) return false;
    share = choose_share(command, command->total - first);
  } while (!atomic_compare_exchange_weak_explicit(&command->taken, &first, first + share,
                                                  memory_order_relaxed, memory_order_relaxed));
  run_groups(command, first, first + share, memory, ask);
  return true;
}

static void run_bytes(const roc_cpu_command *command, size_t offset, size_t nbytes) {
  char *dst = command->as.bytes.dst + offset;
  bool is_bulk = command->total > 1 && command->as.bytes.nbytes >= ROC_BULK_BYTES;
  if (command->kind == FILL) {
    void (*fill)(void *, const void *, size_t, size_t) = is_bulk ? roc_fill_past_caches : roc_fill;
    fill(dst, command->as.bytes.pattern, command->as.bytes.pattern_bytes, nbytes);
  } else if (is_bulk) {
    roc_copy_past_caches(dst, command->as.bytes.src + offset, nbytes);
  } else {
    memmove(dst, command->as.bytes.src + offset, nbytes);
  }
}

static bool step_bytes(roc_cpu_task *task, roc_cpu_scratch *scratch) {
  (void)scratch;
  roc_cpu_command *command = (roc_cpu_command *)task;
  uint64_t share = atomic_fetch_add_explicit(&command->taken, 1, memory_order_relaxed);
  if (share >= command->total) return false;
  size_t offset = share * SHARE_BYTES, nbytes = command->as.bytes.nbytes;
  if (command->total == 1) {
    run_bytes(command, 0, nbytes);
  } else {
    run_bytes(command, offset, nbytes - offset < SHARE_BYTES ? nbytes - offset : SHARE_BYTES);
  }
  return true;
}

static bool step_host_call(roc_cpu_task *task, roc_cpu_scratch *scratch) {
  (void)scratch;
  roc_cpu_command *command = (roc_cpu_command *)task;
  if (atomic_fetch_add_explicit(&command->taken, 1, memory_order_relaxed) > 0) return false;
  command->as.call.fn(command->as.call.ud);
  return true;
}

/* ---- order --------------------------------------------------------------- */

static void free_command(roc_cpu_command *command) {
  roc_cpu_queues *queues = command->stream->queues;
  if (command->kind == LAUNCH) roc_free(command->as.launch.heap_kernarg);
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
  roc_cpu_stream *other = command->kind == WAIT_FOR ? command->as.wait.other : NULL;
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
    if (first->kind == WAIT_FOR) {
      if (has_to_wait(first)) {
        block_stream(stream);
        return;
      }
    } else if (first->kind == STAMP) {
      *first->as.stamp_ns = roc_clock_ns();
    } else {
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

static roc_cpu_command *take_command(roc_cpu_stream *stream, command_kind kind,
                                     bool (*step)(roc_cpu_task *, roc_cpu_scratch *)) {
  roc_cpu_pool_lock();
  roc_cpu_command *command = stream->queues->free_commands;
  if (command) stream->queues->free_commands = command->next;
  roc_cpu_pool_unlock();
  if (!command) command = roc_alloc(sizeof *command);
  if (!command) return NULL;
  command->task = (roc_cpu_task){.step = step, .finish = finish_command, .useful_threads = 1};
  command->stream = stream;
  command->kind = kind;
  command->ticket = next_ticket(stream);
  command->total = 1;
  atomic_store_explicit(&command->taken, 0, memory_order_relaxed);
  return command;
}

static roc_status fail_command_oom(roc_error *err) {
  return roc_fail(err, ROC_OOM, "out of memory: no room for a queued command");
}

/* The system gave no thread: everything runs here, so the queue is empty and nothing has to be
 * waited for. */
static void run_here(roc_cpu_command *command) {
  roc_cpu_stream *stream = command->stream;
  if (command->kind == WAIT_FOR) {
    drop_stream(command->as.wait.other);
  } else if (command->kind == STAMP) {
    *command->as.stamp_ns = roc_clock_ns();
  } else {
    while (command->task.step(&command->task, &stream->queues->caller_scratch)) continue;
  }
  complete_inline(stream, command->ticket);
  free_command(command);
}

static void enqueue(roc_cpu_command *command, roc_ticket *out_ticket) {
  *out_ticket = command->ticket;
  roc_cpu_pool_lock();
  if (!roc_cpu_pool_start(&command->stream->queues->pool)) {
    run_here(command);
  } else {
    atomic_store_explicit(&command->stream->queued, command->ticket, memory_order_relaxed);
    append(command);
  }
  roc_cpu_pool_unlock();
}

static uint32_t clamp_threads(const roc_cpu_command *command, uint64_t shares) {
  uint32_t threads = command->stream->queues->pool.size;
  return shares < threads ? (uint32_t)shares : threads;
}

/* How many workgroups should run side by side: until their rows are a long stretch of memory, while
 * all that they keep stays in a core's own cache. */
static uint32_t choose_batch(const roc_dev_launch *launch, size_t group_bytes) {
  uint64_t batch = BATCH_ITEMS / launch->range->local[0];
  uint64_t most = BATCH_BYTES / (group_bytes ? group_bytes : 1);
  if (batch > most) batch = most;
  if (batch > ROC_CPU_MAX_BATCH) batch = ROC_CPU_MAX_BATCH;
  return batch ? (uint32_t)batch : 1;
}

/* How many workgroups may be one: a long loop over work-items, which still asks often enough
 * whether it is to go on. */
static uint32_t choose_merge(const roc_cpu_command *command) {
  uint64_t steps = command->as.launch.module->item_steps, group_steps;
  if (__builtin_mul_overflow(command->as.launch.items, steps ? steps : 1, &group_steps)) return 1;
  return group_steps < MERGE_STEPS ? (uint32_t)(MERGE_STEPS / group_steps) : 1;
}

static void describe_launch(roc_cpu_command *command, const roc_dev_launch *launch) {
  roc_dev_module *module = launch->module;
  const roc_ndrange *range = launch->range;
  roc_cpu_launch *info = &command->as.launch.info;
  *info = (roc_cpu_launch){
      .range = *range,
      .wave_size = command->stream->base.device->props.wavefront_size,
      .fault = launch->fault,
      .print = launch->print,
  };
  command->total = 1;
  for (int d = 0; d < 3; d++) {
    info->groups[d] = roc_ndrange_groups(range, d);
    command->total *= info->groups[d];
  }
  command->as.launch.module = module;
  command->as.launch.items = roc_ndrange_local_items(range);
  size_t shared = round_up_64(module->static_shared_bytes) + range->dynamic_shared_bytes;
  shared = round_up_64(shared);
  size_t frame = module->frame_item_bytes * command->as.launch.items;
  info->batch = module->has_batches ? choose_batch(launch, shared + frame) : 1;
  info->merge = choose_merge(command);
  command->as.launch.frame_offset = shared * info->batch;
  command->as.launch.scratch_bytes =
      command->as.launch.frame_offset + module->frame_fixed_bytes + frame * info->batch;
  command->as.launch.heap_kernarg = NULL;
}

/* Whether the launch is probably short: its last run says so, or there was none; and it soon comes
 * to a place between two workgroups, whatever way it takes. */
static bool is_short(const roc_cpu_command *command) {
  const roc_dev_module *module = command->as.launch.module;
  uint64_t group_ps = expect_group_ps(command), total_ps, steps;
  if (module->is_open_ended) return false;
  if (__builtin_mul_overflow(command->as.launch.items, module->item_steps, &steps) ||
      steps > INLINE_STEPS) {
    return false;
  }
  return !__builtin_mul_overflow(group_ps, command->total, &total_ps) &&
         total_ps <= INLINE_NS * (uint64_t)1000;
}

/* A kernel may spin for what another stream is given next; the caller would never get to that. */
static bool is_only_stream(const roc_cpu_stream *stream) {
  return atomic_load_explicit(&stream->queues->stream_count, memory_order_relaxed) == 1;
}

/* False: groups from *out_first on have to be queued. */
static bool launch_inline(roc_cpu_stream *stream, const roc_dev_launch *launch, uint64_t *out_first,
                          roc_ticket *out_ticket) {
  *out_first = 0;
  if (!is_idle(stream) || !is_only_stream(stream)) return false;
  roc_cpu_command command;
  command.stream = stream;
  command.ticket = next_ticket(stream);
  describe_launch(&command, launch);
  if (!is_short(&command)) return false;
  void *memory =
      roc_cpu_scratch_get(&stream->queues->caller_scratch, command.as.launch.scratch_bytes);
  if (!memory) return false;
  command.as.launch.kernarg = (void *)(uintptr_t)launch->kernarg;
  *out_first = run_groups(&command, 0, command.total, memory, ask_caller);
  if (*out_first < command.total) return false;
  *out_ticket = next_ticket(stream);
  complete_inline(stream, *out_ticket);
  return true;
}

static bool copy_kernarg(roc_cpu_command *command, const roc_dev_launch *launch) {
  command->as.launch.kernarg = command->as.launch.inline_kernarg;
  if (launch->kernarg_bytes > INLINE_KERNARG) {
    command->as.launch.heap_kernarg = roc_alloc(launch->kernarg_bytes);
    command->as.launch.kernarg = command->as.launch.heap_kernarg;
    if (!command->as.launch.kernarg) return false;
  }
  if (launch->kernarg_bytes) {
    memcpy(command->as.launch.kernarg, launch->kernarg, launch->kernarg_bytes);
  }
  return true;
}

roc_status roc_cpu_queue_launch(roc_dev_stream *base, const roc_dev_launch *launch,
                                roc_ticket *out_ticket, roc_error *err) {
  roc_cpu_stream *stream = stream_of(base);
  uint64_t first;
  if (launch_inline(stream, launch, &first, out_ticket)) return ROC_OK;
  roc_cpu_command *command = take_command(stream, LAUNCH, step_launch);
  if (!command) return fail_command_oom(err);
  describe_launch(command, launch);
  uint64_t most = base->device->props.memory_total / stream->queues->pool.size;
  bool fits = command->as.launch.scratch_bytes <= most;
  if (!fits || !copy_kernarg(command, launch)) {
    size_t nbytes = command->as.launch.scratch_bytes;
    roc_cpu_pool_lock();
    free_command(command);
    roc_cpu_pool_unlock();
    if (fits) return fail_command_oom(err);
    return roc_fail(err, ROC_OOM,
                    "out of memory: a workgroup of this kernel needs %zu bytes a thread", nbytes);
  }
  atomic_store_explicit(&command->taken, first, memory_order_relaxed);
  command->task.useful_threads = clamp_threads(command, command->total - first);
  enqueue(command, out_ticket);
  return ROC_OK;
}

/* Fills in the parts of a copy or fill that say where and how much. */
static void describe_bytes(roc_cpu_command *command, roc_devptr dst, roc_devptr src,
                           size_t nbytes) {
  command->as.bytes.dst = (char *)(uintptr_t)dst;
  command->as.bytes.src = (const char *)(uintptr_t)src;
  command->as.bytes.nbytes = nbytes;
  /* Overlapping blocks cannot be moved in shares. */
  bool overlap = command->kind == COPY && dst < src + nbytes && src < dst + nbytes;
  command->total = overlap ? 1 : nbytes / SHARE_BYTES + (nbytes % SHARE_BYTES != 0);
  command->task.useful_threads = clamp_threads(command, command->total);
}

roc_status roc_cpu_queue_copy(roc_dev_stream *base, roc_devptr dst, roc_devptr src, size_t nbytes,
                              roc_copy_dir dir, roc_ticket *out_ticket, roc_error *err) {
  (void)dir;
  roc_cpu_stream *stream = stream_of(base);
  if (nbytes <= INLINE_BYTES && is_idle(stream)) {
    if (nbytes) memmove((void *)(uintptr_t)dst, (const void *)(uintptr_t)src, nbytes);
    *out_ticket = next_ticket(stream);
    complete_inline(stream, *out_ticket);
    return ROC_OK;
  }
  roc_cpu_command *command = take_command(stream, COPY, step_bytes);
  if (!command) return fail_command_oom(err);
  describe_bytes(command, dst, src, nbytes);
  enqueue(command, out_ticket);
  return ROC_OK;
}

roc_status roc_cpu_queue_fill(roc_dev_stream *base, roc_devptr dst, const void *pattern,
                              size_t pattern_bytes, size_t nbytes, roc_ticket *out_ticket,
                              roc_error *err) {
  roc_cpu_stream *stream = stream_of(base);
  if (nbytes <= INLINE_BYTES && is_idle(stream)) {
    roc_fill((void *)(uintptr_t)dst, pattern, pattern_bytes, nbytes);
    *out_ticket = next_ticket(stream);
    complete_inline(stream, *out_ticket);
    return ROC_OK;
  }
  roc_cpu_command *command = take_command(stream, FILL, step_bytes);
  if (!command) return fail_command_oom(err);
  memcpy(command->as.bytes.pattern, pattern, pattern_bytes);
  command->as.bytes.pattern_bytes = (uint32_t)pattern_bytes;
  describe_bytes(command, dst, 0, nbytes);
  enqueue(command, out_ticket);
  return ROC_OK;
}

roc_status roc_cpu_queue_host_call(roc_dev_stream *base, void (*fn)(void *ud), void *ud,
                                   roc_ticket *out_ticket, roc_error *err) {
  roc_cpu_command *command = take_command(stream_of(base), HOST_CALL, step_host_call);
  if (!command) return fail_command_oom(err);
  command->as.call.fn = fn;
  command->as.call.ud = ud;
  enqueue(command, out_ticket);
  return ROC_OK;
}

roc_status roc_cpu_queue_wait_for(roc_dev_stream *base, roc_dev_stream *other, roc_ticket ticket,
                                  roc_ticket *out_ticket, roc_error *err) {
  *out_ticket = 0;
  if (base == other || roc_cpu_is_done(other, ticket)) return ROC_OK;
  roc_cpu_command *command = take_command(stream_of(base), WAIT_FOR, NULL);
  if (!command) return fail_command_oom(err);
  command->as.wait.other = stream_of(other);
  command->as.wait.ticket = ticket;
  roc_cpu_pool_lock();
  stream_of(other)->refs++;
  roc_cpu_pool_unlock();
  enqueue(command, out_ticket);
  return ROC_OK;
}

roc_status roc_cpu_queue_stamp(roc_dev_stream *base, uint64_t *out_ns, roc_ticket *out_ticket,
                               roc_error *err) {
  roc_cpu_stream *stream = stream_of(base);
  if (is_idle(stream)) {
    *out_ns = roc_clock_ns();
    *out_ticket = next_ticket(stream);
    complete_inline(stream, *out_ticket);
    return ROC_OK;
  }
  roc_cpu_command *command = take_command(stream, STAMP, NULL);
  if (!command) return fail_command_oom(err);
  command->as.stamp_ns = out_ns;
  enqueue(command, out_ticket);
  return ROC_OK;
}
