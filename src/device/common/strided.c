/* Scatters in the order of memory; see strided.h. */
#include "device/common/strided.h"

#include <string.h>

/* Axes of one element go, others are walked upwards, the longest steps first. */
static uint32_t sort_axes(roc_strided_layout *l, const roc_dev_scatter *s, roc_strided_axis *axes) {
  uint32_t count = 0;
  for (uint32_t d = 0; d < s->rank; d++) {
    roc_strided_axis a = {s->extents[d], s->dst_steps[d], s->src ? s->src_steps[d] : 0};
    if (a.extent == 1) continue;
    if (a.dst_step < 0) {
      l->dst += (int64_t)(a.extent - 1) * a.dst_step;
      l->src += (int64_t)(a.extent - 1) * a.src_step;
      a.dst_step = -a.dst_step;
      a.src_step = -a.src_step;
    }
    uint32_t at = count++;
    for (; at > 0 && axes[at - 1].dst_step < a.dst_step; at--) axes[at] = axes[at - 1];
    axes[at] = a;
  }
  return count;
}

/* Neighbours that step like one axis become one. */
static uint32_t merge_axes(roc_strided_axis *axes, uint32_t count) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++) {
    roc_strided_axis a = axes[i];
    roc_strided_axis *last = kept ? &axes[kept - 1] : NULL;
    if (last && last->dst_step == (int64_t)a.extent * a.dst_step &&
        last->src_step == (int64_t)a.extent * a.src_step) {
      *last = (roc_strided_axis){last->extent * a.extent, a.dst_step, a.src_step};
    } else {
      axes[kept++] = a;
    }
  }
  return kept;
}

static roc_strided_axis take_axis(const roc_strided_axis *axes, uint32_t *count) {
  return *count ? axes[--*count] : (roc_strided_axis){.extent = 1};
}

void roc_strided_plan(roc_strided_layout *l, const roc_dev_scatter *s) {
  roc_strided_axis axes[ROC_DEV_MAX_RANK];
  *l = (roc_strided_layout){.dst = (char *)(uintptr_t)s->dst,
                            .src = s->src ? s->src : (const char *)s->element,
                            .element_bytes = s->element_bytes};
  uint32_t count = merge_axes(axes, sort_axes(l, s, axes));
  bool has_run = count && axes[count - 1].dst_step == (int64_t)s->element_bytes;
  l->run = has_run ? take_axis(axes, &count) : (roc_strided_axis){.extent = 1};
  l->rows = take_axis(axes, &count);
  l->layers = take_axis(axes, &count);
  l->nouter = count;
  for (uint32_t i = 0; i < count; i++) {
    l->outer[i] = axes[i];
    l->extents[i] = axes[i].extent;
  }
}

static void pack_run(char *dst, const char *src, int64_t step, uint64_t n, uint32_t element_bytes) {
  if (step == (int64_t)element_bytes) {
    memcpy(dst, src, n * element_bytes);
    return;
  }
  for (uint64_t i = 0; i < n; i++, dst += element_bytes, src += step) {
    memcpy(dst, src, element_bytes);
  }
}

void roc_strided_pack(const roc_strided_layout *l, char *dst, const char *src, uint64_t layers,
                      uint64_t rows, uint64_t width, uint64_t pitch) {
  for (uint64_t z = 0; z < layers; z++) {
    for (uint64_t y = 0; y < rows; y++) {
      const char *from = src + (int64_t)z * l->layers.src_step + (int64_t)y * l->rows.src_step;
      pack_run(dst + (z * rows + y) * pitch, from, l->run.src_step, width / l->element_bytes,
               l->element_bytes);
    }
  }
}
