/* Waits for a queue's tickets, by its signal.  One that lasts looks whether its work can end. */
#include "device/hsa/driver.h"

enum { SLICE_NS = 100 * 1000 * 1000 /* the longest sleep of a wait that nothing ends */ };

bool roc_hsa_queue_await(roc_hsa_queue *queue, roc_ticket ticket, uint64_t timeout_ns) {
  if (roc_hsa_queue_has_done(queue, ticket)) return true;
  hsa_signal_value_t bound = ROC_HSA_ZERO - (hsa_signal_value_t)ticket + 1;
  if (!roc_hsa_signal_await(roc_hsa_queue_counter(queue), bound, timeout_ns)) {
    roc_hsa_queue_check_stall(queue);
  }
  return roc_hsa_queue_has_done(queue, ticket);
}

void roc_hsa_queue_await_progress(roc_hsa_queue *queue) {
  roc_hsa_queue_await(queue, roc_hsa_queue_find_next(queue), SLICE_NS);
}
