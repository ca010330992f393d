/* Parts of a command; see parts.h. */
#include "device/cpu/parts.h"

void roc_cpu_parts_set(roc_cpu_part *parts, uint32_t nparts, uint64_t first, uint64_t end) {
  uint64_t each = (end - first) / nparts, longer = (end - first) % nparts;
  for (uint32_t i = 0; i < nparts; i++) {
    atomic_store_explicit(&parts[i].next, first, memory_order_relaxed);
    first += each + (i < longer);
    parts[i].end = first;
  }
}

bool roc_cpu_parts_take(roc_cpu_part *parts, uint32_t nparts, uint32_t thread,
                        uint64_t (*choose)(const void *ud, uint64_t left), const void *ud,
                        roc_cpu_share *out) {
  for (uint32_t i = 0; i < nparts; i++) {
    roc_cpu_part *part = &parts[(thread + i) % nparts];
    uint64_t next = atomic_load_explicit(&part->next, memory_order_relaxed), count;
    do {
      if (next >= part->end) break;
      count = choose(ud, part->end - next);
    } while (!atomic_compare_exchange_weak_explicit(&part->next, &next, next + count,
                                                    memory_order_relaxed, memory_order_relaxed));
    if (next >= part->end) continue;
    *out = (roc_cpu_share){next, next + count, (part->end - next - count) * nparts};
    return true;
  }
  return false;
}
