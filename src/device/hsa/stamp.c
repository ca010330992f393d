/* The device times that events ask for: a stamp is a packet with a signal of its own, in which the
 * device notes when the packet ran.  The queue keeps its stamps in the order of their tickets. */
#include "base/alloc.h"
#include "base/clock.h"
#include "device/hsa/driver.h"

/* By ROCR's clock, which the times of the device are given in. */
static uint64_t read_clock(void) {
  uint64_t ticks = 0;
  hsa_status_t status = roc_hsa.hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &ticks);
  return status == HSA_STATUS_SUCCESS ? roc_hsa_ticks_to_ns(ticks) : roc_clock_ns();
}

static uint64_t time_of(roc_hsa_queue *queue, const roc_hsa_stamp *stamp) {
  hsa_amd_profiling_dispatch_time_t time = {0};
  if (!stamp->is_timed || stamp->is_given_up) return read_clock();
  hsa_status_t status =
      roc_hsa.hsa_amd_profiling_get_dispatch_time(queue->device->agent, stamp->signal->hsa, &time);
  if (status != HSA_STATUS_SUCCESS || !time.end) return read_clock();
  return roc_hsa_ticks_to_ns(time.end);
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
