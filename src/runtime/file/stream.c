/* Opening and saving files of arrays; see stream.h. */
#include "runtime/file/stream.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

roc_status roc_stream_fail(const char *what, const char *path, roc_error *err) {
  int code = errno;
  roc_fail(err, ROC_IO, "cannot %s '%s': %s", what, path, strerror(code));
  if (err) err->native = code;
  return ROC_IO;
}

roc_status roc_stream_open(const char *path, FILE **out_file, uint64_t *out_nbytes,
                           roc_error *err) {
  FILE *file = fopen(path, "rbe");
  if (!file) return roc_stream_fail("open", path, err);
  struct stat info;
  roc_status status = ROC_OK;
  if (fstat(fileno(file), &info) != 0) {
    status = roc_stream_fail("read", path, err);
  } else if (S_ISDIR(info.st_mode)) {
    status = roc_fail(err, ROC_IO, "cannot read '%s': it is a directory", path);
  }
  if (status != ROC_OK) {
    fclose(file);
    return status;
  }
  *out_file = file;
  *out_nbytes = S_ISREG(info.st_mode) ? (uint64_t)info.st_size : UINT64_MAX;
  return ROC_OK;
}

roc_status roc_stream_save(const char *path,
                           roc_status (*write)(FILE *file, const char *path, void *ud,
                                               roc_error *err),
                           void *ud, roc_error *err) {
  roc_file_draft draft;
  ROC_TRY(roc_file_begin(path, &draft, err));
  FILE *file = fdopen(draft.fd, "wb");
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
