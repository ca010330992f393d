/* See layout.h. */
#include "ir/layout.h"

static uint32_t align_up(uint32_t offset, uint32_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

/* Bytes of a scalar, or of an array's pointer. */
static uint32_t first_bytes(const roc_arg_type *type) {
  switch (type->value) {
    case ROC_VT_BOOL: return 1;
    case ROC_VT_F32: return 4;
    case ROC_VT_INT: return type->is_narrow ? 4 : 8;
    default: return 8;
  }
}

/* The size that slots are handed out at, and where the next of it begins. */
typedef struct cursor {
  uint32_t bytes, end;
} cursor;

/* Room for `count` values of `bytes` each, when that is the current size; else leaves *offset. */
static void place(cursor *c, uint32_t bytes, uint32_t count, uint32_t *offset) {
  if (bytes != c->bytes) return;
  *offset = c->end;
  c->end += bytes * count;
}

static void place_slot(cursor *c, roc_arg_slot *slot) {
  const roc_arg_type *type = &slot->type;
  place(c, first_bytes(type), 1, &slot->offset);
  uint32_t bytes = type->is_narrow ? 4 : 8;
  if (roc_arg_is_array(type)) place(c, bytes, type->rank, &slot->extents_offset);
  if (roc_arg_has_strides(type)) place(c, bytes, type->rank, &slot->strides_offset);
}

uint32_t roc_ir_layout_args(const roc_ir_module *module, roc_arg_slot *slots) {
  static const uint32_t sizes[] = {8, 4, 1};
  cursor c = {0, 0};
  uint32_t nparams = module->params.count;
  for (uint32_t i = 0; i < nparams; i++) {
    const roc_ir_param *param = &module->params.items[i];
    slots[i] = (roc_arg_slot){
        .type = param->type, .is_read = param->is_read, .is_written = param->is_written};
  }
  for (int s = 0; s < 3; s++) {
    c.bytes = sizes[s];
    for (uint32_t i = 0; i < nparams; i++) place_slot(&c, &slots[i]);
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

bool roc_ir_is_narrow_array(const roc_ir_module *module, const roc_ir_array *array) {
  if (array->kind == ROC_IR_ARRAY_PARAM) return module->params.items[array->param].type.is_narrow;
  int64_t most = INT32_MAX / (int64_t)roc_dtype_itemsize(array->dtype);
  return array->kind != ROC_IR_ARRAY_SHARED_DYNAMIC && roc_ir_array_size(array) <= most;
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
