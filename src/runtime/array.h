/* Arrays: an element type and a shape laid over a buffer.
 *
 * A plain value with one reference to its buffer inside; copying the struct means retaining the
 * buffer.  All view functions are pure arithmetic: they fill *out (with its own reference) or
 * explain why not, and touch no elements. Dimensions and indices are 0-based here (the bindings
 * convert), strides are in elements and may be negative. */
#ifndef ROC_RUNTIME_ARRAY_H
#define ROC_RUNTIME_ARRAY_H

#include "base/dtype.h"
#include "runtime/buffer.h"

enum { ROC_ARRAY_MAX_RANK = 8 };
typedef enum roc_order { ROC_ORDER_C, ROC_ORDER_F } roc_order;

typedef struct roc_array {
  roc_buffer *buffer;
  roc_dtype dtype;
  uint32_t rank; /* at least 1 */
  int64_t extents[ROC_ARRAY_MAX_RANK];
  int64_t strides[ROC_ARRAY_MAX_RANK];
  int64_t offset; /* elements from the buffer's begin to element (0, 0, …) */
} roc_array;

/* Sets dtype, shape and contiguous strides; checks rank, extents >= 0 and that the bytes fit in
 * ptrdiff_t. No buffer yet. */
roc_status roc_array_describe(roc_array *a, roc_dtype dtype, uint32_t rank, const int64_t *extents,
                              roc_order order, roc_error *err);
int64_t roc_array_size(const roc_array *a);  /* elements */
size_t roc_array_nbytes(const roc_array *a); /* size * itemsize */
bool roc_array_is_c_contiguous(const roc_array *a);
bool roc_array_is_f_contiguous(const roc_array *a);
void roc_array_release(roc_array *a); /* drops the reference; safe on zeroed structs */
/* Host pointer of an element (0-based indices in range); NULL when the host cannot touch the
 * memory. */
void *roc_array_at(const roc_array *a, const int64_t *indices);
/* Byte range [*begin, *end) of device addresses the elements lie in; begin == end when empty. */
void roc_array_range(const roc_array *a, roc_devptr *begin, roc_devptr *end);

roc_status roc_array_reshape(const roc_array *a, uint32_t rank,
                             const int64_t *extents /* one may be -1 */, roc_order order,
                             roc_array *out, roc_error *err);
roc_status roc_array_transpose(const roc_array *a, const uint32_t *axes /* NULL: reversed */,
                               roc_array *out, roc_error *err);
/* Elements first, first+step, … of dimension `dim`: `count` of them. */
roc_status roc_array_slice(const roc_array *a, uint32_t dim, int64_t first, int64_t count,
                           int64_t step, roc_array *out, roc_error *err);
/* Fixes index i of the first dimension; rank > 1. */
roc_status roc_array_row(const roc_array *a, int64_t i, roc_array *out, roc_error *err);

/* Element-wise dst = src on the host, any strides, overlap-safe, converting by the rules of a
 * *store* (fails on the first element that cannot be stored and says which; elements before it are
 * written).  Same shapes. */
roc_status roc_array_copy_host(const roc_array *dst, const roc_array *src, roc_error *err);
/* The same by the rules of a *conversion* (roc_dtype_convert); fails only on differing shapes or
 * memory. */
roc_status roc_array_convert_host(const roc_array *dst, const roc_array *src, roc_error *err);
/* Repeats one element of dst's dtype over a host array. */
void roc_array_fill_host(const roc_array *dst, const void *element);
/* Makes every non-zero byte of a contiguous bool host array 1 (bytes from outside may be anything);
 * other dtypes: nothing. */
void roc_array_normalize_bools(const roc_array *a);
bool roc_array_same_shape(const roc_array *a, const roc_array *b);
/* Same shape and element-wise equal numbers (exactly, whatever the dtypes); NaN equals nothing.
 * Host arrays. */
bool roc_array_equal_host(const roc_array *a, const roc_array *b);
/* Same shape and |a - b| <= atol + rtol * |b| element-wise; equal infinities are close, NaN is
 * not. */
bool roc_array_close_host(const roc_array *a, const roc_array *b, double rtol, double atol);
/* What the elements of a host array are, but for NaN: of no element, all is 0.  uint64 counts as
 * unsigned. */
typedef struct roc_array_summary {
  int64_t nans;
  roc_scalar min, max;
  double sum;
} roc_array_summary;
void roc_array_summarise(const roc_array *a, roc_array_summary *out_summary);
/* Raw elements between equal dtypes, any strides: packing and unpacking. */
void roc_array_pack(void *dst /* contiguous, order */, const roc_array *src, roc_order order);
void roc_array_unpack(const roc_array *dst, const void *src, roc_order order);

#endif
