/* Positions in the ring of kernel arguments; see kernarg_ring.h. */
#include "device/hsa/kernarg_ring.h"

enum { KERNARG_ALIGN = 64 };

uint64_t roc_hsa_kernarg_place(const roc_hsa_kernarg_ring *ring, uint32_t nbytes,
                               uint64_t *out_end) {
  uint64_t need = ((uint64_t)nbytes + KERNARG_ALIGN - 1) & ~(uint64_t)(KERNARG_ALIGN - 1);
  uint64_t at = ring->head % ROC_HSA_KERNARG_RING_BYTES;
  uint64_t skip = at + need > ROC_HSA_KERNARG_RING_BYTES ? ROC_HSA_KERNARG_RING_BYTES - at : 0;
  *out_end = ring->head + skip + need;
  return ring->head + skip;
}

bool roc_hsa_kernarg_is_free(const roc_hsa_kernarg_ring *ring, uint64_t end) {
  return end - ring->tail <= ROC_HSA_KERNARG_RING_BYTES;
}

void roc_hsa_kernarg_release(roc_hsa_kernarg_ring *ring, uint64_t end) {
  if (end > ring->tail) ring->tail = end;
}

unsigned char *roc_hsa_kernarg_take(roc_hsa_kernarg_ring *ring, uint64_t begin, uint64_t end) {
  ring->head = end;
  return ring->memory + begin % ROC_HSA_KERNARG_RING_BYTES;
}
