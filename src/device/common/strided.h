/* A scatter's shape in the order of memory: what drivers plan their copies by. */
#ifndef ROC_DEVICE_COMMON_STRIDED_H
#define ROC_DEVICE_COMMON_STRIDED_H

#include "device/device.h"

typedef struct roc_strided_axis {
  uint64_t extent;
  int64_t dst_step, src_step; /* bytes; dst_step >= 0 */
} roc_strided_axis;

/* What is left of a roc_dev_scatter when its axes are in the order of memory and as long as may be:
 * `nouter` loops around layers of rows of elements. */
typedef struct roc_strided_layout {
  char *dst; /* on the device */
  const char *src;
  uint32_t element_bytes, nouter;
  uint64_t extents[ROC_DEV_MAX_RANK]; /* of `outer` */
  roc_strided_axis outer[ROC_DEV_MAX_RANK];
  roc_strided_axis layers, rows, run; /* the run's elements are dense in dst */
} roc_strided_layout;

/* A layout from the scatter's elements, which lie at `src` or are one and the same.  The layout
 * refers to the scatter's element then. */
void roc_strided_plan(roc_strided_layout *layout, const roc_dev_scatter *scatter);

/* Packs `layers` of `rows` of `width` bytes from `src`, which is of the layout's steps: rows `pitch`
 * bytes apart, layers one after the other. */
void roc_strided_pack(const roc_strided_layout *layout, char *dst, const char *src, uint64_t layers,
                      uint64_t rows, uint64_t width, uint64_t pitch);

#endif
