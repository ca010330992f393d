/* Opening and saving files of arrays; see stream.h. */
#include "runtime/file/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

roc_status roc_stream_fail(const char *what, const char *path, roc_error *err) {
  int code = errno;
  if (code == ECANCELED) return roc_fail(err, ROC_INTERRUPTED, "interrupted!");
  if (code == ENOMEM) return roc_fail(err, ROC_OOM, "out of memory: cannot %s '%s'", what, path);
  roc_fail(err, ROC_IO, "cannot %s '%s': %s", what, path, strerror(code));
  if (err) err->native = code;
  return ROC_IO;
}

/* ---- a C stream whose reads and writes are counted ----------------------------------------- */

typedef struct counted {
  int fd;               /* owned */
  uint64_t done, total; /* bytes; UINT64_MAX: not known */
  roc_rt_progress *work;
} counted;

enum { MAX_PIECE_BYTES = 4 << 20 }; /* of a read or write: what an interrupt waits for */

static bool is_interrupted(roc_rt_progress *work, uint64_t done, uint64_t total) {
  if (roc_rt_progress_bytes(work, done, total, NULL) == ROC_OK) return false;
  errno = ECANCELED;
  return true;
}

static ssize_t read_counted(void *cookie, char *to, size_t nbytes) {
  counted *c = cookie;
  if (nbytes > MAX_PIECE_BYTES) nbytes = MAX_PIECE_BYTES;
  for (;;) {
    if (is_interrupted(c->work, c->done, c->total)) return -1;
    ssize_t got = read(c->fd, to, nbytes);
    if (got > 0) c->done += (uint64_t)got;
    if (got >= 0 || errno != EINTR) return got;
  }
}

/* All of it: fwrite takes less for a failure. */
static ssize_t write_counted(void *cookie, const char *from, size_t nbytes) {
  counted *c = cookie;
  size_t written = 0;
  while (written < nbytes) {
    size_t left = nbytes - written;
    if (is_interrupted(c->work, c->done, c->total)) return 0;
    ssize_t n = write(c->fd, from + written, left < MAX_PIECE_BYTES ? left : MAX_PIECE_BYTES);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return 0;
    written += (size_t)n;
    c->done += (uint64_t)n;
  }
  return (ssize_t)written;
}

static int seek_counted(void *cookie, off64_t *offset, int whence) {
  const counted *c = cookie;
  off64_t at = lseek64(c->fd, *offset, whence);
  if (at < 0) return -1;
  *offset = at;
  return 0;
}

static int close_counted(void *cookie) {
  counted *c = cookie;
  int rc = close(c->fd);
  roc_free(c);
  return rc;
}

/* The stream of a descriptor, which becomes its own.  NULL: the reason is in errno, and the
 * descriptor is left as it is. */
static FILE *open_stream(int fd, uint64_t total, const char *mode, roc_rt_progress *work) {
  static const cookie_io_functions_t functions = {
      .read = read_counted, .write = write_counted, .seek = seek_counted, .close = close_counted};
  if (!work) return fdopen(fd, mode);
  counted *c = roc_alloc(sizeof *c);
  errno = ENOMEM;
  if (!c) return NULL;
  *c = (counted){fd, 0, total, work};
  FILE *file = fopencookie(c, mode, functions);
  if (!file) roc_free(c);
  return file;
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Opening a pipe waits for a writer. */
static int open_to_read(const char *path, roc_rt_progress *work) {
  for (;;) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 || errno != EINTR) return fd;
    if (work && is_interrupted(work, 0, UINT64_MAX)) return -1;
  }
}

static roc_status check_readable(int fd, const char *path, uint64_t *out_nbytes, roc_error *err) {
  struct stat info;
  if (fstat(fd, &info) != 0) return roc_stream_fail("read", path, err);
  if (S_ISDIR(info.st_mode)) {
    return roc_fail(err, ROC_IO, "cannot read '%s': it is a directory", path);
  }
  *out_nbytes = S_ISREG(info.st_mode) ? (uint64_t)info.st_size : UINT64_MAX;
  return ROC_OK;
}

roc_status roc_stream_open(const char *path, roc_rt_progress *work, FILE **out_file,
                           uint64_t *out_nbytes, roc_error *err) {
  int fd = open_to_read(path, work);
  if (fd < 0) return roc_stream_fail("open", path, err);
  roc_status status = check_readable(fd, path, out_nbytes, err);
  FILE *file = NULL;
  if (status == ROC_OK) {
    file = open_stream(fd, *out_nbytes, "rb", work);
    if (!file) status = roc_stream_fail("open", path, err);
  }
  if (!file) close(fd);
  *out_file = file;
  return status;
}

roc_status roc_stream_save(const char *path,
                           roc_status (*write)(FILE *file, const char *path, void *ud,
                                               roc_error *err),
                           void *ud, roc_rt_progress *work, roc_error *err) {
  roc_file_draft draft;
  ROC_TRY(roc_file_begin(path, &draft, err));
  FILE *file = open_stream(draft.fd, UINT64_MAX, "wb", work);
  if (!file) return roc_file_end(&draft, roc_stream_fail("write", path, err), err);
  roc_status status = write(file, path, ud, err);
  if (status == ROC_OK && fflush(file) != 0) status = roc_stream_fail("write", path, err);
  /* To disk, so that the new name cannot win a race against the data after a crash. */
  bool is_new = draft.temporary[0] != '\0';
  if (status == ROC_OK && is_new && fsync(draft.fd) != 0) {
    status = roc_stream_fail("write", path, err);
  }
  if (fclose(file) != 0 && status == ROC_OK) status = roc_stream_fail("write", path, err);
  draft.fd = -1; /* closed with it */
  return roc_file_end(&draft, status, err);
}
