/* How far a queue has come: tickets are counted down in one signal of the queue.  A queue that is
 * stopped completes nothing more; all that was queued then counts as over. */
#include "device/hsa/driver.h"

hsa_signal_t roc_hsa_queue_counter(roc_hsa_queue *queue) {
  return (hsa_signal_t){atomic_load_explicit(&queue->counter, memory_order_acquire)};
}

/* What a stopped queue completes after it has stopped does not count. */
roc_ticket roc_hsa_queue_read_done(roc_hsa_queue *queue) {
  roc_ticket issued = atomic_load_explicit(&queue->issued, memory_order_acquire);
  roc_ticket done =
      (roc_ticket)(ROC_HSA_ZERO - roc_hsa.hsa_signal_load_scacquire(roc_hsa_queue_counter(queue)));
  return done < issued ? done : issued;
}

roc_ticket roc_hsa_queue_refresh(roc_hsa_queue *queue) {
  roc_ticket done = roc_hsa_queue_read_done(queue);
  if (done >= atomic_load_explicit(&queue->first_stamp, memory_order_acquire)) {
    roc_hsa_write_stamps(queue, done);
  }
  roc_ticket known = atomic_load_explicit(&queue->completed, memory_order_relaxed);
  while (known < done &&
         !atomic_compare_exchange_weak_explicit(&queue->completed, &known, done,
                                                memory_order_release, memory_order_relaxed)) {
    continue;
  }
  return done;
}

/* What was queued may have grown since the queue stopped.  Nothing is given up once the queue has
 * been started over: the thread that found it stopped may come late. */
void roc_hsa_queue_give_up(roc_hsa_queue *queue) {
  pthread_mutex_lock(&queue->lock);
  if (atomic_load(&queue->is_stopped)) {
    roc_hsa_give_up_stamps(queue);
    hsa_signal_value_t value = ROC_HSA_ZERO - (hsa_signal_value_t)atomic_load(&queue->issued);
    roc_hsa.hsa_signal_store_screlease(roc_hsa_queue_counter(queue), value);
  }
  pthread_mutex_unlock(&queue->lock);
}

bool roc_hsa_queue_has_done(roc_hsa_queue *queue, roc_ticket ticket) {
  if (atomic_load_explicit(&queue->completed, memory_order_acquire) >= ticket) return true;
  if (roc_hsa_queue_refresh(queue) >= ticket) return true;
  if (!atomic_load_explicit(&queue->is_stopped, memory_order_acquire)) return false;
  roc_hsa_queue_give_up(queue);
  return roc_hsa_queue_refresh(queue) >= ticket;
}

roc_ticket roc_hsa_queue_find_next(roc_hsa_queue *queue) {
  roc_ticket next = roc_hsa_queue_read_done(queue) + 1;
  roc_ticket issued = atomic_load_explicit(&queue->issued, memory_order_relaxed);
  return next < issued ? next : issued;
}

/* ---- the counter --------------------------------------------------------- */

roc_status roc_hsa_queue_make_counter(roc_hsa_queue *queue, roc_error *err) {
  roc_hsa_signal *signal;
  ROC_TRY(roc_hsa_signal_take(&queue->device->signals, &signal, err));
  hsa_signal_value_t value = ROC_HSA_ZERO - (hsa_signal_value_t)atomic_load(&queue->issued);
  roc_hsa.hsa_signal_store_relaxed(signal->hsa, value);
  if (queue->counter_signal) {
    queue->counter_signal->next = queue->old_counters;
    queue->old_counters = queue->counter_signal;
  }
  queue->counter_signal = signal;
  atomic_store_explicit(&queue->counter, signal->hsa.handle, memory_order_release);
  return ROC_OK;
}

void roc_hsa_queue_release_counters(roc_hsa_queue *queue) {
  roc_hsa_signals *pool = &queue->device->signals;
  while (queue->old_counters) {
    roc_hsa_signal *signal = queue->old_counters;
    queue->old_counters = signal->next;
    roc_hsa_signal_release(pool, signal);
  }
  if (queue->counter_signal) roc_hsa_signal_release(pool, queue->counter_signal);
}
