/* Moving array elements on the host: copying, converting, filling, packing, comparing.
 *
 * All of it walks two arrays of one shape at once.  A walk first reorders and merges axes, so that
 * the innermost run is as long as the memory allows and a contiguous copy is one memcpy. */
#include "runtime/array.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bulk.h"
#include "device/cpu/pool.h"
#include "runtime/array/convert.h"

/* Positions in two arrays of one shape.  `run` elements lie a_step / b_step bytes apart. */
typedef struct walk {
  char *a, *b;
  int64_t run, a_step, b_step;
  uint32_t rank; /* of the axes outside the run */
  int64_t extents[ROC_ARRAY_MAX_RANK], a_strides[ROC_ARRAY_MAX_RANK], b_strides[ROC_ARRAY_MAX_RANK];
  int64_t index[ROC_ARRAY_MAX_RANK];
} walk;

/* Adds an axis inside the ones added so far, merging it into the innermost when both arrays step
 * evenly over the two. */
static void walk_add_axis(walk *w, int64_t extent, int64_t a_bytes, int64_t b_bytes) {
  if (extent == 1) return;
  uint32_t k = w->rank - 1;
  if (w->rank > 0 && w->a_strides[k] == extent * a_bytes && w->b_strides[k] == extent * b_bytes) {
    w->extents[k] *= extent;
  } else {
    k = w->rank++;
    w->extents[k] = extent;
  }
  w->a_strides[k] = a_bytes;
  w->b_strides[k] = b_bytes;
}

/* The innermost axis becomes the run. */
static void walk_take_run(walk *w) {
  w->run = 1;
  w->a_step = w->b_step = 0;
  if (w->rank == 0) return;
  w->rank--;
  w->run = w->extents[w->rank];
  w->a_step = w->a_strides[w->rank];
  w->b_step = w->b_strides[w->rank];
}

static char *first_element(const roc_array *a) {
  char *base = roc_buffer_host(a->buffer);
  return base + a->offset * (int64_t)roc_dtype_itemsize(a->dtype);
}

/* A walk in C order over two arrays with elements; false when they are empty. */
static bool walk_init(walk *w, const roc_array *a, const roc_array *b) {
  if (roc_array_size(a) == 0) return false;
  int64_t a_item = (int64_t)roc_dtype_itemsize(a->dtype);
  int64_t b_item = (int64_t)roc_dtype_itemsize(b->dtype);
  memset(w, 0, sizeof *w);
  w->a = first_element(a);
  w->b = first_element(b);
  for (uint32_t k = 0; k < a->rank; k++) {
    walk_add_axis(w, a->extents[k], a->strides[k] * a_item, b->strides[k] * b_item);
  }
  walk_take_run(w);
  return true;
}

/* To the next run; false after the last. */
static bool walk_next(walk *w) {
  for (uint32_t k = w->rank; k-- > 0;) {
    w->a += w->a_strides[k];
    w->b += w->b_strides[k];
    if (++w->index[k] < w->extents[k]) return true;
    w->a -= w->extents[k] * w->a_strides[k];
    w->b -= w->extents[k] * w->b_strides[k];
    w->index[k] = 0;
  }
  return false;
}

/* ---- raw elements ------------------------------------------------------------------------ */

/* That may take a large block: as many as the cpu device has. */
static uint32_t count_threads(void) {
  uint32_t threads;
  return roc_cpu_thread_count(&threads, NULL) == ROC_OK ? threads : 1;
}

static void copy_block(char *dst, const char *src, size_t nbytes) {
  if (nbytes < ROC_BULK_BYTES) {
    memcpy(dst, src, nbytes);
  } else {
    roc_copy_by_threads(dst, src, nbytes, count_threads());
  }
}

/* A constant size lets the compiler make each memcpy one move. */
#define COPY_STRIDED(bytes)                                  \
  for (int64_t i = 0; i < n; i++) {                          \
    memcpy(dst + i * dst_step, src + i * src_step, (bytes)); \
  }

static void copy_run(char *dst, int64_t dst_step, const char *src, int64_t src_step, int64_t n,
                     size_t itemsize) {
  if (n == 1 || (dst_step == (int64_t)itemsize && src_step == (int64_t)itemsize)) {
    copy_block(dst, src, (size_t)n * itemsize);
    return;
  }
  switch (itemsize) {
    case 1: COPY_STRIDED(1); break;
    case 2: COPY_STRIDED(2); break;
    case 4: COPY_STRIDED(4); break;
    default: COPY_STRIDED(8); break;
  }
}

/* dst = src for equal dtypes and disjoint memory. */
static void copy_elements(const roc_array *dst, const roc_array *src) {
  walk w;
  if (!walk_init(&w, dst, src)) return;
  do {
    copy_run(w.a, w.a_step, w.b, w.b_step, w.run, roc_dtype_itemsize(dst->dtype));
  } while (walk_next(&w));
}

static void reverse_axes(roc_array *a) {
  for (uint32_t i = 0, j = a->rank - 1; i < j; i++, j--) {
    int64_t extent = a->extents[i], stride = a->strides[i];
    a->extents[i] = a->extents[j];
    a->strides[i] = a->strides[j];
    a->extents[j] = extent;
    a->strides[j] = stride;
  }
}

/* A walk over contiguous memory `block` (side a) and `array` (side b). */
static bool walk_init_packed(walk *w, void *block, const roc_array *array, roc_order order) {
  if (roc_array_size(array) == 0) return false;
  roc_array axes = *array;
  if (order == ROC_ORDER_F) reverse_axes(&axes);
  int64_t item = (int64_t)roc_dtype_itemsize(axes.dtype), packed = roc_array_size(&axes);
  memset(w, 0, sizeof *w);
  w->a = block;
  w->b = first_element(array);
  for (uint32_t k = 0; k < axes.rank; k++) {
    packed /= axes.extents[k];
    walk_add_axis(w, axes.extents[k], packed * item, axes.strides[k] * item);
  }
  walk_take_run(w);
  return true;
}

void roc_array_pack(void *dst, const roc_array *src, roc_order order) {
  walk w;
  if (!walk_init_packed(&w, dst, src, order)) return;
  do {
    copy_run(w.a, w.a_step, w.b, w.b_step, w.run, roc_dtype_itemsize(src->dtype));
  } while (walk_next(&w));
}

void roc_array_unpack(const roc_array *dst, const void *src, roc_order order) {
  walk w;
  if (!walk_init_packed(&w, (void *)(uintptr_t)src, dst, order)) return; /* only read */
  do {
    copy_run(w.b, w.b_step, w.a, w.a_step, w.run, roc_dtype_itemsize(dst->dtype));
  } while (walk_next(&w));
}

/* ---- copies with conversion -------------------------------------------------------------- */

bool roc_array_same_shape(const roc_array *a, const roc_array *b) {
  return a->rank == b->rank && memcmp(a->extents, b->extents, a->rank * sizeof *a->extents) == 0;
}

static bool overlaps(const roc_array *a, const roc_array *b) {
  roc_devptr a_begin, a_end, b_begin, b_end;
  roc_array_range(a, &a_begin, &a_end);
  roc_array_range(b, &b_begin, &b_end);
  return a_begin < b_end && b_begin < a_end;
}

static roc_status refuse_element(roc_dtype dst, roc_dtype src, roc_scalar value, roc_error *err) {
  if (value.type == ROC_VT_BOOL || roc_dtype_table[dst].kind == 'b') {
    return roc_fail(err, ROC_INVALID, "cannot store %s elements into a %s array: use astype first",
                    roc_dtype_name(src), roc_dtype_name(dst));
  }
  return roc_fail(err, ROC_INVALID,
                  "cannot store %.14g into an %s array: number has no integer "
                  "representation",
                  value.as.f, roc_dtype_name(dst));
}

/* What the dtype, called, gives for the element; but a uint64 stays positive.  From 2^63 on, where
 * it is loaded as a negative integer, its half is converted, rounded to odd, and doubled. */
static roc_scalar convert_element(roc_dtype dst, roc_dtype src, roc_scalar value) {
  bool is_large = src == ROC_DT_UINT64 && roc_dtype_table[dst].kind == 'f' && value.as.i < 0;
  if (!is_large) return roc_dtype_convert(dst, value);
  value.as.i = (int64_t)((uint64_t)value.as.i >> 1 | (value.as.i & 1));
  roc_scalar half = roc_dtype_convert(dst, value);
  half.as.f *= 2;
  return half;
}

/* Either rule, over disjoint memory. */
static roc_status assign_elements(const roc_array *dst, const roc_array *src, bool convert,
                                  roc_error *err) {
  walk w;
  if (!walk_init(&w, dst, src)) return ROC_OK;
  roc_convert_run *run = convert ? roc_convert_run_of(src->dtype, dst->dtype) : NULL;
  do {
    if (run) run(w.a, w.a_step, w.b, w.b_step, w.run);
    for (int64_t i = 0; !run && i < w.run; i++) {
      roc_scalar value = roc_dtype_load(src->dtype, w.b + i * w.b_step);
      if (convert) value = convert_element(dst->dtype, src->dtype, value);
      if (!roc_dtype_store(dst->dtype, w.a + i * w.a_step, value)) {
        return refuse_element(dst->dtype, src->dtype, value, err);
      }
    }
  } while (walk_next(&w));
  return ROC_OK;
}

static roc_status assign(const roc_array *dst, const roc_array *src, bool convert, roc_error *err) {
  if (dst->dtype == src->dtype) {
    copy_elements(dst, src);
    return ROC_OK;
  }
  return assign_elements(dst, src, convert, err);
}

/* As `assign`, but a source in the same memory is packed away first. */
static roc_status assign_any(const roc_array *dst, const roc_array *src, bool convert,
                             roc_error *err) {
  if (!roc_array_same_shape(dst, src)) {
    return roc_fail(err, ROC_INVALID, "the shapes of source and destination differ");
  }
  if (!overlaps(dst, src)) return assign(dst, src, convert, err);
  roc_array packed;
  ROC_TRY(roc_array_describe(&packed, src->dtype, src->rank, src->extents, ROC_ORDER_C, err));
  ROC_TRY(roc_buffer_create_host(roc_array_nbytes(src), false, &packed.buffer, err));
  roc_array_pack(roc_buffer_host(packed.buffer), src, ROC_ORDER_C);
  roc_status status = assign(dst, &packed, convert, err);
  roc_array_release(&packed);
  return status;
}

roc_status roc_array_copy_host(const roc_array *dst, const roc_array *src, roc_error *err) {
  return assign_any(dst, src, false, err);
}

roc_status roc_array_convert_host(const roc_array *dst, const roc_array *src, roc_error *err) {
  return assign_any(dst, src, true, err);
}

static void fill_run(char *dst, int64_t dst_step, const void *element, int64_t n, size_t itemsize) {
  size_t nbytes = (size_t)n * itemsize;
  if (dst_step != (int64_t)itemsize) {
    copy_run(dst, dst_step, element, 0, n, itemsize);
  } else if (nbytes < ROC_BULK_BYTES) {
    roc_fill(dst, element, itemsize, nbytes);
  } else {
    roc_fill_by_threads(dst, element, itemsize, nbytes, count_threads());
  }
}

void roc_array_fill_host(const roc_array *dst, const void *element) {
  roc_array one = *dst; /* every index leads to the one element: a walk with strides of 0 */
  walk w;
  memset(one.strides, 0, sizeof one.strides);
  if (!walk_init(&w, dst, &one)) return;
  do {
    fill_run(w.a, w.a_step, element, w.run, roc_dtype_itemsize(dst->dtype));
  } while (walk_next(&w));
}

void roc_array_normalize_bools(const roc_array *a) {
  if (a->dtype != ROC_DT_BOOL) return;
  unsigned char *bytes = (unsigned char *)first_element(a);
  int64_t size = roc_array_size(a);
  for (int64_t i = 0; i < size; i++) bytes[i] = bytes[i] != 0;
}

/* ---- comparison -------------------------------------------------------------------------- */

static double scalar_to_f64(roc_scalar value) {
  switch (value.type) {
    case ROC_VT_BOOL: return value.as.b;
    case ROC_VT_INT: return (double)value.as.i;
    default: return value.as.f;
  }
}

/* Mathematically equal; an integer and a float are compared exactly. */
static bool scalar_equal(roc_scalar x, roc_scalar y) {
  if (x.type == ROC_VT_F64 && y.type == ROC_VT_F64) return x.as.f == y.as.f;
  int64_t i = x.type == ROC_VT_BOOL ? x.as.b : x.as.i;
  int64_t j = y.type == ROC_VT_BOOL ? y.as.b : y.as.i;
  if (x.type == ROC_VT_F64 && !roc_i64_from_f64_exact(x.as.f, &i)) return false;
  if (y.type == ROC_VT_F64 && !roc_i64_from_f64_exact(y.as.f, &j)) return false;
  return i == j;
}

static bool scalar_close(roc_scalar x, roc_scalar y, double rtol, double atol) {
  if (scalar_equal(x, y)) return true; /* also equal infinities, whose difference is NaN */
  double a = scalar_to_f64(x), b = scalar_to_f64(y);
  if (isinf(a) || isinf(b)) return false;
  return fabs(a - b) <= atol + rtol * fabs(b);
}

bool roc_array_equal_host(const roc_array *a, const roc_array *b) {
  walk w;
  if (!roc_array_same_shape(a, b)) return false;
  if (!walk_init(&w, a, b)) return true;
  do {
    for (int64_t i = 0; i < w.run; i++) {
      if (!scalar_equal(roc_dtype_load(a->dtype, w.a + i * w.a_step),
                        roc_dtype_load(b->dtype, w.b + i * w.b_step))) {
        return false;
      }
    }
  } while (walk_next(&w));
  return true;
}

bool roc_array_close_host(const roc_array *a, const roc_array *b, double rtol, double atol) {
  walk w;
  if (!roc_array_same_shape(a, b)) return false;
  if (!walk_init(&w, a, b)) return true;
  do {
    for (int64_t i = 0; i < w.run; i++) {
      if (!scalar_close(roc_dtype_load(a->dtype, w.a + i * w.a_step),
                        roc_dtype_load(b->dtype, w.b + i * w.b_step), rtol, atol)) {
        return false;
      }
    }
  } while (walk_next(&w));
  return true;
}

/* ---- summary ----------------------------------------------------------------------------- */

static bool scalar_less(roc_dtype dt, roc_scalar x, roc_scalar y) {
  if (x.type == ROC_VT_F64) return x.as.f < y.as.f;
  if (x.type == ROC_VT_BOOL) return x.as.b < y.as.b;
  return dt == ROC_DT_UINT64 ? (uint64_t)x.as.i < (uint64_t)y.as.i : x.as.i < y.as.i;
}

static double element_to_f64(roc_dtype dt, roc_scalar x) {
  return dt == ROC_DT_UINT64 ? (double)(uint64_t)x.as.i : scalar_to_f64(x);
}

void roc_array_summarise(const roc_array *a, roc_array_summary *out_summary) {
  roc_array_summary s = {.min.type = ROC_VT_INT, .max.type = ROC_VT_INT};
  bool is_first = true;
  walk w;
  bool has_elements = walk_init(&w, a, a);
  while (has_elements) {
    for (int64_t i = 0; i < w.run; i++) {
      roc_scalar x = roc_dtype_load(a->dtype, w.a + i * w.a_step);
      if (x.type == ROC_VT_F64 && isnan(x.as.f)) {
        s.nans++;
        continue;
      }
      if (is_first || scalar_less(a->dtype, x, s.min)) s.min = x;
      if (is_first || scalar_less(a->dtype, s.max, x)) s.max = x;
      s.sum += element_to_f64(a->dtype, x);
      is_first = false;
    }
    has_elements = walk_next(&w);
  }
  *out_summary = s;
}
