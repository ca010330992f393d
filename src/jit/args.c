/* Classes and packing of launch arguments; see args.h.  On the path of every launch: no allocation,
 * few calls. */
#include "jit/args.h"

#include <string.h>

static bool is_narrow(int64_t i) {
  return i >= 0 && i <= ROC_NARROW_MOST;
}

static roc_layout layout_of(const roc_array *a) {
  if (a->rank == 1 && a->strides[0] == 1) return ROC_LAYOUT_C; /* the common case, without a call */
  if (roc_array_is_c_contiguous(a)) return ROC_LAYOUT_C;
  return roc_array_is_f_contiguous(a) ? ROC_LAYOUT_F : ROC_LAYOUT_STRIDED;
}

/* Strides are checked only where they are arguments; in a contiguous array none exceeds the size.
 * Elements count as bytes, so that offsets in bytes are narrow, too; extents, which no size bounds
 * in an empty array, as well. */
static bool is_array_narrow(const roc_array *a, roc_layout layout, int64_t size) {
  int64_t itemsize = (int64_t)roc_dtype_itemsize(a->dtype);
  for (uint32_t d = 0; d < a->rank; d++) {
    if (!is_narrow(a->extents[d]) || !is_narrow(a->extents[d] * itemsize)) return false;
    if (layout == ROC_LAYOUT_STRIDED && !is_narrow(a->strides[d])) return false;
  }
  return is_narrow(size) && is_narrow(size * itemsize);
}

static void note_range(roc_jit_value *value, roc_layout layout, int64_t size) {
  const roc_array *a = value->array;
  value->begin = value->end = 0;
  if (size == 0) return;
  if (layout == ROC_LAYOUT_STRIDED) {
    roc_array_range(a, &value->begin, &value->end);
    return;
  }
  int64_t itemsize = (int64_t)roc_dtype_itemsize(a->dtype);
  value->begin = roc_buffer_devptr(a->buffer) + (roc_devptr)(a->offset * itemsize);
  value->end = value->begin + (roc_devptr)(size * itemsize);
}

static void classify_array(roc_jit_value *value, roc_arg_type *out) {
  const roc_array *a = value->array;
  roc_layout layout = a->buffer ? layout_of(a) : (roc_layout)value->declared_layout;
  int64_t size = 1;
  for (uint32_t d = 0; d < a->rank; d++) size *= a->extents[d];
  note_range(value, layout, size);
  *out = (roc_arg_type){.dtype = (uint8_t)a->dtype,
                        .rank = (uint8_t)a->rank,
                        .layout = (uint8_t)layout,
                        .is_narrow = is_array_narrow(a, layout, size),
                        .is_host_memory = value->is_host_memory};
}

static void classify_scalar(const roc_jit_value *value, roc_arg_type *out) {
  roc_value_type type = value->is_float32 ? ROC_VT_F32 : value->scalar.type;
  *out = (roc_arg_type){.value = (uint8_t)type,
                        .is_narrow = type == ROC_VT_INT && value->scalar.as.i >= 0 &&
                                     value->scalar.as.i <= ROC_NARROW_INT_MOST,
                        .is_plain = type == ROC_VT_F64};
}

void roc_jit_classify(roc_jit_value *value, roc_arg_type *out) {
  if (value->array) {
    classify_array(value, out);
  } else {
    classify_scalar(value, out);
  }
}

void roc_jit_see(const roc_jit_value *value, roc_jit_seen *out) {
  const roc_array *a = value->array;
  out->rank = 0;
  if (!a || !a->buffer) return;
  *out = (roc_jit_seen){.buffer = a->buffer,
                        .address = roc_buffer_devptr(a->buffer),
                        .offset = a->offset,
                        .shift = value->shift,
                        .dtype = a->dtype,
                        .rank = a->rank,
                        .is_host_memory = value->is_host_memory,
                        .begin = value->begin,
                        .end = value->end};
  for (uint32_t d = 0; d < a->rank; d++) {
    out->extents[d] = a->extents[d];
    out->strides[d] = a->strides[d];
  }
}

static bool is_scalar_seen(const roc_jit_seen *seen, const roc_arg_type *cls,
                           const roc_jit_value *value) {
  roc_arg_type now;
  if (seen->rank != 0) return false;
  classify_scalar(value, &now);
  return memcmp(&now, cls, sizeof now) == 0;
}

bool roc_jit_is_seen(const roc_jit_seen *seen, const roc_arg_type *cls, roc_jit_value *value) {
  const roc_array *a = value->array;
  if (!a) return is_scalar_seen(seen, cls, value);
  if (a->rank != seen->rank || a->buffer != seen->buffer || a->dtype != seen->dtype) return false;
  if (roc_buffer_devptr(a->buffer) != seen->address || a->offset != seen->offset) return false;
  if (value->shift != seen->shift || value->is_host_memory != seen->is_host_memory) return false;
  for (uint32_t d = 0; d < a->rank; d++) {
    if (a->extents[d] != seen->extents[d] || a->strides[d] != seen->strides[d]) return false;
  }
  value->begin = seen->begin;
  value->end = seen->end;
  return true;
}

void roc_jit_mark_aliases(const roc_jit_value *values, uint32_t count, const uint8_t *written,
                          roc_arg_type *classes) {
  for (uint32_t i = 0; i < count; i++) {
    if (!values[i].array || values[i].begin == values[i].end) continue;
    for (uint32_t j = i + 1; j < count; j++) {
      if (!values[j].array || !(written[i] || written[j])) continue;
      if (values[i].begin >= values[j].end || values[j].begin >= values[i].end) continue;
      if (values[j].begin == values[j].end) continue;
      classes[i].is_alias = classes[j].is_alias = true;
    }
  }
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
  put_dims(block + slot->extents_offset, a->extents, a->rank, slot->type.is_narrow);
  if (slot->type.layout == ROC_LAYOUT_STRIDED)
    put_dims(block + slot->strides_offset, a->strides, a->rank, slot->type.is_narrow);
}

static double as_double(roc_scalar s) {
  return s.type == ROC_VT_INT ? (double)s.as.i : s.as.f;
}

static void pack_int(const roc_arg_slot *slot, int64_t i, unsigned char *at) {
  if (slot->type.is_narrow) {
    put_i32(at, i);
  } else {
    put_i64(at, i);
  }
}

void roc_jit_pack(const roc_arg_slot *slot, const roc_jit_value *value, unsigned char *block) {
  unsigned char *at = block + slot->offset;
  switch ((roc_value_type)slot->type.value) {
    case ROC_VT_NONE: pack_array(slot, value, block); break;
    case ROC_VT_BOOL: *at = value->scalar.as.b; break;
    case ROC_VT_INT: pack_int(slot, value->scalar.as.i, at); break;
    case ROC_VT_F32: {
      float f = (float)as_double(value->scalar);
      memcpy(at, &f, sizeof f);
      break;
    }
    case ROC_VT_F64: {
      double f = as_double(value->scalar);
      memcpy(at, &f, sizeof f);
      break;
    }
    case ROC_VT_COUNT_: break;
  }
}
