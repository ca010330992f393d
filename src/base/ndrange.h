/* The shape of a launch: how many work-items there are and how they form workgroups.
 *
 * Made where Lua configures a launch, and handed on as it is: through jit and runtime to the
 * driver, and on `cpu` to the kernel, whose code reads it (roc_cpu_launch in base/codeobj.h). */
#ifndef ROC_BASE_NDRANGE_H
#define ROC_BASE_NDRANGE_H

#include <stdbool.h>
#include <stdint.h>

/* Read by generated code: offsets are ABI (asserted in site.c). */
typedef struct roc_ndrange {
  uint64_t grid[3];              /*  0: work-items per dimension, 1 beyond the rank */
  uint32_t local[3];             /* 24: work-items of a workgroup, likewise; the last workgroup of
                                        a dimension may have fewer */
  uint32_t rank;                 /* 36: dimensions, 1 to 3 */
  uint32_t dynamic_shared_bytes; /* 40: of each workgroup, beside the kernel's static ones */
} roc_ndrange;                   /* 48 bytes */

/* True when there is nothing to run. */
static inline bool roc_ndrange_is_empty(const roc_ndrange *range) {
  return range->grid[0] == 0 || range->grid[1] == 0 || range->grid[2] == 0;
}

/* Work-items of a whole workgroup. */
static inline uint64_t roc_ndrange_local_items(const roc_ndrange *range) {
  return (uint64_t)range->local[0] * range->local[1] * range->local[2];
}

/* Workgroups of dimension `d`, from 0. */
static inline uint64_t roc_ndrange_groups(const roc_ndrange *range, int d) {
  uint64_t items = range->grid[d];
  uint32_t local = range->local[d];
  return local == 1 ? items : items / local + (items % local != 0); /* divisions are slow */
}

#endif
