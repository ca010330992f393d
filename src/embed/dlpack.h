/* The structs of DLPack, version 1, and its numbers: an interface between libraries whose names and
 * layout are fixed.  Field by field as its specification has them. */
#ifndef ROC_EMBED_DLPACK_H
#define ROC_EMBED_DLPACK_H

#include <stdint.h>

enum { DLPACK_MAJOR = 1, DLPACK_MINOR = 0 };

typedef enum dlpack_device_type {
  DLPACK_CPU = 1,
  DLPACK_CUDA = 2,
  DLPACK_CUDA_HOST = 3, /* page-locked host memory */
  DLPACK_ROCM = 10,
  DLPACK_ROCM_HOST = 11,
  DLPACK_CUDA_MANAGED = 13
} dlpack_device_type;

typedef enum dlpack_type_code {
  DLPACK_INT = 0,
  DLPACK_UINT = 1,
  DLPACK_FLOAT = 2,
  DLPACK_BFLOAT = 4,
  DLPACK_BOOL = 6
} dlpack_type_code;

enum { DLPACK_READ_ONLY = 1 }; /* a bit of `flags` */

typedef struct dlpack_tensor {
  void *data;
  struct {
    int32_t device_type, device_id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape;
  int64_t *strides; /* in elements; NULL: C order */
  uint64_t byte_offset;
} dlpack_tensor;

struct DLManagedTensor {
  dlpack_tensor tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self); /* or NULL */
};

struct DLManagedTensorVersioned {
  struct {
    uint32_t major, minor;
  } version; /* of another major version this and the deleter alone have meaning */
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self); /* or NULL */
  uint64_t flags;
  dlpack_tensor tensor;
};

#endif
