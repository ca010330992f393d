/* Work that never ends, though nothing failed: completions get lost, and queues or copy engines stop
 * silently.  A wait that has lasted for a slice looks here.
 *
 * A kernel may take any time, and so may a call of the host. A copy or a fill may not: it is given
 * ROCLUA_HSA_COPY_TIMEOUT, and more for what the engines have to copy before it.  Nor may a packet
 * that waits for nothing, though a queue can be kept waiting by kernels of others. What is counted
 * is time in which the process ran, not that of a stopped one. */
#include <stdio.h>

#include "base/clock.h"
#include "device/hsa/driver.h"

enum { LONGEST_SLICE_NS = 200 * 1000 * 1000, QUEUE_FACTOR = 10 };

void roc_hsa_lose_by_copy(roc_hsa_device *device, const roc_hsa_signal *signal) {
  char text[320];
  snprintf(text, sizeof text,
           "a copy or fill of %llu bytes has not ended for %llu s: its completion was lost, or the "
           "copy engine hangs (HSA_ENABLE_SDMA=0 copies by kernels, ROCLUA_HSA_COPY_TIMEOUT=0 "
           "waits for ever)",
           (unsigned long long)atomic_load(&signal->nbytes),
           (unsigned long long)(roc_hsa_signal_patience(signal) / 1000000000));
  roc_hsa_lose_device(device, text);
}

static void lose_by_queue(roc_hsa_device *device, uint64_t lasted_ns) {
  char text[200];
  snprintf(text, sizeof text,
           "a queue of the device has not begun its next work for %llu s, though all before it has "
           "ended",
           (unsigned long long)(lasted_ns / 1000000000));
  roc_hsa_lose_device(device, text);
}

/* How long the queue has been at that ticket, waiting for its signal or free to begin.  A queue's
 * own time begins when the signal's has ended. */
static uint64_t lasted_at(roc_hsa_queue *queue, roc_ticket ticket, bool is_awaiting) {
  uint64_t now = roc_clock_ns();
  pthread_mutex_lock(&queue->lock);
  if (queue->stall.ticket != ticket || queue->stall.is_awaiting != is_awaiting) {
    queue->stall.ticket = ticket;
    queue->stall.is_awaiting = is_awaiting;
    queue->stall.lasted_ns = 0;
  } else {
    uint64_t since = now - queue->stall.seen_ns;
    queue->stall.lasted_ns += since < LONGEST_SLICE_NS ? since : LONGEST_SLICE_NS;
  }
  queue->stall.seen_ns = now;
  uint64_t lasted = queue->stall.lasted_ns;
  pthread_mutex_unlock(&queue->lock);
  return lasted;
}

void roc_hsa_queue_check_stall(roc_hsa_queue *queue) {
  roc_ticket next = roc_hsa_queue_read_done(queue) + 1;
  if (next > atomic_load(&queue->issued) || atomic_load(&queue->is_stopped)) return;
  if (queue->ring.is_foreign) return; /* work that is not known here may be before it */
  const roc_hsa_launch_info *info = &queue->launch_infos[next & queue->launch_info_mask];
  bool is_awaiting = info->awaited && roc_hsa.hsa_signal_load_scacquire(info->awaited->hsa) != 0;
  uint64_t lasted = lasted_at(queue, next, is_awaiting), timeout = roc_hsa_sys.copy_timeout_ns;
  if (info->is_launch || queue->device->base.is_lost) return;
  if (is_awaiting && lasted > roc_hsa_signal_patience(info->awaited)) {
    roc_hsa_lose_by_copy(queue->device, info->awaited);
  } else if (!is_awaiting && timeout && lasted > QUEUE_FACTOR * timeout) {
    lose_by_queue(queue->device, lasted);
  }
}
