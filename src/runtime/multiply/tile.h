/* Tiles of products, in the vectors that this processor has. */
#ifndef ROC_RUNTIME_MULTIPLY_TILE_H
#define ROC_RUNTIME_MULTIPLY_TILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/dtype.h"

enum { TILE_ROWS_MOST = 12, TILE_BYTES_MOST = 128 }; /* of a tile: its rows, and bytes of one */

typedef struct tile_form {
  size_t rows, columns, itemsize;
  /* Adds `depth` products to each element of the tile at `c`, whose rows are `stride` elements apart,
   * in the order of k; its elements are 0 before, or (goes_on) what they are.  `a` has `rows` elements
   * for each k, `b` `columns`. */
  void (*multiply)(size_t depth, const void *a, const void *b, void *c, size_t stride,
                   bool goes_on);
} tile_form;

/* NULL: none. */
const tile_form *roc_tile_form_of(roc_dtype dtype);

#endif
