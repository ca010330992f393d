/* See layout.h. */
#include "ir/layout.h"

#include <string.h>

static uint32_t align_up(uint32_t offset, uint32_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

static uint32_t scalar_bytes(roc_arg_kind kind) {
  switch (kind) {
    case ROC_ARG_BOOL: return 1;
    case ROC_ARG_INT_NARROW:
    case ROC_ARG_F32: return 4;
    default: return 8;
  }
}

static roc_arg_kind kind_of(const roc_ir_param *param) {
  if (param->is_array) return ROC_ARG_ARRAY;
  switch (param->type) {
    case ROC_VT_BOOL: return ROC_ARG_BOOL;
    case ROC_VT_F32: return ROC_ARG_F32;
    case ROC_VT_F64: return ROC_ARG_F64;
    default: return param->is_narrow ? ROC_ARG_INT_NARROW : ROC_ARG_INT;
  }
}

/* Appends the extents and strides behind an array's pointer; returns the end. */
static uint32_t place_shape(const roc_ir_param *param, roc_arg_slot *slot, uint32_t end) {
  uint32_t bytes = param->is_narrow ? 4 : 8;
  slot->extents_offset = end;
  end += bytes * param->rank;
  slot->has_strides = param->layout == ROC_IR_LAYOUT_STRIDED;
  if (slot->has_strides) {
    slot->strides_offset = end;
    end += bytes * param->rank;
  }
  return end;
}

uint32_t roc_ir_layout_args(const roc_ir_module *module, roc_arg_slot *slots) {
  uint32_t end = 0;
  for (uint32_t i = 0; i < module->params.count; i++) {
    const roc_ir_param *param = &module->params.items[i];
    roc_arg_slot *slot = &slots[i];
    memset(slot, 0, sizeof *slot);
    slot->kind = (uint8_t)kind_of(param);
    uint32_t bytes = scalar_bytes((roc_arg_kind)slot->kind);
    slot->offset = align_up(end, bytes);
    end = slot->offset + bytes;
    if (!param->is_array) continue;
    slot->dtype = (uint8_t)param->dtype;
    slot->rank = param->rank;
    slot->is_narrow = param->is_narrow;
    slot->is_read = param->is_read;
    slot->is_written = param->is_written;
    end = place_shape(param, slot, end);
  }
  return align_up(end, 8);
}

int64_t roc_ir_array_size(const roc_ir_array *array) {
  int64_t size = 1, limit = INT64_MAX / 64; /* so that bytes, and sums of them, do not overflow */
  for (uint32_t d = 0; d < array->rank; d++) {
    if (__builtin_mul_overflow(size, array->extents[d], &size) || size > limit) size = limit;
  }
  return size;
}

uint64_t roc_ir_layout_shared(const roc_ir_module *module, uint64_t *offsets) {
  uint64_t end = 0;
  for (uint32_t i = 0; i < module->arrays.count; i++) {
    const roc_ir_array *array = &module->arrays.items[i];
    offsets[i] = 0;
    if (array->kind != ROC_IR_ARRAY_SHARED) continue;
    offsets[i] = end;
    end += (uint64_t)roc_ir_array_size(array) * roc_dtype_itemsize(array->dtype);
    end = (end + ROC_IR_SHARED_ALIGN - 1) / ROC_IR_SHARED_ALIGN * ROC_IR_SHARED_ALIGN;
  }
  return end;
}
