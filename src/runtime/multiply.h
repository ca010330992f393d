/* Products of matrices of floats in host memory, by vectors, on several threads where that pays.
 *
 * An element is the sum of its products in the order of their index, each added with one rounding, as
 * the kernels of lua/roc/arrays/products.lua add them: the bits are theirs. */
#ifndef ROC_RUNTIME_MULTIPLY_H
#define ROC_RUNTIME_MULTIPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "runtime/array.h"

/* Stacks of matrices: three dimensions each, of one dtype.  A stack of one serves every product. */
typedef struct roc_product {
  const roc_array *a, *b; /* {z or 1, m, k} and {z or 1, k, n}; k > 0 */
  const roc_array *c; /* {z, m, n}, neighbouring elements in its rows; shares no memory with them */
  uint32_t threads;   /* at most */
} roc_product;

/* Whether this processor has what it takes, the dtype is float32 or float64, and the matrices are not
 * so narrow that kernels do as well. */
bool roc_product_fits(const roc_product *product);
/* Only of what fits. */
roc_status roc_multiply(const roc_product *product, roc_error *err);

#endif
