/* The ring of packets; see aql_ring.h. */
#include "device/hsa/aql_ring.h"

#include <string.h>
#include <time.h>

#include "base/peek.h"

enum {
  BARRIER_HEADER =
      HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER,
};

roc_status roc_hsa_ring_open(roc_hsa_ring *ring, hsa_agent_t agent, uint32_t npackets,
                             roc_hsa_on_error *on_error, void *ud, roc_error *err) {
  hsa_status_t status = roc_hsa.hsa_queue_create(agent, npackets, HSA_QUEUE_TYPE_MULTI, on_error,
                                                 ud, UINT32_MAX, UINT32_MAX, &ring->hsa);
  if (status != HSA_STATUS_SUCCESS) return roc_hsa_fail(err, status, "a queue cannot be made");
  ring->mask = ring->hsa->size - 1;
  ring->write = ring->read = 0;
  return ROC_OK;
}

roc_status roc_hsa_ring_check(const hsa_queue_t *queue, roc_error *err) {
  hsa_queue_t seen;
  bool is_sound = (uintptr_t)queue % 8 == 0 && roc_peek(queue, &seen, sizeof seen) &&
                  seen.base_address && seen.size > 0 && (seen.size & (seen.size - 1)) == 0 &&
                  (seen.features & HSA_QUEUE_FEATURE_KERNEL_DISPATCH);
  if (is_sound) return ROC_OK;
  return roc_fail(err, ROC_INVALID, "an hsa_queue_t of kernels expected");
}

void roc_hsa_ring_adopt(roc_hsa_ring *ring, hsa_queue_t *queue) {
  *ring = (roc_hsa_ring){.hsa = queue, .mask = queue->size - 1, .is_foreign = true};
}

void roc_hsa_ring_close(roc_hsa_ring *ring) {
  if (ring->hsa && !ring->is_foreign) roc_hsa.hsa_queue_destroy(ring->hsa);
  ring->hsa = NULL;
}

bool roc_hsa_ring_has_room(roc_hsa_ring *ring, uint32_t count) {
  if (ring->is_foreign) {
    ring->write = roc_hsa.hsa_queue_load_write_index_scacquire(ring->hsa);
  } else if (ring->write + count - ring->read <= ring->mask + 1) {
    return true;
  }
  ring->read = roc_hsa.hsa_queue_load_read_index_scacquire(ring->hsa);
  return ring->write + count - ring->read <= ring->mask + 1;
}

/* Of a foreign queue: the others may have taken the room meanwhile, and give it back as their
 * packets run. */
static void take_place(roc_hsa_ring *ring) {
  ring->write = roc_hsa.hsa_queue_add_write_index_scacq_screl(ring->hsa, 1);
  while (ring->write - roc_hsa.hsa_queue_load_read_index_scacquire(ring->hsa) > ring->mask) {
    nanosleep(&(struct timespec){.tv_nsec = 10000}, NULL);
  }
}

void *roc_hsa_ring_next(roc_hsa_ring *ring) {
  if (ring->is_foreign) take_place(ring);
  return (hsa_kernel_dispatch_packet_t *)ring->hsa->base_address + (ring->write & ring->mask);
}

/* The first word last: it makes the packet valid. */
void roc_hsa_ring_publish(roc_hsa_ring *ring, void *packet, uint32_t header, uint32_t setup) {
  uint64_t index = ring->write;
  __atomic_store_n((uint32_t *)packet, header | setup << 16, __ATOMIC_RELEASE);
  if (!ring->is_foreign) {
    ring->write++;
    roc_hsa.hsa_queue_store_write_index_screlease(ring->hsa, ring->write);
  }
  roc_hsa.hsa_signal_store_screlease(ring->hsa->doorbell_signal, (hsa_signal_value_t)index);
}

void roc_hsa_ring_publish_barrier(roc_hsa_ring *ring, hsa_signal_t dependency,
                                  hsa_signal_t completion) {
  hsa_barrier_and_packet_t *packet = roc_hsa_ring_next(ring);
  memset((char *)packet + 4, 0, sizeof *packet - 4);
  packet->dep_signal[0] = dependency;
  packet->completion_signal = completion;
  roc_hsa_ring_publish(ring, packet, BARRIER_HEADER, 0);
}
