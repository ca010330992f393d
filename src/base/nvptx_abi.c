/* See nvptx_abi.h. */
#include "base/nvptx_abi.h"

#include <stddef.h>
#include <string.h>

_Static_assert(sizeof(roc_nvptx_hidden) == 56, "offsets are ABI");
_Static_assert(offsetof(roc_nvptx_hidden, counter) == 16, "offsets are ABI");
_Static_assert(offsetof(roc_nvptx_hidden, grid) == 24, "offsets are ABI");
_Static_assert(offsetof(roc_nvptx_hidden, rank) == 36, "offsets are ABI");
_Static_assert(offsetof(roc_nvptx_hidden, groups) == 40, "offsets are ABI");
_Static_assert(offsetof(roc_nvptx_hidden, flags) == 52, "offsets are ABI");

static roc_status fail_groups(uint64_t groups, const char *where, uint64_t most, roc_error *err) {
  return roc_fail(err, ROC_INVALID,
                  "%llu workgroups in %s are over the limit %llu of NVIDIA GPUs; use larger "
                  "workgroups",
                  (unsigned long long)groups, where, (unsigned long long)most);
}

/* Groups of y and z, counted together, as blocks. */
static roc_status fold(roc_nvptx_hidden *hidden, uint32_t blocks[3], roc_error *err) {
  const uint64_t most = ROC_NVPTX_MAX_BLOCKS_YZ;
  uint64_t groups = (uint64_t)hidden->groups[1] * hidden->groups[2];
  if (groups > most * most) {
    return fail_groups(groups, "dimensions 2 and 3", most * most, err);
  }
  hidden->flags |= ROC_NVPTX_FOLDED;
  blocks[1] = (uint32_t)most;
  blocks[2] = (uint32_t)((groups + most - 1) / most);
  return ROC_OK;
}

static uint64_t read_number(const unsigned char *at, bool is_narrow) {
  uint32_t narrow;
  uint64_t wide;
  if (is_narrow) return memcpy(&narrow, at, sizeof narrow), narrow;
  return memcpy(&wide, at, sizeof wide), wide;
}

/* Whether `items` neighbouring elements are one access, wherever the first of them is the first of
 * a thread. */
static bool is_even(const roc_arg_slot *slot, const unsigned char *kernarg, uint32_t items) {
  const roc_arg_type *type = &slot->type;
  if (!roc_arg_is_array(type) || type->layout == ROC_LAYOUT_STRIDED) return true;
  if (read_number(kernarg + slot->offset, false) % ROC_NVPTX_ACCESS_BYTES) return false;
  if (type->rank == 1) return true;
  uint32_t inner = type->layout == ROC_LAYOUT_C ? type->rank - 1 : 0;
  uint32_t step = type->is_narrow ? sizeof(uint32_t) : sizeof(uint64_t);
  const unsigned char *extent = kernarg + slot->extents_offset + inner * step;
  return read_number(extent, type->is_narrow) % items == 0;
}

/* Of a workgroup with `row` work-items in dimension 1. */
static bool is_coarse_shape(const roc_codeobj *object, uint32_t row, uint64_t items) {
  uint32_t per_thread = object->items_per_thread;
  return per_thread > 1 && row % per_thread == 0 && items / per_thread >= ROC_NVPTX_COARSE_THREADS;
}

uint32_t roc_nvptx_threads(const roc_codeobj *object, uint32_t items) {
  return is_coarse_shape(object, items, items) ? items / object->items_per_thread : items;
}

static bool is_coarse(const roc_codeobj *object, const void *kernarg, const roc_ndrange *range) {
  uint32_t items = object->items_per_thread;
  if (!is_coarse_shape(object, range->local[0], roc_ndrange_local_items(range))) return false;
  for (uint32_t i = 0; i < object->nargs; i++) {
    if (!is_even(&object->args[i], kernarg, items)) return false;
  }
  return true;
}

roc_status roc_nvptx_plan_launch(const roc_codeobj *object, const void *kernarg,
                                 const roc_ndrange *range, roc_nvptx_hidden *hidden,
                                 roc_nvptx_shape *out_shape, roc_error *err) {
  uint32_t *blocks = out_shape->blocks;
  hidden->rank = range->rank;
  hidden->flags = 0;
  for (uint32_t d = range->rank; d < 3; d++) {
    hidden->grid[d] = hidden->groups[d] = blocks[d] = out_shape->threads[d] = 1;
  }
  for (uint32_t d = 0; d < range->rank; d++) {
    if (range->grid[d] > UINT32_MAX) {
      return roc_fail(err, ROC_INVALID, "%llu work-items in dimension %d are over the limit %u",
                      (unsigned long long)range->grid[d], (int)d + 1, UINT32_MAX);
    }
    hidden->grid[d] = (uint32_t)range->grid[d];
    hidden->groups[d] = blocks[d] = (uint32_t)roc_ndrange_groups(range, (int)d);
    if (hidden->grid[d] != (uint64_t)blocks[d] * range->local[d]) {
      hidden->flags |= ROC_NVPTX_PARTIAL;
    }
    out_shape->threads[d] = range->local[d];
  }
  if (is_coarse(object, kernarg, range)) {
    hidden->flags |= ROC_NVPTX_COARSE;
    out_shape->threads[0] /= object->items_per_thread;
  }
  if (blocks[0] > ROC_NVPTX_MAX_BLOCKS_X) {
    return fail_groups(blocks[0], "dimension 1", ROC_NVPTX_MAX_BLOCKS_X, err);
  }
  bool fits = blocks[1] <= ROC_NVPTX_MAX_BLOCKS_YZ && blocks[2] <= ROC_NVPTX_MAX_BLOCKS_YZ;
  if (fits) return ROC_OK;
  if (object->is_foreign) {
    return fail_groups(blocks[1] > blocks[2] ? blocks[1] : blocks[2], "dimension 2 or 3",
                       ROC_NVPTX_MAX_BLOCKS_YZ, err);
  }
  return fold(hidden, blocks, err);
}

uint32_t roc_nvptx_shared_bytes(const roc_codeobj *object, uint32_t dynamic) {
  bool is_all_dynamic = object->shared_bytes > ROC_NVPTX_STATIC_SHARED;
  return is_all_dynamic ? object->shared_bytes + dynamic : dynamic;
}
