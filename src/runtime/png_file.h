/* PNG files as arrays of uint8: {height, width} of grey ones, else {height, width, channels} with 2
 * (grey, alpha), 3 (red, green, blue) or 4 channels (and alpha).  Values are those of sRGB. */
#ifndef ROC_RUNTIME_PNG_FILE_H
#define ROC_RUNTIME_PNG_FILE_H

#include "runtime/array.h"
#include "runtime/progress.h"

typedef struct roc_png roc_png;

/* Reads a picture's header; *out_shape has dtype, extents and strides, no buffer.  Palettes become
 * colours, and fewer bits 8.  IO; INVALID: it is no PNG; UNSUPPORTED: 16 bits a channel;
 * UNAVAILABLE: libpng is not there.  On success close with roc_png_close. */
roc_status roc_png_open(const char *path, roc_rt_progress *work, roc_png **out_png,
                        roc_array *out_shape, roc_error *err);
/* Reads the pixels into roc_array_nbytes(&shape) bytes.  INVALID: the file is damaged. */
roc_status roc_png_read(roc_png *png, void *memory, roc_error *err);
void roc_png_close(roc_png *png); /* NULL is fine */

/* Writes a host array of such a shape, whole or not at all.  INVALID: another dtype or shape, or no
 * pixel at all; IO; UNAVAILABLE. */
roc_status roc_png_save(const char *path, const roc_array *a, roc_rt_progress *work,
                        roc_error *err);

#endif
