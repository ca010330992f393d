#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

static bool write_all(int fd, const unsigned char *bytes, size_t nbytes) {
  while (nbytes > 0) {
    ssize_t n = write(fd, bytes, nbytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes += n;
    nbytes -= (size_t)n;
  }
  return true;
}

static roc_status write_failed(const char *path, int code, roc_error *err) {
  roc_fail(err, ROC_IO, "cannot write '%s': %s", path, strerror(code));
  if (err) err->native = code;
  return ROC_IO;
}

/* A new file beside `path`, whose name no other thread or process picks; -1 with errno set. */
static int make_temporary(const char *path, char *name, size_t size) {
  static _Atomic unsigned serial;
  for (int attempt = 0; attempt < 100; attempt++) {
    int len = snprintf(name, size, "%s.%ld-%u.tmp", path, (long)getpid(), serial++);
    if (len < 0 || (size_t)len >= size) {
      errno = ENAMETOOLONG;
      return -1;
    }
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

roc_status roc_file_begin(const char *path, roc_file_draft *out_draft, roc_error *err) {
  struct stat info;
  bool is_there = stat(path, &info) == 0;
  roc_file_draft *draft = out_draft;
  draft->path = path;
  draft->temporary[0] = '\0';
  if (is_there && S_ISDIR(info.st_mode)) return write_failed(path, EISDIR, err);
  draft->fd = is_there && !S_ISREG(info.st_mode)
                  ? open(path, O_WRONLY | O_CLOEXEC)
                  : make_temporary(path, draft->temporary, sizeof draft->temporary);
  return draft->fd < 0 ? write_failed(path, errno, err) : ROC_OK;
}

roc_status roc_file_end(roc_file_draft *draft, roc_status status, roc_error *err) {
  if (draft->fd >= 0 && close(draft->fd) != 0 && status == ROC_OK) {
    status = write_failed(draft->path, errno, err);
  }
  if (!draft->temporary[0]) return status;
  if (status == ROC_OK && rename(draft->temporary, draft->path) != 0) {
    status = write_failed(draft->path, errno, err);
  }
  if (status != ROC_OK) unlink(draft->temporary);
  return status;
}

roc_status roc_file_write(const char *path, const void *bytes, size_t nbytes, roc_error *err) {
  roc_file_draft draft;
  ROC_TRY(roc_file_begin(path, &draft, err));
  bool is_written = write_all(draft.fd, bytes, nbytes);
  return roc_file_end(&draft, is_written ? ROC_OK : write_failed(path, errno, err), err);
}

static roc_status read_failed(const char *path, int code, roc_error *err) {
  roc_fail(err, ROC_IO, "cannot read '%s': %s", path, strerror(code));
  if (err) err->native = code;
  return ROC_IO;
}

/* Up to `nbytes`; fewer when the file shrank meanwhile. */
static size_t read_some(int fd, unsigned char *bytes, size_t nbytes) {
  size_t have = 0;
  while (have < nbytes) {
    ssize_t n = read(fd, bytes + have, nbytes - have);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    have += (size_t)n;
  }
  return have;
}

roc_status roc_file_read(const char *path, unsigned char **out_bytes, size_t *out_nbytes,
                         roc_error *err) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return read_failed(path, errno, err);
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    return read_failed(path, EINVAL, err);
  }
  unsigned char *bytes = roc_alloc((size_t)info.st_size);
  if (!bytes) {
    close(fd);
    return roc_fail(err, ROC_OOM, "out of memory while reading '%s'", path);
  }
  *out_nbytes = read_some(fd, bytes, (size_t)info.st_size);
  *out_bytes = bytes;
  close(fd);
  return ROC_OK;
}

void roc_file_identity(const char *path, char out[ROC_FILE_IDENTITY_BYTES]) {
  struct stat info;
  if (stat(path, &info)) {
    snprintf(out, ROC_FILE_IDENTITY_BYTES, "none");
    return;
  }
  snprintf(out, ROC_FILE_IDENTITY_BYTES, "%lld,%lld.%09ld,%llu:%llu", (long long)info.st_size,
           (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec, (unsigned long long)info.st_dev,
           (unsigned long long)info.st_ino);
}
