/* The ring of packets that an HSA queue reads.
 *
 * One thread at a time writes packets.  A packet is written in the place of roc_hsa_ring_next, all
 * but its first word, and becomes valid by roc_hsa_ring_publish; before that there must be room.
 * Every packet has the barrier bit, so packets of a ring run one after the other.  The queue may be
 * that of another library, which writes packets of its own on other threads. */
#ifndef ROC_DEVICE_HSA_AQL_RING_H
#define ROC_DEVICE_HSA_AQL_RING_H

#include <stdbool.h>

#include "device/hsa/dyn.h"

typedef struct roc_hsa_ring {
  hsa_queue_t *hsa;           /* NULL: closed */
  uint64_t write, read, mask; /* write, of another's queue: the place that was taken last */
  bool is_foreign;
} roc_hsa_ring;

/* ROCR's callback for a queue that stopped. */
typedef void roc_hsa_on_error(hsa_status_t status, hsa_queue_t *source, void *ud);

/* Room for at most `npackets`. */
roc_status roc_hsa_ring_open(roc_hsa_ring *ring, hsa_agent_t agent, uint32_t npackets,
                             roc_hsa_on_error *on_error, void *ud, roc_error *err);
/* INVALID: the address holds nothing that looks like a queue. */
roc_status roc_hsa_ring_check(const hsa_queue_t *queue, roc_error *err);
/* Of a queue that stays another's. */
void roc_hsa_ring_adopt(roc_hsa_ring *ring, hsa_queue_t *queue);
void roc_hsa_ring_close(roc_hsa_ring *ring);
bool roc_hsa_ring_has_room(roc_hsa_ring *ring, uint32_t count);
/* Takes the place, which has to be published. */
void *roc_hsa_ring_next(roc_hsa_ring *ring);
/* `header` is the low half of the packet's first word (type, barrier bit, fences), `setup` the
 * high one. */
void roc_hsa_ring_publish(roc_hsa_ring *ring, void *packet, uint32_t header, uint32_t setup);
/* A packet that waits for `dependency` (handle 0: nothing) and counts `completion` down. */
void roc_hsa_ring_publish_barrier(roc_hsa_ring *ring, hsa_signal_t dependency,
                                  hsa_signal_t completion);

#endif
