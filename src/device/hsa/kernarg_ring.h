/* The ring of device-visible memory that the arguments of queued launches lie in.
 *
 * Positions grow for ever; a position modulo the ring's size is an offset.  The memory between tail
 * and head belongs to launches that are not known to be complete. */
#ifndef ROC_DEVICE_HSA_KERNARG_RING_H
#define ROC_DEVICE_HSA_KERNARG_RING_H

#include <stdbool.h>
#include <stdint.h>

enum {
  ROC_HSA_KERNARG_RING_BYTES = 2 << 20,
  ROC_HSA_MAX_KERNARG_BYTES = ROC_HSA_KERNARG_RING_BYTES / 2, /* of one launch */
};

typedef struct roc_hsa_kernarg_ring {
  unsigned char *memory; /* ROC_HSA_KERNARG_RING_BYTES */
  uint64_t head, tail;
} roc_hsa_kernarg_ring;

/* Where the next nbytes of the ring begin and end; they do not wrap around. */
uint64_t roc_hsa_kernarg_place(const roc_hsa_kernarg_ring *ring, uint32_t nbytes,
                               uint64_t *out_end);
/* Whether the ring is free up to `end`. */
bool roc_hsa_kernarg_is_free(const roc_hsa_kernarg_ring *ring, uint64_t end);
/* The launches whose arguments end before or at `end` are complete. */
void roc_hsa_kernarg_release(roc_hsa_kernarg_ring *ring, uint64_t end);
/* Takes what roc_hsa_kernarg_place has placed, when it is free. */
unsigned char *roc_hsa_kernarg_take(roc_hsa_kernarg_ring *ring, uint64_t begin, uint64_t end);

#endif
