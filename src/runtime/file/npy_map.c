/* The elements of a .npy file where they are: mapped into memory, read as they are touched. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "runtime/file/stream.h"
#include "runtime/npy.h"

typedef struct mapping {
  void *base;
  size_t nbytes;
} mapping;

static void release_mapping(void *ud) {
  mapping *m = ud;
  munmap(m->base, m->nbytes);
  roc_free(m);
}

static roc_status check_layout(const roc_npy *npy, roc_error *err) {
  size_t itemsize = roc_dtype_itemsize(npy->shape.dtype);
  if (npy->is_swapped) {
    return roc_fail(err, ROC_INVALID,
                    "'%s' has elements in the other byte order; load it without map", npy->path);
  } else if (npy->offset % itemsize != 0) {
    return roc_fail(err, ROC_INVALID,
                    "'%s' has elements from byte %zu on, no multiple of their %zu bytes; load it "
                    "without map",
                    npy->path, npy->offset, itemsize);
  }
  return ROC_OK;
}

/* Of files by others: kernels take a boolean for 0 or 1. */
static roc_status check_bools(const roc_npy *npy, const unsigned char *bytes, roc_error *err) {
  if (npy->shape.dtype != ROC_DT_BOOL) return ROC_OK;
  for (size_t i = 0, n = roc_array_nbytes(&npy->shape); i < n; i++) {
    if (bytes[i] > 1) {
      return roc_fail(err, ROC_INVALID,
                      "'%s' has booleans that are neither 0 nor 1; load it without map", npy->path);
    }
  }
  return ROC_OK;
}

/* A descriptor of the open file that may write. */
static roc_status open_for_writing(const roc_npy *npy, int *out_fd, roc_error *err) {
  int fd = open(npy->path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return roc_stream_fail("write", npy->path, err);
  struct stat read, written;
  if (fstat(fileno(npy->file), &read) != 0 || fstat(fd, &written) != 0 ||
      read.st_dev != written.st_dev || read.st_ino != written.st_ino) {
    close(fd);
    return roc_fail(err, ROC_IO, "cannot map '%s': it is replaced by another file now", npy->path);
  }
  *out_fd = fd;
  return ROC_OK;
}

static roc_status map_file(const roc_npy *npy, roc_npy_access access, mapping *m, roc_error *err) {
  int fd = fileno(npy->file);
  if (access == ROC_NPY_WRITE) ROC_TRY(open_for_writing(npy, &fd, err));
  int protection = access == ROC_NPY_READ ? PROT_READ : PROT_READ | PROT_WRITE;
  int sharing = access == ROC_NPY_COPY ? MAP_PRIVATE : MAP_SHARED;
  m->base = mmap(NULL, m->nbytes, protection, sharing, fd, 0);
  roc_status status = m->base != MAP_FAILED ? ROC_OK : roc_stream_fail("map", npy->path, err);
  if (access == ROC_NPY_WRITE) close(fd);
  return status;
}

/* The buffer owns the mapping from here on. */
static roc_status wrap(const roc_npy *npy, roc_npy_access access, mapping *m,
                       roc_buffer **out_buffer, roc_error *err) {
  char *elements = (char *)m->base + npy->offset;
  size_t nbytes = roc_array_nbytes(&npy->shape);
  ROC_TRY(check_bools(npy, (unsigned char *)elements, err));
  ROC_TRY(roc_buffer_wrap_host(elements, nbytes, release_mapping, m, out_buffer, err));
  if (access == ROC_NPY_READ) roc_buffer_protect(*out_buffer);
  return ROC_OK;
}

roc_status roc_npy_map(const roc_npy *npy, roc_npy_access access, roc_buffer **out_buffer,
                       roc_error *err) {
  ROC_TRY(check_layout(npy, err));
  mapping *m = roc_alloc(sizeof *m);
  if (!m) return roc_fail(err, ROC_OOM, "out of memory mapping '%s'", npy->path);
  m->nbytes = npy->offset + roc_array_nbytes(&npy->shape);
  roc_status status = map_file(npy, access, m, err);
  if (status != ROC_OK) {
    roc_free(m);
    return status;
  }
  status = wrap(npy, access, m, out_buffer, err);
  if (status != ROC_OK) release_mapping(m);
  return status;
}
