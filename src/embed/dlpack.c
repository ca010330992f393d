/* DLPack: arrays given to other libraries, and taken from them. */
#include "embed/dlpack.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "embed/fail.h"
#include "embed/handle.h"
#include "include/roclua.h"
#include "runtime/mirror.h"

/* ---- devices and dtypes -------------------------------------------------- */

/* Devices whose memory has a number of its own; that of the others is the host's. */
static const struct {
  dlpack_device_type type;
  const char *kind;
} gpus[] = {{DLPACK_CUDA, "cuda"}, {DLPACK_CUDA_MANAGED, "cuda"}, {DLPACK_ROCM, "hsa"}};

/* By roc_dtype's kind letter. */
static const struct {
  char kind;
  dlpack_type_code code;
} codes[] = {{'b', DLPACK_BOOL}, {'i', DLPACK_INT}, {'u', DLPACK_UINT}, {'f', DLPACK_FLOAT}};

static dlpack_type_code code_of(roc_dtype dtype) {
  if (dtype == ROC_DT_BFLOAT16) return DLPACK_BFLOAT;
  size_t i = 0;
  while (codes[i].kind != roc_dtype_table[dtype].kind) i++;
  return codes[i].code;
}

static void describe_device(const roc_buffer *buffer, dlpack_tensor *out) {
  roc_rt_device *device = roc_buffer_device(buffer);
  const roc_device *driver = device ? roc_rt_device_driver(device) : NULL;
  out->device.device_type = DLPACK_CPU;
  out->device.device_id = 0;
  for (size_t i = 0; driver && i < sizeof gpus / sizeof *gpus; i++) {
    if (strcmp(gpus[i].kind, driver->kind) != 0) continue;
    out->device.device_type = (int32_t)gpus[i].type;
    out->device.device_id = (int32_t)driver->ordinal;
    return;
  }
}

/* ---- to other libraries -------------------------------------------------- */

/* What a tensor's deleter frees: the tensor, its array, and room for shape and strides. */
typedef struct exported {
  union {
    struct DLManagedTensorVersioned versioned;
    struct DLManagedTensor unversioned;
  } managed; /* first: the deleter is given its address */
  roc_array array;
} exported;

static void free_exported(exported *e) {
  roc_array_release(&e->array);
  roc_free(e);
}

static void delete_versioned(struct DLManagedTensorVersioned *self) {
  free_exported(self->manager_ctx);
}

static void delete_unversioned(struct DLManagedTensor *self) {
  free_exported(self->manager_ctx);
}

static void describe_tensor(exported *e, dlpack_tensor *out) {
  const roc_array *a = &e->array;
  *out = (dlpack_tensor){
      .ndim = (int32_t)a->rank, .shape = e->array.extents, .strides = e->array.strides};
  describe_device(a->buffer, out);
  out->dtype.code = (uint8_t)code_of(a->dtype);
  out->dtype.bits = (uint8_t)(8 * roc_dtype_itemsize(a->dtype));
  out->dtype.lanes = 1;
  roc_devptr first = roc_buffer_devptr(a->buffer) +
                     (roc_devptr)(a->offset * (int64_t)roc_dtype_itemsize(a->dtype));
  if (roc_array_size(a) > 0) out->data = (void *)(uintptr_t)first;
}

/* Of host memory, any stream will do: it has no say there. */
static roc_status check_stream(const char *function, const roc_array *a,
                               const roc_rt_stream *stream, roc_error *err) {
  const roc_rt_device *device = roc_buffer_device(a->buffer);
  if (!stream || !device || roc_rt_stream_device(stream) == device) return ROC_OK;
  return roc_fail(err, ROC_INVALID, "%s: the stream is of another device than the memory",
                  function);
}

/* The array's queued work comes before what the consumer does. */
static roc_status hand_over(const char *function, roc_array *a, roc_rt_stream *stream,
                            roc_error *err) {
  bool for_write = !roc_buffer_is_read_only(a->buffer);
  ROC_TRY(check_stream(function, a, stream, err));
  if (for_write) roc_buffer_share(a->buffer);
  if (!stream || roc_buffer_host(a->buffer)) return roc_buffer_wait(a->buffer, for_write, err);
  return roc_rt_stream_wait_buffer(stream, a->buffer, for_write, err);
}

static roc_status export(const char *function, roclua_array *array, roclua_stream *stream,
                         exported **out, roc_error *err) {
  roc_array *a = roc_embed_array_of(array);
  ROC_TRY(roc_rt_check_open(err));
  if (roc_buffer_is_mirrored(a->buffer)) {
    return roc_fail(err, ROC_UNSUPPORTED,
                    "%s: a smart array has two memories: close it, or pass a copy", function);
  }
  ROC_TRY(hand_over(function, a, roc_embed_stream_of(stream), err));
  exported *made = roc_zalloc(sizeof *made);
  if (!made) return roc_fail(err, ROC_OOM, "out of memory: no room for a tensor");
  made->array = *a;
  roc_buffer_retain(a->buffer);
  *out = made;
  return ROC_OK;
}

int roclua_array_to_dlpack(roclua_array *array, roclua_stream *stream,
                           struct DLManagedTensorVersioned **out_tensor) {
  static const char name[] = "roclua_array_to_dlpack";
  roc_error err = ROC_ERROR_INIT;
  exported *e;
  if (!array || !out_tensor) {
    return roc_embed_refuse("%s: %s is NULL", name, array ? "out_tensor" : "the array");
  }
  if (export(name, array, stream, &e, &err) != ROC_OK) return roc_embed_code(err.code, &err);
  struct DLManagedTensorVersioned *t = &e->managed.versioned;
  t->version.major = DLPACK_MAJOR;
  t->version.minor = DLPACK_MINOR;
  t->manager_ctx = e;
  t->deleter = delete_versioned;
  t->flags = roc_buffer_is_read_only(e->array.buffer) ? DLPACK_READ_ONLY : 0;
  describe_tensor(e, &t->tensor);
  *out_tensor = t;
  return ROCLUA_OK;
}

int roclua_array_to_dlpack_unversioned(roclua_array *array, roclua_stream *stream,
                                       struct DLManagedTensor **out_tensor) {
  static const char name[] = "roclua_array_to_dlpack_unversioned";
  roc_error err = ROC_ERROR_INIT;
  exported *e;
  if (!array || !out_tensor) {
    return roc_embed_refuse("%s: %s is NULL", name, array ? "out_tensor" : "the array");
  }
  if (roc_buffer_is_read_only(roc_embed_array_of(array)->buffer)) {
    roc_fail(&err, ROC_UNSUPPORTED,
             "%s: the array is read-only, which this struct cannot say: use roclua_array_to_dlpack",
             name);
    return roc_embed_code(err.code, &err);
  }
  if (export(name, array, stream, &e, &err) != ROC_OK) return roc_embed_code(err.code, &err);
  struct DLManagedTensor *t = &e->managed.unversioned;
  t->manager_ctx = e;
  t->deleter = delete_unversioned;
  describe_tensor(e, &t->tensor);
  *out_tensor = t;
  return ROCLUA_OK;
}

/* ---- from other libraries ------------------------------------------------ */

static void release_versioned(void *tensor) {
  struct DLManagedTensorVersioned *t = tensor;
  if (t->deleter) t->deleter(t);
}

static void release_unversioned(void *tensor) {
  struct DLManagedTensor *t = tensor;
  if (t->deleter) t->deleter(t);
}

static roc_status read_dtype(const dlpack_tensor *t, roc_dtype *out, roc_error *err) {
  for (int dtype = 0; dtype < (int)ROC_DT_COUNT_; dtype++) {
    bool is_it = t->dtype.code == code_of((roc_dtype)dtype) && t->dtype.lanes == 1 &&
                 t->dtype.bits == 8 * roc_dtype_itemsize((roc_dtype)dtype);
    if (is_it) {
      *out = (roc_dtype)dtype;
      return ROC_OK;
    }
  }
  return roc_fail(err, ROC_UNSUPPORTED,
                  "a tensor has a dtype that roclua has not (code %u, %u bits, %u lanes)",
                  t->dtype.code, t->dtype.bits, t->dtype.lanes);
}

/* The device's name in `text`; empty: host memory. */
static roc_status read_device(const dlpack_tensor *t, char *text, size_t size, roc_error *err) {
  text[0] = '\0';
  switch (t->device.device_type) {
    case DLPACK_CPU:
    case DLPACK_CUDA_HOST:
    case DLPACK_ROCM_HOST: return ROC_OK;
    default: break;
  }
  for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
    if (t->device.device_type != (int32_t)gpus[i].type) continue;
    snprintf(text, size, "%s:%lld", gpus[i].kind, (long long)t->device.device_id + 1);
    return ROC_OK;
  }
  return roc_fail(err, ROC_UNSUPPORTED,
                  "a tensor is in memory that roclua does not know (device type %d)",
                  (int)t->device.device_type);
}

/* The array, without work to wait for. */
static roc_status import(const char *function, const dlpack_tensor *t, roclua_memory *memory,
                         roclua_array **out_array, roc_error *err) {
  static const int64_t one = 1;
  char device[64];
  roc_dtype dtype = ROC_DT_BOOL;
  ROC_TRY(read_dtype(t, &dtype, err));
  ROC_TRY(read_device(t, device, sizeof device, err));
  memory->size = sizeof *memory;
  memory->dtype = roc_dtype_name(dtype);
  memory->rank = t->ndim ? t->ndim : 1;
  memory->shape = t->ndim ? t->shape : &one;
  memory->strides = t->ndim ? t->strides : NULL;
  memory->data = t->data ? (char *)t->data + t->byte_offset : NULL;
  memory->device = device[0] ? device : NULL;
  return roc_embed_wrap(function, memory, out_array, err);
}

/* `memory` has what comes from the struct around the tensor. */
static int take(const char *function, const dlpack_tensor *t, roclua_memory *memory,
                roclua_stream *stream, roclua_array **out_array) {
  roc_error err = ROC_ERROR_INIT;
  roclua_array *made;
  if (import(function, t, memory, &made, &err) != ROC_OK) return roc_embed_code(err.code, &err);
  roc_array *a = roc_embed_array_of(made);
  roc_status status = check_stream(function, a, roc_embed_stream_of(stream), &err);
  if (status == ROC_OK && stream && !roc_buffer_host(a->buffer)) {
    status = roc_rt_stream_note_write(roc_embed_stream_of(stream), a->buffer, &err);
  }
  if (status == ROC_OK) {
    *out_array = made;
    return ROCLUA_OK;
  }
  roc_buffer_disown(a->buffer);
  roclua_array_release(made);
  return roc_embed_code(status, &err);
}

int roclua_array_from_dlpack(struct DLManagedTensorVersioned *tensor, roclua_stream *stream,
                             roclua_array **out_array) {
  static const char name[] = "roclua_array_from_dlpack";
  if (!tensor || !out_array) {
    return roc_embed_refuse("%s: %s is NULL", name, tensor ? "out_array" : "the tensor");
  }
  if (tensor->version.major != DLPACK_MAJOR) {
    roc_error err = ROC_ERROR_INIT;
    roc_fail(&err, ROC_UNSUPPORTED, "%s: the tensor is of DLPack %u.%u, expected %d", name,
             tensor->version.major, tensor->version.minor, DLPACK_MAJOR);
    return roc_embed_code(err.code, &err);
  }
  roclua_memory memory = {.release = release_versioned,
                          .ud = tensor,
                          .read_only = (tensor->flags & DLPACK_READ_ONLY) != 0};
  return take(name, &tensor->tensor, &memory, stream, out_array);
}

int roclua_array_from_dlpack_unversioned(struct DLManagedTensor *tensor, roclua_stream *stream,
                                         roclua_array **out_array) {
  static const char name[] = "roclua_array_from_dlpack_unversioned";
  if (!tensor || !out_array) {
    return roc_embed_refuse("%s: %s is NULL", name, tensor ? "out_array" : "the tensor");
  }
  roclua_memory memory = {.release = release_unversioned, .ud = tensor};
  return take(name, &tensor->tensor, &memory, stream, out_array);
}
