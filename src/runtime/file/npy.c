/* Reading and writing .npy files; see npy.h.
 *
 * Nothing in a file is trusted: the header's size is bounded, and an array is only reported once
 * the file is seen to hold its bytes, so that a lying header cannot ask for memory. */
#include "runtime/npy.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "runtime/file/npy_header.h"

enum {
  PREFIX_BYTES = 8,           /* magic, major, minor */
  MAX_HEADER_BYTES = 1 << 20, /* NumPy's are a few hundred */
  HEADER_ALIGNMENT = 64
};

static const char magic[] = "\x93NUMPY";

static roc_status fail_errno(const char *what, const char *path, roc_error *err) {
  int code = errno;
  roc_fail(err, ROC_IO, "cannot %s '%s': %s", what, path, strerror(code));
  if (err) err->native = code;
  return ROC_IO;
}

static roc_status read_bytes(roc_npy *npy, void *to, size_t nbytes, roc_error *err) {
  if (fread(to, 1, nbytes, npy->file) == nbytes) return ROC_OK;
  if (ferror(npy->file)) return fail_errno("read", npy->path, err);
  return roc_fail(err, ROC_INVALID, "'%s' is cut short", npy->path);
}

/* ---- reading ----------------------------------------------------------------------------- */

/* The header's length field: 2 bytes in version 1, 4 later; little-endian. */
static roc_status read_header_length(roc_npy *npy, size_t *out_len, roc_error *err) {
  unsigned char prefix[PREFIX_BYTES], field[4] = {0};
  if (fread(prefix, 1, sizeof prefix, npy->file) != sizeof prefix ||
      memcmp(prefix, magic, sizeof magic - 1) != 0) {
    if (ferror(npy->file)) return fail_errno("read", npy->path, err);
    return roc_fail(err, ROC_INVALID, "'%s' is no .npy file", npy->path);
  }
  unsigned major = prefix[6], minor = prefix[7];
  if (major < 1 || major > 3 || minor != 0) {
    return roc_fail(err, ROC_INVALID, "'%s' has .npy version %u.%u; 1.0, 2.0 and 3.0 can be read",
                    npy->path, major, minor);
  }
  ROC_TRY(read_bytes(npy, field, major == 1 ? 2 : 4, err));
  *out_len = field[0] | (size_t)field[1] << 8 | (size_t)field[2] << 16 | (size_t)field[3] << 24;
  if (*out_len <= MAX_HEADER_BYTES) return ROC_OK;
  return roc_fail(err, ROC_INVALID, "'%s' has a .npy header of %zu bytes", npy->path, *out_len);
}

static roc_status read_header(roc_npy *npy, roc_error *err) {
  size_t len = 0;
  ROC_TRY(read_header_length(npy, &len, err));
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

/* What is left of a regular file must hold the elements; of a pipe nothing is known. */
static roc_status check_file_size(roc_npy *npy, roc_error *err) {
  struct stat info;
  if (fstat(fileno(npy->file), &info) != 0) return fail_errno("read", npy->path, err);
  if (S_ISDIR(info.st_mode)) {
    return roc_fail(err, ROC_IO, "cannot read '%s': it is a directory", npy->path);
  }
  if (!S_ISREG(info.st_mode)) return ROC_OK;
  long at = ftell(npy->file);
  if (at < 0) return fail_errno("read", npy->path, err);
  uint64_t left = info.st_size > at ? (uint64_t)info.st_size - (uint64_t)at : 0;
  size_t needed = roc_array_nbytes(&npy->shape);
  if (needed <= left) return ROC_OK;
  return roc_fail(err, ROC_INVALID,
                  "'%s' is cut short: its header promises %zu bytes, %zu are there", npy->path,
                  needed, (size_t)left);
}

roc_status roc_npy_open(const char *path, roc_npy *out_npy, roc_error *err) {
  *out_npy = (roc_npy){.path = path, .file = fopen(path, "rbe")};
  if (!out_npy->file) return fail_errno("open", path, err);
  roc_status status = read_header(out_npy, err);
  if (status == ROC_OK) status = check_file_size(out_npy, err);
  if (status != ROC_OK) roc_npy_close(out_npy);
  return status;
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
  return ferror(file) ? fail_errno("write", path, err) : ROC_OK;
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
  roc_status status = is_written ? ROC_OK : fail_errno("write", path, err);
  roc_free(packed);
  return status;
}

static roc_status write_file(FILE *file, const char *path, const roc_array *a, roc_error *err) {
  bool is_fortran = !roc_array_is_c_contiguous(a) && roc_array_is_f_contiguous(a);
  roc_order order = is_fortran ? ROC_ORDER_F : ROC_ORDER_C;
  ROC_TRY(write_header(file, path, a, order, err));
  ROC_TRY(write_elements(file, path, a, order, err));
  return fflush(file) == 0 ? ROC_OK : fail_errno("write", path, err);
}

roc_status roc_npy_save(const char *path, const roc_array *a, roc_error *err) {
  roc_file_draft draft;
  ROC_TRY(roc_file_begin(path, &draft, err));
  FILE *file = fdopen(draft.fd, "wb");
  if (!file) return roc_file_end(&draft, fail_errno("write", path, err), err);
  roc_status status = write_file(file, path, a, err);
  /* To disk, so that the new name cannot win a race against the data after a crash. */
  bool is_new = draft.temporary[0] != '\0';
  if (status == ROC_OK && is_new && fsync(draft.fd) != 0) status = fail_errno("write", path, err);
  if (fclose(file) != 0 && status == ROC_OK) status = fail_errno("write", path, err);
  draft.fd = -1; /* closed with it */
  return roc_file_end(&draft, status, err);
}
