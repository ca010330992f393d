#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/xattr.h>
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

/* ---- what a path leads to ---------------------------------------------------------------- */

enum { MAX_LINKS = 40 }; /* as many as Linux follows */

/* The length of the path's folder, with its slash; 0: the working folder. */
static size_t folder_len(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? (size_t)(slash + 1 - path) : 0;
}

/* Follows the symbolic links that `path` itself is, also to a file that is not there yet.  0, or an
 * errno. */
static int follow_link(char path[PATH_MAX]) {
  char to[PATH_MAX], next[2 * PATH_MAX];
  ssize_t len = readlink(path, to, sizeof to - 1);
  if (len < 0) return errno == EINVAL || errno == ENOENT ? 0 : errno;
  to[len] = '\0';
  size_t folder = to[0] == '/' ? 0 : folder_len(path);
  int written = snprintf(next, sizeof next, "%.*s%s", (int)folder, path, to);
  if (written < 0 || written >= PATH_MAX) return ENAMETOOLONG;
  memcpy(path, next, (size_t)written + 1);
  return EAGAIN;
}

/* The number of this process's open descriptor that `path` names: /proc/self/fd/3 and the like; -1
 * when it names none. */
static int own_descriptor(const char *path) {
  char folder[PATH_MAX], real[PATH_MAX], own[PATH_MAX];
  size_t len = folder_len(path);
  const char *name = path + len;
  if (!*name || name[strspn(name, "0123456789")] || strlen(name) > 6) return -1;
  snprintf(folder, sizeof folder, "%.*s", (int)len, path);
  if (!realpath(folder, real) || !realpath("/proc/self/fd", own) || strcmp(real, own)) return -1;
  return atoi(name);
}

/* Stores where `path` leads: a descriptor of this process, or -1 and the name without links.  0, or
 * an errno. */
static int find_target(const char *path, char target[PATH_MAX], int *out_descriptor) {
  *out_descriptor = -1;
  if (!*path) return ENOENT;
  if (strlen(path) >= PATH_MAX) return ENAMETOOLONG;
  strcpy(target, path);
  for (int i = 0; i < MAX_LINKS; i++) {
    *out_descriptor = own_descriptor(target);
    int code = *out_descriptor >= 0 ? 0 : follow_link(target);
    if (code != EAGAIN) return code;
  }
  return ELOOP;
}

/* ---- drafts ------------------------------------------------------------------------------ */

/* A new file beside the target, whose name no other thread or process picks; -1 with errno set. */
static int make_temporary(roc_file_draft *draft, mode_t mode) {
  static _Atomic unsigned serial;
  for (int attempt = 0; attempt < 100; attempt++) {
    int len = snprintf(draft->temporary, sizeof draft->temporary, "%.*s.roclua-%ld-%u.tmp",
                       (int)folder_len(draft->target), draft->target, (long)getpid(), serial++);
    if (len < 0 || (size_t)len >= sizeof draft->temporary) {
      errno = ENAMETOOLONG;
      break;
    }
    int fd = open(draft->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd >= 0) return fd;
    if (errno != EEXIST) break;
  }
  draft->temporary[0] = '\0';
  return -1;
}

/* Gives the new file what the old one has: then it can stand in for it.  False when it cannot: the
 * old one has more names, another owner, or extended attributes (an access control list). */
static bool make_alike(int fd, const char *target, const struct stat *old) {
  struct stat now;
  if (old->st_nlink != 1 || listxattr(target, NULL, 0) > 0 || fstat(fd, &now) != 0) return false;
  fremovexattr(fd, "system.posix_acl_access"); /* that which the folder gives to new files */
  bool has_owner = now.st_uid == old->st_uid && now.st_gid == old->st_gid;
  if (!has_owner && fchown(fd, old->st_uid, old->st_gid) != 0) return false;
  return fchmod(fd, old->st_mode & 07777) == 0;
}

/* The target is a regular file. */
static roc_status begin_again(roc_file_draft *draft, const struct stat *old, roc_error *err) {
  if (faccessat(AT_FDCWD, draft->target, W_OK, AT_EACCESS) != 0) {
    return write_failed(draft->path, errno, err);
  }
  draft->fd = make_temporary(draft, 0600); /* for this process alone, until it is alike */
  if (draft->fd < 0) return write_failed(draft->path, errno, err);
  draft->is_old = true;
  draft->replaces = make_alike(draft->fd, draft->target, old);
  return ROC_OK;
}

roc_status roc_file_begin(const char *path, roc_file_draft *out_draft, roc_error *err) {
  roc_file_draft *draft = out_draft;
  int descriptor;
  struct stat info;
  draft->path = path;
  draft->temporary[0] = '\0';
  draft->is_old = false;
  draft->replaces = true;
  int code = find_target(path, draft->target, &descriptor);
  if (code) return write_failed(path, code, err);
  bool is_there = descriptor < 0 && stat(draft->target, &info) == 0;
  if (descriptor < 0 && !is_there && errno != ENOENT) return write_failed(path, errno, err);
  if (is_there && S_ISDIR(info.st_mode)) return write_failed(path, EISDIR, err);
  if (is_there && S_ISREG(info.st_mode)) return begin_again(draft, &info, err);
  draft->fd = descriptor >= 0 ? fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
              : is_there      ? open(draft->target, O_WRONLY | O_CLOEXEC)
                              : make_temporary(draft, 0666);
  return draft->fd < 0 ? write_failed(path, errno, err) : ROC_OK;
}

/* Copies all of a file to the start of another. Room is taken first, so that a full disk leaves the
 * other as it was. 0, or an errno. */
static int copy_over(int from, int to) {
  struct stat info;
  if (fstat(from, &info) != 0) return errno;
  if (info.st_size > 0 && fallocate(to, FALLOC_FL_KEEP_SIZE, 0, info.st_size) != 0 &&
      errno != EOPNOTSUPP && errno != ENOSYS) {
    return errno;
  }
  for (off_t at = 0; at < info.st_size;) {
    ssize_t n = sendfile(to, from, &at, (size_t)(info.st_size - at));
    if (n == 0) return EIO;
    if (n < 0 && errno != EINTR) return errno;
  }
  return ftruncate(to, info.st_size) == 0 ? 0 : errno;
}

/* The old file stays the one it is, with new bytes.  0, or an errno. */
static int write_over(const roc_file_draft *draft) {
  int from = open(draft->temporary, O_RDONLY | O_CLOEXEC);
  int to = from < 0 ? -1 : open(draft->target, O_WRONLY | O_CLOEXEC);
  int code = to < 0 ? errno : copy_over(from, to);
  if (from >= 0) close(from);
  if (to >= 0 && close(to) != 0 && code == 0) code = errno;
  return code;
}

/* The draft becomes the file.  Where its name cannot change hands (a mount point, another's file in
 * a folder like /tmp) an old file is written over.  0, or an errno. */
static int publish(roc_file_draft *draft) {
  if (draft->replaces && rename(draft->temporary, draft->target) == 0) {
    draft->temporary[0] = '\0';
    return 0;
  }
  return draft->is_old ? write_over(draft) : errno;
}

roc_status roc_file_end(roc_file_draft *draft, roc_status status, roc_error *err) {
  if (draft->fd >= 0 && close(draft->fd) != 0 && status == ROC_OK) {
    status = write_failed(draft->path, errno, err);
  }
  if (!draft->temporary[0]) return status;
  int code = status == ROC_OK ? publish(draft) : 0;
  if (code) status = write_failed(draft->path, code, err);
  if (draft->temporary[0]) unlink(draft->temporary);
  return status;
}

roc_status roc_file_write(const char *path, const void *bytes, size_t nbytes, roc_error *err) {
  roc_file_draft draft;
  ROC_TRY(roc_file_begin(path, &draft, err));
  bool is_written = write_all(draft.fd, bytes, nbytes);
  return roc_file_end(&draft, is_written ? ROC_OK : write_failed(path, errno, err), err);
}

roc_status roc_file_replace(const char *path, const void *bytes, size_t nbytes, roc_error *err) {
  roc_file_draft draft = {.path = path, .replaces = true};
  if (strlen(path) >= sizeof draft.target) return write_failed(path, ENAMETOOLONG, err);
  strcpy(draft.target, path);
  draft.fd = make_temporary(&draft, 0666);
  if (draft.fd < 0) return write_failed(path, errno, err);
  bool is_written = write_all(draft.fd, bytes, nbytes);
  return roc_file_end(&draft, is_written ? ROC_OK : write_failed(path, errno, err), err);
}

/* ---- reading ----------------------------------------------------------------------------- */

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

/* Only a regular file has bytes that are there at once: a pipe waits for a writer, a device may for
 * ever.  -1 with the failure told. */
static int open_regular(const char *path, size_t most, size_t *out_nbytes, roc_error *err) {
  struct stat info;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 || fstat(fd, &info) != 0) {
    read_failed(path, errno, err);
  } else if (S_ISDIR(info.st_mode)) {
    read_failed(path, EISDIR, err);
  } else if (!S_ISREG(info.st_mode)) {
    roc_fail(err, ROC_IO, "cannot read '%s': it is not a regular file", path);
  } else if ((uint64_t)info.st_size > most) {
    roc_fail(err, ROC_IO, "cannot read '%s': it has %lld bytes, more than the %zu expected", path,
             (long long)info.st_size, most);
  } else {
    *out_nbytes = (size_t)info.st_size;
    return fd;
  }
  if (fd >= 0) close(fd);
  return -1;
}

roc_status roc_file_read(const char *path, size_t most, unsigned char **out_bytes,
                         size_t *out_nbytes, roc_error *err) {
  size_t nbytes;
  int fd = open_regular(path, most, &nbytes, err);
  if (fd < 0) return ROC_IO;
  unsigned char *bytes = roc_alloc_pages(nbytes, 64);
  if (bytes) *out_nbytes = read_some(fd, bytes, nbytes);
  close(fd);
  if (!bytes) return roc_fail(err, ROC_OOM, "out of memory while reading '%s'", path);
  *out_bytes = bytes;
  return ROC_OK;
}

bool roc_file_is_regular(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode);
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
