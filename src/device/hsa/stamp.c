/* The device times that events ask for: a stamp is a packet with a signal of its own, in which the
 * device notes when the packet ran.  The queue keeps its stamps in the order of their tickets. */
#include "base/alloc.h"
#include "base/clock.h"
#include "device/hsa/driver.h"

/* The times of the device are given by it. */
uint64_t roc_hsa_read_clock(void) {
  uint64_t ticks = 0;
  hsa_status_t status = roc_hsa.hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &ticks);
  return status == HSA_STATUS_SUCCESS ? roc_hsa_ticks_to_ns(ticks) : roc_clock_ns();
}

/* What the device has noted, where that can be: some firmware and some ROCR give times that are
 * none.  Else when the stamp is found complete. */
static uint64_t device_time(roc_hsa_queue *queue, const roc_hsa_stamp *stamp) {
  enum { SLACK_NS = 1000000 }; /* of ROCR's translation */
  uint64_t now = roc_hsa_read_clock();
  hsa_amd_profiling_dispatch_time_t time = {0};
  if (!stamp->is_timed || stamp->is_given_up) return now;
  hsa_status_t status =
      roc_hsa.hsa_amd_profiling_get_dispatch_time(queue->device->agent, stamp->signal->hsa, &time);
  if (status != HSA_STATUS_SUCCESS || time.start > time.end) return now;
  uint64_t end = roc_hsa_ticks_to_ns(time.end);
  return end + SLACK_NS >= stamp->queued_ns && end <= now + SLACK_NS ? end : now;
}

static uint64_t time_of(roc_hsa_queue *queue, const roc_hsa_stamp *stamp) {
  uint64_t time = device_time(queue, stamp);
  if (time > queue->last_time_ns) queue->last_time_ns = time;
  return queue->last_time_ns;
}

void roc_hsa_write_stamps(roc_hsa_queue *queue, roc_ticket done) {
  pthread_mutex_lock(&queue->lock);
  while (queue->stamps && queue->stamps->ticket <= done) {
    roc_hsa_stamp *stamp = queue->stamps;
    queue->stamps = stamp->next;
    *stamp->out_ns = time_of(queue, stamp);
    roc_hsa_signal_release(&queue->device->signals, stamp->signal);
    roc_free(stamp);
  }
  if (!queue->stamps) queue->last_stamp = &queue->stamps;
  atomic_store(&queue->first_stamp, queue->stamps ? queue->stamps->ticket : UINT64_MAX);
  pthread_mutex_unlock(&queue->lock);
}

/* Other queues may wait for it. */
static void give_up_stamp(roc_hsa_stamp *stamp) {
  if (roc_hsa.hsa_signal_load_scacquire(stamp->signal->hsa) == 0) return;
  stamp->is_given_up = true;
  roc_hsa.hsa_signal_store_screlease(stamp->signal->hsa, 0);
}

void roc_hsa_give_up_stamps(roc_hsa_queue *queue) {
  for (roc_hsa_stamp *s = queue->stamps; s; s = s->next) give_up_stamp(s);
}

void roc_hsa_append_stamp(roc_hsa_queue *queue, roc_hsa_stamp *stamp) {
  pthread_mutex_lock(&queue->lock);
  *queue->last_stamp = stamp;
  queue->last_stamp = &stamp->next;
  if (queue->stamps == stamp) atomic_store(&queue->first_stamp, stamp->ticket);
  if (atomic_load(&queue->is_stopped)) give_up_stamp(stamp);
  pthread_mutex_unlock(&queue->lock);
}

roc_hsa_signal *roc_hsa_queue_find_stamp(roc_hsa_queue *queue, roc_ticket ticket) {
  roc_hsa_signal *signal = NULL;
  pthread_mutex_lock(&queue->lock);
  for (roc_hsa_stamp *s = queue->stamps; s && !signal; s = s->next) {
    if (s->ticket == ticket) signal = s->signal;
  }
  if (signal) roc_hsa_signal_retain(signal);
  pthread_mutex_unlock(&queue->lock);
  return signal;
}

void roc_hsa_drop_stamps(roc_hsa_queue *queue) {
  while (queue->stamps) {
    roc_hsa_stamp *stamp = queue->stamps;
    queue->stamps = stamp->next;
    roc_hsa_signal_release(&queue->device->signals, stamp->signal);
    roc_free(stamp);
  }
}
