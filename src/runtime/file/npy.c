/* Reading and writing .npy files; see npy.h.
 *
 * Nothing in a file is trusted: the header's size is bounded, and an array is only reported once
 * the file is seen to hold its bytes, so that a lying header cannot ask for memory. */
#include "runtime/npy.h"

#include <string.h>

#include "base/alloc.h"
#include "runtime/file/npy_header.h"
#include "runtime/file/stream.h"

enum {
  PREFIX_BYTES = 8,           /* magic, major, minor */
  MAX_HEADER_BYTES = 1 << 20, /* NumPy's are a few hundred */
  HEADER_ALIGNMENT = 64
};

static const char magic[] = "\x93NUMPY";

static roc_status read_bytes(roc_npy *npy, void *to, size_t nbytes, roc_error *err) {
  if (fread(to, 1, nbytes, npy->file) == nbytes) return ROC_OK;
  if (ferror(npy->file)) return roc_stream_fail("read", npy->path, err);
  return roc_fail(err, ROC_INVALID, "'%s' is cut short", npy->path);
}

/* ---- reading ----------------------------------------------------------------------------- */

/* The header's length field: 2 bytes in version 1, 4 later; little-endian. */
static roc_status read_header_length(roc_npy *npy, size_t *out_len, size_t *out_nbytes,
                                     roc_error *err) {
  unsigned char prefix[PREFIX_BYTES], field[4] = {0};
  if (fread(prefix, 1, sizeof prefix, npy->file) != sizeof prefix ||
      memcmp(prefix, magic, sizeof magic - 1) != 0) {
    if (ferror(npy->file)) return roc_stream_fail("read", npy->path, err);
    return roc_fail(err, ROC_INVALID, "'%s' is no .npy file", npy->path);
  }
  unsigned major = prefix[6], minor = prefix[7];
  if (major < 1 || major > 3 || minor != 0) {
    return roc_fail(err, ROC_INVALID, "'%s' has .npy version %u.%u; 1.0, 2.0 and 3.0 can be read",
                    npy->path, major, minor);
  }
  size_t length_bytes = major == 1 ? 2 : 4;
  ROC_TRY(read_bytes(npy, field, length_bytes, err));
  *out_len = field[0] | (size_t)field[1] << 8 | (size_t)field[2] << 16 | (size_t)field[3] << 24;
  *out_nbytes = PREFIX_BYTES + length_bytes + *out_len;
  if (*out_len <= MAX_HEADER_BYTES) return ROC_OK;
  return roc_fail(err, ROC_INVALID, "'%s' has a .npy header of %zu bytes", npy->path, *out_len);
}

/* Stores the bytes before the elements. */
static roc_status read_header(roc_npy *npy, size_t *out_nbytes, roc_error *err) {
  size_t len = 0;
  ROC_TRY(read_header_length(npy, &len, out_nbytes, err));
  char *text = roc_alloc(len + 1);
  if (!text) return roc_fail(err, ROC_OOM, "out of memory reading '%s'", npy->path);
  text[len] = '\0';
  bool is_big_endian = false;
  roc_status status = read_bytes(npy, text, len, err);
  if (status == ROC_OK) {
    status = roc_npy_parse_header(npy->path, text, len, &npy->shape, &is_big_endian, err);
  }
  roc_free(text);
  npy->is_swapped = is_big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
  return status;
}

/* What is left of the stream must hold the elements; of a pipe nothing is known. */
static roc_status check_size(roc_npy *npy, uint64_t left, roc_error *err) {
  size_t needed = roc_array_nbytes(&npy->shape);
  if (needed <= left) return ROC_OK;
  return roc_fail(err, ROC_INVALID,
                  "'%s' is cut short: its header promises %zu bytes, %zu are there", npy->path,
                  needed, (size_t)left);
}

roc_status roc_npy_open_stream(FILE *file, const char *name, uint64_t nbytes, roc_npy *out_npy,
                               roc_error *err) {
  *out_npy = (roc_npy){.path = name, .file = file};
  roc_status status = read_header(out_npy, &out_npy->offset, err);
  if (status == ROC_OK && nbytes != UINT64_MAX) {
    size_t header = out_npy->offset;
    status = check_size(out_npy, nbytes > header ? nbytes - header : 0, err);
  }
  if (status != ROC_OK) roc_npy_close(out_npy);
  return status;
}

roc_status roc_npy_open(const char *path, roc_rt_progress *work, roc_npy *out_npy, roc_error *err) {
  FILE *file;
  uint64_t nbytes;
  *out_npy = (roc_npy){0};
  ROC_TRY(roc_stream_open(path, work, &file, &nbytes, err));
  return roc_npy_open_stream(file, path, nbytes, out_npy, err);
}

static void swap_bytes(unsigned char *bytes, size_t nbytes, size_t itemsize) {
  for (unsigned char *item = bytes; item < bytes + nbytes; item += itemsize) {
    for (size_t i = 0, j = itemsize - 1; i < j; i++, j--) {
      unsigned char t = item[i];
      item[i] = item[j];
      item[j] = t;
    }
  }
}

roc_status roc_npy_read(roc_npy *npy, void *memory, roc_error *err) {
  size_t nbytes = roc_array_nbytes(&npy->shape);
  ROC_TRY(read_bytes(npy, memory, nbytes, err));
  if (npy->is_swapped) swap_bytes(memory, nbytes, roc_dtype_itemsize(npy->shape.dtype));
  return ROC_OK;
}

void roc_npy_close(roc_npy *npy) {
  if (npy->file) fclose(npy->file);
  npy->file = NULL;
}

/* ---- writing ----------------------------------------------------------------------------- */

/* Prefix, length and dict, padded with spaces so that the elements begin at a multiple of 64. */
static roc_status write_header(FILE *file, const char *path, const roc_array *a, roc_order order,
                               roc_error *err) {
  char text[512];
  ROC_TRY(roc_npy_format_header(a, order, text, sizeof text, err));
  size_t len = strlen(text), before = PREFIX_BYTES + 2;
  size_t padded = (before + len + 1 + HEADER_ALIGNMENT - 1) / HEADER_ALIGNMENT * HEADER_ALIGNMENT;
  size_t field = padded - before;
  unsigned char length[2] = {field & 0xff, field >> 8 & 0xff};
  fprintf(file, "%s%c%c", magic, 1, 0);
  fwrite(length, 1, sizeof length, file);
  fprintf(file, "%-*s\n", (int)field - 1, text);
  return ferror(file) ? roc_stream_fail("write", path, err) : ROC_OK;
}

static roc_status write_elements(FILE *file, const char *path, const roc_array *a, roc_order order,
                                 roc_error *err) {
  size_t nbytes = roc_array_nbytes(a);
  void *packed = NULL;
  const int64_t origin[ROC_ARRAY_MAX_RANK] = {0};
  const void *from = roc_array_at(a, origin);
  if (nbytes == 0) return ROC_OK;
  if (!roc_array_is_c_contiguous(a) && !roc_array_is_f_contiguous(a)) {
    packed = roc_alloc(nbytes);
    if (!packed) return roc_fail(err, ROC_OOM, "out of memory writing '%s'", path);
    roc_array_pack(packed, a, order);
    from = packed;
  }
  bool is_written = fwrite(from, 1, nbytes, file) == nbytes;
  roc_status status = is_written ? ROC_OK : roc_stream_fail("write", path, err);
  roc_free(packed);
  return status;
}

roc_status roc_npy_write(FILE *file, const char *name, const roc_array *a, roc_error *err) {
  bool is_fortran = !roc_array_is_c_contiguous(a) && roc_array_is_f_contiguous(a);
  roc_order order = is_fortran ? ROC_ORDER_F : ROC_ORDER_C;
  ROC_TRY(write_header(file, name, a, order, err));
  ROC_TRY(write_elements(file, name, a, order, err));
  return fflush(file) == 0 ? ROC_OK : roc_stream_fail("write", name, err);
}

static roc_status write_array(FILE *file, const char *path, void *array, roc_error *err) {
  return roc_npy_write(file, path, array, err);
}

roc_status roc_npy_save(const char *path, const roc_array *a, roc_rt_progress *work,
                        roc_error *err) {
  roc_array copy = *a; /* read alone */
  return roc_stream_save(path, write_array, &copy, work, err);
}
