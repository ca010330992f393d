/* Array shapes: describing, viewing, addressing.  Pure arithmetic on extents and strides; the
 * elements themselves are moved in array_host.c.
 *
 * Invariant: extents are >= 0, and the index of every element, times its size, fits in ptrdiff_t.
 */
#include "runtime/array.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

/* "{5, 3}" for messages; cut when it does not fit. */
static const char *shape_text(uint32_t rank, const int64_t *extents, char *buf, size_t nbytes) {
  size_t len = 0;
  buf[len++] = '{';
  for (uint32_t k = 0; k < rank && len + 24 < nbytes; k++) {
    int n = snprintf(buf + len, nbytes - len, "%s%" PRId64, k ? ", " : "", extents[k]);
    len += (size_t)n;
  }
  buf[len++] = '}';
  buf[len] = '\0';
  return buf;
}

enum { SHAPE_TEXT_BYTES = ROC_ARRAY_MAX_RANK * 24 + 32 };

/* Strides of a contiguous layout.  An extent of 0 counts as 1, so that strides stay meaningful. */
static void set_contiguous_strides(roc_array *a, roc_order order) {
  int64_t step = 1;
  for (uint32_t n = 0; n < a->rank; n++) {
    uint32_t k = order == ROC_ORDER_C ? a->rank - 1 - n : n;
    a->strides[k] = step;
    if (a->extents[k] > 1) step *= a->extents[k];
  }
}

/* The elements of a shape, with extents of 0 counted as 1; false on overflow of ptrdiff_t bytes. */
static bool check_bytes(uint32_t rank, const int64_t *extents, size_t itemsize) {
  size_t total = itemsize;
  for (uint32_t k = 0; k < rank; k++) {
    if (extents[k] > 1 && !roc_mul_size(total, (size_t)extents[k], &total)) return false;
    if (total > PTRDIFF_MAX) return false;
  }
  return true;
}

static roc_status check_rank(uint32_t rank, roc_error *err) {
  if (rank >= 1 && rank <= ROC_ARRAY_MAX_RANK) return ROC_OK;
  return roc_fail(err, ROC_INVALID, "an array has 1 to %d dimensions, not %u", ROC_ARRAY_MAX_RANK,
                  rank);
}

roc_status roc_array_describe(roc_array *a, roc_dtype dtype, uint32_t rank, const int64_t *extents,
                              roc_order order, roc_error *err) {
  char text[SHAPE_TEXT_BYTES];
  ROC_TRY(check_rank(rank, err));
  for (uint32_t k = 0; k < rank; k++) {
    if (extents[k] < 0) {
      return roc_fail(err, ROC_INVALID, "extent %" PRId64 " of dimension %u is negative",
                      extents[k], k + 1);
    }
  }
  if (!check_bytes(rank, extents, roc_dtype_itemsize(dtype))) {
    return roc_fail(err, ROC_INVALID, "shape %s of %s is too large",
                    shape_text(rank, extents, text, sizeof text), roc_dtype_name(dtype));
  }
  int64_t copied[ROC_ARRAY_MAX_RANK]; /* they may be the array's own */
  for (uint32_t k = 0; k < rank; k++) copied[k] = extents[k];
  *a = (roc_array){.dtype = dtype, .rank = rank};
  for (uint32_t k = 0; k < rank; k++) a->extents[k] = copied[k];
  set_contiguous_strides(a, order);
  return ROC_OK;
}

int64_t roc_array_size(const roc_array *a) {
  int64_t size = 1;
  for (uint32_t k = 0; k < a->rank; k++) {
    if (a->extents[k] == 0) return 0; /* before the others could overflow */
  }
  for (uint32_t k = 0; k < a->rank; k++) size *= a->extents[k];
  return size;
}

size_t roc_array_nbytes(const roc_array *a) {
  return (size_t)roc_array_size(a) * roc_dtype_itemsize(a->dtype);
}

static bool is_contiguous(const roc_array *a, roc_order order) {
  if (roc_array_size(a) == 0) return true;
  int64_t step = 1;
  for (uint32_t n = 0; n < a->rank; n++) {
    uint32_t k = order == ROC_ORDER_C ? a->rank - 1 - n : n;
    if (a->extents[k] == 1) continue;
    if (a->strides[k] != step) return false;
    step *= a->extents[k];
  }
  return true;
}

bool roc_array_is_c_contiguous(const roc_array *a) {
  return is_contiguous(a, ROC_ORDER_C);
}
bool roc_array_is_f_contiguous(const roc_array *a) {
  return is_contiguous(a, ROC_ORDER_F);
}

void roc_array_release(roc_array *a) {
  roc_buffer *buffer = a->buffer;
  a->buffer = NULL;
  roc_buffer_release(buffer);
}

void *roc_array_at(const roc_array *a, const int64_t *indices) {
  char *base = roc_buffer_host(a->buffer);
  if (!base) return NULL;
  int64_t element = a->offset;
  for (uint32_t k = 0; k < a->rank; k++) element += indices[k] * a->strides[k];
  return base + element * (int64_t)roc_dtype_itemsize(a->dtype);
}

void roc_array_range(const roc_array *a, roc_devptr *begin, roc_devptr *end) {
  uint64_t itemsize = roc_dtype_itemsize(a->dtype);
  int64_t low = a->offset, high = a->offset;
  for (uint32_t k = 0; k < a->rank; k++) {
    int64_t reach = (a->extents[k] - 1) * a->strides[k];
    if (reach < 0) low += reach;
    if (reach > 0) high += reach;
  }
  if (!a->buffer) { /* the stand-in of a signature: no memory */
    *begin = *end = 0;
    return;
  }
  roc_devptr base = roc_buffer_devptr(a->buffer);
  *begin = base + (uint64_t)low * itemsize;
  *end = roc_array_size(a) == 0 ? *begin : base + ((uint64_t)high + 1) * itemsize;
}

/* ---- views ------------------------------------------------------------------------------- */

/* Gives a finished view its own reference. */
static roc_status finish_view(const roc_array *view, roc_array *out) {
  roc_buffer_retain(view->buffer);
  *out = *view;
  return ROC_OK;
}

static void reverse(uint32_t rank, int64_t *values) {
  for (uint32_t i = 0, j = rank - 1; i < j; i++, j--) {
    int64_t t = values[i];
    values[i] = values[j];
    values[j] = t;
  }
}

/* Copies the axes whose extent is not 1; returns how many. */
static uint32_t drop_unit_axes(const roc_array *a, int64_t *extents, int64_t *strides) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < a->rank; k++) {
    if (a->extents[k] == 1) continue;
    extents[n] = a->extents[k];
    strides[n++] = a->strides[k];
  }
  return n;
}

/* Strides that show the elements of `a`, read in C order, in the shape view->extents; false when no
 * strides can.  Old and new axes are matched in groups of equal element counts, from the left; a
 * group works when its old axes step through memory evenly.  No extent is 0. */
static bool find_c_strides(const roc_array *a, roc_array *view) {
  int64_t extents[ROC_ARRAY_MAX_RANK], strides[ROC_ARRAY_MAX_RANK];
  uint32_t old_rank = drop_unit_axes(a, extents, strides);
  uint32_t o = 0, n = 0;
  while (o < old_rank && n < view->rank) {
    uint32_t o_end = o + 1, n_end = n + 1;
    int64_t old_count = extents[o], new_count = view->extents[n];
    while (old_count != new_count) {
      if (new_count < old_count) {
        new_count *= view->extents[n_end++];
      } else {
        old_count *= extents[o_end++];
      }
    }
    for (uint32_t k = o; k + 1 < o_end; k++) {
      if (strides[k] != extents[k + 1] * strides[k + 1]) return false;
    }
    view->strides[n_end - 1] = strides[o_end - 1];
    for (uint32_t k = n_end - 1; k > n; k--) {
      view->strides[k - 1] = view->strides[k] * view->extents[k];
    }
    o = o_end;
    n = n_end;
  }
  for (; n < view->rank; n++) view->strides[n] = n ? view->strides[n - 1] : 1; /* extents of 1 */
  return true;
}

static bool find_strides(const roc_array *a, roc_order order, roc_array *view) {
  if (order == ROC_ORDER_C) return find_c_strides(a, view);
  /* Fortran order is C order of everything reversed. */
  roc_array mirror = *a;
  reverse(mirror.rank, mirror.extents);
  reverse(mirror.rank, mirror.strides);
  reverse(view->rank, view->extents);
  bool found = find_c_strides(&mirror, view);
  reverse(view->rank, view->extents);
  reverse(view->rank, view->strides);
  return found;
}

/* Replaces an extent of -1; false when the sizes cannot agree. */
static bool resolve_extents(int64_t size, uint32_t rank, int64_t *extents) {
  int64_t known = 1;
  uint32_t wildcard = rank;
  bool empty = false;
  for (uint32_t k = 0; k < rank; k++) {
    if (extents[k] == -1) {
      if (wildcard != rank) return false;
      wildcard = k;
    } else if (extents[k] == 0) {
      empty = true;
    } else if (extents[k] < 0 || __builtin_mul_overflow(known, extents[k], &known)) {
      return false;
    }
  }
  if (empty) known = 0;
  if (wildcard == rank) return known == size;
  if (known == 0 || size % known != 0) return false;
  extents[wildcard] = size / known;
  return true;
}

roc_status roc_array_reshape(const roc_array *a, uint32_t rank, const int64_t *extents,
                             roc_order order, roc_array *out, roc_error *err) {
  char text[SHAPE_TEXT_BYTES], old_text[SHAPE_TEXT_BYTES];
  ROC_TRY(check_rank(rank, err));
  int64_t size = roc_array_size(a);
  roc_array view = *a;
  view.rank = rank;
  memcpy(view.extents, extents, rank * sizeof *extents);
  if (!resolve_extents(size, rank, view.extents)) {
    return roc_fail(err, ROC_INVALID, "cannot reshape %" PRId64 " elements into %s", size,
                    shape_text(rank, extents, text, sizeof text));
  }
  if (size == 0) {
    /* Any strides do, but the invariant on sizes holds for the extents beside the 0 too. */
    ROC_TRY(roc_array_describe(&view, a->dtype, rank, view.extents, order, err));
    view.buffer = a->buffer;
    view.offset = a->offset;
  } else if (!find_strides(a, order, &view)) {
    return roc_fail(err, ROC_INVALID,
                    "an array of shape %s with these strides cannot be viewed as %s: a copy is "
                    "needed, as a:ravel(%s):reshape(…)",
                    shape_text(a->rank, a->extents, old_text, sizeof old_text),
                    shape_text(rank, view.extents, text, sizeof text),
                    order == ROC_ORDER_F ? "\"F\"" : "");
  }
  return finish_view(&view, out);
}

roc_status roc_array_transpose(const roc_array *a, const uint32_t *axes, roc_array *out,
                               roc_error *err) {
  roc_array view = *a;
  uint32_t seen = 0;
  for (uint32_t k = 0; k < a->rank; k++) {
    uint32_t from = axes ? axes[k] : a->rank - 1 - k;
    if (from >= a->rank) {
      return roc_fail(err, ROC_INVALID, "axis %u out of range 1..%u", from + 1, a->rank);
    }
    if (seen & 1u << from) {
      return roc_fail(err, ROC_INVALID, "axis %u is named twice", from + 1);
    }
    seen |= 1u << from;
    view.extents[k] = a->extents[from];
    view.strides[k] = a->strides[from];
  }
  return finish_view(&view, out);
}

roc_status roc_array_slice(const roc_array *a, uint32_t dim, int64_t first, int64_t count,
                           int64_t step, roc_array *out, roc_error *err) {
  if (dim >= a->rank) {
    return roc_fail(err, ROC_INVALID, "dimension %u out of range 1..%u", dim + 1, a->rank);
  }
  if (count < 0) {
    return roc_fail(err, ROC_INVALID, "a slice of %" PRId64 " elements", count);
  }
  roc_array view = *a;
  view.extents[dim] = count;
  if (count > 0) {
    int64_t extent = a->extents[dim], last;
    if (__builtin_mul_overflow(count - 1, step, &last) ||
        __builtin_add_overflow(last, first, &last) || first < 0 || first >= extent || last < 0 ||
        last >= extent) {
      return roc_fail(err, ROC_INVALID, "slice leaves the range 1..%" PRId64 " of dimension %u",
                      extent, dim + 1);
    }
    view.offset += first * a->strides[dim];
    /* With one element left the step addresses nothing, and may be huge. */
    if (count > 1) view.strides[dim] = a->strides[dim] * step;
  }
  return finish_view(&view, out);
}

roc_status roc_array_row(const roc_array *a, int64_t i, roc_array *out, roc_error *err) {
  if (a->rank < 2)
    return roc_fail(err, ROC_INVALID, "a row needs an array of 2 dimensions or more");
  if (i < 0 || i >= a->extents[0]) {
    return roc_fail(err, ROC_INVALID, "index %" PRId64 " out of range 1..%" PRId64, i + 1,
                    a->extents[0]);
  }
  roc_array view = *a;
  view.rank--;
  view.offset += i * a->strides[0];
  memmove(view.extents, a->extents + 1, view.rank * sizeof *view.extents);
  memmove(view.strides, a->strides + 1, view.rank * sizeof *view.strides);
  return finish_view(&view, out);
}
