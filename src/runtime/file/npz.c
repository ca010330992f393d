/* Reading and writing .npz files by minizip; see npz.h.
 *
 * An archive's member becomes a C stream (fopencookie), so that npy.c reads and writes it as it does
 * a file. */
#include "runtime/npz.h"

#include <errno.h>
#include <minizip/unzip.h>
#include <minizip/zip.h>
#include <string.h>

#include "base/alloc.h"
#include "base/opened.h"
#include "runtime/file/stream.h"

typedef struct zip_api {
#define ROC_MINIZIP(name) __typeof__(name) *name;
#include "runtime/file/minizip.def"
#undef ROC_MINIZIP
} zip_api;

static zip_api zip;

static const roc_opened_function zip_functions[] = {
#define ROC_MINIZIP(name) {#name, offsetof(zip_api, name)},
#include "runtime/file/minizip.def"
#undef ROC_MINIZIP
};

static roc_opened minizip = {.files = {"libminizip.so.1"},
                             .purpose = "a .npz file",
                             .absent =
                                 "a .npz file needs libminizip.so.1, which cannot be opened: "
                                 "install libminizip1",
                             .functions = zip_functions,
                             .nfunctions = sizeof zip_functions / sizeof *zip_functions,
                             .table = &zip};

enum {
  MAX_NAME_BYTES = 4096,
  MAX_PIECE_BYTES = 1 << 30,   /* minizip counts in 32 bits */
  MAX_PLAIN_BYTES = 0x7fff0000 /* above, a member has 64-bit sizes */
};

/* ---- the archive as a C stream ------------------------------------------------------------ */

static voidpf open_stream(voidpf opaque, const void *name, int mode) {
  (void)name, (void)mode;
  return opaque;
}

static uLong read_stream(voidpf opaque, voidpf stream, void *to, uLong nbytes) {
  (void)opaque;
  return (uLong)fread(to, 1, nbytes, stream);
}

static uLong write_stream(voidpf opaque, voidpf stream, const void *from, uLong nbytes) {
  (void)opaque;
  return (uLong)fwrite(from, 1, nbytes, stream);
}

static ZPOS64_T tell_stream(voidpf opaque, voidpf stream) {
  (void)opaque;
  return (ZPOS64_T)ftello(stream);
}

static long seek_stream(voidpf opaque, voidpf stream, ZPOS64_T offset, int origin) {
  (void)opaque;
  static const int whence[] = {[ZLIB_FILEFUNC_SEEK_SET] = SEEK_SET,
                               [ZLIB_FILEFUNC_SEEK_CUR] = SEEK_CUR,
                               [ZLIB_FILEFUNC_SEEK_END] = SEEK_END};
  return fseeko(stream, (off_t)offset, whence[origin]) == 0 ? 0 : -1;
}

static int close_stream(voidpf opaque, voidpf stream) {
  (void)opaque, (void)stream; /* it is the caller's */
  return 0;
}

static int test_stream(voidpf opaque, voidpf stream) {
  (void)opaque;
  return ferror((FILE *)stream);
}

static zlib_filefunc64_def functions_of(FILE *file) {
  return (zlib_filefunc64_def){.zopen64_file = open_stream,
                               .zread_file = read_stream,
                               .zwrite_file = write_stream,
                               .ztell64_file = tell_stream,
                               .zseek64_file = seek_stream,
                               .zclose_file = close_stream,
                               .zerror_file = test_stream,
                               .opaque = file};
}

/* ---- reading ------------------------------------------------------------------------------ */

struct roc_npz {
  const char *path; /* a copy, after the struct */
  FILE *file;
  unzFile archive;
  bool has_begun, is_damaged;
  char name[MAX_NAME_BYTES + 1];
  char label[MAX_NAME_BYTES + 64]; /* of a member, for messages */
};

static roc_status fail_format(const roc_npz *npz, const char *what, roc_error *err) {
  if (ferror(npz->file)) return roc_stream_fail("read", npz->path, err);
  return roc_fail(err, ROC_INVALID, "'%s' %s", npz->path, what);
}

roc_status roc_npz_open(const char *path, roc_rt_progress *work, roc_npz **out_npz,
                        roc_error *err) {
  ROC_TRY(roc_opened_load(&minizip, err));
  size_t path_bytes = strlen(path) + 1;
  roc_npz *npz = roc_alloc(sizeof *npz + path_bytes);
  if (!npz) return roc_fail(err, ROC_OOM, "out of memory reading '%s'", path);
  *npz = (roc_npz){.path = memcpy(npz + 1, path, path_bytes)};
  uint64_t nbytes;
  roc_status status = roc_stream_open(path, work, &npz->file, &nbytes, err);
  if (status == ROC_OK) {
    zlib_filefunc64_def functions = functions_of(npz->file);
    npz->archive = zip.unzOpen2_64(path, &functions);
    if (!npz->archive) status = fail_format(npz, "is no .npz file, or is cut short", err);
  }
  if (status != ROC_OK) {
    roc_npz_close(npz);
    return status;
  }
  *out_npz = npz;
  return ROC_OK;
}

void roc_npz_close(roc_npz *npz) {
  if (!npz) return;
  if (npz->archive) zip.unzClose(npz->archive);
  if (npz->file) fclose(npz->file);
  roc_free(npz);
}

static ssize_t read_member(void *cookie, char *to, size_t nbytes) {
  roc_npz *npz = cookie;
  unsigned piece = nbytes < MAX_PIECE_BYTES ? (unsigned)nbytes : MAX_PIECE_BYTES;
  int got = zip.unzReadCurrentFile(npz->archive, to, piece);
  if (got >= 0) return got;
  if (!ferror(npz->file)) errno = EIO; /* damaged: inflate failed, or the file ends */
  return -1;
}

/* The checksum is compared here, when all of the member was read. */
static int close_member(void *cookie) {
  roc_npz *npz = cookie;
  npz->is_damaged = zip.unzCloseCurrentFile(npz->archive) == UNZ_CRCERROR;
  return 0;
}

/* Removes ".npy" from the end of the member's name. */
static void cut_ending(char *name) {
  size_t len = strlen(name);
  if (len > 4 && strcmp(name + len - 4, ".npy") == 0) name[len - 4] = '\0';
}

static roc_status open_member(roc_npz *npz, roc_npy *out_npy, roc_error *err) {
  unz_file_info64 info;
  if (zip.unzGetCurrentFileInfo64(npz->archive, &info, npz->name, sizeof npz->name, NULL, 0, NULL,
                                  0) != UNZ_OK ||
      info.size_filename > MAX_NAME_BYTES || strlen(npz->name) != info.size_filename) {
    return fail_format(npz, "has a member whose name cannot be read", err);
  }
  snprintf(npz->label, sizeof npz->label, "%s of %.48s", npz->name, npz->path);
  if (zip.unzOpenCurrentFile(npz->archive) != UNZ_OK) {
    return roc_fail(err, ROC_INVALID,
                    "'%s' is damaged, encrypted, or compressed in a way that "
                    "is not read",
                    npz->label);
  }
  FILE *member =
      fopencookie(npz, "rb", (cookie_io_functions_t){.read = read_member, .close = close_member});
  if (!member) {
    zip.unzCloseCurrentFile(npz->archive);
    return roc_fail(err, ROC_OOM, "out of memory reading '%s'", npz->label);
  }
  ROC_TRY(roc_npy_open_stream(member, npz->label, info.uncompressed_size, out_npy, err));
  cut_ending(npz->name);
  return ROC_OK;
}

roc_status roc_npz_next(roc_npz *npz, const char **out_name, roc_npy *out_npy, roc_error *err) {
  int moved =
      npz->has_begun ? zip.unzGoToNextFile(npz->archive) : zip.unzGoToFirstFile(npz->archive);
  npz->has_begun = true;
  *out_name = NULL;
  if (npz->is_damaged) {
    return roc_fail(err, ROC_INVALID, "'%s' is damaged: its checksum differs", npz->label);
  }
  if (moved == UNZ_END_OF_LIST_OF_FILE) return ROC_OK;
  if (moved != UNZ_OK) return fail_format(npz, "has a damaged list of members", err);
  ROC_TRY(open_member(npz, out_npy, err));
  *out_name = npz->name;
  return ROC_OK;
}

/* ---- writing ------------------------------------------------------------------------------ */

typedef struct archive {
  zipFile zip;
  const roc_npz_entry *entries;
  size_t nentries;
} archive;

static ssize_t write_member(void *cookie, const char *from, size_t nbytes) {
  const archive *a = cookie;
  unsigned piece = nbytes < MAX_PIECE_BYTES ? (unsigned)nbytes : MAX_PIECE_BYTES;
  if (zip.zipWriteInFileInZip(a->zip, from, piece) == ZIP_OK) return (ssize_t)piece;
  if (errno == 0) errno = EIO;
  return 0;
}

static roc_status write_entry(archive *a, const roc_npz_entry *entry, const char *path,
                              roc_error *err) {
  char name[MAX_NAME_BYTES + 8];
  snprintf(name, sizeof name, "%s.npy", entry->name);
  zip_fileinfo info = {.tmz_date = {.tm_year = 1980, .tm_mday = 1}}; /* the same bytes each time */
  bool is_large = roc_array_nbytes(entry->array) > MAX_PLAIN_BYTES;
  errno = 0;
  if (zip.zipOpenNewFileInZip64(a->zip, name, &info, NULL, 0, NULL, 0, NULL, 0, 0, is_large) !=
      ZIP_OK) {
    return roc_stream_fail("write", path, err);
  }
  FILE *member = fopencookie(a, "wb", (cookie_io_functions_t){.write = write_member});
  if (!member) return roc_fail(err, ROC_OOM, "out of memory writing '%s'", path);
  roc_status status = roc_npy_write(member, path, entry->array, err);
  if (fclose(member) != 0 && status == ROC_OK) status = roc_stream_fail("write", path, err);
  bool is_closed = zip.zipCloseFileInZip(a->zip) == ZIP_OK;
  return status != ROC_OK || is_closed ? status : roc_stream_fail("write", path, err);
}

static roc_status write_archive(FILE *file, const char *path, void *ud, roc_error *err) {
  archive *a = ud;
  if (fseeko(file, 0, SEEK_SET) != 0) return roc_stream_fail("write", path, err);
  zlib_filefunc64_def functions = functions_of(file);
  a->zip = zip.zipOpen2_64(path, APPEND_STATUS_CREATE, NULL, &functions);
  if (!a->zip) return roc_fail(err, ROC_OOM, "out of memory writing '%s'", path);
  roc_status status = ROC_OK;
  for (size_t i = 0; i < a->nentries && status == ROC_OK; i++) {
    status = write_entry(a, &a->entries[i], path, err);
  }
  errno = 0;
  if (zip.zipClose(a->zip, NULL) != ZIP_OK && status == ROC_OK) {
    status = roc_stream_fail("write", path, err);
  }
  return status;
}

roc_status roc_npz_save(const char *path, const roc_npz_entry *entries, size_t nentries,
                        roc_rt_progress *work, roc_error *err) {
  for (size_t i = 0; i < nentries; i++) {
    size_t len = strlen(entries[i].name);
    if (len == 0 || len > MAX_NAME_BYTES) {
      return roc_fail(err, ROC_INVALID, "an array's name in a .npz file has 1 to %d bytes, not %zu",
                      MAX_NAME_BYTES, len);
    }
  }
  ROC_TRY(roc_opened_load(&minizip, err));
  archive a = {.entries = entries, .nentries = nentries};
  return roc_stream_save(path, write_archive, &a, work, err);
}
