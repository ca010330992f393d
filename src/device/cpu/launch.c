/* Running kernels: shares of workgroups for the pool's threads, and trials.
 *
 * A launch that was short the last time is tried on the thread that queues it, in a fiber: when it
 * takes long after all, the thread leaves it where it is, and a thread of the pool goes on with it.
 * So a kernel may have loops of any length, or wait for what other streams do. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fiber.h"
#include "base/thread.h"
#include "device/common/common.h"
#include "device/cpu/command.h"

enum {
  INLINE_NS = 20000,      /* of a trial, before it is left */
  BATCH_ITEMS = 4096,     /* work-items of the first dimension */
  BATCH_BYTES = 1 << 16,  /* of frames and shared memory */
  SHARE_MIN_NS = 3000,    /* of a launch: well over the price of taking it */
  SHARE_MAX_NS = 1000000, /* of a launch: how late an interrupt may come */
  FIRST_STEPS = 1 << 12,  /* of a kernel before it asks whether to go on: some microseconds */
  MOST_STEPS = 1 << 30,
  ASK_NS = 500000,       /* how often it should ask: an interrupt comes no later */
  MERGE_STEPS = 1 << 16, /* of workgroups that run as one: some 30 microseconds at most */
};

/* What runs a launch on the thread that queues it.  Kept for further launches. */
struct roc_cpu_trial {
  roc_fiber *fiber;
  roc_cpu_scratch scratch;
  roc_cpu_command *command;
  uint64_t left; /* its function has returned: the first workgroup that it leaves to others */
  bool is_left;  /* by the thread that queued */
  roc_cpu_trial *next;
};

/* ---- asking -------------------------------------------------------------- */

static bool is_cancelled(roc_cpu_command *command) {
  return command->ticket <= atomic_load_explicit(&command->stream->cancelled, memory_order_relaxed);
}

/* A thread's turn at the workgroups of a launch. */
typedef struct turn {
  roc_cpu_turn base;
  roc_cpu_command *command;
  roc_cpu_trial *trial; /* NULL: a share of a thread of the pool */
  uint64_t begin_ns, asked_ns;
  uint64_t next; /* the first workgroup that it leaves to others */
} turn;

/* How many steps a kernel may take before it asks again, from how long it took for the last; in
 * half of `period_ns` or so. */
static uint64_t give_budget(turn *t, uint64_t period_ns) {
  if (is_cancelled(t->command)) return 0;
  uint64_t now = roc_clock_ns(), took_ns = now - t->asked_ns;
  t->asked_ns = now;
  if (took_ns < period_ns / 2 && t->base.budget < MOST_STEPS) t->base.budget *= 2;
  if (took_ns > period_ns && t->base.budget > FIRST_STEPS) t->base.budget /= 2;
  return t->base.budget;
}

/* A kernel asks in a share. */
static uint64_t ask(roc_cpu_turn *base, uint64_t next) {
  (void)next;
  return give_budget((turn *)base, ASK_NS);
}

/* Goes on, on another thread. */
static void leave(turn *t) {
  t->trial->is_left = true;
  roc_fiber_suspend(t->trial->fiber);
  uint64_t now = roc_clock_ns();
  t->begin_ns += now - t->asked_ns;
  t->asked_ns = now;
  t->base.budget = FIRST_STEPS;
}

/* A kernel asks in a trial.  When that has taken too long it ends before the next workgroup, so
 * that all threads can take some, or is left in the middle of one. */
static uint64_t ask_in_trial(roc_cpu_turn *base, uint64_t next) {
  turn *t = (turn *)base;
  bool is_between = next != UINT64_MAX;
  uint64_t budget = give_budget(t, t->trial->is_left ? ASK_NS : INLINE_NS / 2);
  bool is_long = t->trial->is_left || t->asked_ns - t->begin_ns >= INLINE_NS;
  if (budget == 0 || !is_long) return budget;
  if (is_between) {
    t->next = next;
    return 0;
  }
  if (!t->trial->is_left) leave(t);
  return is_cancelled(t->command) ? 0 : base->budget;
}

/* ---- running ------------------------------------------------------------- */

/* Groups first … end-1, and what an item took; gives the first group that was left, or end. */
static uint64_t run_groups(roc_cpu_command *command, uint64_t first, uint64_t end, void *memory,
                           roc_cpu_trial *trial) {
  roc_dev_module *module = command->as.launch.module;
  turn t = {.base = {FIRST_STEPS, trial ? ask_in_trial : ask},
            .command = command,
            .trial = trial,
            .next = end};
  t.begin_ns = t.asked_ns = roc_clock_ns();
  module->entry(command->as.launch.kernarg, &command->as.launch.info, first, end, memory,
                (char *)memory + command->as.launch.frame_offset, &t.base);
  if (t.next > first) {
    uint64_t items = (t.next - first) * command->as.launch.items;
    uint64_t item_ps = (roc_clock_ns() - t.begin_ns) * 1000 / items;
    atomic_store_explicit(&module->item_ps, item_ps ? item_ps : 1, memory_order_relaxed);
  }
  return t.next;
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

static void end_trial(roc_cpu_trial *trial) {
  roc_cpu_queues *queues = trial->command->stream->queues;
  roc_cpu_pool_lock();
  trial->next = queues->free_trials;
  queues->free_trials = trial;
  roc_cpu_pool_unlock();
}

/* What the trial leaves is for all threads. */
static void widen(roc_cpu_command *command, uint64_t first) {
  roc_cpu_pool *pool = &command->stream->queues->pool;
  command->as.launch.trial = NULL;
  atomic_store_explicit(&command->taken, first, memory_order_relaxed);
  roc_cpu_pool_lock();
  roc_cpu_pool_widen(pool, &command->task, roc_cpu_clamp_threads(command, command->total - first));
  roc_cpu_pool_unlock();
}

static bool step_launch(roc_cpu_task *task, roc_cpu_scratch *scratch) {
  roc_cpu_command *command = (roc_cpu_command *)task;
  roc_cpu_trial *trial = command->as.launch.trial;
  if (trial) { /* one thread alone steps the task */
    roc_fiber_resume(trial->fiber);
    uint64_t left = trial->left;
    end_trial(trial);
    widen(command, left);
    return true;
  }
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
  run_groups(command, first, first + share, memory, NULL);
  return true;
}

/* ---- queueing ------------------------------------------------------------ */

static size_t round_up_64(size_t nbytes) {
  return (nbytes + 63) / 64 * 64;
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
  command->as.launch.trial = NULL;
  command->as.launch.heap_kernarg = NULL;
}

static bool copy_kernarg(roc_cpu_command *command, const roc_dev_launch *launch) {
  command->as.launch.kernarg = command->as.launch.inline_kernarg;
  if (launch->kernarg_bytes > ROC_CPU_INLINE_KERNARG) {
    command->as.launch.heap_kernarg = roc_alloc(launch->kernarg_bytes);
    command->as.launch.kernarg = command->as.launch.heap_kernarg;
    if (!command->as.launch.kernarg) return false;
  }
  if (launch->kernarg_bytes) {
    memcpy(command->as.launch.kernarg, launch->kernarg, launch->kernarg_bytes);
  }
  return true;
}

/* Its last run says so, or there was none. */
static bool is_probably_short(const roc_cpu_command *command) {
  uint64_t group_ps = expect_group_ps(command), total_ps;
  return !__builtin_mul_overflow(group_ps, command->total, &total_ps) &&
         total_ps <= INLINE_NS * (uint64_t)1000;
}

static void free_trial(roc_cpu_trial *trial) {
  roc_fiber_destroy(trial->fiber);
  roc_cpu_scratch_deinit(&trial->scratch);
  roc_free(trial);
}

/* NULL: out of memory. */
static roc_cpu_trial *begin_trial(roc_cpu_command *command) {
  roc_cpu_queues *queues = command->stream->queues;
  roc_cpu_pool_lock();
  roc_cpu_trial *trial = queues->free_trials;
  if (trial) queues->free_trials = trial->next;
  roc_cpu_pool_unlock();
  if (!trial) trial = roc_zalloc(sizeof *trial);
  if (!trial) return NULL;
  trial->command = command;
  trial->is_left = false;
  if (!trial->fiber) trial->fiber = roc_fiber_create(ROC_THREAD_DEEP_STACK);
  if (trial->fiber && roc_cpu_scratch_get(&trial->scratch, command->as.launch.scratch_bytes)) {
    return trial;
  }
  free_trial(trial);
  return NULL;
}

void roc_cpu_trials_deinit(roc_cpu_queues *queues) {
  while (queues->free_trials) {
    roc_cpu_trial *trial = queues->free_trials;
    queues->free_trials = trial->next;
    free_trial(trial);
  }
}

static void run_trial(void *ud) {
  roc_cpu_trial *trial = ud;
  roc_cpu_command *command = trial->command;
  trial->left = run_groups(command, 0, command->total, trial->scratch.memory, trial);
}

/* Whether the launch is done; what is left of it is for the pool. */
static bool try_here(roc_cpu_command *command) {
  if (!roc_cpu_is_idle(command->stream) || !is_probably_short(command)) return false;
  roc_cpu_trial *trial = begin_trial(command);
  if (!trial) return false;
  uint64_t left = command->total;
  if (roc_fiber_call(trial->fiber, run_trial, trial)) {
    left = trial->left;
    end_trial(trial);
    atomic_store_explicit(&command->taken, left, memory_order_relaxed);
    command->task.useful_threads = roc_cpu_clamp_threads(command, command->total - left);
    return left == command->total;
  }
  command->as.launch.trial = trial;
  command->task.useful_threads = 1;
  return false;
}

roc_status roc_cpu_queue_launch(roc_dev_stream *base, const roc_dev_launch *launch,
                                roc_ticket *out_ticket, roc_error *err) {
  roc_cpu_stream *stream = roc_cpu_stream_of(base);
  roc_cpu_command *command = roc_cpu_command_take(stream, ROC_CPU_LAUNCH, step_launch);
  if (!command) return roc_cpu_command_fail_oom(err);
  describe_launch(command, launch);
  uint64_t most = base->device->props.memory_total / stream->queues->pool.size;
  bool fits = command->as.launch.scratch_bytes <= most;
  if (!fits || !copy_kernarg(command, launch)) {
    size_t nbytes = command->as.launch.scratch_bytes;
    roc_cpu_command_drop(command);
    if (fits) return roc_cpu_command_fail_oom(err);
    return roc_fail(err, ROC_OOM,
                    "out of memory: a workgroup of this kernel needs %zu bytes a thread", nbytes);
  }
  command->task.useful_threads = roc_cpu_clamp_threads(command, command->total);
  if (try_here(command)) {
    roc_cpu_command_complete(command, out_ticket);
  } else {
    roc_cpu_command_queue(command, out_ticket);
  }
  return ROC_OK;
}
