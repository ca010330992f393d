/* Waiting for a stream: the thread takes part in what it waits for, then spins, then sleeps. */
#include "device/common/common.h"
#include "device/cpu/command.h"

enum {
  WAIT_SPIN_NS = 15000,
  MOST_HELP_NS = 20 * 1000 * 1000, /* of a wait, which may have to end for an interrupt */
};

/* What the thread may take part in: no function of the host, which waits for its own thread, and no
 * launch that was left in the middle. */
static bool is_shared(const roc_cpu_command *command) {
  if (command->kind == ROC_CPU_LAUNCH) return !command->as.launch.trial;
  return command->kind == ROC_CPU_COPY || command->kind == ROC_CPU_FILL;
}

/* Whether the thread took part in what it waits for: there was something, and memory for it. */
static bool help(roc_cpu_stream *stream, roc_ticket ticket, uint64_t deadline) {
  roc_cpu_pool *pool = &stream->queues->pool;
  roc_cpu_pool_lock();
  roc_cpu_command *first = stream->first;
  bool may_help = first && first->ticket <= ticket && is_shared(first);
  roc_cpu_left *left = may_help ? roc_cpu_pool_take_left(pool, &first->task) : NULL;
  bool enters = may_help && !left && roc_cpu_pool_enter(pool, &first->task);
  roc_cpu_pool_unlock();
  if (left) roc_cpu_help_on(left, deadline);
  return left || (enters && roc_cpu_help(first, deadline));
}

roc_status roc_cpu_wait(roc_dev_stream *stream, roc_ticket ticket, int64_t timeout_ns,
                        bool *out_done, roc_error *err) {
  (void)err;
  uint64_t now = roc_clock_ns();
  uint64_t deadline = timeout_ns < 0 ? UINT64_MAX : now + (uint64_t)timeout_ns;
  uint64_t help_end = now + MOST_HELP_NS < deadline ? now + MOST_HELP_NS : deadline;
  while (!roc_cpu_is_done(stream, ticket) && (now = roc_clock_ns()) < help_end &&
         help(roc_cpu_stream_of(stream), ticket, help_end)) {
    continue;
  }
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
