/* Classes and packing of launch arguments; see args.h.  On the path of every launch: no allocation,
 * few calls. */
#include "jit/args.h"

#include <string.h>

static bool is_narrow(int64_t i) {
  return i >= 0 && i <= INT32_MAX;
}

static roc_ir_layout layout_of(const roc_array *a) {
  if (a->rank == 1 && a->strides[0] == 1)
    return ROC_IR_LAYOUT_C; /* the common case, without a call */
  if (roc_array_is_c_contiguous(a)) return ROC_IR_LAYOUT_C;
  return roc_array_is_f_contiguous(a) ? ROC_IR_LAYOUT_F : ROC_IR_LAYOUT_STRIDED;
}

/* Strides count only where they are passed; those of a contiguous array are below its size. */
static bool is_array_narrow(const roc_array *a, roc_ir_layout layout, int64_t size) {
  for (uint32_t d = 0; d < a->rank; d++) {
    if (!is_narrow(a->extents[d])) return false;
    if (layout == ROC_IR_LAYOUT_STRIDED && !is_narrow(a->strides[d])) return false;
  }
  return is_narrow(size);
}

static void note_range(roc_jit_value *value, roc_ir_layout layout, int64_t size) {
  const roc_array *a = value->array;
  value->begin = value->end = 0;
  if (size == 0) return;
  if (layout == ROC_IR_LAYOUT_STRIDED) {
    roc_array_range(a, &value->begin, &value->end);
    return;
  }
  int64_t itemsize = (int64_t)roc_dtype_itemsize(a->dtype);
  value->begin = roc_buffer_devptr(a->buffer) + (roc_devptr)(a->offset * itemsize);
  value->end = value->begin + (roc_devptr)(size * itemsize);
}

static void classify_array(roc_jit_value *value, roc_jit_class *out) {
  const roc_array *a = value->array;
  roc_ir_layout layout = a->buffer ? layout_of(a) : (roc_ir_layout)value->declared_layout;
  int64_t size = 1;
  for (uint32_t d = 0; d < a->rank; d++) size *= a->extents[d];
  note_range(value, layout, size);
  uint8_t tag = (uint8_t)layout;
  if (is_array_narrow(a, layout, size)) tag |= ROC_JIT_NARROW;
  if (value->is_host_memory) tag |= ROC_JIT_HOST;
  *out = (roc_jit_class){.tag = tag, .dtype = (uint8_t)a->dtype, .rank = (uint8_t)a->rank};
}

static uint8_t scalar_tag(const roc_jit_value *value) {
  if (value->is_float32) return ROC_VT_F32;
  uint8_t tag = (uint8_t)value->scalar.type;
  if (value->scalar.type == ROC_VT_INT && is_narrow(value->scalar.as.i)) tag |= ROC_JIT_NARROW;
  if (value->scalar.type == ROC_VT_F64) tag |= ROC_JIT_PLAIN;
  return tag;
}

void roc_jit_classify(roc_jit_value *value, roc_jit_class *out) {
  if (value->array) {
    classify_array(value, out);
  } else {
    *out = (roc_jit_class){.tag = scalar_tag(value)};
  }
}

void roc_jit_mark_aliases(const roc_jit_value *values, uint32_t count, const uint8_t *written,
                          roc_jit_class *classes) {
  for (uint32_t i = 0; i < count; i++) {
    if (!values[i].array || values[i].begin == values[i].end) continue;
    for (uint32_t j = i + 1; j < count; j++) {
      if (!values[j].array || !(written[i] || written[j])) continue;
      if (values[i].begin >= values[j].end || values[j].begin >= values[i].end) continue;
      if (values[j].begin == values[j].end) continue;
      classes[i].tag |= ROC_JIT_ALIAS;
      classes[j].tag |= ROC_JIT_ALIAS;
    }
  }
}

roc_fe_arg roc_jit_fe_arg(roc_jit_class cls, const char *name) {
  roc_fe_arg arg = {.is_array = cls.rank > 0, .name = name, .is_narrow = cls.tag & ROC_JIT_NARROW};
  if (arg.is_array) {
    arg.dtype = (roc_dtype)cls.dtype;
    arg.rank = cls.rank;
    arg.layout = (roc_ir_layout)(cls.tag & ROC_JIT_TYPE_MASK);
    arg.is_alias = cls.tag & ROC_JIT_ALIAS;
    arg.memory = cls.tag & ROC_JIT_HOST ? ROC_IR_MEM_HOST : ROC_IR_MEM_DEVICE;
  } else {
    arg.type = (roc_value_type)(cls.tag & ROC_JIT_TYPE_MASK);
    arg.is_plain = cls.tag & ROC_JIT_PLAIN;
  }
  return arg;
}

static void put_i32(unsigned char *at, int64_t i) {
  uint32_t narrow = (uint32_t)i;
  memcpy(at, &narrow, sizeof narrow);
}

static void put_i64(unsigned char *at, int64_t i) {
  memcpy(at, &i, sizeof i);
}

static void put_dims(unsigned char *at, const int64_t *dims, uint32_t rank, bool narrow) {
  for (uint32_t d = 0; d < rank; d++) {
    if (narrow) {
      put_i32(at + 4 * d, dims[d]);
    } else {
      put_i64(at + 8 * d, dims[d]);
    }
  }
}

static void pack_array(const roc_arg_slot *slot, const roc_jit_value *value, unsigned char *block) {
  const roc_array *a = value->array;
  int64_t offset_bytes = value->shift + a->offset * (int64_t)roc_dtype_itemsize(a->dtype);
  put_i64(block + slot->offset, (int64_t)roc_buffer_devptr(a->buffer) + offset_bytes);
  put_dims(block + slot->extents_offset, a->extents, a->rank, slot->is_narrow);
  if (slot->has_strides)
    put_dims(block + slot->strides_offset, a->strides, a->rank, slot->is_narrow);
}

static double as_double(roc_scalar s) {
  return s.type == ROC_VT_INT ? (double)s.as.i : s.as.f;
}

void roc_jit_pack(const roc_arg_slot *slot, const roc_jit_value *value, unsigned char *block) {
  unsigned char *at = block + slot->offset;
  switch ((roc_arg_kind)slot->kind) {
    case ROC_ARG_BOOL: *at = value->scalar.as.b; break;
    case ROC_ARG_INT: put_i64(at, value->scalar.as.i); break;
    case ROC_ARG_INT_NARROW: put_i32(at, value->scalar.as.i); break;
    case ROC_ARG_F32: {
      float f = (float)as_double(value->scalar);
      memcpy(at, &f, sizeof f);
      break;
    }
    case ROC_ARG_F64: {
      double f = as_double(value->scalar);
      memcpy(at, &f, sizeof f);
      break;
    }
    case ROC_ARG_ARRAY: pack_array(slot, value, block); break;
  }
}
