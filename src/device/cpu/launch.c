/* Running kernels: shares of workgroups for the pool's threads, trials, and help.
 *
 * A launch that was short the last time is tried on the thread that queues it, in a fiber: when it
 * takes long after all, the thread leaves it where it is, and a thread of the pool goes on with it.
 * So a kernel may have loops of any length, or wait for what other streams do.
 *
 * A thread that waits takes shares as the pool's threads do, in a fiber as well: it begins at once,
 * where one of the pool may have to be woken first. */
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
  WAKE_NS = 20000,        /* of a thread's work, for which it is worth to wake one */
  HAND_NS = 5000,         /* … and to have one that spins begin */
  SHARE_MIN_NS = 3000,    /* of a launch: well over the price of taking it */
  SHARE_MAX_NS = 1000000, /* of a launch: how late an interrupt may come */
  FIRST_STEPS = 1 << 12,  /* of a kernel before it asks whether to go on: some microseconds */
  MOST_STEPS = 1 << 30,
  ASK_NS = 500000,       /* how often it should ask: an interrupt comes no later */
  MERGE_STEPS = 1 << 16, /* of workgroups that run as one: some 30 microseconds at most */
};

/* What runs a launch on a thread that is none of the pool's.  Kept for further launches. */
struct roc_cpu_fiber {
  roc_cpu_left left; /* of help: first, the pool hands it back */
  roc_fiber *fiber;
  roc_cpu_scratch scratch;
  roc_cpu_command *command;
  uint64_t rest; /* of a trial that has returned: the first workgroup that it leaves to others */
  uint64_t until_ns; /* of help */
  bool is_left;      /* by the thread that began it */
  bool has_more;     /* of help that has returned: there was more to take */
  roc_cpu_fiber *next;
};

/* ---- asking -------------------------------------------------------------- */

static bool is_cancelled(roc_cpu_command *command) {
  return command->ticket <= atomic_load_explicit(&command->stream->cancelled, memory_order_relaxed);
}

/* A thread's turn at the workgroups of a launch. */
typedef struct turn {
  roc_cpu_turn base;
  roc_cpu_command *command;
  roc_cpu_fiber *fiber; /* NULL: on a thread of the pool */
  uint64_t begin_ns, asked_ns;
  uint64_t row_first; /* the first workgroup of the row that the kernel has */
  uint64_t next;      /* the first workgroup that it leaves to others */
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
  t->fiber->is_left = true;
  roc_fiber_suspend(t->fiber->fiber);
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
  uint64_t budget = give_budget(t, t->fiber->is_left ? ASK_NS : INLINE_NS / 2);
  bool is_long = t->fiber->is_left || t->asked_ns - t->begin_ns >= INLINE_NS;
  if (budget == 0 || !is_long) return budget;
  if (is_between) {
    t->next = t->row_first + next;
    return 0;
  }
  if (!t->fiber->is_left) leave(t);
  return is_cancelled(t->command) ? 0 : base->budget;
}

/* A kernel asks in a share of a thread that waits. */
static uint64_t ask_in_help(roc_cpu_turn *base, uint64_t next) {
  (void)next;
  turn *t = (turn *)base;
  uint64_t budget = give_budget(t, ASK_NS);
  if (budget == 0 || t->fiber->is_left || t->asked_ns < t->fiber->until_ns) return budget;
  leave(t);
  return is_cancelled(t->command) ? 0 : base->budget;
}

/* ---- running ------------------------------------------------------------- */

typedef uint64_t ask_function(roc_cpu_turn *base, uint64_t next);

/* All threads read it, so it is written only when it has become another one. */
static void note_item_ps(roc_dev_module *module, uint64_t item_ps) {
  uint64_t known = atomic_load_explicit(&module->item_ps, memory_order_relaxed);
  uint64_t apart = item_ps > known ? item_ps - known : known - item_ps;
  if (known > 0 && apart <= known / 8) return;
  atomic_store_explicit(&module->item_ps, item_ps ? item_ps : 1, memory_order_relaxed);
}

static void set_row(roc_cpu_turn *base, const roc_cpu_launch *info, uint64_t row) {
  base->row[0] = row % info->range.grid[1] + 1;
  base->row[1] = row / info->range.grid[1] + 1;
}

static void enter(turn *t, uint64_t first, uint64_t end, char *memory) {
  const roc_cpu_command *command = t->command;
  command->as.launch.module->entry(command->as.launch.kernarg, &command->as.launch.info, first, end,
                                   memory, memory + command->as.launch.frame_offset, &t->base);
}

/* Of a kernel that goes by rows. One that ends early has been told to. */
static void enter_rows(turn *t, uint64_t first, uint64_t end, char *memory) {
  const roc_cpu_launch *info = &t->command->as.launch.info;
  uint64_t row = first / info->groups[0], from = first % info->groups[0], steps = 0;
  uint64_t group_steps = t->command->as.launch.items * t->command->as.launch.module->item_steps;
  while (true) {
    uint64_t count = info->groups[0] - from;
    if (count > end - first) count = end - first;
    t->row_first = first - from;
    set_row(&t->base, info, row);
    enter(t, from, from + count, memory);
    first += count;
    if (first == end || t->next < end || is_cancelled(t->command)) return;
    row++;
    from = 0;
    t->row_first = 0;
    steps += count * group_steps;
    if (steps < t->base.budget) continue;
    if (t->base.ask(&t->base, first) == 0) return;
    steps = 0;
  }
}

/* Groups first … end-1, and what an item took; gives the first group that was left, or end. */
static uint64_t run_groups(roc_cpu_command *command, uint64_t first, uint64_t end,
                           const roc_cpu_scratch *scratch, ask_function *asked) {
  roc_dev_module *module = command->as.launch.module;
  turn t = {.base = {.budget = FIRST_STEPS, .ask = asked},
            .command = command,
            .fiber = scratch->fiber,
            .next = end};
  t.begin_ns = t.asked_ns = roc_clock_ns();
  (module->goes_by_rows ? enter_rows : enter)(&t, first, end, scratch->memory);
  if (t.next > first) {
    uint64_t items = (t.next - first) * command->as.launch.items;
    note_item_ps(module, (roc_clock_ns() - t.begin_ns) * 1000 / items);
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

/* How many groups to take of those left in a part: shrinking towards the end for balance, within
 * the bounds of time. */
static uint64_t choose_share(const void *ud, uint64_t left) {
  const roc_cpu_command *command = ud;
  uint64_t group_ps = expect_group_ps(command);
  if (group_ps == 0) return 1;
  uint64_t least = SHARE_MIN_NS * (uint64_t)1000 / group_ps;
  uint64_t most = SHARE_MAX_NS * (uint64_t)1000 / group_ps;
  uint64_t nparts = command->nparts;
  uint64_t threads = (command->stream->queues->pool.size + nparts - 1) / nparts; /* of a part */
  uint64_t share = left / (2 * threads + 2);
  uint64_t batch = command->as.launch.info.batch, even = (left + threads - 1) / threads;
  if (batch > even) batch = even;
  if (share < batch) share = batch;
  if (share > most) share = most;
  if (share < least) share = least;
  if (share < 1) share = 1;
  return share < left ? share : left;
}

/* How many threads have so much to do in so many groups. */
static uint32_t count_threads(const roc_cpu_command *command, uint64_t groups, uint64_t each_ns) {
  uint32_t threads = roc_cpu_clamp_threads(command, groups);
  uint64_t group_ps = expect_group_ps(command), total_ps;
  if (group_ps == 0 || __builtin_mul_overflow(group_ps, groups, &total_ps)) return threads;
  uint64_t worth = total_ps / (each_ns * 1000);
  return worth < 1 ? 1 : worth < threads ? (uint32_t)worth : threads;
}

/* Lock held, if it is queued already. */
static void set_threads(roc_cpu_command *command, uint64_t groups) {
  uint32_t useful = count_threads(command, groups, HAND_NS);
  atomic_store_explicit(&command->as.launch.useful_threads, useful, memory_order_relaxed);
  roc_cpu_set_threads(command, useful, count_threads(command, groups, WAKE_NS));
}

/* From which group on the launch is for all threads: in as many parts as threads have something to
 * do, or a few more, so that they stay what they are when the expected time changes a little. */
static void leave_from(roc_cpu_command *command, uint64_t first) {
  uint32_t useful = command->task.useful_threads;
  uint32_t nparts = command->as.launch.module->is_in_order ? 1 : command->stream->queues->pool.size;
  while (nparts >= 2 * useful) nparts = (nparts + 1) / 2;
  command->nparts = roc_cpu_clamp_threads(command, command->total - first);
  if (nparts < command->nparts) command->nparts = nparts;
  command->first = first;
}

/* Lock held. */
static void put_back(roc_cpu_fiber *fiber) {
  roc_cpu_queues *queues = fiber->command->stream->queues;
  fiber->next = queues->free_fibers;
  queues->free_fibers = fiber;
}

/* What a trial leaves is for all threads. */
static void end_left_trial(roc_cpu_command *command, roc_cpu_fiber *fiber) {
  roc_cpu_pool_lock();
  put_back(fiber);
  command->as.launch.trial = NULL;
  set_threads(command, command->total - fiber->rest);
  leave_from(command, fiber->rest);
  roc_cpu_split(command);
  roc_cpu_pool_widen(&command->stream->queues->pool, &command->task);
  roc_cpu_pool_unlock();
}

/* More threads than at first, when the groups take longer than was expected. */
static void widen(roc_cpu_command *command, uint64_t left) {
  uint32_t useful = count_threads(command, left, HAND_NS);
  uint32_t told = atomic_load_explicit(&command->as.launch.useful_threads, memory_order_relaxed);
  if (useful <= told) return;
  roc_cpu_pool_lock();
  if (useful > command->task.useful_threads) {
    set_threads(command, left);
    roc_cpu_pool_widen(&command->stream->queues->pool, &command->task);
  }
  roc_cpu_pool_unlock();
}

static bool step_launch(roc_cpu_task *task, roc_cpu_scratch *scratch) {
  roc_cpu_command *command = (roc_cpu_command *)task;
  roc_cpu_fiber *trial = command->as.launch.trial;
  if (trial) { /* one thread alone steps the task */
    roc_fiber_resume(trial->fiber);
    end_left_trial(command, trial);
    return true;
  }
  /* The size was checked at launch: others will give memory back. */
  while (!roc_cpu_scratch_get(scratch, command->as.launch.scratch_bytes)) {
    if (is_cancelled(command)) return false;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  roc_cpu_share share;
  if (is_cancelled(command) ||
      !roc_cpu_parts_take(command->stream->parts, command->nparts, scratch->thread, choose_share,
                          command, &share)) {
    return false;
  }
  run_groups(command, share.first, share.end, scratch, scratch->fiber ? ask_in_help : ask);
  widen(command, share.left);
  return true;
}

/* ---- fibers -------------------------------------------------------------- */

static void free_fiber(roc_cpu_fiber *fiber) {
  roc_fiber_destroy(fiber->fiber);
  roc_cpu_scratch_deinit(&fiber->scratch);
  roc_free(fiber);
}

/* NULL: out of memory. */
static roc_cpu_fiber *take_fiber(roc_cpu_command *command, size_t scratch_bytes) {
  roc_cpu_queues *queues = command->stream->queues;
  roc_cpu_pool_lock();
  roc_cpu_fiber *fiber = queues->free_fibers;
  if (fiber) queues->free_fibers = fiber->next;
  roc_cpu_pool_unlock();
  if (!fiber) fiber = roc_zalloc(sizeof *fiber);
  if (!fiber) return NULL;
  fiber->command = command;
  fiber->is_left = false;
  if (!fiber->fiber) fiber->fiber = roc_fiber_create(ROC_THREAD_DEEP_STACK);
  if (fiber->fiber && roc_cpu_scratch_get(&fiber->scratch, scratch_bytes)) {
    fiber->scratch.fiber = fiber;
    return fiber;
  }
  free_fiber(fiber);
  return NULL;
}

void roc_cpu_fibers_deinit(roc_cpu_queues *queues) {
  while (queues->free_fibers) {
    roc_cpu_fiber *fiber = queues->free_fibers;
    queues->free_fibers = fiber->next;
    free_fiber(fiber);
  }
}

/* ---- helping ------------------------------------------------------------- */

static void run_help(void *ud) {
  roc_cpu_fiber *fiber = ud;
  roc_cpu_task *task = &fiber->command->task;
  do {
    fiber->has_more = task->step(task, &fiber->scratch);
  } while (fiber->has_more && roc_clock_ns() < fiber->until_ns);
}

static void end_help(roc_cpu_fiber *fiber) {
  roc_cpu_command *command = fiber->command;
  bool has_more = fiber->has_more;
  roc_cpu_pool_lock();
  put_back(fiber);
  roc_cpu_pool_unlock();
  roc_cpu_pool_exit(&command->stream->queues->pool, &command->task, has_more);
}

/* A thread of the pool goes on with what the one that waited has left. */
static void go_on_helping(roc_cpu_left *left) {
  roc_cpu_fiber *fiber = (roc_cpu_fiber *)left;
  roc_fiber_resume(fiber->fiber);
  end_help(fiber);
}

/* Until it is late, from when on the pool has it. */
static void help(roc_cpu_fiber *fiber, uint64_t until_ns, bool has_begun) {
  roc_cpu_pool *pool = &fiber->command->stream->queues->pool;
  fiber->until_ns = until_ns;
  fiber->is_left = false;
  if (has_begun ? roc_fiber_resume(fiber->fiber) : roc_fiber_call(fiber->fiber, run_help, fiber)) {
    end_help(fiber);
    return;
  }
  roc_cpu_pool_lock();
  roc_cpu_pool_leave(pool, &fiber->left);
  roc_cpu_pool_unlock();
}

bool roc_cpu_help(roc_cpu_command *command, uint64_t until_ns) {
  size_t nbytes = command->kind == ROC_CPU_LAUNCH ? command->as.launch.scratch_bytes : 1;
  roc_cpu_fiber *fiber = take_fiber(command, nbytes);
  if (fiber) {
    fiber->left = (roc_cpu_left){.go_on = go_on_helping, .task = &command->task};
    help(fiber, until_ns, false);
    return true;
  }
  roc_cpu_pool_exit(&command->stream->queues->pool, &command->task, true);
  return false;
}

void roc_cpu_help_on(roc_cpu_left *left, uint64_t until_ns) {
  help((roc_cpu_fiber *)left, until_ns, true);
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
static uint32_t choose_merge(const roc_dev_module *module, uint64_t items) {
  uint64_t steps = module->item_steps, group_steps;
  if (__builtin_mul_overflow(items, steps ? steps : 1, &group_steps)) return 1;
  return group_steps < MERGE_STEPS ? (uint32_t)(MERGE_STEPS / group_steps) : 1;
}

/* Of a workgroup, as the kernel takes it. */
static uint64_t count_items(const roc_dev_launch *launch) {
  return launch->module->goes_by_rows ? launch->range->local[0]
                                      : roc_ndrange_local_items(launch->range);
}

/* Fills what a kernel is told, but for `batch`; gives the number of workgroups. */
static uint64_t describe(roc_cpu_launch *info, const roc_device *device,
                         const roc_dev_launch *launch) {
  uint64_t total = 1;
  *info = (roc_cpu_launch){.range = *launch->range,
                           .wave_size = device->props.wavefront_size,
                           .batch = 1,
                           .fault = launch->fault,
                           .print = launch->print};
  for (int d = 0; d < 3; d++) {
    info->groups[d] = roc_ndrange_groups(launch->range, d);
    bool is_row = d > 0 && launch->module->goes_by_rows;
    total *= is_row ? launch->range->grid[d] : info->groups[d];
  }
  info->merge = choose_merge(launch->module, count_items(launch));
  return total;
}

static void describe_launch(roc_cpu_command *command, const roc_dev_launch *launch) {
  roc_dev_module *module = launch->module;
  const roc_ndrange *range = launch->range;
  roc_cpu_launch *info = &command->as.launch.info;
  command->total = describe(info, command->stream->base.device, launch);
  command->as.launch.module = module;
  command->as.launch.items = count_items(launch);
  size_t shared = round_up_64(module->static_shared_bytes) + range->dynamic_shared_bytes;
  shared = round_up_64(shared);
  size_t frame = module->frame_item_bytes * command->as.launch.items;
  if (module->has_batches) info->batch = choose_batch(launch, shared + frame);
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

static void run_trial(void *ud) {
  roc_cpu_fiber *trial = ud;
  roc_cpu_command *command = trial->command;
  trial->rest = run_groups(command, 0, command->total, &trial->scratch, ask_in_trial);
}

/* Whether the launch is done; what is left of it is for the pool. */
static bool try_here(roc_cpu_command *command) {
  set_threads(command, command->total);
  leave_from(command, 0);
  if (!roc_cpu_is_idle(command->stream) || !is_probably_short(command)) return false;
  roc_cpu_fiber *trial = take_fiber(command, command->as.launch.scratch_bytes);
  if (!trial) return false;
  if (roc_fiber_call(trial->fiber, run_trial, trial)) {
    uint64_t rest = trial->rest;
    roc_cpu_pool_lock();
    put_back(trial);
    roc_cpu_pool_unlock();
    if (rest == command->total) return true;
    set_threads(command, command->total - rest);
    leave_from(command, rest);
    return false;
  }
  command->as.launch.trial = trial;
  roc_cpu_set_threads(command, 1, 1);
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
  if (try_here(command)) {
    roc_cpu_command_complete(command, out_ticket);
  } else {
    roc_cpu_command_queue(command, out_ticket);
  }
  return ROC_OK;
}

/* ---- at once ------------------------------------------------------------- */

static uint64_t go_on(roc_cpu_turn *base, uint64_t next) {
  (void)next;
  return base->budget;
}

/* It is known to be short, and needs no memory of its own. */
static bool can_run_at_once(const roc_dev_launch *launch) {
  roc_dev_module *module = launch->module;
  uint64_t item_ps = atomic_load_explicit(&module->item_ps, memory_order_relaxed);
  bool needs_memory =
      module->static_shared_bytes || module->frame_fixed_bytes || module->frame_item_bytes;
  if (item_ps == 0 || needs_memory || launch->range->dynamic_shared_bytes) return false;
  uint64_t most = INLINE_NS * (uint64_t)1000 / item_ps, items = 1;
  for (int d = 0; d < 3; d++) {
    if (__builtin_mul_overflow(items, launch->range->grid[d], &items)) return false;
  }
  return items <= most;
}

bool roc_cpu_run_at_once(roc_device *device, const roc_dev_launch *launch) {
  if (!can_run_at_once(launch)) return false;
  roc_cpu_launch info;
  roc_cpu_turn base = {.budget = FIRST_STEPS, .ask = go_on, .row = {1, 1}};
  uint64_t total = describe(&info, device, launch);
  uint64_t width = launch->module->goes_by_rows ? info.groups[0] : total;
  for (uint64_t row = 0; row * width < total; row++) {
    if (row > 0) set_row(&base, &info, row);
    launch->module->entry(launch->kernarg, &info, 0, width, NULL, NULL, &base);
  }
  return true;
}
