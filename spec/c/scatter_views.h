/* Random views for the tests of `scatter`. */
#ifndef SPEC_C_SCATTER_VIEWS_H
#define SPEC_C_SCATTER_VIEWS_H

#include "device/device.h"

static uint64_t roc_draw(uint64_t below) {
  static uint64_t state = 88172645463325252u;
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state % below;
}

/* A view of a block of 40 * 7^4 * 8 bytes: axes of a contiguous array, some sliced, some turned
 * around, in any order; from C's layout of its elements. */
static inline roc_dev_scatter roc_draw_view(void) {
  roc_dev_scatter s = {.element_bytes = 1u << roc_draw(4), .rank = 1 + (uint32_t)roc_draw(5)};
  int64_t step = s.element_bytes, first = 0, packed = s.element_bytes;
  for (uint32_t d = 0; d < s.rank; d++) {
    uint64_t whole = 1 + roc_draw(d == 0 ? 40 : 7), skip = 1 + roc_draw(4), from = roc_draw(whole);
    uint64_t extent = 1 + roc_draw((whole - from + skip - 1) / skip);
    if (extent == 0) extent = 1;
    s.extents[d] = extent;
    s.dst_steps[d] = step * (int64_t)skip;
    first += step * (int64_t)from;
    if (roc_draw(2)) {
      first += (int64_t)(extent - 1) * s.dst_steps[d];
      s.dst_steps[d] = -s.dst_steps[d];
    }
    step *= (int64_t)whole;
  }
  s.dst = (roc_devptr)first;
  for (uint32_t d = s.rank; d-- > 1;) {
    uint32_t other = (uint32_t)roc_draw(d + 1);
    uint64_t extent = s.extents[d];
    int64_t dst_step = s.dst_steps[d];
    s.extents[d] = s.extents[other], s.dst_steps[d] = s.dst_steps[other];
    s.extents[other] = extent, s.dst_steps[other] = dst_step;
  }
  for (uint32_t d = s.rank; d-- > 0;) {
    s.src_steps[d] = packed;
    packed *= (int64_t)s.extents[d];
  }
  return s;
}

#endif
