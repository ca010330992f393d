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

/* The size that slots are handed out at, and where the next of it begins. */
typedef struct cursor {
  uint32_t bytes, end;
} cursor;

/* Room for `count` values of `bytes` each, when that is the size in hand; else leaves *offset. */
static void place(cursor *c, uint32_t bytes, uint32_t count, uint32_t *offset) {
  if (bytes != c->bytes) return;
  *offset = c->end;
  c->end += bytes * count;
}

static void place_param(cursor *c, const roc_ir_param *param, roc_arg_slot *slot) {
  place(c, scalar_bytes((roc_arg_kind)slot->kind), 1, &slot->offset);
  if (!param->is_array) return;
  uint32_t bytes = param->is_narrow ? 4 : 8;
  place(c, bytes, param->rank, &slot->extents_offset);
  if (slot->has_strides) place(c, bytes, param->rank, &slot->strides_offset);
}

static void describe_param(const roc_ir_param *param, roc_arg_slot *slot) {
  memset(slot, 0, sizeof *slot);
  slot->kind = (uint8_t)kind_of(param);
  if (!param->is_array) return;
  slot->dtype = (uint8_t)param->dtype;
  slot->rank = param->rank;
  slot->is_narrow = param->is_narrow;
  slot->is_read = param->is_read;
  slot->is_written = param->is_written;
  slot->has_strides = param->layout == ROC_IR_LAYOUT_STRIDED;
}

uint32_t roc_ir_layout_args(const roc_ir_module *module, roc_arg_slot *slots) {
  static const uint32_t sizes[] = {8, 4, 1};
  cursor c = {0, 0};
  uint32_t nparams = module->params.count;
  for (uint32_t i = 0; i < nparams; i++) describe_param(&module->params.items[i], &slots[i]);
  for (int s = 0; s < 3; s++) {
    c.bytes = sizes[s];
    for (uint32_t i = 0; i < nparams; i++) place_param(&c, &module->params.items[i], &slots[i]);
  }
  return align_up(c.end, 8);
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
