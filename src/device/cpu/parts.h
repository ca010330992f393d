/* What a command has to do, in parts: each thread begins with its own, then helps with others'.
 *
 * A thread gets the same part in every launch of a size, whose elements its core's caches have.
 * The workgroups of a kernel in which one may wait for a lower one are a single part, which is
 * handed out in increasing order. */
#ifndef ROC_DEVICE_CPU_PARTS_H
#define ROC_DEVICE_CPU_PARTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "device/cpu/pool.h"

typedef struct roc_cpu_part {
  _Alignas(ROC_CPU_LINE) _Atomic uint64_t next; /* the first that no thread has taken */
  uint64_t end;
} roc_cpu_part;

typedef struct roc_cpu_share {
  uint64_t first, end;
  uint64_t left; /* in all, about */
} roc_cpu_share;

/* Splits first … end - 1. */
void roc_cpu_parts_set(roc_cpu_part *parts, uint32_t nparts, uint64_t first, uint64_t end);
/* Takes choose(ud, left of a part) for the thread (roc_cpu_scratch.thread); false: nothing is left.
 */
bool roc_cpu_parts_take(roc_cpu_part *parts, uint32_t nparts, uint32_t thread,
                        uint64_t (*choose)(const void *ud, uint64_t left), const void *ud,
                        roc_cpu_share *out);

#endif
