/* The type of a kernel's argument: all that compiled code knows of it.
 *
 * One record from the launch (jit/args.h: its class) or the signature through the front end and the
 * IR to the code object, whose slots say how the launch packs it. */
#ifndef ROC_BASE_ARG_TYPE_H
#define ROC_BASE_ARG_TYPE_H

#include "base/dtype.h"

enum {
  ROC_MAX_RANK = 8,
  ROC_NARROW_MOST = INT32_MAX - 1,    /* 2^31-1 is more than anything narrow */
  ROC_NARROW_INT_MOST = (1 << 30) - 1 /* an index of elements of several bytes, more or less such
                                         an integer, still fits 32 bits */
};

typedef enum roc_layout {
  ROC_LAYOUT_C,      /* packed, the last dimension innermost */
  ROC_LAYOUT_F,      /* packed, the first dimension innermost */
  ROC_LAYOUT_STRIDED /* any other; strides are arguments */
} roc_layout;

/* Bytes without padding, since types are compared by memcmp (asserted in codeobj.c). */
typedef struct roc_arg_type {
  uint8_t value;  /* scalars: roc_value_type; arrays: ROC_VT_NONE */
  uint8_t dtype;  /* arrays: roc_dtype of the elements; scalars: as a signature declares it */
  uint8_t rank;   /* arrays; 0: a scalar */
  uint8_t layout; /* arrays: roc_layout */
  bool is_narrow; /* of an integer: 0 … ROC_NARROW_INT_MOST; of an array 0 … ROC_NARROW_MOST: every
                     stride, the bytes of all elements, and every extent in bytes */
  bool is_plain;       /* a float64 that takes the type of the float32 it meets: a Lua number */
  bool is_alias;       /* an array that overlaps another where one of the two is written */
  bool is_host_memory; /* an array that atomics must update in the host's memory */
} roc_arg_type;

static inline bool roc_arg_is_array(const roc_arg_type *type) {
  return type->rank > 0;
}

/* Of an array: no extent is larger. What is added to an index then still fits 32 bits, if elements
 * have several bytes. */
static inline int64_t roc_arg_most_extent(const roc_arg_type *type) {
  return type->is_narrow ? ROC_NARROW_MOST / (int64_t)roc_dtype_itemsize((roc_dtype)type->dtype)
                         : INT64_MAX;
}

static inline bool roc_arg_has_strides(const roc_arg_type *type) {
  return type->rank > 0 && type->layout == ROC_LAYOUT_STRIDED;
}

#endif
