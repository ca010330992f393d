/* Reading and writing PNG by libpng's simplified interface, which reports errors as values; see
 * png_file.h. */
#include <errno.h>
#include <png.h>
#include <string.h>

#include "base/alloc.h"
#include "base/opened.h"
#include "runtime/file/stream.h"
#include "runtime/png_file.h"

typedef struct png_api {
#define ROC_PNG(name) __typeof__(name) *name;
#include "runtime/file/png.def"
#undef ROC_PNG
} png_api;

static png_api library;

static const roc_opened_function library_functions[] = {
#define ROC_PNG(name) {#name, offsetof(png_api, name)},
#include "runtime/file/png.def"
#undef ROC_PNG
};

static roc_opened libpng = {.files = {"libpng16.so.16"},
                            .purpose = "a PNG file",
                            .absent =
                                "a PNG file needs libpng16.so.16, which cannot be opened: "
                                "install libpng16-16",
                            .functions = library_functions,
                            .nfunctions = sizeof library_functions / sizeof *library_functions,
                            .table = &library};

/* By the number of channels; 0 is none. */
static const png_uint_32 formats[] = {0, PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB,
                                      PNG_FORMAT_RGBA};

struct roc_png {
  png_image image;
  FILE *file;
  const char *path; /* a copy, after the struct */
};

static roc_status fail_image(const char *what, const char *path, const png_image *image,
                             roc_status status, roc_error *err) {
  return roc_fail(err, status, "cannot %s '%s': %s", what, path, image->message);
}

/* ---- reading ------------------------------------------------------------------------------ */

static roc_status read_header(roc_png *png, roc_array *out_shape, roc_error *err) {
  png->image.version = PNG_IMAGE_VERSION;
  errno = 0;
  if (!library.png_image_begin_read_from_stdio(&png->image, png->file)) {
    if (ferror(png->file)) return roc_stream_fail("read", png->path, err);
    return fail_image("read", png->path, &png->image, ROC_INVALID, err);
  }
  if (png->image.format & PNG_FORMAT_FLAG_LINEAR) {
    return roc_fail(err, ROC_UNSUPPORTED, "'%s' has 16 bits a channel; PNG files of 8 are read",
                    png->path);
  }
  bool has_colour = png->image.format & PNG_FORMAT_FLAG_COLOR;
  bool has_alpha = png->image.format & PNG_FORMAT_FLAG_ALPHA;
  uint32_t channels = (has_colour ? 3 : 1) + (has_alpha ? 1 : 0);
  png->image.format = formats[channels];
  int64_t extents[] = {png->image.height, png->image.width, channels};
  return roc_array_describe(out_shape, ROC_DT_UINT8, channels == 1 ? 2 : 3, extents, ROC_ORDER_C,
                            err);
}

roc_status roc_png_open(const char *path, roc_rt_progress *work, roc_png **out_png,
                        roc_array *out_shape, roc_error *err) {
  ROC_TRY(roc_opened_load(&libpng, err));
  size_t path_bytes = strlen(path) + 1;
  roc_png *png = roc_alloc(sizeof *png + path_bytes);
  if (!png) return roc_fail(err, ROC_OOM, "out of memory reading '%s'", path);
  *png = (roc_png){.path = memcpy(png + 1, path, path_bytes)};
  uint64_t nbytes;
  roc_status status = roc_stream_open(path, work, &png->file, &nbytes, err);
  if (status == ROC_OK) status = read_header(png, out_shape, err);
  if (status != ROC_OK) {
    roc_png_close(png);
    return status;
  }
  *out_png = png;
  return ROC_OK;
}

roc_status roc_png_read(roc_png *png, void *memory, roc_error *err) {
  if (library.png_image_finish_read(&png->image, NULL, memory, 0, NULL)) return ROC_OK;
  if (ferror(png->file)) return roc_stream_fail("read", png->path, err);
  return fail_image("read", png->path, &png->image, ROC_INVALID, err);
}

void roc_png_close(roc_png *png) {
  if (!png) return;
  library.png_image_free(&png->image);
  if (png->file) fclose(png->file);
  roc_free(png);
}

/* ---- writing ------------------------------------------------------------------------------ */

typedef struct picture {
  png_image image;
  const void *pixels; /* in C order */
} picture;

static roc_status write_picture(FILE *file, const char *path, void *ud, roc_error *err) {
  picture *p = ud;
  errno = 0;
  if (library.png_image_write_to_stdio(&p->image, file, 0, p->pixels, 0, NULL)) return ROC_OK;
  if (errno != 0) return roc_stream_fail("write", path, err);
  return fail_image("write", path, &p->image, ROC_IO, err);
}

static roc_status check_picture(const roc_array *a, roc_error *err) {
  bool is_shaped = a->rank == 2 || (a->rank == 3 && a->extents[2] >= 1 && a->extents[2] <= 4);
  if (a->dtype == ROC_DT_UINT8 && is_shaped && roc_array_size(a) > 0) return ROC_OK;
  return roc_fail(
      err, ROC_INVALID,
      "a PNG file holds uint8 of shape {height, width} or {height, width, channels} with "
      "1 to 4 channels and at least one pixel, not %s of rank %u%s",
      roc_dtype_name(a->dtype), a->rank, roc_array_size(a) == 0 ? " without elements" : "");
}

roc_status roc_png_save(const char *path, const roc_array *a, roc_rt_progress *work,
                        roc_error *err) {
  ROC_TRY(check_picture(a, err));
  ROC_TRY(roc_opened_load(&libpng, err));
  const int64_t origin[ROC_ARRAY_MAX_RANK] = {0};
  void *packed = NULL;
  if (!roc_array_is_c_contiguous(a)) {
    packed = roc_alloc(roc_array_nbytes(a));
    if (!packed) return roc_fail(err, ROC_OOM, "out of memory writing '%s'", path);
    roc_array_pack(packed, a, ROC_ORDER_C);
  }
  picture p = {.image = {.version = PNG_IMAGE_VERSION,
                         .width = (png_uint_32)a->extents[1],
                         .height = (png_uint_32)a->extents[0],
                         .format = formats[a->rank == 2 ? 1 : a->extents[2]]},
               .pixels = packed ? packed : roc_array_at(a, origin)};
  roc_status status = roc_stream_save(path, write_picture, &p, work, err);
  library.png_image_free(&p.image);
  roc_free(packed);
  return status;
}
